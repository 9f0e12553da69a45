/*
 * Template: sorted batches that change leaves in place.
 *
 * The operations of one base leaf are a run, and one lane carries out all of it: no other lane writes to the leaves of that base leaf.
 * The lane holds one of these leaves at a time (blink/update/owned_leaf.h).
 */
#pragma once

#include "trees/blink/node/change.h"
#include "trees/blink/node/leaf.h"
#include "trees/blink/node/row.h"
#include "trees/blink/update/arguments.h"
#include "trees/blink/update/crowded.h"
#include "trees/blink/update/locate.h"
#include "trees/blink/update/owned_leaf.h"
#include "trees/blink/update/owned_leaf_split.h"

/* --- operations -------------------------------------------------------------------------------------------------------------- */

/* Entries less than k; *there: k is an entry. Where equal keys stay: entries up to k, and none is there. */
SIMT_DEVICE uint32_t own_seek(const own_leaf *own, KEY k, bool repeats, bool *there)
{
    const uint32_t count = own_count(own);
    uint32_t less = 0, equal = 0;
    SIMT_UNROLL
    for (uint32_t i = 0; i < LEAF_SLOTS; i++) {
        const KEY key = own_key(own, i);
        less += key < k;
        equal += key == k && i < count;
    }
    *there = equal && !repeats;
    return repeats ? less + equal : less;
}

SIMT_DEVICE void own_insert(own_leaf *own, uint32_t slot, KEY k, VALUE value)
{
    SIMT_UNROLL
    for (uint32_t i = LEAF_SLOTS; i-- > 0;) {
        if (i > slot) own_set_key(own, i, own_key(own, i > 0 ? i - 1u : 0));
        if (i > slot) own_set_value(own, i, own_value(own, i > 0 ? i - 1u : 0));
        if (i == slot) own_set_key(own, i, k);
        if (i == slot) own_set_value(own, i, value);
    }
    own->word[LEAF_STATE / 4u]++;
    own->untouched = slot < own->untouched ? slot : own->untouched;
    own->base_leaf_changed = true;
}

SIMT_DEVICE void own_erase(own_leaf *own, uint32_t slot)
{
    SIMT_UNROLL
    for (uint32_t i = 0; i < LEAF_SLOTS; i++) {
        const bool last = i + 1u == LEAF_SLOTS;
        if (i < slot) continue;
        own_set_key(own, i, last ? KEY_MAX : own_key(own, last ? i : i + 1u));
        own_set_value(own, i, last ? 0 : own_value(own, last ? i : i + 1u));
    }
    own->word[LEAF_STATE / 4u]--;
    own->untouched = slot < own->untouched ? slot : own->untouched;
    own->base_leaf_changed = true;
}

SIMT_DEVICE void own_replace(own_leaf *own, uint32_t slot, VALUE value)
{
    SIMT_UNROLL
    for (uint32_t i = 0; i < LEAF_SLOTS; i++)
        if (i == slot) own_set_value(own, i, value);
    own->untouched = slot < own->untouched ? slot : own->untouched;
    own->base_leaf_changed = true;
}

/*
 * One operation on the leaf where its key belongs: lanes with `go`. Returns false where the leaf would have to be split but the lane
 * must not (`easy`); then nothing has changed.
 */
SIMT_DEVICE bool own_change(sorted_update *s, own_leaf *own, KEY k, VALUE value, copse_action action, bool go,
                            bool easy)
{
    bool there;
    uint32_t slot = own_seek(own, k, s->repeats, &there);
    const bool inserts = go && !there && action != COPSE_ACTION_ERASE;
    const bool full = inserts && own_count(own) == LEAF_SLOTS;
    if (!easy && __any_sync(SIMT_FULL_MASK, full)) {
        own_split(s, own, k, slot, full);
        slot = own_seek(own, k, s->repeats, &there);
    }
    if (inserts && !(easy && full)) {
        own_insert(own, slot, k, value);
        s->came++;
    } else if (go && there && action == COPSE_ACTION_UPSERT) {
        own_replace(own, slot, value);
    } else if (go && there && action == COPSE_ACTION_ERASE) {
        own_erase(own, slot);
        s->went++;
    }
    return !easy || !full;
}

/* Does k belong further to the right in the overflow chain? A key that goes behind its equals does where these are the last here. */
SIMT_DEVICE bool own_beyond(const sorted_update *s, const own_leaf *own, KEY k)
{
    const uint32_t next = own->word[LEAF_NEXT / 4u], count = own_count(own);
    if (!s->repeats || own_high(own) != k) return own_high(own) < k;
    return next >= s->a->tree.base_leaves && next != COPSE_LEAF_NONE && count && own_middle(own, count) == k;
}

/* Goes from the leaves that lanes hold to those where their k belongs, within the same base leaf: lanes with `go`. */
SIMT_DEVICE void own_move(const sorted_update *s, own_leaf *own, KEY k, bool go)
{
    const copse_blink_tree *tree = &s->a->tree;
    for (;;) {
        const bool moves = go && own_beyond(s, own, k);
        if (!__any_sync(SIMT_FULL_MASK, moves)) return;
        own_put_back(s, own, moves);
        if (moves) {
            own->number = tree->branches ? branch_lead(tree, own->base_leaf, k) : own->word[LEAF_NEXT / 4u];
            own->steps++;
            if (!tree->branches) own_latch(s, own->number);
        }
        own_fetch(s, own, moves);
    }
}

/* Where readers are concurrent, a lane keeps the base leaf of a B+ tree latched until its run ends here. */
SIMT_DEVICE void branch_release(const sorted_update *s, const own_leaf *own)
{
    uint32_t *state = (uint32_t *)(leaf_at(&s->a->tree, own->base_leaf) + LEAF_STATE);
    const uint32_t there = simt_load_relaxed_u32(state) & ~COPSE_LEAF_LATCH;
    simt_store_release_u32(state, own->base_leaf_changed ? state_after(there, there & COPSE_LEAF_COUNT) : there);
}

/* --- runs ---------------------------------------------------------------------------------------------------------------------- */

/* What is left of a run: its operations from this one on (COPSE_LEAF_NONE: nothing), and the leaf to go on with: the full one,
 * or the next of the overflow chain (COPSE_LEAF_NONE: the branch leads there). */
typedef struct run_rest {
    uint32_t operation, leaf;
} run_rest;

/* What is left where a lane stops at operation i, which needs a step along the chain (`steps`), or else a split. */
SIMT_DEVICE run_rest rest_of(const sorted_update *s, const own_leaf *own, uint32_t i, bool steps)
{
    run_rest rest = {i, s->a->tree.branches ? own->base_leaf : own->number};
    if (steps) rest.leaf = s->a->tree.branches ? COPSE_LEAF_NONE : own->word[LEAF_NEXT / 4u];
    return rest;
}

/* An operation of a run. A lane loads it before it needs it, so that it does not wait for memory. */
typedef struct run_operation {
    uint32_t base_leaf; /* COPSE_LEAF_NONE: there is none */
    KEY key;
    VALUE value;
    copse_action action;
} run_operation;

/* Operation i, where there is one and `go`. Otherwise it loads operation 0: a branch around the load would have to wait for it. */
SIMT_DEVICE run_operation operation_load(const copse_apply_arguments *a, uint32_t i, bool go)
{
    const copse_blink_operations *operations = &a->operations;
    const bool there = go && i < operations->n, plain = !operations->row && !operations->gone;
    const uint32_t at = there ? i : 0, base_leaf = a->base_leaves[at];
    run_operation operation;
    operation.key = ((const KEY *)operations->keys)[at];
    operation.value = 0;
    if (plain) { /* twice: the compiler lets the first wait for loads that only the second needs */
        operation.action = operations->action;
        if (operations->values) operation.value = ((const VALUE *)operations->values)[at];
    } else {
        operation.action = operation_action(operations, at);
        if (operations->values) operation.value = operation_value(operations, at);
    }
    operation.base_leaf = there ? base_leaf : COPSE_LEAF_NONE;
    return operation;
}

/* Does an equal key make operation i, which `next` follows, pointless? Operations on one key have one base leaf. */
SIMT_DEVICE bool operation_pointless(const copse_apply_arguments *a, uint32_t i, uint32_t base_leaf,
                                     const run_operation *operation, const run_operation *next)
{
    if (a->operations.last_wins == 1u) return next->base_leaf == base_leaf && next->key == operation->key;
    return operation_dead(&a->operations, i);
}

/* Begins, or goes on with, a run at operation `first` and at `leaf`, which is its base leaf or a leaf of its overflow chain: lanes with
 * `go`. Where it is of the chain it may be the second one behind the base leaf, so `steps` may be one too few. */
SIMT_DEVICE void own_begin(const sorted_update *s, own_leaf *own, const run_operation *first, uint32_t leaf, bool go)
{
    const copse_blink_tree *tree = &s->a->tree;
    /* A base leaf that `leaf` names need not be waited for. */
    own->base_leaf = go && leaf < tree->base_leaves ? leaf : go ? first->base_leaf : 0;
    own->number = leaf == COPSE_LEAF_NONE ? own->base_leaf : leaf;
    own->steps = own->number != own->base_leaf;
    own->base_leaf_changed = false;
    own->untouched = LEAF_WORDS;
    if (go) own_latch(s, own->number);
    if (go && tree->branches) own->number = branch_lead(tree, own->base_leaf, first->key);
    own_fetch(s, own, go);
}

/*
 * The operations of one base leaf, from i on, beginning with `leaf` (COPSE_LEAF_NONE: where the branch leads): lanes with `go`. easy: a
 * lane stops where an operation needs a step along the chain or a split. one: each lane has only one operation. Returns what is left.
 */
SIMT_DEVICE run_rest run_apply(sorted_update *s, uint32_t i, uint32_t leaf, bool go, bool easy, bool one)
{
    const copse_apply_arguments *a = s->a;
    run_rest rest = {COPSE_LEAF_NONE, COPSE_LEAF_NONE};
    run_operation operation = operation_load(a, i, go), next = operation_load(a, i + 1u, go && !one);
    own_leaf own;
    own_begin(s, &own, &operation, leaf, go);
    for (bool open = go; __any_sync(SIMT_FULL_MASK, open); i++) {
        const bool more =
            open && next.base_leaf == own.base_leaf; /* then the lane may soon need the operation behind that */
        const run_operation behind = operation_load(a, i + 2u, more);
        const bool counts = open && !operation_pointless(a, i, own.base_leaf, &operation, &next);
        if (!easy) own_move(s, &own, operation.key, counts);
        const bool here = counts && (!easy || !own_beyond(s, &own, operation.key));
        const bool done = own_change(s, &own, operation.key, operation.value, operation.action, here, easy);
        const bool stops = counts && (!here || !done);
        if (stops) rest = rest_of(s, &own, i, !here);
        open = more && !stops;
        operation = next;
        next = behind;
    }
    own_put_back(s, &own, go);
    if (go) base_leaf_touch(a->touched, own.base_leaf);
    if (go && a->shared && a->tree.branches) branch_release(s, &own);
    if (go && !easy) winding_note(&a->tree, a->counters, own.base_leaf, own.steps);
    return rest;
}

/* --- what a warp has to do ------------------------------------------------------------------------------------------------------- */

/* Operations whose base leaves a lane loads at once, to see where runs begin. */
#define NOTE_AHEAD 4u
#define NOTE_MOST  (NOTE_AHEAD * SIMT_WARP)

/*
 * A warp has a chunk of the batch, and the runs that begin there. It queues runs until 32 of a kind are there, and then each lane takes
 * one: runs of one operation and longer ones have queues of their own, so that the lanes of a warp have as much to do. What is left of
 * runs that take a step along the chain waits in a third queue, likewise until 32 are there. What takes a split, or one more step, the
 * warp defers to the kernel `apply_splits`. No warp waits for another.
 */
typedef struct apply_queues {
    run_rest ones[SIMT_WARP + NOTE_MOST]; /* the first operation of a run and its base leaf */
    run_rest longer[SIMT_WARP + NOTE_MOST];
    run_rest steps[2u * SIMT_WARP];
    run_rest deferred[2u * SIMT_WARP];
} apply_queues;

typedef struct apply_queue {
    apply_queues *memory;
    uint32_t from, end;                     /* operations of the chunk that the warp has not looked at */
    uint32_t ones, longer, steps, deferred; /* how many each queue holds */
} apply_queue;

/* The slot at the end of a queue for what a lane with p adds. */
SIMT_DEVICE uint32_t queue_add(uint32_t *count, bool p)
{
    const uint32_t lanes = __ballot_sync(SIMT_FULL_MASK, p);
    const uint32_t at = *count + (uint32_t)__popc(lanes & ((1u << simt_lane()) - 1u));
    *count += (uint32_t)__popc(lanes);
    return at;
}

/* The slot at the end of a queue that this lane takes. *out_any: false where it takes none. */
SIMT_DEVICE uint32_t queue_take(uint32_t *count, bool *out_any)
{
    const uint32_t first = *count > SIMT_WARP ? *count - SIMT_WARP : 0, at = first + simt_lane();
    *out_any = at < *count;
    *count = first;
    return *out_any ? at : 0;
}

/* Queues the run that begins with operation i, if one does; before, behind: the base leaves of the operations next to it. Crowds are
 * for others. */
SIMT_DEVICE void runs_note(const copse_apply_arguments *a, apply_queue *queues, uint32_t i, uint32_t before,
                           uint32_t base_leaf, uint32_t behind)
{
    bool begins = base_leaf != COPSE_LEAF_NONE && before != base_leaf;
    const bool one = begins && behind != base_leaf;
    if (a->crowd && begins && !one) begins = !crowd_begins(a->base_leaves, a->operations.n, a->crowd, i);
    const uint32_t ones = queue_add(&queues->ones, one);
    const uint32_t longer = queue_add(&queues->longer, begins && !one);
    const run_rest run = {i, base_leaf};
    if (one) queues->memory->ones[ones] = run;
    if (begins && !one) queues->memory->longer[longer] = run;
}

/* Looks at some more operations of the chunk. It ends with the batch, or else at a multiple of 32. */
SIMT_DEVICE void runs_look(const copse_apply_arguments *a, apply_queue *queues)
{
    const uint32_t lane = simt_lane(), last = SIMT_WARP - 1u, left = queues->end - queues->from;
    /* Edges are for the first and the last lane: the base leaf of the next operation outwards, if there is one, or their own. */
    const uint32_t beyond = lane == last ? 1u : lane == 0 ? UINT32_MAX : 0;
    uint32_t base_leaf[NOTE_AHEAD], edge[NOTE_AHEAD];
    SIMT_UNROLL
    for (uint32_t j = 0; j < NOTE_AHEAD; j++) {
        const uint32_t at = j * SIMT_WARP + lane, i = at < left ? queues->from + at : queues->from;
        const uint32_t other = i + beyond; /* in front of the first one: a huge number */
        base_leaf[j] = a->base_leaves[i];
        edge[j] = a->base_leaves[other < a->operations.n ? other : i];
    }
    SIMT_UNROLL
    for (uint32_t j = 0; j < NOTE_AHEAD; j++) {
        const uint32_t at = j * SIMT_WARP + lane, i = queues->from + at;
        const uint32_t mine = at < left ? base_leaf[j] : COPSE_LEAF_NONE;
        const uint32_t before = simt_shfl_up_u32(SIMT_FULL_MASK, mine, 1);
        const uint32_t behind = simt_shfl_down_u32(SIMT_FULL_MASK, mine, 1);
        const bool first_of_all = i == 0, last_of_all = i + 1u == a->operations.n;
        runs_note(a, queues, i,
                  first_of_all ? COPSE_LEAF_NONE
                  : lane == 0  ? edge[j]
                               : before,
                  mine,
                  last_of_all    ? COPSE_LEAF_NONE
                  : lane == last ? edge[j]
                                 : behind);
    }
    queues->from = left > NOTE_MOST ? queues->from + NOTE_MOST : queues->end;
    __syncwarp(SIMT_FULL_MASK);
}

/* What lanes do next. */
typedef struct apply_turn {
    run_rest run;
    bool go;
    bool one;     /* all of them: runs of one operation */
    bool stepped; /* all of them: what is left of runs that take a step */
} apply_turn;

/* False: the warp is done. */
SIMT_DEVICE bool runs_next(apply_queue *queues, apply_turn *out)
{
    const bool all = queues->from == queues->end; /* no more will come: fewer than 32 do */
    out->stepped = queues->steps >= SIMT_WARP || (all && queues->ones == 0 && queues->longer == 0);
    out->one = !out->stepped && (queues->ones >= SIMT_WARP || (all && queues->ones));
    if (out->stepped)
        out->run = queues->memory->steps[queue_take(&queues->steps, &out->go)];
    else if (out->one)
        out->run = queues->memory->ones[queue_take(&queues->ones, &out->go)];
    else
        out->run = queues->memory->longer[queue_take(&queues->longer, &out->go)];
    return __any_sync(SIMT_FULL_MASK, out->go);
}

/* Appends up to 32 deferred runs to one list for the whole batch, so that the warps of apply_splits are full. */
SIMT_DEVICE void deferred_send(const copse_apply_arguments *a, apply_queue *queues)
{
    const uint32_t some = queues->deferred < SIMT_WARP ? queues->deferred : SIMT_WARP;
    bool any;
    const uint32_t at = queue_take(&queues->deferred, &any);
    uint32_t first = 0;
    if (simt_lane() == 0 && some) first = simt_atomic_add_u32(&a->counters->deferred, some);
    first = simt_shfl_u32(SIMT_FULL_MASK, first, 0) + simt_lane();
    if (!any) return;
    a->deferred[first] = queues->memory->deferred[at].operation;
    a->deferred_leaves[first] = queues->memory->deferred[at].leaf;
}

/* Queues what lanes have left: a first step along the chain waits for others, all else is deferred to apply_splits. */
SIMT_DEVICE void rest_send(const copse_apply_arguments *a, apply_queue *queues, const run_rest *rest, bool stepped)
{
    const bool left = rest->operation != COPSE_LEAF_NONE;
    if (!__any_sync(SIMT_FULL_MASK, left)) return;
    const bool steps = left && !stepped && rest->leaf >= a->tree.base_leaves, defers = left && !steps;
    const uint32_t step_at = queue_add(&queues->steps, steps);
    const uint32_t at = queue_add(&queues->deferred, defers);
    if (steps) queues->memory->steps[step_at] = *rest;
    if (defers) queues->memory->deferred[at] = *rest;
    __syncwarp(SIMT_FULL_MASK);
    if (queues->deferred >= SIMT_WARP) deferred_send(a, queues);
    __syncwarp(SIMT_FULL_MASK);
}

/* Carries out a chunk of the batch. */
SIMT_DEVICE void chunk_apply(sorted_update *s, apply_queue *queues)
{
    for (;;) {
        apply_turn turn;
        while (queues->from != queues->end && queues->ones < SIMT_WARP && queues->longer < SIMT_WARP)
            runs_look(s->a, queues);
        if (!runs_next(queues, &turn)) break;
        const run_rest rest = run_apply(s, turn.run.operation, turn.run.leaf, turn.go, true, turn.one);
        rest_send(s->a, queues, &rest, turn.stepped);
    }
    deferred_send(s->a, queues);
}

SIMT_DEVICE bool apply_may(const copse_apply_arguments *a)
{
    return update_may(a->counters, a->extra_most, a->dead_most);
}

/* All of the batch but the deferred runs: each warp has a chunk. */
SIMT_KERNEL(NAME(apply), copse_apply_arguments, COPSE_KERNEL_THREADS, COPSE_APPLY_BLOCKS)
{
    SIMT_SHARED(simt_u32x4, rows, COPSE_KERNEL_THREADS * ROW_PIECES);
    SIMT_SHARED(apply_queues, memory, APPLY_WARPS);
    sorted_update s = {&a, rows + simt_warp() * SIMT_WARP * ROW_PIECES, operations_repeat(&a.tree, &a.operations), 0,
                       0};
    const uint64_t n = a.operations.n, from = (uint64_t)(blockIdx.x * APPLY_WARPS + simt_warp()) * a.chunk;
    if (!apply_may(&a) || from >= n) return;
    apply_queue queues = {
        memory + simt_warp(), (uint32_t)from, (uint32_t)(n - from < a.chunk ? n : from + a.chunk), 0, 0, 0, 0};
    chunk_apply(&s, &queues);
    update_count(a.counters, s.came, s.went);
}

/* The deferred runs of all chunks, with all their steps and splits: each warp has 32 at a time. */
SIMT_KERNEL(NAME(apply_splits), copse_apply_arguments, COPSE_KERNEL_THREADS, COPSE_SPLITS_BLOCKS)
{
    SIMT_SHARED(simt_u32x4, rows, COPSE_KERNEL_THREADS * ROW_PIECES);
    sorted_update s = {&a, rows + simt_warp() * SIMT_WARP * ROW_PIECES, operations_repeat(&a.tree, &a.operations), 0,
                       0};
    if (!apply_may(&a)) return;
    const uint32_t deferred = a.counters->deferred, stride = gridDim.x * COPSE_KERNEL_THREADS;
    uint32_t first = (blockIdx.x * APPLY_WARPS + simt_warp()) * SIMT_WARP;
    while (first < deferred) {
        const uint32_t i = first + simt_lane();
        const bool go = i < deferred;
        (void)run_apply(&s, go ? a.deferred[i] : 0, go ? a.deferred_leaves[i] : 0, go, false, false);
        first = deferred - first > stride ? first + stride : deferred;
    }
    update_count(a.counters, s.came, s.went);
}

/*
 * Template: sorted batches, which change leaves where they are.
 *
 * The operations of one home are a run, and one lane has it all to itself: nobody else writes to the leaves of that home, one of
 * which the lane holds at a time (blink_own.inc.h).
 */

/* --- operations -------------------------------------------------------------------------------------------------------------- */

/* Entries less than k; *there: k is one of them. */
SIMT_DEVICE uint32_t NAME(own_seek)(const OWN *own, KEY k, bool *there)
{
    const uint32_t count = NAME(own_count)(own);
    uint32_t slot = 0;
    bool equal = false;
    SIMT_UNROLL
    for (uint32_t i = 0; i < LEAF_SLOTS; i++) {
        const KEY key = NAME(own_key)(own, i);
        slot += key < k;
        equal |= key == k && i < count;
    }
    *there = equal;
    return slot;
}

SIMT_DEVICE void NAME(own_insert)(OWN *own, uint32_t slot, KEY k, VALUE value)
{
    SIMT_UNROLL
    for (uint32_t i = LEAF_SLOTS; i-- > 0;) {
        if (i > slot) NAME(own_set_key)(own, i, NAME(own_key)(own, i > 0 ? i - 1u : 0));
        if (i > slot) NAME(own_set_value)(own, i, NAME(own_value)(own, i > 0 ? i - 1u : 0));
        if (i == slot) NAME(own_set_key)(own, i, k);
        if (i == slot) NAME(own_set_value)(own, i, value);
    }
    own->word[LEAF_STATE / 4u]++;
    own->untouched = slot < own->untouched ? slot : own->untouched;
    own->home_changed = true;
}

SIMT_DEVICE void NAME(own_erase)(OWN *own, uint32_t slot)
{
    SIMT_UNROLL
    for (uint32_t i = 0; i < LEAF_SLOTS; i++) {
        const bool last = i + 1u == LEAF_SLOTS;
        if (i < slot) continue;
        NAME(own_set_key)(own, i, last ? KEY_MAX : NAME(own_key)(own, last ? i : i + 1u));
        NAME(own_set_value)(own, i, last ? 0 : NAME(own_value)(own, last ? i : i + 1u));
    }
    own->word[LEAF_STATE / 4u]--;
    own->untouched = slot < own->untouched ? slot : own->untouched;
    own->home_changed = true;
}

SIMT_DEVICE void NAME(own_replace)(OWN *own, uint32_t slot, VALUE value)
{
    SIMT_UNROLL
    for (uint32_t i = 0; i < LEAF_SLOTS; i++)
        if (i == slot) NAME(own_set_value)(own, i, value);
    own->untouched = slot < own->untouched ? slot : own->untouched;
    own->home_changed = true;
}

/*
 * One operation on the leaf where its key belongs: lanes with `go`. Returns false where the leaf would have to be split but may not
 * be (`easy`), and nothing was done.
 */
SIMT_DEVICE bool NAME(own_change)(SORTED *s, OWN *own, KEY k, VALUE value, copse_action action, bool go, bool easy)
{
    bool there;
    uint32_t slot = NAME(own_seek)(own, k, &there);
    const bool inserts = go && !there && action != COPSE_ACTION_ERASE;
    const bool full = inserts && NAME(own_count)(own) == LEAF_SLOTS;
    if (!easy && __any_sync(SIMT_FULL_MASK, full)) {
        NAME(own_split)(s, own, k, slot, full);
        slot = NAME(own_seek)(own, k, &there);
    }
    if (inserts && !(easy && full)) {
        NAME(own_insert)(own, slot, k, value);
        s->came++;
    } else if (go && there && action == COPSE_ACTION_UPSERT) {
        NAME(own_replace)(own, slot, value);
    } else if (go && there && action == COPSE_ACTION_ERASE) {
        NAME(own_erase)(own, slot);
        s->went++;
    }
    return !easy || !full;
}

/* Goes from the leaves that lanes hold to those where their k belongs, within the same home: lanes with `go`. */
SIMT_DEVICE void NAME(own_move)(const SORTED *s, OWN *own, KEY k, bool go)
{
    const copse_blink_tree *tree = &s->a->tree;
    for (;;) {
        const bool moves = go && NAME(own_high)(own) < k;
        if (!__any_sync(SIMT_FULL_MASK, moves)) return;
        NAME(own_put_back)(s, own, moves);
        if (moves) {
            own->number = tree->forks ? NAME(fork_lead)(tree, own->home, k) : own->word[LEAF_NEXT / 4u];
            own->steps++;
            if (!tree->forks) NAME(own_latch)(s, own->number);
        }
        NAME(own_fetch)(s, own, moves);
    }
}

/* Beside readers a home of a B+ tree is latched all the time. */
SIMT_DEVICE void NAME(fork_release)(const SORTED *s, const OWN *own)
{
    uint32_t *state = (uint32_t *)(NAME(leaf_at)(&s->a->tree, own->home) + LEAF_STATE);
    const uint32_t there = simt_load_relaxed_u32(state) & ~COPSE_LEAF_LATCH;
    simt_store_release_u32(state, own->home_changed ? NAME(state_after)(there, there & COPSE_LEAF_COUNT) : there);
}

/* --- runs ---------------------------------------------------------------------------------------------------------------------- */

/* What is left of a run: its operations from this one on (COPSE_LEAF_NONE: nothing), and the leaf to begin with: the one that is
 * full, or the next of the chain (COPSE_LEAF_NONE: the fork knows). */
typedef struct NAME(run_rest) {
    uint32_t operation, leaf;
} NAME(run_rest);
#define REST NAME(run_rest)

/* What stopped a lane at operation i, which needs a step (`steps`), or else a split. */
SIMT_DEVICE REST NAME(rest_of)(const SORTED *s, const OWN *own, uint32_t i, bool steps)
{
    REST rest = {i, s->a->tree.forks ? own->home : own->number};
    if (steps) rest.leaf = s->a->tree.forks ? COPSE_LEAF_NONE : own->word[LEAF_NEXT / 4u];
    return rest;
}

/* A leaf to begin with will soon be read. */
SIMT_DEVICE void NAME(rest_ahead)(const copse_blink_tree *tree, uint32_t leaf)
{
    if (leaf != COPSE_LEAF_NONE) simt_prefetch_line(NAME(leaf_at)(tree, leaf));
}

/* An operation of a run. What memory has of it is asked for while the one in front of it is carried out. */
typedef struct NAME(run_operation) {
    uint32_t home; /* COPSE_LEAF_NONE: there is none */
    KEY key;
    VALUE value;
    copse_action action;
} NAME(run_operation);
#define RUN_OPERATION NAME(run_operation)

/* Operation i, where there is one and `go`. */
SIMT_DEVICE RUN_OPERATION NAME(operation_load)(const copse_apply_arguments *a, uint32_t i, bool go)
{
    const copse_blink_operations *operations = &a->operations;
    RUN_OPERATION operation = {COPSE_LEAF_NONE, 0, 0, COPSE_ACTION_ERASE};
    if (!go || i >= operations->n) return operation;
    operation.home = a->homes[i];
    operation.key = ((const KEY *)operations->keys)[i];
    if (operations->values) operation.value = NAME(operation_value)(operations, i);
    operation.action = NAME(operation_action)(operations, i);
    return operation;
}

/* Is operation i, behind which comes `next`, pointless? Operations on one key are of one home. */
SIMT_DEVICE bool NAME(operation_vain)(const copse_apply_arguments *a, uint32_t i, const RUN_OPERATION *operation,
                                      const RUN_OPERATION *next)
{
    if (a->operations.last_wins == 1u) return next->home == operation->home && next->key == operation->key;
    return NAME(operation_dead)(&a->operations, i);
}

/* Begins a run that has operation i next with `leaf`, which is its home or one of the chain: lanes with `go`. Where it is of the
 * chain it may be the second one behind the home, so `steps` may be one too few. */
SIMT_DEVICE void NAME(own_begin)(const SORTED *s, OWN *own, const RUN_OPERATION *first, uint32_t leaf, bool go)
{
    const copse_blink_tree *tree = &s->a->tree;
    own->home = go ? first->home : 0;
    own->number = leaf == COPSE_LEAF_NONE ? own->home : leaf;
    own->steps = own->number != own->home;
    own->home_changed = false;
    own->untouched = LEAF_WORDS;
    if (go) NAME(own_latch)(s, own->number);
    if (go && tree->forks) own->number = NAME(fork_lead)(tree, own->home, first->key);
    NAME(own_fetch)(s, own, go);
}

/*
 * The operations of one home, from i on, beginning with `leaf` (COPSE_LEAF_NONE: the home): lanes with `go`. easy: as far as that
 * takes neither a step along the chain nor a split. Returns what is left.
 */
SIMT_DEVICE REST NAME(run_apply)(SORTED *s, uint32_t i, uint32_t leaf, bool go, bool easy)
{
    const copse_apply_arguments *a = s->a;
    REST rest = {COPSE_LEAF_NONE, COPSE_LEAF_NONE};
    RUN_OPERATION operation = NAME(operation_load)(a, i, go);
    OWN own;
    NAME(own_begin)(s, &own, &operation, leaf, go);
    for (bool open = go; __any_sync(SIMT_FULL_MASK, open); i++) {
        const RUN_OPERATION next = NAME(operation_load)(a, i + 1u, open);
        const bool counts = open && !NAME(operation_vain)(a, i, &operation, &next);
        if (!easy) NAME(own_move)(s, &own, operation.key, counts);
        const bool here = counts && (!easy || operation.key <= NAME(own_high)(&own));
        const bool done = NAME(own_change)(s, &own, operation.key, operation.value, operation.action, here, easy);
        const bool stops = counts && (!here || !done);
        if (stops) rest = NAME(rest_of)(s, &own, i, !here);
        open = open && !stops && next.home == own.home;
        operation = next;
    }
    NAME(own_put_back)(s, &own, go);
    if (go && a->shared && a->tree.forks) NAME(fork_release)(s, &own);
    if (go && !easy && own.steps >= COPSE_CHAIN_MOST) simt_store_relaxed_u32(&a->counters->winding, 1u);
    return rest;
}

/* --- what a block has to do ------------------------------------------------------------------------------------------------------ */

/* Blocks of apply that a multiprocessor has at a time. */
#ifndef APPLY_BLOCKS
#define APPLY_BLOCKS 7
#endif

/* What is left of runs of a part. */
#define LEFT_MOST 256u
typedef struct NAME(apply_left) {
    uint32_t leaf[LEFT_MOST];
    uint16_t at[LEFT_MOST]; /* the operation, from the start of the part on; a home that gets many goes another way */
    uint32_t count;         /* may be greater than there is room for                                             */
} NAME(apply_left);
#define LEFT NAME(apply_left)

/*
 * What the warps of a block share: the runs that begin in its part of the batch, as positions in that part. Runs of one operation
 * are in front, longer ones at the end, so that lanes which work side by side have as many each.
 */
typedef struct NAME(apply_runs) {
    uint16_t runs[COPSE_APPLY_PART];
    uint32_t count; /* of runs with one operation; above RUNS_LONGER: of longer ones */
    LEFT steps;     /* runs that took a step */
    LEFT hard;      /* for apply_hard        */
} NAME(apply_runs);
#define RUNS        NAME(apply_runs)
#define RUNS_LONGER 16u
#define RUNS_ONES   ((1u << RUNS_LONGER) - 1u)

/* Adds `more` for the whole warp. Returns what there was before. */
SIMT_DEVICE uint32_t NAME(warp_add)(uint32_t *count, uint32_t more)
{
    uint32_t before = 0;
    if (simt_lane() == 0 && more) before = simt_atomic_add_u32(count, more);
    return simt_shfl_u32(SIMT_FULL_MASK, before, 0);
}

/* How many of the lanes in front of this one are among `lanes`. */
SIMT_DEVICE uint32_t NAME(lanes_before)(uint32_t lanes)
{
    return (uint32_t)__popc(lanes & ((1u << simt_lane()) - 1u));
}

/* Numbers lanes with p from *count on, which grows by as many. */
SIMT_DEVICE uint32_t NAME(runs_number)(uint32_t *count, bool p)
{
    const uint32_t lanes = __ballot_sync(SIMT_FULL_MASK, p);
    return NAME(warp_add)(count, (uint32_t)__popc(lanes)) + NAME(lanes_before)(lanes);
}

/* Notes the runs that begin at operation `at` of the part, whose home is `home` and that of its neighbours `before` and `behind`. */
SIMT_DEVICE void NAME(runs_note)(RUNS *runs, uint32_t at, uint32_t before, uint32_t home, uint32_t behind)
{
    const bool begins = home != COPSE_LEAF_NONE && before != home, one = begins && behind != home;
    const uint32_t ones = __ballot_sync(SIMT_FULL_MASK, one), longer = __ballot_sync(SIMT_FULL_MASK, begins && !one);
    const uint32_t more = (uint32_t)__popc(ones) | (uint32_t)__popc(longer) << RUNS_LONGER;
    const uint32_t count = NAME(warp_add)(&runs->count, more);
    if (one) runs->runs[(count & RUNS_ONES) + NAME(lanes_before)(ones)] = (uint16_t)at;
    if (begins && !one)
        runs->runs[COPSE_APPLY_PART - 1u - (count >> RUNS_LONGER) - NAME(lanes_before)(longer)] = (uint16_t)at;
}

/* Homes that a lane asks for at once, to list runs. */
#define LIST_AHEAD 4u

/* Lists the runs that begin among `size` operations from `base` on; the last lane of a warp has none only at the end of the batch. */
SIMT_DEVICE void NAME(runs_list)(const copse_apply_arguments *a, RUNS *runs, uint32_t base, uint32_t size)
{
    const uint32_t n = (uint32_t)a->operations.n, last = SIMT_WARP - 1u;
    for (uint32_t from = threadIdx.x; from - simt_lane() < size; from += LIST_AHEAD * COPSE_KERNEL_THREADS) {
        uint32_t home[LIST_AHEAD],
            edge[LIST_AHEAD]; /* of the first and of the last lane: the home of the operation beyond */
        SIMT_UNROLL
        for (uint32_t j = 0; j < LIST_AHEAD; j++) {
            const uint32_t at = from + j * COPSE_KERNEL_THREADS, i = base + at;
            const bool there = at < size;
            home[j] = there ? a->homes[i] : COPSE_LEAF_NONE;
            edge[j] = COPSE_LEAF_NONE;
            if (there && simt_lane() == 0 && i > 0) edge[j] = a->homes[i - 1u];
            if (there && simt_lane() == last && i + 1u < n) edge[j] = a->homes[i + 1u];
        }
        SIMT_UNROLL
        for (uint32_t j = 0; j < LIST_AHEAD; j++) {
            const uint32_t at = from + j * COPSE_KERNEL_THREADS;
            const uint32_t before = simt_shfl_up_u32(SIMT_FULL_MASK, home[j], 1);
            const uint32_t behind = simt_shfl_down_u32(SIMT_FULL_MASK, home[j], 1);
            NAME(runs_note)
            (runs, at, simt_lane() == 0 ? edge[j] : before, home[j], simt_lane() == last ? edge[j] : behind);
        }
    }
}

/* The run of this lane when its warp takes the 32 runs `w`: first come all that have one operation, then the longer ones. Returns
 * false where there is none. */
SIMT_DEVICE bool NAME(runs_pick)(const RUNS *runs, uint32_t w, uint32_t *out_at)
{
    const uint32_t all = runs->count & RUNS_ONES, ones = (all + SIMT_WARP - 1u) / SIMT_WARP;
    const bool longer = w >= ones;
    const uint32_t number = (longer ? w - ones : w) * SIMT_WARP + simt_lane();
    const bool any = number < (longer ? runs->count >> RUNS_LONGER : all);
    *out_at = any ? runs->runs[longer ? COPSE_APPLY_PART - 1u - number : number] : 0;
    return any;
}

SIMT_DEVICE uint32_t NAME(left_count)(const LEFT *left)
{
    return left->count < LEFT_MOST ? left->count : LEFT_MOST;
}

/* How often a warp takes 32 runs, all warps together. */
SIMT_DEVICE uint32_t NAME(runs_all)(const RUNS *runs, bool stepped)
{
    if (stepped) return (NAME(left_count)(&runs->steps) + SIMT_WARP - 1u) / SIMT_WARP;
    return ((runs->count & RUNS_ONES) + SIMT_WARP - 1u) / SIMT_WARP +
           ((runs->count >> RUNS_LONGER) + SIMT_WARP - 1u) / SIMT_WARP;
}

/* As runs_pick, for runs that took a step. */
SIMT_DEVICE bool NAME(left_pick)(const LEFT *left, uint32_t w, uint32_t *out_at, uint32_t *out_leaf)
{
    const uint32_t number = w * SIMT_WARP + simt_lane();
    const bool any = number < NAME(left_count)(left);
    *out_at = any ? left->at[number] : 0;
    *out_leaf = any ? left->leaf[number] : COPSE_LEAF_NONE;
    return any;
}

/* Notes what lanes with `go` have left. False in lanes for which there is no room. */
SIMT_DEVICE bool NAME(left_add)(LEFT *left, uint32_t base, const REST *rest, bool go)
{
    const uint32_t place = NAME(runs_number)(&left->count, go);
    if (!go || place >= LEFT_MOST) return false;
    left->at[place] = (uint16_t)(rest->operation - base);
    left->leaf[place] = rest->leaf;
    return true;
}

/* Sends what lanes have left where it belongs: steps to a list of the block, unless they were of that list, and all else to
 * apply_hard. */
SIMT_DEVICE void NAME(rest_send)(const copse_apply_arguments *a, RUNS *runs, uint32_t base, const REST *rest,
                                 bool stepped)
{
    bool left = rest->operation != COPSE_LEAF_NONE;
    if (!__any_sync(SIMT_FULL_MASK, left)) return;
    if (!stepped && NAME(left_add)(&runs->steps, base, rest, left && rest->leaf >= a->tree.homes)) {
        NAME(rest_ahead)(&a->tree, rest->leaf);
        left = false;
    }
    if (NAME(left_add)(&runs->hard, base, rest, left)) left = false;
    const uint32_t place = NAME(runs_number)(&a->counters->hards, left);
    if (!left) return;
    a->hard[place] = rest->operation;
    a->hard_leaves[place] = rest->leaf;
}

/* 32 runs, one to a lane; or what is left of 32 runs that took a step. */
SIMT_DEVICE void NAME(runs_easy)(SORTED *s, RUNS *runs, uint32_t base, uint32_t w, bool stepped)
{
    uint32_t at, leaf = COPSE_LEAF_NONE;
    const bool go = stepped ? NAME(left_pick)(&runs->steps, w, &at, &leaf) : NAME(runs_pick)(runs, w, &at);
#ifdef APPLY_AHEAD
    uint32_t next;
    if (!stepped && NAME(runs_pick)(runs, w + APPLY_WARPS, &next))
        NAME(rest_ahead)(&s->a->tree, s->a->homes[base + next]);
#endif
    const REST rest = NAME(run_apply)(s, base + at, leaf, go, true);
    NAME(rest_send)(s->a, runs, base, &rest, stepped);
}

/* What a part leaves to apply_hard goes to the end of one list for the whole batch, so that there warps are full. By one warp. */
SIMT_DEVICE void NAME(hard_append)(const copse_apply_arguments *a, const LEFT *hard, uint32_t base)
{
    const uint32_t count = NAME(left_count)(hard);
    uint32_t first = 0;
    if (simt_lane() == 0 && count) first = simt_atomic_add_u32(&a->counters->hards, count);
    first = simt_shfl_u32(SIMT_FULL_MASK, first, 0);
    for (uint32_t i = simt_lane(); i < count; i += SIMT_WARP) {
        a->hard[first + i] = base + hard->at[i];
        a->hard_leaves[first + i] = hard->leaf[i];
    }
    __syncwarp(SIMT_FULL_MASK); /* the list is used again */
}

/* A part of the batch: first the homes of all runs, then the leaves behind them of those that took a step. */
SIMT_DEVICE void NAME(part_apply)(SORTED *s, RUNS *runs, uint32_t base, uint32_t size)
{
    if (threadIdx.x == 0) runs->count = runs->steps.count = runs->hard.count = 0;
    __syncthreads();
    NAME(runs_list)(s->a, runs, base, size);
    __syncthreads();
    for (uint32_t turn = 0; turn < 2u; turn++) { /* one loop for both, so that the code is there once */
        const uint32_t all = NAME(runs_all)(runs, turn != 0);
        for (uint32_t w = simt_warp(); w < all; w += APPLY_WARPS) NAME(runs_easy)(s, runs, base, w, turn != 0);
        __syncthreads();
    }
    if (simt_warp() == 0) NAME(hard_append)(s->a, &runs->hard, base);
}

/* May the operations run at all? */
SIMT_DEVICE bool NAME(apply_may)(const copse_apply_arguments *a)
{
    return !a->counters->doubt.wrong && a->counters->crowded != 1u && a->counters->extra <= a->extra_most &&
           a->counters->dead <= a->dead_most;
}

/*
 * Parts of the batch. A run that takes a step along the chain waits until the block is through with the homes: then lanes that do so
 * are side by side. What takes a split, or one more step, is left to the next kernel, and nobody waits for it here.
 */
SIMT_KERNEL(NAME(apply), copse_apply_arguments, COPSE_KERNEL_THREADS, APPLY_BLOCKS)
{
    SIMT_SHARED(simt_u32x4, rows, COPSE_KERNEL_THREADS * ROW_PIECES);
    SIMT_SHARED(RUNS, runs, 1);
    SORTED s = {&a, rows + simt_warp() * SIMT_WARP * ROW_PIECES, 0, 0};
    if (!NAME(apply_may)(&a)) return;
    for (uint64_t base = (uint64_t)blockIdx.x * a.part; base < a.operations.n; base += (uint64_t)gridDim.x * a.part) {
        const uint64_t rest = a.operations.n - base;
        NAME(part_apply)(&s, runs, (uint32_t)base, rest < a.part ? (uint32_t)rest : a.part);
    }
    NAME(update_count)(a.counters, s.came, s.went);
}

/* What is left of all parts, 32 runs to a warp, while the leaves of its next ones are on their way. */
SIMT_KERNEL(NAME(apply_hard), copse_apply_arguments, COPSE_KERNEL_THREADS, COPSE_HARD_BLOCKS)
{
    SIMT_SHARED(simt_u32x4, rows, COPSE_KERNEL_THREADS * ROW_PIECES);
    SORTED s = {&a, rows + simt_warp() * SIMT_WARP * ROW_PIECES, 0, 0};
    if (!NAME(apply_may)(&a)) return;
    const uint32_t hards = a.counters->hards, stride = gridDim.x * COPSE_KERNEL_THREADS;
    uint32_t first = (blockIdx.x * APPLY_WARPS + simt_warp()) * SIMT_WARP;
    while (first < hards) {
        const uint32_t i = first + simt_lane();
        const bool go = i < hards;
        if (go && hards - i > stride) NAME(rest_ahead)(&a.tree, a.hard_leaves[i + stride]);
        (void)NAME(run_apply)(&s, go ? a.hard[i] : 0, go ? a.hard_leaves[i] : 0, go, false);
        first = hards - first > stride ? first + stride : hards;
    }
    NAME(update_count)(a.counters, s.came, s.went);
}

/*
 * Template: small batches that change leaves in place, unsorted: in the order in which warps come to the operations.
 *
 * A group of LEAF_LANES lanes holds a leaf, one entry in each lane; shuffles shift entries when one comes or goes. All lanes of a warp
 * take the same path, also groups without work, so that every collective names all 32.
 *
 * Every group has an operation and latches what it changes. It holds one latch at a time and gives it back in the same turn of the
 * loop, so groups cannot wait for each other in a circle.
 *
 * What a latch protects:  blink  the leaf in whose state it is       bplus  the base leaf with all its leaves
 *
 * How a group changes a leaf that concurrent readers may read (docs/BLINK.md shows why that is safe): it latches the leaf, fences,
 * stores the entries, and stores the state with release, without the latch and with the next version.
 */
#pragma once

#include "trees/blink/node/change.h"
#include "trees/blink/node/leaf.h"
#include "trees/blink/rebuild/per_base_leaf.h"
#include "trees/blink/update/arguments.h"
#include "trees/blink/update/locate.h"

/* A leaf that a group holds. Lane i has entry i; the rest is the same in all lanes. */
typedef struct held_leaf {
    KEY key;
    VALUE value;
    uint32_t count;
    uint32_t state; /* as the group found it, without the latch */
    uint32_t next;
    KEY high;
    uint32_t number;
    uint32_t base_leaf;
    bool changed;
    bool base_leaf_changed; /* some leaf of the base leaf was, since the group latched the base leaf */
} held_leaf;

/* What the groups of a kernel share. */
typedef struct unsorted_update {
    const copse_blink_tree *tree;
    copse_blink_counters *counters;
    uint32_t came, went;
} unsorted_update;

SIMT_DEVICE uint32_t held_lane(void)
{
    return simt_lane() & (LEAF_LANES - 1u);
}

/* Lanes of this group in which p holds, lane 0 of the group as bit 0. */
SIMT_DEVICE uint32_t held_ballot(bool p)
{
    return __ballot_sync(SIMT_FULL_MASK, p) >> (simt_lane() & ~(LEAF_LANES - 1u)) & ((1u << LEAF_LANES) - 1u);
}

/* v of lane `lane` of the group. */
SIMT_DEVICE uint32_t held_pick_u32(uint32_t v, uint32_t lane)
{
    return simt_shfl_u32(SIMT_FULL_MASK, v, (simt_lane() & ~(LEAF_LANES - 1u)) + lane);
}

SIMT_DEVICE KEY held_pick_key(KEY v, uint32_t lane)
{
    return COPSE_BITS(simt_shfl_u, KEY_BITS)(SIMT_FULL_MASK, v, (simt_lane() & ~(LEAF_LANES - 1u)) + lane);
}

/* --- memory ---------------------------------------------------------------------------------------------------------------- */

SIMT_DEVICE void held_load(const copse_blink_tree *tree, held_leaf *held)
{
    const char *leaf = leaf_at(tree, held->number);
    const uint32_t lane = held_lane();
    held->key = KEY_MAX;
    held->value = 0;
    if (lane < LEAF_SLOTS) {
        held->key = COPSE_BITS(simt_load_relaxed_u, KEY_BITS)((const KEY *)leaf + lane);
        held->value = COPSE_BITS(simt_load_relaxed_u, VALUE_BITS)((const VALUE *)(leaf + LEAF_VALUES) + lane);
    }
    held->state = simt_load_relaxed_u32((const uint32_t *)(leaf + LEAF_STATE)) & ~COPSE_LEAF_LATCH;
    held->next = simt_load_relaxed_u32((const uint32_t *)(leaf + LEAF_NEXT));
    held->high = COPSE_BITS(simt_load_relaxed_u, KEY_BITS)((const KEY *)(leaf + LEAF_HIGH));
    held->count = held->state & COPSE_LEAF_COUNT;
    held->changed = false;
}

/* Stores entries, next and high of a leaf; a lane without an entry stores a free slot. */
SIMT_DEVICE void store_entries(char *leaf, KEY key, VALUE value, uint32_t next, KEY high)
{
    const uint32_t lane = held_lane();
    if (lane < LEAF_SLOTS) {
        store_key(leaf, lane, key);
        store_value(leaf, lane, value);
    }
    if (lane != 0) return;
    simt_store_relaxed_u32((uint32_t *)(leaf + LEAF_NEXT), next);
    COPSE_BITS(simt_store_relaxed_u, KEY_BITS)((KEY *)(leaf + LEAF_HIGH), high);
}

/* Gives a leaf of a B-link tree, which the group has loaded, other entries, as many as `count`, under its latch where there are readers.
 * All lanes call this, groups with `go` write. */
SIMT_DEVICE void held_replace(const copse_blink_tree *tree, uint32_t shared, const held_leaf *held, KEY key,
                              VALUE value, uint32_t next, KEY high, uint32_t count, bool go)
{
    char *leaf = leaf_at(tree, held->number);
    uint32_t *state = (uint32_t *)(leaf + LEAF_STATE);
    if (go && held_lane() == 0 && shared) {
        simt_store_relaxed_u32(state, held->state | COPSE_LEAF_LATCH);
        __threadfence(); /* orders what follows behind the latch */
    }
    __syncwarp(SIMT_FULL_MASK);
    if (go) store_entries(leaf, key, value, next, high);
    __syncwarp(SIMT_FULL_MASK); /* the release below covers the stores of all lanes */
    if (go && held_lane() == 0) simt_store_release_u32(state, state_after(held->state, count));
}

/* Writes a leaf back where it was changed. In a B-link tree that gives its latch back, in a B+ tree the base leaf keeps it. All
 * lanes call this, groups with `go` write. */
SIMT_DEVICE void held_put_back(const unsorted_update *u, held_leaf *held, bool go)
{
    const bool branches = u->tree->branches != 0, changed = held->changed;
    char *leaf = leaf_at(u->tree, go ? held->number : 0);
    if (go && changed) store_entries(leaf, held->key, held->value, held->next, held->high);
    __syncwarp(SIMT_FULL_MASK); /* the release below covers the stores of all lanes */
    if (!go) return;
    held->changed = false;
    if (held_lane() != 0) return;
    const uint32_t state = changed ? state_after(held->state, held->count) : held->state;
    const uint32_t latch = held->number < u->tree->base_leaves ? COPSE_LEAF_LATCH : 0;
    if (!branches)
        simt_store_release_u32((uint32_t *)(leaf + LEAF_STATE), state);
    else if (changed)
        simt_store_relaxed_u32((uint32_t *)(leaf + LEAF_STATE), state | latch);
}

/* Tries to latch a leaf. All lanes call this; true in all lanes of the groups that got the latch. */
SIMT_DEVICE bool latch_try(const copse_blink_tree *tree, uint32_t number, bool go)
{
    uint32_t *state = (uint32_t *)(leaf_at(tree, go ? number : 0) + LEAF_STATE);
    bool got = false;
    if (go && held_lane() == 0) got = !(simt_atomic_or_u32(state, COPSE_LEAF_LATCH) & COPSE_LEAF_LATCH);
    got = held_ballot(got) & 1u;
    __syncwarp(SIMT_FULL_MASK);
    __threadfence(); /* orders what follows behind the latch */
    return got;
}

SIMT_DEVICE void latch_give_back(const copse_blink_tree *tree, uint32_t number, bool changed, bool go)
{
    __syncwarp(SIMT_FULL_MASK);
    if (!go || held_lane() != 0) return;
    uint32_t *at = (uint32_t *)(leaf_at(tree, number) + LEAF_STATE);
    const uint32_t state = simt_load_relaxed_u32(at) & ~COPSE_LEAF_LATCH;
    simt_store_release_u32(at, changed ? state_after(state, state & COPSE_LEAF_COUNT) : state);
}

/* --- splits ---------------------------------------------------------------------------------------------------------------- */

/* Takes a leaf of the pool for each group with `go`. All lanes call this. */
SIMT_DEVICE uint32_t pool_take(const unsorted_update *u, bool go)
{
    uint32_t number = COPSE_LEAF_NONE;
    if (go && held_lane() == 0) number = pool_take_one(u->tree, u->counters);
    return held_pick_u32(number, 0);
}

/*
 * Splits the full leaves of groups with `go`, before an insertion of k at `slot`. The upper entries go to a new leaf, which is complete
 * before anything leads to it; the group goes on with the half where k belongs. Where k is greater than all entries these all stay, so
 * that keys which arrive in order leave full leaves behind.
 */
SIMT_DEVICE void held_split(const unsorted_update *u, held_leaf *held, KEY k, uint32_t slot, bool go)
{
    const uint32_t lane = held_lane(), keep = slot == LEAF_SLOTS ? LEAF_SLOTS : (LEAF_SLOTS + 1u) / 2u;
    const bool branches = u->tree->branches != 0, moves = branches && held->number < u->tree->base_leaves;
    const uint32_t right = pool_take(u, go), left = pool_take(u, go && moves);
    const KEY middle = held_pick_key(held->key, keep - 1u);
    KEY key = COPSE_BITS(simt_shfl_down_u, KEY_BITS)(SIMT_FULL_MASK, held->key, keep % LEAF_SLOTS);
    VALUE value = COPSE_BITS(simt_shfl_down_u, VALUE_BITS)(SIMT_FULL_MASK, held->value, keep % LEAF_SLOTS);
    if (!go) return;
    const bool goes_right = middle < k;
    char *to = leaf_at(u->tree, right);
    if (lane >= LEAF_SLOTS - keep) {
        key = KEY_MAX;
        value = 0;
    }
    store_entries(to, key, value, held->next, held->high);
    if (lane == 0) {
        store_unused(to);
        /* In a B-link tree the group keeps the latch of the half that it goes on with. */
        const uint32_t latch = !branches && goes_right ? COPSE_LEAF_LATCH : 0;
        simt_store_relaxed_u32((uint32_t *)(to + LEAF_STATE), latch | (LEAF_SLOTS - keep));
    }
    held_leaf upper = *held;
    upper.key = key;
    upper.value = value;
    upper.count = LEAF_SLOTS - keep;
    upper.state = 0;
    upper.number = right;
    upper.changed = true;
    if (lane >= keep) {
        held->key = KEY_MAX;
        held->value = 0;
    }
    held->count = keep;
    held->changed = true;
    if (branches) {
        char *branch = leaf_at(u->tree, held->base_leaf);
        if (moves) {
            char *lower = leaf_at(u->tree, left);
            held->number = left;
            held->state = 0;
            if (lane == 0) store_unused(lower);
            if (lane == 0) branch_make(branch, middle, held->high, left, right);
        } else if (lane == 0) {
            branch_insert(branch, middle, held->number, right);
        }
    } else {
        held->next = right;
    }
    held->high = middle;
    if (!goes_right) return;
    /* The lower half is complete: it leads to the upper one as soon as its state is stored. */
    char *lower = leaf_at(u->tree, held->number);
    store_entries(lower, held->key, held->value, held->next, held->high);
    upper.base_leaf = held->base_leaf;
    held->changed = false;
    const uint32_t state = state_after(held->state, held->count);
    if (!branches) {
        __threadfence();
        __syncwarp(((1u << LEAF_LANES) - 1u) << (simt_lane() & ~(LEAF_LANES - 1u)));
        if (lane == 0) simt_store_release_u32((uint32_t *)(lower + LEAF_STATE), state);
    } else if (lane == 0) {
        simt_store_relaxed_u32((uint32_t *)(lower + LEAF_STATE), state);
    }
    *held = upper;
}

/* --- operations -------------------------------------------------------------------------------------------------------------- */

/* Takes entry `slot` out of the leaf, or makes room for an entry there. */
SIMT_DEVICE void held_shift(held_leaf *held, uint32_t slot, bool in, bool out)
{
    const uint32_t lane = held_lane();
    const KEY left = COPSE_BITS(simt_shfl_up_u, KEY_BITS)(SIMT_FULL_MASK, held->key, 1);
    const KEY right = COPSE_BITS(simt_shfl_down_u, KEY_BITS)(SIMT_FULL_MASK, held->key, 1);
    const VALUE left_value = COPSE_BITS(simt_shfl_up_u, VALUE_BITS)(SIMT_FULL_MASK, held->value, 1);
    const VALUE right_value = COPSE_BITS(simt_shfl_down_u, VALUE_BITS)(SIMT_FULL_MASK, held->value, 1);
    if (in && lane > slot) {
        held->key = left;
        held->value = left_value;
    }
    if (out && lane >= slot) {
        held->key = lane + 1u < LEAF_SLOTS ? right : KEY_MAX;
        held->value = lane + 1u < LEAF_SLOTS ? right_value : 0;
    }
    held->count += (uint32_t)in - (uint32_t)out;
    held->changed |= in | out;
}

/* One operation on the leaf where its key belongs. All lanes call this, groups with `go` change their leaves. */
SIMT_DEVICE void held_change(unsorted_update *u, held_leaf *held, KEY k, VALUE value, copse_action action, bool go)
{
    const uint32_t lane = held_lane();
    uint32_t slot = (uint32_t)__popc(held_ballot(lane < held->count && held->key < k));
    const bool there = held_ballot(lane < held->count && held->key == k) != 0;
    const bool in = go && !there && action != COPSE_ACTION_ERASE, out = go && there && action == COPSE_ACTION_ERASE;
    const bool full = in && held->count == LEAF_SLOTS;
    if (__any_sync(SIMT_FULL_MASK, full)) {
        held_split(u, held, k, slot, full);
        __syncwarp(SIMT_FULL_MASK);
        slot = (uint32_t)__popc(held_ballot(lane < held->count && held->key < k));
    }
    if (__any_sync(SIMT_FULL_MASK, in | out)) held_shift(held, slot, in, out);
    if (lane == slot && (in || (go && there && action == COPSE_ACTION_UPSERT))) {
        held->key = k;
        held->value = value;
    }
    held->changed |= go && there && action == COPSE_ACTION_UPSERT;
    held->base_leaf_changed |= held->changed;
    if (lane != 0) return;
    u->came += (uint32_t)in;
    u->went += (uint32_t)out;
}

/* --- unsorted batches ------------------------------------------------------------------------------------------------------------ */

/* One operation of each group with `go`, while other groups may be after the same leaf. */
SIMT_DEVICE void apply_one(unsorted_update *u, uint32_t base_leaf, KEY k, VALUE value, copse_action action, bool go)
{
    const bool branches = u->tree->branches != 0;
    uint32_t number = base_leaf;
    for (bool open = go; __any_sync(SIMT_FULL_MASK, open);) {
        held_leaf held = {0};
        const bool got = latch_try(u->tree, number, open);
        held.base_leaf = base_leaf;
        if (got) held.number = branches ? branch_lead(u->tree, base_leaf, k) : number;
        held_load(u->tree, &held);
        const bool right = got && held.high < k; /* another group split it: k belongs further to the right */
        held_change(u, &held, k, value, action, got && !right);
        held_put_back(u, &held, got);
        if (branches) latch_give_back(u->tree, base_leaf, held.base_leaf_changed, got);
        if (right) number = held.next;
        if (got && !right) open = false;
        if (open && !got) simt_yield();
    }
}

/* Empties the slots of an operation that is done. Only the one that counts knows what its slot of `table` held, so that others with an
 * equal key read either that or nothing. */
SIMT_DEVICE void tables_empty(const copse_apply_arguments *a, uint64_t i, bool counts)
{
    if (!a->crowds || held_lane() != 0 || i >= a->operations.n) return;
    if (counts) a->table[a->slots[i]] = 0;
    a->crowds[hash(a->base_leaves[i]) & a->mask] = 0;
}

/* The last block to come here hands the counters to the host and resets them: two copies less for a call. */
SIMT_DEVICE void counters_deliver(const copse_apply_arguments *a)
{
    uint64_t *const words = (uint64_t *)a->counters, *const to = (uint64_t *)a->delivered;
    const uint32_t kept = COPSE_POOL_STRIPES * (uint32_t)sizeof(uint32_t) / (uint32_t)sizeof(uint64_t);
    uint32_t through = 0;
    __syncthreads();
    if (simt_warp() != 0) return;
    if (simt_lane() == 0) {
        __threadfence();
        through = simt_atomic_add_u32(&a->counters->through, 1u) + 1u;
    }
    if (simt_shfl_u32(SIMT_FULL_MASK, through, 0) != gridDim.x) return;
    __threadfence();
    for (uint32_t i = simt_lane(); i < sizeof *a->counters / sizeof *words; i += SIMT_WARP) {
        to[i] = simt_load_relaxed_u64(&words[i]);
        if (i >= kept) simt_store_relaxed_u64(&words[i], 0);
    }
}

/* An operation, as its group has it. */
typedef struct unsorted_operation {
    KEY key;
    VALUE value;
    uint32_t base_leaf;
    bool go; /* it counts */
} unsorted_operation;

/* The slot of operation i. */
SIMT_DEVICE uint32_t slot_fetch(const copse_apply_arguments *a, uint64_t i)
{
    return i < a->operations.n ? a->slots[i] : 0;
}

/* Operation i, which has that slot. Loads do not wait for each other. */
SIMT_DEVICE unsorted_operation operation_fetch(const copse_apply_arguments *a, uint64_t i, uint32_t slot)
{
    unsorted_operation operation = {0, 0, 0, false};
    if (i >= a->operations.n) return operation;
    operation.go = a->table[slot] == (uint32_t)i + 1u;
    operation.base_leaf = a->base_leaves[i];
    operation.key = ENCODE_ONE(a->tree.key_type, ((const KEY *)a->operations.keys)[i]);
    if (a->operations.action != COPSE_ACTION_ERASE) operation.value = ((const VALUE *)a->operations.values)[i];
    return operation;
}

SIMT_KERNEL(NAME(apply_unsorted), copse_apply_arguments, COPSE_KERNEL_THREADS, 8)
{
    const uint64_t groups = (uint64_t)gridDim.x * (COPSE_KERNEL_THREADS / LEAF_LANES), n = a.operations.n;
    const uint64_t warp_first = ((uint64_t)blockIdx.x * COPSE_KERNEL_THREADS + threadIdx.x - simt_lane()) / LEAF_LANES;
    unsorted_update u = {&a.tree, a.counters, 0, 0};
    const bool declined = simt_load_relaxed_u64(&a.counters->not_first_nan) != 0 ||
                          simt_load_relaxed_u32(&a.counters->crowded) == 1u; /* not a batch for this strategy */
    uint64_t i = warp_first + simt_lane() / LEAF_LANES;
    unsorted_operation next = operation_fetch(&a, i, slot_fetch(&a, i));
    uint32_t slot = slot_fetch(&a, i + groups);
    for (uint64_t first = declined ? n : warp_first; first < n; first += groups, i += groups) {
        const unsorted_operation own = next;
        next = operation_fetch(&a, i + groups, slot); /* the slot has arrived: nothing here is waited for */
        slot = slot_fetch(&a, i + 2u * groups);
        apply_one(&u, own.go ? own.base_leaf : 0, own.key, own.value, a.operations.action, own.go);
        tables_empty(&a, i, own.go);
    }
    update_count(u.counters, u.came, u.went);
    counters_deliver(&a);
}

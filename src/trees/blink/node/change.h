/* Template: what both ways of changing leaves in place share: words of a leaf, the pool, branches, counting. */
#pragma once

#include "gpu/pairs.h"
#include "trees/blink/node/leaf.h"
#include "trees/blink/update/arguments.h"

SIMT_DEVICE void store_key(char *leaf, uint32_t slot, KEY key)
{
    COPSE_BITS(simt_store_relaxed_u, KEY_BITS)((KEY *)leaf + slot, key);
}

SIMT_DEVICE void store_value(char *leaf, uint32_t slot, VALUE value)
{
    COPSE_BITS(simt_store_relaxed_u, VALUE_BITS)((VALUE *)(leaf + LEAF_VALUES) + slot, value);
}

/* The words of a new leaf that hold nothing. */
SIMT_DEVICE void store_unused(char *leaf)
{
#if KEY_BITS == 32 && VALUE_BITS == 32
    simt_store_relaxed_u32((uint32_t *)(leaf + LEAF_HIGH + 4u), 0);
#elif KEY_BITS == 32
    simt_store_relaxed_u64((uint64_t *)(leaf + LEAF_HIGH + 4u), 0);
#elif VALUE_BITS == 32
    simt_store_relaxed_u32((uint32_t *)(leaf + COPSE_LEAF_BYTES - 4u), 0);
#else
    (void)leaf;
#endif
}

/* The state of a leaf after a change. */
SIMT_DEVICE uint32_t state_after(uint32_t state, uint32_t count)
{
    return ((state & ~COPSE_LEAF_COUNT) + COPSE_LEAF_SEQUENCE) % COPSE_LEAF_BRANCH + (state & COPSE_LEAF_BRANCH) +
           count;
}

/*
 * The stripe of the pool that a warp takes leaves from: each by as many warps, whether all warps of some blocks take any (`apply_splits`)
 * or the first ones of many (`apply_unsorted`). Uneven stripes would leave room unused, since a segment has leaves of all.
 */
SIMT_DEVICE uint32_t pool_stripe(void)
{
    const uint32_t warps = COPSE_KERNEL_THREADS / SIMT_WARP;
    return (blockIdx.x + simt_warp() * (COPSE_POOL_STRIPES / warps)) % COPSE_POOL_STRIPES;
}

/* Takes a leaf of the pool; there is one, since the host made sure of it. */
SIMT_DEVICE uint32_t pool_take_one(const copse_blink_tree *tree, copse_blink_counters *counters)
{
    const uint32_t first = pool_stripe();
    for (uint32_t s = 0; s < COPSE_POOL_STRIPES; s++) {
        const uint32_t stripe = (first + s) % COPSE_POOL_STRIPES;
        const uint32_t k = simt_atomic_add_u32(&counters->taken[stripe], 1u);
        if (k < tree->pool_leaves / COPSE_POOL_STRIPES) return tree->pool_first + k * COPSE_POOL_STRIPES + stripe;
        (void)simt_atomic_add_u32(&counters->taken[stripe], UINT32_MAX); /* that was one too many: take it back */
    }
    simt_store_relaxed_u32(&counters->crowded, 2u);
    return COPSE_LEAF_NONE;
}

/* Puts `right` behind `left` in a branch; `high` is the greatest key of `left` from now on. By one lane: branches change seldom. */
SIMT_DEVICE void branch_insert(char *branch, KEY high, uint32_t left, uint32_t right)
{
    const uint32_t state = simt_load_relaxed_u32((uint32_t *)(branch + LEAF_STATE)), count = state & COPSE_LEAF_COUNT;
    uint32_t *children = (uint32_t *)(branch + LEAF_VALUES), slot = count;
    for (; slot > 0 && simt_load_relaxed_u32(&children[slot - 1u]) != left; slot--) {
        store_key(branch, slot, COPSE_BITS(simt_load_relaxed_u, KEY_BITS)((KEY *)branch + slot - 1u));
        simt_store_relaxed_u32(&children[slot], simt_load_relaxed_u32(&children[slot - 1u]));
    }
    store_key(branch, slot, COPSE_BITS(simt_load_relaxed_u, KEY_BITS)((KEY *)branch + slot - 1u));
    simt_store_relaxed_u32(&children[slot], right);
    store_key(branch, slot - 1u, high);
    simt_store_relaxed_u32((uint32_t *)(branch + LEAF_STATE), state + 1u);
}

/* Turns a base leaf into a branch over its two halves. By one lane. */
SIMT_DEVICE void branch_make(char *branch, KEY middle, KEY high, uint32_t left, uint32_t right)
{
    uint32_t *children = (uint32_t *)(branch + LEAF_VALUES);
    const uint32_t state = simt_load_relaxed_u32((uint32_t *)(branch + LEAF_STATE));
    for (uint32_t slot = 2; slot < LEAF_SLOTS; slot++) store_key(branch, slot, KEY_MAX);
    for (uint32_t slot = 0; slot < LEAF_SLOTS; slot++) store_value(branch, slot, 0);
    store_key(branch, 0, middle);
    store_key(branch, 1u, high);
    simt_store_relaxed_u32(&children[0], left);
    simt_store_relaxed_u32(&children[1], right);
    simt_store_relaxed_u32((uint32_t *)(branch + LEAF_STATE), ((state & ~COPSE_LEAF_COUNT) | COPSE_LEAF_BRANCH) + 2u);
}

/* The leaf of a base leaf where k belongs, as far as branches lead there. */
SIMT_DEVICE uint32_t branch_lead(const copse_blink_tree *tree, uint32_t base_leaf, KEY k)
{
    if (!tree->branches) return base_leaf;
    const char *branch = leaf_at(tree, base_leaf);
    const uint32_t state = simt_load_relaxed_u32((const uint32_t *)(branch + LEAF_STATE));
    if (!(state & COPSE_LEAF_BRANCH)) return base_leaf;
    uint32_t child = 0;
    while (child + 1u < (state & COPSE_LEAF_COUNT) &&
           COPSE_BITS(simt_load_relaxed_u, KEY_BITS)((const KEY *)branch + child) < k)
        child++;
    return simt_load_relaxed_u32((const uint32_t *)(branch + LEAF_VALUES) + child);
}

/* Notes an anchor of a B-link tree, by its first leaf, along which an operation passed so many leaves. */
SIMT_DEVICE void winding_note(const copse_blink_tree *tree, copse_blink_counters *counters, uint32_t first,
                              uint32_t steps)
{
    if (steps < COPSE_CHAIN_MOST) return;
    const uint32_t at = simt_atomic_add_u32(&counters->winding, 1u);
    if (at < COPSE_WINDERS) simt_store_relaxed_u32(&tree->directories->winders[at], first);
}

/* Adds up what the lanes of a warp changed. */
SIMT_DEVICE void update_count(copse_blink_counters *counters, uint32_t lane_came, uint32_t lane_went)
{
    const uint64_t came = warp_sum(lane_came), went = warp_sum(lane_went);
    const uint32_t stripe = (blockIdx.x * (COPSE_KERNEL_THREADS / SIMT_WARP) + simt_warp()) % COPSE_POOL_STRIPES;
    if (simt_lane() != 0) return;
    if (came) simt_atomic_add_u64(&counters->came[stripe], came);
    if (went) simt_atomic_add_u64(&counters->went[stripe], went);
}

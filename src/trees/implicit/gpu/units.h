/*
 * Template: the units of the implicit tree, and bounds in it. The levels above are walked by levels_walk.h; walking alone
 * also serves the rare cases that the groups of four leave out: a digest that led too far left, and the largest key, which
 * looks like a free slot.
 */
#pragma once

#include "gpu/kernel.h"
#include "gpu/levels_walk.h"
#include "trees/implicit/gpu/kernels.h"

#define UNIT_SLOTS  (64u / (KEY_BITS / 8u + VALUE_BITS / 8u))
#define UNIT_VALUES ((UNIT_SLOTS * (KEY_BITS / 8u) + VALUE_BITS / 8u - 1u) / (VALUE_BITS / 8u) * (VALUE_BITS / 8u))

SIMT_DEVICE KEY unit_key(const copse_device_tree *tree, uint64_t rank)
{
    return ((const KEY *)(tree->unit + rank / UNIT_SLOTS * 64u))[rank % UNIT_SLOTS];
}

SIMT_DEVICE VALUE unit_value(const copse_device_tree *tree, uint64_t rank)
{
    return ((const VALUE *)(tree->unit + rank / UNIT_SLOTS * 64u + UNIT_VALUES))[rank % UNIT_SLOTS];
}

/* Does this lane's quarter of the unit hold the last key, and is that less than the query? */
SIMT_DEVICE bool piece_ends_below(simt_u32x4 v, KEY q)
{
    return (simt_lane() & 3u) == (UNIT_SLOTS - 1u) / PIECE_KEYS && piece_key(v, (UNIT_SLOTS - 1u) % PIECE_KEYS) < q;
}

/* --- one lane to a query ---------------------------------------------------------------------------------------------- */

/* The unit of the first key >= q, or the last unit. */
SIMT_DEVICE uint32_t walk_alone(const copse_device_tree *tree, bool digest, walk_bound bound)
{
    uint32_t node = walk_down_alone(&tree->levels, digest, bound);
    if (digest)
        while (node + 1u < tree->units && unit_key(tree, (uint64_t)node * UNIT_SLOTS + UNIT_SLOTS - 1u) < bound.q)
            node++;
    return node;
}

/* Keys of a unit in front of a bound: those < q, or <= q for the upper bound among unique keys. */
SIMT_DEVICE uint32_t unit_before(const copse_device_tree *tree, uint32_t unit, KEY q, bool or_equal)
{
    const KEY *keys = (const KEY *)(tree->unit + (uint64_t)unit * 64u);
    uint32_t before = 0;
    SIMT_UNROLL
    for (uint32_t i = 0; i < UNIT_SLOTS; i++)
        before += (uint32_t)(keys[i] < q) + (uint32_t)((keys[i] == q) & (int)or_equal);
    return before;
}

/* --- bounds --------------------------------------------------------------------------------------------------------- */

SIMT_DEVICE uint64_t bound_finish(const copse_device_tree *tree, uint32_t unit, uint32_t before, KEY q, bool upper)
{
    uint64_t rank = (uint64_t)unit * UNIT_SLOTS + before;
    if (rank > tree->entries || (upper && !tree->unique && q == 0)) rank = tree->entries;
    return rank;
}

/* The rank of a bound whose key went through bound_key, one lane to a query. */
SIMT_DEVICE uint64_t rank_alone(const copse_device_tree *tree, bool digest, walk_bound bound, bool upper)
{
    uint32_t unit = walk_alone(tree, digest, bound);
    uint32_t before = unit_before(tree, unit, bound.q, upper && tree->unique);
    return bound_finish(tree, unit, before, bound.q, upper);
}

/* The same for a group that has walked to the unit; all four lanes get the rank. */
SIMT_DEVICE uint64_t rank_of_group(const copse_device_tree *tree, bool digest, walk_bound bound, bool upper)
{
    const uint32_t quarter = simt_lane() & 3u;
    const bool or_equal = upper && tree->unique;
    simt_u32x4 v = simt_load16_once(tree->unit + (uint64_t)bound.node * 64u + quarter * 16u);
    uint32_t before = 0;
    SIMT_UNROLL
    for (uint32_t j = 0; j < PIECE_KEYS; j++) {
        KEY key = piece_key(v, j);
        bool counts = key < bound.q || (or_equal && key == bound.q);
        before += (uint32_t)(counts && quarter * PIECE_KEYS + j < UNIT_SLOTS);
    }
    before = walk_group_sum(before);
    if (digest) {
        uint32_t below = __ballot_sync(SIMT_FULL_MASK, piece_ends_below(v, bound.q));
        if (below >> (simt_lane() & 28u) & 15u && bound.node + 1u < tree->units)
            return rank_alone(tree, digest, bound, upper);
    }
    return bound_finish(tree, bound.node, before, bound.q, upper);
}

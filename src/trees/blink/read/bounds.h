/*
 * Template: bounds in the B-link and the B+ tree while no writer is at work, and neighbours.
 *
 * Four lanes share a bound, as in levels_walk.h, down to the base leaf; of that they load the half with the keys. What a
 * base leaf cannot answer by itself (a chain, a branch, a digest that led too far left) one lane finds out alone.
 */
#pragma once

#include "core/reads.h"
#include "gpu/levels_walk.h"
#include "gpu/queries.h"
#include "trees/blink/node/leaf.h"
#include "trees/blink/read/arguments.h"
#include "trees/blink/read/ordered_kernels.h"

/* Where a bound is: `slot` of a leaf, behind its last entry at most. */
typedef struct entry_spot {
    leaf_cursor leaf;
    uint32_t front; /* entries of the same base leaf in front of the leaf */
    uint32_t slot;
    uint32_t entries; /* of the base leaf, where the lanes know it anyway; else 0 */
} entry_spot;

SIMT_DEVICE uint32_t leaf_count(const char *leaf)
{
    return leaf_state(leaf) & COPSE_LEAF_COUNT;
}

SIMT_DEVICE uint64_t location_make(uint32_t base_leaf, uint32_t offset)
{
    return (uint64_t)base_leaf << 32 | offset;
}

SIMT_DEVICE uint64_t location_rank(const copse_entries_before *before, uint64_t location)
{
    const uint32_t base_leaf = (uint32_t)(location >> 32);
    return before->blocks[base_leaf / COPSE_SUMS_BLOCK] + before->inside[base_leaf] + (uint32_t)location;
}

SIMT_DEVICE uint64_t spot_location(const entry_spot *spot)
{
    return location_make(spot->leaf.base_leaf, spot->front + spot->slot);
}

/* --- bounds ------------------------------------------------------------------------------------------------------------- */

/* Behind the last entry. */
SIMT_DEVICE entry_spot spot_end(const copse_blink_tree *tree)
{
    entry_spot spot;
    spot.leaf = cursor_at(tree, tree_anchors(tree) - 1u);
    spot.front = spot.entries = 0;
    for (;;) {
        spot.slot = leaf_count(spot.leaf.leaf);
        if (!cursor_step(tree, &spot.leaf)) return spot;
        spot.front += spot.slot;
    }
}

/* One lane to a bound whose key went through bound_key, from the base leaf on that the levels led to. */
SIMT_DEVICE entry_spot spot_alone(const copse_blink_tree *tree, walk_bound bound, bool upper)
{
    entry_spot spot;
    if (upper && !tree->unique && bound.q == 0) return spot_end(tree);
    spot.entries = 0;
    spot.leaf = cursor_seek(tree, bound.node, bound.q, &spot.front);
    spot.slot = leaf_before(spot.leaf.leaf, bound.q, upper && tree->unique);
    return spot;
}

/* The keys of a leaf and its state as four lanes hold them: 16 bytes each, and what does not fit in those. */
typedef struct leaf_piece {
    simt_u32x4 keys;
#if LEAF_STATE >= 64
    simt_u32x4 rest; /* in all four lanes: the ninth key, state, next */
#endif
} leaf_piece;

/* Value j of this lane's 16 bytes. */
SIMT_DEVICE VALUE piece_value(simt_u32x4 v, uint32_t j)
{
#if VALUE_BITS == 64
    return j == 0 ? walk_join(v.x, v.y) : walk_join(v.z, v.w);
#else
    return piece_word(v, j);
#endif
}

SIMT_DEVICE leaf_piece piece_load(const copse_blink_tree *tree, uint32_t base_leaf)
{
    leaf_piece piece;
    const char *leaf = base_leaf_at(tree, base_leaf);
    piece.keys = simt_load16_once(leaf + (simt_lane() & 3u) * 16u);
#if LEAF_STATE >= 64
    piece.rest = simt_load16_once(leaf + 64u);
#endif
    return piece;
}

/* State and next, in all four lanes. */
SIMT_DEVICE void piece_links(const leaf_piece *piece, uint32_t *state, uint32_t *next)
{
#if LEAF_STATE >= 64
    *state = piece->rest.z;
    *next = piece->rest.w;
#else
    const uint32_t holder = (simt_lane() & 28u) + LEAF_STATE / 16u;
    *state = simt_shfl_u32(SIMT_FULL_MASK, LEAF_STATE % 16u == 8u ? piece->keys.z : piece->keys.y, holder);
    *next = simt_shfl_u32(SIMT_FULL_MASK, LEAF_STATE % 16u == 8u ? piece->keys.w : piece->keys.z, holder);
#endif
}

/* Keys that are less than q, and those that are equal to it, in this lane's quarter: the former plus 2^16 times the latter. */
SIMT_DEVICE uint32_t piece_compare(const leaf_piece *piece, KEY q)
{
    const uint32_t quarter = simt_lane() & 3u;
    uint32_t sum = 0;
    SIMT_UNROLL
    for (uint32_t j = 0; j < PIECE_KEYS; j++) {
        const KEY key = piece_key(piece->keys, j);
        if (quarter * PIECE_KEYS + j < LEAF_SLOTS) sum += (uint32_t)(key < q) + ((uint32_t)(key == q) << 16);
    }
#if LEAF_STATE >= 64
    const KEY ninth = piece_key(piece->rest, 0);
    if (quarter == 0) sum += (uint32_t)(ninth < q) + ((uint32_t)(ninth == q) << 16);
#endif
    return sum;
}

/* The same as spot_alone for a group that has walked the levels; all four lanes get it. */
SIMT_DEVICE entry_spot spot_of_group(const copse_blink_tree *tree, bool digest, walk_bound bound, leaf_piece piece,
                                     bool upper)
{
    uint32_t state, next;
    piece_links(&piece, &state, &next);
    const uint32_t sum = walk_group_sum(piece_compare(&piece, bound.q));
    const uint32_t less = sum & 0xffffu, count = state & COPSE_LEAF_COUNT;
    const bool chained = !tree->branches && next != COPSE_LEAF_NONE && next >= tree->base_leaves;
    const bool beyond = less >= count && (digest || chained); /* or may be, `high` says */
    if (beyond || tree->directory_entries || state & COPSE_LEAF_BRANCH || (upper && bound.q == 0))
        return spot_alone(tree, bound, upper);
    entry_spot spot;
    spot.leaf.base_leaf = spot.leaf.number = bound.node;
    spot.leaf.child = spot.leaf.steps = 0;
    spot.leaf.end = COPSE_LEAF_NONE;
    spot.leaf.leaf = base_leaf_at(tree, bound.node);
    spot.front = 0;
    spot.entries = chained ? 0 : count;
    spot.slot = less + (upper && tree->unique ? sum >> 16 : 0);
    if (spot.slot > count) spot.slot = count; /* free slots look like the largest key */
    return spot;
}

/* --- neighbours --------------------------------------------------------------------------------------------------------- */

/* Moves to the entry at a spot: past leaves that are empty, or come to their end. False: there is none. */
SIMT_DEVICE bool spot_forward(const copse_blink_tree *tree, entry_spot *spot)
{
    while (spot->slot >= leaf_count(spot->leaf.leaf)) {
        if (!cursor_step(tree, &spot->leaf)) {
            if (spot->leaf.base_leaf + 1u >= tree_anchors(tree)) return false;
            spot->leaf = cursor_at(tree, spot->leaf.base_leaf + 1u);
        }
        spot->slot = 0;
    }
    return true;
}

/* The last leaf of a base leaf that has entries and lies in front of leaf `stop` (or anywhere, where that is not of the base leaf). */
SIMT_DEVICE bool base_leaf_last(const copse_blink_tree *tree, uint32_t base_leaf, uint32_t stop, leaf_cursor *out)
{
    leaf_cursor cursor = cursor_at(tree, base_leaf);
    bool any = false;
    while (cursor.number != stop) {
        if (leaf_count(cursor.leaf)) {
            *out = cursor;
            any = true;
        }
        if (!cursor_step(tree, &cursor)) break;
    }
    return any;
}

/* Moves to the entry in front of a spot. False: there is none. */
SIMT_DEVICE bool spot_back(const copse_blink_tree *tree, entry_spot *spot)
{
    if (spot->slot == 0) {
        uint32_t base_leaf = spot->leaf.base_leaf, stop = spot->leaf.number;
        while (!base_leaf_last(tree, base_leaf, stop, &spot->leaf)) {
            if (base_leaf == 0) return false;
            base_leaf--;
            stop = COPSE_LEAF_NONE;
        }
        spot->slot = leaf_count(spot->leaf.leaf);
    }
    spot->slot--;
    return true;
}

SIMT_DEVICE void neighbour_store(const copse_blink_point_arguments *a, uint32_t at, entry_spot spot)
{
    const copse_blink_tree *tree = &a->tree;
    const copse_point_queries *to = &a->queries;
    if (at >= to->n) return;
    if (to->out_ranks) to->out_ranks[at] = location_rank(&a->before, spot_location(&spot));
    if (!to->out_found && !to->out_keys && !to->out_values) return;
    const bool found = copse_neighbour_back(to->which) ? spot_back(tree, &spot) : spot_forward(tree, &spot);
    const char *leaf = spot.leaf.leaf;
    if (to->out_found) to->out_found[at] = (uint8_t)found;
    if (to->out_keys) ((KEY *)to->out_keys)[at] = found ? DECODE_ONE(tree->key_type, leaf_key(leaf, spot.slot)) : 0;
    if (to->out_values) ((VALUE *)to->out_values)[at] = found ? leaf_value(leaf, spot.slot) : 0;
}

/* Two queries of every group. */
SIMT_DEVICE void neighbour_pair(const copse_blink_point_arguments *a, bool digest, walk_bound x, walk_bound y,
                                uint32_t at_x, uint32_t at_y)
{
    const copse_blink_tree *tree = &a->tree;
    const bool upper = copse_neighbour_upper(a->queries.which);
    const uint32_t quarter = simt_lane() & 3u;
    walk_pair(&tree->levels, digest, &x, &y);
    const leaf_piece piece_x = piece_load(tree, x.node), piece_y = piece_load(tree, y.node);
    const entry_spot spot_x = spot_of_group(tree, digest, x, piece_x, upper);
    const entry_spot spot_y = spot_of_group(tree, digest, y, piece_y, upper);
    if (quarter == 0) neighbour_store(a, at_x, spot_x);
    if (quarter == 1u && at_x != at_y) neighbour_store(a, at_y, spot_y);
}

SIMT_DEVICE void neighbours(const copse_blink_point_arguments *a, bool digest)
{
    const copse_blink_tree *tree = &a->tree;
    const bool upper = copse_neighbour_upper(a->queries.which);
    warp_queries warp;
    if (!read_queries(&a->queries, &tree->key_type, &tree->levels, &tree->unique, digest, upper, &warp)) return;
    if (warp.sorted) {
        warp.own.node = walk_down_alone(&tree->levels, digest, warp.own);
        neighbour_store(a, warp.mine, spot_alone(tree, warp.own, upper));
        return;
    }
    const uint32_t group = simt_lane() / 4u;
    const uint32_t second = a->queries.per_warp == SIMT_WARP ? 8u : 0u; /* small batches: the same query twice */
    for (uint32_t from = 0; from < a->queries.per_warp; from += 16u) {
        const uint32_t lane_x = from + group, lane_y = lane_x + second;
        neighbour_pair(a, digest, walk_take(warp.own, lane_x, digest), walk_take(warp.own, lane_y, digest),
                       warp.first + lane_x, warp.first + lane_y);
    }
}

SIMT_KERNEL(NAME(neighbours_full), copse_blink_point_arguments, COPSE_KERNEL_THREADS, 12)
{
    neighbours(&a, false);
}

#if KEY_BITS == 64
SIMT_KERNEL(NAME(neighbours_digest), copse_blink_point_arguments, COPSE_KERNEL_THREADS, 12)
{
    neighbours(&a, true);
}
#endif

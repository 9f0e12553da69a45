/* Template: lookups in the B-link and the B+ tree. */
#pragma once

#include "gpu/levels_walk.h"
#include "gpu/queries.h"
#include "trees/blink/node/leaf.h"
#include "trees/blink/read/arguments.h"

/* The leaf where q belongs, from its base leaf on. A step right is shorter than a walk down the directory, two steps are not. */
SIMT_DEVICE const char *find_leaf(const copse_blink_tree *tree, uint32_t base_leaf, KEY q)
{
    if (tree->branches || !tree->unique) return cursor_seek(tree, base_leaf, q, NULL).leaf;
    const char *leaf = leaf_at(tree, base_leaf);
    for (uint32_t steps = 0; leaf_high(leaf) < q; steps++) {
        uint32_t next = leaf_next(leaf);
        if (steps == 1u && tree->directory_entries)
            next = directory_further(directory_of(tree), next, leaf_high(leaf), q);
        leaf = leaf_at(tree, next);
    }
    return leaf;
}

/* One lane to a query, from its base leaf on. */
SIMT_DEVICE void find_from(const copse_blink_point_arguments *a, uint32_t base_leaf, KEY q, uint32_t at)
{
    const char *leaf = find_leaf(&a->tree, base_leaf, q);
    const uint32_t slot = leaf_before(leaf, q, false);
    const bool found = slot < (leaf_state(leaf) & COPSE_LEAF_COUNT) && leaf_key(leaf, slot) == q;
    find_store(&a->queries, at, found && a->queries.out_values ? leaf_value(leaf, slot) : 0, found);
}

#if KEY_BITS == VALUE_BITS

/* A query of a group of four lanes, with the leaf that it has come to: each lane has 16 bytes of both halves. The upper half
 * is all keys, in the last lane with state and next behind them; the lower one `high` and the values. */
typedef struct group_query {
    walk_bound bound;
    simt_u32x4 upper, lower;
} group_query;

SIMT_DEVICE void query_load(const copse_blink_tree *tree, group_query *query)
{
    const char *leaf = leaf_at(tree, query->bound.node) + (simt_lane() & 3u) * 16u;
    query->upper = simt_load16_once(leaf);
    query->lower = simt_load16_once(leaf + 64u);
}

/* The child of a branch that a query leads to: its number is word 2 + child of the lower half. */
SIMT_DEVICE uint32_t query_child(const group_query *query)
{
    uint32_t less = 0;
    SIMT_UNROLL
    for (uint32_t j = 0; j < PIECE_KEYS; j++)
        less +=
            (uint32_t)((simt_lane() & 3u) * PIECE_KEYS + j < LEAF_SLOTS && piece_key(query->upper, j) < query->bound.q);
    const uint32_t word = 2u + walk_group_sum(less), base_leaf = simt_lane() & 28u;
    uint32_t x = simt_shfl_u32(SIMT_FULL_MASK, query->lower.x, base_leaf + word / 4u % 4u);
    uint32_t y = simt_shfl_u32(SIMT_FULL_MASK, query->lower.y, base_leaf + word / 4u % 4u);
    uint32_t z = simt_shfl_u32(SIMT_FULL_MASK, query->lower.z, base_leaf + word / 4u % 4u);
    uint32_t w = simt_shfl_u32(SIMT_FULL_MASK, query->lower.w, base_leaf + word / 4u % 4u);
    return word % 4u == 0 ? x : word % 4u == 1u ? y : word % 4u == 2u ? z : w;
}

/* The leaf to go to from here, COPSE_LEAF_NONE where this is the one. `beyond`: the key is greater than `high`. */
SIMT_DEVICE uint32_t query_next(const group_query *query, bool branches, bool beyond)
{
    const uint32_t last = (simt_lane() & 28u) + 3u;
    uint32_t next = simt_shfl_u32(SIMT_FULL_MASK, query->upper.w, last);
    if (branches) {
        const uint32_t state = simt_shfl_u32(SIMT_FULL_MASK, query->upper.z, last);
        const uint32_t child = query_child(query);
        next = query->bound.node + 1u; /* only digests lead too far left, and only to base leaves */
        if (!beyond && state & COPSE_LEAF_BRANCH) return child;
    }
    return beyond ? next : COPSE_LEAF_NONE;
}

/* Is the key of the group greater than `high`, is its leaf a branch? */
SIMT_DEVICE bool query_beyond(const group_query *query)
{
    const uint32_t beyond =
        __ballot_sync(SIMT_FULL_MASK, (simt_lane() & 3u) == 0 && piece_key(query->lower, 0) < query->bound.q);
    return beyond >> (simt_lane() & 28u) & 1u;
}

SIMT_DEVICE bool query_branch(const group_query *query)
{
    const uint32_t branch =
        __ballot_sync(SIMT_FULL_MASK, (simt_lane() & 3u) == 3u && (query->upper.z & COPSE_LEAF_BRANCH) != 0);
    return branch >> (simt_lane() & 28u) & 8u;
}

/* Goes on until every group of the warp is at the leaf of its key. */
SIMT_DEVICE void query_descend(const copse_blink_tree *tree, bool branches, group_query *query)
{
    for (uint32_t steps = 0;; steps++) {
        const bool beyond = query_beyond(query), branch = branches && query_branch(query);
        if (!__any_sync(SIMT_FULL_MASK, beyond || branch)) return;
        uint32_t next = query_next(query, branches, beyond);
        const KEY high =
            COPSE_BITS(simt_shfl_u, KEY_BITS)(SIMT_FULL_MASK, piece_key(query->lower, 0), simt_lane() & 28u);
        if (next == COPSE_LEAF_NONE) continue;
        if (!branches && steps == 1u && tree->directory_entries) /* all four lanes look for the same */
            next = directory_further(directory_of(tree), next, high, query->bound.q);
        query->bound.node = next;
        query_load(tree, query);
    }
}

/* Which key of this lane's quarter equals the query: 1, 2, ..., or 0. */
SIMT_DEVICE uint32_t query_match(const group_query *query)
{
    uint32_t match = 0;
    SIMT_UNROLL
    for (uint32_t j = 0; j < PIECE_KEYS; j++)
        if (piece_key(query->upper, j) == query->bound.q && (simt_lane() & 3u) * PIECE_KEYS + j < LEAF_SLOTS && !match)
            match = j + 1u;
    return match;
}

/* The group is at the leaf of its key. */
SIMT_DEVICE void find_finish(const copse_blink_point_arguments *a, const group_query *query, uint32_t at)
{
    const uint32_t lane = simt_lane(), quarter = lane & 3u, group = lane & 28u;
    const uint32_t match = query_match(query);
    const uint32_t hits = __ballot_sync(SIMT_FULL_MASK, match != 0) >> group & 15u;
    const uint32_t holder = hits ? (uint32_t)__ffs((int)hits) - 1u : 0;
    const uint32_t slot = holder * PIECE_KEYS + simt_shfl_u32(SIMT_FULL_MASK, match, group + holder) - 1u;
    const uint32_t word = (LEAF_VALUES - 64u) / (VALUE_BITS / 8u) + slot; /* of the lower half */
    if (query->bound.q == KEY_MAX) {                                      /* free slots look like it */
        /* Where keys repeat there are no chains, and the group is at the first base leaf that has it. */
        const uint32_t base_leaf = a->tree.unique ? a->tree.base_leaves - 1u : query->bound.node;
        if (quarter == 0) find_from(a, base_leaf, query->bound.q, at);
    } else if (hits) {
        if (quarter == word / PIECE_KEYS) find_store(&a->queries, at, piece_key(query->lower, word % PIECE_KEYS), true);
    } else if (quarter == 0) {
        find_store(&a->queries, at, 0, false);
    }
}

/* Two queries of every group that have walked the levels. */
SIMT_DEVICE void find_pair(const copse_blink_point_arguments *a, bool branches, walk_bound x, walk_bound y,
                           uint32_t at_x, uint32_t at_y)
{
    group_query query_x = {x, {0, 0, 0, 0}, {0, 0, 0, 0}}, query_y = {y, {0, 0, 0, 0}, {0, 0, 0, 0}};
    query_load(&a->tree, &query_x);
    query_load(&a->tree, &query_y);
    query_descend(&a->tree, branches, &query_x);
    find_finish(a, &query_x, at_x);
    query_descend(&a->tree, branches, &query_y);
    find_finish(a, &query_y, at_y);
}

#else

/* Keys and values of different widths: one lane of each group looks at the leaf. */
SIMT_DEVICE void find_pair(const copse_blink_point_arguments *a, bool branches, walk_bound x, walk_bound y,
                           uint32_t at_x, uint32_t at_y)
{
    (void)branches;
    const uint32_t quarter = simt_lane() & 3u;
    if (quarter == 0) find_from(a, x.node, x.q, at_x);
    if (quarter == 1u && at_x != at_y) find_from(a, y.node, y.q, at_y); /* of small batches they are the same */
}

#endif

SIMT_DEVICE void find(const copse_blink_point_arguments *a, bool digest, bool branches)
{
    warp_queries warp;
    if (!read_queries(&a->queries, &a->tree.key_type, &a->tree.levels, &a->tree.unique, digest, false, &warp)) return;
    if (warp.sorted) {
        find_from(a, walk_down_alone(&a->tree.levels, digest, warp.own), warp.own.q, warp.mine);
        return;
    }
    const uint32_t group = simt_lane() / 4u;
    const uint32_t second = a->queries.per_warp == SIMT_WARP ? 8u : 0u; /* small batches: the same query twice */
    for (uint32_t from = 0; from < a->queries.per_warp; from += 16u) {
        uint32_t lane_x = from + group, lane_y = lane_x + second;
        walk_bound x = walk_take(warp.own, lane_x, digest), y = walk_take(warp.own, lane_y, digest);
        walk_pair(&a->tree.levels, digest, &x, &y);
        find_pair(a, branches, x, y, warp.first + lane_x, warp.first + lane_y);
    }
}

SIMT_KERNEL(NAME(find_full), copse_blink_point_arguments, COPSE_KERNEL_THREADS, 12)
{
    find(&a, false, false);
}

SIMT_KERNEL(NAME(find_full_branches), copse_blink_point_arguments, COPSE_KERNEL_THREADS, 12)
{
    find(&a, false, true);
}

#if KEY_BITS == 64
SIMT_KERNEL(NAME(find_digest), copse_blink_point_arguments, COPSE_KERNEL_THREADS, 12)
{
    find(&a, true, false);
}

SIMT_KERNEL(NAME(find_digest_branches), copse_blink_point_arguments, COPSE_KERNEL_THREADS, 12)
{
    find(&a, true, true);
}
#endif

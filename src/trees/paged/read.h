/* Template: kernels that read the paged tree. */
#pragma once

#include "core/reads.h"
#include "gpu/gather.h"
#include "gpu/kernel.h"
#include "gpu/queries.h"
#include "trees/paged/page.h"

/* --- find ------------------------------------------------------------------------------------------------------------ */

/* The entry at a location, or the first of the next row where the page has none there. False: there is none. */
SIMT_DEVICE bool entry_at_or_behind(const copse_paged_tree *tree, uint64_t location, entry_at *out)
{
    uint32_t row = location_row(location), rank = location_rank(location);
    if (rank >= tree->counts[row]) {
        row++;
        rank = 0;
    }
    if (row >= tree->rows) return false;
    out->row = row;
    out->page = page_of(tree, row);
    out->slot = page_slot(tree, out->page, rank);
    return true;
}

/* The entry in front of a location. */
SIMT_DEVICE bool entry_in_front(const copse_paged_tree *tree, uint64_t location, entry_at *out)
{
    uint32_t row = location_row(location), rank = location_rank(location);
    if (rank == 0) {
        if (row == 0) return false;
        row--;
        rank = tree->counts[row];
    }
    out->row = row;
    out->page = page_of(tree, row);
    out->slot = page_slot(tree, out->page, rank - 1u);
    return true;
}

/* The row of query `at` of a launch, where the host has noted it. */
SIMT_DEVICE const uint32_t *row_noted(const uint32_t *rows, uint64_t first, uint32_t n, uint32_t at)
{
    return rows ? rows + first + query_at(n, at) : NULL;
}

SIMT_DEVICE void find_alone(const copse_paged_point_arguments *a, KEY q, uint32_t at)
{
    const copse_paged_tree *tree = &a->tree;
    entry_at entry;
    const uint32_t *row = row_noted(a->rows, a->queries.first, a->queries.n, at);
    const bool found = entry_at_or_behind(tree, bound_location(tree, q, false, row), &entry) &&
                       page_keys(tree, entry.page)[entry.slot] == q;
    find_store(&a->queries, at, found && a->queries.out_values ? page_values(tree, entry.page)[entry.slot] : 0, found);
}

/* A query of a group of four lanes that has walked to its leaf. */
typedef struct group_leaf {
    char *page;
    uint32_t leaf;
} group_leaf;

/* From the row of a page to the leaf, for two queries of each group. */
SIMT_DEVICE uint32_t line_step(const char *line, walk_bound bound)
{
    return walk_group_sum(walk_less(line + (simt_lane() & 3u) * 16u, bound, false));
}

SIMT_DEVICE void group_descend(const copse_paged_tree *tree, walk_bound x, walk_bound y, group_leaf *to_x,
                               group_leaf *to_y)
{
    to_x->page = page_of(tree, x.node);
    to_y->page = page_of(tree, y.node);
    const uint32_t top_x = top_line(tree, to_x->page, x.q), top_y = top_line(tree, to_y->page, y.q);
    const uint32_t line_x = top_x * LINE_KEYS + line_step(to_x->page + COPSE_PAGED_TOP_AT + top_x * 64u, x);
    const uint32_t line_y = top_y * LINE_KEYS + line_step(to_y->page + COPSE_PAGED_TOP_AT + top_y * 64u, y);
    to_x->leaf = line_x * LINE_KEYS + line_step(to_x->page + tree->separators_at + line_x * 64u, x);
    to_y->leaf = line_y * LINE_KEYS + line_step(to_y->page + tree->separators_at + line_y * 64u, y);
}

/* What a lane finds in its two pieces of 16 bytes of a leaf: keys less than q, and in bit 8 whether one is q. */
SIMT_DEVICE uint32_t leaf_look(const copse_paged_tree *tree, const group_leaf *at, KEY q)
{
    const char *line =
        at->page + tree->keys_at + (uint64_t)at->leaf * COPSE_PAGED_LEAF_BYTES + (simt_lane() & 3u) * 16u;
    const simt_u32x4 first = simt_load16_once(line), second = simt_load16_once(line + 64u);
    uint32_t seen = 0;
    SIMT_UNROLL
    for (uint32_t j = 0; j < PIECE_KEYS; j++) {
        const KEY x = piece_key(first, j), y = piece_key(second, j);
        seen += (uint32_t)(x < q) + (uint32_t)(y < q) + ((uint32_t)(x == q) + (uint32_t)(y == q)) * 256u;
    }
    return seen;
}

/* Keys that may repeat, and the largest one, which looks like a free slot, are for one lane alone. */
SIMT_DEVICE void find_finish(const copse_paged_point_arguments *a, const group_leaf *leaf, KEY q, uint32_t seen,
                             uint32_t at)
{
    if (q == KEY_MAX || !a->tree.unique) {
        find_alone(a, q, at);
        return;
    }
    const uint32_t slot = leaf->leaf * LEAF_SLOTS + (seen & 255u);
    const bool found = seen >= 256u;
    VALUE value = 0;
    if (found && a->queries.out_values)
        value = COPSE_BITS(simt_load_once_u, VALUE_BITS)(page_values(&a->tree, leaf->page) + slot);
    find_store(&a->queries, at, value, found);
}

SIMT_KERNEL(NAME(find), copse_paged_point_arguments, COPSE_KERNEL_THREADS, 10)
{
    warp_queries warp;
    if (!read_queries(&a.queries, &a.tree.key_type, &a.tree.levels, &a.tree.unique, false, false, &warp)) return;
    if (warp.sorted) {
        find_alone(&a, warp.own.q, warp.mine);
        return;
    }
    const uint32_t lane = simt_lane(), group = lane / 4u;
    const uint32_t second = a.queries.per_warp == SIMT_WARP ? 8u : 0u; /* small batches: the same query twice */
    for (uint32_t from = 0; from < a.queries.per_warp; from += 16u) {
        const uint32_t lane_x = from + group, lane_y = lane_x + second;
        walk_bound x = walk_take(warp.own, lane_x, false), y = walk_take(warp.own, lane_y, false);
        group_leaf leaf_x, leaf_y;
        if (a.rows) {
            x.node = *row_noted(a.rows, a.queries.first, a.queries.n, warp.first + lane_x);
            y.node = *row_noted(a.rows, a.queries.first, a.queries.n, warp.first + lane_y);
        } else {
            walk_pair(&a.tree.levels, false, &x, &y);
        }
        group_descend(&a.tree, x, y, &leaf_x, &leaf_y);
        const uint32_t look_x = leaf_look(&a.tree, &leaf_x, x.q), look_y = leaf_look(&a.tree, &leaf_y, y.q);
        const uint32_t seen_x = walk_group_sum(look_x), seen_y = walk_group_sum(look_y);
        if ((lane & 3u) == 0) find_finish(&a, &leaf_x, x.q, seen_x, warp.first + lane_x);
        if ((lane & 3u) == 1u && second) find_finish(&a, &leaf_y, y.q, seen_y, warp.first + lane_y);
    }
}

/* --- neighbours and ranges ---------------------------------------------------------------------------------------------- */

SIMT_KERNEL(NAME(neighbours), copse_paged_point_arguments, COPSE_KERNEL_THREADS, 8)
{
    const copse_paged_tree *tree = &a.tree;
    const bool upper = copse_neighbour_upper(a.queries.which);
    warp_queries warp;
    if (!read_queries(&a.queries, &tree->key_type, &tree->levels, &tree->unique, false, upper, &warp)) return;
    const uint32_t at = warp.mine;
    if (at >= a.queries.n || simt_lane() >= a.queries.per_warp) return;
    const uint32_t *row = row_noted(a.rows, a.queries.first, a.queries.n, at);
    const uint64_t location = bound_location(tree, warp.own.q, upper, row);
    entry_at entry;
    const bool found = copse_neighbour_back(a.queries.which) ? entry_in_front(tree, location, &entry)
                                                             : entry_at_or_behind(tree, location, &entry);
    if (a.queries.out_ranks) a.queries.out_ranks[at] = location_number(tree, location);
    if (a.queries.out_found) a.queries.out_found[at] = (uint8_t)found;
    if (a.queries.out_keys)
        ((KEY *)a.queries.out_keys)[at] =
            found ? DECODE_ONE(tree->key_type, page_keys(tree, entry.page)[entry.slot]) : 0;
    if (a.queries.out_values)
        ((VALUE *)a.queries.out_values)[at] = found ? page_values(tree, entry.page)[entry.slot] : 0;
}

/* Locations of both ends of ranges, and how many entries lie between them. */
SIMT_KERNEL(NAME(bounds), copse_paged_range_arguments, COPSE_KERNEL_THREADS, 8)
{
    const copse_paged_tree *tree = &a.tree;
    warp_ranges warp;
    if (!read_ranges(&a.queries, &tree->key_type, &tree->levels, &tree->unique, false, &warp)) return;
    const uint32_t at = warp.mine;
    if (at >= a.queries.n || simt_lane() >= a.queries.per_warp) return;
    const uint64_t low =
        bound_location(tree, warp.low.q, false, row_noted(a.low_rows, a.queries.first, a.queries.n, at));
    const uint64_t high =
        bound_location(tree, warp.high.q, true, row_noted(a.high_rows, a.queries.first, a.queries.n, at));
    if (a.queries.locations) simt_store_once_u64(a.queries.locations + at, low);
    if (a.queries.ends) simt_store_once_u64(a.queries.ends + at, high);
    if (!a.queries.counts) return;
    const uint64_t first = location_number(tree, low), end = location_number(tree, high);
    uint64_t count = end > first ? end - first : 0;
    if (a.queries.limit && count > a.queries.limit) count = a.queries.limit;
    simt_store_once_u64(a.queries.counts + at, count);
}

/* --- entries ------------------------------------------------------------------------------------------------------------- */

SIMT_DEVICE void copy_one(const copse_paged_copy_arguments *a, const entry_at *from, uint64_t at)
{
    if (a->output.keys) {
        const KEY key = page_keys(&a->tree, from->page)[from->slot];
        ((KEY *)a->output.keys)[at] = a->encoded ? key : DECODE_ONE(a->tree.key_type, key);
    }
    if (a->output.values) ((VALUE *)a->output.values)[at] = page_values(&a->tree, from->page)[from->slot];
}

/* Entries in rank order: a warp finds the row of the first of a tile, and each lane goes on from there. */
SIMT_KERNEL(NAME(copy), copse_paged_copy_arguments, COPSE_KERNEL_THREADS, 8)
{
    const uint64_t stop = a.output.first + a.output.count;
    for (uint64_t tile = gather_first(a.output.first); tile < stop; tile += gather_step()) {
        const uint64_t end = stop - tile < COPSE_GATHER_TILE ? stop : tile + COPSE_GATHER_TILE;
        const uint32_t row = (uint32_t)gather_seek(a.tree.before, a.tree.rows, tile);
        for (uint64_t rank = tile + simt_lane(); rank < end; rank += SIMT_WARP) {
            const entry_at from = entry_of(&a.tree, location_of(row, 0), rank - a.tree.before[row]);
            copy_one(&a, &from, rank - a.output.first);
        }
    }
}

/* The entries with some ranks. */
SIMT_KERNEL(NAME(select), copse_paged_copy_arguments, COPSE_KERNEL_THREADS, 8)
{
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < a.output.count;
         i += (uint64_t)gridDim.x * blockDim.x) {
        if (!select_is_there(&a.output, i, a.tree.entries)) continue;
        const entry_at from = entry_of(&a.tree, 0, a.output.ranks[i]);
        copy_one(&a, &from, i);
    }
}

/* Copies the entries of ranges, see gather.h. */
SIMT_KERNEL(NAME(gather), copse_paged_copy_arguments, COPSE_KERNEL_THREADS, 8)
{
    const copse_entry_output *to = &a.output;
    uint64_t stop;
    if (!gather_stop(to, &stop)) return;
    for (uint64_t tile = gather_first(to->first); tile < stop; tile += gather_step()) {
        const uint64_t end = stop - tile < COPSE_GATHER_TILE ? stop : tile + COPSE_GATHER_TILE;
        uint64_t range = gather_seek(to->offsets, to->n, tile);
        for (uint64_t from = tile; from < end; from += SIMT_WARP) {
            const uint64_t p = from + simt_lane() < end ? from + simt_lane() : end - 1u;
            const uint64_t mine = gather_range(to->offsets, to->n, range, p);
            if (from + simt_lane() < end) {
                const entry_at entry = entry_of(&a.tree, to->locations[mine], gather_beyond(to, mine, p));
                copy_one(&a, &entry, p - to->first);
            }
            range = simt_shfl_u64(SIMT_FULL_MASK, mine, SIMT_WARP - 1u);
        }
    }
}

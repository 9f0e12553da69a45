/* Template: kernels that read the implicit tree. */
#pragma once

#include "gpu/kernel.h"
#include "core/reads.h"
#include "gpu/gather.h"
#include "gpu/levels_walk.h"
#include "gpu/queries.h"
#include "trees/implicit/gpu/kernels.h"
#include "trees/implicit/gpu/units.h"

/* --- find ------------------------------------------------------------------------------------------------------------ */

SIMT_DEVICE void find_alone(const copse_point_arguments *a, bool digest, walk_bound bound, uint32_t at)
{
    const copse_device_tree *tree = &a->tree;
    uint32_t unit = walk_alone(tree, digest, bound);
    uint64_t rank = (uint64_t)unit * UNIT_SLOTS + unit_before(tree, unit, bound.q, false);
    bool found = rank < tree->entries && unit_key(tree, rank) == bound.q;
    find_store(&a->queries, at, found && a->queries.out_values ? unit_value(tree, rank) : 0, found);
}

/* Which key of this lane's quarter of a unit equals the query, the first one if several do: 1, 2, ..., or 0. */
SIMT_DEVICE uint32_t piece_match(simt_u32x4 v, KEY q)
{
    uint32_t match = 0;
    SIMT_UNROLL
    for (uint32_t j = 0; j < PIECE_KEYS; j++)
        if (piece_key(v, j) == q && (simt_lane() & 3u) * PIECE_KEYS + j < UNIT_SLOTS && !match) match = j + 1u;
    return match;
}

/* The end of a lookup by a group that has walked to the unit and has it in registers. */
SIMT_DEVICE void find_finish(const copse_point_arguments *a, bool digest, walk_bound bound, simt_u32x4 v, uint32_t at)
{
    const uint32_t lane = simt_lane(), quarter = lane & 3u;
    uint32_t match = piece_match(v, bound.q);
    uint32_t hits = __ballot_sync(SIMT_FULL_MASK, match != 0) >> (lane & 28u) & 15u;
    uint32_t astray = __ballot_sync(SIMT_FULL_MASK, (digest && piece_ends_below(v, bound.q)) || bound.q == KEY_MAX);
#if KEY_BITS == VALUE_BITS
    /* Keys in the first two lanes, the values of those at the same positions of the other two. */
    uint32_t theirs = simt_shfl_xor_u32(SIMT_FULL_MASK, match, 2);
    bool writes = (theirs && (quarter == 2u || (quarter == 3u && !(hits & 1u)))) || (hits == 0 && quarter == 2u);
    VALUE value = theirs ? piece_key(v, theirs - 1u) : 0;
#else
    bool writes = (match && (hits & ((1u << quarter) - 1u)) == 0) || (hits == 0 && quarter == 0);
    uint64_t rank = (uint64_t)bound.node * UNIT_SLOTS + quarter * PIECE_KEYS + (match - 1u);
    VALUE value = match && a->queries.out_values ? unit_value(&a->tree, rank) : 0;
#endif
    if (astray >> (lane & 28u) & 15u) {
        if (quarter == 0) find_alone(a, digest, bound, at);
    } else if (writes) {
        find_store(&a->queries, at, value, hits != 0);
    }
}

SIMT_DEVICE void find(const copse_point_arguments *a, bool digest)
{
    warp_queries warp;
    if (!read_queries(&a->queries, &a->tree.key_type, &a->tree.levels, &a->tree.unique, digest, false, &warp)) return;
    if (warp.sorted) {
        find_alone(a, digest, warp.own, warp.mine);
        return;
    }
    const uint32_t lane = simt_lane(), group = lane / 4u, quarter = (lane & 3u) * 16u;
    const uint32_t second = a->queries.per_warp == SIMT_WARP ? 8u : 0u; /* small batches: the same query twice */
    for (uint32_t from = 0; from < a->queries.per_warp; from += 16u) {
        uint32_t lane_x = from + group, lane_y = lane_x + second;
        walk_bound x = walk_take(warp.own, lane_x, digest), y = walk_take(warp.own, lane_y, digest);
        walk_pair(&a->tree.levels, digest, &x, &y);
        simt_u32x4 unit_x = simt_load16_once(a->tree.unit + (uint64_t)x.node * 64u + quarter);
        simt_u32x4 unit_y = simt_load16_once(a->tree.unit + (uint64_t)y.node * 64u + quarter);
        find_finish(a, digest, x, unit_x, warp.first + lane_x);
        if (second) find_finish(a, digest, y, unit_y, warp.first + lane_y);
    }
}

SIMT_KERNEL(NAME(find_full), copse_point_arguments, COPSE_KERNEL_THREADS, 16)
{
    find(&a, false);
}

/* --- neighbours -------------------------------------------------------------------------------------------------------- */

SIMT_DEVICE void neighbour_store(const copse_point_arguments *a, uint32_t at, uint64_t rank)
{
    const copse_device_tree *tree = &a->tree;
    if (at >= a->queries.n) return;
    uint64_t entry =
        rank - (copse_neighbour_back(a->queries.which) ? 1u : 0u); /* in front of the first it wraps to a huge number */
    bool found = entry < tree->entries;
    if (a->queries.out_ranks) a->queries.out_ranks[at] = rank;
    if (a->queries.out_found) a->queries.out_found[at] = (uint8_t)found;
    if (a->queries.out_keys)
        ((KEY *)a->queries.out_keys)[at] = found ? DECODE_ONE(tree->key_type, unit_key(tree, entry)) : 0;
    if (a->queries.out_values) ((VALUE *)a->queries.out_values)[at] = found ? unit_value(tree, entry) : 0;
}

SIMT_DEVICE void neighbours(const copse_point_arguments *a, bool digest)
{
    const bool upper = copse_neighbour_upper(a->queries.which);
    warp_queries warp;
    if (!read_queries(&a->queries, &a->tree.key_type, &a->tree.levels, &a->tree.unique, digest, upper, &warp)) return;
    if (warp.sorted) {
        neighbour_store(a, warp.mine, rank_alone(&a->tree, digest, warp.own, upper));
        return;
    }
    const uint32_t lane = simt_lane(), group = lane / 4u, second = a->queries.per_warp == SIMT_WARP ? 8u : 0u;
    for (uint32_t from = 0; from < a->queries.per_warp; from += 16u) {
        uint32_t lane_x = from + group, lane_y = lane_x + second;
        walk_bound x = walk_take(warp.own, lane_x, digest), y = walk_take(warp.own, lane_y, digest);
        walk_pair(&a->tree.levels, digest, &x, &y);
        uint64_t rank_x = rank_of_group(&a->tree, digest, x, upper);
        uint64_t rank_y = rank_of_group(&a->tree, digest, y, upper);
        if ((lane & 3u) == 0) neighbour_store(a, warp.first + lane_x, rank_x);
        if ((lane & 3u) == 1u && second) neighbour_store(a, warp.first + lane_y, rank_y);
    }
}

SIMT_KERNEL(NAME(neighbours_full), copse_point_arguments, COPSE_KERNEL_THREADS, 12)
{
    neighbours(&a, false);
}

/* --- ranges -------------------------------------------------------------------------------------------------------------- */

/* Stores what is asked of a range, whose entries are those of ranks low .. high. */
SIMT_DEVICE void count_store(const copse_range_queries *a, uint32_t at, uint64_t low, uint64_t high)
{
    uint64_t count = high > low ? high - low : 0;
    if (a->limit && count > a->limit) count = a->limit;
    if (a->locations) simt_store_once_u64(a->locations + at, low);
    if (a->counts) simt_store_once_u64(a->counts + at, count);
}

SIMT_DEVICE void range_store(const copse_range_arguments *a, bool sums, uint32_t at, uint64_t low, uint64_t high)
{
    if (at >= a->queries.n) return;
    if (!sums) {
        count_store(&a->queries, at, low, high);
        return;
    }
    const uint64_t sum = high > low ? a->before[high] - a->before[low] : 0;
    sum_store(&a->queries, &a->tree.value_type, at, sum, high > low, high - low);
}

SIMT_DEVICE void ranges(const copse_range_arguments *a, bool digest, bool sums)
{
    const copse_device_tree *tree = &a->tree;
    warp_ranges warp;
    if (!read_ranges(&a->queries, &tree->key_type, &tree->levels, &tree->unique, digest, &warp)) return;
    if (warp.sorted) {
        uint64_t rank = rank_alone(tree, digest, warp.low, false);
        range_store(a, sums, warp.mine, rank, rank_alone(tree, digest, warp.high, true));
        return;
    }
    const uint32_t lane = simt_lane(), group = lane / 4u;
    for (uint32_t from = 0; from < a->queries.per_warp; from += 8u) {
        walk_bound low = walk_take(warp.low, from + group, digest);
        walk_bound high = walk_take(warp.high, from + group, digest);
        walk_pair(&tree->levels, digest, &low, &high);
        uint64_t rank = rank_of_group(tree, digest, low, false);
        uint64_t end = rank_of_group(tree, digest, high, true);
        uint32_t at = warp.first + from + group;
        if ((lane & 3u) == 0) range_store(a, sums, at, rank, end);
    }
}

SIMT_KERNEL(NAME(count_full), copse_range_arguments, COPSE_KERNEL_THREADS, 12)
{
    ranges(&a, false, false);
}

SIMT_KERNEL(NAME(sum_full), copse_range_arguments, COPSE_KERNEL_THREADS, 12)
{
    ranges(&a, false, true);
}

#if KEY_BITS == 64
SIMT_KERNEL(NAME(find_digest), copse_point_arguments, COPSE_KERNEL_THREADS, 16)
{
    find(&a, true);
}

SIMT_KERNEL(NAME(neighbours_digest), copse_point_arguments, COPSE_KERNEL_THREADS, 12)
{
    neighbours(&a, true);
}

SIMT_KERNEL(NAME(count_digest), copse_range_arguments, COPSE_KERNEL_THREADS, 12)
{
    ranges(&a, true, false);
}

SIMT_KERNEL(NAME(sum_digest), copse_range_arguments, COPSE_KERNEL_THREADS, 12)
{
    ranges(&a, true, true);
}
#endif

/* --- entries ------------------------------------------------------------------------------------------------------------- */

SIMT_DEVICE void copy_one(const copse_copy_arguments *a, uint64_t rank, uint64_t at)
{
    if (a->output.keys) {
        KEY key = unit_key(&a->tree, rank);
        ((KEY *)a->output.keys)[at] = a->encoded ? key : DECODE_ONE(a->tree.key_type, key);
    }
    if (a->output.values) ((VALUE *)a->output.values)[at] = unit_value(&a->tree, rank);
}

SIMT_KERNEL(NAME(copy), copse_copy_arguments, COPSE_KERNEL_THREADS, 8)
{
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < a.output.count;
         i += (uint64_t)gridDim.x * blockDim.x)
        copy_one(&a, a.output.first + i, i);
}

/* The entries with some ranks. */
SIMT_KERNEL(NAME(select), copse_copy_arguments, COPSE_KERNEL_THREADS, 8)
{
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < a.output.count;
         i += (uint64_t)gridDim.x * blockDim.x)
        if (select_is_there(&a.output, i, a.tree.entries)) copy_one(&a, a.output.ranks[i], i);
}

/* Copies output positions of a tile, 32 at a time, each lane looking for its range. */
SIMT_DEVICE void gather_positions(const copse_copy_arguments *a, const gather_tiles *tiles)
{
    const copse_entry_output *to = &a->output;
    uint64_t range = gather_seek(to->offsets, to->n, tiles->begin);
    for (uint64_t from = tiles->begin; from < tiles->end; from += SIMT_WARP) {
        const bool there = from + simt_lane() < tiles->end;
        const uint64_t p = there ? from + simt_lane() : tiles->end - 1u;
        const uint64_t mine = gather_range(to->offsets, to->n, range, p);
        if (there) copy_one(a, to->locations[mine] + gather_beyond(to, mine, p), p - to->first);
        range = simt_shfl_u64(SIMT_FULL_MASK, mine, SIMT_WARP - 1u);
    }
}

/* Entries of a piece that a lane has loaded before it stores the first. */
#define PIECE_AHEAD 4u

/* Copies a piece: entries by rank lie side by side, nearly. */
SIMT_DEVICE void gather_copy(const copse_copy_arguments *a, const gather_piece *piece)
{
    const uint64_t rank = piece->location + piece->beyond;
    for (uint64_t from = simt_lane(); from < piece->count; from += PIECE_AHEAD * SIMT_WARP) {
        KEY key[PIECE_AHEAD];
        VALUE value[PIECE_AHEAD];
        SIMT_UNROLL
        for (uint32_t j = 0; j < PIECE_AHEAD; j++) {
            const uint64_t i = from + j * SIMT_WARP, at = rank + (i < piece->count ? i : from);
            key[j] = a->output.keys ? unit_key(&a->tree, at) : 0;
            value[j] = a->output.values ? unit_value(&a->tree, at) : 0;
        }
        SIMT_UNROLL
        for (uint32_t j = 0; j < PIECE_AHEAD; j++) {
            const uint64_t i = from + j * SIMT_WARP, at = piece->back ? piece->at - i : piece->at + i;
            if (i >= piece->count) continue;
            if (a->output.keys) COPSE_BITS(simt_store_once_u, KEY_BITS)
            ((KEY *)a->output.keys + at, a->encoded ? key[j] : DECODE_ONE(a->tree.key_type, key[j]));
            if (a->output.values) COPSE_BITS(simt_store_once_u, VALUE_BITS)((VALUE *)a->output.values + at, value[j]);
        }
    }
}

/* Ranges of fewer entries than this, on average, go by positions. */
#define PIECES_LEAST 48u

/* Copies the entries of ranges, see gather.h. */
SIMT_KERNEL(NAME(gather), copse_copy_arguments, COPSE_KERNEL_THREADS, 8)
{
    const copse_entry_output *to = &a.output;
    uint64_t stop;
    if (!gather_stop(to, &stop)) return;
    const uint64_t total = to->offsets[to->n];
    const bool pieces = total / PIECES_LEAST >= to->n;
    gather_tiles tiles = gather_open(to->first, stop, total);
    while (gather_next(&tiles)) {
        if (!pieces) {
            gather_positions(&a, &tiles);
            continue;
        }
        gather_ranges ranges = ranges_open(to, &tiles, UINT64_MAX);
        gather_piece piece = {0, 0, 0, 0, false};
        while (ranges_piece(to, &tiles, UINT64_MAX, &ranges, &piece)) gather_copy(&a, &piece);
    }
}

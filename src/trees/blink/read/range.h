/* Template: ranges of the B-link and the B+ tree while no writer is at work: their locations, sums by running sums, their entries. */
#pragma once

#include "core/reads.h"
#include "gpu/gather.h"
#include "gpu/levels_walk.h"
#include "gpu/partial_aggregate.h"
#include "gpu/queries.h"
#include "trees/blink/node/leaf.h"
#include "trees/blink/read/bounds.h"
#include "trees/blink/read/ordered_kernels.h"

/* --- locations ---------------------------------------------------------------------------------------------------------------- */

/* Entries of a range. For short ranges the leaves themselves give the number, so that the lane need not load `before`, which
 * mostly misses the cache. */
SIMT_DEVICE uint64_t count_between(const copse_blink_range_arguments *a, const entry_spot *low, const entry_spot *high)
{
    const uint64_t location = spot_location(low), end = spot_location(high);
    if (end <= location) return 0;
    if (low->leaf.base_leaf == high->leaf.base_leaf) return end - location;
    if (low->leaf.base_leaf + 1u == high->leaf.base_leaf && low->entries)
        return (uint64_t)low->entries - (uint32_t)location + (uint32_t)end;
    return location_rank(a->before, end) - location_rank(a->before, location);
}

SIMT_DEVICE void count_store(const copse_blink_range_arguments *a, uint32_t at, const entry_spot *low,
                             const entry_spot *high)
{
    const copse_range_queries *to = &a->queries;
    if (to->locations) simt_store_once_u64(to->locations + at, spot_location(low));
    if (to->ends) simt_store_once_u64(to->ends + at, spot_location(high));
    if (!to->counts) return;
    const uint64_t count = count_between(a, low, high);
    simt_store_once_u64(to->counts + at, to->limit && count > to->limit ? to->limit : count);
}

/* --- sums ------------------------------------------------------------------------------------------------------------------ */

/* The values of a base leaf in front of a location, those at every `stride`-th slot of its leaves from `slot` on. */
SIMT_DEVICE uint64_t base_leaf_sum(const copse_blink_tree *tree, uint64_t location, uint32_t slot, uint32_t stride)
{
    leaf_cursor cursor = cursor_at(tree, (uint32_t)(location >> 32));
    uint64_t sum = 0;
    for (uint32_t left = (uint32_t)location; left > 0;) {
        const uint32_t count = leaf_count(cursor.leaf), here = count < left ? count : left;
        for (uint32_t i = slot; i < here; i += stride) sum += value_wide(tree->value_type, leaf_value(cursor.leaf, i));
        left -= here;
        if (!cursor_step(tree, &cursor)) break;
    }
    return sum;
}

SIMT_KERNEL(NAME(base_leaf_sums), copse_base_leaf_arguments, COPSE_KERNEL_THREADS, 8)
{
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i <= a.tree.base_leaves;
         i += (uint64_t)gridDim.x * blockDim.x)
        a.out[i] = i < a.tree.base_leaves ? base_leaf_sum(&a.tree, location_make((uint32_t)i, UINT32_MAX), 0, 1u) : 0;
}

/* Stores the sum of a range. `ends` is what running sums leave out: the values in front of its end within the last base leaf, less
 * those in front of its first entry within the first one. */
SIMT_DEVICE void range_sum_store(const copse_blink_range_arguments *a, uint32_t at, uint64_t location, uint64_t end,
                                 uint64_t ends)
{
    const bool any = end > location;
    const uint64_t sum = any ? a->sums[end >> 32] - a->sums[location >> 32] + ends : 0;
    const uint64_t count = any && a->queries.kind == COPSE_KIND_AVG
                               ? location_rank(a->before, end) - location_rank(a->before, location)
                               : 0;
    sum_store(&a->queries, &a->tree.value_type, at, sum, count != 0, count);
}

/* --- both ------------------------------------------------------------------------------------------------------------------ */

/* One lane to a range. */
SIMT_DEVICE void ranges_alone(const copse_blink_range_arguments *a, bool digest, bool sums, warp_ranges *warp)
{
    const copse_blink_tree *tree = &a->tree;
    warp->low.node = walk_down_alone(&tree->levels, digest, warp->low);
    warp->high.node = walk_down_alone(&tree->levels, digest, warp->high);
    const entry_spot low = spot_alone(tree, warp->low, false), high = spot_alone(tree, warp->high, true);
    const uint64_t location = spot_location(&low), end = spot_location(&high);
    if (warp->mine >= a->queries.n) return;
    if (!sums)
        count_store(a, warp->mine, &low, &high);
    else
        range_sum_store(a, warp->mine, location, end,
                        base_leaf_sum(tree, end, 0, 1u) - base_leaf_sum(tree, location, 0, 1u));
}

/* Four lanes to a range. */
SIMT_DEVICE void range_of_group(const copse_blink_range_arguments *a, bool digest, bool sums, walk_bound low,
                                walk_bound high, uint32_t at)
{
    const copse_blink_tree *tree = &a->tree;
    const uint32_t quarter = simt_lane() & 3u;
    walk_pair(&tree->levels, digest, &low, &high);
    const leaf_piece low_piece = piece_load(tree, low.node), high_piece = piece_load(tree, high.node);
    const entry_spot low_spot = spot_of_group(tree, digest, low, low_piece, false);
    const entry_spot high_spot = spot_of_group(tree, digest, high, high_piece, true);
    if (!sums) {
        if (quarter == 0 && at < a->queries.n) count_store(a, at, &low_spot, &high_spot);
        return;
    }
    const uint64_t location = spot_location(&low_spot), end = spot_location(&high_spot);
    uint64_t ends = base_leaf_sum(tree, end, quarter, 4u) - base_leaf_sum(tree, location, quarter, 4u);
    ends += simt_shfl_xor_u64(SIMT_FULL_MASK, ends, 1);
    ends += simt_shfl_xor_u64(SIMT_FULL_MASK, ends, 2);
    if (quarter == 0 && at < a->queries.n) range_sum_store(a, at, location, end, ends);
}

SIMT_DEVICE void ranges(const copse_blink_range_arguments *a, bool digest, bool sums)
{
    warp_ranges warp;
    if (!read_ranges(&a->queries, &a->tree.key_type, &a->tree.levels, &a->tree.unique, digest, &warp)) return;
    if (warp.sorted) {
        ranges_alone(a, digest, sums, &warp);
        return;
    }
    for (uint32_t from = simt_lane() / 4u; from < a->queries.per_warp; from += 8u) {
        const walk_bound low = walk_take(warp.low, from, digest), high = walk_take(warp.high, from, digest);
        range_of_group(a, digest, sums, low, high, warp.first + from);
    }
}

SIMT_KERNEL(NAME(count_full), copse_blink_range_arguments, COPSE_KERNEL_THREADS, 12)
{
    ranges(&a, false, false);
}

SIMT_KERNEL(NAME(sum_full), copse_blink_range_arguments, COPSE_KERNEL_THREADS, 8)
{
    ranges(&a, false, true);
}

#if KEY_BITS == 64
SIMT_KERNEL(NAME(count_digest), copse_blink_range_arguments, COPSE_KERNEL_THREADS, 12)
{
    ranges(&a, true, false);
}

SIMT_KERNEL(NAME(sum_digest), copse_blink_range_arguments, COPSE_KERNEL_THREADS, 8)
{
    ranges(&a, true, true);
}
#endif

/* The kernel looks for entries of a range up to here near its first one, for those behind by their rank. */
#define GATHER_NEAR (2u * LEAF_SLOTS)

/* --- entries --------------------------------------------------------------------------------------------------------------- */

/* The base leaf of the entry with that rank, `base_leaf` or one behind it: probes at growing distances, then halving. */
SIMT_DEVICE uint32_t rank_base_leaf(const uint64_t *before, uint32_t base_leaves, uint32_t base_leaf, uint64_t rank)
{
    uint32_t low = base_leaf, high = base_leaf + 1u; /* before[low] <= rank */
    for (uint32_t step = 1; high < base_leaves && before[high] <= rank; step *= 2u) {
        low = high;
        high = base_leaves - high > step ? high + step : base_leaves;
    }
    while (high - low > 1u) { /* rank < before[high] */
        const uint32_t middle = low + (high - low) / 2u;
        if (before[middle] <= rank)
            low = middle;
        else
            high = middle;
    }
    return low;
}

SIMT_DEVICE void copy_slot(const copse_blink_copy_arguments *a, const char *leaf, uint32_t slot, uint64_t at)
{
    if (a->output.keys) ((KEY *)a->output.keys)[at] = DECODE_ONE(a->tree.key_type, leaf_key(leaf, slot));
    if (a->output.values) ((VALUE *)a->output.values)[at] = leaf_value(leaf, slot);
}

/* Entry `offset` of a base leaf, into position `at` of the output. */
SIMT_DEVICE void copy_one(const copse_blink_copy_arguments *a, uint32_t base_leaf, uint64_t offset, uint64_t at)
{
    leaf_cursor cursor = cursor_at(&a->tree, base_leaf);
    uint32_t slot = (uint32_t)offset;
    while (slot >= leaf_count(cursor.leaf)) {
        slot -= leaf_count(cursor.leaf);
        if (!cursor_step(&a->tree, &cursor)) return;
    }
    copy_slot(a, cursor.leaf, slot, at);
}

/* Has a base leaf no overflow chain, and is it no branch? */
SIMT_DEVICE bool base_leaf_simple(const copse_blink_tree *tree, const char *leaf)
{
    const uint32_t next = leaf_next(leaf);
    if (tree->branches) return !(leaf_state(leaf) & COPSE_LEAF_BRANCH);
    return next < tree->base_leaves || next == COPSE_LEAF_NONE;
}

/* Copies the entry `beyond` entries behind a location, where its base leaf or the next one has it: the lane loads both lines at
 * once, and they hold the entry itself, too. Else returns false and copies nothing. */
SIMT_DEVICE bool copy_near(const copse_blink_copy_arguments *a, uint64_t location, uint64_t beyond, uint64_t at)
{
    const uint32_t base_leaf = (uint32_t)(location >> 32),
                   other = base_leaf + 1u < a->tree.base_leaves ? base_leaf + 1u : base_leaf;
    const char *leaf = base_leaf_at(&a->tree, base_leaf), *second = base_leaf_at(&a->tree, other);
    const uint32_t count = leaf_count(leaf), more = leaf_count(second);
    const bool simple = base_leaf_simple(&a->tree, leaf), both = simple && base_leaf_simple(&a->tree, second);
    const uint64_t offset = (uint32_t)location + beyond;
    if (simple && offset < count) {
        copy_slot(a, leaf, (uint32_t)offset, at);
        return true;
    }
    if (!both || offset < count || offset - count >= more) return false;
    copy_slot(a, second, (uint32_t)offset - count, at);
    return true;
}

/* Entries by rank, in tiles as those of ranges: a warp looks for the base leaf once a tile. */
SIMT_KERNEL(NAME(copy), copse_blink_copy_arguments, COPSE_KERNEL_THREADS, 8)
{
    for (uint64_t tile = gather_first(0); tile < a.output.count; tile += gather_step()) {
        const uint64_t end = a.output.count - tile < COPSE_GATHER_TILE ? a.output.count : tile + COPSE_GATHER_TILE;
        uint32_t base_leaf = (uint32_t)gather_seek(a.before, a.tree.base_leaves, a.output.first + tile);
        for (uint64_t from = tile; from < end; from += SIMT_WARP) {
            const uint64_t p = from + simt_lane() < end ? from + simt_lane() : end - 1u;
            base_leaf = rank_base_leaf(a.before, a.tree.base_leaves, base_leaf, a.output.first + p);
            if (from + simt_lane() < end) copy_one(&a, base_leaf, a.output.first + p - a.before[base_leaf], p);
            base_leaf = simt_shfl_u32(SIMT_FULL_MASK, base_leaf, SIMT_WARP - 1u);
        }
    }
}

/* The entries with some ranks, one to a lane. */
SIMT_KERNEL(NAME(select), copse_blink_copy_arguments, COPSE_KERNEL_THREADS, 8)
{
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < a.output.count;
         i += (uint64_t)gridDim.x * blockDim.x) {
        if (!select_is_there(&a.output, i, a.tree.entries)) continue;
        const uint64_t rank = a.output.ranks[i];
        uint32_t low = 0, high = a.tree.base_leaves; /* before[low] <= rank < before[high] */
        while (high - low > 1u) {
            const uint32_t middle = low + (high - low) / 2u;
            if (a.before[middle] <= rank)
                low = middle;
            else
                high = middle;
        }
        copy_one(&a, low, rank - a.before[low], i);
    }
}

/* Copies output positions tile .. end of ranges. Where a range goes on from the last 32 positions, so does its search for
 * base leaves. */
SIMT_DEVICE void gather_some(const copse_blink_copy_arguments *a, uint64_t tile, uint64_t end)
{
    uint64_t range = gather_seek(a->output.offsets, a->output.n, tile);
    uint32_t base_leaf = 0; /* of the last position so far, or one in front of it, where it was in `range` */
    for (uint64_t from = tile; from < end; from += SIMT_WARP) {
        const uint64_t p = from + simt_lane() < end ? from + simt_lane() : end - 1u;
        const uint64_t mine = gather_range(a->output.offsets, a->output.n, range, p),
                       location = a->output.locations[mine];
        const uint64_t beyond = gather_beyond(&a->output, mine, p);
        const bool there = from + simt_lane() < end;
        uint32_t own = (uint32_t)(location >> 32);
        if (location != COPSE_LOCATION_DONE &&
            (beyond >= GATHER_NEAR || (there && !copy_near(a, location, beyond, p - a->output.first)))) {
            const uint64_t rank = location_rank(a->before, location) + beyond;
            if (from > tile && mine == range && base_leaf > own && !a->output.wholes) own = base_leaf;
            own = rank_base_leaf(a->before, a->tree.base_leaves, own, rank);
            if (there) copy_one(a, own, rank - a->before[own], p - a->output.first);
        }
        range = simt_shfl_u64(SIMT_FULL_MASK, mine, SIMT_WARP - 1u);
        base_leaf = simt_shfl_u32(SIMT_FULL_MASK, own, SIMT_WARP - 1u);
    }
}

SIMT_KERNEL(NAME(gather), copse_blink_copy_arguments, COPSE_KERNEL_THREADS, 8)
{
    uint64_t stop;
    if (!gather_stop(&a.output, &stop)) return;
    if (a.state && !a.state->left) return;
    for (uint64_t tile = gather_first(a.output.first); tile < stop; tile += gather_step())
        gather_some(&a, tile, stop - tile < COPSE_GATHER_TILE ? stop : tile + COPSE_GATHER_TILE);
}

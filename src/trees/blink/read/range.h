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
    return location_rank(&a->before, end) - location_rank(&a->before, location);
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

/* The values in front of the base leaf of a location. */
SIMT_DEVICE uint64_t values_before(const copse_values_before *sums, uint64_t location)
{
    const uint32_t base_leaf = (uint32_t)(location >> 32);
    return sums->blocks[base_leaf / COPSE_SUMS_BLOCK] + sums->inside[base_leaf];
}

/* Stores the sum of a range. `ends` is what running sums leave out: the values in front of its end within the last base leaf, less
 * those in front of its first entry within the first one. */
SIMT_DEVICE void range_sum_store(const copse_blink_range_arguments *a, uint32_t at, uint64_t location, uint64_t end,
                                 uint64_t ends)
{
    const bool any = end > location;
    const uint64_t sum = any ? values_before(&a->sums, end) - values_before(&a->sums, location) + ends : 0;
    const uint64_t count = any && a->queries.kind == COPSE_KIND_AVG
                               ? location_rank(&a->before, end) - location_rank(&a->before, location)
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

/* --- entries by rank -------------------------------------------------------------------------------------------------------- */

/* Of the 32 base leaves of a block, the one that holds the entry with that rank, by all lanes together. */
SIMT_DEVICE uint64_t block_locate(const copse_entries_before *before, uint64_t block, uint64_t rank)
{
    const uint64_t here = rank - before->blocks[block];
    const uint32_t inside = before->inside[block * COPSE_SUMS_BLOCK + simt_lane()];
    const uint32_t at = (uint32_t)__popc(__ballot_sync(SIMT_FULL_MASK, inside <= here)) - 1u;
    const uint32_t front = simt_shfl_u32(SIMT_FULL_MASK, inside, at);
    return location_make((uint32_t)block * COPSE_SUMS_BLOCK + at, (uint32_t)here - front);
}

/* The location of the entry with that rank, in block `block` or behind it: by all lanes together, in stretches of blocks that grow
 * until one has it. */
SIMT_DEVICE uint64_t rank_locate(const copse_blink_copy_arguments *a, uint64_t block, uint64_t rank)
{
    const uint64_t blocks = (tree_anchors(&a->tree) + (uint64_t)COPSE_SUMS_BLOCK - 1u) / COPSE_SUMS_BLOCK;
    uint64_t n = SIMT_WARP + 1u;
    while (n < blocks - block && a->before.blocks[block + n] <= rank) {
        block += n;
        n *= SIMT_WARP + 1u;
    }
    if (n > blocks - block) n = blocks - block;
    return block_locate(&a->before, block + gather_seek(a->before.blocks + block, n, rank), rank);
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
    if (a->output.keys) ((KEY *)a->output.keys)[at] = DECODE_ONE(a->tree.key_type, leaf_key(cursor.leaf, slot));
    if (a->output.values) ((VALUE *)a->output.values)[at] = leaf_value(cursor.leaf, slot);
}

/* The entries with some ranks, one to a lane. */
SIMT_KERNEL(NAME(select), copse_blink_copy_arguments, COPSE_KERNEL_THREADS, 8)
{
    const uint32_t blocks = (tree_anchors(&a.tree) + COPSE_SUMS_BLOCK - 1u) / COPSE_SUMS_BLOCK;
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < a.output.count;
         i += (uint64_t)gridDim.x * blockDim.x) {
        if (!select_is_there(&a.output, i, a.tree.entries)) continue;
        const uint64_t rank = a.output.ranks[i];
        uint32_t low = 0, high = blocks, at = 0; /* blocks[low] <= rank < blocks[high] */
        while (high - low > 1u) {
            const uint32_t middle = low + (high - low) / 2u;
            if (a.before.blocks[middle] <= rank)
                low = middle;
            else
                high = middle;
        }
        const uint64_t here = rank - a.before.blocks[low];
        const uint32_t *inside = a.before.inside + (uint64_t)low * COPSE_SUMS_BLOCK;
        for (uint32_t step = COPSE_SUMS_BLOCK / 2u; step > 0; step /= 2u) at += inside[at + step] <= here ? step : 0;
        copy_one(&a, low * COPSE_SUMS_BLOCK + at, here - inside[at], i);
    }
}

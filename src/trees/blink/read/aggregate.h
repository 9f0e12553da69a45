/* Template: aggregates of the B-link and the B+ tree while no writer is at work, by the summary over blocks of base leaves. */
#pragma once

#include "gpu/partial_aggregate.h"
#include "trees/blink/node/leaf.h"
#include "trees/blink/read/bounds.h"
#include "trees/blink/read/ordered_kernels.h"
#include "trees/blink/read/range.h"

/* Adds the entries from `location` up to `end` (not included). Two lanes of the warp share a base leaf, each takes every other slot
 * of its leaves. */
SIMT_DEVICE void partial_base_leaves(const copse_blink_tree *tree, uint64_t location, uint64_t end, partial *to)
{
    const uint64_t last = (end >> 32) + ((uint32_t)end ? 1u : 0u); /* base leaves in front of it have entries to add */
    for (uint64_t base_leaf = (location >> 32) + simt_lane() / 2u; base_leaf < last; base_leaf += SIMT_WARP / 2u) {
        const uint32_t low = base_leaf == location >> 32 ? (uint32_t)location : 0;
        const uint32_t high = base_leaf == end >> 32 ? (uint32_t)end : UINT32_MAX;
        leaf_cursor cursor = cursor_at(tree, (uint32_t)base_leaf);
        uint32_t front = 0;
        do {
            const uint32_t count = leaf_count(cursor.leaf);
            for (uint32_t i = simt_lane() & 1u; i < count; i += 2u)
                if (front + i >= low && front + i < high)
                    partial_add(to, partial_of(tree->value_type, leaf_value(cursor.leaf, i)));
            front += count;
        } while (front < high && cursor_step(tree, &cursor));
    }
}

/* What an item of the summary should hold: the base leaves of its block, by a warp. */
SIMT_DEVICE partial partial_of_block(const copse_blink_tree *tree, uint64_t item)
{
    const uint64_t first = item * COPSE_BLOCK_BASE_LEAVES, end = first + COPSE_BLOCK_BASE_LEAVES;
    const uint64_t anchors = tree_anchors(tree);
    partial all = partial_empty();
    partial_base_leaves(tree, first << 32, (end < anchors ? end : anchors) << 32, &all);
    return partial_of_warp(all);
}

SIMT_DEVICE void summarize(const copse_blink_tree *tree, const copse_device_summary *summary, uint64_t item)
{
    const partial all = partial_of_block(tree, item);
    if (simt_lane() == 0) partial_store(&summary->level[0][item], all);
}

/* A warp per range. */
SIMT_KERNEL(NAME(aggregate), copse_blink_summary_arguments, COPSE_KERNEL_THREADS, 8)
{
    const uint64_t warps = (uint64_t)gridDim.x * (COPSE_KERNEL_THREADS / SIMT_WARP);
    for (uint64_t r = (uint64_t)blockIdx.x * (COPSE_KERNEL_THREADS / SIMT_WARP) + simt_warp(); r < a.extents.n;
         r += warps) {
        const uint64_t location = a.extents.locations[r],
                       end = a.extents.ends[r] > location ? a.extents.ends[r] : location;
        const uint64_t whole =
            (location >> 32) + ((uint32_t)location ? 1u : 0u); /* the first base leaf that is in it from its begin */
        const uint64_t first_block = (whole + COPSE_BLOCK_BASE_LEAVES - 1u) / COPSE_BLOCK_BASE_LEAVES;
        const uint64_t end_block = (end >> 32) / COPSE_BLOCK_BASE_LEAVES;
        partial all = partial_empty();
        if (first_block >= end_block) {
            partial_base_leaves(&a.tree, location, end, &all);
        } else {
            partial_base_leaves(&a.tree, location, first_block * COPSE_BLOCK_BASE_LEAVES << 32, &all);
            partial_climb(&a.summary, first_block, end_block, &all);
            partial_base_leaves(&a.tree, end_block * COPSE_BLOCK_BASE_LEAVES << 32, end, &all);
        }
        all = partial_of_warp(all);
        if (simt_lane() == 0)
            aggregate_store(&a.extents.result, r, all,
                            location_rank(&a.before, end) - location_rank(&a.before, location));
    }
}

/* --- verify ---------------------------------------------------------------------------------------------------------------- */

/* trouble[3]: a base leaf with wrong entries or sums in front. */
SIMT_KERNEL(NAME(verify_base_leaves), copse_ranks_check_arguments, COPSE_KERNEL_THREADS, 8)
{
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < tree_anchors(&a.tree);
         i += (uint64_t)gridDim.x * blockDim.x) {
        const uint64_t b = i / COPSE_SUMS_BLOCK;
        const bool first = i % COPSE_SUMS_BLOCK == 0, last = (i + 1u) % COPSE_SUMS_BLOCK == 0;
        const copse_entries_before *entries = &a.before;
        const copse_values_before *sums = &a.sums;
        bool wrong = false;
        if (entries->blocks) {
            const uint64_t next = last ? entries->blocks[b + 1u] - entries->blocks[b] : entries->inside[i + 1u];
            wrong = next - entries->inside[i] != base_leaf_entries(&a.tree, (uint32_t)i);
            wrong |= (first && entries->inside[i] != 0) || (i == 0 && entries->blocks[0] != 0);
        }
        if (sums->blocks) {
            const uint64_t next = last ? sums->blocks[b + 1u] - sums->blocks[b] : sums->inside[i + 1u];
            wrong |= next - sums->inside[i] != base_leaf_sum(&a.tree, location_make((uint32_t)i, UINT32_MAX), 0, 1u);
            wrong |= (first && sums->inside[i] != 0) || (i == 0 && sums->blocks[0] != 0);
        }
        if (wrong) simt_atomic_min_u64(&a.survey->trouble[3], i);
    }
}

/* trouble[3]: a block whose summary does not agree with its values, or a node that does not agree with those below it. */
SIMT_KERNEL(NAME(verify_summary), copse_ranks_check_arguments, COPSE_KERNEL_THREADS, 8)
{
    const uint64_t warps = (uint64_t)gridDim.x * (COPSE_KERNEL_THREADS / SIMT_WARP);
    for (uint64_t b = (uint64_t)blockIdx.x * (COPSE_KERNEL_THREADS / SIMT_WARP) + simt_warp(); b < a.summary.nodes[0];
         b += warps) {
        const partial all = partial_of_block(&a.tree, b), kept = partial_load(&a.summary.level[0][b]);
        if (simt_lane() == 0 && !partial_same(all, kept)) simt_atomic_min_u64(&a.survey->trouble[3], b);
    }
    summary_check(&a.summary, a.survey);
}

/* Template: kernels for sums, minima and maxima: the summary of core/aggregate.h, and running sums. */
#pragma once

#include "gpu/kernel.h"
#include "gpu/partial_aggregate.h"
#include "trees/implicit/gpu/kernels.h"
#include "trees/implicit/gpu/units.h"

#define BLOCK_ENTRIES (COPSE_DEVICE_BLOCK_UNITS * UNIT_SLOTS)

/* Adds entries first .. end, the lanes of a warp taking turns. */
SIMT_DEVICE void partial_scan(const copse_device_tree *tree, uint64_t first, uint64_t end, partial *to)
{
    for (uint64_t i = first + simt_lane(); i < end; i += SIMT_WARP)
        partial_add(to, partial_of(tree->value_type, unit_value(tree, i)));
}

/* Level 0 of the summary: a warp per block. */
SIMT_KERNEL(NAME(summarize), copse_summary_arguments, COPSE_KERNEL_THREADS, 8)
{
    const uint64_t warps = (uint64_t)gridDim.x * (COPSE_KERNEL_THREADS / SIMT_WARP);
    for (uint64_t b = (uint64_t)blockIdx.x * (COPSE_KERNEL_THREADS / SIMT_WARP) + simt_warp(); b < a.summary.nodes[0];
         b += warps) {
        uint64_t first = b * BLOCK_ENTRIES, end = first + BLOCK_ENTRIES;
        partial all = partial_empty();
        partial_scan(&a.tree, first, end < a.tree.entries ? end : a.tree.entries, &all);
        all = partial_of_warp(all);
        if (simt_lane() == 0) partial_store(&a.summary.level[0][b], all);
    }
}

/* A warp per range. */
SIMT_KERNEL(NAME(aggregate), copse_summary_arguments, COPSE_KERNEL_THREADS, 8)
{
    const uint64_t warps = (uint64_t)gridDim.x * (COPSE_KERNEL_THREADS / SIMT_WARP);
    for (uint64_t r = (uint64_t)blockIdx.x * (COPSE_KERNEL_THREADS / SIMT_WARP) + simt_warp(); r < a.extents.n;
         r += warps) {
        const uint64_t rank = a.extents.locations[r], count = a.extents.counts[r], end = rank + count;
        uint64_t first_block = (rank + BLOCK_ENTRIES - 1u) / BLOCK_ENTRIES, end_block = end / BLOCK_ENTRIES;
        partial all = partial_empty();
        if (first_block >= end_block) {
            partial_scan(&a.tree, rank, end, &all);
        } else {
            partial_scan(&a.tree, rank, first_block * BLOCK_ENTRIES, &all);
            partial_climb(&a.summary, first_block, end_block, &all);
            partial_scan(&a.tree, end_block * BLOCK_ENTRIES, end, &all);
        }
        all = partial_of_warp(all);
        if (simt_lane() == 0) aggregate_store(&a.extents.result, r, all, count);
    }
}

/* Values as 64-bit numbers, one more behind the last: what the running sums are made of. */
SIMT_KERNEL(NAME(widen), copse_summary_arguments, COPSE_KERNEL_THREADS, 8)
{
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i <= a.tree.entries;
         i += (uint64_t)gridDim.x * blockDim.x)
        a.before[i] = i < a.tree.entries ? value_wide(a.tree.value_type, unit_value(&a.tree, i)) : 0;
}

/* --- verify -------------------------------------------------------------------------------------------------------------- */

/* trouble[0]: an entry that is not in order; trouble[1]: a free slot that is not padded. */
SIMT_KERNEL(NAME(verify_units), copse_unit_arguments, COPSE_KERNEL_THREADS, 8)
{
    const copse_device_tree *tree = &a.tree;
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < (uint64_t)tree->units * UNIT_SLOTS;
         i += (uint64_t)gridDim.x * blockDim.x) {
        KEY key = unit_key(tree, i);
        if (i >= tree->entries) {
            if (key != KEY_MAX) simt_atomic_min_u64(&a.pairs.survey->trouble[1], i);
        } else if (i > 0) {
            KEY before = unit_key(tree, i - 1u);
            if (key < before || (key == before && tree->unique)) simt_atomic_min_u64(&a.pairs.survey->trouble[0], i);
        }
    }
}

/* trouble[3]: an entry with a wrong running sum. */
SIMT_KERNEL(NAME(verify_sums), copse_summary_arguments, COPSE_KERNEL_THREADS, 8)
{
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < a.tree.entries;
         i += (uint64_t)gridDim.x * blockDim.x) {
        uint64_t value = value_wide(a.tree.value_type, unit_value(&a.tree, i));
        if (a.before[i + 1u] - a.before[i] != value || (i == 0 && a.before[0] != 0))
            simt_atomic_min_u64(&a.survey->trouble[3], i);
    }
}

/* trouble[3]: a block whose summary does not agree with its values, or a node that does not agree with those below it. */
SIMT_KERNEL(NAME(verify_summary), copse_summary_arguments, COPSE_KERNEL_THREADS, 8)
{
    const uint64_t warps = (uint64_t)gridDim.x * (COPSE_KERNEL_THREADS / SIMT_WARP);
    for (uint64_t b = (uint64_t)blockIdx.x * (COPSE_KERNEL_THREADS / SIMT_WARP) + simt_warp(); b < a.summary.nodes[0];
         b += warps) {
        uint64_t first = b * BLOCK_ENTRIES, end = first + BLOCK_ENTRIES;
        partial all = partial_empty(), kept = partial_load(&a.summary.level[0][b]);
        partial_scan(&a.tree, first, end < a.tree.entries ? end : a.tree.entries, &all);
        all = partial_of_warp(all);
        if (simt_lane() == 0 && !partial_same(all, kept)) simt_atomic_min_u64(&a.survey->trouble[3], b);
    }
    summary_check(&a.summary, a.survey);
}

/* Template: kernels for ranks, sums, minima and maxima. */
#pragma once

#include "gpu/kernel.h"
#include "gpu/partial_aggregate.h"
#include "trees/paged/page.h"

/* Entries of each row, on their way to running sums. */
SIMT_KERNEL(NAME(row_counts), copse_paged_summary_arguments, COPSE_KERNEL_THREADS, 8)
{
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i <= a.tree.rows;
         i += (uint64_t)gridDim.x * blockDim.x)
        a.before[i] = i < a.tree.rows ? a.tree.counts[i] : 0;
}

/* Adds entries first .. end of a page, by their ranks, the lanes of a warp taking turns. Goes over slots: free ones do not count. */
SIMT_DEVICE void page_scan(const copse_paged_tree *tree, char *page, uint32_t first, uint32_t end, partial *to)
{
    if (first >= end) return;
    const uint16_t *ends = page_ends(tree, page);
    const uint32_t last = page_slot(tree, page, end - 1u);
    const VALUE *values = page_values(tree, page);
    for (uint32_t s = page_slot(tree, page, first) + simt_lane(); s <= last; s += SIMT_WARP) {
        const uint32_t leaf = s / LEAF_SLOTS;
        if (s % LEAF_SLOTS < ends[leaf] - leaf_begin(tree, page, leaf))
            partial_add(to, partial_of(tree->value_type, values[s]));
    }
}

/* Level 0 of the summary: a warp per row. Pages that did not change since keep theirs. */
SIMT_KERNEL(NAME(summarize), copse_paged_summary_arguments, COPSE_KERNEL_THREADS, 8)
{
    const uint64_t warps = (uint64_t)gridDim.x * (COPSE_KERNEL_THREADS / SIMT_WARP);
    for (uint64_t r = (uint64_t)blockIdx.x * (COPSE_KERNEL_THREADS / SIMT_WARP) + simt_warp(); r < a.tree.rows;
         r += warps) {
        char *page = page_of(&a.tree, (uint32_t)r);
        uint32_t *stale = (uint32_t *)(page + COPSE_PAGED_STALE_AT);
        partial all = partial_empty();
        if (*stale) {
            page_scan(&a.tree, page, 0, a.tree.counts[r], &all);
            all = partial_of_warp(all);
        } else {
            all = partial_load((const copse_aggregate *)page);
        }
        __syncwarp(SIMT_FULL_MASK);
        if (simt_lane() != 0) continue;
        if (*stale) partial_store((copse_aggregate *)page, all);
        *stale = 0;
        partial_store(&a.summary.level[0][r], all);
    }
}

/* A warp per range. */
SIMT_KERNEL(NAME(aggregate), copse_paged_summary_arguments, COPSE_KERNEL_THREADS, 8)
{
    const copse_paged_tree *tree = &a.tree;
    const uint64_t warps = (uint64_t)gridDim.x * (COPSE_KERNEL_THREADS / SIMT_WARP);
    for (uint64_t r = (uint64_t)blockIdx.x * (COPSE_KERNEL_THREADS / SIMT_WARP) + simt_warp(); r < a.extents.n;
         r += warps) {
        const uint64_t low = a.extents.locations[r], high = a.extents.ends[r];
        const uint32_t first = location_row(low), last = location_row(high);
        const uint64_t from = location_number(tree, low), to = location_number(tree, high);
        partial all = partial_empty();
        if (from < to && first == last) {
            page_scan(tree, page_of(tree, first), location_rank(low), location_rank(high), &all);
        } else if (from < to) {
            page_scan(tree, page_of(tree, first), location_rank(low), tree->counts[first], &all);
            partial_climb(&a.summary, first + 1u, last, &all);
            page_scan(tree, page_of(tree, last), 0, location_rank(high), &all);
        }
        all = partial_of_warp(all);
        if (simt_lane() == 0) aggregate_store(&a.extents.result, r, all, from < to ? to - from : 0);
    }
}

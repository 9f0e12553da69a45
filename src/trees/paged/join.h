/* Template: pages that erases left nearly empty are joined, two at a time. */
#pragma once

#include "gpu/kernel.h"
#include "trees/paged/write.h"

/* Does this row, an odd one, go to the one in front of it? */
SIMT_DEVICE bool row_joins(const copse_paged_tree *tree, uint32_t row)
{
    const uint32_t most = tree->slots / 2u < COPSE_PAGED_SLOTS ? tree->slots / 2u : COPSE_PAGED_SLOTS;
    return row % 2u == 1u && row < tree->rows && tree->counts[row - 1u] + tree->counts[row] <= most;
}

SIMT_KERNEL(NAME(join_mark), copse_paged_join_arguments, COPSE_KERNEL_THREADS, 8)
{
    for (uint32_t row = blockIdx.x * blockDim.x + threadIdx.x; row <= a.tree.rows; row += gridDim.x * blockDim.x)
        a.joined[row] = row_joins(&a.tree, row);
}

/* Brings the entries of a page together from `at` on. */
SIMT_DEVICE void join_gather(const copse_paged_tree *tree, uint32_t row, KEY *keys, VALUE *values)
{
    char *page = page_of(tree, row);
    const uint16_t *ends = page_ends(tree, page);
    for (uint32_t s = threadIdx.x; s < tree->slots; s += COPSE_KERNEL_THREADS) {
        const uint32_t leaf = s / LEAF_SLOTS, rank = leaf_begin(tree, page, leaf) + s % LEAF_SLOTS;
        if (rank >= ends[leaf]) continue;
        keys[rank] = page_keys(tree, page)[s];
        values[rank] = page_values(tree, page)[s];
    }
}

/* A block for each pair of pages that become one, where the first is. */
SIMT_KERNEL(NAME(join_pages), copse_paged_join_arguments, COPSE_KERNEL_THREADS, 8)
{
    SIMT_SHARED(KEY, keys, COPSE_PAGED_SLOTS);
    SIMT_SHARED(VALUE, values, COPSE_PAGED_SLOTS);
    const copse_paged_tree *tree = &a.tree;
    for (uint32_t row = 1u + 2u * blockIdx.x; row < tree->rows; row += 2u * gridDim.x) {
        if (a.joined[row + 1u] == a.joined[row]) continue;
        const uint32_t first = tree->counts[row - 1u];
        char *page = page_of(tree, row - 1u);
        join_gather(tree, row - 1u, keys, values);
        join_gather(tree, row, keys + first, values + first);
        __syncthreads();
        page_target target;
        target.n = first + tree->counts[row];
        target.per_leaf = target.stride = leaf_share(tree, target.n, 0);
        target.keys = keys;
        target.values = values;
        page_write(tree, page, &target);
        head_write(tree, page, &target);
        __syncthreads();
    }
}

/* The directory without the rows that went; their pages are free. */
SIMT_KERNEL(NAME(join_rows), copse_paged_join_arguments, COPSE_KERNEL_THREADS, 8)
{
    const copse_paged_tree *tree = &a.tree;
    const KEY *highs = (const KEY *)tree->highs;
    for (uint32_t row = blockIdx.x * blockDim.x + threadIdx.x; row < tree->rows; row += gridDim.x * blockDim.x) {
        const uint64_t gone = a.joined[row];
        if (a.joined[row + 1u] != gone) {
            a.stack[a.stack_top + gone] = tree->pages[row];
            continue;
        }
        const bool takes = row + 1u < tree->rows && a.joined[row + 2u] != gone;
        ((KEY *)a.new_highs)[row - gone] = takes ? highs[row + 1u] : highs[row];
        a.new_pages[row - gone] = tree->pages[row];
        a.new_counts[row - gone] = tree->counts[row] + (takes ? tree->counts[row + 1u] : 0u);
    }
}

/* Template: the check of every invariant of the paged tree, a warp per row. */
#pragma once

#include "gpu/kernel.h"
#include "gpu/partial_aggregate.h"
#include "trees/paged/aggregate.h"
#include "trees/paged/page.h"

/* Is key the next one behind `before`? */
SIMT_DEVICE bool in_order(const copse_paged_tree *tree, KEY before, KEY key)
{
    return tree->unique ? before < key : before <= key;
}

/* The keys of a leaf: in order, within the separators on both sides and the high keys of the rows. */
SIMT_DEVICE bool leaf_in_order(const copse_paged_tree *tree, uint32_t row, char *page, uint32_t leaf)
{
    const KEY *separators = page_separators(tree, page), *highs = (const KEY *)tree->highs;
    const KEY *keys = page_keys(tree, page) + leaf * LEAF_SLOTS;
    const uint32_t n = page_ends(tree, page)[leaf] - leaf_begin(tree, page, leaf);
    bool right = true;
    for (uint32_t s = 0; s < n; s++) {
        right = right && keys[s] <= separators[leaf] && keys[s] <= highs[row];
        right = right && (s == 0 || in_order(tree, keys[s - 1u], keys[s]));
    }
    if (n && leaf) right = right && in_order(tree, separators[leaf - 1u], keys[0]);
    if (n && row) right = right && in_order(tree, highs[row - 1u], keys[0]);
    return right;
}

/* Ends, separators and free slots of a leaf. */
SIMT_DEVICE bool leaf_in_shape(const copse_paged_tree *tree, uint32_t row, char *page, uint32_t leaf)
{
    const KEY *separators = page_separators(tree, page), *top = (const KEY *)(page + COPSE_PAGED_TOP_AT);
    const KEY *keys = page_keys(tree, page) + leaf * LEAF_SLOTS;
    const uint32_t begin = leaf_begin(tree, page, leaf), end = page_ends(tree, page)[leaf];
    if (end < begin || end - begin > LEAF_SLOTS) return false;
    bool right = leaf + 1u < tree->leaves || (end == tree->counts[row] && separators[leaf] == KEY_MAX);
    if (leaf % LINE_KEYS == LINE_KEYS - 1u) right = right && top[leaf / LINE_KEYS] == separators[leaf];
    if (leaf) right = right && separators[leaf - 1u] <= separators[leaf];
    for (uint32_t s = end - begin; s < LEAF_SLOTS; s++) right = right && keys[s] == KEY_MAX;
    return right;
}

SIMT_KERNEL(NAME(check), copse_paged_check_arguments, COPSE_KERNEL_THREADS, 8)
{
    const copse_paged_tree *tree = &a.tree;
    const uint64_t warps = (uint64_t)gridDim.x * (COPSE_KERNEL_THREADS / SIMT_WARP);
    for (uint64_t r = (uint64_t)blockIdx.x * (COPSE_KERNEL_THREADS / SIMT_WARP) + simt_warp(); r < tree->rows;
         r += warps) {
        const uint32_t row = (uint32_t)r;
        char *page = page_of(tree, row);
        bool shape = tree->counts[row] <= tree->slots && (tree->counts[row] > 0 || tree->rows == 1u), order = true;
        for (uint32_t leaf = simt_lane(); leaf < tree->leaves; leaf += SIMT_WARP) {
            shape = shape && leaf_in_shape(tree, row, page, leaf);
            order = order && (!shape || leaf_in_order(tree, row, page, leaf));
        }
        if (row + 1u == tree->rows) order = order && ((const KEY *)tree->highs)[row] == KEY_MAX;
        if (!order) simt_atomic_min_u64(&a.survey->trouble[0], r);
        if (!shape) simt_atomic_min_u64(&a.survey->trouble[1], r);
        if (simt_lane() == 0) simt_atomic_add_u64(&a.survey->count, tree->counts[row]);
        if (simt_lane() == 0 && tree->before && tree->before[r + 1u] - tree->before[r] != tree->counts[row])
            simt_atomic_min_u64(&a.survey->trouble[3], r);
        if (!a.has_summary || __any_sync(SIMT_FULL_MASK, !shape)) continue;
        partial all = partial_empty();
        page_scan(tree, page, 0, tree->counts[row], &all);
        all = partial_of_warp(all);
        if (simt_lane() == 0 && !partial_same(all, partial_load(&a.summary.level[0][r])))
            simt_atomic_min_u64(&a.survey->trouble[3], r);
    }
    if (a.has_summary) summary_check(&a.summary, a.survey);
}

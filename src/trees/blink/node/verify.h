/* Template: kernels that check every invariant of the B-link and the B+ tree. */
#pragma once

#include "gpu/pairs.h"
#include "trees/blink/node/arguments.h"
#include "trees/blink/node/leaf.h"

/* Does a leaf that something leads to exist? */
SIMT_DEVICE bool check_number(const copse_blink_tree *tree, uint32_t number)
{
    return number < tree->base_leaves || (number >= tree->pool_first && number - tree->pool_first < tree->pool_leaves);
}

/* Keys in order and within bounds, free slots padded. `low` is the greatest key that a leaf to the left may have. */
SIMT_DEVICE void check_leaf(const copse_blink_check_arguments *a, const leaf_cursor *cursor, KEY low, bool has_low)
{
    const char *leaf = cursor->leaf;
    const uint32_t state = leaf_state(leaf), count = state & COPSE_LEAF_COUNT;
    const KEY high = leaf_high(leaf);
    if (count > LEAF_SLOTS || state & (COPSE_LEAF_LATCH | COPSE_LEAF_BRANCH)) {
        simt_atomic_min_u64(&a->survey->trouble[COPSE_TROUBLE_LEAF], cursor->number);
        return;
    }
    KEY before = low;
    bool has_before = has_low;
    for (uint32_t slot = 0; slot < LEAF_SLOTS; slot++) {
        const KEY key = leaf_key(leaf, slot);
        const bool equal_is_wrong = a->tree.unique != 0;
        bool wrong = key > high || (has_before && (key < before || (key == before && equal_is_wrong)));
        if (slot >= count) wrong = key != KEY_MAX || leaf_value(leaf, slot) != 0;
        if (wrong)
            simt_atomic_min_u64(&a->survey->trouble[slot < count ? COPSE_TROUBLE_ORDER : COPSE_TROUBLE_LEAF],
                                cursor->number);
        before = key;
        has_before = true;
    }
}

/* An entry of the directory: it has the lower bound of its leaf, and the levels lead there. */
SIMT_DEVICE bool check_entry(const copse_blink_tree *tree, const anchor_leaves *leaves, uint32_t anchor, KEY low)
{
    if (leaves->first == leaves->base_leaf) return true; /* it is a base leaf */
    const uint32_t entry = anchor - leaves->base_leaf - 1u;
    const copse_blink_directory *directory = directory_of(tree);
    const uint32_t upto = low < KEY_MAX ? directory_before(directory, (KEY)(low + 1u)) : 0;
    return directory_low(directory, entry) == low && (upto == entry + 1u || (!tree->unique && upto > entry));
}

/* An anchor: its leaves tile the keys between the anchor in front of it and its own greatest one. */
SIMT_DEVICE uint64_t check_anchor(const copse_blink_check_arguments *a, uint32_t anchor, KEY low)
{
    const copse_blink_tree *tree = &a->tree;
    const anchor_leaves expected = anchor_at(tree, anchor);
    const uint32_t base_leaf = expected.base_leaf;
    const char *line = leaf_at(tree, base_leaf);
    uint32_t leaves = 0, next = COPSE_LEAF_NONE;
    uint64_t entries = 0;
    bool has_low = anchor > 0, linked = check_number(tree, expected.first) && check_entry(tree, &expected, anchor, low);
    leaf_cursor cursor = cursor_at(tree, linked ? anchor : 0);
    KEY high = low;
    do {
        linked = linked && check_number(tree, cursor.number);
        if (++leaves > COPSE_CHAIN_CIRCLE || !linked) break;
        if (cursor.number >= tree->base_leaves &&
            simt_atomic_add_u32(&a->base_leaves[cursor.number - tree->pool_first], 1u) != 0)
            linked = false;
        check_leaf(a, &cursor, low, has_low);
        entries += leaf_state(cursor.leaf) & COPSE_LEAF_COUNT;
        high = leaf_high(cursor.leaf);
        if (tree->branches && leaf_state(line) & COPSE_LEAF_BRANCH && leaf_key(line, cursor.child) != high)
            linked = false;
        if (has_low && (tree->unique ? high <= low : high < low)) linked = false;
        low = high;
        has_low = true;
        next = leaf_next(cursor.leaf);
    } while (cursor_step(tree, &cursor));
    const bool last = anchor + 1u == tree_anchors(tree), more = expected.end != COPSE_LEAF_NONE;
    const uint32_t right = tree->branches || last ? COPSE_LEAF_NONE : more ? expected.end : base_leaf + 1u;
    linked = linked && next == right && (!last || high == KEY_MAX);
    linked = linked && (!tree->branches || leaf_high(line) == high || !(leaf_state(line) & COPSE_LEAF_BRANCH));
    if (!linked) simt_atomic_min_u64(&a->survey->trouble[COPSE_TROUBLE_LINK], base_leaf);
    return entries;
}

/* The greatest key that an anchor, and a base leaf, may have: that of its last leaf. */
SIMT_KERNEL(NAME(check_highs), copse_blink_check_arguments, COPSE_KERNEL_THREADS, 8)
{
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < tree_anchors(&a.tree);
         i += (uint64_t)gridDim.x * blockDim.x) {
        const anchor_leaves expected = anchor_at(&a.tree, (uint32_t)i);
        if (!check_number(&a.tree, expected.first)) continue; /* check_leaves says so */
        leaf_cursor cursor = cursor_at(&a.tree, (uint32_t)i);
        KEY high = KEY_MAX;
        uint32_t leaves = 0;
        do {
            if (!check_number(&a.tree, cursor.number)) break;
            high = leaf_high(cursor.leaf);
        } while (++leaves < COPSE_CHAIN_CIRCLE && cursor_step(&a.tree, &cursor));
        ((KEY *)a.highs)[i] = high;
        if (expected.end == COPSE_LEAF_NONE) ((KEY *)a.separators)[expected.base_leaf] = high;
    }
}

SIMT_KERNEL(NAME(check_leaves), copse_blink_check_arguments, COPSE_KERNEL_THREADS, 8)
{
    uint64_t entries = 0;
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < tree_anchors(&a.tree);
         i += (uint64_t)gridDim.x * blockDim.x)
        entries += check_anchor(&a, (uint32_t)i, i ? ((const KEY *)a.highs)[i - 1u] : 0);
    entries = warp_sum(entries);
    if (simt_lane() == 0 && entries) simt_atomic_add_u64(&a.survey->count, entries);
}

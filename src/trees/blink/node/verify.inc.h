/* Template: kernels that check every invariant of the B-link and the B+ tree. */

/* Does a leaf that something leads to exist? */
SIMT_DEVICE bool NAME(check_number)(const copse_blink_tree *tree, uint32_t number)
{
    return number < tree->homes || (number >= tree->pool_first && number - tree->pool_first < tree->pool_leaves);
}

/* Keys in order and within bounds, free places padded. `low` is the greatest key that a leaf to the left may have. */
SIMT_DEVICE void NAME(check_leaf)(const copse_blink_check_arguments *a, const CURSOR *cursor, KEY low, bool has_low)
{
    const char *leaf = cursor->leaf;
    const uint32_t state = NAME(leaf_state)(leaf), count = state & COPSE_LEAF_COUNT;
    const KEY high = NAME(leaf_high)(leaf);
    if (count > LEAF_SLOTS || state & (COPSE_LEAF_LATCH | COPSE_LEAF_FORK)) {
        simt_atomic_min_u64(&a->survey->trouble[COPSE_TROUBLE_LEAF], cursor->number);
        return;
    }
    KEY before = low;
    bool has_before = has_low;
    for (uint32_t slot = 0; slot < LEAF_SLOTS; slot++) {
        const KEY key = NAME(leaf_key)(leaf, slot);
        const bool equal_is_wrong = a->tree.unique != 0;
        bool wrong = key > high || (has_before && (key < before || (key == before && equal_is_wrong)));
        if (slot >= count) wrong = key != KEY_MAX || NAME(leaf_value)(leaf, slot) != 0;
        if (wrong)
            simt_atomic_min_u64(&a->survey->trouble[slot < count ? COPSE_TROUBLE_ORDER : COPSE_TROUBLE_LEAF],
                                cursor->number);
        before = key;
        has_before = true;
    }
}

/* A home: its leaves tile the keys between the home in front of it and its own greatest one. */
SIMT_DEVICE uint64_t NAME(check_home)(const copse_blink_check_arguments *a, uint32_t home, KEY low)
{
    const copse_blink_tree *tree = &a->tree;
    const char *line = NAME(leaf_at)(tree, home);
    CURSOR cursor = NAME(cursor_at)(tree, home);
    uint32_t leaves = 0, next = COPSE_LEAF_NONE;
    uint64_t entries = 0;
    bool has_low = home > 0, linked = true;
    KEY high = low;
    do {
        linked = linked && NAME(check_number)(tree, cursor.number);
        if (++leaves > COPSE_CHAIN_CIRCLE || !linked) break;
        if (cursor.number >= tree->homes && simt_atomic_add_u32(&a->homes[cursor.number - tree->pool_first], 1u) != 0)
            linked = false;
        NAME(check_leaf)(a, &cursor, low, has_low);
        entries += NAME(leaf_state)(cursor.leaf) & COPSE_LEAF_COUNT;
        high = NAME(leaf_high)(cursor.leaf);
        if (tree->forks && NAME(leaf_state)(line) & COPSE_LEAF_FORK && NAME(leaf_key)(line, cursor.child) != high)
            linked = false;
        if (has_low && (tree->unique ? high <= low : high < low)) linked = false;
        low = high;
        has_low = true;
        next = NAME(leaf_next)(cursor.leaf);
    } while (NAME(cursor_step)(tree, &cursor));
    const bool last = home + 1u == tree->homes;
    linked = linked && next == (tree->forks || last ? COPSE_LEAF_NONE : home + 1u) && (!last || high == KEY_MAX);
    linked = linked && (!tree->forks || NAME(leaf_high)(line) == high || !(NAME(leaf_state)(line) & COPSE_LEAF_FORK));
    if (!linked) simt_atomic_min_u64(&a->survey->trouble[COPSE_TROUBLE_LINK], home);
    return entries;
}

/* The greatest key that a home may have: that of its last leaf. */
SIMT_KERNEL(NAME(check_highs), copse_blink_check_arguments, COPSE_KERNEL_THREADS, 8)
{
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < a.tree.homes;
         i += (uint64_t)gridDim.x * blockDim.x) {
        CURSOR cursor = NAME(cursor_at)(&a.tree, (uint32_t)i);
        KEY high = KEY_MAX;
        uint32_t leaves = 0;
        do {
            if (!NAME(check_number)(&a.tree, cursor.number)) break;
            high = NAME(leaf_high)(cursor.leaf);
        } while (++leaves < COPSE_CHAIN_CIRCLE && NAME(cursor_step)(&a.tree, &cursor));
        ((KEY *)a.highs)[i] = high;
    }
}

SIMT_KERNEL(NAME(check_leaves), copse_blink_check_arguments, COPSE_KERNEL_THREADS, 8)
{
    uint64_t entries = 0;
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < a.tree.homes;
         i += (uint64_t)gridDim.x * blockDim.x)
        entries += NAME(check_home)(&a, (uint32_t)i, i ? ((const KEY *)a.highs)[i - 1u] : 0);
    entries = NAME(warp_sum)(entries);
    if (simt_lane() == 0 && entries) simt_atomic_add_u64(&a.survey->count, entries);
}

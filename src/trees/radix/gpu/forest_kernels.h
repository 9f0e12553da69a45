/* Template: keys in order become trees (copse_radix_forest_arguments). */
#pragma once

#include "trees/radix/gpu/items.h"

/* --- borders that are not deeper ---------------------------------------------------------------------------------------------- */

SIMT_KERNEL(radix_level, copse_radix_forest_arguments, COPSE_RADIX_THREADS, 6)
{
    const int32_t *from = a.level[a.make - 1u];
    const uint64_t below = ((a.n - 1u) >> COPSE_RADIX_LEVEL_BITS * (a.make - 1u)) + 1u;
    const uint64_t n = ((a.n - 1u) >> COPSE_RADIX_LEVEL_BITS * a.make) + 1u;
    RADIX_FOR(i, n)
    {
        int32_t least = INT32_MAX;
        for (uint64_t j = i << COPSE_RADIX_LEVEL_BITS; j < (i + 1u) << COPSE_RADIX_LEVEL_BITS && j < below; j++)
            if (from[j] < least) least = from[j];
        a.level[a.make][i] = least;
    }
}

/* The next border behind i with a depth of at most `depth`; there is one, for behind the last key is -1. */
SIMT_DEVICE uint32_t border_after(const copse_radix_forest_arguments *a, uint32_t i, int32_t depth)
{
    const uint32_t mask = (1u << COPSE_RADIX_LEVEL_BITS) - 1u;
    uint32_t level = 0, at = i + 1u;
    for (;;) {
        if (a->level[level][at] <= depth) {
            if (level == 0) return at;
            level--;
            at <<= COPSE_RADIX_LEVEL_BITS;
            continue;
        }
        at++;
        while (level + 1u < a->levels && !(at & mask)) {
            at >>= COPSE_RADIX_LEVEL_BITS;
            level++;
        }
    }
}

/* The one in front of i; UINT32_MAX where there is none. */
SIMT_DEVICE uint32_t border_before(const copse_radix_forest_arguments *a, uint32_t i, int32_t depth)
{
    const uint32_t mask = (1u << COPSE_RADIX_LEVEL_BITS) - 1u;
    uint32_t level = 0, at = i; /* behind the one that is looked at */
    for (;;) {
        while (level + 1u < a->levels && at && !(at & mask)) {
            at >>= COPSE_RADIX_LEVEL_BITS;
            level++;
        }
        if (at == 0) return UINT32_MAX;
        at--;
        if (a->level[level][at] > depth) continue;
        while (level) {
            level--;
            at = (at << COPSE_RADIX_LEVEL_BITS) + mask;
            while (a->level[level][at] > depth) at--;
        }
        return at;
    }
}

/* --- shape -------------------------------------------------------------------------------------------------------------------- */

SIMT_DEVICE copse_slice forest_key(const copse_radix_forest_arguments *a, uint64_t i)
{
    copse_slice key;
    (void)string_at(&a->keys, a->unique[i], a->keys_n, &key);
    return key;
}

SIMT_KERNEL(radix_chains, copse_radix_forest_arguments, COPSE_RADIX_THREADS, 4)
{
    const int32_t *common = a.level[0];
    RADIX_FOR(i, a.n)
    {
        const int32_t depth = common[i];
        if (i == 0 || common[i - 1u] < 0) a.heads[counter_next(&a.tally->heads, 0)] = (uint32_t)i;
        a.start[i] = UINT32_MAX;
        a.next[i] = (uint32_t)i;
        if (depth < 0) continue;
        a.symbol[i] = (int16_t)copse_radix_symbol(forest_key(&a, i), (uint32_t)depth);
        const uint32_t before = border_before(&a, (uint32_t)i, depth);
        a.next[i] = border_after(&a, (uint32_t)i, depth);
        if (before == UINT32_MAX || common[before] < depth) a.start[i] = before + 1u;
    }
}

/* How many links a node has, its end included, and the first border that is not in it: packed. What a step along a chain may need is asked for
 * at once, so that it takes one access. */
SIMT_DEVICE uint64_t chain_of(const copse_radix_forest_arguments *a, uint32_t border)
{
    const int32_t *common = a->level[0], depth = common[border];
    uint64_t links = 2;
    uint32_t behind = a->next[border];
    for (;; links++) {
        const uint32_t next = a->next[behind];
        if (common[behind] != depth) return (uint64_t)behind << 32 | links;
        behind = next;
    }
}

/* Attaches what has keys first .. last to the border that it hangs at. */
SIMT_DEVICE void forest_put(const copse_radix_forest_arguments *a, uint64_t first, uint64_t last, copse_radix_link link)
{
    const int32_t before = first ? a->level[0][first - 1u] : -1, behind = a->level[0][last];
    if (before < 0 && behind < 0)
        a->roots[first] = link;
    else if (behind >= before)
        a->left[last] = link;
    else
        a->right[first - 1u] = link;
}

/* A free block for a long leaf of so many units: its index + 1; 0: there is none left. */
SIMT_DEVICE uint64_t block_pick(const copse_radix_blocks *blocks, uint32_t units)
{
    uint32_t size;
    if (!blocks->n) return 0;
    const uint32_t class_number = copse_radix_class_of(units, &size);
    const uint64_t end = blocks->begins[class_number + 1u], n = end - blocks->begins[class_number];
    const uint64_t number = counter_next(blocks->taken, class_number);
    return number < n ? copse_radix_index_of(blocks->grouped[end - 1u - number]) + 1u : 0;
}

/* How many new items of the type leaves take. */
SIMT_KERNEL(radix_sizes, copse_radix_forest_arguments, COPSE_RADIX_THREADS, 6)
{
    RADIX_FOR(i, a.n)
    {
        const uint32_t length = (uint32_t)forest_key(&a, i).length, type = copse_radix_leaf_type(length);
        const uint32_t units = copse_radix_units(length, a.tree.width);
        const bool is_long = type == COPSE_RADIX_LEAF_LONG;
        a.sizes[i] = type != a.leaf_type ? 0 : is_long ? copse_radix_heap_units(units) : 1;
        if (!a.sizes[i] || !is_long || !a.blocks.n) continue;
        a.picks[i] = block_pick(&a.blocks, units);
        if (a.picks[i]) a.sizes[i] = 0;
    }
}

/* --- leaves -------------------------------------------------------------------------------------------------------------------- */

SIMT_DEVICE void leaf_fill(const copse_radix_forest_arguments *a, copse_radix_link leaf, copse_slice key,
                           uint32_t position)
{
    const uint32_t type = copse_radix_type_of(leaf), width = a->tree.width, length = (uint32_t)key.length;
    const uint32_t bytes = type == COPSE_RADIX_LEAF_LONG ? 8u * copse_radix_heap_units(copse_radix_units(length, width))
                                                         : copse_radix_stride(type, width);
    const unsigned char *end = a->keys.data + (a->keys.high - a->keys.low);
    unsigned char *at = copse_radix_at(&a->tree, leaf);
    uint64_t *to = (uint64_t *)(at + copse_radix_key_at(type, width));
    const uint32_t room =
        type == COPSE_RADIX_LEAF_LONG ? bytes - copse_radix_key_at(type, width) : copse_radix_key_room(type);
    for (uint32_t word = 0; word < room / 8u; word++) {
        const uint32_t left = 8u * word < length ? length - 8u * word : 0;
        to[word] = left ? string_word(key.start + 8u * word, left < 8u ? left : 8u, end) : 0;
    }
    if (width)
        *(uint64_t *)copse_radix_value(&a->tree, leaf) = !a->values    ? position_value(a->value_type, position)
                                                         : width == 8u ? ((const uint64_t *)a->values)[position]
                                                                       : ((const uint32_t *)a->values)[position];
    item_ahead(&a->items, &a->tree, type, at, bytes);
}

/* How many units the long leaves have that end in front of the end of the gap. */
SIMT_KERNEL(radix_fits, copse_radix_forest_arguments, COPSE_RADIX_THREADS, 6)
{
    RADIX_FOR(i, a.n)
    {
        const uint64_t end = a.sizes[i + 1u];
        if (end <= a.items.gap && (i + 1u == a.n || a.sizes[i + 2u] > a.items.gap)) a.tally->fits = end;
    }
}

/* The item of a long leaf, which takes a block that is free, or units: those that do not fit in the gap lie behind it. */
SIMT_DEVICE uint64_t long_item(const copse_radix_forest_arguments *a, uint64_t i)
{
    if (a->blocks.n && a->picks[i]) return a->picks[i] - 1u;
    const uint64_t at = a->sizes[i], fits = a->tally->fits;
    return item_number(&a->items, COPSE_RADIX_LEAF_LONG, at < fits ? at : a->items.gap + (at - fits));
}

/* Leaves of one type, or of the only one; what `sizes` says of each is its number. */
SIMT_KERNEL(radix_leaves, copse_radix_forest_arguments, COPSE_RADIX_THREADS, 4)
{
    RADIX_FOR(i, a.n)
    {
        const copse_slice key = forest_key(&a, i);
        const uint32_t type = copse_radix_leaf_type(key.length);
        if (type != a.leaf_type) continue;
        const uint64_t item =
            type == COPSE_RADIX_LEAF_LONG ? long_item(&a, i) : item_number(&a.items, type, a.sizes ? a.sizes[i] : i);
        const copse_radix_link leaf = copse_radix_leaf_link(key.length, item);
        leaf_fill(&a, leaf, key, a.unique[i]);
        forest_put(&a, i, i, leaf);
    }
}

/* --- nodes --------------------------------------------------------------------------------------------------------------------- */

/* First how many of each type there will be; then, where `make` says so, the nodes, without their links. */
SIMT_KERNEL(radix_nodes, copse_radix_forest_arguments, COPSE_RADIX_THREADS, 4)
{
    RADIX_FOR(i, a.n)
    {
        if (a.start[i] == UINT32_MAX) continue;
        if (!a.make) a.node[i] = chain_of(&a, (uint32_t)i);
        const uint32_t links = (uint32_t)a.node[i];
        const uint32_t type = copse_radix_type_for(links - (a.symbol[i] < 0));
        if (!a.make) {
            (void)counter_next(a.tally->needed, type);
            continue;
        }
        const copse_radix_link node = node_make(&a.items, &a.tree, a.tally, type, (uint32_t)a.level[0][i]);
        forest_put(&a, a.start[i], a.node[i] >> 32, node);
        a.node[i] = node;
        a.start[i] = links;
    }
}

SIMT_KERNEL(radix_fill, copse_radix_forest_arguments, COPSE_RADIX_THREADS, 4)
{
    RADIX_FOR(i, a.n)
    {
        if (a.start[i] == UINT32_MAX) continue;
        const copse_radix_link link = a.node[i];
        const uint32_t type = copse_radix_type_of(link), links = a.start[i];
        copse_radix_node *node = (copse_radix_node *)copse_radix_at(&a.tree, link);
        uint32_t border = (uint32_t)i, last = border, at = 0;
        for (uint32_t n = 1; n < links; n++) {
            last = border;
            border = a.next[last];
            if (a.symbol[last] < 0)
                node->end = a.left[last];
            else
                copse_radix_append(type, node, at++, (uint32_t)a.symbol[last], a.left[last]);
        }
        copse_radix_append(type, node, at, forest_key(&a, last + 1u).start[copse_radix_depth_of(link)], a.right[last]);
        node->count = (uint16_t)(at + 1u);
        item_ahead(&a.items, &a.tree, type, node, copse_radix_stride(type, a.tree.width));
    }
}

/* Levels on the way to each key. */
SIMT_KERNEL(radix_height, copse_radix_forest_arguments, COPSE_RADIX_THREADS, 6)
{
    RADIX_FOR(i, a.n)
    {
        const copse_slice key = forest_key(&a, i);
        copse_radix_link link = a.tree.root;
        uint64_t levels = 1;
        for (; !copse_radix_is_leaf(link); levels++) link = step_down(&a.tree, link, key);
        if (levels > simt_load_relaxed_u64(&a.tally->levels)) (void)simt_atomic_max_u64(&a.tally->levels, levels);
    }
}

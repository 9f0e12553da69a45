/* Template: keys that are new (copse_radix_insert_arguments). */
#pragma once

#include "trees/radix/gpu/upsert_kernels.h"
#include "trees/radix/gpu/view.h"

/* The number of a place: the link of a byte in a node, or the root; and the number of a node, as if it were one. */
SIMT_DEVICE uint64_t place_number(copse_radix_link node, uint32_t byte)
{
    if (!node) return 1;
    return copse_radix_index_of(node) << 13 | (uint64_t)copse_radix_type_of(node) << 9 | byte | UINT64_C(1) << 62;
}

SIMT_DEVICE uint64_t node_number(copse_radix_link node)
{
    return place_number(node, 256);
}

SIMT_DEVICE uint32_t hash_start(uint64_t number, uint32_t bits)
{
    return (uint32_t)(number * UINT64_C(0x9e3779b97f4a7c15) >> (64u - bits));
}

/* Where a number is in a table, or is put; `words` from one entry to the next. */
SIMT_DEVICE uint32_t hash_put(uint64_t *table, uint32_t words, uint32_t bits, uint64_t number)
{
    const uint32_t last = (uint32_t)(UINT64_C(1) << bits) - 1u;
    for (uint32_t at = hash_start(number, bits);; at = (at + 1u) & last) {
        uint64_t *slot = table + (uint64_t)at * words;
        uint64_t there = simt_load_relaxed_u64(slot);
        if (there == 0) there = simt_atomic_cas_u64(slot, 0, number);
        if (there == 0 || there == number) return at;
    }
}

SIMT_DEVICE bool hash_has(const uint64_t *table, uint32_t bits, uint64_t number)
{
    const uint32_t last = (uint32_t)(UINT64_C(1) << bits) - 1u;
    uint32_t at = hash_start(number, bits);
    while (table[at] != 0 && table[at] != number) at = (at + 1u) & last;
    return table[at] == number;
}

/* --- where keys are to go ------------------------------------------------------------------------------------------------- */

/* An equal key of the batch has come before: the position in its leaf decides. */
SIMT_DEVICE void leaf_share(const copse_radix_insert_arguments *a, copse_radix_link leaf, uint32_t position)
{
    if (a->tree.width == 0) return;
    uint64_t *there = (uint64_t *)copse_radix_value(&a->tree, leaf);
    if (a->first)
        (void)simt_atomic_min_u64(there, position);
    else
        (void)simt_atomic_max_u64(there, position);
}

SIMT_KERNEL(radix_locate, copse_radix_insert_arguments, COPSE_RADIX_THREADS, 4)
{
    RADIX_FOR(i, a.n)
    {
        copse_slice key;
        copse_radix_spot spot;
        const uint32_t position = a.pending[i];
        (void)string_at(&a.keys, position, a.keys_n, &key);
        const copse_radix_link near = copse_radix_nearest(&a.tree, key);
        const copse_slice other = copse_radix_key(&a.tree, near);
        const uint32_t common = (uint32_t)copse_radix_common(key, other);
        if (common == key.length && common == other.length) {
            leaf_share(&a, near, position);
            a.spots[i].other = 0;
            continue;
        }
        uint64_t levels = 2;
        spot.node = 0;
        spot.link = a.tree.root;
        spot.other = near;
        spot.common = common;
        while (!copse_radix_is_leaf(spot.link) && copse_radix_depth_of(spot.link) < common) {
            spot.node = spot.link;
            spot.link = copse_radix_step(&a.tree, spot.link, key);
            levels++;
        }
        const uint32_t byte = spot.node ? key.start[copse_radix_depth_of(spot.node)] : 0u;
        spot.group =
            hash_put(&a.groups[0].place, sizeof(copse_radix_group) / 8u, a.bits, place_number(spot.node, byte));
        copse_radix_group *group = &a.groups[spot.group];
        (void)simt_atomic_max_u32(&group->best, (uint32_t)(a.n - i));
        const uint64_t count = simt_atomic_add_u32(&group->count, 1) + 1u;
        if (count > 1u) (void)simt_atomic_max_u64(&a.tally->crowd, count);
        if (levels > simt_load_relaxed_u64(&a.tally->levels)) (void)simt_atomic_max_u64(&a.tally->levels, levels);
        if (!copse_radix_is_leaf(spot.link) && copse_radix_depth_of(spot.link) == common)
            (void)hash_put(a.changing, 1, a.bits, node_number(spot.link));
        a.spots[i] = spot;
    }
}

/* --- hanging leaves ----------------------------------------------------------------------------------------------------- */

SIMT_DEVICE uint64_t item_take(const copse_radix_insert_arguments *a, uint32_t type)
{
    const uint64_t n = simt_atomic_add_u64(&a->tally->taken[type], 1);
    return n < a->hand_n[type] ? a->hand[type][n] : a->used[type] + (n - a->hand_n[type]);
}

/* An item of which all bytes are 0, and which the host does not have. */
SIMT_DEVICE copse_radix_link item_make(const copse_radix_insert_arguments *a, uint32_t type, uint32_t extent)
{
    const copse_radix_link made = copse_radix_link_of(type, extent, item_take(a, type));
    const uint32_t bytes = copse_radix_stride(type, a->tree.width);
    uint64_t *words = (uint64_t *)copse_radix_at(&a->tree, made);
    for (uint32_t word = 0; word < bytes / 8u; word++) words[word] = 0;
    bytes_ahead(a->ahead, &a->tree, type, words, bytes);
    return made;
}

SIMT_DEVICE copse_radix_link leaf_make(const copse_radix_insert_arguments *a, copse_slice key, uint32_t position)
{
    const copse_radix_link leaf = item_make(a, copse_radix_leaf_type(key.length), (uint32_t)key.length);
    unsigned char *to = copse_radix_at(&a->tree, leaf);
    for (size_t byte = 0; byte < key.length; byte++) to[byte] = key.start[byte];
    if (a->tree.width) *(uint64_t *)copse_radix_value(&a->tree, leaf) = position;
    a->made[simt_atomic_add_u64(&a->tally->made, 1)] = leaf;
    return leaf;
}

SIMT_DEVICE void node_add(const copse_radix_insert_arguments *a, copse_radix_link node, int symbol,
                          copse_radix_link link)
{
    const uint32_t type = copse_radix_type_of(node);
    unsigned char *at = copse_radix_at(&a->tree, node);
    if (symbol < 0)
        ((copse_radix_node *)at)->end = link;
    else
        copse_radix_put(type, at, (uint8_t)symbol, link);
    bytes_ahead(a->ahead, &a->tree, type, at, copse_radix_stride(type, a->tree.width));
}

/* The node of depth `common` to which the leaf is to be added: the one that is there, a larger one in its place, or a new one above. */
SIMT_DEVICE copse_radix_link node_for(const copse_radix_insert_arguments *a, const copse_radix_spot *spot, int symbol)
{
    const uint32_t type = copse_radix_type_of(spot->link);
    if (copse_radix_is_leaf(spot->link) || copse_radix_depth_of(spot->link) != spot->common) {
        const copse_radix_link made = item_make(a, COPSE_RADIX_NODE2, spot->common);
        const copse_slice other = copse_radix_key(&a->tree, spot->other);
        node_add(a, made, copse_radix_symbol(other, spot->common), spot->link);
        return made;
    }
    const copse_radix_node *node = (const copse_radix_node *)copse_radix_at(&a->tree, spot->link);
    if (symbol < 0 || node->count < copse_radix_room(type)) return spot->link;
    const copse_radix_link made = item_make(a, type + 1u, spot->common);
    copse_radix_copy(type + 1u, copse_radix_at(&a->tree, made), type, node);
    a->freed[simt_atomic_add_u64(&a->tally->freed, 1)] = spot->link;
    return made;
}

SIMT_DEVICE void leaf_hang(const copse_radix_insert_arguments *a, const copse_radix_spot *spot, copse_slice key,
                           uint32_t position)
{
    const int symbol = copse_radix_symbol(key, spot->common);
    const copse_radix_link node = node_for(a, spot, symbol);
    node_add(a, node, symbol, leaf_make(a, key, position));
    if (node == spot->link) return;
    if (!spot->node) {
        a->tally->root = node;
        return;
    }
    const uint32_t type = copse_radix_type_of(spot->node);
    copse_radix_link *slot =
        copse_radix_child(type, copse_radix_at(&a->tree, spot->node), key.start[copse_radix_depth_of(spot->node)]);
    *slot = node;
    bytes_ahead(a->ahead, &a->tree, type, slot, 8);
}

SIMT_KERNEL(radix_hang, copse_radix_insert_arguments, COPSE_RADIX_THREADS, 3)
{
    RADIX_FOR(i, a.n)
    {
        const copse_radix_spot spot = a.spots[i];
        const uint32_t position = a.pending[i];
        copse_slice key;
        if (!spot.other) continue;
        if (a.groups[spot.group].best != (uint32_t)(a.n - i) ||
            (spot.node && hash_has(a.changing, a.bits, node_number(spot.node)))) {
            a.later[simt_atomic_add_u64(&a.tally->later, 1)] = position;
            continue;
        }
        (void)string_at(&a.keys, position, a.keys_n, &key);
        leaf_hang(&a, &spot, key, position);
    }
}

/* Leaves that came have the position of their value, and get the value. */
SIMT_KERNEL(radix_settle, copse_radix_insert_arguments, COPSE_RADIX_THREADS, 4)
{
    RADIX_FOR(i, a.tally->made)
    {
        uint64_t *value = (uint64_t *)copse_radix_value(&a.tree, a.made[i]);
        *value = a.tree.width == 8u ? ((const uint64_t *)a.values)[*value] : ((const uint32_t *)a.values)[*value];
    }
}

/* Template: items that kernels take for nodes and leaves. */
#pragma once

#include "trees/radix/gpu/upsert_kernels.h"
#include "trees/radix/gpu/view.h"

/* Takes the next number of a counter. Threads that come together take theirs by one atomic: all of them at one counter would wait for each
 * other for most of the time of an update. */
SIMT_DEVICE uint64_t counter_next(uint64_t *counters, uint32_t which)
{
    for (;;) {
        const uint32_t here = __activemask(), leader = (uint32_t)__ffs((int)here) - 1u;
        const uint32_t same = __ballot_sync(here, which == simt_shfl_u32(here, which, leader));
        if (!(same >> simt_lane() & 1u)) continue;
        uint64_t first = 0;
        if (simt_lane() == leader) first = simt_atomic_add_u64(&counters[which], (uint64_t)__popc(same));
        return simt_shfl_u64(same, first, leader) + (uint64_t)__popc(same & ((1u << simt_lane()) - 1u));
    }
}

/* Item number n of those that are free. */
SIMT_DEVICE uint64_t item_number(const copse_radix_items *items, uint32_t type, uint64_t n)
{
    const uint64_t hand = items->hand_n[type];
    return n < hand ? items->hand[type][hand - 1u - n] : items->used[type] + (n - hand);
}

SIMT_DEVICE void item_ahead(const copse_radix_items *items, const copse_radix_view *tree, uint32_t type,
                            const void *from, uint32_t bytes)
{
    const uint64_t at = (uint64_t)((const unsigned char *)from - tree->pool[type]);
    if (items->ahead[type] && at < items->known[type] * copse_radix_stride(type, tree->width))
        bytes_ahead(items->ahead, tree, type, from, bytes);
}

/* An item whose bytes are all 0, and which the host does not have. */
SIMT_DEVICE void item_clear(const copse_radix_items *items, const copse_radix_view *tree, copse_radix_link item,
                            uint32_t bytes)
{
    uint64_t *words = (uint64_t *)copse_radix_at(tree, item);
    for (uint32_t word = 0; word < bytes / 8u; word++) words[word] = 0;
    item_ahead(items, tree, copse_radix_type_of(item), words, bytes);
}

/* A node without links. */
SIMT_DEVICE copse_radix_link node_make(const copse_radix_items *items, const copse_radix_view *tree,
                                       copse_radix_tally *tally, uint32_t type, uint32_t depth)
{
    const uint64_t n = counter_next(tally->taken, type);
    const copse_radix_link made = copse_radix_link_of(type, depth, item_number(items, type, n));
    item_clear(items, tree, made, copse_radix_stride(type, tree->width));
    return made;
}

/* Says that an item is free. */
SIMT_DEVICE void item_free(copse_radix_tally *tally, copse_radix_link *freed, copse_radix_link item)
{
    freed[counter_next(&tally->freed, 0)] = item;
    (void)counter_next(tally->gone, copse_radix_type_of(item));
}

/* Adds a link to a node that has none for the symbol, and room. */
SIMT_DEVICE void node_add(const copse_radix_items *items, const copse_radix_view *tree, copse_radix_link node,
                          int symbol, copse_radix_link link)
{
    const uint32_t type = copse_radix_type_of(node);
    unsigned char *at = copse_radix_at(tree, node);
    if (symbol < 0)
        ((copse_radix_node *)at)->end = link;
    else
        copse_radix_put(type, at, (uint8_t)symbol, link);
    item_ahead(items, tree, type, at, copse_radix_stride(type, tree->width));
}

/* Replaces the link by which a key leaves a node; node 0: the root. */
SIMT_DEVICE void link_set(const copse_radix_items *items, const copse_radix_view *tree, copse_radix_tally *tally,
                          copse_radix_link node, copse_slice key, copse_radix_link link)
{
    if (!node) {
        tally->root = link;
        return;
    }
    const uint32_t type = copse_radix_type_of(node);
    copse_radix_link *slot = copse_radix_child(type, copse_radix_at(tree, node), key.start[copse_radix_depth_of(node)]);
    *slot = link;
    item_ahead(items, tree, type, slot, 8);
}

/* --- tables by number ------------------------------------------------------------------------------------------------------ */

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

SIMT_DEVICE bool hash_has(const uint64_t *table, uint32_t words, uint32_t bits, uint64_t number)
{
    const uint32_t last = (uint32_t)(UINT64_C(1) << bits) - 1u;
    uint32_t at = hash_start(number, bits);
    while (table[(uint64_t)at * words] != 0 && table[(uint64_t)at * words] != number) at = (at + 1u) & last;
    return table[(uint64_t)at * words] == number;
}

/* Puts number i into the list of a group. Returns how many are in it. */
SIMT_DEVICE uint32_t group_enter(copse_radix_group *groups, uint32_t bits, uint64_t place, uint32_t i,
                                 copse_radix_spot *spot)
{
    spot->group = hash_put(&groups[0].place, sizeof(copse_radix_group) / 8u, bits, place);
    spot->next = simt_atomic_exchange_u32(&groups[spot->group].head, i + 1u);
    return simt_atomic_add_u32(&groups[spot->group].count, 1) + 1u;
}

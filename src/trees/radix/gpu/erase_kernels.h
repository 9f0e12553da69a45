/* Template: keys that go (copse_radix_erase_arguments). */
#pragma once

#include "trees/radix/gpu/items.h"

SIMT_DEVICE copse_slice erase_key(const copse_radix_erase_arguments *a, uint32_t position)
{
    copse_slice key;
    if (a->leaves)
        return copse_radix_key(&a->tree, a->leaves[position]); /* those that went keep their bytes in this call */
    (void)string_at(&a->keys, position, a->keys_n, &key);
    return key;
}

/* Leaves that are known need no look for their keys. */
SIMT_KERNEL(radix_claim_leaves, copse_radix_erase_arguments, COPSE_RADIX_THREADS, 6)
{
    RADIX_FOR(i, a.keys_n)
    {
        a.places[i] = claim_place(a.claims, a.claim_bits, a.leaves[i]);
        simt_atomic_max_u64(&a.claims[a.places[i]].position, i);
    }
}

/* Of the keys that are there, one position of each. */
SIMT_KERNEL(radix_doomed, copse_radix_erase_arguments, COPSE_RADIX_THREADS, 4)
{
    RADIX_FOR(i, a.keys_n)
    {
        if (a.places[i] == UINT32_MAX) continue;
        const copse_radix_claim claim = a.claims[a.places[i]];
        if (claim.position == i) a.pending[counter_next(&a.tally->later, 0)] = (uint32_t)i;
    }
}

SIMT_DEVICE bool node_is_empty(const copse_radix_view *tree, copse_radix_link node)
{
    const copse_radix_node *head = (const copse_radix_node *)copse_radix_at(tree, node);
    return head->count == 0 && head->end == 0;
}

/* Which node loses what: the leaf of each key, or the node that has nothing left. */
SIMT_KERNEL(radix_lose, copse_radix_erase_arguments, COPSE_RADIX_THREADS, 4)
{
    RADIX_FOR(i, a.n)
    {
        const copse_slice key = erase_key(&a, a.pending[i]);
        copse_radix_spot spot;
        spot.node = spot.other = 0;
        spot.common = spot.group = spot.next = spot.joining = 0;
        spot.link = a.tree.root;
        while (!copse_radix_is_leaf(spot.link) && !node_is_empty(&a.tree, spot.link)) {
            spot.other = spot.node;
            spot.node = spot.link;
            spot.link = step_down(&a.tree, spot.link, key);
        }
        spot.symbol = spot.node ? copse_radix_symbol(key, copse_radix_depth_of(spot.node)) : COPSE_RADIX_END;
        (void)group_enter(a.groups, a.bits, node_number(spot.node), (uint32_t)i, &spot);
        a.spots[i] = spot;
    }
}

/* A node that has lost links: its last one in its place, a smaller node, or in the next round nothing. */
SIMT_DEVICE void node_shrink(const copse_radix_erase_arguments *a, const copse_radix_spot *spot, uint32_t position)
{
    const uint32_t type = copse_radix_type_of(spot->node);
    const copse_slice key = erase_key(a, position);
    unsigned char *at = copse_radix_at(&a->tree, spot->node);
    const copse_radix_node *node = (const copse_radix_node *)at;
    const uint32_t left = node->count + (node->end != 0);
    copse_radix_link instead = 0;
    item_ahead(&a->items, &a->tree, type, at, copse_radix_stride(type, a->tree.width));
    if (left == 0) {
        a->later[counter_next(&a->tally->later, 0)] = position;
        return;
    }
    if (left == 1u) {
        instead = copse_radix_get(type, at, copse_radix_next(type, at, COPSE_RADIX_BEFORE_FIRST));
    } else if (a->shrink && copse_radix_sparse(type, node->count)) {
        const uint32_t smaller = copse_radix_type_for(node->count);
        instead = node_make(&a->items, &a->tree, a->tally, smaller, copse_radix_depth_of(spot->node));
        copse_radix_copy(smaller, copse_radix_at(&a->tree, instead), type, at);
    }
    if (!instead) return;
    link_set(&a->items, &a->tree, a->tally, spot->other, key, instead);
    item_free(a->tally, a->freed, spot->node);
}

SIMT_DEVICE void group_take(const copse_radix_erase_arguments *a, uint32_t head)
{
    const copse_radix_spot spot = a->spots[head];
    for (uint32_t i = head + 1u; i; i = a->spots[i - 1u].next) {
        const copse_radix_link gone = a->spots[i - 1u].link;
        if (spot.node) {
            const int symbol = a->spots[i - 1u].symbol;
            unsigned char *at = copse_radix_at(&a->tree, spot.node);
            if (symbol < 0)
                ((copse_radix_node *)at)->end = 0;
            else
                copse_radix_take(copse_radix_type_of(spot.node), at, (uint32_t)symbol);
        }
        item_free(a->tally, a->freed, gone);
        if (copse_radix_is_leaf(gone)) (void)counter_next(&a->tally->erased, 0);
    }
    if (spot.node)
        node_shrink(a, &spot, a->pending[head]);
    else
        a->tally->root = 0;
}

SIMT_KERNEL(radix_take, copse_radix_erase_arguments, COPSE_RADIX_THREADS, 3)
{
    RADIX_FOR(i, a.n)
    {
        const copse_radix_spot *spot = &a.spots[i];
        const uint32_t words = sizeof(copse_radix_group) / 8u;
        if (spot->other && hash_has(&a.groups[0].place, words, a.bits, node_number(spot->other)))
            a.later[counter_next(&a.tally->later, 0)] = a.pending[i];
        else if (a.groups[spot->group].head == (uint32_t)i + 1u)
            group_take(&a, (uint32_t)i);
    }
}

SIMT_KERNEL(radix_spare, copse_radix_spare_arguments, COPSE_RADIX_THREADS, 6)
{
    RADIX_FOR(i, a.n)
    {
        const copse_radix_link item = a.freed[i];
        const uint32_t type = copse_radix_type_of(item);
        const uint64_t at = counter_next(a.count, type);
        a.ends[type][at] = type == COPSE_RADIX_LEAF_LONG ? item : copse_radix_index_of(item);
    }
}

/* --- blocks of long leaves (copse_radix_blocks) --------------------------------------------------------------------------------- */

SIMT_DEVICE uint32_t block_class(const copse_radix_blocks *blocks, copse_radix_link block)
{
    uint32_t size;
    return copse_radix_class_of(copse_radix_units(copse_radix_length_of(block), blocks->width), &size);
}

SIMT_KERNEL(radix_blocks_count, copse_radix_blocks, COPSE_RADIX_THREADS, 6)
{
    RADIX_FOR(i, a.n)(void) counter_next(a.begins, block_class(&a, a.free[i]));
}

SIMT_KERNEL(radix_blocks_group, copse_radix_blocks, COPSE_RADIX_THREADS, 6)
{
    RADIX_FOR(i, a.n)
    {
        const uint32_t class_number = block_class(&a, a.free[i]);
        a.grouped[a.begins[class_number] + counter_next(a.taken, class_number)] = a.free[i];
    }
}

/* Those that no leaf has taken. */
SIMT_KERNEL(radix_blocks_leave, copse_radix_blocks, COPSE_RADIX_THREADS, 6)
{
    RADIX_FOR(i, a.n)
    {
        const uint32_t class_number = block_class(&a, a.grouped[i]);
        if (i + a.taken[class_number] < a.begins[class_number + 1u]) a.free[counter_next(a.rest, 0)] = a.grouped[i];
    }
}

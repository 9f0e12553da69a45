/* Template: trees of new keys come to the tree (copse_radix_insert_arguments). */
#pragma once

#include "trees/radix/gpu/items.h"

SIMT_DEVICE copse_slice insert_key(const copse_radix_insert_arguments *a, uint32_t unique)
{
    copse_slice key;
    (void)string_at(&a->keys, a->unique[unique], a->keys_n, &key);
    return key;
}

/* --- where keys are to go ------------------------------------------------------------------------------------------------- */

SIMT_DEVICE copse_radix_spot spot_of(const copse_radix_insert_arguments *a, copse_slice key)
{
    copse_radix_spot spot;
    uint64_t levels = 2;
    spot.other = nearest_of(&a->tree, key, a->keys.data + (a->keys.high - a->keys.low), &spot.common);
    spot.node = 0;
    spot.link = a->tree.root;
    spot.group = spot.next = spot.joining = 0;
    spot.symbol = copse_radix_symbol(key, spot.common);
    while (!copse_radix_is_leaf(spot.link) && copse_radix_depth_of(spot.link) < spot.common) {
        spot.node = spot.link;
        spot.link = step_down(&a->tree, spot.link, key);
        levels++;
    }
    if (levels > simt_load_relaxed_u64(&a->tally->levels)) (void)simt_atomic_max_u64(&a->tally->levels, levels);
    return spot;
}

/* Does the key go into a node that is there, and not into a new one above what is there? */
SIMT_DEVICE bool node_is_there(const copse_radix_spot *spot)
{
    return !copse_radix_is_leaf(spot->link) && copse_radix_depth_of(spot->link) == spot->common;
}

/* In the first pass, over all keys, where each is to go, and which of them share more with each other than with the tree. In rounds: the
 * groups of those that want the same place. */
SIMT_KERNEL(radix_locate, copse_radix_insert_arguments, COPSE_RADIX_THREADS, 3)
{
    RADIX_FOR(i, a.n)
    {
        if (!a.pending) {
            a.first[i] = spot_of(&a, insert_key(&a, (uint32_t)i));
            if (a.common[i] <= (int32_t)a.first[i].common) a.common[i] = -1;
            continue;
        }
        const uint32_t head = a.pending[i];
        const copse_slice key = insert_key(&a, head);
        copse_radix_spot spot = a.again ? spot_of(&a, key) : a.first[head];
        const uint32_t byte = spot.node ? key.start[copse_radix_depth_of(spot.node)] : 0u;
        const uint64_t count = group_enter(a.groups, a.bits, place_number(spot.node, byte), (uint32_t)i, &spot);
        if (count > 1u && count > simt_load_relaxed_u64(&a.tally->crowd))
            (void)simt_atomic_max_u64(&a.tally->crowd, count);
        const copse_radix_link node =
            copse_radix_link_of(copse_radix_type_of(spot.link), spot.common, copse_radix_index_of(spot.link));
        spot.joining = hash_put(&a.nodes[0].place, sizeof(copse_radix_group) / 8u, a.bits, node);
        if (spot.symbol >= 0) (void)simt_atomic_add_u32(&a.nodes[spot.joining].count, 1);
        simt_store_relaxed_u32(&a.nodes[spot.joining].head, (uint32_t)i + 1u);
        a.spots[i] = spot;
    }
}

/* After the places of the first round: how many nodes of each type will be made, at most. */
SIMT_KERNEL(radix_need, copse_radix_insert_arguments, COPSE_RADIX_THREADS, 6)
{
    RADIX_FOR(i, a.n)
    {
        const copse_radix_spot spot = a.spots[i];
        const copse_radix_group joining = a.nodes[spot.joining];
        if (joining.head != (uint32_t)i + 1u) continue;
        uint32_t links = joining.count + 1u;
        if (node_is_there(&spot)) {
            links = ((const copse_radix_node *)copse_radix_at(&a.tree, spot.link))->count + joining.count;
            if (links <= copse_radix_room(copse_radix_type_of(spot.link))) continue;
        }
        (void)counter_next(a.tally->needed, copse_radix_type_for(links < 256u ? links : 256u));
    }
}

/* --- hanging trees ----------------------------------------------------------------------------------------------------------- */

/* The next one behind number `i` of a group that shares `common` bytes with the place; UINT32_MAX: none. */
SIMT_DEVICE uint32_t member_after(const copse_radix_insert_arguments *a, uint32_t i, uint32_t common)
{
    for (uint32_t next = a->spots[i].next; next; next = a->spots[next - 1u].next)
        if (a->spots[next - 1u].common == common) return next - 1u;
    return UINT32_MAX;
}

/* The node of depth `common` to which `more` links are to be added: the one that is there, a larger one in its place, or a new one above. */
SIMT_DEVICE copse_radix_link node_for(const copse_radix_insert_arguments *a, const copse_radix_spot *spot,
                                      uint32_t more)
{
    const uint32_t type = copse_radix_type_of(spot->link);
    if (!node_is_there(spot)) {
        const int symbol = copse_radix_symbol(copse_radix_key(&a->tree, spot->other), spot->common);
        const copse_radix_link made =
            node_make(&a->items, &a->tree, a->tally, copse_radix_type_for(more + (symbol >= 0)), spot->common);
        node_add(&a->items, &a->tree, made, symbol, spot->link);
        return made;
    }
    const copse_radix_node *node = (const copse_radix_node *)copse_radix_at(&a->tree, spot->link);
    if (node->count + more <= copse_radix_room(type)) return spot->link;
    const uint32_t larger = copse_radix_type_for(node->count + more);
    const copse_radix_link made = node_make(&a->items, &a->tree, a->tally, larger, spot->common);
    copse_radix_copy(larger, copse_radix_at(&a->tree, made), type, node);
    item_free(a->tally, a->freed, spot->link);
    return made;
}

SIMT_DEVICE void group_hang(const copse_radix_insert_arguments *a, uint32_t head)
{
    const copse_radix_spot spot = a->spots[head];
    const copse_radix_link node = node_for(a, &spot, a->nodes[spot.joining].count);
    for (uint32_t i = head; i != UINT32_MAX; i = member_after(a, i, spot.common))
        node_add(&a->items, &a->tree, node, a->spots[i].symbol, a->roots[a->pending[i]]);
    if (node != spot.link) link_set(&a->items, &a->tree, a->tally, spot.node, insert_key(a, a->pending[head]), node);
}

SIMT_KERNEL(radix_hang, copse_radix_insert_arguments, COPSE_RADIX_THREADS, 3)
{
    RADIX_FOR(i, a.n)
    {
        const copse_radix_spot *spot = &a.spots[i];
        const uint32_t head = a.groups[spot->group].head - 1u;
        if (a.spots[head].common != spot->common ||
            (spot->node && hash_has(&a.nodes[0].place, sizeof(copse_radix_group) / 8u, a.bits, spot->node)))
            a.later[counter_next(&a.tally->later, 0)] = a.pending[i];
        else if (head == (uint32_t)i)
            group_hang(&a, head);
    }
}

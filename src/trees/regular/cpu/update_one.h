/* Updates of one key that change one leaf and no other: without the lists of a batch. */
#pragma once

#include "trees/regular/cpu/table.h"
#include "trees/regular/cpu/values.h"
#include "trees/regular/cpu/tree.h"

/* The entries of the leaf in a slot change by one. */
static void table_count_one(copse_page_directory *table, uint64_t slot, int change)
{
    leaf_page *page = slot_page(table, slot);
    uint64_t node = slot >> COPSE_PAGE_SHIFT, n = table->pages;
    for (uint32_t s = slot_at(slot) + 1; s <= page->used; s++) page->ahead[s] = (uint16_t)(page->ahead[s] + change);
    for (uint32_t l = 0; l < table->rank_height; l++, node /= 16, n = (n + 15) / 16) {
        const uint64_t end = (node / 16 + 1) * 16 < n ? (node / 16 + 1) * 16 : n;
        table->below[l][node] += (uint64_t)(int64_t)change;
        for (uint64_t i = node + 1; i < end; i++) table->before[l][i] += (uint64_t)(int64_t)change;
    }
}

/* Whether a leaf that will have so many entries has to go, or is to join a neighbour (leaf_joins). */
static bool leaf_gets_sparse(const copse_page_directory *table, uint64_t slot, uint32_t after)
{
    const leaf_page *page = slot_page(table, slot);
    const uint32_t at = slot_at(slot);
    if (after == 0) return true;
    return (at && after + page_count(page, at - 1) <= LEAF_SPARSE) ||
           (at + 1u < page->used && after + page_count(page, at + 1) <= LEAF_SPARSE);
}

/* Does what regular_update does for a batch of one pair, where no leaf comes or goes. False: it is not that simple, and nothing has
 * changed. */
static bool regular_update_one(copse_index *index, const copse_pair *pair, merge_kind kind, const char *what,
                               copse_status *status)
{
    copse_regular *tree = index->tree;
    copse_page_directory *table = &tree->table;
    const uint64_t slot = table_walk(table, pair->key);
    const uint32_t before = slot_count(table, slot);
    char *leaf = slot_leaf(table, slot);
    copse_unit *units = leaf_units(leaf);
    /* With duplicates equals may lie in other leaves, too. */
    if (index->duplicates && (kind == MERGE_ERASE || slot_fence(table, slot) == pair->key)) return false;
    const uint32_t at = leaf_seek(leaf, before, pair->key);
    const bool there = at < before && unit_key(units, at) == pair->key;
    const bool adds = kind == MERGE_APPEND || (kind != MERGE_ERASE && !there), takes = kind == MERGE_ERASE && there;
    if ((adds && before == LEAF_CAPACITY) || (takes && leaf_gets_sparse(table, slot, before - 1))) return false;
    *status = copse_progress(index->ctx, what, 1, 1);
    if (*status != COPSE_OK) return true;
    if (adds)
        leaf_merge(leaf, before, before + 1, pair, 1, kind);
    else if (takes)
        leaf_remove(leaf, before, at);
    else if (kind == MERGE_UPSERT)
        units[at / UNIT_ENTRIES].values[at % UNIT_ENTRIES] = pair->value;
    if (adds || takes) table_count_one(table, slot, adds ? 1 : -1);
    if (adds || takes) slot_page(table, slot)->mark.changed = true;
    tree->entries += (uint64_t)adds - (uint64_t)takes;
    if (!tree->has_summary) return true;
    values_of_leaf(index, slot_page(table, slot), slot_at(slot));
    values_close_page(index, slot_page(table, slot));
    values_read_pages(tree, slot >> COPSE_PAGE_SHIFT, slot >> COPSE_PAGE_SHIFT);
    values_raise_all(tree, slot >> COPSE_PAGE_SHIFT, slot >> COPSE_PAGE_SHIFT);
    return true;
}

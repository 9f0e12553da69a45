/* Reads of the regular tree. Batch walks: walk.h, chosen by instruction set. */
#pragma once

#include "trees/regular/cpu/table.h"
#include "cpu/fetch.h"
#include "cpu/merge.h"
#include "trees/regular/cpu/walk_table.h"

static inline const regular_walks *regular_walks_of(const copse_index *index)
{
    static const regular_walks *const walks[COPSE_INSTRUCTION_SETS] = COPSE_WALKS(copse_regular_walks);
    return walks[index->ctx->instruction_set];
}

static inline uint64_t regular_find(const copse_index *index, const void *keys, uint64_t first, uint64_t n,
                                    void *values, uint8_t *found)
{
    copse_walk_input input = copse_walk_over(index, keys, first, n);
    input.below = copse_walked_below(index, keys, false, first);
    return regular_walks_of(index)->find(index->tree, &input, values, found);
}

static inline uint64_t regular_locate(const copse_index *index, const void *keys, uint64_t first, uint64_t n,
                                      bool upper, uint64_t *locations)
{
    copse_walk_input input = copse_walk_over(index, keys, first, n);
    input.upper = upper;
    input.below = copse_walked_below(index, keys, upper, first);
    return regular_walks_of(index)->locate(index->tree, &input, locations);
}

/* --- locations ---------------------------------------------------------------------------------------------------- */

static inline uint64_t regular_rank_one(const copse_regular *tree, uint64_t location)
{
    const copse_page_directory *table = &tree->table;
    uint64_t slot = location >> COPSE_LOCATION_SHIFT, rank = location & ((1u << COPSE_LOCATION_SHIFT) - 1);
    if (slot >= table_end(table)) return tree->entries;
    rank += slot_page(table, slot)->ahead[slot_at(slot)];
    uint64_t node = slot >> COPSE_PAGE_SHIFT;
    for (uint32_t l = 0; l < table->rank_height; l++, node /= 16) rank += table->before[l][node];
    return rank;
}

/* Locations whose lines are asked for while the rank of another is looked up. */
#define RANK_AHEAD 12u

static inline void regular_rank(const copse_index *index, const uint64_t *locations, uint64_t n, uint64_t *ranks)
{
    const copse_regular *tree = index->tree;
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t slot = (i + RANK_AHEAD < n ? locations[i + RANK_AHEAD] : 0) >> COPSE_LOCATION_SHIFT;
        if (slot < table_end(&tree->table)) __builtin_prefetch(&slot_page(&tree->table, slot)->ahead[slot_at(slot)]);
        ranks[i] = regular_rank_one(tree, locations[i]);
    }
}

/* Most ranges are short: their ends lie in one leaf, whose entries have positions, or in one page, which knows what is in front of its
 * leaves. */
static inline void regular_between(const copse_index *index, const uint64_t *lows, const uint64_t *highs, uint64_t n,
                                   uint64_t *counts)
{
    const copse_regular *tree = index->tree;
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t ahead = i + RANK_AHEAD < n ? i + RANK_AHEAD : i;
        const uint64_t slot = lows[ahead] >> COPSE_LOCATION_SHIFT;
        if (slot != highs[ahead] >> COPSE_LOCATION_SHIFT && slot < table_end(&tree->table))
            __builtin_prefetch(&slot_page(&tree->table, slot)->ahead[slot_at(slot)]);
        if (highs[i] <= lows[i])
            counts[i] = 0;
        else if (lows[i] >> COPSE_LOCATION_SHIFT == highs[i] >> COPSE_LOCATION_SHIFT)
            counts[i] = highs[i] - lows[i];
        else
            counts[i] = regular_rank_one(tree, highs[i]) - regular_rank_one(tree, lows[i]);
    }
}

static inline uint64_t regular_select(const copse_index *index, uint64_t rank)
{
    const copse_regular *tree = index->tree;
    const copse_page_directory *table = &tree->table;
    if (rank >= tree->entries) return table_end(table) << COPSE_LOCATION_SHIFT;
    uint64_t node = 0;
    for (uint32_t l = table->rank_height; l-- > 0;) {
        node *= 16;
        while (rank >= table->below[l][node]) rank -= table->below[l][node++];
    }
    const leaf_page *page = table_page(table, node);
    uint32_t at = 0;
    for (uint32_t end = page->used; end - at > 1;) {
        uint32_t middle = at + (end - at) / 2;
        if (page->ahead[middle] <= rank)
            at = middle;
        else
            end = middle;
    }
    return (slot_of(node, at) << COPSE_LOCATION_SHIFT) + rank - page->ahead[at];
}

/* The slot and position of the entry at a location; a location behind the last entry of a leaf is the next leaf's first.
 * False: behind the last entry of all. */
static inline bool regular_at(const copse_page_directory *table, uint64_t location, uint64_t *slot, uint32_t *position)
{
    *slot = location >> COPSE_LOCATION_SHIFT;
    *position = (uint32_t)(location & ((1u << COPSE_LOCATION_SHIFT) - 1));
    if (*slot < table_end(table) && *position >= slot_count(table, *slot)) {
        *slot = table_next(table, *slot);
        *position = 0;
    }
    return *slot < table_end(table);
}

/* The entry in front of a location. False: there is none. */
static inline bool regular_before(const copse_page_directory *table, uint64_t location, uint64_t *slot,
                                  uint32_t *position)
{
    *slot = location >> COPSE_LOCATION_SHIFT;
    *position = (uint32_t)(location & ((1u << COPSE_LOCATION_SHIFT) - 1));
    if (*position == 0) {
        if (*slot == 0) return false;
        *slot = table_previous(table, *slot);
        *position = slot_count(table, *slot);
    }
    --*position;
    return true;
}

static inline void regular_gather(const copse_index *index, const uint64_t *locations, uint64_t first, uint64_t n,
                                  bool before, void *keys, void *values, uint8_t *found)
{
    const copse_page_directory *table = &((const copse_regular *)index->tree)->table;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t slot;
        uint32_t position;
        bool there = before ? regular_before(table, locations[i], &slot, &position)
                            : regular_at(table, locations[i], &slot, &position);
        if (found) found[first + i] = there;
        if (there) {
            unit_copy(leaf_units(slot_leaf(table, slot)), position, 1, index->key_type, first + i, keys, values);
        } else {
            if (keys) ((KEY *)keys)[first + i] = 0;
            if (values) ((VALUE *)values)[first + i] = 0;
        }
    }
}

static inline void regular_copy(const copse_index *index, uint64_t location, uint64_t count, uint64_t at, void *keys,
                                void *values)
{
    const copse_page_directory *table = &((const copse_regular *)index->tree)->table;
    uint64_t slot;
    uint32_t position;
    if (!regular_at(table, location, &slot, &position)) return;
    for (;;) {
        uint64_t n = slot_count(table, slot) - position;
        if (n > count) n = count;
        unit_copy(leaf_units(slot_leaf(table, slot)), position, n, index->key_type, at, keys, values);
        if ((count -= n) == 0) return; /* most ranges end here: nothing more of the page is read for them */
        at += n;
        position = 0;
        slot = table_next(table, slot);
    }
}

COPSE_FETCH void regular_fetch(const copse_index *index, uint64_t location, uint64_t count)
{
    const copse_page_directory *table = &((const copse_regular *)index->tree)->table;
    uint64_t slot = location >> COPSE_LOCATION_SHIFT,
             unit = (location & ((1u << COPSE_LOCATION_SHIFT) - 1)) / UNIT_ENTRIES;
    if (slot >= table_end(table)) return;
    uint64_t lines = count / UNIT_ENTRIES + 1;
    for (uint64_t i = 0; i < (lines < COPSE_FETCH_LINES ? lines : COPSE_FETCH_LINES) && unit + i < COPSE_LEAF_UNITS;
         i++)
        __builtin_prefetch(leaf_units(slot_leaf(table, slot)) + unit + i, 0, 2);
}

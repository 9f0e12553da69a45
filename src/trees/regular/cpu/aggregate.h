/* Aggregates of the regular tree. With its summary (values.h) an integer sum is a difference of two sums in front of a place, and every
 * other aggregate a few items of each level. */
#pragma once

#include "core/aggregate.h"
#include "trees/regular/cpu/extremes.h"
#include "trees/regular/cpu/read.h"
#include "trees/regular/cpu/sums.h"
#include "trees/regular/cpu/values.h"

/* Readers may come at the same time: the first makes it, the others wait; afterwards the flag alone is read. */
static inline void regular_prepare(const copse_index *index, bool sums)
{
    copse_regular *tree = index->tree;
    (void)sums;
    if (atomic_load_explicit(&tree->summary_tried, memory_order_acquire)) return;
    pthread_mutex_lock(&tree->lock);
    if (!atomic_load_explicit(&tree->summary_tried, memory_order_relaxed)) {
        regular_make_summary(index, tree);
        atomic_store_explicit(&tree->summary_tried, true, memory_order_release);
    }
    pthread_mutex_unlock(&tree->lock);
}

static inline uint32_t location_position(uint64_t location)
{
    return (uint32_t)(location & ((1u << COPSE_LOCATION_SHIFT) - 1));
}

static inline const page_values *values_at(const copse_regular *tree, uint64_t slot)
{
    return (const page_values *)tree->values.page[slot >> COPSE_PAGE_SHIFT];
}

/* The place at a location (extremes.h); behind all entries it is the end of the last leaf. */
static inline extreme_place place_at(const copse_page_directory *table, uint64_t location)
{
    uint64_t slot = location >> COPSE_LOCATION_SHIFT;
    uint32_t position = location_position(location);
    if (slot >= table_end(table)) {
        slot = table_previous(table, table_end(table));
        position = slot_count(table, slot);
    }
    const uint32_t unit = position < LEAF_CAPACITY ? position / UNIT_ENTRIES : COPSE_LEAF_UNITS - 1;
    return (extreme_place){slot, slot_leaf(table, slot), unit, position - unit * UNIT_ENTRIES};
}

/* Sum of all entries in front of a location, of integers. */
static inline copse_wide sum_before(const copse_regular *tree, uint64_t location, bool is_signed)
{
    const extreme_place at = place_at(&tree->table, location);
    return sum_in_front(tree, at.slot, at.leaf, at.unit, at.end, is_signed);
}

static inline bool regular_has_sum_wide(const copse_index *index)
{
    return ((const copse_regular *)index->tree)->has_summary && !copse_type_is_float(index->value_type);
}

static inline copse_walk_input regular_ranges(const copse_index *index, const void *lows, const void *highs,
                                              uint64_t first, uint64_t n)
{
    copse_walk_input input = copse_walk_over(index, lows, first, n);
    input.highs = highs;
    input.below = copse_walked_below(index, lows, false, first);
    input.below_highs = copse_walked_below(index, highs, true, first);
    if (!input.below_highs.nodes) input.below.nodes = NULL;
    return input;
}

static inline uint64_t regular_sum_wide(const copse_index *index, const void *lows, const void *highs, uint64_t first,
                                        uint64_t n, copse_wide *sums)
{
    const copse_walk_input input = regular_ranges(index, lows, highs, first, n);
    const bool is_signed = index->value_type == COPSE_I32 || index->value_type == COPSE_I64;
    return regular_walks_of(index)->sum(index->tree, &input, is_signed, sums);
}

static inline bool regular_has_extremes(const copse_index *index)
{
    return ((const copse_regular *)index->tree)->has_summary;
}

static inline uint64_t regular_extremes(const copse_index *index, const void *lows, const void *highs, uint64_t first,
                                        uint64_t n, bool largest, uint64_t *codes, uint8_t *found)
{
    const copse_walk_input input = regular_ranges(index, lows, highs, first, n);
    return regular_walks_of(index)->extreme(index->tree, &input, index->value_type, largest, codes, found);
}

/* Adds positions from .. to of a leaf. */
static inline void regular_scan(const copse_index *index, uint64_t slot, uint32_t from, uint32_t to,
                                copse_aggregate *all)
{
    const copse_page_directory *table = &((const copse_regular *)index->tree)->table;
    if (to > slot_count(table, slot)) to = slot_count(table, slot);
    const copse_unit *units = from < to ? leaf_units(slot_leaf(table, slot)) : NULL;
    while (from < to) {
        uint32_t slot_in_unit = from % UNIT_ENTRIES;
        uint32_t n = to - from < UNIT_ENTRIES - slot_in_unit ? to - from : UNIT_ENTRIES - slot_in_unit;
        copse_aggregate_add(all, index->value_type, units[from / UNIT_ENTRIES].values + slot_in_unit, n);
        from += n;
    }
}

/* --- sums of floats: what the range covers, a few items of each level ---------------------------------------------------- */

static inline double add_floats(const double *sum, uint64_t from, uint64_t to)
{
    double all = 0;
    for (; from < to; from++) all += sum[from];
    return all;
}

/* Leaves from .. to of a page. */
static inline double add_leaves(const page_values *v, uint32_t from, uint32_t to)
{
    const uint32_t first = (from + FANOUT - 1) / FANOUT, last = to / FANOUT;
    if (first >= last) return add_floats(v->float_sum, from, to);
    return add_floats(v->float_sum, from, first * FANOUT) + add_floats(v->node_float_sum, first, last) +
           add_floats(v->float_sum, last * FANOUT, to);
}

/* Of each level the items up to the next one that has a parent of its own. */
static inline double add_pages(const copse_regular *tree, uint64_t from, uint64_t to)
{
    double all = 0;
    for (uint32_t l = 0; from < to; l++) {
        const double *sum = tree->values.float_sum[l];
        const uint64_t first = (from + 15) / 16, last = to / 16;
        if (l + 1 == tree->table.rank_height || first >= last) return all + add_floats(sum, from, to);
        all += add_floats(sum, from, first * 16) + add_floats(sum, last * 16, to);
        from = first;
        to = last;
    }
    return all;
}

/* Leaves between two slots, neither of them included, the second of which may be behind the last. */
static inline double add_slots(const copse_regular *tree, uint64_t first, uint64_t last)
{
    const uint64_t page = first >> COPSE_PAGE_SHIFT, end = last >> COPSE_PAGE_SHIFT;
    if (page == end) return add_leaves(values_at(tree, first), slot_at(first) + 1, slot_at(last));
    return add_leaves(values_at(tree, first), slot_at(first) + 1, table_page(&tree->table, page)->used) +
           add_pages(tree, page + 1, end) +
           (end < tree->table.pages ? add_leaves(values_at(tree, last), 0, slot_at(last)) : 0);
}

/* ---------------------------------------------------------------------------------------------------------------------- */

/* The extreme of the entries between two locations. The other one says whether there are any. */
static inline void regular_extreme(const copse_index *index, uint64_t location, uint64_t end, bool largest,
                                   copse_aggregate *all)
{
    const copse_regular *tree = index->tree;
    const extreme_place low = place_at(&tree->table, location), high = place_at(&tree->table, end);
    uint64_t code;
    if (!extreme_between(tree, &low, &high, extreme_of(index->value_type, largest),
                         copse_type_is_float(index->value_type), &code))
        return;
    all->smallest = largest ? 0 : code;
    all->largest = largest ? code : UINT64_MAX;
}

static inline void regular_aggregate(const copse_index *index, uint64_t location, uint64_t end,
                                     copse_aggregate_kind kind, copse_aggregate *all)
{
    const copse_regular *tree = index->tree;
    const copse_page_directory *table = &tree->table;
    const uint64_t first = location >> COPSE_LOCATION_SHIFT, last = end >> COPSE_LOCATION_SHIFT;
    if (first >= table_end(table)) return;
    if (tree->has_summary && (kind == COPSE_KIND_MIN || kind == COPSE_KIND_MAX)) {
        regular_extreme(index, location, end, kind == COPSE_KIND_MAX, all);
        return;
    }
    if (tree->has_summary && !copse_type_is_float(index->value_type)) {
        const bool is_signed = index->value_type == COPSE_I32 || index->value_type == COPSE_I64;
        all->sum = sum_before(tree, end, is_signed) - sum_before(tree, location, is_signed);
        return;
    }
    for (uint64_t s = first; s <= last && s < table_end(table);
         s = tree->has_summary && s == first && last > first ? last : table_next(table, s))
        regular_scan(index, s, s == first ? location_position(location) : 0,
                     s == last ? location_position(end) : LEAF_CAPACITY, all);
    if (tree->has_summary && first < last) all->float_sum += add_slots(tree, first, last);
}

/* Asks for the address of the leaf at a location, and for its entries. */
COPSE_FETCH void fetch_address(const copse_regular *tree, uint64_t location)
{
    const uint64_t slot = location >> COPSE_LOCATION_SHIFT;
    if (slot >= table_end(&tree->table)) return;
    const leaf_page *page = slot_page(&tree->table, slot);
    __builtin_prefetch(&page->leaf[slot_at(slot)]);
    __builtin_prefetch(&page->ahead[slot_at(slot)]);
}

COPSE_FETCH void regular_fetch_early(const copse_index *index, uint64_t location, uint64_t end)
{
    fetch_address(index->tree, location);
    fetch_address(index->tree, end);
}

/* Asks for what regular_aggregate reads of the leaf at a location: of integers a unit and a line of the summary, of floats what lies in
 * front of the location or behind it. */
COPSE_FETCH void fetch_end(const copse_index *index, uint64_t location, bool front)
{
    const copse_regular *tree = index->tree;
    const uint64_t slot = location >> COPSE_LOCATION_SHIFT;
    if (slot >= table_end(&tree->table)) return;
    if (copse_type_is_float(index->value_type) || !tree->has_summary) {
        regular_fetch(index, front ? slot << COPSE_LOCATION_SHIFT : location,
                      front ? location_position(location) : LEAF_CAPACITY);
        return;
    }
    regular_fetch(index, location, 0);
    __builtin_prefetch(&values_at(tree, slot)->sums[slot_at(slot)]);
}

COPSE_FETCH void regular_fetch_range(const copse_index *index, uint64_t location, uint64_t end,
                                     copse_aggregate_kind kind)
{
    (void)kind;
    fetch_end(index, location, false);
    fetch_end(index, end, true);
}

/* Aggregates of the regular tree. With its summary (values.h) an integer sum is a difference of two sums in front of a place, and every
 * other aggregate a few items of each level. */
#pragma once

#include "core/aggregate.h"
#include "trees/regular/cpu/read.h"
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

#if VALUE_BITS == 64
typedef int64_t signed_value;
#else
typedef int32_t signed_value;
#endif

/* Sum of entries from .. to of a leaf, of integers. */
static inline copse_wide sum_entries(const copse_unit *units, uint32_t from, uint32_t to, bool is_signed)
{
    copse_wide sum = 0;
    for (uint32_t i = from; i < to; i++) {
        const VALUE value = units[i / UNIT_ENTRIES].values[i % UNIT_ENTRIES];
        sum += is_signed ? (copse_wide)(signed_value)value : (copse_wide)value;
    }
    return sum;
}

static inline const page_values *values_at(const copse_regular *tree, uint64_t slot)
{
    return (const page_values *)tree->values.page[slot >> COPSE_PAGE_SHIFT];
}

/* Sum of all entries in front of a location, of integers. */
static inline copse_wide sum_in_front(const copse_regular *tree, uint64_t location, bool is_signed)
{
    const copse_page_directory *table = &tree->table;
    const copse_value_directory *v = &tree->values;
    const uint64_t slot = location >> COPSE_LOCATION_SHIFT;
    uint64_t node = slot >> COPSE_PAGE_SHIFT;
    copse_wide sum = 0;
    const bool end = node >= table->pages;
    if (end) node = table->pages - 1;
    for (uint32_t l = 0, last = node; l < table->rank_height; l++, last /= 16) sum += v->before[l][last];
    if (end) return sum + v->sum[0][node];
    const leaf_page *page = table_page(table, node);
    const uint32_t at = slot_at(slot), position = location_position(location), third = position / THIRD_ENTRIES;
    const leaf_sums *sums = &values_at(tree, slot)->sums[at];
    sum += sums->ahead;
    if (third) sum += sums->third[third - 1];
    if (third == LEAF_THIRDS) return sum;
    return sum + sum_entries(leaf_units(page->leaf[at]), third * THIRD_ENTRIES, position, is_signed);
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

static inline bool is_extreme(copse_aggregate_kind kind)
{
    return kind == COPSE_KIND_MIN || kind == COPSE_KIND_MAX;
}

/* The extreme of entries from .. to, of integers. */
static inline void scan_extreme(const copse_unit *units, uint32_t from, uint32_t to, copse_type type,
                                copse_aggregate_kind kind, copse_aggregate *all)
{
    const VALUE flip = type == COPSE_I32 || type == COPSE_I64 ? (VALUE)((VALUE)1 << (VALUE_BITS - 1)) : 0;
    const VALUE turn =
        kind == COPSE_KIND_MAX ? (VALUE)~flip : flip; /* the largest is the smallest of those turned round */
    VALUE least = (VALUE) ~(VALUE)0;
    for (uint32_t i = from; i < to; i++) {
        const VALUE value = units[i / UNIT_ENTRIES].values[i % UNIT_ENTRIES] ^ turn;
        least = value < least ? value : least;
    }
    if (kind == COPSE_KIND_MIN && least < all->smallest) all->smallest = least;
    if (kind == COPSE_KIND_MAX && (VALUE)~least > all->largest) all->largest = (VALUE)~least;
}

/* The same for one kind, by thirds where they are whole. */
static inline void fold_leaf(const copse_index *index, uint64_t slot, uint32_t from, uint32_t to,
                             copse_aggregate_kind kind, copse_aggregate *all)
{
    const copse_regular *tree = index->tree;
    const leaf_page *page = slot_page(&tree->table, slot);
    const uint32_t at = slot_at(slot), count = page_count(page, at);
    const leaf_extremes *extremes = &values_at(tree, slot)->extremes[at];
    if (to > count) to = count;
    for (uint32_t next; from < to; from = next) {
        const uint32_t third = from / THIRD_ENTRIES, start = third * THIRD_ENTRIES;
        const uint32_t end = start + THIRD_ENTRIES < count ? start + THIRD_ENTRIES : count;
        next = end < to ? end : to;
        if (from == start && next == end && is_extreme(kind))
            fold(extremes->low, extremes->high, NULL, third, third + 1, kind, all);
        else if (is_extreme(kind) && !copse_type_is_float(index->value_type))
            scan_extreme(leaf_units(page->leaf[at]), from, next, index->value_type, kind, all);
        else
            regular_scan(index, slot, from, next, all);
    }
}

/* Leaves from .. to of a page. */
static inline void fold_page(const page_values *v, uint32_t from, uint32_t to, copse_aggregate_kind kind,
                             copse_aggregate *all)
{
    const uint32_t first = (from + FANOUT - 1) / FANOUT, last = to / FANOUT;
    if (first >= last) {
        fold(v->low, v->high, v->float_sum, from, to, kind, all);
        return;
    }
    fold(v->low, v->high, v->float_sum, from, (uint64_t)first * FANOUT, kind, all);
    fold(v->node_low, v->node_high, v->node_float_sum, first, last, kind, all);
    fold(v->low, v->high, v->float_sum, (uint64_t)last * FANOUT, to, kind, all);
}

/* Pages from .. to. */
static inline void fold_pages(const copse_regular *tree, uint64_t from, uint64_t to, copse_aggregate_kind kind,
                              copse_aggregate *all)
{
    const copse_value_directory *v = &tree->values;
    for (uint32_t l = 0; from < to; l++) {
        const uint64_t first = (from + 15) / 16, last = to / 16;
        const bool top = l + 1 == tree->table.rank_height || first >= last;
        fold(v->low[l], v->high[l], v->float_sum[l], from, top ? to : first * 16, kind, all);
        if (top) return;
        fold(v->low[l], v->high[l], v->float_sum[l], last * 16, to, kind, all);
        from = first;
        to = last;
    }
}

/* Leaves between two slots, neither of them included, the second of which may be behind the last. */
static inline void fold_slots(const copse_regular *tree, uint64_t first, uint64_t last, copse_aggregate_kind kind,
                              copse_aggregate *all)
{
    const uint64_t page = first >> COPSE_PAGE_SHIFT, end = last >> COPSE_PAGE_SHIFT;
    const leaf_page *in = table_page(&tree->table, page);
    fold_page(values_at(tree, first), slot_at(first) + 1, page == end ? slot_at(last) : in->used, kind, all);
    if (page == end) return;
    fold_pages(tree, page + 1, end, kind, all);
    if (end < tree->table.pages) fold_page(values_at(tree, last), 0, slot_at(last), kind, all);
}

/* One extreme was looked for; the other has to say whether there was a value. An integer may be what an empty range has. */
static inline void say_found(const copse_index *index, uint64_t location, uint64_t end, copse_aggregate_kind kind,
                             copse_aggregate *all)
{
    const copse_regular *tree = index->tree;
    bool found = kind == COPSE_KIND_MIN ? all->smallest != UINT64_MAX : all->largest != 0;
    if (!found && !copse_type_is_float(index->value_type))
        found = regular_rank_one(tree, end) > regular_rank_one(tree, location);
    if (found && kind == COPSE_KIND_MIN) all->largest = UINT64_MAX;
    if (found && kind == COPSE_KIND_MAX) all->smallest = 0;
}

static inline void regular_aggregate(const copse_index *index, uint64_t location, uint64_t end,
                                     copse_aggregate_kind kind, copse_aggregate *all)
{
    const copse_regular *tree = index->tree;
    const copse_page_directory *table = &tree->table;
    const uint64_t first = location >> COPSE_LOCATION_SHIFT, last = end >> COPSE_LOCATION_SHIFT;
    if (first >= table_end(table)) return;
    if (!tree->has_summary) {
        for (uint64_t s = first; s <= last && s < table_end(table); s = table_next(table, s))
            regular_scan(index, s, s == first ? location_position(location) : 0,
                         s == last ? location_position(end) : LEAF_CAPACITY, all);
        return;
    }
    if (!is_extreme(kind) && !copse_type_is_float(index->value_type)) {
        const bool is_signed = index->value_type == COPSE_I32 || index->value_type == COPSE_I64;
        all->sum = sum_in_front(tree, end, is_signed) - sum_in_front(tree, location, is_signed);
        return;
    }
    if (first == last) {
        fold_leaf(index, first, location_position(location), location_position(end), kind, all);
    } else {
        fold_leaf(index, first, location_position(location), LEAF_CAPACITY, kind, all);
        fold_slots(tree, first, last, kind, all);
        if (last < table_end(table)) fold_leaf(index, last, 0, location_position(end), kind, all);
    }
    if (is_extreme(kind)) say_found(index, location, end, kind, all);
}

/* Asks for what regular_aggregate reads of the leaf at a location: its third, from the start of that on (a sum in front of the
 * location, or a range that ends there) or to its end. */
static inline void fetch_end(const copse_regular *tree, uint64_t location, copse_aggregate_kind kind, bool from_start)
{
    const uint64_t slot = location >> COPSE_LOCATION_SHIFT;
    if (slot >= table_end(&tree->table)) return;
    const uint32_t at = slot_at(slot), position = location_position(location), third = position / THIRD_ENTRIES;
    const copse_unit *units = leaf_units(slot_leaf(&tree->table, slot));
    const uint32_t start = third * THIRD_ENTRIES;
    const uint32_t from = from_start ? start : position, to = from_start ? position : start + THIRD_ENTRIES;
    for (uint32_t i = from; i < to && i < LEAF_CAPACITY; i += UNIT_ENTRIES)
        __builtin_prefetch(units + i / UNIT_ENTRIES);
    if (!tree->has_summary) return;
    const page_values *v = values_at(tree, slot);
    if (!is_extreme(kind)) {
        __builtin_prefetch(&v->sums[at]);
        return;
    }
    __builtin_prefetch(&v->extremes[at]);
    __builtin_prefetch(kind == COPSE_KIND_MIN ? &v->low[at] : &v->high[at]);
    __builtin_prefetch(kind == COPSE_KIND_MIN ? v->node_low : v->node_high);
}

static inline void regular_fetch_range(const copse_index *index, uint64_t location, uint64_t end,
                                       copse_aggregate_kind kind)
{
    fetch_end(index->tree, location, kind, !is_extreme(kind));
    fetch_end(index->tree, end, kind, true);
}

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

static inline const page_values *values_at(const copse_regular *tree, uint64_t slot)
{
    return (const page_values *)tree->values.page[slot >> COPSE_PAGE_SHIFT];
}

/* Sum of all entries in front of a location, of integers. */
static inline copse_wide sum_before(const copse_regular *tree, uint64_t location, bool is_signed)
{
    const uint64_t slot = location >> COPSE_LOCATION_SHIFT;
    if (slot >= table_end(&tree->table)) return sum_of_all(tree);
    return sum_in_front(tree, slot, slot_leaf(&tree->table, slot), location_position(location), is_signed);
}

/* Ranges whose two sums in front are kept on the stack. */
#define SUMS_AT_ONCE 1024u

static inline bool regular_has_sum_wide(const copse_index *index)
{
    return ((const copse_regular *)index->tree)->has_summary && !copse_type_is_float(index->value_type);
}

/* Sums of ranges as differences of what lies in front of their ends, which the walks that look for those add up. */
static inline uint64_t regular_sum_wide(const copse_index *index, const void *lows, const void *highs, uint64_t first,
                                        uint64_t n, copse_wide *sums)
{
    const bool is_signed = index->value_type == COPSE_I32 || index->value_type == COPSE_I64;
    const regular_walks *walks = regular_walks_of(index);
    copse_wide in_front[SUMS_AT_ONCE];
    for (uint64_t done = 0, count; done < n; done += count) {
        count = n - done < SUMS_AT_ONCE ? n - done : SUMS_AT_ONCE;
        copse_walk_input low = copse_walk_over(index, lows, first + done, count), high = low;
        low.below = copse_walked_below(index, lows, false, first + done);
        high.keys = highs;
        high.upper = true;
        high.below = copse_walked_below(index, highs, true, first + done);
        const uint64_t good = walks->sum(index->tree, &low, is_signed, in_front);
        const uint64_t good_high = walks->sum(index->tree, &high, is_signed, sums + done);
        if (good < count || good_high < count) return done + (good < good_high ? good : good_high);
        const KEY *from = (const KEY *)lows + first + done, *to = (const KEY *)highs + first + done;
        for (uint64_t i = 0; i < count; i++) {
            const bool empty = ENCODE_ONE(index->key_type, from[i]) > ENCODE_ONE(index->key_type, to[i]);
            sums[done + i] = empty ? 0 : sums[done + i] - in_front[i];
        }
    }
    return n;
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

/* What one kind of extreme needs of a leaf. */
static inline const leaf_extremes *extremes_at(const copse_regular *tree, uint64_t slot, copse_aggregate_kind kind)
{
    const page_values *v = values_at(tree, slot);
    return kind == COPSE_KIND_MAX ? &v->highs[slot_at(slot)] : &v->lows[slot_at(slot)];
}

/* The same for one kind, by fifths where they are whole. */
static inline void fold_leaf(const copse_index *index, uint64_t slot, uint32_t from, uint32_t to,
                             copse_aggregate_kind kind, copse_aggregate *all)
{
    const copse_regular *tree = index->tree;
    const leaf_page *page = slot_page(&tree->table, slot);
    const uint32_t at = slot_at(slot), count = page_count(page, at);
    const uint64_t *extremes = extremes_at(tree, slot, kind)->fifth;
    if (to > count) to = count;
    for (uint32_t next; from < to; from = next) {
        const uint32_t fifth = from / FIFTH_ENTRIES, start = fifth * FIFTH_ENTRIES;
        const uint32_t end = start + FIFTH_ENTRIES < count ? start + FIFTH_ENTRIES : count;
        next = end < to ? end : to;
        if (from == start && next == end && is_extreme(kind))
            fold(extremes, extremes, NULL, fifth, fifth + 1, kind, all);
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

/* One number: of all that is in front of an item, or from it on. */
static inline void fold_one(uint64_t extreme, copse_aggregate_kind kind, copse_aggregate *all)
{
    if (kind == COPSE_KIND_MIN && extreme < all->smallest) all->smallest = extreme;
    if (kind == COPSE_KIND_MAX && extreme > all->largest) all->largest = extreme;
}

/* Extremes of pages from .. to. Of each level it takes what lies behind the beginning and in front of the end, among those with the same
 * parent, until both have the same. */
static inline void fold_extremes_of_pages(const copse_regular *tree, uint64_t from, uint64_t to,
                                          copse_aggregate_kind kind, copse_aggregate *all)
{
    const copse_value_directory *v = &tree->values;
    const bool least = kind == COPSE_KIND_MIN;
    uint64_t n = tree->table.pages;
    for (uint32_t l = 0; from < to; l++, n = (n + 15) / 16) {
        if (l + 1 == tree->table.rank_height || from / 16 == to / 16) {
            fold(v->low[l], v->high[l], NULL, from, to, kind, all);
            return;
        }
        const uint64_t *behind = least ? v->low_from[l] : v->high_from[l];
        const uint64_t *ahead = least ? v->low_ahead[l] : v->high_ahead[l];
        fold_one(behind[from], kind, all);
        if (to % 16) fold_one(to < n ? ahead[to] : behind[to / 16 * 16], kind, all);
        from = from / 16 + 1;
        to /= 16;
    }
}

/* Sums of floats: of each level the items up to the next one that has a parent of its own. */
static inline void fold_pages(const copse_regular *tree, uint64_t from, uint64_t to, copse_aggregate_kind kind,
                              copse_aggregate *all)
{
    const copse_value_directory *v = &tree->values;
    if (is_extreme(kind)) {
        fold_extremes_of_pages(tree, from, to, kind, all);
        return;
    }
    for (uint32_t l = 0; from < to; l++) {
        const uint64_t first = (from + 15) / 16, last = to / 16;
        const bool top = l + 1 == tree->table.rank_height || first >= last;
        fold(NULL, NULL, v->float_sum[l], from, top ? to : first * 16, kind, all);
        if (top) return;
        fold(NULL, NULL, v->float_sum[l], last * 16, to, kind, all);
        from = first;
        to = last;
    }
}

/* Leaves between two slots, neither of them included, the second of which may be behind the last. */
static inline void fold_slots(const copse_regular *tree, uint64_t first, uint64_t last, copse_aggregate_kind kind,
                              copse_aggregate *all)
{
    const uint64_t page = first >> COPSE_PAGE_SHIFT, end = last >> COPSE_PAGE_SHIFT;
    if (page == end) {
        fold_page(values_at(tree, first), slot_at(first) + 1, slot_at(last), kind, all);
        return;
    }
    const uint32_t next = slot_at(first) + 1, used = table_page(&tree->table, page)->used;
    if (!is_extreme(kind))
        fold_page(values_at(tree, first), next, used, kind, all);
    else
        fold_one(extremes_at(tree, first, kind)->behind, kind, all);
    fold_pages(tree, page + 1, end, kind, all);
    if (end == tree->table.pages) return;
    if (!is_extreme(kind))
        fold_page(values_at(tree, last), 0, slot_at(last), kind, all);
    else
        fold_one(extremes_at(tree, last, kind)->ahead, kind, all);
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
        all->sum = sum_before(tree, end, is_signed) - sum_before(tree, location, is_signed);
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

/* Asks for the address of the leaf at a location, and for its entries. */
static inline void fetch_address(const copse_regular *tree, uint64_t location)
{
    const uint64_t slot = location >> COPSE_LOCATION_SHIFT;
    if (slot >= table_end(&tree->table)) return;
    const leaf_page *page = slot_page(&tree->table, slot);
    __builtin_prefetch(&page->leaf[slot_at(slot)]);
    __builtin_prefetch(&page->ahead[slot_at(slot)]);
}

static inline void regular_fetch_early(const copse_index *index, uint64_t location, uint64_t end)
{
    fetch_address(index->tree, location);
    fetch_address(index->tree, end);
}

/* Asks for what regular_aggregate reads of the leaf at a location: its fifth, from the start of that on (a sum in front of the
 * location, or a range that ends there) or to its end. */
static inline void fetch_end(const copse_regular *tree, uint64_t location, copse_aggregate_kind kind, bool from_start)
{
    const uint64_t slot = location >> COPSE_LOCATION_SHIFT;
    if (slot >= table_end(&tree->table)) return;
    const uint32_t at = slot_at(slot), position = location_position(location), fifth = position / FIFTH_ENTRIES;
    const copse_unit *units = leaf_units(slot_leaf(&tree->table, slot));
    const uint32_t start = fifth * FIFTH_ENTRIES;
    const uint32_t from = from_start ? start : position, to = from_start ? position : start + FIFTH_ENTRIES;
    for (uint32_t i = from; i < to && i < LEAF_CAPACITY; i += UNIT_ENTRIES)
        __builtin_prefetch(units + i / UNIT_ENTRIES);
    if (!tree->has_summary) return;
    if (is_extreme(kind))
        __builtin_prefetch(extremes_at(tree, slot, kind));
    else
        __builtin_prefetch(&values_at(tree, slot)->sums[at]);
}

static inline void regular_fetch_range(const copse_index *index, uint64_t location, uint64_t end,
                                       copse_aggregate_kind kind)
{
    fetch_end(index->tree, location, kind, !is_extreme(kind));
    fetch_end(index->tree, end, kind, true);
}

/* Minima and maxima between two places in the tree, by the summary (values.h). A maximum is looked for as the minimum of codes turned round,
 * so that there is one way for both; what is not in the range counts as the largest code, which spares branches that nobody can guess. */
#pragma once

#include "core/codec.h"
#include "trees/regular/cpu/table.h"

/* What is looked for. */
typedef struct extreme_kind {
    bool largest, is_float;
    VALUE flip;    /* integers: what makes their bits sort as they do */
    uint64_t turn; /* all ones for maxima                             */
} extreme_kind;

static inline extreme_kind extreme_of(copse_type type, bool largest)
{
    const bool is_signed = type == COPSE_I32 || type == COPSE_I64;
    return (extreme_kind){.largest = largest,
                          .is_float = copse_type_is_float(type),
                          .flip = is_signed ? (VALUE)((VALUE)1 << (VALUE_BITS - 1)) : 0,
                          .turn = largest ? UINT64_MAX : 0};
}

/* A place: entry `end` of a unit of the leaf in a slot, or the one behind the unit. */
typedef struct extreme_place {
    uint64_t slot;
    const char *leaf;
    uint32_t unit, end;
} extreme_place;

static inline uint32_t place_position(const extreme_place *place)
{
    return place->unit * UNIT_ENTRIES + place->end;
}

static inline const leaf_extremes *extremes_at(const copse_regular *tree, uint64_t slot, bool largest)
{
    const page_values *v = (const page_values *)tree->values.page[slot >> COPSE_PAGE_SHIFT];
    return largest ? &v->highs[slot_at(slot)] : &v->lows[slot_at(slot)];
}

static inline uint64_t lesser(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* The code of a value; NaN has the largest. */
static inline uint64_t extreme_code(VALUE value, extreme_kind kind, bool is_float)
{
    if (!is_float) return (uint64_t)(value ^ kind.flip) ^ kind.turn;
    const uint64_t nan = 0 - (uint64_t)(COPSE_BITS(copse_is_nan, VALUE_BITS)(value) != 0);
    return ((uint64_t)COPSE_BITS(copse_encode_f, VALUE_BITS)(value) ^ kind.turn) | nan;
}

/* The least code of entries from .. to of a fifth, of which nothing but units first .. last is read: others have not been asked for. */
static inline uint64_t least_in_fifth(const char *leaf, uint32_t first, uint32_t last, uint32_t from, uint32_t to,
                                      extreme_kind kind, bool is_float)
{
    const copse_unit *units = (const copse_unit *)(leaf + 64);
    const uint32_t fifth = first / FIFTH_UNITS * FIFTH_UNITS;
    uint64_t least = UINT64_MAX;
#pragma GCC unroll 3
    for (uint32_t u = fifth; u < fifth + FIFTH_UNITS; u++) {
        const VALUE *values = units[u < first ? first : u > last ? last : u].values;
#pragma GCC unroll 8
        for (uint32_t i = 0; i < UNIT_ENTRIES; i++) {
            const uint32_t at = u * UNIT_ENTRIES + i;
            const uint64_t skip = (uint64_t)(at - from < to - from) - 1;
            least = lesser(least, extreme_code(values[i], kind, is_float) | skip);
        }
    }
    return least;
}

/* The least code of whole fifths of a leaf. */
static inline uint64_t least_of_fifths(const leaf_extremes *of, uint32_t from, uint32_t to, extreme_kind kind)
{
    uint64_t least = UINT64_MAX;
#pragma GCC unroll 8
    for (uint32_t i = 0; i < LEAF_FIFTHS; i++)
        least = lesser(least, (of->fifth[i] ^ kind.turn) | ((uint64_t)(i >= from && i < to) - 1));
    return least;
}

/* The least code of items in a row. */
static inline uint64_t least_of(const uint64_t *item, uint64_t from, uint64_t to, extreme_kind kind)
{
    uint64_t least = UINT64_MAX;
    for (; from < to; from++) least = lesser(least, item[from] ^ kind.turn);
    return least;
}

/* The least code of those of FANOUT items that lie in from .. to. */
static inline uint64_t least_in_node(const uint64_t *item, uint32_t first, uint32_t from, uint32_t to,
                                     extreme_kind kind)
{
    uint64_t least = UINT64_MAX;
    for (uint32_t i = first; i < first + FANOUT; i++)
        least = lesser(least, (item[i] ^ kind.turn) | ((uint64_t)(i >= from && i < to) - 1));
    return least;
}

/* Leaves from .. to of a page, to > 0. */
static inline uint64_t least_of_leaves(const page_values *v, uint32_t from, uint32_t to, extreme_kind kind)
{
    const uint64_t *leaf = kind.largest ? v->high : v->low, *node = kind.largest ? v->node_high : v->node_low;
    const uint32_t first = from / FANOUT, last = (to - 1) / FANOUT;
    if (from >= to) return UINT64_MAX;
    const uint64_t ends =
        lesser(least_in_node(leaf, first * FANOUT, from, to, kind), least_in_node(leaf, last * FANOUT, from, to, kind));
    return lesser(ends, least_in_node(node, 0, first + 1, last, kind));
}

/* Pages from .. to. Of each level it takes what lies behind the beginning and in front of the end, among those with the same parent, until
 * both have the same. */
static inline uint64_t least_of_pages(const copse_regular *tree, uint64_t from, uint64_t to, extreme_kind kind)
{
    const copse_value_directory *v = &tree->values;
    uint64_t n = tree->table.pages, least = UINT64_MAX;
    for (uint32_t l = 0; from < to; l++, n = (n + 15) / 16) {
        if (l + 1 == tree->table.rank_height || from / 16 == to / 16)
            return lesser(least, least_of(kind.largest ? v->high[l] : v->low[l], from, to, kind));
        const uint64_t *behind = kind.largest ? v->high_from[l] : v->low_from[l];
        const uint64_t *ahead = kind.largest ? v->high_ahead[l] : v->low_ahead[l];
        least = lesser(least, behind[from] ^ kind.turn);
        if (to % 16) least = lesser(least, (to < n ? ahead[to] : behind[to / 16 * 16]) ^ kind.turn);
        from = from / 16 + 1;
        to /= 16;
    }
    return least;
}

/* Leaves between two slots, neither of them included. */
static inline uint64_t least_between(const copse_regular *tree, uint64_t first, uint64_t last,
                                     const leaf_extremes *of_first, const leaf_extremes *of_last, extreme_kind kind)
{
    const uint64_t page = first >> COPSE_PAGE_SHIFT, end = last >> COPSE_PAGE_SHIFT;
    if (page == end)
        return least_of_leaves((const page_values *)tree->values.page[page], slot_at(first) + 1, slot_at(last), kind);
    const uint64_t ends = lesser(of_first->behind ^ kind.turn, of_last->ahead ^ kind.turn);
    return page + 1 == end ? ends : lesser(ends, least_of_pages(tree, page + 1, end, kind));
}

/* Whether entries lie between two places, the second of which is not in front of the first: an integer may have the code of none. */
static inline bool any_between(const copse_regular *tree, const extreme_place *low, const extreme_place *high,
                               uint64_t count)
{
    const uint32_t from = place_position(low), to = place_position(high);
    if (low->slot == high->slot) return from < to && from < count;
    if (from < count || to) return true;
    return table_next(&tree->table, low->slot) != high->slot;
}

/* The extreme of all entries from one place to another, as in copse_aggregate, to *out. False: there are none (but NaN). */
static inline bool extreme_between(const copse_regular *tree, const extreme_place *low, const extreme_place *high,
                                   extreme_kind kind, bool is_float, uint64_t *out)
{
    const uint32_t from = place_position(low), to = place_position(high);
    const uint32_t fifth = low->unit / FIFTH_UNITS, last = high->unit / FIFTH_UNITS;
    const leaf_extremes *of_low = extremes_at(tree, low->slot, kind.largest);
    const leaf_extremes *of_high = extremes_at(tree, high->slot, kind.largest);
    if (high->slot < low->slot || (high->slot == low->slot && to <= from)) return false;
    const bool same = low->slot == high->slot;
    /* Where both are in one leaf, neither end may take what lies behind the other. */
    const uint32_t fifth_end = (fifth + 1) * FIFTH_ENTRIES,
                   end = (uint32_t)lesser(same ? to : of_low->count, fifth_end);
    const uint32_t last_start = last * FIFTH_ENTRIES, start = same && from > last_start ? from : last_start;
    uint64_t least = least_in_fifth(low->leaf, low->unit, fifth * FIFTH_UNITS + FIFTH_UNITS - 1, from,
                                    end > from ? end : from, kind, is_float);
    least = lesser(least, least_in_fifth(high->leaf, last * FIFTH_UNITS, high->unit, start, to, kind, is_float));
    least = lesser(least, least_of_fifths(of_low, fifth + 1, same ? last : LEAF_FIFTHS, kind));
    if (!same) {
        least = lesser(least, least_of_fifths(of_high, 0, last, kind));
        least = lesser(least, least_between(tree, low->slot, high->slot, of_low, of_high, kind));
    }
    *out = least ^ kind.turn;
    if (least != UINT64_MAX) return true;
    return !is_float && any_between(tree, low, high, of_low->count);
}

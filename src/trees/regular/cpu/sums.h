/* Sums of integers in front of a place in the tree, by the summary (values.h). */
#pragma once

#include "trees/regular/cpu/page.h"

/* Sum of a leaf's values up to the end of a fifth, and the other way round. */
static inline copse_wide sums_until(const leaf_sums *sums, uint32_t fifth)
{
    return (copse_wide)sums->upper[fifth] * ((copse_wide)1 << 64) + (copse_wide)sums->until[fifth];
}

static inline void sums_put(leaf_sums *sums, uint32_t fifth, copse_wide sum)
{
    sums->until[fifth] = (uint64_t)sum;
    sums->upper[fifth] = (int8_t)(sum >> 64);
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

static inline copse_wide sum_of_all(const copse_regular *tree)
{
    const copse_value_directory *v = &tree->values;
    uint64_t last = tree->table.pages - 1;
    copse_wide sum = v->sum[0][last];
    for (uint32_t l = 0; l < tree->table.rank_height; l++, last /= 16) sum += v->before[l][last];
    return sum;
}

/* Of all entries in front of a position in the leaf in a slot. A fifth has three units: in the last of them the way back from the
 * fifth's end is the short one (free entries of a unit have the value 0), so that besides the unit of the position only the first of a
 * fifth is ever read. */
static inline copse_wide sum_in_front(const copse_regular *tree, uint64_t slot, const char *leaf, uint32_t position,
                                      bool is_signed)
{
    const copse_value_directory *v = &tree->values;
    uint64_t node = slot >> COPSE_PAGE_SHIFT;
    const page_values *page = (const page_values *)v->page[node];
    const leaf_sums *sums = &page->sums[slot & ((1u << COPSE_PAGE_SHIFT) - 1)];
    const copse_unit *units = (const copse_unit *)(leaf + 64);
    const uint32_t fifth = position / FIFTH_ENTRIES, start = fifth * FIFTH_ENTRIES;
    copse_wide sum = sums->ahead;
    for (uint32_t l = 0; l < tree->table.rank_height; l++, node /= 16) sum += v->before[l][node];
    if (position - start >= 2 * UNIT_ENTRIES)
        return sum + sums_until(sums, fifth) - sum_entries(units, position, start + FIFTH_ENTRIES, is_signed);
    if (fifth) sum += sums_until(sums, fifth - 1);
    return sum + sum_entries(units, start, position, is_signed);
}

/* Sums of integers in front of a place in the tree, by the summary (values.h). */
#pragma once

#include "trees/regular/cpu/page.h"

static inline copse_wide wide_of(uint64_t lower, int upper)
{
    return (copse_wide)upper * ((copse_wide)1 << 64) + (copse_wide)lower;
}

#if VALUE_BITS == 64
typedef int64_t signed_value;
#else
typedef int32_t signed_value;
#endif

/* Sum of the entries of a unit in front of entry `end` (rest: of those from it on), of integers. Without a branch, as nobody can guess
 * where a range begins or ends. */
static inline copse_wide sum_unit(const copse_unit *unit, uint32_t end, bool rest, bool is_signed)
{
    copse_wide sum = 0;
#pragma GCC unroll 8
    for (uint32_t i = 0; i < UNIT_ENTRIES; i++) {
        const VALUE value = unit->values[i] & (VALUE)(0 - (VALUE)((i < end) != rest));
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

/* Of all entries in front of entry `end` of a unit of the leaf in a slot. An even unit is counted from its beginning, an odd one back from its
 * end (free entries have the value 0). So only the last two units, which few leaves use, need another one. */
static inline copse_wide sum_in_front(const copse_regular *tree, uint64_t slot, const char *leaf, uint32_t unit,
                                      uint32_t end, bool is_signed)
{
    const copse_value_directory *v = &tree->values;
    uint64_t node = slot >> COPSE_PAGE_SHIFT;
    const page_values *page = (const page_values *)v->page[node];
    const leaf_sums *sums = &page->sums[slot & ((1u << COPSE_PAGE_SHIFT) - 1)];
    const copse_unit *units = (const copse_unit *)(leaf + 64);
    copse_wide sum = wide_of(sums->ahead, sums->ahead_upper);
    for (uint32_t l = 0; l < tree->table.rank_height; l++, node /= 16) sum += v->before[l][node];
    const bool far = unit > 2 * SUMS_UNTIL, odd = unit % 2 && !far;
    const uint32_t known = far ? SUMS_UNTIL : (unit + 1) / 2, at = known ? known - 1 : 0;
    const uint64_t any = 0 - (uint64_t)(known != 0);
    sum += wide_of(sums->until[at] & any, sums->upper[at] & (int)any);
    if (__builtin_expect(far, 0))
        for (uint32_t u = 2 * SUMS_UNTIL; u < unit; u++) sum += sum_unit(&units[u], UNIT_ENTRIES, false, is_signed);
    const copse_wide part = sum_unit(&units[unit], end, odd, is_signed), turn = 0 - (copse_wide)odd;
    return sum + ((part ^ turn) - turn);
}

/* Range reads that return entries or their number: range, count. */
#include "api/check.h"

copse_status copse_count(const copse_index *index, const void *lows, const void *highs, uint64_t n,
                         uint64_t *out_counts)
{
    copse_status status = copse_check_ranges(index, "copse_count", lows, highs, n);
    if (status != COPSE_OK || n == 0) return status;
    if (!out_counts)
        return copse_fail(index->ctx, COPSE_ERR_ARGUMENT, "copse_count: out_counts is NULL, but n is not 0");
    return index->calls->count(index, lows, highs, n, out_counts);
}

copse_status copse_range(const copse_index *index, const void *lows, const void *highs, uint64_t n, uint64_t limit,
                         uint64_t *out_offsets, void *out_keys, void *out_values, uint64_t capacity)
{
    copse_status status = copse_check_ranges(index, "copse_range", lows, highs, n);
    if (status != COPSE_OK) return status;
    if (!out_offsets)
        return copse_fail(index->ctx, COPSE_ERR_ARGUMENT, "copse_range: out_offsets is NULL; it has n + 1 places");
    if (capacity && !out_keys && !out_values)
        return copse_fail(index->ctx, COPSE_ERR_ARGUMENT,
                          "copse_range: out_keys and out_values are NULL, but capacity is not 0");
    return index->calls->range(index, lows, highs, n, limit, out_offsets, out_keys, out_values, capacity);
}

/* Aggregates over ranges: sum, sum128, min, max, avg. */
#include "api/check.h"

static copse_status aggregate(const char *call, const copse_index *index, copse_aggregate_kind kind, const void *lows,
                              const void *highs, uint64_t n, void *out, const char *out_name, uint8_t *found)
{
    copse_status status = copse_check_ranges(index, call, lows, highs, n);
    if (status != COPSE_OK) return status;
    if (kind == COPSE_KIND_SUM128 && copse_type_is_float(index->value_type))
        return copse_fail(index->ctx, COPSE_ERR_TYPE,
                          "%s: the values are %s; use copse_sum, which returns doubles for them", call,
                          copse_type_name(index->value_type));
    if (n == 0) return COPSE_OK;
    if (!out) return copse_fail(index->ctx, COPSE_ERR_ARGUMENT, "%s: %s is NULL, but n is not 0", call, out_name);
    return index->calls->aggregate(index, kind, lows, highs, n, out, found);
}

copse_status copse_sum(const copse_index *index, const void *lows, const void *highs, uint64_t n, void *out_sums)
{
    return aggregate("copse_sum", index, COPSE_KIND_SUM, lows, highs, n, out_sums, "out_sums", NULL);
}

copse_status copse_sum128(const copse_index *index, const void *lows, const void *highs, uint64_t n,
                          copse_int128 *out_sums)
{
    return aggregate("copse_sum128", index, COPSE_KIND_SUM128, lows, highs, n, out_sums, "out_sums", NULL);
}

copse_status copse_min(const copse_index *index, const void *lows, const void *highs, uint64_t n, void *out_values,
                       uint8_t *out_found)
{
    return aggregate("copse_min", index, COPSE_KIND_MIN, lows, highs, n, out_values, "out_values", out_found);
}

copse_status copse_max(const copse_index *index, const void *lows, const void *highs, uint64_t n, void *out_values,
                       uint8_t *out_found)
{
    return aggregate("copse_max", index, COPSE_KIND_MAX, lows, highs, n, out_values, "out_values", out_found);
}

copse_status copse_avg(const copse_index *index, const void *lows, const void *highs, uint64_t n, double *out_means)
{
    return aggregate("copse_avg", index, COPSE_KIND_AVG, lows, highs, n, out_means, "out_means", NULL);
}

/* Aggregates over ranges: sum, sum128, min, max, avg. */
#include "api/ranges.h"
#include "device/device.h"

static copse_status run(const char *call, const copse_index *index, copse_aggregate_kind kind,
                        const copse_ranges *ranges, void *out, const char *out_name, uint8_t *found)
{
    copse_checked_ranges checked;
    if (index->value_type == COPSE_NONE) return copse_fail_set(index, call);
    if (kind == COPSE_KIND_SUM128 && copse_type_is_float(index->value_type))
        return copse_fail(index->ctx, COPSE_ERR_TYPE,
                          "%s: the values are %s; use copse_sum, which returns doubles for them", call,
                          copse_type_name(index->value_type));
    copse_status status = copse_ranges_take(index, call, ranges, false, &checked);
    if (status != COPSE_OK) return status;
    if (checked.ranges.n && !out)
        status = copse_fail_null(index->ctx, call, out_name);
    else if (checked.ranges.n)
        status = index->calls->aggregate(index, kind, &checked.ranges, out, found);
    copse_ranges_release(index, &checked);
    return status;
}

static copse_status aggregate(const char *call, const copse_index *index, copse_aggregate_kind kind,
                              const copse_ranges *ranges, void *out, const char *out_name, uint8_t *found)
{
    if (!index) return copse_fail_argument(NULL, "index", "%s: index is NULL", call);
    copse_promise_begin(index);
    return copse_promise_end(run(call, index, kind, ranges, out, out_name, found));
}

copse_status copse_sum(const copse_index *index, const copse_ranges *ranges, void *out_sums)
{
    return aggregate("copse_sum", index, COPSE_KIND_SUM, ranges, out_sums, "out_sums", NULL);
}

copse_status copse_sum128(const copse_index *index, const copse_ranges *ranges, copse_int128 *out_sums)
{
    return aggregate("copse_sum128", index, COPSE_KIND_SUM128, ranges, out_sums, "out_sums", NULL);
}

copse_status copse_min(const copse_index *index, const copse_ranges *ranges, void *out_values, uint8_t *out_found)
{
    return aggregate("copse_min", index, COPSE_KIND_MIN, ranges, out_values, "out_values", out_found);
}

copse_status copse_max(const copse_index *index, const copse_ranges *ranges, void *out_values, uint8_t *out_found)
{
    return aggregate("copse_max", index, COPSE_KIND_MAX, ranges, out_values, "out_values", out_found);
}

copse_status copse_avg(const copse_index *index, const copse_ranges *ranges, double *out_means)
{
    return aggregate("copse_avg", index, COPSE_KIND_AVG, ranges, out_means, "out_means", NULL);
}

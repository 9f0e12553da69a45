/* Range reads that return entries or their number: range, count. */
#include "api/ranges.h"
#include "core/structs.h"
#include "device/device.h"

static copse_status count(const copse_index *index, const copse_ranges *ranges, uint64_t *out_counts)
{
    copse_checked_ranges checked;
    copse_status status = copse_ranges_take(index, "copse_count", ranges, false, &checked);
    if (status != COPSE_OK || checked.ranges.n == 0) return status;
    if (out_counts)
        status = index->calls->count(index, &checked.ranges, out_counts);
    else
        status = copse_fail_null(index->ctx, "copse_count", "out_counts");
    copse_ranges_release(index, &checked);
    return status;
}

static copse_status rows_take(const copse_index *index, const copse_rows *rows, uint64_t n, copse_rows *out)
{
    if (!rows) return copse_fail_argument(index->ctx, "out_rows", "copse_range: out_rows is NULL");
    const copse_rows defaults = COPSE_ROWS_INIT;
    *out = defaults;
    copse_status status = copse_struct_take_whole(index->ctx, "copse_range", "out_rows", rows, out, sizeof *out);
    if (status != COPSE_OK) return status;
    if (out->reserved)
        return copse_fail_argument(index->ctx, "out_rows", "copse_range: out_rows->reserved is %u; it has to be 0",
                                   out->reserved);
    if (!out->offsets && n)
        return copse_fail_argument(index->ctx, "out_rows",
                                   "copse_range: out_rows->offsets is NULL; it has n + 1 places");
    status = copse_check_values(index, "copse_range", out->values, "out_rows");
    if (status != COPSE_OK) return status;
    if (out->capacity && !out->keys && !out->values)
        return copse_fail_argument(index->ctx, "out_rows",
                                   "copse_range: out_rows->keys and values are NULL, but capacity is not 0");
    return COPSE_OK;
}

copse_status copse_range_run_checked(const copse_index *index, const copse_ranges *ranges, const copse_rows *out_rows)
{
    copse_checked_ranges checked;
    copse_rows rows = COPSE_ROWS_INIT;
    copse_status status = copse_ranges_take(index, "copse_range", ranges, true, &checked);
    if (status != COPSE_OK) return status;
    status = rows_take(index, out_rows, checked.ranges.n, &rows);
    if (status == COPSE_OK && rows.offsets) status = index->calls->range(index, &checked.ranges, &rows);
    copse_ranges_release(index, &checked);
    return status;
}

copse_status copse_count(const copse_index *index, const copse_ranges *ranges, uint64_t *out_counts)
{
    if (!index) return copse_fail_argument(NULL, "index", "copse_count: index is NULL");
    copse_promise_begin(index);
    return copse_promise_end(count(index, ranges, out_counts));
}

copse_status copse_range(const copse_index *index, const copse_ranges *ranges, const copse_rows *out_rows)
{
    if (!index) return copse_fail_argument(NULL, "index", "copse_range: index is NULL");
    copse_promise_begin(index);
    return copse_promise_end(copse_range_run_checked(index, ranges, out_rows));
}

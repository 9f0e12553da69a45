/* Passes over the whole index: visit, export. */
#include "api/check.h"

/* Scans exactly so many more entries, which were there a moment ago. */
static copse_status scan_exactly(const copse_index *index, copse_scan *scan, uint64_t n)
{
    const uint64_t rank = scan->position.rank;
    scan->most = n;
    copse_status status = index->calls->scan(index, scan);
    if (status != COPSE_OK || scan->n == n) return status;
    return copse_fail(index->ctx, COPSE_ERR_STALE, "the index changed: it has %llu entries now, entry %llu is gone",
                      (unsigned long long)copse_size(index), (unsigned long long)(rank + n - 1));
}

/* Bytes of byte strings that a visit hands over at once; one that is as long as a key may be fits. */
#define VISIT_BYTES (4 * COPSE_LONGEST_KEY)

static copse_status stopped(const copse_index *index, uint64_t at, uint64_t n)
{
    return copse_fail(index->ctx, COPSE_ERR_CANCELLED, "copse_visit: stopped by fn at entry %llu of %llu",
                      (unsigned long long)at, (unsigned long long)n);
}

/* copse_visit for keys that are byte strings: as many at a time as fit. */
static copse_status visit_bytes(const copse_index *index, copse_visit_fn fn, void *user)
{
    const uint64_t n = copse_size(index), step = index->calls->scan_step;
    const size_t offset_bytes = (step + 1) * sizeof(int64_t), value_bytes = step * sizeof(uint64_t);
    const size_t bytes = offset_bytes + value_bytes + VISIT_BYTES;
    char *buffer = copse_memory_alloc(index->ctx, bytes);
    if (!buffer) return copse_fail_memory(index->ctx, bytes, "copse_visit");
    copse_bytes keys = COPSE_BYTES_INIT(buffer + offset_bytes + value_bytes, VISIT_BYTES, buffer, 64);
    copse_scan scan = {.keys = &keys, .values = buffer + offset_bytes, .most = step};
    if (index->value_type == COPSE_NONE) scan.values = NULL;
    copse_status status = COPSE_OK;
    for (uint64_t at = 0; at < n && status == COPSE_OK; at += scan.n) {
        status = index->calls->scan(index, &scan);
        if (status == COPSE_OK && scan.n == 0)
            status = copse_fail(index->ctx, COPSE_ERR_STALE, "the index changed: entry %llu is gone",
                                (unsigned long long)at);
        if (status == COPSE_OK && fn(user, &keys, scan.values, scan.n) != 0) status = stopped(index, at, n);
    }
    copse_memory_free(index->ctx, buffer, bytes);
    return status;
}

copse_status copse_visit(const copse_index *index, copse_visit_fn fn, void *user)
{
    if (!index || !fn) return copse_fail_missing(index ? index->ctx : NULL, "copse_visit", index ? "fn" : "index");
    if (index->key_type == COPSE_BYTES) return visit_bytes(index, fn, user);
    const uint64_t n = copse_size(index);
    uint64_t step = index->calls->scan_step;
    if (step > n) step = n ? n : 1;
    const size_t key_bytes = (step * copse_type_size(index->key_type) + 7) / 8 * 8;
    const size_t bytes = key_bytes + step * copse_value_width(index->value_type);
    char *buffer = copse_memory_alloc(index->ctx, bytes);
    if (!buffer) return copse_fail_memory(index->ctx, bytes, "copse_visit");
    copse_scan scan = {.keys = buffer, .values = index->value_type == COPSE_NONE ? NULL : buffer + key_bytes};
    copse_status status = COPSE_OK;
    for (uint64_t at = 0; at < n && status == COPSE_OK; at += step) {
        status = scan_exactly(index, &scan, n - at < step ? n - at : step);
        if (status == COPSE_OK && fn(user, buffer, scan.values, scan.n) != 0) status = stopped(index, at, n);
    }
    copse_memory_free(index->ctx, buffer, bytes);
    return status;
}

/* copse_export for keys that are byte strings: the row of a range without ends. */
static copse_status export_bytes(const copse_index *index, void *keys, void *values, uint64_t capacity)
{
    uint64_t offsets[2];
    const copse_ranges all = COPSE_BETWEEN(NULL, NULL, 1);
    copse_rows row = COPSE_ROWS_INIT;
    row.offsets = offsets;
    row.keys = keys;
    row.values = values;
    row.capacity = capacity;
    copse_status status = copse_progress(index->ctx, "exporting", 0, copse_size(index));
    return status == COPSE_OK ? index->calls->range(index, &all, &row) : status;
}

copse_status copse_export(const copse_index *index, void *out_keys, void *out_values, uint64_t capacity)
{
    if (!index) return copse_fail_argument(NULL, "index", "copse_export: index is NULL");
    const uint64_t n = copse_size(index);
    copse_status status = copse_check_values(index, "copse_export", out_values, "out_values");
    if (status != COPSE_OK) return status;
    if (!out_keys && !out_values && capacity == 0) return COPSE_OK;
    if (index->key_type == COPSE_BYTES && out_keys) return export_bytes(index, out_keys, out_values, capacity);
    if (capacity < n)
        return copse_error_at(copse_fail(index->ctx, COPSE_ERR_TOO_SMALL,
                                         "copse_export: capacity is %llu, but the index has %llu entries",
                                         (unsigned long long)capacity, (unsigned long long)n),
                              "capacity", UINT64_MAX, n);
    if (!out_keys && !out_values) return COPSE_OK;
    status = copse_progress(index->ctx, "exporting", 0, n);
    if (status != COPSE_OK || n == 0) return status;
    copse_scan scan = {.keys = out_keys, .values = out_values};
    return scan_exactly(index, &scan, n);
}

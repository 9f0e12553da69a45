/* Passes over the whole index: visit, export, cursors. */
#include "api/read.h"

/* Entries handed to a visitor at once, and copied at once by a thread of an export. */
#define VISIT_ENTRIES  4096u
#define DEVICE_VISIT   (UINT64_C(1) << 20) /* from a device: a copy per step has to be worth its start */
#define EXPORT_ENTRIES 65536u

copse_status copse_visit(const copse_index *index, copse_visit_fn fn, void *user)
{
    if (!index || !fn)
        return copse_fail(index ? index->ctx : NULL, COPSE_ERR_ARGUMENT, "copse_visit: %s is NULL",
                          index ? "fn" : "index");
    const uint64_t n = copse_size(index);
    uint64_t step = index->operations->whole ? DEVICE_VISIT : VISIT_ENTRIES;
    if (step > n) step = n ? n : 1;
    const size_t key_bytes = (step * copse_type_size(index->key_type) + 7) / 8 * 8;
    const size_t bytes = key_bytes + step * copse_type_size(index->value_type);
    char *buffer = copse_memory_alloc(index->ctx, bytes);
    if (!buffer) return copse_fail_memory(index->ctx, bytes, "copse_visit");
    copse_status status = COPSE_OK;
    for (uint64_t at = 0; at < n && status == COPSE_OK; at += step) {
        uint64_t count = n - at < step ? n - at : step;
        status = copse_read_entries(index, at, count, buffer, buffer + key_bytes);
        if (status == COPSE_OK && fn(user, buffer, buffer + key_bytes, count) != 0)
            status = copse_fail(index->ctx, COPSE_ERR_CANCELLED, "copse_visit: stopped by fn at entry %llu of %llu",
                                (unsigned long long)at, (unsigned long long)n);
    }
    copse_memory_free(index->ctx, buffer, bytes);
    return status;
}

copse_status copse_export(const copse_index *index, void *out_keys, void *out_values, uint64_t capacity)
{
    if (!index) return copse_fail(NULL, COPSE_ERR_ARGUMENT, "copse_export: index is NULL");
    const uint64_t n = copse_size(index);
    if (capacity < n)
        return copse_fail(index->ctx, COPSE_ERR_TOO_SMALL,
                          "copse_export: capacity is %llu, but the index has %llu entries",
                          (unsigned long long)capacity, (unsigned long long)n);
    if (!out_keys && !out_values) return COPSE_OK;
    copse_status status = copse_progress(index->ctx, "exporting", 0, n);
    if (status != COPSE_OK || n == 0) return status;
    if (index->operations->whole) return index->operations->whole->entries(index, 0, n, out_keys, out_values);
    uint32_t threads = copse_threads_for(index->ctx, n);
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1) if (threads > 1)
    for (uint64_t at = 0; at < n; at += EXPORT_ENTRIES) {
        uint64_t count = n - at < EXPORT_ENTRIES ? n - at : EXPORT_ENTRIES;
        index->operations->copy(index, index->operations->select(index, at), count, at, out_keys, out_values);
    }
    return COPSE_OK;
}

struct copse_cursor {
    const copse_index *index;
    uint64_t version; /* of the index when the cursor was placed */
    uint64_t rank;    /* of the next entry                       */
};

copse_status copse_cursor_open(const copse_index *index, copse_cursor **out_cursor)
{
    if (out_cursor) *out_cursor = NULL;
    if (!index || !out_cursor)
        return copse_fail(index ? index->ctx : NULL, COPSE_ERR_ARGUMENT, "copse_cursor_open: %s is NULL",
                          index ? "out_cursor" : "index");
    copse_cursor *cursor = copse_memory_alloc(index->ctx, sizeof *cursor);
    if (!cursor) return copse_fail_memory(index->ctx, sizeof *cursor, "the cursor");
    *cursor = (copse_cursor){index, index->version, 0};
    *out_cursor = cursor;
    return COPSE_OK;
}

copse_status copse_cursor_seek(copse_cursor *cursor, const void *key)
{
    if (!cursor) return copse_fail(NULL, COPSE_ERR_ARGUMENT, "copse_cursor_seek: cursor is NULL");
    uint64_t rank = 0;
    if (key) {
        copse_status status = copse_lower_bound(cursor->index, key, 1, NULL, NULL, NULL, &rank);
        if (status != COPSE_OK) return status;
    }
    cursor->rank = rank;
    cursor->version = cursor->index->version;
    return COPSE_OK;
}

copse_status copse_cursor_next(copse_cursor *cursor, void *out_keys, void *out_values, uint64_t max, uint64_t *out_n)
{
    if (out_n) *out_n = 0;
    if (!cursor || !out_n)
        return copse_fail(cursor ? cursor->index->ctx : NULL, COPSE_ERR_ARGUMENT, "copse_cursor_next: %s is NULL",
                          cursor ? "out_n" : "cursor");
    const copse_index *index = cursor->index;
    if (cursor->version != index->version)
        return copse_fail(index->ctx, COPSE_ERR_STALE,
                          "the index changed since the cursor was placed; copse_cursor_seek places it again");
    uint64_t left = copse_size(index) - cursor->rank, count = left < max ? left : max;
    copse_status status = copse_read_entries(index, cursor->rank, count, out_keys, out_values);
    if (status != COPSE_OK) return status;
    cursor->rank += count;
    *out_n = count;
    return COPSE_OK;
}

void copse_cursor_free(copse_cursor *cursor)
{
    if (cursor) copse_memory_free(cursor->index->ctx, cursor, sizeof *cursor);
}

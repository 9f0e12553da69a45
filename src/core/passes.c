/* Passes over the whole index: visit, export, cursors. */
#include "core/read.h"

/* Entries handed to a visitor at once, and copied at once by a thread of an export. */
#define VISIT_ENTRIES  4096u
#define EXPORT_ENTRIES 65536u

copse_status copse_visit(const copse_index *index, copse_visit_fn fn, void *user)
{
    if (!index || !fn)
        return copse_fail(index ? index->ctx : NULL, COPSE_ERR_ARGUMENT, "copse_visit: %s is NULL",
                          index ? "fn" : "index");
    const uint64_t n = copse_size(index);
    const size_t key_bytes = VISIT_ENTRIES * copse_type_size(index->key_type);
    const size_t bytes = key_bytes + VISIT_ENTRIES * copse_type_size(index->value_type);
    char *buffer = copse_memory_alloc(index->ctx, bytes);
    if (!buffer) return copse_fail_memory(index->ctx, bytes, "copse_visit");
    copse_status status = COPSE_OK;
    for (uint64_t at = 0; at < n && status == COPSE_OK; at += VISIT_ENTRIES) {
        uint64_t count = n - at < VISIT_ENTRIES ? n - at : VISIT_ENTRIES;
        index->operations->copy(index, index->operations->select(index, at), count, 0, buffer, buffer + key_bytes);
        if (fn(user, buffer, buffer + key_bytes, count) != 0)
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
    if (status != COPSE_OK) return status;
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
    if (count)
        index->operations->copy(index, index->operations->select(index, cursor->rank), count, 0, out_keys, out_values);
    cursor->rank += count;
    *out_n = count;
    return COPSE_OK;
}

void copse_cursor_free(copse_cursor *cursor)
{
    if (cursor) copse_memory_free(cursor->index->ctx, cursor, sizeof *cursor);
}

/* Cursors: a position between two entries of an index, and the way from there, in both directions. */
#include "api/ranges.h"
#include "core/closed_range.h"
#include "gpu/call.h"

#include <string.h>

/* The bits of one key of fixed width. */
typedef union key_bits {
    uint32_t narrow;
    uint64_t wide;
} key_bits;

struct copse_cursor {
    copse_index *index;
    uint64_t version; /* of the index when the cursor was placed */
    copse_scan scan;  /* its position is the cursor's            */
    /* The ends of the range that the cursor keeps to, closed, where it has such. */
    bool bounded, descending;
    key_bits low, high;
};

static copse_status cursor_check(const copse_cursor *cursor, const char *call)
{
    if (!cursor) return copse_fail_argument(NULL, "cursor", "%s: cursor is NULL", call);
    if (!cursor->index->freed) return COPSE_OK;
    return copse_fail(cursor->index->ctx, COPSE_ERR_STALE, "%s: the index of the cursor was freed", call);
}

/* Places the cursor in front of the first entry that is at `from` or behind it, in the direction of the cursor. */
static copse_status place(copse_cursor *cursor, const void *from)
{
    copse_scan scan = {.from = from, .backwards = cursor->descending};
    if (!from && cursor->descending) scan.position.rank = copse_size(cursor->index);
    copse_status status = from ? cursor->index->calls->scan(cursor->index, &scan) : COPSE_OK;
    if (status != COPSE_OK) return status;
    cursor->scan.position = scan.position;
    cursor->version = copse_version_of(cursor->index);
    return COPSE_OK;
}

/* Where the cursor begins, in its direction. */
static const void *begin_of(const copse_cursor *cursor)
{
    if (!cursor->bounded) return NULL;
    return cursor->descending ? &cursor->high : &cursor->low;
}

static copse_status bounds_take(copse_cursor *cursor, const copse_ranges *range)
{
    copse_checked_ranges checked;
    copse_status status = copse_ranges_take(cursor->index, "copse_cursor_open", range, false, &checked);
    if (status != COPSE_OK) return status;
    const size_t width = copse_type_size(cursor->index->key_type);
    cursor->descending = checked.ranges.flags & COPSE_RANGE_DESCENDING;
    cursor->bounded = range->lows || range->highs;
    if (checked.ranges.n != 1)
        status = copse_fail_argument(cursor->index->ctx, "range",
                                     "copse_cursor_open: range->n is %llu; a cursor has one range",
                                     (unsigned long long)checked.ranges.n);
    if (status == COPSE_OK && cursor->bounded && checked.scratch.memory)
        status = copse_fail_argument(cursor->index->ctx, "range",
                                     "copse_cursor_open: the ends of the range of a cursor have to be host memory");
    if (status == COPSE_OK && cursor->bounded) {
        memcpy(&cursor->low, checked.ranges.lows, width);
        memcpy(&cursor->high, checked.ranges.highs, width);
    }
    copse_ranges_release(cursor->index, &checked);
    return status;
}

copse_status copse_cursor_open(const copse_index *index, const copse_ranges *range, copse_cursor **out_cursor)
{
    if (out_cursor) *out_cursor = NULL;
    if (!index || !out_cursor)
        return copse_fail_argument(index ? index->ctx : NULL, index ? "out_cursor" : "index",
                                   "copse_cursor_open: %s is NULL", index ? "out_cursor" : "index");
    copse_cursor *cursor = copse_memory_alloc(index->ctx, sizeof *cursor);
    if (!cursor) return copse_fail_memory(index->ctx, sizeof *cursor, "the cursor");
    *cursor = (copse_cursor){.index = (copse_index *)(uintptr_t)index}; /* to count the reference */
    copse_status status = range ? bounds_take(cursor, range) : COPSE_OK;
    if (status == COPSE_OK) status = place(cursor, begin_of(cursor));
    if (status != COPSE_OK) {
        copse_memory_free(index->ctx, cursor, sizeof *cursor);
        return status;
    }
    copse_reference_add(&cursor->index->references);
    *out_cursor = cursor;
    return COPSE_OK;
}

/* One key of the caller's, wherever it lies. */
static copse_status key_read(const copse_index *index, const void *key, key_bits *out)
{
    const size_t width = copse_type_size(index->key_type);
    bool on_device = false;
    copse_status status = index->device ? copse_call_array(index, key, "key", &on_device) : COPSE_OK;
    if (status == COPSE_OK && on_device) return copse_device_read(index->device, index->device->main, out, key, width);
    if (status == COPSE_OK) memcpy(out, key, width);
    return status;
}

/* Brings a cursor that was placed at a key outside of its range to the nearer end of that. */
static copse_status keep_within(copse_cursor *cursor, const void *key)
{
    const copse_type type = cursor->index->key_type;
    key_bits asked = {0};
    copse_status status = key_read(cursor->index, key, &asked);
    if (status != COPSE_OK) return status;
    const bool narrow = copse_type_size(type) == 4;
    const uint64_t code = copse_key_code(type, narrow ? asked.narrow : asked.wide);
    const bool below = code < copse_key_code(type, narrow ? cursor->low.narrow : cursor->low.wide);
    const bool above = code > copse_key_code(type, narrow ? cursor->high.narrow : cursor->high.wide);
    if (!below && !above) return COPSE_OK;
    /* The gap in front of `low`, or the one behind `high`. */
    copse_scan scan = {.from = below ? &cursor->low : &cursor->high, .backwards = !below};
    status = cursor->index->calls->scan(cursor->index, &scan);
    cursor->scan.position = scan.position;
    return status;
}

copse_status copse_cursor_seek(copse_cursor *cursor, const void *key)
{
    copse_status status = cursor_check(cursor, "copse_cursor_seek");
    if (status != COPSE_OK) return status;
    if (!key) return place(cursor, begin_of(cursor));
    status = place(cursor, key);
    return status == COPSE_OK && cursor->bounded ? keep_within(cursor, key) : status;
}

/* Up to max entries from the position on, in the direction of the cursor or against it. */
static copse_status step(copse_cursor *cursor, const char *call, bool against, void *out_keys, void *out_values,
                         uint64_t max, uint64_t *out_n)
{
    if (out_n) *out_n = 0;
    copse_status status = cursor_check(cursor, call);
    if (status != COPSE_OK) return status;
    const copse_index *index = cursor->index;
    if (!out_n) return copse_fail_argument(index->ctx, "out_n", "%s: out_n is NULL", call);
    if ((status = copse_check_values(index, call, out_values, "out_values")) != COPSE_OK) return status;
    if (cursor->version != copse_version_of(index))
        return copse_fail(index->ctx, COPSE_ERR_STALE,
                          "the index changed since the cursor was placed; copse_cursor_seek places it again");
    copse_scan *scan = &cursor->scan;
    scan->backwards = cursor->descending != against;
    scan->to = !cursor->bounded ? NULL : scan->backwards ? &cursor->low : &cursor->high;
    scan->most = max;
    scan->keys = out_keys;
    scan->values = out_values;
    status = index->calls->scan(index, scan);
    if (status == COPSE_OK) *out_n = scan->n;
    return status;
}

copse_status copse_cursor_next(copse_cursor *cursor, void *out_keys, void *out_values, uint64_t max, uint64_t *out_n)
{
    return step(cursor, "copse_cursor_next", false, out_keys, out_values, max, out_n);
}

copse_status copse_cursor_previous(copse_cursor *cursor, void *out_keys, void *out_values, uint64_t max,
                                   uint64_t *out_n)
{
    return step(cursor, "copse_cursor_previous", true, out_keys, out_values, max, out_n);
}

void copse_cursor_free(copse_cursor *cursor)
{
    if (!cursor) return;
    copse_index *index = cursor->index;
    copse_memory_free(index->ctx, cursor, sizeof *cursor);
    copse_index_release(index);
}

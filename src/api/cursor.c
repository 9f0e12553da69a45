/* Cursors: a position between two entries of an index, and the way from there, in both directions. */
#include "api/ranges.h"
#include "core/bytes.h"
#include "core/closed_range.h"
#include "gpu/call.h"

#include <string.h>

/* The bits of one key of fixed width. */
typedef union key_bits {
    uint32_t bits32;
    uint64_t bits64;
} key_bits;

struct copse_cursor {
    copse_index *index;
    uint64_t version; /* of the index when the cursor was placed */
    copse_scan scan;  /* its position is the cursor's            */
    bool descending;
    /* The ends of the range that the cursor keeps to, as keys; NULL where it has no such. Those of byte strings may be open. */
    const void *low, *high;
    bool low_open, high_open;
    /* Where they lie. */
    key_bits low_bits, high_bits;
    copse_bytes low_bytes, high_bytes;
    int64_t low_offsets[2], high_offsets[2];
    unsigned char *data; /* of both */
    size_t data_size;
};

static copse_status cursor_check(const copse_cursor *cursor, const char *call)
{
    if (!cursor) return copse_fail_argument(NULL, "cursor", "%s: cursor is NULL", call);
    if (!cursor->index->freed) return COPSE_OK;
    return copse_fail(cursor->index->ctx, COPSE_ERR_STALE, "%s: the index of the cursor was freed", call);
}

/* Places the cursor in front of the first entry that is at `from` (open: not at it) or behind it, in the direction of the cursor. */
static copse_status place(copse_cursor *cursor, const void *from, bool open)
{
    copse_scan scan = {.from = from, .from_open = open, .backwards = cursor->descending};
    if (!from && cursor->descending) scan.position.rank = copse_size(cursor->index);
    copse_status status = from ? cursor->index->calls->scan(cursor->index, &scan) : COPSE_OK;
    if (status != COPSE_OK) return status;
    cursor->scan.position = scan.position;
    cursor->version = copse_version_of(cursor->index);
    return COPSE_OK;
}

/* Places the cursor where it begins, in its direction. */
static copse_status place_at_begin(copse_cursor *cursor)
{
    return cursor->descending ? place(cursor, cursor->high, cursor->high_open)
                              : place(cursor, cursor->low, cursor->low_open);
}

/* A copy of an end that is a byte string. */
static const void *end_copy(copse_slice from, unsigned char *data, int64_t *offsets, copse_bytes *to)
{
    const copse_bytes made = COPSE_BYTES_INIT(data, from.length, offsets, 64);
    if (data != from.start) memcpy(data, from.start, from.length);
    offsets[0] = 0;
    offsets[1] = (int64_t)from.length;
    *to = made;
    return to;
}

/* The first key behind all that begin with `prefix`, which lies behind it in `data`: without the last bytes that cannot grow, and one more
 * in the one before them. False: all keys from the prefix on begin with it. */
static bool prefix_end(copse_slice prefix, unsigned char *data, copse_slice *out)
{
    size_t length = prefix.length;
    while (length && prefix.start[length - 1] == 0xff) length--;
    if (length == 0) return false;
    memcpy(data, prefix.start, length);
    data[length - 1]++;
    *out = (copse_slice){data, length};
    return true;
}

static copse_status bytes_take(copse_cursor *cursor, const copse_ranges *range)
{
    const copse_ctx *ctx = cursor->index->ctx;
    copse_slice low = COPSE_SLICE_EMPTY, high = COPSE_SLICE_EMPTY;
    copse_byte_keys keys;
    copse_status status = COPSE_OK;
    if (range->lows && (status = copse_byte_keys_take(ctx, "lows", range->lows, 1, &keys)) == COPSE_OK)
        low = copse_byte_key(&keys, 0);
    if (status == COPSE_OK && range->highs &&
        (status = copse_byte_keys_take(ctx, "highs", range->highs, 1, &keys)) == COPSE_OK)
        high = copse_byte_key(&keys, 0);
    if (status != COPSE_OK) return status;
    const bool prefix = range->flags & COPSE_RANGE_PREFIX;
    cursor->data_size = low.length + (prefix ? low.length : high.length) + 1;
    cursor->data = copse_memory_alloc(ctx, cursor->data_size);
    if (!cursor->data) return copse_fail_memory(ctx, cursor->data_size, "the cursor");
    if (range->lows) cursor->low = end_copy(low, cursor->data, cursor->low_offsets, &cursor->low_bytes);
    if (range->highs)
        cursor->high = end_copy(high, cursor->data + low.length, cursor->high_offsets, &cursor->high_bytes);
    cursor->low_open = range->flags & COPSE_RANGE_LOW_OPEN;
    cursor->high_open = range->flags & COPSE_RANGE_HIGH_OPEN || prefix;
    if (prefix && prefix_end(low, cursor->data + low.length, &high))
        cursor->high = end_copy(high, cursor->data + low.length, cursor->high_offsets, &cursor->high_bytes);
    return COPSE_OK;
}

static void bits_take(copse_cursor *cursor, const copse_ranges *range)
{
    const size_t width = copse_type_size(cursor->index->key_type);
    memcpy(&cursor->low_bits, range->lows, width);
    memcpy(&cursor->high_bits, range->highs, width);
    cursor->low = &cursor->low_bits;
    cursor->high = &cursor->high_bits;
}

static copse_status bounds_take(copse_cursor *cursor, const copse_ranges *range)
{
    copse_checked_ranges checked;
    copse_status status = copse_ranges_take(cursor->index, "copse_cursor_open", range, false, &checked);
    if (status != COPSE_OK) return status;
    const bool bounded = range->lows || range->highs;
    cursor->descending = checked.ranges.flags & COPSE_RANGE_DESCENDING;
    if (checked.ranges.n != 1)
        status = copse_fail_argument(cursor->index->ctx, "range",
                                     "copse_cursor_open: range->n is %llu; a cursor has one range",
                                     (unsigned long long)checked.ranges.n);
    if (status == COPSE_OK && bounded && checked.scratch.memory)
        status = copse_fail_argument(cursor->index->ctx, "range",
                                     "copse_cursor_open: the ends of the range of a cursor have to be host memory");
    if (status == COPSE_OK && bounded && cursor->index->key_type == COPSE_BYTES)
        status = bytes_take(cursor, &checked.ranges);
    else if (status == COPSE_OK && bounded)
        bits_take(cursor, &checked.ranges);
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
    if (status == COPSE_OK) status = place_at_begin(cursor);
    if (status != COPSE_OK) {
        copse_memory_free(index->ctx, cursor->data, cursor->data_size);
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

/* The order of two keys that are known to be sound: < 0, 0, > 0. */
static int order_of(copse_type type, const void *a, const void *b)
{
    if (type == COPSE_BYTES) {
        copse_byte_keys first, second;
        (void)copse_byte_keys_take(NULL, "key", a, 1, &first);
        (void)copse_byte_keys_take(NULL, "key", b, 1, &second);
        return copse_slice_compare(copse_byte_key(&first, 0), copse_byte_key(&second, 0));
    }
    const bool four_bytes = copse_type_size(type) == 4;
    key_bits first = {0}, second = {0};
    memcpy(&first, a, copse_type_size(type));
    memcpy(&second, b, copse_type_size(type));
    const uint64_t code = copse_key_code(type, four_bytes ? first.bits32 : first.bits64);
    const uint64_t other = copse_key_code(type, four_bytes ? second.bits32 : second.bits64);
    return (code > other) - (code < other);
}

/* Brings a cursor that was placed at a key outside of its range to the nearer end of that. */
static copse_status keep_within(copse_cursor *cursor, const void *key)
{
    const copse_type type = cursor->index->key_type;
    key_bits asked = {0};
    copse_status status = COPSE_OK;
    if (type != COPSE_BYTES) {
        status = key_read(cursor->index, key, &asked);
        key = &asked;
    }
    if (status != COPSE_OK) return status;
    const int low = cursor->low ? order_of(type, key, cursor->low) : 1;
    const int high = cursor->high ? order_of(type, key, cursor->high) : -1;
    const bool below = low < 0 || (low == 0 && cursor->low_open);
    const bool above = high > 0 || (high == 0 && cursor->high_open);
    if (!below && !above) return COPSE_OK;
    /* The gap in front of the first entry of the range, or the one behind the last. */
    copse_scan scan = {.from = below ? cursor->low : cursor->high,
                       .from_open = below ? cursor->low_open : cursor->high_open,
                       .backwards = !below};
    status = cursor->index->calls->scan(cursor->index, &scan);
    cursor->scan.position = scan.position;
    return status;
}

copse_status copse_cursor_seek(copse_cursor *cursor, const void *key)
{
    copse_status status = cursor_check(cursor, "copse_cursor_seek");
    if (status != COPSE_OK) return status;
    if (!key) return place_at_begin(cursor);
    status = place(cursor, key, false);
    return status == COPSE_OK && (cursor->low || cursor->high) ? keep_within(cursor, key) : status;
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
    scan->to = scan->backwards ? cursor->low : cursor->high;
    scan->to_open = scan->backwards ? cursor->low_open : cursor->high_open;
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
    copse_memory_free(index->ctx, cursor->data, cursor->data_size);
    copse_memory_free(index->ctx, cursor, sizeof *cursor);
    copse_index_release(index);
}

/* Visits over a scan, for trees that have no pass of their own: a buffer of entries at a time, on the calling thread. */
#include "api/visit.h"
#include "core/bytes.h"
#include "transfer/transfer.h"

#include <string.h>

#define STEP        65536u
#define BYTES_STEP  4096u
#define BYTES_ROOM  (4 * COPSE_LONGEST_KEY) /* one that is as long as a key may be fits */
#define WIDEST      sizeof(uint64_t)
#define BUFFER_SIZE (2 * STEP * WIDEST)

copse_status copse_visit_put(const copse_index *index, void *to, bool there, uint64_t at, size_t width,
                             const void *from, uint64_t n)
{
    if (!to || n == 0) return COPSE_OK;
    void *place = (char *)to + at * width;
    if (there) return copse_transfer_to_device(index->device, place, from, n * width);
    memcpy(place, from, n * width);
    return COPSE_OK;
}

/* --- what becomes of entries in a row ----------------------------------------------------------------------------------------- */

/* Keys and values in the buffer, which this may change, on their way to the caller's arrays. */
static copse_status block_write(const copse_index *index, copse_pass *pass, void *keys, void *values, uint64_t n)
{
    const uint64_t room = pass->most < pass->capacity ? pass->most : pass->capacity;
    const uint64_t left = pass->n < room ? room - pass->n : 0, some = n < left ? n : left;
    copse_status status =
        copse_visit_put(index, pass->keys, pass->keys_there, pass->n, copse_type_size(index->key_type), keys, some);
    if (status == COPSE_OK)
        status = copse_visit_put(index, pass->values, pass->values_there, pass->n, copse_value_width(index->value_type),
                                 values, some);
    pass->n += n;
    return status;
}

static copse_status block_take(const copse_index *index, copse_pass *pass, void *keys, void *values, uint64_t n)
{
    const copse_pass_loops *loops = copse_pass_loops_of(index);
    switch (pass->kind) {
    case COPSE_PASS_MAP:
        loops->map(pass, values, n, values);
        return block_write(index, pass, keys, values, n);
    case COPSE_PASS_FILTER:
        n = loops->filter(pass, keys, values, n, n, keys, values);
        return block_write(index, pass, keys, values, n);
    case COPSE_PASS_REDUCE:
        loops->reduce(pass, values, n, &pass->sums);
        break;
    default:
        loops->histogram(pass, values, n, pass->counts, false);
        break;
    }
    pass->n += n;
    return COPSE_OK;
}

/* --- keys of fixed width ------------------------------------------------------------------------------------------------------ */

static copse_status scan_numbers(const copse_index *index, copse_pass *pass)
{
    char *buffer = copse_memory_alloc(index->ctx, BUFFER_SIZE);
    if (!buffer) return copse_fail_memory(index->ctx, BUFFER_SIZE, "the visit");
    copse_scan scan = {.from = pass->low, .to = pass->high, .most = STEP, .values = buffer + STEP * WIDEST};
    if (pass->keys) scan.keys = buffer;
    copse_status status;
    do {
        status = index->calls->scan(index, &scan);
        if (status == COPSE_OK) status = block_take(index, pass, scan.keys, scan.values, scan.n);
        scan.from = NULL;
    } while (status == COPSE_OK && scan.n == STEP);
    copse_memory_free(index->ctx, buffer, BUFFER_SIZE);
    return status == COPSE_OK ? copse_pass_room(index->ctx, pass) : status;
}

/* --- byte strings ------------------------------------------------------------------------------------------------------------- */

/* The keys that fit, one by one; then values, as of other keys. */
static copse_status bytes_take(const copse_index *index, copse_pass *pass, const copse_bytes *keys, void *values,
                               uint64_t n, copse_byte_output *out)
{
    const copse_pass_loops *loops = copse_pass_loops_of(index);
    const size_t width = copse_value_width(index->value_type);
    const uint64_t room = pass->most < pass->capacity ? pass->most : pass->capacity;
    copse_byte_keys given;
    copse_status status = n && pass->keys ? copse_byte_keys_take(index->ctx, "keys", keys, n, &given) : COPSE_OK;
    uint64_t at = pass->n;
    for (uint64_t i = 0; i < n && pass->keys && status == COPSE_OK; i++) {
        if (pass->kind == COPSE_PASS_FILTER &&
            loops->filter(pass, NULL, (char *)values + i * width, 1, 0, NULL, NULL) == 0)
            continue;
        const copse_slice key = copse_byte_key(&given, i);
        if (at < room)
            copse_byte_output_put(out, key);
        else if (at < pass->most)
            copse_byte_output_skip(out, key.length);
        at++;
    }
    if (status != COPSE_OK) return status;
    void *caller_keys = pass->keys;
    pass->keys = NULL; /* written above */
    status = block_take(index, pass, NULL, values, n);
    pass->keys = caller_keys;
    return status;
}

/* The next entries, from a cursor where the keys have a range. */
static copse_status bytes_next(const copse_index *index, copse_cursor *cursor, copse_scan *scan)
{
    if (!cursor) return index->calls->scan(index, scan);
    return copse_cursor_next(cursor, scan->keys, scan->values, scan->most, &scan->n);
}

static copse_status scan_bytes(const copse_index *index, copse_pass *pass, copse_cursor *cursor, char *buffer)
{
    const size_t offset_bytes = (BYTES_STEP + 1) * sizeof(int64_t), value_bytes = BYTES_STEP * WIDEST;
    copse_bytes keys = COPSE_BYTES_INIT(buffer + offset_bytes + value_bytes, BYTES_ROOM, buffer, 64);
    copse_scan scan = {.keys = &keys, .values = buffer + offset_bytes, .most = BYTES_STEP};
    copse_byte_output out;
    copse_status status = copse_byte_output_open(index->ctx, "request->keys", pass->keys, &out);
    if (status != COPSE_OK) return status;
    do {
        status = bytes_next(index, cursor, &scan);
        if (status == COPSE_OK) status = bytes_take(index, pass, &keys, scan.values, scan.n, &out);
    } while (status == COPSE_OK && scan.n);
    if (status != COPSE_OK) return status;
    copse_status closed = copse_byte_output_close(index->ctx, &out);
    status = copse_pass_room(index->ctx, pass);
    return status == COPSE_OK ? closed : status;
}

static copse_status visit_bytes(const copse_index *index, copse_pass *pass)
{
    const size_t bytes = (BYTES_STEP + 1) * sizeof(int64_t) + BYTES_STEP * WIDEST + BYTES_ROOM;
    copse_cursor *cursor = NULL;
    if (index->device && (pass->keys_there || (pass->range && index->ctx->device_arrays)))
        return copse_fail(index->ctx, COPSE_ERR_UNSUPPORTED, "visits have byte strings in host memory only");
    copse_status status = pass->range ? copse_cursor_open(index, pass->range, &cursor) : COPSE_OK;
    if (status != COPSE_OK) return status;
    char *buffer = copse_memory_alloc(index->ctx, bytes);
    status = buffer ? scan_bytes(index, pass, cursor, buffer) : copse_fail_memory(index->ctx, bytes, "the visit");
    copse_memory_free(index->ctx, buffer, bytes);
    copse_cursor_free(cursor);
    return status;
}

copse_status copse_visit_scan(const copse_index *index, copse_pass *pass)
{
    pass->n = 0;
    return index->key_type == COPSE_BYTES ? visit_bytes(index, pass) : scan_numbers(index, pass);
}

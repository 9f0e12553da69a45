/*
 * Erasing by ranges. Trees get keys of fixed width as closed ranges in order that do not overlap, in host memory, whatever the
 * caller's were; so that no tree has to know of an entry that lies in several.
 */
#include "api/ranges.h"
#include "core/closed_range.h"
#include "core/spans.h"
#include "device/device.h"
#include "gpu/call.h"
#include "transfer/transfer.h"

/* The ends of the ranges of a call: as codes, and, behind the join, as keys again. */
typedef struct range_ends {
    uint64_t n;
    uint64_t *lows, *highs;
    size_t bytes; /* of lows, and highs behind them */
} range_ends;

static uint64_t bits_at(const void *keys, size_t width, uint64_t i)
{
    return width == 4 ? ((const uint32_t *)keys)[i] : ((const uint64_t *)keys)[i];
}

/* Encodes n keys that lie in host memory; `to` may be the same memory, of which they take the front. */
static copse_status ends_encode(const copse_index *index, const char *name, const void *keys, uint64_t n, uint64_t *to)
{
    const size_t width = copse_type_size(index->key_type);
    for (uint64_t i = 0; i < n; i++)
        if (copse_bits_are_nan(index->key_type, bits_at(keys, width, i))) return copse_fail_nan(index->ctx, name, i);
    for (uint64_t i = n; i-- > 0;) to[i] = copse_key_code(index->key_type, bits_at(keys, width, i));
    return COPSE_OK;
}

/* From codes back to keys, at the front of the same memory. */
static void ends_decode(copse_type type, uint64_t *ends, uint64_t n)
{
    const size_t width = copse_type_size(type);
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t bits = copse_key_bits(type, ends[i]);
        if (width == 4)
            ((uint32_t *)ends)[i] = (uint32_t)bits;
        else
            ends[i] = bits;
    }
}

/* The codes of one end of each range. */
static copse_status ends_read(const copse_index *index, const char *name, const void *keys, bool on_device, uint64_t n,
                              uint64_t *to)
{
    copse_status status = COPSE_OK;
    if (on_device) status = copse_transfer_to_host(index->device, to, keys, n * copse_type_size(index->key_type));
    return status == COPSE_OK ? ends_encode(index, name, on_device ? to : keys, n, to) : status;
}

/* Which of both arrays are device memory. */
static copse_status ends_where(const copse_index *index, const copse_ranges *ranges, bool *low, bool *high)
{
    *low = *high = false;
    if (!index->device) return COPSE_OK;
    copse_status status = copse_call_array(index, ranges->lows, "lows", low);
    return status == COPSE_OK ? copse_call_array(index, ranges->highs, "highs", high) : status;
}

static copse_status ends_erase(copse_index *index, range_ends *ends, uint64_t *out_erased)
{
    copse_status status = copse_spans_join(index->ctx, ends->lows, ends->highs, &ends->n);
    if (status != COPSE_OK || ends->n == 0) return status;
    ends_decode(index->key_type, ends->lows, ends->n);
    ends_decode(index->key_type, ends->highs, ends->n);
    const copse_ranges joined = COPSE_BETWEEN(ends->lows, ends->highs, ends->n);
    return index->calls->erase_range(index, &joined, out_erased);
}

/* Keys of fixed width. */
static copse_status erase_closed(copse_index *index, const copse_ranges *ranges, uint64_t *out_erased)
{
    bool low, high;
    copse_status status = ends_where(index, ranges, &low, &high);
    (void)copse_promise_end(COPSE_OK); /* from here on the arrays are ours */
    if (status != COPSE_OK) return status;
    range_ends ends = {.n = ranges->n, .bytes = copse_memory_product(ranges->n, 2 * sizeof(uint64_t))};
    ends.lows = copse_memory_alloc(index->ctx, ends.bytes);
    if (!ends.lows) return copse_fail_memory(index->ctx, ends.bytes, "the ends of ranges");
    ends.highs = ends.lows + ends.n;
    status = ends_read(index, "lows", ranges->lows, low, ends.n, ends.lows);
    if (status == COPSE_OK) status = ends_read(index, "highs", ranges->highs, high, ends.n, ends.highs);
    if (status == COPSE_OK) status = ends_erase(index, &ends, out_erased);
    copse_memory_free(index->ctx, ends.lows, ends.bytes);
    return status;
}

static copse_status erase(copse_index *index, const copse_ranges *ranges, uint64_t *out_erased)
{
    copse_checked_ranges checked;
    copse_status status = copse_ranges_take(index, "copse_erase_range", ranges, false, &checked);
    if (status != COPSE_OK) return status;
    if (checked.ranges.n)
        status = index->key_type == COPSE_BYTES ? index->calls->erase_range(index, &checked.ranges, out_erased)
                                                : erase_closed(index, &checked.ranges, out_erased);
    copse_ranges_release(index, &checked);
    return status;
}

copse_status copse_erase_range(copse_index *index, const copse_ranges *ranges, uint64_t *out_erased)
{
    uint64_t erased = 0;
    if (out_erased) *out_erased = 0;
    copse_status status = copse_check_change(index, "copse_erase_range");
    if (status != COPSE_OK) return status;
    copse_promise_begin(index);
    status = copse_promise_end(erase(index, ranges, &erased));
    if (status != COPSE_OK) return status;
    if (erased) copse_version_advance(index);
    if (out_erased) *out_erased = erased;
    return COPSE_OK;
}

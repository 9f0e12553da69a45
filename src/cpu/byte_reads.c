/* What trees of byte strings share of their reads. */
#include "cpu/byte_reads.h"

copse_status copse_byte_entries_open(const copse_index *index, void *keys, void *values, uint8_t *found,
                                     copse_byte_entries *out)
{
    *out = (copse_byte_entries){.values = values, .found = found, .width = copse_type_size(index->value_type)};
    return copse_byte_output_open(index->ctx, "out_keys", keys, &out->keys);
}

void copse_byte_entries_put(copse_byte_entries *to, uint64_t i, bool there, copse_slice key, const char *value)
{
    copse_byte_output_put(&to->keys, there ? key : COPSE_SLICE_EMPTY);
    if (to->found) to->found[i] = there;
    if (!to->values) return;
    if (there)
        memcpy(to->values + i * to->width, value, to->width);
    else
        memset(to->values + i * to->width, 0, to->width);
}

copse_status copse_byte_ends_take(const copse_index *index, const copse_ranges *ranges, copse_byte_ends *out)
{
    copse_status status = COPSE_OK;
    *out = (copse_byte_ends){.has_low = ranges->lows && ranges->n,
                             .has_high = ranges->highs && ranges->n,
                             .above = ranges->flags & COPSE_RANGE_LOW_OPEN,
                             .below = ranges->flags & COPSE_RANGE_HIGH_OPEN,
                             .prefix = ranges->flags & COPSE_RANGE_PREFIX};
    if (out->has_low) status = copse_byte_keys_take(index->ctx, "lows", ranges->lows, ranges->n, &out->lows);
    if (status == COPSE_OK && out->has_high)
        status = copse_byte_keys_take(index->ctx, "highs", ranges->highs, ranges->n, &out->highs);
    return status;
}

bool copse_byte_ends_cross(const copse_byte_ends *ends, uint64_t i)
{
    if (!ends->has_low || !ends->has_high) return false;
    const int order = copse_slice_compare(copse_byte_key(&ends->lows, i), copse_byte_key(&ends->highs, i));
    return order > 0 || (order == 0 && (ends->above || ends->below));
}

copse_status copse_byte_scan_open(const copse_index *index, const copse_scan *scan, copse_byte_scan *out)
{
    copse_status status = copse_byte_output_open(index->ctx, "out_keys", scan->keys, &out->keys);
    if (status == COPSE_OK && !out->keys.offsets)
        status = copse_fail_argument(index->ctx, "out_keys", "out_keys->offsets is NULL; it has max + 1 offsets");
    out->room = out->keys.wide || out->keys.size < INT32_MAX ? out->keys.size : INT32_MAX;
    return status;
}

bool copse_byte_scan_put(copse_byte_scan *to, copse_slice key)
{
    const bool fits = key.length <= to->room - to->keys.needed;
    if (fits) copse_byte_output_put(&to->keys, key);
    if (!fits && to->keys.n == 0) copse_byte_output_skip(&to->keys, key.length);
    return fits;
}

copse_status copse_byte_scan_close(const copse_index *index, copse_byte_scan *to)
{
    copse_status status = copse_byte_output_close(index->ctx, &to->keys);
    return to->keys.needed > to->room ? copse_byte_output_fail(index->ctx, &to->keys) : status;
}

/* The sorted array of byte strings: ranges and aggregates over them. */
#include "core/aggregate.h"
#include "cpu/byte_reads.h"
#include "trees/sorted/cpu/bytes.h"

/* Values that are added up at once. */
#define BLOCK 4096u

/* The first entry behind those that begin with the prefix, the first of which is entry `low`. */
static uint64_t prefix_end(const copse_sorted_bytes *tree, uint64_t low, copse_slice prefix)
{
    uint64_t n = tree->entries - low;
    while (n) {
        const uint64_t half = n / 2;
        const bool right = copse_slice_begins(copse_sorted_bytes_key(tree, low + half), prefix);
        low = right ? low + half + 1 : low;
        n = right ? n - half - 1 : half;
    }
    return low;
}

/* The ranks of range i: *first up to *end, which is never less. */
static void ends_locate(const copse_sorted_bytes *tree, const copse_byte_ends *ends, uint64_t i, uint64_t *first,
                        uint64_t *end)
{
    *first = 0;
    *end = tree->entries;
    if (ends->has_low) *first = copse_sorted_bytes_bound(tree, 0, copse_byte_key(&ends->lows, i), ends->above);
    if (ends->has_high) *end = copse_sorted_bytes_bound(tree, 0, copse_byte_key(&ends->highs, i), !ends->below);
    if (ends->prefix) *end = prefix_end(tree, *first, copse_byte_key(&ends->lows, i));
    if (*end < *first) *end = *first;
}

copse_status copse_sorted_bytes_count(const copse_index *index, const copse_ranges *ranges, uint64_t *counts)
{
    copse_byte_ends ends;
    copse_status status = copse_byte_ends_take(index, ranges, &ends);
    for (uint64_t i = 0; status == COPSE_OK && i < ranges->n; i++) {
        uint64_t first, end;
        ends_locate(index->tree, &ends, i, &first, &end);
        counts[i] = end - first;
    }
    return status;
}

/* Entries first .. end to position `at` of the values, and behind the keys that came before. */
static void row_put(const copse_index *index, uint64_t first, uint64_t end, bool descending, uint64_t at,
                    copse_byte_output *keys, void *values)
{
    const copse_sorted_bytes *tree = index->tree;
    const size_t width = copse_type_size(index->value_type);
    if (!keys->offsets) copse_byte_output_skip(keys, copse_sorted_bytes_length(tree, first, end));
    if (!keys->offsets && !values) return;
    for (uint64_t i = 0; i < end - first; i++) {
        const uint64_t rank = descending ? end - 1 - i : first + i;
        if (keys->offsets) copse_byte_output_put(keys, copse_sorted_bytes_key(tree, rank));
        if (values) memcpy((char *)values + (at + i) * width, copse_sorted_bytes_value(tree, rank, width), width);
    }
}

copse_status copse_sorted_bytes_range(const copse_index *index, const copse_ranges *ranges, const copse_rows *rows)
{
    const bool descending = ranges->flags & COPSE_RANGE_DESCENDING;
    copse_byte_ends ends;
    copse_byte_output keys;
    copse_status status = copse_byte_ends_take(index, ranges, &ends);
    if (status == COPSE_OK) status = copse_byte_output_open(index->ctx, "out_keys", rows->keys, &keys);
    if (status != COPSE_OK) return status;
    const bool copying = rows->values || keys.offsets;
    uint64_t total = 0;
    for (uint64_t i = 0; i < ranges->n; i++) {
        uint64_t first, end;
        rows->offsets[i] = total;
        ends_locate(index->tree, &ends, i, &first, &end);
        if (ranges->limit && end - first > ranges->limit) {
            if (descending) first = end - ranges->limit;
            end = first + ranges->limit;
        }
        total += end - first;
        if (!copying || total <= rows->capacity)
            row_put(index, first, end, descending, rows->offsets[i], &keys, rows->values);
        else
            copse_byte_output_skip(&keys, copse_sorted_bytes_length(index->tree, first, end));
    }
    rows->offsets[ranges->n] = total;
    status = copse_byte_output_close(index->ctx, &keys);
    if (copying && total > rows->capacity) return copse_fail_room(index->ctx, "out_rows", rows->capacity, total);
    return status;
}

copse_status copse_sorted_bytes_aggregate(const copse_index *index, copse_aggregate_kind kind,
                                          const copse_ranges *ranges, void *out, uint8_t *found)
{
    const copse_sorted_bytes *tree = index->tree;
    const size_t width = copse_type_size(index->value_type);
    uint64_t overflow = ranges->n;
    copse_byte_ends ends;
    copse_status status = copse_byte_ends_take(index, ranges, &ends);
    if (status != COPSE_OK) return status;
    for (uint64_t i = 0; i < ranges->n; i++) {
        copse_aggregate all = COPSE_AGGREGATE_EMPTY;
        uint64_t first, end;
        ends_locate(tree, &ends, i, &first, &end);
        for (uint64_t at = first, n; at < end; at += n) {
            n = end - at < BLOCK ? end - at : BLOCK;
            copse_aggregate_add(&all, index->value_type, copse_sorted_bytes_values(tree, at, at + n, width),
                                (uint32_t)n);
        }
        if (!copse_aggregate_give(kind, index->value_type, &all, end - first, out, found, i) && i < overflow)
            overflow = i;
    }
    return overflow < ranges->n ? copse_fail_overflow(index->ctx, overflow) : COPSE_OK;
}

/* The sorted array of byte strings: lookups, neighbours, entries by rank, and scans. */
#include "trees/sorted/cpu/bytes.h"

/* Where the entries of a batch of point reads go. */
typedef struct entry_output {
    const copse_sorted_bytes *tree;
    copse_byte_output keys;
    char *values;
    uint8_t *found;
    size_t width; /* of a value */
} entry_output;

/* Entry i of the batch: the one with that rank, or where there is no such, nothing. */
static void entry_put(entry_output *to, uint64_t i, uint64_t rank)
{
    const bool there = rank < to->tree->entries;
    copse_byte_output_put(&to->keys, there ? copse_sorted_bytes_key(to->tree, rank) : COPSE_SLICE_EMPTY);
    if (to->found) to->found[i] = there;
    if (!to->values) return;
    if (there)
        memcpy(to->values + i * to->width, copse_sorted_bytes_value(to->tree, rank, to->width), to->width);
    else
        memset(to->values + i * to->width, 0, to->width);
}

static copse_status entry_output_open(const copse_index *index, void *keys, void *values, uint8_t *found,
                                      entry_output *out)
{
    *out = (entry_output){
        .tree = index->tree, .values = values, .found = found, .width = copse_type_size(index->value_type)};
    return copse_byte_output_open(index->ctx, "out_keys", keys, &out->keys);
}

copse_status copse_sorted_bytes_find(const copse_index *index, const void *keys, uint64_t n, void *values,
                                     uint8_t *found)
{
    const copse_sorted_bytes *tree = index->tree;
    copse_byte_keys queries;
    entry_output to;
    copse_status status = copse_byte_keys_take(index->ctx, "keys", keys, n, &queries);
    if (status == COPSE_OK) status = entry_output_open(index, NULL, values, found, &to);
    for (uint64_t i = 0; status == COPSE_OK && i < n; i++) {
        const copse_slice key = copse_byte_key(&queries, i);
        const uint64_t rank = copse_sorted_bytes_bound(tree, 0, key, false);
        const bool there = rank < tree->entries && copse_slice_compare(copse_sorted_bytes_key(tree, rank), key) == 0;
        entry_put(&to, i, there ? rank : UINT64_MAX);
    }
    return status;
}

copse_status copse_sorted_bytes_neighbours(const copse_index *index, const void *keys, uint64_t n,
                                           copse_neighbour which, void *out_keys, void *out_values, uint8_t *out_found,
                                           uint64_t *out_ranks)
{
    copse_byte_keys queries;
    entry_output to;
    copse_status status = copse_byte_keys_take(index->ctx, "keys", keys, n, &queries);
    if (status == COPSE_OK) status = entry_output_open(index, out_keys, out_values, out_found, &to);
    if (status != COPSE_OK) return status;
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t rank = copse_sorted_bytes_bound(index->tree, 0, copse_byte_key(&queries, i),
                                                       copse_neighbour_upper((uint32_t)which));
        /* In front of the first entry the rank wraps to one that no entry has. */
        entry_put(&to, i, rank - (copse_neighbour_back((uint32_t)which) ? 1 : 0));
        if (out_ranks) out_ranks[i] = rank;
    }
    return copse_byte_output_close(index->ctx, &to.keys);
}

copse_status copse_sorted_bytes_select(const copse_index *index, const uint64_t *ranks, uint64_t n, void *keys,
                                       void *values, uint8_t *found)
{
    entry_output to;
    copse_status status = entry_output_open(index, keys, values, found, &to);
    if (status != COPSE_OK) return status;
    for (uint64_t i = 0; i < n; i++) entry_put(&to, i, ranks[i]);
    return copse_byte_output_close(index->ctx, &to.keys);
}

/* --- scans ---------------------------------------------------------------------------------------------------------- */

/* The gap beside one key: behind the entries that have it, or in front of them. */
static copse_status gap_of(const copse_index *index, const void *key, bool behind, uint64_t *out)
{
    copse_byte_keys keys;
    copse_status status = copse_byte_keys_take(index->ctx, "key", key, 1, &keys);
    if (status == COPSE_OK) *out = copse_sorted_bytes_bound(index->tree, 0, copse_byte_key(&keys, 0), behind);
    return status;
}

/* How many entries there are from the gap at *rank on, up to the scan's last key. */
static copse_status entries_left(const copse_index *index, const copse_scan *scan, uint64_t *rank, uint64_t *out)
{
    uint64_t end = scan->backwards ? 0 : ((const copse_sorted_bytes *)index->tree)->entries;
    copse_status status = COPSE_OK;
    if (scan->from) status = gap_of(index, scan->from, scan->backwards != scan->from_open, rank);
    if (status == COPSE_OK && scan->to) status = gap_of(index, scan->to, scan->backwards == scan->to_open, &end);
    const uint64_t low = scan->backwards ? end : *rank, high = scan->backwards ? *rank : end;
    *out = high > low ? high - low : 0;
    return status;
}

/* Entry i of a scan that begins at the gap `rank`. */
static uint64_t rank_of(const copse_scan *scan, uint64_t rank, uint64_t i)
{
    return scan->backwards ? rank - 1 - i : rank + i;
}

/* Puts as many of n keys as there is room for. TOO_SMALL: not one. */
static copse_status keys_put(const copse_index *index, const copse_scan *scan, uint64_t rank, uint64_t *n)
{
    const copse_sorted_bytes *tree = index->tree;
    copse_byte_output to;
    copse_status status = copse_byte_output_open(index->ctx, "out_keys", scan->keys, &to);
    if (status == COPSE_OK && !to.offsets)
        status = copse_fail_argument(index->ctx, "out_keys", "out_keys->offsets is NULL; it has max + 1 offsets");
    if (status != COPSE_OK) return status;
    const uint64_t room = to.wide || to.size < INT32_MAX ? to.size : INT32_MAX;
    for (uint64_t i = 0; i < *n; i++) {
        const copse_slice key = copse_sorted_bytes_key(tree, rank_of(scan, rank, i));
        if (key.length > room - to.needed) {
            *n = i;
            if (i == 0) copse_byte_output_skip(&to, key.length);
            break;
        }
        copse_byte_output_put(&to, key);
    }
    status = copse_byte_output_close(index->ctx, &to);
    return to.needed > room ? copse_byte_output_fail(index->ctx, &to) : status;
}

copse_status copse_sorted_bytes_scan(const copse_index *index, copse_scan *scan)
{
    const copse_sorted_bytes *tree = index->tree;
    const size_t width = copse_type_size(index->value_type);
    uint64_t left, rank = scan->position.rank;
    scan->n = 0;
    copse_status status = entries_left(index, scan, &rank, &left);
    if (status != COPSE_OK) return status;
    uint64_t n = left < scan->most ? left : scan->most;
    if (scan->keys && scan->most) status = keys_put(index, scan, rank, &n);
    if (status != COPSE_OK) return status;
    for (uint64_t i = 0; scan->values && i < n; i++)
        memcpy((char *)scan->values + i * width, copse_sorted_bytes_value(tree, rank_of(scan, rank, i), width), width);
    scan->position.rank = scan->backwards ? rank - n : rank + n;
    scan->n = n;
    return COPSE_OK;
}

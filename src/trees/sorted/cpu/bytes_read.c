/* The sorted array of byte strings: lookups, neighbours, entries by rank, and scans. */
#include "cpu/byte_reads.h"
#include "trees/sorted/cpu/bytes.h"

/* Entry i of the batch: the one with that rank, or where there is no such, nothing. */
static void entry_put(const copse_sorted_bytes *tree, copse_byte_entries *to, uint64_t i, uint64_t rank)
{
    if (rank < tree->entries)
        copse_byte_entries_put(to, i, true, copse_sorted_bytes_key(tree, rank),
                               copse_sorted_bytes_value(tree, rank, to->width));
    else
        copse_byte_entries_put(to, i, false, COPSE_SLICE_EMPTY, NULL);
}

copse_status copse_sorted_bytes_find(const copse_index *index, const void *keys, uint64_t n, void *values,
                                     uint8_t *found)
{
    const copse_sorted_bytes *tree = index->tree;
    copse_byte_keys queries;
    copse_byte_entries to;
    copse_status status = copse_byte_keys_take(index->ctx, "keys", keys, n, &queries);
    if (status == COPSE_OK) status = copse_byte_entries_open(index, NULL, values, found, &to);
    for (uint64_t i = 0; status == COPSE_OK && i < n; i++) {
        const copse_slice key = copse_byte_key(&queries, i);
        const uint64_t rank = copse_sorted_bytes_bound(tree, 0, key, false);
        const bool there = rank < tree->entries && copse_slice_compare(copse_sorted_bytes_key(tree, rank), key) == 0;
        entry_put(tree, &to, i, there ? rank : UINT64_MAX);
    }
    return status;
}

/* The rank of the longest key that `key` begins with; one that no entry has where there is none. The last entry that is not behind the
 * key either is it, or shares some bytes with the key, and what is sought has no more than those. */
static uint64_t longest_prefix(const copse_sorted_bytes *tree, copse_slice key)
{
    for (;;) {
        const uint64_t rank = copse_sorted_bytes_bound(tree, 0, key, true) - 1;
        if (rank == UINT64_MAX) return rank;
        const copse_slice other = copse_sorted_bytes_key(tree, rank);
        size_t common = 0;
        while (common < key.length && common < other.length && key.start[common] == other.start[common]) common++;
        if (common == other.length) return copse_sorted_bytes_bound(tree, 0, other, false);
        if (common == key.length) return UINT64_MAX; /* only in a damaged file */
        key.length = common;
    }
}

copse_status copse_sorted_bytes_neighbours(const copse_index *index, const void *keys, uint64_t n,
                                           copse_neighbour which, void *out_keys, void *out_values, uint8_t *out_found,
                                           uint64_t *out_ranks)
{
    const copse_sorted_bytes *tree = index->tree;
    copse_byte_keys queries;
    copse_byte_entries to;
    copse_status status = copse_byte_keys_take(index->ctx, "keys", keys, n, &queries);
    if (status == COPSE_OK) status = copse_byte_entries_open(index, out_keys, out_values, out_found, &to);
    if (status != COPSE_OK) return status;
    for (uint64_t i = 0; i < n; i++) {
        const copse_slice key = copse_byte_key(&queries, i);
        if (which == COPSE_LONGEST_PREFIX) {
            entry_put(tree, &to, i, longest_prefix(tree, key));
            continue;
        }
        const uint64_t rank = copse_sorted_bytes_bound(tree, 0, key, copse_neighbour_upper((uint32_t)which));
        /* In front of the first entry the rank wraps to one that no entry has. */
        entry_put(tree, &to, i, rank - (copse_neighbour_back((uint32_t)which) ? 1 : 0));
        if (out_ranks) out_ranks[i] = rank;
    }
    return copse_byte_output_close(index->ctx, &to.keys);
}

copse_status copse_sorted_bytes_select(const copse_index *index, const uint64_t *ranks, uint64_t n, void *keys,
                                       void *values, uint8_t *found)
{
    const copse_sorted_bytes *tree = index->tree;
    copse_byte_entries to;
    copse_status status = copse_byte_entries_open(index, keys, values, found, &to);
    if (status != COPSE_OK) return status;
    for (uint64_t i = 0; i < n; i++) entry_put(tree, &to, i, ranks[i]);
    return copse_byte_output_close(index->ctx, &to.keys);
}

/* --- scans ---------------------------------------------------------------------------------------------------------- */

/* The gap next to one key: behind the entries that have it, or in front of them. */
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
    copse_byte_scan to;
    copse_status status = copse_byte_scan_open(index, scan, &to);
    if (status != COPSE_OK) return status;
    for (uint64_t i = 0; i < *n; i++)
        if (!copse_byte_scan_put(&to, copse_sorted_bytes_key(index->tree, rank_of(scan, rank, i)))) *n = i;
    return copse_byte_scan_close(index, &to);
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

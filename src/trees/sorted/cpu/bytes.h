/* The sorted array of byte strings: what its files share. */
#pragma once

#include "core/bytes.h"
#include "trees/sorted/layout.h"
#include "trees/tree.h"

/*
 * Arrays of an open file (snapshot/mapped_bytes.c), of which each part has to be checked before somebody looks at it. Where it is
 * damaged, or changes just now, these functions note that and give some answer that stays inside of the file.
 */
typedef struct copse_sorted_bytes_file {
    copse_slice (*key)(const copse_sorted_bytes *tree, uint64_t rank);
    uint64_t (*length)(const copse_sorted_bytes *tree, uint64_t first, uint64_t end);
    /* Entries first .. end - 1, of which there are some, will be read. */
    void (*values_touch)(const copse_sorted_bytes *tree, uint64_t first, uint64_t end);
    /* Brings the bounds of a key nearer: it is one of the ranks low .. high. */
    void (*bounds)(const copse_sorted_bytes *tree, copse_slice key, uint64_t *low, uint64_t *high);
} copse_sorted_bytes_file;

static inline copse_slice copse_sorted_bytes_key(const copse_sorted_bytes *tree, uint64_t rank)
{
    if (tree->file) return tree->file->key(tree, rank);
    return (copse_slice){tree->data + tree->offsets[rank], tree->offsets[rank + 1] - tree->offsets[rank]};
}

/* The values of entries first .. end - 1, one behind the other. */
static inline const char *copse_sorted_bytes_values(const copse_sorted_bytes *tree, uint64_t first, uint64_t end,
                                                    size_t width)
{
    if (tree->file) tree->file->values_touch(tree, first, end);
    return (const char *)tree->values + first * width;
}

static inline const char *copse_sorted_bytes_value(const copse_sorted_bytes *tree, uint64_t rank, size_t width)
{
    return copse_sorted_bytes_values(tree, rank, rank + 1, width);
}

/* Bytes of the keys of entries first .. end - 1. */
static inline uint64_t copse_sorted_bytes_length(const copse_sorted_bytes *tree, uint64_t first, uint64_t end)
{
    if (first >= end) return 0;
    return tree->file ? tree->file->length(tree, first, end) : tree->offsets[end] - tree->offsets[first];
}

/* The first entry from `low` on with a key >= (upper: >) `key`, by halving. */
static inline uint64_t copse_sorted_bytes_bound(const copse_sorted_bytes *tree, uint64_t low, copse_slice key,
                                                bool upper)
{
    uint64_t high = tree->entries;
    if (tree->file) tree->file->bounds(tree, key, &low, &high);
    uint64_t n = high - low;
    while (n) {
        const uint64_t half = n / 2;
        const int order = copse_slice_compare(copse_sorted_bytes_key(tree, low + half), key);
        const bool right = upper ? order <= 0 : order < 0;
        low = right ? low + half + 1 : low;
        n = right ? n - half - 1 : half;
    }
    return low;
}

extern const copse_calls copse_sorted_bytes_calls;

/* Calls of trees/tree.h: bytes_update.c, bytes_read.c, bytes_ranges.c. */
copse_status copse_sorted_bytes_build(copse_index *index, const void *keys, const void *values, uint64_t n);
copse_status copse_sorted_bytes_insert(copse_index *index, const void *keys, const void *values, uint64_t n,
                                       uint32_t flags, uint64_t *out_inserted);
copse_status copse_sorted_bytes_erase(copse_index *index, const void *keys, uint64_t n, uint64_t *out_erased);
copse_status copse_sorted_bytes_erase_pairs(copse_index *index, const void *keys, const void *values, uint64_t n,
                                            uint64_t *out_erased);
copse_status copse_sorted_bytes_apply(copse_index *index, const uint8_t *operations, const void *keys,
                                      const void *values, uint64_t n, void *out_values, uint8_t *out_found);
copse_status copse_sorted_bytes_find(const copse_index *index, const void *keys, uint64_t n, void *values,
                                     uint8_t *found);
copse_status copse_sorted_bytes_neighbours(const copse_index *index, const void *keys, uint64_t n,
                                           copse_neighbour which, void *out_keys, void *out_values, uint8_t *out_found,
                                           uint64_t *out_ranks);
copse_status copse_sorted_bytes_select(const copse_index *index, const uint64_t *ranks, uint64_t n, void *keys,
                                       void *values, uint8_t *found);
copse_status copse_sorted_bytes_scan(const copse_index *index, copse_scan *scan);
copse_status copse_sorted_bytes_count(const copse_index *index, const copse_ranges *ranges, uint64_t *counts);
copse_status copse_sorted_bytes_range(const copse_index *index, const copse_ranges *ranges, const copse_rows *rows);
copse_status copse_sorted_bytes_aggregate(const copse_index *index, copse_aggregate_kind kind,
                                          const copse_ranges *ranges, void *out, uint8_t *found);

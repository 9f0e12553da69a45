/*
 * The driver of trees on the CPU: it has the calls of trees/tree.h for all of them. It sorts batches of updates, cuts batches of
 * reads into chunks for the threads, and asks the tree only for what the tree alone knows, on one thread:
 *
 *   copse_cpu_find(index, keys, n)      thread 0: tree->find(keys 0 .. 16383)       thread 1: tree->find(keys 16384 .. 32767) ...
 *   copse_cpu_insert(index, keys, n)    sort, resolve equal keys (core/batch.h), then tree->insert(batch)
 *
 * A *location* is where an entry lies, as a number that only the tree understands; locations grow with the order of the
 * entries, and the one behind the last entry is a location, too.
 */
#pragma once

#include "core/aggregate.h"
#include "core/batch.h"
#include "core/levels.h"
#include "trees/tree.h"

/* Entries in a row that are to go. Stretches come in order, each has entries, and there are others between two of them. */
typedef struct copse_stretch {
    uint64_t first, end; /* locations                             */
    uint64_t before;     /* entries of the stretches in front     */
} copse_stretch;

/* What a hybrid tree's card has of a page of leaves. */
typedef struct copse_page_mark {
    uint32_t record; /* the number of its copy there; UINT32_MAX: none          */
    bool changed;    /* the copy there, if any, is not what the page is now     */
} copse_page_mark;

#define COPSE_PAGE_UNMARKED ((copse_page_mark){UINT32_MAX, true})

/*
 * Inner nodes that hang in pages below the levels, for a hybrid tree, whose card has a copy of each page's:
 *
 *   | root | node 0 | node 1 | ... | head of leaf 0 | head of leaf 1 | ... | address of leaf 0, of leaf 1, ... |
 *
 * a line each but for the addresses, which are u64; what is not in use is zero. A page has fanout nodes and fanout^2 leaves.
 */
typedef struct copse_page_copies {
    uint32_t bytes; /* of a copy, a multiple of 64 */
    uint64_t (*pages)(const copse_index *index);
    copse_page_mark *(*mark)(const copse_index *index, uint64_t page);
    void (*write)(const copse_index *index, uint64_t page, char *to);
} copse_page_copies;

/* What a tree on the CPU does for the driver, for one pair of widths. A tree never sees a bad argument. */
typedef struct copse_cpu_tree {
    /* Life. A new tree is empty. */
    copse_status (*create)(copse_index *index);
    void (*destroy)(copse_index *index);

    /* Change. On failure the tree is as before. */
    copse_status (*build)(copse_index *index, const copse_batch *batch);
    copse_status (*insert)(copse_index *index, const copse_batch *pairs, uint32_t flags, uint64_t *out_inserted);
    copse_status (*erase)(copse_index *index, const copse_batch *pairs, uint64_t *out_erased);
    /* Both at once. In an index without duplicates pairs that are gone, which are all there, leave; the others come or
     * replace what is there. In one with duplicates each pair does what batch->does says (core/batch.h). */
    copse_status (*apply)(copse_index *index, const copse_batch *pairs);
    /* Optional: takes the entries of n stretches away, `erased` in all, which is not the whole tree. Without it the driver lists their
     * keys and erases those. */
    copse_status (*erase_between)(copse_index *index, const copse_stretch *stretches, uint64_t n, uint64_t erased);

    /* Read a chunk of a batch, keys[first .. first + n), of a tree that is not empty; results at the same positions. They
     * return n, or the offset from `first` of the first NaN. */
    uint64_t (*find)(const copse_index *index, const void *keys, uint64_t first, uint64_t n, void *values,
                     uint8_t *found);
    /* Location of the first entry with a key >= keys[first + i] (upper: > it), into locations[i]. */
    uint64_t (*locate)(const copse_index *index, const void *keys, uint64_t first, uint64_t n, bool upper,
                       uint64_t *locations);
    /* Entries before each location; the arrays may be the same. */
    void (*rank)(const copse_index *index, const uint64_t *locations, uint64_t n, uint64_t *ranks);
    /* Optional: the entries between pairs of locations, 0 where the second is not behind the first. Without it the driver uses ranks. */
    void (*between)(const copse_index *index, const uint64_t *lows, const uint64_t *highs, uint64_t n,
                    uint64_t *counts);
    /* The location of the entry with that rank (rank <= size). */
    uint64_t (*select)(const copse_index *index, uint64_t rank);
    /* The single entry at (before: in front of) each location, into position first + i of the outputs; each may be NULL. */
    void (*gather)(const copse_index *index, const uint64_t *locations, uint64_t first, uint64_t n, bool before,
                   void *keys, void *values, uint8_t *found);
    /* `count` entries from a location on, into position `at` of the outputs; the driver knows that they exist. */
    void (*copy)(const copse_index *index, uint64_t location, uint64_t count, uint64_t at, void *keys, void *values);
    /* Optional: where the values of entries from a location on lie in a row; *count, how many are wanted, becomes how many those are. */
    const void *(*values)(const copse_index *index, uint64_t location, uint64_t *count);
    /* Optional: a hint that copy will be called for this location soon. */
    void (*fetch)(const copse_index *index, uint64_t location, uint64_t count);

    /* Optional: ranges lows[first + i] .. highs[first + i] in one walk, results at counts[i] and sums[i], the locations of the
     * lows at locations[i] unless that is NULL. Without `count` the driver uses locations and ranks. `sum`, modulo 2^64, is
     * there where has_sum says so; it says so only where 64 bits hold the sum of every range. Both return as the reads above. */
    uint64_t (*count)(const copse_index *index, const void *lows, const void *highs, uint64_t first, uint64_t n,
                      uint64_t *locations, uint64_t *counts);
    bool (*has_sum)(const copse_index *index);
    uint64_t (*sum)(const copse_index *index, const void *lows, const void *highs, uint64_t first, uint64_t n,
                    uint64_t *sums);

    /* Optional: the same in 128 bits, where values are integers and has_sum_wide says so. */
    bool (*has_sum_wide)(const copse_index *index);
    uint64_t (*sum_wide)(const copse_index *index, const void *lows, const void *highs, uint64_t first, uint64_t n,
                         copse_wide *sums);

    /* Optional: minima or (largest) maxima, encoded as in copse_aggregate, where has_extremes says so; found[i]: whether there is one. */
    bool (*has_extremes)(const copse_index *index);
    uint64_t (*extremes)(const copse_index *index, const void *lows, const void *highs, uint64_t first, uint64_t n,
                         bool largest, uint64_t *codes, uint8_t *found);

    /* Aggregates. Optional: `prepare` makes what has_sum and aggregate profit from, once, by whichever thread comes first; where
     * there is no memory for it, aggregate scans. `aggregate` adds the entries between two locations to *out, or at least what this
     * kind of aggregate needs; fetch_early and fetch_range, optional, are hints that it will be called with these locations: soon, and
     * very soon. */
    void (*prepare)(const copse_index *index, bool sums);
    void (*fetch_early)(const copse_index *index, uint64_t location, uint64_t end);
    void (*fetch_range)(const copse_index *index, uint64_t location, uint64_t end, copse_aggregate_kind kind);
    void (*aggregate)(const copse_index *index, uint64_t location, uint64_t end, copse_aggregate_kind kind,
                      copse_aggregate *out);

    /* Optional: the inner levels, for a hybrid tree, whose card has a copy of them. Such a tree's reads begin below the levels where
     * copse_walked_below says how (cpu/walked.h). Where pages lie below them, the card has copies of those, too. */
    const copse_levels *(*levels)(const copse_index *index);
    const copse_page_copies *copies;
    /* Optional: what lies below the levels where that is one array of units of 64 bytes (cpu/unit.h), of which the card may have some. */
    const char *(*units)(const copse_index *index, uint64_t *out_count);

    /* Inspect. */
    uint64_t (*size)(const copse_index *index);
    void (*stats)(const copse_index *index, copse_stats *out);
    copse_status (*verify)(const copse_index *index);
} copse_cpu_tree;

/* The calls of every tree on the CPU; copse_tree_at.by_width has its copse_cpu_tree for each pair of widths. */
extern const copse_calls copse_cpu_calls;

static inline const copse_cpu_tree *copse_cpu_tree_of(const copse_index *index)
{
    return index->by_width;
}

/* --- what the files of the driver share ------------------------------------------------------------------------------ */

/* Queries of a chunk: two arrays of locations for one fit the stack, and their leaves the second-level cache. */
#define COPSE_CPU_CHUNK 4096u

/* What one thread of several takes of a batch of lookups: at most four chunks, so that its pipeline seldom runs dry, and less of
 * a small batch, so that there is something for all. */
static inline uint64_t copse_cpu_chunk(uint64_t n, uint32_t threads)
{
    uint64_t share = n / threads / 4;
    return share > (uint64_t)COPSE_CPU_CHUNK * 4 ? (uint64_t)COPSE_CPU_CHUNK * 4
           : share < COPSE_CPU_CHUNK / 16        ? COPSE_CPU_CHUNK / 16
                                                 : share;
}

/* The same where a chunk has arrays on the stack. */
static inline uint64_t copse_cpu_small_chunk(uint64_t n, uint32_t threads)
{
    uint64_t chunk = copse_cpu_chunk(n, threads);
    return threads == 1 || chunk > COPSE_CPU_CHUNK ? COPSE_CPU_CHUNK : chunk;
}

/* Position of the first NaN in keys[first .. first + n), relative to first; n where there is none. */
uint64_t copse_cpu_find_nan(const copse_index *index, const void *keys, uint64_t first, uint64_t n);
/* The error for range `at` having a NaN bound. */
copse_status copse_cpu_nan_range(const copse_index *index, const void *lows, uint64_t at);
/* tree->find and tree->locate, also right for an empty tree, whose only location is 0. */
uint64_t copse_cpu_find_chunk(const copse_index *index, const void *keys, uint64_t first, uint64_t n, void *values,
                              uint8_t *found);
uint64_t copse_cpu_locate(const copse_index *index, const void *keys, uint64_t first, uint64_t n, bool upper,
                          uint64_t *locations);

/* Checks all codes of a mixed batch. *out_finds: the batch has only finds; *out_adds: it has an ADD. */
copse_status copse_cpu_check_operations(const copse_index *index, const uint8_t *operations, uint64_t n,
                                        bool has_values, bool *out_finds, bool *out_adds);

/* Entries in front of the bound of one key: driver_scan.c. */
copse_status copse_cpu_bound_rank(const copse_index *index, const void *key, bool upper, uint64_t *out);

/* Turns n elements of an array of this width round; NULL is fine. */
void copse_reverse(void *array, uint64_t first, uint64_t n, size_t width);

/* Calls: driver_points.c, driver_updates.c, driver_pairs.c, driver_erase_range.c, driver_mixed.c, driver_ranges.c,
 * driver_aggregates.c, driver_scan.c, driver_visit.c. */
copse_status copse_cpu_build(copse_index *index, const void *keys, const void *values, uint64_t n);
copse_status copse_cpu_insert(copse_index *index, const void *keys, const void *values, uint64_t n, uint32_t flags,
                              uint64_t *out_inserted);
copse_status copse_cpu_erase(copse_index *index, const void *keys, uint64_t n, uint64_t *out_erased);
copse_status copse_cpu_erase_pairs(copse_index *index, const void *keys, const void *values, uint64_t n,
                                   uint64_t *out_erased);
copse_status copse_cpu_erase_range(copse_index *index, const copse_ranges *ranges, uint64_t *out_erased);
copse_status copse_cpu_apply(copse_index *index, const uint8_t *operations, const void *keys, const void *values,
                             uint64_t n, void *out_values, uint8_t *out_found);
copse_status copse_cpu_find(const copse_index *index, const void *keys, uint64_t n, void *values, uint8_t *found);
copse_status copse_cpu_neighbours(const copse_index *index, const void *keys, uint64_t n, copse_neighbour which,
                                  void *out_keys, void *out_values, uint8_t *out_found, uint64_t *out_ranks);
copse_status copse_cpu_select(const copse_index *index, const uint64_t *ranks, uint64_t n, void *keys, void *values,
                              uint8_t *found);
copse_status copse_cpu_count(const copse_index *index, const copse_ranges *ranges, uint64_t *counts);
copse_status copse_cpu_range(const copse_index *index, const copse_ranges *ranges, const copse_rows *rows);
copse_status copse_cpu_aggregate(const copse_index *index, copse_aggregate_kind kind, const copse_ranges *ranges,
                                 void *out, uint8_t *found);
copse_status copse_cpu_scan(const copse_index *index, copse_scan *scan);
copse_status copse_cpu_visit(const copse_index *index, copse_pass *pass);

/*
 * What a structure can do: one table of operations per structure, placement and pair of widths, found through the
 * registry. The API functions check arguments, cut batches into parts for the threads and call these; a structure
 * never sees a bad argument.
 *
 * A *place* is where an entry lies, as a number that only the structure understands; places grow with the order of the
 * entries, and the place behind the last entry is one, too.
 */
#ifndef COPSE_STRUCTURE_H
#define COPSE_STRUCTURE_H

#include "core/batch.h"
#include "core/aggregate.h"
#include "core/reads.h"

/*
 * Structures on a device take whole calls instead of parts of them: there a batch is one kernel, arrays may be host or
 * device memory, and errors come back from far away. Arguments are checked for NULL before; n is not 0 in reads. The
 * meaning is that of the call in copse.h.
 */
typedef struct copse_whole_operations {
    copse_status (*build)(copse_index *index, const void *keys, const void *values, uint64_t n);
    copse_status (*insert)(copse_index *index, const void *keys, const void *values, uint64_t n, uint32_t flags,
                           uint64_t *out_inserted);
    copse_status (*erase)(copse_index *index, const void *keys, uint64_t n, uint64_t *out_erased);
    /* Counts the version of the index itself, because a batch may change nothing. */
    copse_status (*apply)(copse_index *index, const uint8_t *operations, const void *keys, const void *values,
                          uint64_t n, void *out_values, uint8_t *out_found);
    copse_status (*find)(const copse_index *index, const void *keys, uint64_t n, void *values, uint8_t *found);
    copse_status (*neighbours)(const copse_index *index, const void *keys, uint64_t n, copse_neighbour which,
                               void *out_keys, void *out_values, uint8_t *out_found, uint64_t *out_ranks);
    copse_status (*count)(const copse_index *index, const void *lows, const void *highs, uint64_t n, uint64_t *counts);
    copse_status (*range)(const copse_index *index, const void *lows, const void *highs, uint64_t n, uint64_t limit,
                          uint64_t *offsets, void *keys, void *values, uint64_t capacity);
    copse_status (*aggregate)(const copse_index *index, copse_aggregate_kind kind, const void *lows, const void *highs,
                              uint64_t n, void *out, uint8_t *found);
    /* Entries rank .. rank + count, which exist, in order. */
    copse_status (*entries)(const copse_index *index, uint64_t rank, uint64_t count, void *keys, void *values);
    /* Optional: a second handle on the tree of `index`, as it is now (frozen) or as it becomes. The generic part of *other,
     * whose context may be another one, is there already. */
    copse_status (*share)(const copse_index *index, copse_index *other, bool frozen);
} copse_whole_operations;

struct copse_operations {
    copse_structure structure;
    copse_placement placement;
    /* NULL on the CPU. Where it is set, only create, destroy, size, stats and verify of the others are there, too. */
    const copse_whole_operations *whole;

    /* Life. A new tree is empty. */
    copse_status (*create)(copse_index *index);
    void (*destroy)(copse_index *index);

    /* Change. On failure the tree is as before. */
    copse_status (*build)(copse_index *index, const copse_batch *batch);
    copse_status (*insert)(copse_index *index, const copse_batch *pairs, uint32_t flags, uint64_t *out_inserted);
    copse_status (*erase)(copse_index *index, const copse_batch *pairs, uint64_t *out_erased);
    /* Both at once, in an index without duplicates: pairs that are gone, which are all there, leave; the others come or
     * replace what is there. */
    copse_status (*apply)(copse_index *index, const copse_batch *pairs);

    /* Read, on one thread, part of a batch: keys[first .. first + n), results at the same positions. They return n, or
     * the offset from `first` of the first NaN. */
    uint64_t (*find)(const copse_index *index, const void *keys, uint64_t first, uint64_t n, void *values,
                     uint8_t *found);
    /* Place of the first entry with a key >= keys[first + i] (upper: > it), into places[i]. */
    uint64_t (*locate)(const copse_index *index, const void *keys, uint64_t first, uint64_t n, bool upper,
                       uint64_t *places);
    /* Entries before each place; may be done in place. */
    void (*rank)(const copse_index *index, const uint64_t *places, uint64_t n, uint64_t *ranks);
    /* The place of the entry with that rank (rank <= size). */
    uint64_t (*select)(const copse_index *index, uint64_t rank);
    /* The single entry at (before: in front of) each place, into position first + i of the outputs; each may be NULL. */
    void (*gather)(const copse_index *index, const uint64_t *places, uint64_t first, uint64_t n, bool before,
                   void *keys, void *values, uint8_t *found);
    /* `count` entries from a place on, into position `at` of the outputs; the caller knows that they exist. */
    void (*copy)(const copse_index *index, uint64_t place, uint64_t count, uint64_t at, void *keys, void *values);

    /* A hint that copy will be called for this place soon. */
    void (*fetch)(const copse_index *index, uint64_t place, uint64_t count);

    /* Ranges lows[first + i] .. highs[first + i] in one walk, results at counts[i] and sums[i], the places
     * of the lows at places[i] unless that is NULL. count is optional:
     * without it places and ranks are used. sum, modulo 2^64, is there where has_sum says so (optional, too); it says so only
     * where 64 bits hold the sum of every range. Both return as the reads above. */
    uint64_t (*count)(const copse_index *index, const void *lows, const void *highs, uint64_t first, uint64_t n,
                      uint64_t *places, uint64_t *counts);
    bool (*has_sum)(const copse_index *index);
    uint64_t (*sum)(const copse_index *index, const void *lows, const void *highs, uint64_t first, uint64_t n,
                    uint64_t *sums);

    /* Aggregates. prepare makes what has_sum and aggregate profit from, once, by whichever thread comes first; where
     * there is no memory for it, aggregate scans. aggregate adds the entries between two places to *out. */
    void (*prepare)(const copse_index *index, bool sums);
    /* fetch_block is a hint that aggregate will be called with this place soon. */
    void (*fetch_block)(const copse_index *index, uint64_t place);
    void (*aggregate)(const copse_index *index, uint64_t place, uint64_t end, copse_aggregate *out);

    /* Inspect. */
    uint64_t (*size)(const copse_index *index);
    void (*stats)(const copse_index *index, copse_stats *out);
    copse_status (*verify)(const copse_index *index);
};

/* The operations for a structure and placement (no AUTO) and pair of widths, or NULL. */
const copse_operations *copse_registry_find(copse_structure structure, copse_placement placement, size_t key_bytes,
                                            size_t value_bytes);
/* The structure, or where the placement lacks it the one that does the same there: regular on the CPU, blink on devices. */
copse_structure copse_registry_nearest(copse_structure structure, copse_placement placement);

#endif

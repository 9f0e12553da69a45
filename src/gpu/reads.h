/*
 * What kernels that read a tree get, whatever the tree. The arguments of such a kernel hold the tree and one of these structs. A
 * tree fills in the former; gpu/points.c, gpu/ranges.c and gpu/aggregates.c fill in the latter for each launch.
 */
#pragma once

#include "copse.h"

#include <stdint.h>

/* Point queries, fewer than 2^31 of them a launch. Every output may be NULL. */
typedef struct copse_point_queries {
    const void *keys;
    uint64_t first; /* position of keys[0] in the caller's batch, for reports */
    uint32_t n;
    uint32_t per_warp; /* queries that one warp takes: 32, or 8 for small batches */
    uint32_t which;    /* copse_neighbour */
    void *out_keys, *out_values;
    uint8_t *out_found;
    uint64_t *out_ranks;
    uint64_t *report;
} copse_point_queries;

/* Ranges, fewer than 2^31 of them a launch. Every output may be NULL. */
typedef struct copse_range_queries {
    const void *lows, *highs;
    uint64_t first; /* position of range 0 in the caller's batch, for reports */
    uint32_t n;
    uint32_t per_warp;
    uint64_t limit;      /* most entries that count; 0: all */
    uint64_t *locations; /* of the first entries, 8 bytes each: the tree says what they mean */
    uint64_t *counts;
    uint64_t *ends; /* locations behind the last entries; only some trees have them */
    uint32_t kind;  /* copse_aggregate_kind of sums and means */
    void *out;      /* of sums and means */
    uint64_t *report;
} copse_range_queries;

/* Entries out of a tree: `count` of them from rank `first` on, or with the ranks of an array; or those of ranges, of whose output the positions from `first` on
 * are wanted, `count` at most. */
typedef struct copse_entry_output {
    uint64_t first, count;
    const uint64_t *locations, *offsets; /* of ranges, as a kernel over copse_range_queries left them */
    const uint64_t
        *wholes;           /* NULL, or entries of each range before the limit: they are wanted from the last one back */
    const uint64_t *ranks; /* select: the ranks that are wanted, in any order                                        */
    uint8_t *found;        /* select: whether there is such an entry                                                 */
    uint64_t n;            /* ranges                                                                                 */
    uint64_t capacity;     /* where the ranges hold more, the kernel copies nothing and reports it */
    void *keys, *values;   /* either may be NULL */
    uint64_t *report;
} copse_entry_output;

/* Where aggregates of ranges go. */
typedef struct copse_result_arguments {
    copse_type value_type;
    uint32_t kind;  /* copse_aggregate_kind */
    uint64_t first; /* position of range 0 in the caller's batch, for reports */
    void *out;
    uint8_t *found;
    uint64_t *report;
} copse_result_arguments;

/* Ranges whose bounds are known and whose entries are to be aggregated. */
typedef struct copse_range_extents {
    const uint64_t *locations;
    const uint64_t *ends, *counts; /* one of them */
    uint64_t n;
    copse_result_arguments result;
} copse_range_extents;

/*
 * Kernels that several structures use: batches on their way into a tree, and pointer-free levels; their arguments, and the
 * table of them that each backend has per pair of widths.
 */
#pragma once

#include "core/aggregate.h"
#include "core/levels.h"
#include "gpu/kernel_rows.h"

/* The levels of core/levels.h as kernels see them. */
typedef struct copse_device_levels {
    uint32_t height;
    uint32_t digest; /* 1: the separators are digests */
    uint64_t base;   /* of digests                    */
    uint32_t shift;
    char *level[COPSE_LEVELS_MOST]; /* level[0] is the root */
} copse_device_levels;

/* What one look at the caller's keys finds out. All zero but first_nan and smallest, which start at UINT64_MAX. */
typedef struct copse_device_survey {
    uint64_t first_nan;
    uint64_t smallest, largest; /* encoded                                      */
    uint64_t falls;             /* keys that are smaller than the one before     */
    uint64_t equals;            /* keys that are equal to the one before         */
    uint64_t digest_steps;      /* steps right that digests would cost, in children */
    uint64_t count;             /* of a selection                                */
    uint64_t trouble[4];        /* verify: positions, UINT64_MAX where all is well */
} copse_device_survey;

/*
 * What kernels find out about a batch that was sorted without a survey, by speculation. In device memory, all zero at the start. Where
 * `wrong` is not 0 the pairs may be in any order; kernels that change something check it first and do nothing then.
 */
typedef struct copse_pairs_speculation {
    uint64_t wrong;
    uint64_t not_first_nan;     /* 0: none; else the complement of its position */
    uint64_t smallest, largest; /* encoded; where nothing is wrong               */
    uint64_t ascending;         /* 1: the batch may have been sorted as it came  */
} copse_pairs_speculation;

/* Keys and values on their way into a tree. keys are raw bits of key_type; values NULL: every value is its position. */
typedef struct copse_pairs_arguments {
    const void *keys, *values;
    copse_type key_type, value_type;
    uint64_t first; /* position of the first pair in the caller's array */
    uint64_t n;
    void *out_keys, *out_values; /* encode: encoded keys, values; either may be NULL */
    copse_device_survey *survey;
    copse_pairs_speculation *speculation; /* encode: NULL after a survey */
} copse_pairs_arguments;

/* Pairs that were sorted by some of the bits of their encoded keys. */
typedef struct copse_sort_finish_arguments {
    void *keys, *values;
    uint64_t n;
    uint64_t low, mask; /* no key differs from `low` in a bit of `mask`, or the speculation was wrong */
    uint32_t first;     /* bits that were left out; 0: nothing is left to sort                  */
    const void *input;  /* keys before the sort; NULL: of no interest                            */
    copse_pairs_speculation *speculation;
} copse_sort_finish_arguments;

/* One level over `children` children, of which each stands for `span` of those below the levels. */
typedef struct copse_level_arguments {
    copse_device_levels levels;
    uint32_t level;
    uint64_t nodes, children;
    uint64_t span;
    const uint32_t
        *last;        /* of each child below the levels the digest of its largest key, or that key where it has 32 bits;
                           * NULL: look at the key itself */
    const char *keys; /* largest key of child 0; that of the next one lies `stride` bytes further */
    uint64_t stride;
    /* NULL, or they lie in segments, 2^segment_shift of them each: the addresses, and where in a segment the first one is */
    const uint64_t *segments;
    uint32_t segment_shift, segment_offset;
    copse_device_survey *survey;
} copse_level_arguments;

/* The summary of core/aggregate.h in device memory. */
typedef struct copse_device_summary {
    uint32_t height;
    uint64_t nodes[COPSE_SUMMARY_LEVELS];
    copse_aggregate *level[COPSE_SUMMARY_LEVELS];
} copse_device_summary;

/* Makes level `level` of a summary from the one below. */
typedef struct copse_raise_arguments {
    copse_device_summary summary;
    uint32_t level;
} copse_raise_arguments;

/* Ranges with open or missing ends on their way to closed ones; lows and highs may be NULL, or the same as the outputs. */
typedef struct copse_close_arguments {
    const void *lows, *highs;
    void *out_lows, *out_highs;
    uint64_t n;
    copse_type key_type;
    uint32_t flags; /* COPSE_RANGE_* */
} copse_close_arguments;

/* How many entries of each range a limit lets through; 0: all. */
typedef struct copse_limit_arguments {
    const uint64_t *wholes;
    uint64_t *counts;
    uint64_t n, limit;
} copse_limit_arguments;

typedef struct copse_shared_kernels {
    copse_kernel survey, encode;                         /* copse_pairs_arguments */
    copse_kernel sort_finish;                            /* copse_sort_finish_arguments */
    copse_kernel digest_steps, fill_level, verify_level; /* copse_level_arguments */
    copse_kernel raise;                                  /* copse_raise_arguments */
    copse_kernel close_ranges;                           /* copse_close_arguments */
    copse_kernel limit_counts;                           /* copse_limit_arguments */
} copse_shared_kernels;

COPSE_KERNEL_ROWS(copse_shared_kernels);

/* Threads of a block of each kernel. */
#define COPSE_KERNEL_THREADS 128u
/* Output positions that a warp of gather.h takes. */
#define COPSE_GATHER_TILE 256u

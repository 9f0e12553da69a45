/*
 * The kernels of the implicit tree: their arguments, and the table of them that each backend has per pair of widths.
 * The tree is that of trees/implicit/layout.h: units of 64 bytes that hold keys with their values, pointer-free levels of 64-byte
 * nodes above (core/levels.h). There is always one unit at least, so that an empty tree needs no case of its own.
 */
#ifndef COPSE_IMPLICIT_KERNELS_H
#define COPSE_IMPLICIT_KERNELS_H

#include "gpu/kernel_rows.h"
#include "gpu/shared_kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A tree as kernels see it. */
typedef struct copse_device_tree {
    uint64_t entries;
    uint32_t units;
    uint32_t unique; /* 1: no two entries have equal keys */
    copse_type key_type, value_type;
    char *unit;
    copse_device_levels levels;
} copse_device_tree;

/* Pairs in order on their way into units. */
typedef struct copse_unit_arguments {
    copse_pairs_arguments pairs;
    copse_device_tree tree;
    uint32_t *last;  /* of each unit the digest of its last key, or that key where it has 32 bits */
    uint64_t *tiles; /* count_kept: pairs that each tile keeps; fill_kept: the sums in front      */
} copse_unit_arguments;

/* Point queries, n < 2^31 of them a launch. Every output may be NULL. */
typedef struct copse_point_arguments {
    copse_device_tree tree;
    const void *keys;
    uint64_t first; /* position of keys[0] in the caller's batch, for reports */
    uint32_t n;
    uint32_t per_warp; /* queries that one warp takes: 32, or 8 for small batches */
    uint32_t which;    /* copse_neighbour */
    void *out_keys, *out_values;
    uint8_t *out_found;
    uint64_t *out_ranks;
    uint64_t *report;
} copse_point_arguments;

/* Ranges, n < 2^31 of them a launch. */
typedef struct copse_range_arguments {
    copse_device_tree tree;
    const void *lows, *highs;
    uint64_t first;
    uint32_t n;
    uint32_t per_warp;
    uint64_t limit;         /* most entries that count; 0: all */
    uint64_t *places;       /* of the first entries; may be NULL */
    uint64_t *counts;       /* may be NULL */
    const uint64_t *before; /* sums in front of each entry, for sums and means */
    uint32_t kind;          /* copse_aggregate_kind */
    void *out;              /* of sums and means */
    uint64_t *report;
} copse_range_arguments;

/* Entries out of a tree: `count` of them from `place` on (copy), or those of ranges (gather), of whose output the
 * positions from `place` on are wanted, `count` at most. */
typedef struct copse_copy_arguments {
    copse_device_tree tree;
    uint64_t place, count;
    const uint64_t *places, *offsets;
    uint64_t n;        /* ranges                                          */
    uint64_t capacity; /* where the ranges hold more, nothing is copied    */
    uint32_t encoded;  /* 1: leave keys as they are stored                 */
    void *keys, *values;
    uint64_t *report;
} copse_copy_arguments;

typedef struct copse_summary_arguments {
    copse_device_tree tree;
    copse_device_summary summary;
    const uint64_t *places, *counts;
    uint64_t n;
    copse_result_arguments result;
    uint64_t *before; /* widen, verify: values, or sums, as 64-bit numbers */
    copse_device_survey *survey;
} copse_summary_arguments;

/* A batch of sorted, encoded keys against the tree: marks the entries of the tree that stay when the batch is erased
 * (erase), or the keys of the batch that the tree does not have (absent). */
typedef struct copse_mark_arguments {
    copse_device_tree tree;
    const void *keys;
    uint64_t n;
    uint8_t *keep;
} copse_mark_arguments;

typedef struct copse_implicit_kernels {
    copse_kernel count_kept, fill, fill_kept; /* copse_unit_arguments */
    copse_kernel find[2], neighbours[2];      /* copse_point_arguments; [0]: full separators, [1]: digests */
    copse_kernel count[2], sum[2];            /* copse_range_arguments */
    copse_kernel copy, gather;                /* copse_copy_arguments */
    copse_kernel summarize, aggregate, widen; /* copse_summary_arguments */
    copse_kernel erase, absent;               /* copse_mark_arguments */
    copse_kernel verify_units;                /* copse_unit_arguments */
    copse_kernel verify_sums, verify_summary;
} copse_implicit_kernels;

COPSE_KERNEL_ROWS(copse_implicit_kernels);

/* Entries of one unit, and units of one block of the summary. */
#define COPSE_DEVICE_BLOCK_UNITS 16u
/* Pairs that a warp of count_kept and fill_kept takes. */
#define COPSE_KEPT_TILE 1024u

#ifdef __cplusplus
}
#endif
#endif

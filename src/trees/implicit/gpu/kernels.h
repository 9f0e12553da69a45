/*
 * The kernels of the implicit tree: their arguments, and the table of them that each backend has per pair of widths.
 * The tree is that of trees/implicit/layout.h: units of 64 bytes that hold keys with their values, pointer-free levels of 64-byte
 * nodes above (core/levels.h). There is always one unit at least, so that an empty tree needs no case of its own.
 */
#pragma once

#include "gpu/kernel_rows.h"
#include "gpu/reads.h"
#include "gpu/shared_kernels.h"

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

typedef struct copse_point_arguments {
    copse_device_tree tree;
    copse_point_queries queries;
} copse_point_arguments;

/* The location of an entry is its rank. */
typedef struct copse_range_arguments {
    copse_device_tree tree;
    copse_range_queries queries; /* without ends */
    const uint64_t *before;      /* sums in front of each entry, for sums and means */
} copse_range_arguments;

typedef struct copse_copy_arguments {
    copse_device_tree tree;
    copse_entry_output output;
    uint32_t encoded; /* 1: leave keys as they are stored */
} copse_copy_arguments;

typedef struct copse_summary_arguments {
    copse_device_tree tree;
    copse_device_summary summary;
    copse_range_extents extents; /* with counts */
    uint64_t *before;            /* widen, verify: values, or sums, as 64-bit numbers */
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
    copse_kernel copy, select, gather;        /* copse_copy_arguments */
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

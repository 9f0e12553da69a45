/* The kernels of hybrid trees: their arguments, and the table of them that each backend has per pair of widths. */
#pragma once

#include "gpu/kernel_rows.h"
#include "gpu/shared_kernels.h"

/* Queries that walk from the root to what lies below the inner levels. */
typedef struct copse_descend_arguments {
    copse_device_levels levels;
    copse_type key_type;
    uint32_t unique; /* 1: no two entries have equal keys        */
    uint32_t upper;  /* 1: to the first key > q instead of >= q  */
    uint32_t n;
    const void *keys; /* raw bits of key_type */
    uint32_t *nodes;  /* unit or slot of each */
    /* Trees with pages below the levels (records.h): then `nodes` are slots, a page times 512 plus a leaf of it. */
    uint64_t *leaves; /* address of the leaf, plus the unit in it */
    const uint32_t *record_of;
    const char *records;
    uint32_t record_bytes;
} copse_descend_arguments;

/* The same for lookups, where the card has the first units, too. */
typedef struct copse_cached_arguments {
    copse_descend_arguments descend; /* nodes: 0 of a query that is answered */
    const char *units;               /* lines of keys, then values           */
    uint64_t cached, all;            /* units that are there; of the whole tree */
    uint64_t entries;                /* of the whole tree                    */
    void *values;
    uint8_t *found; /* 1, 0, or COPSE_NOT_CACHED: it is for the CPU to say */
} copse_cached_arguments;

#define COPSE_NOT_CACHED 2u

/* Copies of pages on the way to their records. */
typedef struct copse_scatter_arguments {
    const uint64_t *from;
    const uint32_t *record_of;
    uint64_t n;
    uint64_t words; /* of a copy */
    uint64_t *to;
} copse_scatter_arguments;

typedef struct copse_hybrid_kernels {
    copse_kernel descend[2]; /* [0]: full separators, [1]: digests */
    copse_kernel descend_pages;
    copse_kernel find_cached[2]; /* as descend */
    copse_kernel scatter;
} copse_hybrid_kernels;

COPSE_KERNEL_ROWS(copse_hybrid_kernels);

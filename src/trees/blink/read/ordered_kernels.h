/*
 * Kernels that read the B-link and the B+ tree in key order: neighbours, ranges, aggregates, entries by rank; their
 * arguments, and the table of them that each backend has per pair of widths. Leaves are drawn in blink/layout.h.
 *
 * The *location* of an entry: the base leaf in the upper 32 bits, the entries of that base leaf in front of it in the lower ones. The
 * location behind the last entry of a base leaf and that of the first entry behind it mean the same. With `before` a location
 * gives a rank.
 *
 * Running sums over base leaves have two levels, so that an update that touches some base leaves costs these and a pass over
 * blocks, not one over the tree. A block is 32 base leaves:
 *
 *   base leaves   | 0: 5 entries | 1: 6 | 2: 5 | ... | 31 | 32: 6 | 33: 5 | ...
 *   inside        |      0       |   5  |  11  | ... | 165|   0   |   6   | ...    of base leaves in front in the same block
 *   totals        |                 170                   |      176 ...
 *   blocks        |                  0                    |      170 ...           of the blocks in front
 *
 * An update sets a bit for each base leaf that it may have changed. The next read in key order counts those again, corrects
 * their blocks, and sums up `totals` (read/refresh.h).
 */
#pragma once

#include "gpu/kernel_rows.h"
#include "gpu/reads.h"
#include "trees/blink/layout.h"
#include "trees/blink/read/arguments.h"

/* Sums of values in front of each base leaf, modulo 2^64, likewise. */
typedef struct copse_values_before {
    const uint64_t *inside;
    const uint64_t *blocks;
} copse_values_before;

/* Brings running sums up to date, or the blocks of the summary, where base leaves have changed. */
typedef struct copse_refresh_arguments {
    copse_blink_tree tree;
    uint64_t blocks;
    uint32_t *touched; /* a word for each block with bits of base leaves to look at; the kernel makes it 0 */
    uint32_t *also;    /* NULL, or more such words */
    uint32_t *stale_sums, *stale_summary; /* NULL, or words to which it hands the bits of `touched` on */
    uint32_t *entries;                    /* refresh_entries, refresh_both: `inside` */
    uint64_t *values;                     /* refresh_values, refresh_both: `inside` */
    uint64_t *totals, *value_totals;
    uint64_t *largest; /* of values: none that it has seen was farther from 0 */
    copse_device_summary summary;
} copse_refresh_arguments;

typedef struct copse_blink_range_arguments {
    copse_blink_tree tree;
    copse_entries_before before;
    copse_values_before sums; /* for sums and means */
    copse_range_queries queries;
} copse_blink_range_arguments;

/* In `locations`: a range whose entries `short_range` has copied, or which has none. */
#define COPSE_LOCATION_DONE UINT64_MAX

/* What the tiles of `short_range` share; 0 at first. */
typedef struct copse_short_range_state {
    uint32_t ticket; /* the next tile that a block takes               */
    uint32_t left;   /* 1: some ranges are left to `gather`             */
} copse_short_range_state;

/* Ranges in one pass. There are 2^62 entries at most in all of them. */
typedef struct copse_blink_short_range_arguments {
    copse_blink_range_arguments ranges; /* locations of those left to `gather`; no ends, counts, sums */
    uint64_t *offsets;                  /* n + 1 */
    uint64_t capacity;                  /* positions behind it are not written */
    void *keys, *values;                /* either may be NULL */
    copse_short_range_state *state;
    uint64_t *words; /* of each tile: what it knows of the entries of its ranges; 0 at first */
    uint32_t tiles;
} copse_blink_short_range_arguments;

typedef struct copse_blink_copy_arguments {
    copse_blink_tree tree;
    copse_entries_before before;
    copse_entry_output output;
    const copse_short_range_state *state; /* NULL, or of `short_range`, which has run before */
} copse_blink_copy_arguments;

/* The summary over blocks of base leaves, and aggregates by it. */
typedef struct copse_blink_summary_arguments {
    copse_blink_tree tree;
    copse_device_summary summary;
    copse_entries_before before;
    copse_range_extents extents; /* with ends */
} copse_blink_summary_arguments;

/* Ranges while a writer may be at work, any number of them. */
typedef struct copse_concurrent_arguments {
    copse_blink_tree tree; /* entries and pool_leaves may be anything */
    const void *lows;      /* NULL: the smallest key */
    const void *highs;     /* last keys; where `below` is 1, the first that do not belong */
    uint32_t below;
    uint32_t per_warp; /* ranges that one warp takes: 1, 8 or 32 */
    uint64_t first;    /* position of range 0 in the caller's batch, for reports */
    uint64_t n;
    uint64_t limit;          /* most entries that count; 0: all */
    uint64_t *counts;        /* count */
    const uint64_t *offsets; /* gather: of what count found ... */
    uint64_t from, room;     /* ... output positions from .. from + room are wanted */
    uint64_t capacity;       /* where the ranges hold more, the kernel copies nothing */
    void *keys, *values;
    copse_result_arguments result; /* aggregate */
    uint64_t *report;
} copse_concurrent_arguments;

/* Checks. */
typedef struct copse_ranks_check_arguments {
    copse_blink_tree tree;
    copse_entries_before before; /* NULLs: there are none, */
    copse_values_before sums;    /* likewise */
    copse_device_summary summary;
    copse_device_survey *survey; /* trouble[3] */
} copse_ranks_check_arguments;

typedef struct copse_blink_ordered_kernels {
    copse_kernel refresh_entries, refresh_values, refresh_both, refresh_summary; /* copse_refresh_arguments */
    copse_kernel neighbours[2];        /* copse_blink_point_arguments; [0]: full separators, [1]: digests */
    copse_kernel count[2], sum[2];     /* copse_blink_range_arguments */
    copse_kernel copy, select, gather; /* copse_blink_copy_arguments */
    copse_kernel short_range[2];       /* copse_blink_short_range_arguments */
    copse_kernel aggregate;            /* copse_blink_summary_arguments */
    copse_kernel verify_base_leaves, verify_summary; /* copse_ranks_check_arguments */
    /* While a writer may be at work. */
    copse_kernel find_concurrent, neighbours_concurrent; /* copse_blink_point_arguments; without ranks */
    copse_kernel count_concurrent, gather_concurrent, aggregate_concurrent; /* copse_concurrent_arguments */
} copse_blink_ordered_kernels;

COPSE_KERNEL_ROWS(copse_blink_ordered_kernels);

/* Word of a report: gather_concurrent found another number of entries in a range than count_concurrent. */
#define COPSE_REPORT_CHANGED 5u
/* Base leaves of one block of the summary. */
#define COPSE_BLOCK_BASE_LEAVES 16u

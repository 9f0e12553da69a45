/*
 * Kernels that read the B-link and the B+ tree in key order: neighbours, ranges, aggregates, entries by rank; their
 * arguments, and the table of them that each backend has per pair of widths. Leaves are drawn in blink/layout.h.
 *
 * A *place* says where an entry lies: the home in the upper 32 bits, the entries of that home in front of it in the lower
 * ones. The place behind the last entry of a home and that of the first entry behind it mean the same. With `before`, the
 * entries in front of each home, a place gives a rank.
 */
#ifndef COPSE_BLINK_ORDER_KERNELS_H
#define COPSE_BLINK_ORDER_KERNELS_H

#include "trees/blink/layout.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Something of each home, and 0 behind the last: what primitives->scan_u64 sums up. */
typedef struct copse_home_arguments {
    copse_blink_tree tree;
    uint64_t *out;
} copse_home_arguments;

/* Ranges, n < 2^31 of them a launch. */
typedef struct copse_blink_range_arguments {
    copse_blink_tree tree;
    const uint64_t *before; /* entries in front of each home */
    const uint64_t *sums;   /* of values in front of each home, for sums and means */
    const void *lows, *highs;
    uint64_t first; /* position of range 0 in the caller's batch, for reports */
    uint32_t n;
    uint32_t per_warp;
    uint64_t limit;   /* most entries that count; 0: all */
    uint64_t *places; /* of the first entries; may be NULL */
    uint64_t *ends;   /* places behind the last entries; may be NULL */
    uint64_t *counts; /* may be NULL */
    uint32_t kind;    /* copse_aggregate_kind */
    void *out;        /* of sums and means */
    uint64_t *report;
} copse_blink_range_arguments;

/* Of a range in `places` whose entries have been copied, or which has none. */
#define COPSE_PLACE_DONE UINT64_MAX

/* What the tiles of `narrow` share; 0 at first. */
typedef struct copse_narrow_state {
    uint32_t ticket; /* the next tile that is to be done              */
    uint32_t left;   /* 1: some ranges are left to `gather`            */
} copse_narrow_state;

/* Ranges in one pass. There are 2^62 entries at most in all of them. */
typedef struct copse_blink_narrow_arguments {
    copse_blink_range_arguments ranges; /* places, of those left to `gather`; no ends, counts, sums */
    uint64_t *offsets;                  /* n + 1 */
    uint64_t capacity;                  /* positions behind it are not written */
    void *keys, *values;                /* either may be NULL */
    copse_narrow_state *state;
    uint64_t *words; /* of each tile: what it knows of the entries of its ranges; 0 at first */
    uint32_t tiles;
} copse_blink_narrow_arguments;

/* Entries out of a tree: `count` of them from rank `first` on (copy), or those of ranges (gather), of whose output the
 * positions from `first` on are wanted, `count` at most. */
typedef struct copse_blink_copy_arguments {
    copse_blink_tree tree;
    const uint64_t *before;
    uint64_t first, count;
    const uint64_t *places, *offsets;
    uint64_t n;        /* ranges                                       */
    uint64_t capacity; /* where the ranges hold more, nothing is copied */
    void *keys, *values;
    const copse_narrow_state *state; /* NULL, or of `narrow`, which has run before */
    uint64_t *report;
} copse_blink_copy_arguments;

/* The summary over blocks of homes, and aggregates by it. */
typedef struct copse_blink_summary_arguments {
    copse_blink_tree tree;
    copse_device_summary summary;
    const uint64_t *before;
    const uint64_t *places, *ends;
    uint64_t n;
    copse_result_arguments result;
} copse_blink_summary_arguments;

/* Ranges while a writer may be at work, any number of them. */
typedef struct copse_beside_arguments {
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
    uint64_t capacity;       /* where the ranges hold more, nothing is copied */
    void *keys, *values;
    copse_result_arguments result; /* aggregate */
    uint64_t *report;
} copse_beside_arguments;

/* Checks. */
typedef struct copse_order_check_arguments {
    copse_blink_tree tree;
    const uint64_t *before, *sums; /* either may be NULL */
    copse_device_summary summary;
    copse_device_survey *survey; /* trouble[3] */
} copse_order_check_arguments;

typedef struct copse_blink_order_kernels {
    copse_kernel home_entries, home_sums;      /* copse_home_arguments */
    copse_kernel neighbours[2];                /* copse_blink_point_arguments; [0]: full separators, [1]: digests */
    copse_kernel count[2], sum[2];             /* copse_blink_range_arguments */
    copse_kernel copy, gather;                 /* copse_blink_copy_arguments */
    copse_kernel narrow[2];                    /* copse_blink_narrow_arguments */
    copse_kernel summarize, aggregate;         /* copse_blink_summary_arguments */
    copse_kernel verify_homes, verify_summary; /* copse_order_check_arguments */
    /* While a writer may be at work. */
    copse_kernel find_beside, neighbours_beside;                /* copse_blink_point_arguments; without ranks */
    copse_kernel count_beside, gather_beside, aggregate_beside; /* copse_beside_arguments */
} copse_blink_order_kernels;

COPSE_KERNEL_ROWS(copse_blink_order_kernels);

/* Word of a report: gather_beside found another number of entries in a range than count_beside. */
#define COPSE_REPORT_CHANGED 5u
/* Homes of one block of the summary. */
#define COPSE_BLOCK_HOMES 16u

#ifdef __cplusplus
}
#endif
#endif

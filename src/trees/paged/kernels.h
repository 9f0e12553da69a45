/* The kernels of the paged tree: their arguments, and the table of them that each backend has per pair of widths. */
#pragma once

#include "gpu/kernel_rows.h"
#include "gpu/reads.h"
#include "gpu/shared_kernels.h"
#include "trees/paged/layout.h"

/* A tree as kernels see it. */
typedef struct copse_paged_tree {
    uint64_t entries;
    uint32_t rows;
    uint32_t unique; /* 1: no two entries have equal keys */
    /* With as many entries in the last page, what comes behind it fills pages to the last slot: 1, or 0 with COPSE_UPDATES_RARE. */
    uint32_t packs_from;
    copse_type key_type, value_type;
    uint32_t slots, leaves, top_lines;                   /* of a page */
    uint32_t separators_at, ends_at, keys_at, values_at; /* bytes from the beginning of a page */
    void *highs;
    uint64_t *pages;
    uint32_t *counts;
    const uint64_t *before; /* rows + 1 of them; NULL: not made */
    copse_device_levels levels;
} copse_paged_tree;

typedef struct copse_paged_point_arguments {
    copse_paged_tree tree;
    copse_point_queries queries;
    const uint32_t *rows; /* hybrid: that each key of the caller's batch leads to; NULL: the kernel walks the levels */
} copse_paged_point_arguments;

typedef struct copse_paged_range_arguments {
    copse_paged_tree tree;
    copse_range_queries queries; /* with locations, counts, ends */
    const uint32_t *low_rows, *high_rows;
} copse_paged_range_arguments;

typedef struct copse_paged_copy_arguments {
    copse_paged_tree tree;
    copse_entry_output output;
    uint32_t encoded; /* 1: leave keys as they are stored */
} copse_paged_copy_arguments;

typedef struct copse_paged_summary_arguments {
    copse_paged_tree tree;
    copse_device_summary summary; /* an item for each row */
    copse_range_extents extents;  /* with ends */
    uint64_t *before;             /* row_counts: entries of each row, and 0 behind the last */
    copse_device_survey *survey;
} copse_paged_summary_arguments;

/* --- updates ----------------------------------------------------------------------------------------------------------------- */

/* What a batch does. */
typedef enum copse_paged_mode {
    COPSE_PAGED_PUT,    /* of equal keys the last one is put; keys that are there get its value */
    COPSE_PAGED_ABSENT, /* of equal keys the first one is put, unless the key is there          */
    COPSE_PAGED_ADD,    /* all are put, behind their equals                                     */
    COPSE_PAGED_ERASE,  /* keys that are there once go                                          */
    COPSE_PAGED_MIXED,  /* keys, each once, are put or go                                       */
    COPSE_PAGED_PIECES  /* elements are stretches of entries in a page, which go                */
} copse_paged_mode;

/* What an element of a batch does, in the upper two bits of its word; then 14 bits for its leaf, of which the upper one says that its
 * window is shared out anew, and 16 for its rank in the page. */
enum { COPSE_PAGED_NOTHING, COPSE_PAGED_NEW, COPSE_PAGED_GONE, COPSE_PAGED_REPLACED };
#define COPSE_PAGED_DOES_SHIFT 30u
#define COPSE_PAGED_LEAF_SHIFT 16u
#define COPSE_PAGED_IN_WINDOW  (1u << 29)

/* What becomes of a page that a run of elements touches. */
enum {
    COPSE_PAGED_STAYS,   /* as it is                                                 */
    COPSE_PAGED_PATCHED, /* leaves of it change where they are                       */
    COPSE_PAGED_WRITTEN, /* it is written anew, where it is or as several new pages */
    COPSE_PAGED_DROPPED,
    COPSE_PAGED_SPREAD /* patched, but for some windows of leaves, whose entries are shared out anew */
};
#define COPSE_PAGED_PACKED 8u  /* besides: the keys are behind all others, and new pages are filled to the last slot */
#define COPSE_PAGED_MOVES  16u /* besides: its row gives its page back */
/* Leaves of a window: their separators lie in one line, and its last one stays, so the top above never changes. */
#define COPSE_PAGED_WINDOW 4u

/* What became of the last page. */
enum {
    COPSE_PAGED_TAIL_SAME,
    COPSE_PAGED_TAIL_COUNT, /* full leaves, tail_count entries */
    COPSE_PAGED_TAIL_MORE,  /* tail_count more at its end      */
    COPSE_PAGED_TAIL_UNKNOWN
};

/* What the host has to know before anything changes. In device memory, all zero at the start. */
typedef struct copse_paged_seen {
    uint64_t last;                       /* packed as `scan`, over all elements */
    uint64_t items;                      /* pages that are written              */
    uint64_t shift;                      /* rows that come, less those that go  */
    uint64_t taken;                      /* new pages                           */
    uint64_t freed;                      /* pages that go                       */
    uint64_t replaced;                   /* not 0: some values are replaced     */
    uint64_t patched;                    /* not 0: some pages are patched       */
    uint64_t take, give;                 /* counters of the kernels that write */
    uint64_t tail, tail_count;           /* COPSE_PAGED_TAIL_*                  */
    uint64_t refused;                    /* hasty: the kernels behind the plan do nothing */
    uint64_t done;                       /* hasty: they need not, it is done              */
    copse_pairs_speculation speculation; /* what came of it, where there is one */
} copse_paged_seen;

/*
 * An update: a batch in key order, cut into runs of elements that fall into the same page.
 *
 *   locate   row, leaf and rank of each element, what it does, and whether a run begins with it
 *   (scan)   runs and entries that come in front of each element
 *   runs     where each run begins
 *   plan     what becomes of the page of each run
 *   (scan)   pages that are written, rows that come, in front of each run      then the host reads what was seen, and gets memory
 *   replace, patch, finish, write, move_rows, fill_levels
 *
 * A small batch is sorted and planned by one block. The others follow in haste, before the host has seen the plan: with the free pages
 * that there are, into a directory that is large enough for any plan. Where they are not enough, the plan is refused.
 */
typedef struct copse_paged_update_arguments {
    copse_paged_tree tree;
    const void *keys, *values; /* encoded */
    const uint32_t
        *value_rows; /* mixed: element j has values[value_rows[j]], and gone[...] says whether the key goes; NULL: j */
    const uint8_t *gone;
    const copse_pairs_speculation *speculation; /* about the order of the keys; NULL: they are in order */
    uint32_t n;
    uint32_t mode; /* copse_paged_mode */
    /* of each element */
    uint32_t *row, *what;
    uint32_t *lost; /* pieces: entries that go; NULL: one */
    uint64_t
        *scan; /* low half: runs that begin; high half: entries that come less those that go, modulo 2^32; n + 1 sums */
    /* of each run */
    uint32_t runs_most;
    uint32_t *run_begin, *run_row; /* run_begin has one more */
    uint32_t *run_does;
    uint64_t *
        run_scan; /* low half: pages written; high half: rows that come less those that go, modulo 2^32; runs_most + 1 sums */
    copse_paged_seen *seen;
    /* pages */
    uint64_t *stack; /* free pages; those that are taken come from stack_top down, then those that go are put on */
    uint64_t stack_top;
    /* the new directory */
    uint32_t new_room;
    void *new_highs;
    uint64_t *new_pages;
    uint32_t *new_counts;
} copse_paged_update_arguments;

/* Ranges of keys that are to be erased. */
typedef struct copse_paged_pieces_arguments {
    copse_paged_update_arguments update;
    const void *lows, *highs; /* the same array: keys */
    copse_type key_type;      /* of these */
    uint64_t n;
    uint64_t *first, *end; /* locations */
    uint64_t *sums;        /* n + 1: pieces in front of each range */
} copse_paged_pieces_arguments;

typedef struct copse_paged_levels_arguments {
    copse_paged_tree tree;
    uint64_t nodes[COPSE_LEVELS_MOST];
    uint64_t separators;          /* of all levels */
    uint32_t room;                /* of the directory, in rows */
    const copse_paged_seen *seen; /* hasty: tree.rows are those before; else NULL */
} copse_paged_levels_arguments;

/* A small batch, as it comes. */
typedef struct copse_paged_small_arguments {
    copse_paged_update_arguments update;
    const void *keys, *values;         /* the caller's; values NULL: positions */
    copse_type key_type;               /* of these */
    void *sorted_keys, *sorted_values; /* update.keys and update.values; sorted_values NULL: none */
    copse_paged_seen *delivered;       /* pinned */
} copse_paged_small_arguments;

/* A batch that should come sorted, and behind all keys. Pages take what follows each other in it. */
typedef struct copse_paged_append_arguments {
    copse_paged_tree tree;
    const void *keys, *values; /* encoded */
    uint64_t n;
    uint64_t high;       /* no key of the tree is greater                                     */
    uint32_t tail_count; /* entries of the last page, which has full leaves; slots: pass it by */
    uint32_t pages;      /* that are taken                                                     */
    const uint64_t *stack;
    uint64_t stack_top;
    copse_pairs_speculation *seen; /* wrong: the batch is not in order, or not behind the tree's keys */
} copse_paged_append_arguments;

/* Pages that are joined two at a time, the second one of each pair going. */
typedef struct copse_paged_join_arguments {
    copse_paged_tree tree;
    uint64_t *joined; /* rows + 1: 1 for a row that goes, then the sums in front of each */
    uint64_t *stack;  /* pages that go are put on from stack_top on */
    uint64_t stack_top;
    void *new_highs;
    uint64_t *new_pages;
    uint32_t *new_counts;
} copse_paged_join_arguments;

/* Pages of new memory on their way to the stack. */
typedef struct copse_paged_pool_arguments {
    char *memory;
    uint64_t page_bytes, n;
    uint64_t *stack; /* where they go */
} copse_paged_pool_arguments;

/* trouble[0]: keys of a row are not in order or not within its bounds; [1]: a row's page has wrong ends, separators or free slots. */
typedef struct copse_paged_check_arguments {
    copse_paged_tree tree;
    copse_device_summary summary;
    uint32_t has_summary;
    copse_device_survey *survey;
} copse_paged_check_arguments;

typedef struct copse_paged_kernels {
    copse_kernel find, neighbours;                                             /* copse_paged_point_arguments   */
    copse_kernel bounds;                                                       /* copse_paged_range_arguments   */
    copse_kernel copy, select, gather;                                         /* copse_paged_copy_arguments    */
    copse_kernel row_counts, summarize, aggregate;                             /* copse_paged_summary_arguments */
    copse_kernel locate, runs, plan, replace, patch, finish, write, move_rows; /* copse_paged_update_arguments  */
    copse_kernel small;                                                        /* copse_paged_small_arguments   */
    copse_kernel order, append;                                                /* copse_paged_append_arguments  */
    copse_kernel join_mark, join_pages, join_rows;                             /* copse_paged_join_arguments    */
    copse_kernel range_ends, pieces;                                           /* copse_paged_pieces_arguments  */
    copse_kernel fill_levels;                                                  /* copse_paged_levels_arguments  */
    copse_kernel push_pages;                                                   /* copse_paged_pool_arguments    */
    copse_kernel check;                                                        /* copse_paged_check_arguments   */
} copse_paged_kernels;

COPSE_KERNEL_ROWS(copse_paged_kernels);

/* Batches of up to so many keys are sorted and planned by one block of so many threads, and those of up to COPSE_PAGED_TINY carried out
 * by it where no page comes or goes. */
#define COPSE_PAGED_SMALL         2048u
#define COPSE_PAGED_SMALL_THREADS 1024u
#define COPSE_PAGED_TINY          64u

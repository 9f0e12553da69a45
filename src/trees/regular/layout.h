/*
 * The regular tree: leaves that are changed in place, pointer-free inner levels with room to grow on top.
 *
 * A leaf is 16 cache lines. The first is the last inner level, addressed with the leaf (as in the HB+-tree's big
 * leaves); the other 15 are units (cpu/unit.h), filled from the front:
 *
 *   line 0     | digest of the largest key of unit 0 .. 13, u32 each | base and shift of the digests, u64 |
 *   line 1..15 | unit 0 | unit 1 | ... | unit 14 |
 *
 * Leaves hang, in key order and without gaps, in pages of fanout^2 slots. A page has two levels of separators of its own; the
 * pages hang, again in key order, in a directory with as many levels (levels.h, full separators) as it takes:
 *
 *   directory   [root][......][................]         levels over the pages
 *               [P][P][P] ...                            addresses of the pages, the largest key that each may hold
 *               [ entries of each page ], and of 16, 256, ... pages, with running sums: ranks without a scan
 *   page        [root][node][node] ... [node]            one line each
 *               [L L L L L L L . . .]                    addresses of leaves, . : free, always behind the used ones
 *               [ largest key that each leaf may hold ]  no key of the next leaf is smaller
 *               [ entries of the leaves in front of each ]
 *
 * A page is small enough to be written again when leaves come or go; one that gets too full becomes several, one that gets
 * sparse joins the next. So a change costs what its leaves and their pages cost, wherever it is, and only a change in the
 * number of pages touches the directory, which is a few thousandths of the tree. A walk has no pointers to follow but those from
 * the directory to a page and from a page to a leaf.
 *
 * A slot is page * 512 + position in the page, a location slot * 256 + position in the leaf.
 *
 * Invariants besides the obvious ones: the last leaf of all may hold the maximum; with duplicates, a key that exists is in the
 * first leaf whose fence is not smaller than it.
 */
#pragma once

#include "core/aggregate.h"
#include "trees/regular/cpu/leaf_pool.h"
#include "core/levels.h"

#include <pthread.h>
#include <stdatomic.h>

#define COPSE_LEAF_UNITS     15u
#define COPSE_LOCATION_SHIFT 8u

typedef struct copse_leaf_head {
    uint32_t digest[COPSE_LEAF_UNITS - 1];
    uint64_t base_shift; /* low 6 bits: shift; the rest: base, a multiple of 64; unused for 32-bit keys */
} copse_leaf_head;

_Static_assert(sizeof(copse_leaf_head) == 64, "the head is one cache line");

#define COPSE_PAGE_SHIFT  9u
#define COPSE_RANK_LEVELS 12

/* The directory of pages. */
typedef struct copse_page_directory {
    uint64_t pages, room;
    char **page; /* [room] leaf_page of table.h, in key order                                */
    void *fence; /* KEY[room]: no key of the page is greater, no key of the next one is smaller */
    copse_levels levels;
    char *storage[COPSE_LEVELS_MOST]; /* of the levels, the lowest first, for as many pages as there is room for */
    uint32_t rank_height;
    uint64_t *below[COPSE_RANK_LEVELS];  /* entries of each page, of each 16 pages, ...              */
    uint64_t *before[COPSE_RANK_LEVELS]; /* entries of its predecessors among those that share a parent */
    void *memory;
    size_t bytes;
} copse_page_directory;

/* What sums, minima and maxima need to know of pages, kept as the directory keeps entries: of each page, of 16, 256, ... pages. */
typedef struct copse_value_directory {
    uint64_t room;
    char **page;                                                    /* page_values of page.h */
    copse_wide *sum[COPSE_RANK_LEVELS], *before[COPSE_RANK_LEVELS]; /* integers; before as in the directory */
    double *float_sum[COPSE_RANK_LEVELS];
    /* Extremes as in copse_aggregate: of each, of those in front of it, and of those from it on, among those that share a parent. */
    uint64_t *low[COPSE_RANK_LEVELS], *low_ahead[COPSE_RANK_LEVELS], *low_from[COPSE_RANK_LEVELS];
    uint64_t *high[COPSE_RANK_LEVELS], *high_ahead[COPSE_RANK_LEVELS], *high_from[COPSE_RANK_LEVELS];
    void *memory;
    size_t bytes;
} copse_value_directory;

typedef struct copse_regular {
    uint64_t entries;
    uint64_t leaves;
    copse_page_directory table;
    copse_page_directory next; /* memory for the one after it, or none */
    size_t next_touched;       /* bytes of it that the system has given */
    copse_leaf_pool pool, page_pool, value_pool;

    /* Made by the first aggregate call, kept up to date by updates from then on. */
    pthread_mutex_t lock;
    atomic_bool summary_tried;
    bool has_summary;
    copse_value_directory values;
} copse_regular;

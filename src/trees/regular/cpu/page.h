/* A page of leaves of the object's widths: trees/regular/layout.h draws it. */
#pragma once

#include "cpu/driver.h"
#include "cpu/unit.h"
#include "trees/regular/layout.h"

#define FANOUT        (64u / (uint32_t)sizeof(KEY) + 1)
#define PAGE_SLOTS    (FANOUT * FANOUT)
#define LEAF_CAPACITY (COPSE_LEAF_UNITS * UNIT_ENTRIES)

/* What sums, minima and maxima need of a page. A leaf is kept in thirds, so that a range that ends in it reads few of its values. */
#define LEAF_THIRDS   3u
#define THIRD_ENTRIES (COPSE_LEAF_UNITS / LEAF_THIRDS * UNIT_ENTRIES)

/* One line each. */
typedef struct leaf_sums {
    _Alignas(64) copse_wide ahead; /* of the leaves in front, in the page     */
    copse_wide third[LEAF_THIRDS]; /* of the leaf up to the end of each third */
} leaf_sums;

typedef struct leaf_extremes {
    _Alignas(64) uint64_t low[LEAF_THIRDS]; /* of each third, as in copse_aggregate */
    uint64_t high[LEAF_THIRDS];
} leaf_extremes;

typedef struct page_values {
    leaf_sums sums[PAGE_SLOTS]; /* integers */
    leaf_extremes extremes[PAGE_SLOTS];
    uint64_t low[PAGE_SLOTS], high[PAGE_SLOTS];
    double float_sum[PAGE_SLOTS];
    uint64_t node_low[FANOUT], node_high[FANOUT]; /* of the leaves below a node */
    double node_float_sum[FANOUT];
    copse_wide sum; /* integers, of all leaves */
} page_values;

typedef struct leaf_page {
    _Alignas(64) KEY root[FANOUT - 1];
    KEY node[FANOUT][FANOUT - 1];
    char *leaf[PAGE_SLOTS];
    KEY fence[PAGE_SLOTS];
    uint16_t ahead[PAGE_SLOTS + 1]; /* entries of the leaves in front; [used]: of all */
    uint16_t used;
    page_values *values;  /* while the tree has a summary */
    copse_page_mark mark; /* of a hybrid tree's card      */
} leaf_page;

_Static_assert(PAGE_SLOTS <= 1u << COPSE_PAGE_SHIFT, "a slot is a page and a position in it");
_Static_assert((uint64_t)PAGE_SLOTS *LEAF_CAPACITY <= UINT16_MAX, "the entries of a page are counted in 16 bits");

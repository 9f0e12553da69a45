/* A page of leaves of the object's widths: trees/regular/layout.h draws it. */
#pragma once

#include "cpu/driver.h"
#include "cpu/unit.h"
#include "trees/regular/layout.h"

#define FANOUT        (64u / (uint32_t)sizeof(KEY) + 1)
#define PAGE_SLOTS    (FANOUT * FANOUT)
#define LEAF_CAPACITY (COPSE_LEAF_UNITS * UNIT_ENTRIES)

/* What sums, minima and maxima need of a page. A leaf is kept in fifths, so that a range that ends in it reads few of its values. */
#define LEAF_FIFTHS   5u
#define FIFTH_ENTRIES (COPSE_LEAF_UNITS / LEAF_FIFTHS * UNIT_ENTRIES)
_Static_assert(COPSE_LEAF_UNITS == 3 * LEAF_FIFTHS, "a fifth has three units: sums.h counts on it");

/* One line each. */
typedef struct leaf_sums {
    _Alignas(64) copse_wide ahead; /* of the leaves in front, in the page                                  */
    uint64_t until[LEAF_FIFTHS];   /* of the leaf up to the end of each fifth: the lower 64 bits,          */
    int8_t upper[LEAF_FIFTHS];     /* and what is above them, of which a leaf's values cannot fill a byte */
} leaf_sums;

/* One kind of extreme, as in copse_aggregate. A range that begins or ends in the leaf takes one number for the rest of the page. */
typedef struct leaf_extremes {
    _Alignas(64) uint64_t fifth[LEAF_FIFTHS];
    uint64_t ahead, behind; /* of the leaves in front of this one and of those behind it, in the page */
} leaf_extremes;

typedef struct page_values {
    leaf_sums sums[PAGE_SLOTS]; /* integers */
    leaf_extremes lows[PAGE_SLOTS], highs[PAGE_SLOTS];
    uint64_t low[PAGE_SLOTS], high[PAGE_SLOTS]; /* of whole leaves */
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

_Static_assert(sizeof(leaf_sums) == 64 && sizeof(leaf_extremes) == 64, "each is one line");
_Static_assert(PAGE_SLOTS <= 1u << COPSE_PAGE_SHIFT, "a slot is a page and a position in it");
_Static_assert((uint64_t)PAGE_SLOTS *LEAF_CAPACITY <= UINT16_MAX, "the entries of a page are counted in 16 bits");

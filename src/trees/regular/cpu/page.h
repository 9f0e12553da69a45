/* A page of leaves of the object's widths: trees/regular/layout.h draws it. */
#pragma once

#include "cpu/driver.h"
#include "cpu/unit.h"
#include "trees/regular/layout.h"

#define FANOUT        (64u / (uint32_t)sizeof(KEY) + 1)
#define PAGE_SLOTS    (FANOUT * FANOUT)
#define LEAF_CAPACITY (COPSE_LEAF_UNITS * UNIT_ENTRIES)

/* What sums, minima and maxima need of a page, in addition to the unit that a range begins or ends in: a line for each leaf and kind. Sums know
 * every second unit, so that one of two neighbours is where any place in them is counted from; extremes know fifths of the leaf. */
#define SUMS_UNTIL    6u
#define LEAF_FIFTHS   5u
#define FIFTH_UNITS   3u
#define FIFTH_ENTRIES (FIFTH_UNITS * UNIT_ENTRIES)
_Static_assert(COPSE_LEAF_UNITS == FIFTH_UNITS * LEAF_FIFTHS, "fifths are of units");

/* The lower 64 bits of each sum, and what is above them. */
typedef struct leaf_sums {
    _Alignas(64) uint64_t ahead; /* of the leaves in front, in the page   */
    uint64_t until[SUMS_UNTIL];  /* of the leaf's units in front of 2, 4, ... 12 */
    int16_t ahead_upper;
    int8_t upper[SUMS_UNTIL];
} leaf_sums;
_Static_assert(VALUE_BITS == 32 || (PAGE_SLOTS * LEAF_CAPACITY <= INT16_MAX && LEAF_CAPACITY <= INT8_MAX),
               "upper bits of sums");

/* One kind of extreme, as in copse_aggregate. A range that begins or ends in the leaf takes one number for the rest of the page. */
typedef struct leaf_extremes {
    _Alignas(64) uint64_t fifth[LEAF_FIFTHS];
    uint64_t ahead, behind; /* of the leaves in front of this one and of those behind it, in the page */
    uint64_t count;         /* entries of the leaf                                                    */
} leaf_extremes;

typedef struct page_values {
    leaf_sums sums[PAGE_SLOTS]; /* integers */
    leaf_extremes lows[PAGE_SLOTS], highs[PAGE_SLOTS];
    uint64_t low[PAGE_SLOTS], high[PAGE_SLOTS]; /* of whole leaves, as the next two */
    union {
        copse_wide leaf_sum[PAGE_SLOTS]; /* integers */
        double float_sum[PAGE_SLOTS];
    };
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

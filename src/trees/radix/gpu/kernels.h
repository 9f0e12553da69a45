/*
 * The kernels of the radix tree: their arguments, and the table of them that each backend has. A tree on a device has the bytes of
 * trees/radix/layout.h, one flat array for each type: item i begins at i times the stride of the type.
 */
#pragma once

#include "device/device.h"
#include "trees/radix/layout.h"

#define COPSE_RADIX_THREADS 256u

/* A tree as kernels see it. */
typedef struct copse_radix_view {
    copse_radix_link root; /* 0: empty */
    uint32_t width;        /* of a value */
    unsigned char *pool[COPSE_RADIX_TYPES];
} copse_radix_view;

/* Byte strings of a caller in memory that kernels reach. Kernels check them: no offset may fall, or leave low .. high. */
typedef struct copse_radix_strings {
    const void *offsets;
    const unsigned char *data; /* the byte of offset `low` */
    int64_t low, high;
    int64_t end;    /* the offset behind the last string; negative: it is in the array */
    uint64_t first; /* position of string 0 in the caller's batch, for reports */
    uint32_t wide;  /* 1: offsets have 64 bits */
} copse_radix_strings;

/* Words of reports: the least position of a string that is not sound, of lows and of highs; some range was too wide;
 * how many keys are missing. */
enum { COPSE_RADIX_UNSOUND = 0, COPSE_RADIX_UNSOUND_HIGH = 1, COPSE_RADIX_TOO_WIDE = 2, COPSE_RADIX_MISSING = 3 };

typedef struct copse_radix_find_arguments {
    copse_radix_view tree;
    copse_radix_strings keys;
    uint64_t n;
    void *values; /* either may be NULL */
    uint8_t *found;
    uint64_t *report;
} copse_radix_find_arguments;

/* Leaves that a call gives, one for each of n: links, 0 for none, and in `sizes` the bytes of their keys. */
typedef struct copse_radix_leaves {
    uint64_t n;
    copse_radix_link *links;
    uint64_t *sizes; /* one more than n, the last of which is 0 */
} copse_radix_leaves;

typedef struct copse_radix_neighbour_arguments {
    copse_radix_view tree;
    copse_radix_strings keys;
    uint32_t which; /* copse_neighbour */
    copse_radix_leaves to;
    uint64_t *report;
} copse_radix_neighbour_arguments;

typedef struct copse_radix_range_arguments {
    copse_radix_view tree;
    copse_radix_strings lows, highs;
    uint32_t has_low, has_high, above, below, prefix, descending;
    uint64_t n;
    uint64_t limit;           /* entries of a range; 0: all */
    uint64_t most;            /* entries that one thread goes along; where a range has more, the report says so */
    copse_radix_link *starts; /* the first leaf of each range in its direction; NULL: not wanted */
    uint64_t *counts;
    uint64_t *sizes; /* bytes of all keys of each range; NULL: not wanted */
    uint64_t *report;
} copse_radix_range_arguments;

/* The leaves of ranges: those of range i from position offsets[i] on. */
typedef struct copse_radix_row_arguments {
    copse_radix_view tree;
    const copse_radix_link *starts;
    const uint64_t *offsets;
    uint64_t n;
    uint32_t descending;
    copse_radix_leaves to;
} copse_radix_row_arguments;

/* What is wanted of leaves. `from.sizes` has been summed up: where the key of each begins. */
typedef struct copse_radix_give_arguments {
    copse_radix_view tree;
    copse_radix_leaves from;
    void *offsets; /* of n + 1 keys */
    uint32_t wide;
    unsigned char *data;
    void *values;
    uint8_t *found;
} copse_radix_give_arguments;

/* Values of keys that are there, of which the last of the batch counts. A first kernel finds the leaves and puts the greatest position of
 * each into a table, a second one writes those that are in it. */
typedef struct copse_radix_claim {
    copse_radix_link leaf; /* 0: free */
    uint64_t position;
} copse_radix_claim;

typedef struct copse_radix_upsert_arguments {
    copse_radix_view tree;
    copse_radix_strings keys;
    const void *values;
    uint64_t n;
    copse_radix_claim *claims; /* at the start all zero */
    uint32_t claim_bits;       /* 2^claim_bits of them, at least 2 n */
    uint32_t *places;          /* of each key in the table, UINT32_MAX for one that is missing */
    uint64_t *missing;         /* keys that are not there, or not sound; behind it how many of each type of leaf */
    uint32_t *pending;         /* which they are; those of equal keys are there several times */
    uint32_t partly;           /* 0: nothing is written where a key is missing */
    uint32_t keep;             /* 1: nothing is written at all                 */
    uint32_t *ahead[COPSE_RADIX_TYPES]; /* a bit for each page of the leaves whose values the host does not have */
    uint64_t *report;
} copse_radix_upsert_arguments;

/*
 * Keys that are new. In each round every pending key looks for the place where its leaf is to hang, and those that want the same place agree
 * on one of them, which hangs its leaf there; the others come again. A place is a link in a node. A leaf that hangs changes the link, and perhaps
 * the node that it leads to: whoever wants a place in a node that may change waits for the next round.
 */
typedef struct copse_radix_group {
    uint64_t place; /* 0: free */
    uint32_t best;  /* of those that want it, the greatest number from the end of the pending ones */
    uint32_t count; /* how many do */
} copse_radix_group;

/* Where a key is to go. */
typedef struct copse_radix_spot {
    copse_radix_link node, link; /* above: 0 is the root; and what hangs there */
    copse_radix_link other;      /* a leaf that shares `common` bytes with the key; 0: the key has come already */
    uint32_t common;
    uint32_t group;
} copse_radix_spot;

/* What rounds count. */
typedef struct copse_radix_tally {
    copse_radix_link root;
    uint64_t later, made, freed;
    uint64_t levels, crowd; /* the most */
    uint64_t taken[COPSE_RADIX_TYPES];
} copse_radix_tally;

typedef struct copse_radix_insert_arguments {
    copse_radix_view tree;
    copse_radix_strings keys;
    uint64_t keys_n;
    const void *values;
    uint32_t first; /* 1: of equal keys the first counts, else the last */
    const uint32_t *pending;
    uint32_t *later;
    uint64_t n; /* pending */
    copse_radix_spot *spots;
    copse_radix_group *groups; /* both at the start of a round all zero, 2^bits of them, at least 2 n */
    uint64_t *changing;        /* nodes that a leaf may change: their places */
    uint32_t bits;
    copse_radix_tally *tally;
    /* Items that are free: first those of an array, then those behind the last one that was ever taken. */
    const uint64_t *hand[COPSE_RADIX_TYPES];
    uint64_t hand_n[COPSE_RADIX_TYPES], used[COPSE_RADIX_TYPES];
    copse_radix_link *made, *freed; /* leaves that came, and nodes that went */
    uint32_t *ahead[COPSE_RADIX_TYPES];
} copse_radix_insert_arguments;

/* Pages of pools between the host's tree and the device's: page i of `pages` belongs at at[i]. */
#define COPSE_RADIX_PAGE 1024u
typedef struct copse_radix_page_arguments {
    unsigned char *pages;
    unsigned char *const *at;
    uint64_t n;
    uint32_t back; /* 1: from the pools to `pages` */
} copse_radix_page_arguments;

typedef struct copse_radix_kernels {
    copse_kernel find, neighbours, ranges, rows, give, claim, upsert, locate, hang, settle, pages;
} copse_radix_kernels;

#ifdef __cplusplus
extern "C" {
#endif
extern const copse_radix_kernels copse_radix_kernels_emulated, copse_radix_kernels_cuda;
#ifdef __cplusplus
}
#endif

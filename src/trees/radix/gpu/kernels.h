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
 * keys are missing, and keys are there: not 0. */
enum {
    COPSE_RADIX_UNSOUND = 0,
    COPSE_RADIX_UNSOUND_HIGH = 1,
    COPSE_RADIX_TOO_WIDE = 2,
    COPSE_RADIX_MISSING = 3,
    COPSE_RADIX_PRESENT = 4
};

typedef struct copse_radix_find_arguments {
    copse_radix_view tree;
    copse_radix_strings keys;
    uint64_t n;
    void *values; /* either may be NULL */
    uint8_t *found;
    uint64_t *report;
    /* Of trees whose leaves are not all on the device (gpu/apart.c): */
    copse_radix_rest *rest; /* lookups that the CPU has to finish, in any order, */
    uint64_t *rest_n;       /* and how many they are */
    uint32_t long_skipped;  /* 1: those of long keys from the root on */
} copse_radix_find_arguments;

/* Answers of the CPU to the lookups that were left to it, on their way to arrays in device memory. */
typedef struct copse_radix_scatter_arguments {
    const copse_radix_rest *rest;
    uint64_t n;
    uint32_t width;
    const void *answers; /* values, of the width of 0, 4 or 8 bytes, */
    const uint8_t *there;
    void *values; /* go where each lookup wants them; either may be NULL */
    uint8_t *found;
} copse_radix_scatter_arguments;

/* Keys of fixed width (trees/radix/fixed/fixed.h): found, */
typedef struct copse_radix_fixed_find_arguments {
    copse_radix_view tree;
    copse_type type;
    const void *keys;
    uint64_t first; /* position of key 0 in the caller's batch, for reports */
    uint64_t n;
    void *values; /* either may be NULL */
    uint8_t *found;
    uint64_t *report; /* NULL: no key can be NaN */
} copse_radix_fixed_find_arguments;

/* and turned into strings, or back. */
typedef struct copse_radix_fixed_arguments {
    copse_type type;
    void *keys;
    uint64_t n;
    unsigned char *data;
    void *offsets; /* n + 1, of 64 bits */
    uint64_t *report;
} copse_radix_fixed_arguments;

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

/* Values of the leaves of a range, added up in their order as core/aggregate.h does it. */
typedef struct copse_radix_total {
    uint64_t low, high; /* of the 128-bit sum of integers */
    double real;        /* the sum of floats */
    uint64_t smallest, largest;
} copse_radix_total;

typedef struct copse_radix_total_arguments {
    copse_radix_view tree;
    copse_type type; /* of values */
    const copse_radix_link *starts;
    const uint64_t *counts;
    uint64_t n;
    copse_radix_total *totals;
} copse_radix_total_arguments;

/*
 * Ranges with more entries than one thread goes along (gpu/wide.c): the leaves of all of them are put into one list in key order, of which each
 * is an interval. Levels of nodes lead there, from the root down: those on the way to the ends of such ranges, and all that lie between the
 * ends of one. Of the former the list has leaves that are in no range; they harm nobody.
 */
typedef struct copse_radix_wide {
    uint64_t range;
    copse_radix_link first, behind; /* its first leaf, and the one behind its last; 0: there is none */
    uint64_t from, to;              /* where it is in the list */
} copse_radix_wide;

typedef struct copse_radix_level {
    uint64_t n;
    copse_radix_link *nodes; /* in order */
    uint64_t *kids;          /* n + 1: from where on the nodes below each are in the next level */
    uint64_t *leaves;        /* listed ones below each; later the number of the first of them   */
} copse_radix_level;

#define COPSE_RADIX_TOTALED      64u /* items of a level of totals that the next level has one for */
#define COPSE_RADIX_TOTAL_LEVELS 6u

typedef struct copse_radix_list_arguments {
    copse_radix_view tree;
    copse_radix_range_arguments asked;
    uint32_t *marks[COPSE_RADIX_NODE256 + 1]; /* at the start all 0 */
    copse_radix_wide *wide;                   /* in any order */
    uint64_t n;
    uint64_t *wide_n; /* [0]: how many, [1]: how many have been put */
    copse_radix_level level, below;
    copse_radix_link *list;
    uint64_t list_n;
    uint64_t *lengths;       /* of the keys of the list, summed up; NULL: not wanted */
    uint64_t *ends;          /* entries of the wide ranges, summed up; NULL: not wanted */
    const uint64_t *offsets; /* of all ranges, whose entries go there: */
    copse_radix_leaves to;
    uint64_t rows;
    copse_type type; /* of values */
    uint32_t levels; /* of totals */
    copse_radix_total *totals[COPSE_RADIX_TOTAL_LEVELS];
    copse_radix_total *results; /* of all ranges */
} copse_radix_list_arguments;

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
    const void *values; /* NULL: positions, */
    copse_type type;    /* as this type     */
    uint64_t n;
    copse_radix_claim *claims;          /* at the start all zero */
    uint32_t claim_bits;                /* 2^claim_bits of them, at least 2 n */
    uint32_t *places;                   /* of each key in the table, UINT32_MAX for one that is missing */
    uint64_t *missing;                  /* [0]: keys are missing, or not sound; [1]: keys are there: not 0 */
    uint32_t partly;                    /* 0: nothing is written where a key is missing */
    uint32_t keep;                      /* 1: nothing is written at all                 */
    uint32_t match;                     /* 1: keys with another value are missing       */
    uint32_t *ahead[COPSE_RADIX_TYPES]; /* a bit for each page of the leaves whose values the host does not have */
    uint64_t *report;
} copse_radix_upsert_arguments;

/*
 * The keys of a batch in order (gpu/order.c). Strings are sorted by words of 8 bytes, the last word first, and of those only by the bits in
 * which keys differ; then by what distinguishes them they become a list without equal ones. Keys that have more words than are sorted by are merged
 * among each other before: what is behind those words they then have in order, as others have their lengths.
 */
#define COPSE_RADIX_SORT_WORDS 32u
#define COPSE_RADIX_SORT_BYTES (8u * COPSE_RADIX_SORT_WORDS)
#define COPSE_RADIX_LENGTHS    COPSE_RADIX_SORT_WORDS /* instead of a word: the length, of longer keys one byte more */

typedef struct copse_radix_survey {
    uint64_t longest, shortest;              /* the latter as its complement */
    uint64_t longer;                         /* keys of more than COPSE_RADIX_SORT_BYTES */
    uint64_t ties;                           /* not 0: words that are next to each other are equal */
    uint64_t different;                      /* keys */
    uint64_t differ[COPSE_RADIX_SORT_WORDS]; /* bits in which some word differs from that of the first key */
} copse_radix_survey;

typedef struct copse_radix_order_arguments {
    copse_radix_strings keys;
    uint64_t keys_n;
    const uint32_t *places; /* those that are UINT32_MAX are wanted; NULL: all */
    uint32_t *positions;    /* n of them, in the order so far */
    uint64_t n;
    uint32_t word;
    uint64_t *words;  /* of each */
    uint64_t run;     /* positions that are in order already, a power of two: of two such runs becomes one */
    uint32_t *merged; /* there */
    copse_radix_survey *survey;
    uint64_t *ranks; /* 1 for those that count, and their sums */
    uint32_t first;  /* 1: of equal keys the first counts, else the last */
    uint32_t *
        unique; /* positions of different keys, in order; and bytes in common with the next of them, -1 behind the last: */
    int32_t *common;
    uint32_t *sorted,
        *ends; /* not NULL: all positions in order, and behind which of them those of each different key end */
} copse_radix_order_arguments;

/*
 * A mixed batch (gpu/apply.c), whose operations are in the order of keys, and for each key in that of the batch: a thread goes through those of one
 * key, answers them, and says how the key ends. For what is to be done then, one position of the key has its value, and `places` says: as for an
 * update, UINT32_MAX is a key that comes, and its place among the claims one whose value changes. All other positions have the claim of nobody.
 */
enum { COPSE_RADIX_COMES, COPSE_RADIX_GOES, COPSE_RADIX_CHANGES, COPSE_RADIX_FATES };

typedef struct copse_radix_apply_arguments {
    copse_radix_view tree;
    copse_type type; /* of values */
    const uint8_t *operations;
    const void *values; /* NULL: there are none */
    const uint32_t *positions, *ends;
    uint64_t n;                /* different keys */
    copse_radix_claim *claims; /* nobody's: one more behind them */
    uint32_t nobody;
    uint32_t *places;
    uint32_t *going; /* positions of keys that go */
    void *finals;    /* values of keys that come or change, at their position */
    void *out_values;
    uint8_t *out_found;
    uint64_t *fates; /* how many keys have each */
} copse_radix_apply_arguments;

/*
 * Keys in order become trees (gpu/forest.c). `common` between neighbours has the shape of them: where it is -1, one tree ends and the next
 * begins. A node is a *chain* of borders with the same depth and none lower between them; its first border stands for it.
 *
 *   keys       car   card   care   dog   dot
 *   common         3      3      0     2      -1
 *   chains         3------3      |     |            node of depth 3: car (end), card, care
 *                                |     2            node of depth 2: dog, dot
 *                                0                  node of depth 0: both
 *
 * Whatever is made, leaf or node, is attached to the border that it hangs at: the deeper one of those on its two sides.
 */
#define COPSE_RADIX_LEVELS     8u
#define COPSE_RADIX_LEVEL_BITS 4u

/* What kernels count. */
typedef struct copse_radix_tally {
    copse_radix_link root;
    uint64_t heads; /* trees */
    uint64_t later, freed, erased;
    uint64_t levels, crowd; /* the most */
    uint64_t fits;          /* units of long leaves in front of the end of the gap */
    uint64_t needed[COPSE_RADIX_TYPES];
    uint64_t taken[COPSE_RADIX_TYPES];
    uint64_t gone[COPSE_RADIX_TYPES];  /* of `freed`, those of each type */
    uint64_t spare[COPSE_RADIX_TYPES]; /* how many of them are in the arrays of free items */
} copse_radix_tally;

/* Items that are free: first those of an array, from its end, then those behind the last one that was ever taken. */
typedef struct copse_radix_items {
    const uint64_t *hand[COPSE_RADIX_TYPES];
    uint64_t hand_n[COPSE_RADIX_TYPES], used[COPSE_RADIX_TYPES];
    uint64_t known
        [COPSE_RADIX_TYPES]; /* items up to here the host has ever had; of all behind them it lacks the pages anyway */
    uint64_t gap;            /* units of the heap up to a place that no long leaf may lie across */
    uint32_t *ahead[COPSE_RADIX_TYPES]; /* pages that the host does not have; NULL: it has none of the type yet */
} copse_radix_items;

/* Items that became free go to the ends of the arrays. */
typedef struct copse_radix_spare_arguments {
    const copse_radix_link *freed;
    uint64_t n;
    uint64_t *ends[COPSE_RADIX_TYPES];
    uint64_t *count; /* of each type, how many have gone there: at the start 0 */
} copse_radix_spare_arguments;

/* Free blocks of long leaves. New leaves take those of their class from the end of its group; the rest stays free. */
typedef struct copse_radix_blocks {
    copse_radix_link *free; /* in any order: links to leaves that they had room for */
    uint64_t n;             /* 0: there are none, and nothing else either           */
    uint32_t width;
    copse_radix_link *grouped;
    uint64_t *begins; /* of each class how many there are, and one 0 more; summed up, where its group begins */
    uint64_t *taken;  /* of each class; more where there were not enough. At the start all 0                */
    uint64_t *rest;   /* how many stayed free */
} copse_radix_blocks;

typedef struct copse_radix_forest_arguments {
    copse_radix_view tree;
    copse_radix_strings keys;
    uint64_t keys_n;
    const void *values;    /* NULL: positions are the values, */
    copse_type value_type; /* as this type                    */
    uint64_t n;            /* different keys */
    const uint32_t *unique;
    int32_t *level[COPSE_RADIX_LEVELS]; /* `common`, and the least of each 16 of the level before */
    uint32_t levels, make;              /* how many; the one to be made */
    /* Of the first border of a chain: the first key of the node, later how many links it has; else UINT32_MAX. */
    uint32_t *start;
    uint32_t *next;  /* the next border that is not deeper */
    int16_t *symbol; /* by which the key in front of the border leaves the node */
    uint64_t *node;  /* of the first border of a chain: where it ends, and how many links it has; later the node */
    copse_radix_link *left, *right; /* what hangs at a border */
    copse_radix_link *roots;        /* of a tree, by its first key    */
    uint32_t *heads;                /* first keys of trees            */
    uint32_t leaf_type;             /* 0: `sizes` is to be filled for a type, else what is counted */
    uint64_t *sizes;                /* items of the type in front of each leaf */
    copse_radix_blocks blocks;
    uint64_t *picks; /* of a long leaf: index + 1 of the block that it takes; 0: it takes new items */
    copse_radix_items items;
    copse_radix_tally *tally;
} copse_radix_forest_arguments;

/*
 * Trees come to the tree. In each round every pending one looks for the place where it is to hang: a link in a node. Of those that want the
 * same place, all that share as many bytes with what is there hang in one node, which one thread makes or changes; the others come again.
 * Whoever wants a place in a node that may change in this round waits for the next. Those that hang in one node do so in one round, whatever
 * is made above it before: the first round knows all nodes that will be made.
 */
typedef struct copse_radix_group {
    uint64_t place; /* 0: free */
    uint32_t head;  /* number + 1 of one that wants it */
    uint32_t count; /* how many do */
} copse_radix_group;

/* Where a key is to go, or where it is. */
typedef struct copse_radix_spot {
    copse_radix_link node, link; /* above: 0 is the root; and what hangs there */
    copse_radix_link other;      /* a leaf that shares `common` bytes with the key */
    uint32_t common;
    uint32_t group;
    uint32_t next;    /* number + 1 of another that wants the place */
    uint32_t joining; /* in the table of nodes that change          */
    int32_t symbol;   /* by which the key leaves the node           */
} copse_radix_spot;

typedef struct copse_radix_insert_arguments {
    copse_radix_view tree;
    copse_radix_strings keys;
    uint64_t keys_n;
    const uint32_t *unique;
    copse_radix_spot *first; /* the spot of each key */
    int32_t *common;         /* with the next key; it becomes -1 where keys share more with the tree */
    uint64_t unique_n;
    const copse_radix_link *roots;
    const uint32_t *pending; /* first keys of trees */
    uint32_t *later;
    uint64_t n;     /* pending */
    uint32_t again; /* 1: spots are to be looked for */
    copse_radix_spot *spots;
    copse_radix_group *groups; /* both at the start of a round all zero, 2^bits of them, at least 2 n */
    /* The same by the node: of what hangs there the link with the depth of the node as its extent. count: how many besides the end. */
    copse_radix_group *nodes;
    uint32_t bits;
    copse_radix_tally *tally;
    copse_radix_items items;
    copse_radix_link *freed; /* nodes that went */
} copse_radix_insert_arguments;

/*
 * Keys that go. In each round every pending key goes down to what is to be taken away: its leaf, or a node that has become empty. All that
 * goes from one node is taken by one thread, which then makes the node smaller, or puts its last link in its place; a node without any is
 * taken from the node above in the next round.
 */
typedef struct copse_radix_erase_arguments {
    copse_radix_view tree;
    copse_radix_strings keys;
    const copse_radix_link *leaves; /* not NULL: the keys of these, some of which may be there several times, instead */
    uint64_t keys_n;
    copse_radix_claim *claims; /* of the leaves: where a key is several times, one of its positions goes on */
    uint32_t claim_bits;
    uint32_t *places;
    uint32_t *pending;
    uint32_t *later;
    uint64_t n;
    copse_radix_spot *spots;   /* node: the one that loses `link`; other: the one above it */
    copse_radix_group *groups; /* by node; count: how many have been put */
    uint32_t bits;
    copse_radix_tally *tally;
    copse_radix_items items;
    copse_radix_link *freed; /* leaves and nodes that went */
    uint32_t shrink;         /* 1: there are items for smaller nodes */
} copse_radix_erase_arguments;

/* Pages of pools between the host's tree and the device's: page i of `pages` belongs at at[i]. */
#define COPSE_RADIX_PAGE 1024u
typedef struct copse_radix_page_arguments {
    unsigned char *pages;
    unsigned char *const *at;
    uint64_t n;
    uint32_t back; /* 1: from the pools to `pages` */
} copse_radix_page_arguments;

typedef struct copse_radix_kernels {
    copse_kernel find, find_apart, scatter, neighbours, ranges, totals, rows, give, claim, claim_leaves, upsert, apply,
        pages;
    copse_kernel find_fixed, encode, decode;
    copse_kernel absent, survey, words, merge, ties, ends, unique;
    copse_kernel level, chains, sizes, fits, leaves, nodes, fill, height;
    copse_kernel locate, need, hang;
    copse_kernel doomed, lose, take, spare, blocks_count, blocks_group, blocks_leave;
    copse_kernel wide, descend, leaves_below, lengths, wide_count, wide_rows, list_totals, wide_totals;
} copse_radix_kernels;

#ifdef __cplusplus
extern "C" {
#endif
extern const copse_radix_kernels copse_radix_kernels_emulated, copse_radix_kernels_cuda;
#ifdef __cplusplus
}
#endif

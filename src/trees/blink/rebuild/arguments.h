/* The arguments of the kernels that make a new epoch, and what these count. */
#pragma once

#include "trees/blink/layout.h"
#include "trees/blink/update/arguments.h"

/* What a rebuild counts, all 0 at the start. */
typedef struct copse_rebuild_totals {
    /* base_leaf_lists: leaves in the list, and tiles that this makes. All tiles read them, so they share no line with
     * what changes. */
    uint32_t leaves, tiles;
    uint64_t came[COPSE_POOL_STRIPES];   /* entries that the operations insert: the sum counts */
    uint64_t went[COPSE_POOL_STRIPES];   /* ... and erase */
    uint64_t entries;                    /* of the new epoch */
    uint64_t took;                       /* tile_independent: operations that tiles found */
    uint64_t not_low, high;              /* ... ~smallest and largest key outside the bounds of the old epoch, or 0 */
    uint32_t ticket;                     /* the next tile to do, or COPSE_TILES_STOP and some more */
    uint32_t lists;                      /* base_leaf_lists: blocks that have begun */
    copse_pairs_speculation speculation; /* that of the operations */
} copse_rebuild_totals;

/* In `ticket`: some tile has more than fits. No warp begins another, and what was made is no tree. */
#define COPSE_TILES_STOP 0x80000000u

/* Leaves of a tile (rebuild/tile.h), at most: one for each lane of a warp; and entries, by the bytes of one. */
#define COPSE_TILE_LEAVES         32u
#define COPSE_TILE_ENTRIES(bytes) (4608u / (bytes) / 32u * 32u)

/* Fractions of leaves have so many bits behind the point. */
#define COPSE_LEAVES_BITS 24u

/* Blocks of tile_independent that a multiprocessor has at a time. */
#define COPSE_INDEPENDENT_BLOCKS 6u

/* base_leaf_lists: threads of a block, base leaves of each, and leaves besides base leaves that it can count. */
#define COPSE_LIST_THREADS 512u
#define COPSE_LIST_EACH    4u
#define COPSE_LIST_MOST    0x3fffffffu

/* tile_independent: the border between two tiles, or an end of all of them. */
typedef struct copse_tile_edge {
    uint64_t high;     /* the largest key of the tile in front */
    uint32_t from, to; /* operations whose keys equal it, but for the bits that they are not sorted by */
    uint32_t first;    /* leaf of the new epoch with which the tile behind begins */
    uint32_t usual;    /* 1: `high` lies between the keys of the tree and has the bits of `alike` */
} copse_tile_edge;

/* Moves all entries, and those of a batch, into a new epoch: tile by tile, or base leaf by base leaf. */
typedef struct copse_rebuild_arguments {
    copse_blink_tree from;
    copse_blink_tree to;
    copse_blink_operations operations;
    const uint32_t *base_leaves, *offsets; /* see copse_locate_arguments */
    const uint64_t *effects;               /* ... the sums in front of each operation, and one more behind the last */
    uint32_t tile_base_leaves;             /* base leaves of the old epoch in a tile; the last one may have fewer */
    uint32_t tiles;                        /* 0: base leaf by base leaf */
    uint32_t chains;                       /* 0: all leaves are base leaves */
    /* tile_independent: leaves of the new epoch, times 2^COPSE_LEAVES_BITS. */
    uint64_t leaves_per_base_leaf, leaves_per_entry, leaves_per_operation;
    /* Entries of the new epoch in front of each base leaf of the old one; tile_independent: NULL, or entries of the old
     * epoch in front of each tile, and of all. */
    uint64_t *before;
    uint64_t *words;  /* what each tile, or block of base_leaf_lists, publishes (rebuild/tile.h), all 0 at the start */
    uint32_t *starts; /* first operation of each tile or base leaf, and one more */
    copse_tile_edge *edges; /* of all tiles, and one more */
    /* tile_independent, where a tile has listed leaves: */
    uint32_t *order;    /* NULL, or the numbers of all leaves in key order */
    uint32_t leaves;    /* that `order` has room for: as many as totals->leaves or more; `tiles` follows from it */
    const void *input;  /* NULL, or the keys as they came: the speculation gets to know whether they look sorted */
    uint64_t low, high; /* bounds of the keys of the old epoch */
    /* tile_independent: only keys that have the bits of `alike` which the mask names are certain to be sorted. */
    uint64_t alike, alike_mask;
    copse_rebuild_totals *totals; /* tile by tile */
    uint32_t *last;               /* of each new leaf the digest of `high`, or `high` itself where it has 32 bits */
} copse_rebuild_arguments;

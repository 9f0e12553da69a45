/*
 * The bytes of the B-link tree, and of the B+ tree that shares its leaves. docs/BLINK.md describes both trees; only
 * this file draws their bytes.
 *
 * A leaf is one line of 128 bytes. Keys are sorted. Free slots hold the largest key and value 0.
 *
 *   u64 keys, u64 values: 7 entries               u32 keys, u32 values: 14 entries
 *     0  | k0 | k1 | ... | k6 | state next |        0  | k0 | k1 | ....... | k13 | state | next |
 *    64  | high | v0 | v1 | ......... | v6 |       64  | high | - | v0 | v1 | ............. | v13 |
 *
 *   u32 keys, u64 values: 9 entries               u64 keys, u32 values: 9 entries
 *     0  | k0 | ... | k8 | state | next | high |    0  | k0 | k1 | ...................... | k8 (to 71) |
 *    56  | v0 | v1 | .................... | v8 |   72  | state | next | high | v0 | ...... | v8 | - |
 *
 *   state   bit 31: a writer has latched the leaf; bit 30: the line is a branch, see below; bits 8..29: version, which
 *           every change raises by 1; bits 0..7: entries
 *   next    number of the leaf to the right, COPSE_LEAF_NONE in the last one
 *   high    the high key: no key of this leaf is greater, now or ever; the last leaf has the largest key
 *
 * Leaves 0 .. base_leaves - 1, the *base leaves*, are in key order, and inner levels without pointers (core/levels.h)
 * lead to them. Splits take leaves from the *pool*, whose numbers begin with `pool_first`. The inner levels do not know
 * them:
 *
 *   blink   A split leaf links to its right half, and the right half to what was right of both. A reader whose key is
 *           greater than `high` steps right. The leaves that splits put between a base leaf and the next one are its
 *           *overflow chain*.
 *   bplus   There are no links to the right. A base leaf that splits moves into the pool, and its line becomes a
 *           *branch*: keys are the `high` of up to as many leaves as a leaf has slots, values are their numbers (32 bits
 *           each).
 *
 *   inner levels    [ . | . | . ]
 *                  /      |      \
 *   base leaves  [ 0 ] -> [ 1 ] -> [ 2 ]         blink: leaf 1 was split; leaf 3 is the overflow chain of base leaf 1
 *                            \     /
 *   pool                      [ 3 ]
 *
 * Leaves lie in *segments* of equal size, 2^segment_shift leaves each, and a table has the addresses: leaf i is leaf i
 * % 2^segment_shift of segment i / 2^segment_shift. The last segment with base leaves may end right behind them; then
 * the pool begins with the next segment, else right behind the last base leaf. Segments never move: readers may be in
 * them.
 *
 *   table      [      .      |      .      |         .         |  .   |   |   ]
 *                     |             |                |            |
 *   segments   [ base leaves ][ base leaves ][ base leaves, pool ][ pool ]
 *
 * Long overflow chains would have to be walked. So a B-link tree keeps an *overflow directory* of their leaves, sorted:
 *
 *   lows           [ l0 | l1 | l2 | ... ]        the lower bound of each: all of its keys are greater
 *   leaves         [ 40 | 43 | 41 | ... ]        their numbers
 *   base leaves    [  7 |  7 |  9 | ... ]        the base leaves to whose chains they belong
 *   nodes          [ separators | ... ]          levels over `lows`, as over base leaves, root first
 *
 * Lower bounds never move, so an entry stays right as long as the epoch lives. It is a hint: who comes to a leaf by it goes
 * on to the right, as from a base leaf. Base leaves and entries together, in key order, are the *anchors* of a tree: the leaves
 * from one anchor up to the next are few. The anchor of base leaf b is b, plus the entries of chains in front of it; that of entry
 * e of base leaf b is b + 1 + e.
 *
 * There are two directories, so that an update writes one while readers use the other. `version` is 2k + 1 while the k+1st
 * is being written and 2k + 2 once it is complete; the directory to use is number version / 2 % 2.
 *
 * When overflow chains or branches hold too many leaves, a rebuild moves all entries to new base leaves, with new
 * segments and new inner levels: a new *epoch*.
 */
#pragma once

#include "gpu/shared_kernels.h"

#define COPSE_LEAF_BYTES    128u
#define COPSE_LEAF_NONE     UINT32_MAX
#define COPSE_LEAF_LATCH    0x80000000u
#define COPSE_LEAF_BRANCH   0x40000000u
#define COPSE_LEAF_COUNT    0x000000ffu
#define COPSE_LEAF_SEQUENCE 0x00000100u /* what a change adds */
/* Leaves of an anchor, about: an update that passes along more has them put into the directory. A branch has as many as a leaf
 * has slots, and no more than this. */
#define COPSE_CHAIN_MOST 16u
/* Anchors that an update notes for that; the rest is for later ones. */
#define COPSE_WINDERS 64u
/* A check that passes along so many leaves takes the chain for a circle. */
#define COPSE_CHAIN_CIRCLE 4096u
/* Warps take leaves of the pool through this many counters, so that they do not queue at one: the k-th leaf of stripe s
 * is leaf k * COPSE_POOL_STRIPES + s of the pool. */
#define COPSE_POOL_STRIPES 64u

/* Levels of a directory, at most: 9^10 entries are more than there are leaves. */
#define COPSE_DIRECTORY_HEIGHT 11u

typedef struct copse_blink_directory {
    uint64_t lows, leaves, base_leaves, nodes; /* addresses */
    uint32_t entries, height;
    uint32_t first[COPSE_DIRECTORY_HEIGHT + 1u]; /* node of each level, root first, and how many there are */
} copse_blink_directory;

typedef struct copse_blink_directories {
    uint32_t version, unused;
    copse_blink_directory slot[2];
    uint32_t winders[COPSE_WINDERS]; /* first leaves of anchors along which an update passed too many leaves */
} copse_blink_directories;

/* A tree as kernels see it. */
typedef struct copse_blink_tree {
    uint64_t entries;
    uint32_t base_leaves; /* at least one: an empty tree is one empty leaf */
    uint32_t pool_first;  /* number of the first leaf of the pool */
    uint32_t pool_leaves; /* that the pool has room for, a multiple of the stripes */
    uint32_t branches;    /* 1: a B+ tree */
    uint32_t unique;      /* 1: no two entries have equal keys */
    copse_type key_type, value_type;
    uint32_t segment_shift;     /* a segment has 2^segment_shift leaves */
    uint32_t pool_grows;        /* 1: the pool may get segments while a kernel runs */
    uint32_t directory_entries; /* of the overflow directory; 0 as well where a writer may be at work */
    const uint64_t *segments;   /* their addresses */
    copse_blink_directories *directories;
    copse_device_levels levels;
} copse_blink_tree;

/* Base leaves and entries of the overflow directory. */
static inline uint64_t copse_blink_anchors(const copse_blink_tree *tree)
{
    return (uint64_t)tree->base_leaves + tree->directory_entries;
}

/* What the host has to know about the leaves of one pair of widths. The kernels' own figures: node/leaf.h. */
typedef struct copse_leaf_shape {
    uint32_t slots;      /* entries of one leaf, at most */
    uint32_t packed_two; /* entries that a rebuild puts into two neighbouring base leaves */
    uint32_t high;       /* where in a leaf its high key lies */
} copse_leaf_shape;

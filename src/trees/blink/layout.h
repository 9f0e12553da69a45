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
/* Leaves of an overflow chain, at most: an update that passes along more has the tree rebuilt. A branch has as many as
 * a leaf has slots, and no more than this. */
#define COPSE_CHAIN_MOST 16u
/* A check that passes along so many leaves takes the chain for a circle. */
#define COPSE_CHAIN_CIRCLE 4096u
/* Warps take leaves of the pool through this many counters, so that they do not queue at one: the k-th leaf of stripe s
 * is leaf k * COPSE_POOL_STRIPES + s of the pool. */
#define COPSE_POOL_STRIPES 64u

/* A tree as kernels see it. */
typedef struct copse_blink_tree {
    uint64_t entries;
    uint32_t base_leaves; /* at least one: an empty tree is one empty leaf */
    uint32_t pool_first;  /* number of the first leaf of the pool */
    uint32_t pool_leaves; /* that the pool has room for, a multiple of the stripes */
    uint32_t branches;    /* 1: a B+ tree */
    uint32_t unique;      /* 1: no two entries have equal keys */
    copse_type key_type, value_type;
    uint32_t segment_shift;   /* a segment has 2^segment_shift leaves */
    uint32_t pool_grows;      /* 1: the pool may get segments while a kernel runs */
    const uint64_t *segments; /* their addresses */
    copse_device_levels levels;
} copse_blink_tree;

/* What the host has to know about the leaves of one pair of widths. The kernels' own figures: node/leaf.h. */
typedef struct copse_leaf_shape {
    uint32_t slots;      /* entries of one leaf, at most */
    uint32_t packed_two; /* entries that a rebuild puts into two neighbouring base leaves */
    uint32_t high;       /* where in a leaf its high key lies */
} copse_leaf_shape;

/*
 * The regular tree: leaves that are changed in place, pointer-free inner levels with room to grow on top.
 *
 * A leaf is 16 cache lines. The first is the last inner level, addressed with the leaf (as in the HB+-tree's big
 * leaves); the other 15 are units (cpu/unit.h), filled from the front:
 *
 *   line 0     | digest of the largest key of unit 0 .. 13, u32 each | base and shift of the digests, u64 |
 *   line 1..15 | unit 0 | unit 1 | ... | unit 14 |
 *
 * Leaves hang in a table of slots in key order. The slots belong, `fanout` at a time, to the nodes of the last level of
 * the inner levels (levels.h, full separators); in each such group the used slots come first:
 *
 *   levels      [root][......][................]
 *   slots       [L L L . ][L L L . ][L L . . ]...      L: pointer to a leaf, . : free (NULL)
 *   fences      [ largest key that each leaf may hold ]; the last is the maximum, free slots repeat the one before
 *   counts      [ entries of each leaf ]
 *   below       [ entries of each group ], and of 16, 256, ... groups, with running sums: ranks without a scan
 *
 * A new leaf goes into a free slot of its group. Where the group is full, the leaves of a wider stretch (fanout^2,
 * fanout^3, ... slots) are spread evenly again, the smallest that is not too full; where the whole table is, it grows.
 * So inner nodes need no pointers, no splits and no latches, and a walk is the implicit tree's walk plus two steps.
 *
 * A location is slot * 256 + position in the leaf.
 *
 * Invariants besides the obvious ones: slot 0 is used unless the tree is empty; with duplicates, a key that exists is in
 * the first leaf whose fence is not smaller than it.
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

#define COPSE_RANK_LEVELS 12

/* The table of slots and all that is kept per slot or per group; replaced as a whole when it grows or shrinks. */
typedef struct copse_leaf_table {
    uint64_t groups; /* nodes of the last level    */
    uint64_t slots;  /* groups * fanout            */
    char **leaf;     /* [slots]; NULL: free        */
    void *fence;     /* KEY[slots]: no key of the leaf is greater, no key of the next one is smaller */
    uint8_t *count;  /* [slots] entries            */
    copse_levels levels;
    uint16_t *ahead; /* [slots] entries of the slots before it in its group */
    uint32_t rank_height;
    uint64_t *below[COPSE_RANK_LEVELS];  /* entries of each group, of each 16 groups, ...            */
    uint64_t *before[COPSE_RANK_LEVELS]; /* entries of its predecessors among those that share a parent */
    uint64_t below_nodes[COPSE_RANK_LEVELS];
    void *memory;
    size_t bytes;
} copse_leaf_table;

typedef struct copse_regular {
    uint64_t entries;
    uint64_t leaves;
    copse_leaf_table table;
    copse_leaf_pool pool;

    /* Made by the first aggregate call, kept up to date by updates from then on. One item per slot. */
    pthread_mutex_t lock;
    atomic_bool summary_tried;
    bool has_summary;
    copse_summary summary;
} copse_regular;

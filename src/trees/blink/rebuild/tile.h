/*
 * Template: rebuilding a tree together with a batch, a tile at a time.
 *
 * A tile is a number of consecutive base leaves, or listed leaves, and the operations whose keys belong there;
 * operations with equal keys are always in the same tile. One warp has a tile, all of it in shared memory:
 *
 *   rows           the leaves as they are, 32 at most
 *   keys, values   | entries after the operations, without gaps | ...
 *                    0 ................................... count    TILE_ENTRIES
 *
 *   tile_starts        finds the first operation of each tile, a thread per tile: the steps of a search wait for each other
 *   tile_lookback      writes the entries of each tile after the operations as leaves of the new epoch
 *   tile_finish        closes the last leaf of the tree, once the host knows which one that is
 *   base_leaf_lists    lists all leaves in key order, where there are more than base leaves: rebuild/leaf_lists.h
 *   tile_edges         finds the borders of tiles that do not wait for each other: rebuild/tile_batch.h
 *   tile_independent   ... and writes them: rebuild/tile_independent.h
 *
 * First each operation, one to a lane, looks its key up in the rows. An entry that it inserts goes to its final
 * position at once, and bit k of `inserted` says that position k is taken. Then each lane takes a row and moves the
 * entries of that leaf to the positions that are left, in order. So an entry moves once within shared memory, and a
 * warp has 32 leaves under way with few instructions. At the end a word of a new leaf is a word of shared memory, at
 * the same distance for every leaf.
 *
 * In tile_lookback a tile has to know how many entries there are in front of it, its *rank*. It finds that by decoupled
 * look-back. Each tile publishes a word:
 *
 *   0                it has not published yet
 *   COUNTED | n      the tile has n entries after the operations
 *   SUMMED  | n      the tile and all tiles in front of it have n
 *
 * A tile publishes its own count, adds up the words in front of it, back to the first that is a sum, and publishes the
 * sum. Warps take tiles by tickets, in order: the tiles that one waits for have been begun, and each of them waits for
 * earlier ones only, so that the waiting ends whatever the scheduler does.
 *
 * Where leaves have crowded into a place, a tile may have more of them than fit into shared memory. Without operations of its own it
 * is moved in *pieces* of 32 leaves: the warp adds up the entries of all of them, publishes the sum, and moves one piece behind the
 * other. Any other tile that does not fit stops the work, and the host tries another strategy.
 */
#pragma once

#include "gpu/kernel.h"
#include "trees/blink/node/row.h"
#include "trees/blink/rebuild/arguments.h"

#define TILE_ENTRIES COPSE_TILE_ENTRIES(KEY_BITS / 8u + VALUE_BITS / 8u)
#define TILE_WORDS                                                                                                     \
    (TILE_ENTRIES / 32u + 2u) /* of a bit set; readers may look at the two words from position TILE_ENTRIES on */
#define TILE_OPERATIONS 4096u /* with more, one warp would still work when all others have finished */
#define TILE_PIECES     32u   /* times COPSE_TILE_LEAVES that a tile may have: one warp would work for too long */
#define TILE_WARPS      (COPSE_KERNEL_THREADS / SIMT_WARP)
/* Pairs of leaves that a lane stores at a time. */
#define TILE_TWOS 4u
/* A step of a search leaves 1/TILE_FANOUT of what the step before left. */
#define TILE_FANOUT 8u

/* A word of the look-back: what its value is, and the value. */
#define WORD_COUNTED ((uint64_t)1 << 62)
#define WORD_SUMMED  ((uint64_t)2 << 62)
#define WORD_VALUE   (WORD_COUNTED - 1u)
/* Words that a lane reads in one step of a look-back, at most. */
#define LOOK_MOST 4u

/* 32-bit words of the key or value that a lane stores; the compiler knows the number where both have as many. */
#define ROLE_WORDS(role) (KEY_BITS == VALUE_BITS ? ROW_KEY : (role)->words)

/* The tile of a warp. */
typedef struct leaf_tile {
    simt_u32x4 rows[COPSE_TILE_LEAVES * LEAF_PIECES]; /* see tile_word */
    KEY keys[TILE_ENTRIES];
    uint32_t bank_gap
        [16]; /* a warp reads the words of a leaf at once: its keys come from some banks, its values from others */
    VALUE values[TILE_ENTRIES];
    uint32_t inserted[TILE_WORDS], removed[TILE_WORDS]; /* bit sets: positions after and before the operations */
    uint32_t fronts[COPSE_TILE_LEAVES];                 /* entries in front of each leaf */
    union {
        uint32_t leaves[COPSE_TILE_LEAVES]; /* their numbers, where they are not contiguous, until they have arrived */
        KEY highs[COPSE_TILE_LEAVES];       /* then their `high`, and the largest key where there is no leaf */
    };
    uint32_t changes[COPSE_TILE_LEAVES]; /* entries that are inserted into each leaf, and << 16 that are removed */
} leaf_tile;

/* What a warp knows about its tile. */
typedef struct tile_sizes {
    uint32_t leaves;       /* that are in shared memory */
    uint32_t behind, all;  /* leaves that had no room there, and where there are some, the entries of the whole tile */
    uint32_t entries;      /* before the operations */
    uint32_t came, went;   /* inserted and removed by them */
    uint32_t front, count; /* entries in front of the leaf of this lane, and its own */
} tile_sizes;

/* Where the words that a lane stores of each entry begin in the tile. */
SIMT_DEVICE uint32_t *tile_own(leaf_tile *tile, const row_role *role)
{
    return (role->value ? (uint32_t *)tile->values : (uint32_t *)tile->keys) + role->which;
}

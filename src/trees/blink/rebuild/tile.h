/*
 * Template: rebuilding a tree together with a batch, a tile at a time.
 *
 * A tile is some consecutive base_leaves, or leaves, and the operations whose keys belong there; operations with equal keys are always in
 * the same one. One warp has a tile, all of it in shared memory:
 *
 *   rows           the leaves of the base_leaves as they are, 32 at most
 *   keys, values   | entries after the operations, close together | ...
 *                    0 ..................................... count    TILE_ENTRIES
 *
 *   tile_starts    the first operation of each tile: a thread per tile, since looking for it takes steps that wait for each other
 *   tile_lookback      the entries of the tile after the operations, as rows of the new version
 *   tile_finish    makes the last leaf of the tree a last leaf, once the host knows which one that is
 *   base_leaf_lists     leaves in the order of their keys, where they do not lie like that: blink/rebuild/leaf_lists.h
 *   tile_edges, tile_independent    tiles that do not wait for each other: blink/rebuild/tile_batch.h, blink/rebuild/tile_independent.h
 *
 * First each operation, one to a lane, looks its key up in the rows. An entry that comes goes to its final position at once, and bit k
 * of `inserted` says that position k has one. Then each lane takes a row and puts the entries of that leaf to the positions that are
 * left, in order. So an entry is moved once within shared memory, and a warp has 32 leaves under way with few instructions.
 * In the end a word of a new leaf is a word of shared memory, at the same distance for every leaf.
 *
 * In tile_lookback a tile has to know how many entries there are in front of it, its *rank*. It learns that from the tiles in front of it. Each has
 * a word:
 *
 *   0                nothing is known yet
 *   COUNTED | n      the tile has n entries after the operations
 *   SUMMED  | n      it and all tiles in front of it have
 *
 * A tile says how many it has, adds up the words in front of it, back to the first that is a sum, and says the sum. Tiles are
 * taken by tickets, in order: those that a tile waits for are at work already, and each of them waits for earlier ones only, so
 * that the waiting ends whatever runs when.
 *
 * A tile that does not fit stops the work, and the host takes another way.
 */
#ifndef COPSE_TREES_BLINK_REBUILD_TILE_H
#define COPSE_TREES_BLINK_REBUILD_TILE_H

#include "core/widths.h"
#include "gpu/shared_kernels.h"
#include "simt/simt.h"
#include "trees/blink/layout.h"
#include "trees/blink/node/row.h"

#define TILE_ENTRIES COPSE_TILE_ENTRIES(KEY_BITS / 8u + VALUE_BITS / 8u)
#define TILE_WORDS                                                                                                     \
    (TILE_ENTRIES / 32u + 2u) /* of a bit set; one may look at the two words from position TILE_ENTRIES on */
#define TILE_OPERATIONS 4096u /* more would keep one warp at work while the others have long finished */
#define TILE_WARPS      (COPSE_KERNEL_THREADS / SIMT_WARP)
/* Leaves, two by two, that a lane has on their way to memory at a time. */
#define TILE_TWOS 4u
/* Parts that a thread looks at in one step of its search. */
#define TILE_PARTS 8u

/* A word: what its value is, and the value. */
#define WORD_COUNTED ((uint64_t)1 << 62)
#define WORD_SUMMED  ((uint64_t)2 << 62)
#define WORD_VALUE   (WORD_COUNTED - 1u)
/* Words that a lane looks at in one step, at most. */
#define LOOK_MOST 4u

/* Words of an entry's part that belongs to a lane; known to the compiler where all have as many. */
#define ROLE_WORDS(role) (KEY_BITS == VALUE_BITS ? ROW_KEY : (role)->words)

/* The tile of a warp. */
typedef struct leaf_tile {
    simt_u32x4 rows[COPSE_TILE_LEAVES * LEAF_PIECES]; /* see tile_word */
    KEY keys[TILE_ENTRIES];
    uint32_t
        apart[16]; /* the words of a leaf are read and written at once: its keys in some banks, its values in others */
    VALUE values[TILE_ENTRIES];
    uint32_t inserted[TILE_WORDS], removed[TILE_WORDS]; /* bit sets: positions after and before the operations */
    uint32_t fronts[COPSE_TILE_LEAVES];                 /* entries in front of each leaf                        */
    union {
        uint32_t
            leaves[COPSE_TILE_LEAVES]; /* their numbers, where they do not lie side by side, until they have come */
        KEY highs[COPSE_TILE_LEAVES];  /* then their `high`, and the largest key where there are none             */
    };
    uint32_t changes[COPSE_TILE_LEAVES]; /* entries that come to each leaf, and << 16 that go     */
} leaf_tile;

/* What a warp knows about its tile. */
typedef struct tile_sizes {
    uint32_t leaves;
    uint32_t entries;      /* before the operations                              */
    uint32_t came, went;   /* with them                                          */
    uint32_t front, count; /* entries in front of the leaf of this lane, and its own */
} tile_sizes;

/* Where a lane's words of entries lie, from the first entry of the tile on. */
SIMT_DEVICE uint32_t *tile_own(leaf_tile *tile, const row_role *role)
{
    return (role->value ? (uint32_t *)tile->values : (uint32_t *)tile->keys) + role->which;
}

#endif

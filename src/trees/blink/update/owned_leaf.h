/*
 * Template: a leaf that one lane holds, for sorted batches (blink/update/apply.h). The lane has it in 32 words of its own, and every loop
 * over them is unrolled, so that they stay in registers: a warp changes 32 leaves at once, with few instructions.
 *
 * Between memory and registers leaves go through shared memory, where every lane has a row: eight lanes move a leaf together,
 * 16 bytes each, so that memory sees whole lines. All lanes of a warp take part in these moves; those with `go` have a leaf to move.
 *
 *   row of lane l    | 16 bytes | ... eight pieces of the leaf ... | address, pieces, - |    nine pieces: eight lanes that read
 *                                                                                            the same piece of their rows use all banks
 *
 * The ninth piece says where the leaf lies and which of its pieces are to be stored, so that its lane looks that up once for all
 * eight lanes that move it.
 *
 * Where readers are concurrent (`shared`), the lane latches its leaf, stores it and releases it as blink/update/unsorted.h says.
 */
#pragma once

#include "trees/blink/node/change.h"
#include "trees/blink/node/leaf.h"
#include "trees/blink/node/row.h"
#include "trees/blink/update/arguments.h"

#define ROW_PIECES  (LEAF_PIECES + 1u)
#define ALL_PIECES  ((1u << LEAF_PIECES) - 1u)
#define KEY_WORDS   (KEY_BITS / 32u)
#define VALUE_WORDS (VALUE_BITS / 32u)
#define APPLY_WARPS (COPSE_KERNEL_THREADS / SIMT_WARP)
/* Entries that stay in the left half of a leaf that splits. */
#define LEAF_HALF ((LEAF_SLOTS + 1u) / 2u)

/* The leaf that a lane holds. */
typedef struct own_leaf {
    uint32_t word[LEAF_WORDS];
    uint32_t number;
    uint32_t base_leaf;
    uint32_t untouched;     /* entries in front of the first one that changed; LEAF_WORDS: none did, 0: all may have */
    uint32_t steps;         /* to the right, from the base leaf on */
    bool base_leaf_changed; /* some leaf of the base leaf was */
} own_leaf;

typedef struct sorted_update {
    const copse_apply_arguments *a;
    simt_u32x4 *rows; /* of this warp */
    bool repeats;     /* all keys are inserted, behind their equals */
    uint32_t came, went;
} sorted_update;

/* The compiler has to know `slot` in all of these, so that the leaf stays in registers. */
SIMT_DEVICE KEY own_key(const own_leaf *own, uint32_t slot)
{
#if KEY_BITS == 64
    return (uint64_t)own->word[slot * 2u + 1u] << 32 | own->word[slot * 2u];
#else
    return own->word[slot];
#endif
}

SIMT_DEVICE void own_set_key(own_leaf *own, uint32_t slot, KEY key)
{
    own->word[slot * KEY_WORDS] = (uint32_t)key;
#if KEY_BITS == 64
    own->word[slot * 2u + 1u] = (uint32_t)(key >> 32);
#endif
}

SIMT_DEVICE VALUE own_value(const own_leaf *own, uint32_t slot)
{
#if VALUE_BITS == 64
    return (uint64_t)own->word[LEAF_VALUES / 4u + slot * 2u + 1u] << 32 | own->word[LEAF_VALUES / 4u + slot * 2u];
#else
    return own->word[LEAF_VALUES / 4u + slot];
#endif
}

SIMT_DEVICE void own_set_value(own_leaf *own, uint32_t slot, VALUE value)
{
    own->word[LEAF_VALUES / 4u + slot * VALUE_WORDS] = (uint32_t)value;
#if VALUE_BITS == 64
    own->word[LEAF_VALUES / 4u + slot * 2u + 1u] = (uint32_t)(value >> 32);
#endif
}

SIMT_DEVICE KEY own_high(const own_leaf *own)
{
#if KEY_BITS == 64
    return (uint64_t)own->word[LEAF_HIGH / 4u + 1u] << 32 | own->word[LEAF_HIGH / 4u];
#else
    return own->word[LEAF_HIGH / 4u];
#endif
}

SIMT_DEVICE void own_set_high(own_leaf *own, KEY high)
{
    own->word[LEAF_HIGH / 4u] = (uint32_t)high;
#if KEY_BITS == 64
    own->word[LEAF_HIGH / 4u + 1u] = (uint32_t)(high >> 32);
#endif
}

SIMT_DEVICE uint32_t own_count(const own_leaf *own)
{
    return own->word[LEAF_STATE / 4u] & COPSE_LEAF_COUNT;
}

/* --- memory ---------------------------------------------------------------------------------------------------------------- */

/* Notes in the row of this lane where leaf `number` lies and which of its pieces the other lanes are to move; 0: none. */
SIMT_DEVICE void row_order(const sorted_update *s, uint32_t number, uint32_t pieces)
{
    simt_u32x4 order = {0, 0, pieces, 0};
    if (pieces) {
        const uint64_t address = (uint64_t)leaf_at(&s->a->tree, number);
        order.x = (uint32_t)address;
        order.y = (uint32_t)(address >> 32);
    }
    s->rows[simt_lane() * ROW_PIECES + LEAF_PIECES] = order;
}

/* The address of piece `piece_at` of the leaf of lane `owner`; NULL: it is not to be moved. */
SIMT_DEVICE simt_u32x4 *row_piece(const sorted_update *s, uint32_t owner, uint32_t piece_at)
{
    const simt_u32x4 order = s->rows[owner * ROW_PIECES + LEAF_PIECES];
    return order.z >> piece_at & 1u ? (simt_u32x4 *)((uint64_t)order.y << 32 | order.x) + piece_at : NULL;
}

/* Loads the leaves of lanes with `go` into their registers. */
SIMT_DEVICE void own_fetch(const sorted_update *s, own_leaf *own, bool go)
{
    const uint32_t piece_at = simt_lane() % LEAF_PIECES;
    const simt_u32x4 *row = s->rows + simt_lane() * ROW_PIECES;
    row_order(s, own->number, go ? ALL_PIECES : 0);
    __syncwarp(SIMT_FULL_MASK);
    SIMT_UNROLL
    for (uint32_t r = 0; r < SIMT_WARP; r += SIMT_WARP / LEAF_PIECES) {
        const uint32_t owner = r + simt_lane() / LEAF_PIECES;
        const simt_u32x4 *from = row_piece(s, owner, piece_at);
        if (from) simt_fetch16(s->rows + owner * ROW_PIECES + piece_at, from);
    }
    simt_fetch_wait();
    __syncwarp(SIMT_FULL_MASK);
    if (go) {
        SIMT_UNROLL
        for (uint32_t p = 0; p < LEAF_PIECES; p++) {
            const simt_u32x4 piece = row[p];
            own->word[p * 4u] = piece.x;
            own->word[p * 4u + 1u] = piece.y;
            own->word[p * 4u + 2u] = piece.z;
            own->word[p * 4u + 3u] = piece.w;
        }
        own->word[LEAF_STATE / 4u] &= ~COPSE_LEAF_LATCH;
        own->untouched = LEAF_WORDS;
    }
    __syncwarp(SIMT_FULL_MASK);
}

/* Stores the pieces that each lane names in `pieces` from its row to its leaf `number`. */
SIMT_DEVICE void rows_store(const sorted_update *s, uint32_t number, uint32_t pieces)
{
    const uint32_t piece_at = simt_lane() % LEAF_PIECES;
    row_order(s, number, pieces);
    __syncwarp(SIMT_FULL_MASK);
    SIMT_UNROLL
    for (uint32_t r = 0; r < SIMT_WARP; r += SIMT_WARP / LEAF_PIECES) {
        const uint32_t owner = r + simt_lane() / LEAF_PIECES;
        simt_u32x4 *to = row_piece(s, owner, piece_at);
        if (to) *to = s->rows[owner * ROW_PIECES + piece_at];
    }
    __syncwarp(SIMT_FULL_MASK);
}

/* Stores all words but the state, each whole: concurrent readers may load them. */
SIMT_DEVICE void own_store_words(const own_leaf *own, char *leaf)
{
    SIMT_UNROLL
    for (uint32_t w = 0; w < LEAF_WORDS; w++)
        if (w != LEAF_STATE / 4u) simt_store_relaxed_u32((uint32_t *)leaf + w, own->word[w]);
}

/* Pieces of 16 bytes that have changed: that with the state, and those with keys or values from the first changed entry on. */
SIMT_DEVICE uint32_t own_pieces(const own_leaf *own)
{
    const uint32_t keys = (1u << (LEAF_SLOTS * KEY_BITS / 8u + 15u) / 16u) - 1u;
    const uint32_t values = ALL_PIECES & ~((1u << LEAF_VALUES / 16u) - 1u);
    const uint32_t key = own->untouched * KEY_BITS / 128u;
    const uint32_t value = (LEAF_VALUES + own->untouched * VALUE_BITS / 8u) / 16u;
    if (own->untouched == 0) return ALL_PIECES;
    return 1u << LEAF_STATE / 16u | (keys >> key << key) | (values >> value << value);
}

/* Copies the lane's leaf to its row. */
SIMT_DEVICE void own_to_row(const sorted_update *s, const own_leaf *own)
{
    simt_u32x4 *row = s->rows + simt_lane() * ROW_PIECES;
    SIMT_UNROLL
    for (uint32_t p = 0; p < LEAF_PIECES; p++) {
        simt_u32x4 piece;
        piece.x = own->word[p * 4u];
        piece.y = own->word[p * 4u + 1u];
        piece.z = own->word[p * 4u + 2u];
        piece.w = own->word[p * 4u + 3u];
        row[p] = piece;
    }
}

/* Latches a leaf. A plain store will do: no other writer can have it. */
SIMT_DEVICE void own_latch(const sorted_update *s, uint32_t number)
{
    if (!s->a->shared) return;
    uint32_t *state = (uint32_t *)(leaf_at(&s->a->tree, number) + LEAF_STATE);
    simt_store_relaxed_u32(state, simt_load_relaxed_u32(state) | COPSE_LEAF_LATCH);
    __threadfence(); /* orders what follows behind the latch */
}

/* Where readers are concurrent a lane stores its leaf itself. In a B-link tree that gives the latch back, in a B+ tree the base leaf
 * keeps it. */
SIMT_DEVICE void own_release(const sorted_update *s, const own_leaf *own, bool changed)
{
    char *leaf = leaf_at(&s->a->tree, own->number);
    uint32_t *state = (uint32_t *)(leaf + LEAF_STATE);
    if (changed) own_store_words(own, leaf);
    if (s->a->tree.branches)
        simt_store_relaxed_u32(state, own->word[LEAF_STATE / 4u] |
                                          (own->number < s->a->tree.base_leaves ? COPSE_LEAF_LATCH : 0));
    else
        simt_store_release_u32(state, own->word[LEAF_STATE / 4u]);
}

/* Writes the leaves of lanes with `go` back where they were changed. */
SIMT_DEVICE void own_put_back(const sorted_update *s, own_leaf *own, bool go)
{
    const bool changed = go && own->untouched != LEAF_WORDS;
    if (changed) own->word[LEAF_STATE / 4u] = state_after(own->word[LEAF_STATE / 4u], own_count(own));
    if (go && s->a->shared) own_release(s, own, changed);
    if (changed && !s->a->shared) own_to_row(s, own);
    if (!s->a->shared) rows_store(s, own->number, changed ? own_pieces(own) : 0);
    if (go) own->untouched = LEAF_WORDS;
}

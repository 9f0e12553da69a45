/* Template: splits of leaves that lanes hold (blink/update/owned_leaf.h); all lanes of a warp that have to split do so together. */
#pragma once

#include "trees/blink/node/change.h"
#include "trees/blink/node/leaf.h"
#include "trees/blink/node/row.h"
#include "trees/blink/update/owned_leaf.h"

/* What a word of a leaf is. The compiler has to know `w` in all of these, so that the leaf stays in registers. */
SIMT_DEVICE bool is_key_word(uint32_t w)
{
    return w < LEAF_SLOTS * KEY_WORDS;
}

SIMT_DEVICE bool is_value_word(uint32_t w)
{
    return w >= LEAF_VALUES / 4u && w < LEAF_VALUES / 4u + LEAF_SLOTS * VALUE_WORDS;
}

SIMT_DEVICE uint32_t slot_of_word(uint32_t w)
{
    return is_key_word(w) ? w / KEY_WORDS : (w - LEAF_VALUES / 4u) / VALUE_WORDS;
}

/* How a leaf is halved. */
typedef struct leaf_halves {
    uint32_t keep;  /* entries of the left half: LEAF_HALF, or all */
    KEY middle;     /* the greatest of them                        */
    uint32_t next;  /* of the left half                            */
    uint32_t state; /* of the left half                            */
} leaf_halves;

/* Word w of the right half as a leaf of its own. */
SIMT_DEVICE uint32_t upper_word(const own_leaf *own, const leaf_halves *halves, uint32_t w)
{
    const uint32_t from = w + LEAF_HALF * (is_key_word(w) ? KEY_WORDS : VALUE_WORDS);
    if (w == LEAF_STATE / 4u) return LEAF_SLOTS - halves->keep;
    if (!is_key_word(w) && !is_value_word(w)) return own->word[w];
    if (halves->keep == LEAF_SLOTS || slot_of_word(w) + LEAF_HALF >= LEAF_SLOTS) return is_key_word(w) ? UINT32_MAX : 0;
    return own->word[from < LEAF_WORDS ? from : 0];
}

/* ... and of the left half. */
SIMT_DEVICE uint32_t lower_word(const own_leaf *own, const leaf_halves *halves, uint32_t w)
{
    if (w == LEAF_STATE / 4u) return halves->state;
    if (w == LEAF_NEXT / 4u) return halves->next;
    if (w == LEAF_HIGH / 4u) return (uint32_t)halves->middle;
    if (KEY_BITS == 64 && w == LEAF_HIGH / 4u + 1u) return (uint32_t)((uint64_t)halves->middle >> 32);
    if (is_key_word(w) && slot_of_word(w) >= halves->keep) return UINT32_MAX;
    if (is_value_word(w) && slot_of_word(w) >= halves->keep) return 0;
    return own->word[w];
}

SIMT_DEVICE uint32_t half_word(const own_leaf *own, const leaf_halves *halves, bool upper, uint32_t w)
{
    return upper ? upper_word(own, halves, w) : lower_word(own, halves, w);
}

/* Makes one half of the lane's leaf its leaf. Words move to the front only, so none is overwritten before it is read. */
SIMT_DEVICE void own_keep(own_leaf *own, const leaf_halves *halves, bool upper)
{
    SIMT_UNROLL
    for (uint32_t w = 0; w < LEAF_WORDS; w++) own->word[w] = half_word(own, halves, upper, w);
    own->untouched = 0;
    own->base_leaf_changed = true;
}

/* One half of the lane's leaf into its row. */
SIMT_DEVICE void half_to_row(const sorted_update *s, const own_leaf *own, const leaf_halves *halves, bool upper)
{
    simt_u32x4 *row = s->rows + simt_lane() * ROW_PIECES;
    SIMT_UNROLL
    for (uint32_t p = 0; p < LEAF_PIECES; p++) {
        simt_u32x4 piece;
        piece.x = half_word(own, halves, upper, p * 4u);
        piece.y = half_word(own, halves, upper, p * 4u + 1u);
        piece.z = half_word(own, halves, upper, p * 4u + 2u);
        piece.w = half_word(own, halves, upper, p * 4u + 3u);
        row[p] = piece;
    }
}

/* All words of one half but its state to memory, where readers may look at it as soon as something leads there. */
SIMT_DEVICE void half_to_leaf(const own_leaf *own, const leaf_halves *halves, bool upper, char *to)
{
    SIMT_UNROLL
    for (uint32_t w = 0; w < LEAF_WORDS; w++)
        if (w != LEAF_STATE / 4u) simt_store_relaxed_u32((uint32_t *)to + w, half_word(own, halves, upper, w));
}

/* The greatest of the lower entries. */
SIMT_DEVICE KEY own_middle(const own_leaf *own, uint32_t keep)
{
    KEY middle = 0;
    SIMT_UNROLL
    for (uint32_t slot = 0; slot < LEAF_SLOTS; slot++)
        if (slot + 1u == keep) middle = own_key(own, slot);
    return middle;
}

/* Makes the base leaf of a B+ tree lead to both halves. A base leaf that splits moves to the pool itself. */
SIMT_DEVICE void own_branch(const sorted_update *s, own_leaf *own, KEY middle, uint32_t right)
{
    const copse_blink_tree *tree = &s->a->tree;
    char *branch = leaf_at(tree, own->base_leaf);
    if (own->number >= tree->base_leaves) {
        branch_insert(branch, middle, own->number, right);
        return;
    }
    own->number = pool_take_one(tree, s->a->counters);
    own->word[LEAF_STATE / 4u] &= COPSE_LEAF_COUNT;
    branch_make(branch, middle, own_high(own), own->number, right);
}

/*
 * Takes `wanted` consecutive leaves of a stripe; COPSE_LEAF_NONE where it has not as many. What a lane adds in vain near the end of a
 * stripe stays added: if it took that off again, another lane could get a number that is in use.
 */
SIMT_DEVICE uint32_t stripe_take(const copse_blink_tree *tree, uint32_t *taken, uint32_t wanted)
{
    const uint32_t most = tree->pool_leaves / COPSE_POOL_STRIPES;
    if (simt_load_relaxed_u32(taken) + wanted > most) return COPSE_LEAF_NONE;
    const uint32_t first = simt_atomic_add_u32(taken, wanted);
    return first + wanted <= most ? first : COPSE_LEAF_NONE;
}

/* Leaves of the pool for lanes with `go`, by one addition where one stripe has them all. */
SIMT_DEVICE uint32_t pool_take_all(const sorted_update *s, bool go)
{
    const copse_blink_tree *tree = &s->a->tree;
    const uint32_t lanes = __ballot_sync(SIMT_FULL_MASK, go), wanted = (uint32_t)__popc(lanes);
    const uint32_t stripe = pool_stripe();
    uint32_t first = 0;
    if (simt_lane() == 0) first = stripe_take(tree, &s->a->counters->taken[stripe], wanted);
    first = simt_shfl_u32(SIMT_FULL_MASK, first, 0);
    if (first != COPSE_LEAF_NONE) {
        const uint32_t mine = first + (uint32_t)__popc(lanes & ((1u << simt_lane()) - 1u));
        return tree->pool_first + mine * COPSE_POOL_STRIPES + stripe;
    }
    return go ? pool_take_one(tree, s->a->counters) : COPSE_LEAF_NONE; /* each lane for itself, then */
}

/* Where readers are concurrent: first the right half, complete but for the latch of a lane that goes on with it, then what leads there. */
SIMT_DEVICE void split_concurrent(const sorted_update *s, const own_leaf *own, const leaf_halves *halves,
                                  uint32_t right, bool goes_right)
{
    const copse_blink_tree *tree = &s->a->tree;
    char *left = leaf_at(tree, own->number), *to = leaf_at(tree, right);
    half_to_leaf(own, halves, true, to);
    simt_store_relaxed_u32((uint32_t *)(to + LEAF_STATE),
                           (LEAF_SLOTS - halves->keep) | (!tree->branches && goes_right ? COPSE_LEAF_LATCH : 0));
    if (!goes_right) return;
    half_to_leaf(own, halves, false, left);
    if (tree->branches)
        simt_store_relaxed_u32((uint32_t *)(left + LEAF_STATE), halves->state);
    else
        simt_store_release_u32((uint32_t *)(left + LEAF_STATE), halves->state);
}

/*
 * Splits full leaves before an insertion of k at `slot`, and goes on with the half where k belongs; the other half is stored. Where k is
 * greater than all entries these all stay, so that keys which arrive in order leave full leaves behind.
 */
SIMT_DEVICE void own_split(const sorted_update *s, own_leaf *own, KEY k, uint32_t slot, bool go)
{
    const copse_blink_tree *tree = &s->a->tree;
    const uint32_t right = pool_take_all(s, go);
    leaf_halves halves;
    halves.keep = slot == LEAF_SLOTS ? LEAF_SLOTS : LEAF_HALF;
    halves.middle = own_middle(own, halves.keep);
    const bool splits = go && right != COPSE_LEAF_NONE,
               goes_right = splits && (halves.middle < k || slot > halves.keep ||
                                       slot == LEAF_SLOTS); /* k may equal what is in front */
    if (splits && tree->branches) own_branch(s, own, halves.middle, right);
    halves.next = tree->branches ? COPSE_LEAF_NONE : right;
    halves.state = state_after(own->word[LEAF_STATE / 4u], halves.keep);
    if (splits && s->a->shared) split_concurrent(s, own, &halves, right, goes_right);
    if (splits && !s->a->shared) half_to_row(s, own, &halves, !goes_right);
    if (!s->a->shared) rows_store(s, goes_right ? own->number : right, splits ? ALL_PIECES : 0);
    if (splits) own_keep(own, &halves, goes_right);
    if (goes_right) own->number = right;
}

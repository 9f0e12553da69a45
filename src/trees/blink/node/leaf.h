/*
 * Template: leaves of the B-link and the B+ tree, for one lane that reads them while no writer is at work. The drawing is in
 * blink/layout.h.
 */
#pragma once

#include "gpu/kernel.h"
#include "trees/blink/layout.h"
#include "trees/blink/node/directory.h"

#if KEY_BITS == VALUE_BITS
#define LEAF_SLOTS  (448u / KEY_BITS)
#define LEAF_STATE  56u
#define LEAF_HIGH   64u
#define LEAF_VALUES 72u
#elif KEY_BITS == 32
#define LEAF_SLOTS  9u
#define LEAF_STATE  36u
#define LEAF_HIGH   44u
#define LEAF_VALUES 56u
#else
#define LEAF_SLOTS  9u
#define LEAF_STATE  72u
#define LEAF_HIGH   80u
#define LEAF_VALUES 88u
#endif
#define LEAF_NEXT (LEAF_STATE + 4u)
/* Lanes that work on one leaf together, an entry each: more than a leaf has. */
#define LEAF_LANES (KEY_BITS == 64 && VALUE_BITS == 64 ? 8u : 16u)

/* Entries that two leaves get when a tree is packed: room for some more, within the memory that a key may take. */
#define LEAF_PACKED_TWO (KEY_BITS != VALUE_BITS ? 15u : KEY_BITS == 32 ? 21u : 11u)

/* Where leaf `number` lies in the segment at `address`. */
SIMT_DEVICE char *leaf_in(const copse_blink_tree *tree, uint64_t address, uint32_t number)
{
    return (char *)address + (uint64_t)(number & ((1u << tree->segment_shift) - 1u)) * COPSE_LEAF_BYTES;
}

/* Where leaf `number` lies. The addresses of segments with base_leaves never change. */
SIMT_DEVICE char *leaf_at(const copse_blink_tree *tree, uint32_t number)
{
    const uint64_t *entry = &tree->segments[number >> tree->segment_shift];
    const bool may_be_new = tree->pool_grows && number >= tree->base_leaves;
    return leaf_in(tree, may_be_new ? simt_load_relaxed_u64(entry) : *entry, number);
}

/* The same for a leaf that is a base leaf. */
SIMT_DEVICE char *base_leaf_at(const copse_blink_tree *tree, uint64_t base_leaf)
{
    return leaf_in(tree, tree->segments[base_leaf >> tree->segment_shift], (uint32_t)base_leaf);
}

/* How many base_leaf leaves lie side by side from base_leaf leaf `number` on. An even number of them from an even one on. */
SIMT_DEVICE uint32_t base_leaves_contiguous(const copse_blink_tree *tree, uint32_t number)
{
    return (1u << tree->segment_shift) - (number & ((1u << tree->segment_shift) - 1u));
}

SIMT_DEVICE uint32_t leaf_state(const char *leaf)
{
    return *(const uint32_t *)(leaf + LEAF_STATE);
}

SIMT_DEVICE uint32_t leaf_next(const char *leaf)
{
    return *(const uint32_t *)(leaf + LEAF_NEXT);
}

SIMT_DEVICE KEY leaf_high(const char *leaf)
{
    return *(const KEY *)(leaf + LEAF_HIGH);
}

SIMT_DEVICE KEY leaf_key(const char *leaf, uint32_t slot)
{
    return ((const KEY *)leaf)[slot];
}

SIMT_DEVICE VALUE leaf_value(const char *leaf, uint32_t slot)
{
    return ((const VALUE *)(leaf + LEAF_VALUES))[slot];
}

/* Child `slot` of a branch. */
SIMT_DEVICE uint32_t branch_child(const char *branch, uint32_t slot)
{
    return ((const uint32_t *)(branch + LEAF_VALUES))[slot];
}

/* Entries of a leaf in front of a bound: those < q, or <= q. */
SIMT_DEVICE uint32_t leaf_before(const char *leaf, KEY q, bool or_equal)
{
    const uint32_t count = leaf_state(leaf) & COPSE_LEAF_COUNT;
    uint32_t before = 0;
    SIMT_UNROLL
    for (uint32_t i = 0; i < LEAF_SLOTS; i++) {
        KEY key = leaf_key(leaf, i);
        before += (uint32_t)(key < q) + (uint32_t)((key == q) & (int)or_equal);
    }
    return before < count ? before : count; /* free slots look like the largest key */
}

/* --- the leaves of an anchor, one after the other --------------------------------------------------------------------------- */

/* A leaf on the way along the leaves of one anchor after the other. Without a directory anchors are base leaves. */
typedef struct leaf_cursor {
    uint32_t base_leaf; /* the anchor: node/directory.h */
    uint32_t child;     /* of a branch */
    uint32_t number;
    uint32_t end; /* the first leaf of the next anchor, where that is an entry of the directory; else COPSE_LEAF_NONE */
    uint32_t steps; /* within the anchor */
    const char *leaf;
} leaf_cursor;

/* The first leaf of an anchor, which has these leaves. */
SIMT_DEVICE leaf_cursor cursor_of(const copse_blink_tree *tree, uint32_t anchor, anchor_leaves leaves)
{
    leaf_cursor cursor;
    cursor.base_leaf = anchor;
    cursor.number = leaves.first;
    cursor.end = leaves.end;
    cursor.child = cursor.steps = 0;
    cursor.leaf = leaf_at(tree, cursor.number);
    if (tree->branches && leaf_state(cursor.leaf) & COPSE_LEAF_BRANCH) {
        cursor.number = branch_child(cursor.leaf, 0);
        cursor.leaf = leaf_at(tree, cursor.number);
    }
    return cursor;
}

SIMT_DEVICE leaf_cursor cursor_at(const copse_blink_tree *tree, uint32_t anchor)
{
    return cursor_of(tree, anchor, anchor_at(tree, anchor));
}

/* The next leaf of the same anchor. False: that was the last one. */
SIMT_DEVICE bool cursor_step(const copse_blink_tree *tree, leaf_cursor *cursor)
{
    uint32_t next = COPSE_LEAF_NONE;
    if (tree->branches) {
        const char *branch = leaf_at(tree, cursor->base_leaf);
        const uint32_t state = leaf_state(branch);
        if (state & COPSE_LEAF_BRANCH && cursor->child + 1u < (state & COPSE_LEAF_COUNT))
            next = branch_child(branch, ++cursor->child);
    } else {
        next = leaf_next(cursor->leaf);
        if (next < tree->base_leaves || next == cursor->end) next = COPSE_LEAF_NONE;
    }
    if (next == COPSE_LEAF_NONE) return false;
    cursor->number = next;
    cursor->steps++;
    cursor->leaf = leaf_at(tree, next);
    return true;
}

/*
 * The leaf where q belongs, from the base leaf that the levels led to on: of that base leaf, or of one to its right where digests led
 * too far left. *offset (may be NULL) counts the entries of the same anchor in front of that leaf.
 */
SIMT_DEVICE leaf_cursor cursor_seek(const copse_blink_tree *tree, uint32_t base_leaf, KEY q, uint32_t *offset)
{
    leaf_cursor cursor = cursor_at(tree, anchor_find(tree, base_leaf, q).anchor);
    uint32_t in_front = 0;
    while (leaf_high(cursor.leaf) < q) {
        in_front += leaf_state(cursor.leaf) & COPSE_LEAF_COUNT;
        if (cursor_step(tree, &cursor)) continue;
        cursor = cursor_at(tree, cursor.base_leaf + 1u); /* the last leaf's `high` is the largest key: there is one */
        in_front = 0;
    }
    if (offset) *offset = in_front;
    return cursor;
}

/* Entries of an anchor. */
SIMT_DEVICE uint32_t base_leaf_entries(const copse_blink_tree *tree, uint32_t anchor)
{
    leaf_cursor cursor = cursor_at(tree, anchor);
    uint32_t entries = 0;
    do entries += leaf_state(cursor.leaf) & COPSE_LEAF_COUNT;
    while (cursor_step(tree, &cursor));
    return entries;
}

/* Notes that an update may change a base leaf: bits as read/ranks.c wants them, or NULL. */
SIMT_DEVICE void base_leaf_touch(uint32_t *touched, uint32_t base_leaf)
{
    if (touched) (void)simt_atomic_or_u32(&touched[base_leaf / 32u], 1u << base_leaf % 32u);
}

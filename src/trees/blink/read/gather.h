/*
 * Template: copying entries of the B-link and the B+ tree in key order while no writer is at work: those of ranges that are too long
 * for short_range.h, and those of a stretch of ranks.
 *
 * A warp takes a piece (gpu/gather.h). Its base leaves lie side by side and are numbered in key order, so the warp asks 32 of them at
 * once how many entries they have, a lane each, and does not wait for links. Then some lanes take a leaf, one an entry, and copy it to
 * the output. Where a base leaf has an overflow chain or is a branch, the warp follows that leaf by leaf.
 *
 *   leaves    | 10 entries | 11 | 10 | 11 | ...            a lane to a leaf
 *   fronts    | 8 in front of the piece | 2 | 13 | 23 | ...
 *   lanes     | 0 .. 9  | 16 .. 26 | 0 .. 9 | 16 .. 26 |   u32 keys and values: two leaves at a time
 *   output    | ....................... |
 */
#pragma once

#include "gpu/gather.h"
#include "trees/blink/node/leaf.h"
#include "trees/blink/read/bounds.h"
#include "trees/blink/read/ordered_kernels.h"
#include "trees/blink/read/range.h"

/* Leaves whose entries a warp loads with one access, and accesses on their way at a time. */
#define GATHER_LEAVES (SIMT_WARP / LEAF_LANES)
#define GATHER_LOADS  4u

/* A piece on its way. All lanes have the same. */
typedef struct piece_walk {
    uint64_t skip; /* entries in front of the piece that are still to come */
    uint64_t left; /* of the piece, that are still to come */
    uint64_t at;   /* output position of the next one */
    bool back;     /* the output goes from there to the left */
} piece_walk;

/* How many base leaves there are in front of the first that has more leaves than its own line. `own` is that of this lane, of `some`;
 * *entries: how many it has. */
SIMT_DEVICE uint32_t leaves_alone(const copse_blink_tree *tree, const char *own, uint32_t some, uint32_t *entries)
{
    bool more = false;
    *entries = 0;
    if (simt_lane() < some) {
        const uint32_t state = leaf_state(own), next = leaf_next(own);
        more = tree->branches ? (state & COPSE_LEAF_BRANCH) != 0 : next >= tree->base_leaves && next != COPSE_LEAF_NONE;
        *entries = state & COPSE_LEAF_COUNT;
    }
    const uint32_t lanes = __ballot_sync(SIMT_FULL_MASK, more);
    if (lanes) some = (uint32_t)__ffs((int)lanes) - 1u;
    if (simt_lane() >= some) *entries = 0;
    return some;
}

/* Copies those entries of leaves from `first` on that come behind `skip` others, `count` of them. fronts: in lane i the entries in front of
 * leaf i times 256, and its own. */
SIMT_DEVICE void entries_copy(const copse_blink_copy_arguments *a, const piece_walk *walk, const char *first,
                              uint32_t some, uint32_t fronts, uint32_t count)
{
    const uint32_t skip = (uint32_t)walk->skip, slot = simt_lane() & (LEAF_LANES - 1u);
    KEY key[GATHER_LOADS] = {0};
    VALUE value[GATHER_LOADS] = {0};
    uint32_t at[GATHER_LOADS];
    for (uint32_t leaf = simt_lane() / LEAF_LANES, from = 0; from < some; from += GATHER_LOADS * GATHER_LEAVES) {
        SIMT_UNROLL
        for (uint32_t r = 0; r < GATHER_LOADS; r++, leaf += GATHER_LEAVES) {
            const uint32_t own = simt_shfl_u32(SIMT_FULL_MASK, fronts, leaf);
            at[r] = slot < (own & 255u) ? (own >> 8) + slot - skip : count; /* in front of the piece it wraps */
            if (at[r] >= count) continue;
            const char *line = first + leaf * COPSE_LEAF_BYTES;
            if (a->output.keys) key[r] = leaf_key(line, slot);
            if (a->output.values) value[r] = leaf_value(line, slot);
        }
        SIMT_UNROLL
        for (uint32_t r = 0; r < GATHER_LOADS; r++) {
            if (at[r] >= count) continue;
            const uint64_t to = walk->back ? walk->at - at[r] : walk->at + at[r];
            if (a->output.keys) COPSE_BITS(simt_store_once_u, KEY_BITS)
            ((KEY *)a->output.keys + to, DECODE_ONE(a->tree.key_type, key[r]));
            if (a->output.values) COPSE_BITS(simt_store_once_u, VALUE_BITS)((VALUE *)a->output.values + to, value[r]);
        }
    }
}

/* Takes what some leaves, of which this lane's has `entries`, have of the piece. */
SIMT_DEVICE void leaves_copy(const copse_blink_copy_arguments *a, piece_walk *walk, const char *first, uint32_t some,
                             uint32_t entries)
{
    uint32_t upto = entries;
    SIMT_UNROLL
    for (uint32_t step = 1; step < SIMT_WARP; step *= 2u) {
        const uint32_t other = simt_shfl_up_u32(SIMT_FULL_MASK, upto, step);
        if (simt_lane() >= step) upto += other;
    }
    const uint32_t total = simt_shfl_u32(SIMT_FULL_MASK, upto, SIMT_WARP - 1u);
    if (walk->skip >= total) {
        walk->skip -= total;
        return;
    }
    const uint64_t rest = total - walk->skip, count = walk->left < rest ? walk->left : rest;
    entries_copy(a, walk, first, some, (upto - entries) << 8 | entries, (uint32_t)count);
    walk->at = walk->back ? walk->at - count : walk->at + count;
    walk->left -= count;
    walk->skip = 0;
}

SIMT_DEVICE void leaf_copy(const copse_blink_copy_arguments *a, piece_walk *walk, const char *leaf)
{
    leaves_copy(a, walk, leaf, 1u, simt_lane() == 0 ? leaf_count(leaf) : 0);
}

/* Takes a leaf and the overflow chain behind it, or the leaves of a branch, one after the other. Returns what the last leaf links to,
 * where all were taken. */
SIMT_DEVICE uint32_t chain_copy(const copse_blink_copy_arguments *a, piece_walk *walk, const char *leaf)
{
    const copse_blink_tree *tree = &a->tree;
    if (tree->branches && leaf_state(leaf) & COPSE_LEAF_BRANCH) {
        const uint32_t children = leaf_state(leaf) & COPSE_LEAF_COUNT;
        for (uint32_t i = 0; i < children && walk->left; i++) leaf_copy(a, walk, leaf_at(tree, branch_child(leaf, i)));
        return COPSE_LEAF_NONE;
    }
    for (;;) {
        leaf_copy(a, walk, leaf);
        const uint32_t next = leaf_next(leaf);
        if (!walk->left || next < tree->base_leaves || next == COPSE_LEAF_NONE) return next;
        leaf = leaf_at(tree, next);
    }
}

/* Rounds without an entry after which a warp looks for the next one by rank: so it passes over stretches that were erased. */
#define GATHER_EMPTY 4u

/* Copies the piece, which begins so many entries behind the first one of an anchor. False: it came to a stretch without entries. */
SIMT_DEVICE bool gather_copy(const copse_blink_copy_arguments *a, piece_walk *walk, uint32_t anchor)
{
    const copse_blink_tree *tree = &a->tree;
    uint32_t base_leaf = anchor_at(tree, anchor).first;
    if (base_leaf >= tree->base_leaves) base_leaf = chain_copy(a, walk, leaf_at(tree, base_leaf));
    uint32_t empty = 0;
    while (walk->left && base_leaf < tree->base_leaves) {
        const uint64_t to_come = walk->skip + walk->left;
        if (empty == GATHER_EMPTY) return false;
        /* As many as a packed tree would take: entries that are erased cost another round. */
        const uint64_t wanted = to_come / (LEAF_PACKED_TWO / 2u) + 1u;
        uint32_t some = wanted < SIMT_WARP ? (uint32_t)wanted : SIMT_WARP, entries;
        if (some > tree->base_leaves - base_leaf) some = tree->base_leaves - base_leaf;
        if (some > base_leaves_contiguous(tree, base_leaf)) some = base_leaves_contiguous(tree, base_leaf);
        const char *first = base_leaf_at(tree, base_leaf);
        some = leaves_alone(tree, first + simt_lane() * COPSE_LEAF_BYTES, some, &entries);
        if (some)
            leaves_copy(a, walk, first, some, entries);
        else
            (void)chain_copy(a, walk, first);
        base_leaf += some ? some : 1u;
        empty = walk->skip + walk->left == to_come ? empty + 1u : 0;
    }
    return true;
}

SIMT_DEVICE void piece_copy(const copse_blink_copy_arguments *a, uint64_t location, const gather_piece *piece)
{
    const uint64_t start = location;
    piece_walk walk = {(uint32_t)location, piece->count, piece->at, piece->back};
    while (!gather_copy(a, &walk, (uint32_t)(location >> 32))) {
        location = rank_locate(a, 0, location_rank(&a->before, start) + piece->count - walk.left);
        walk.skip = (uint32_t)location;
    }
}

/* Entries of a range in front of a piece that a warp rather passes along than looks for by rank. */
#define GATHER_NEAR (16u * LEAF_PACKED_TWO / 2u)

SIMT_KERNEL(NAME(gather), copse_blink_copy_arguments, COPSE_KERNEL_THREADS, 8)
{
    uint64_t stop;
    if (!gather_stop(&a.output, &stop)) return;
    if (a.state && !a.state->left) return;
    gather_tiles tiles = gather_open(a.output.first, stop, a.output.offsets[a.output.n]);
    while (gather_next(&tiles)) {
        gather_ranges ranges = ranges_open(&a.output, &tiles, COPSE_LOCATION_DONE);
        gather_piece piece = {0, 0, 0, 0, false};
        while (ranges_piece(&a.output, &tiles, COPSE_LOCATION_DONE, &ranges, &piece)) {
            const uint64_t location = piece.beyond <= GATHER_NEAR
                                          ? piece.location + piece.beyond
                                          : rank_locate(&a, (piece.location >> 32) / COPSE_SUMS_BLOCK,
                                                        location_rank(&a.before, piece.location) + piece.beyond);
            piece_copy(&a, location, &piece);
        }
    }
}

/* Entries by rank, in tiles as those of ranges. */
SIMT_KERNEL(NAME(copy), copse_blink_copy_arguments, COPSE_KERNEL_THREADS, 8)
{
    gather_tiles tiles = gather_open(0, a.output.count, a.output.count);
    while (gather_next(&tiles)) {
        gather_piece piece = {0, 0, 0, 0, false};
        piece.count = tiles.end - tiles.begin;
        piece.at = tiles.begin;
        piece.back = false;
        piece_copy(&a, rank_locate(&a, 0, a.output.first + tiles.begin), &piece);
    }
}

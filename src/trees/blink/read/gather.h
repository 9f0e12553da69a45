/*
 * Template: copying entries of the B-link and the B+ tree in key order while no writer is at work: those of ranges that are too long
 * for short_range.h, and those of a stretch of ranks.
 *
 * A warp takes a piece (gpu/gather.h). Its base leaves lie side by side and are numbered in key order, so the warp loads 16 at
 * once and does not wait for links. The entries go to shared memory, without what is free between them, and from there to the output
 * in runs of whole lines. Where a base leaf has an overflow chain or is a branch, the warp follows that leaf by leaf.
 *
 *   leaves    | 10 entries | 11 | 10 | 11 | ...            eight lanes to a leaf, four loads on their way at a time
 *   stage     | 8 | 11 | 10 | 11 | ...                     in shared memory; 2 were in front of the piece
 *   output            | ....................... |          32 entries to a store
 */
#pragma once

#include "gpu/gather.h"
#include "trees/blink/node/leaf.h"
#include "trees/blink/read/bounds.h"
#include "trees/blink/read/ordered_kernels.h"
#include "trees/blink/read/range.h"

/* Loads of a lane on their way at a time. Each is 16 bytes of a leaf, so that a warp loads four leaves at once. */
#define GATHER_LOADS 4u
#define GATHER_AHEAD (GATHER_LOADS * 4u)
#define GATHER_WARPS (COPSE_KERNEL_THREADS / SIMT_WARP)

typedef struct gather_stage {
    VALUE values[GATHER_AHEAD * LEAF_SLOTS];
    KEY keys[GATHER_AHEAD * LEAF_SLOTS];
} gather_stage;

/* A piece on its way. All lanes have the same. */
typedef struct piece_walk {
    gather_stage *stage;
    uint64_t skip; /* entries in front of the piece that are still to come */
    uint64_t left; /* of the piece, that are still to come */
    uint64_t at;   /* output position of the next one */
    bool back;     /* the output goes from there to the left */
} piece_walk;

/* Up to GATHER_AHEAD leaves that lie side by side: lane i has piece i % 8 of leaf i / 8, then of leaf 4 + i / 8 and so on. */
typedef struct leaf_lines {
    simt_u32x4 piece[GATHER_LOADS];
} leaf_lines;

SIMT_DEVICE void lines_load(const char *first, uint32_t some, leaf_lines *lines)
{
    const simt_u32x4 none = {0, 0, 0, 0};
    SIMT_UNROLL
    for (uint32_t r = 0; r < GATHER_LOADS; r++) {
        const uint32_t leaf = r * 4u + simt_lane() / 8u;
        lines->piece[r] = none;
        if (leaf < some) lines->piece[r] = simt_load16_once(first + leaf * COPSE_LEAF_BYTES + (simt_lane() & 7u) * 16u);
    }
}

/* How many base leaves there are in front of the first that has more leaves than its own line. */
SIMT_DEVICE uint32_t lines_alone(const copse_blink_tree *tree, const leaf_lines *lines, uint32_t some)
{
    uint32_t alone = some;
    SIMT_UNROLL
    for (uint32_t r = GATHER_LOADS; r-- > 0;) {
        const uint32_t state = piece_word(lines->piece[r], LEAF_STATE % 16u / 4u),
                       next = piece_word(lines->piece[r], LEAF_NEXT % 16u / 4u);
        const bool more =
            tree->branches ? (state & COPSE_LEAF_BRANCH) != 0 : next >= tree->base_leaves && next != COPSE_LEAF_NONE;
        const uint32_t lanes = __ballot_sync(SIMT_FULL_MASK, more && (simt_lane() & 7u) == LEAF_STATE / 16u &&
                                                                 r * 4u + simt_lane() / 8u < some);
        if (lanes) alone = r * 4u + ((uint32_t)__ffs((int)lanes) - 1u) / 8u;
    }
    return alone;
}

/* Copies entries from the stage to the output. */
SIMT_DEVICE void stage_flush(const copse_blink_copy_arguments *a, piece_walk *walk, uint32_t entries)
{
    const gather_stage *stage = walk->stage;
    __syncwarp(SIMT_FULL_MASK);
    for (uint32_t i = simt_lane(); i < entries; i += SIMT_WARP) {
        const uint64_t at = walk->back ? walk->at - i : walk->at + i;
        if (a->output.keys) COPSE_BITS(simt_store_once_u, KEY_BITS)
        ((KEY *)a->output.keys + at, DECODE_ONE(a->tree.key_type, stage->keys[i]));
        if (a->output.values)
            COPSE_BITS(simt_store_once_u, VALUE_BITS)((VALUE *)a->output.values + at, stage->values[i]);
    }
    walk->at = walk->back ? walk->at - entries : walk->at + entries;
    __syncwarp(SIMT_FULL_MASK);
}

/* Of each leaf, in lane i of leaf i: the entries in front of it times 256, and its own. *total: of all of them. */
SIMT_DEVICE uint32_t lines_fronts(const leaf_lines *lines, uint32_t some, uint32_t *total)
{
    const uint32_t lane = simt_lane();
    uint32_t count = 0;
    SIMT_UNROLL
    for (uint32_t r = 0; r < GATHER_LOADS; r++) {
        const uint32_t state = simt_shfl_u32(SIMT_FULL_MASK, piece_word(lines->piece[r], LEAF_STATE % 16u / 4u),
                                             (lane & 3u) * 8u + LEAF_STATE / 16u);
        if (lane / 4u == r && lane < some) count = state & COPSE_LEAF_COUNT;
    }
    uint32_t upto = count;
    SIMT_UNROLL
    for (uint32_t step = 1; step < GATHER_AHEAD; step *= 2u) {
        const uint32_t other = simt_shfl_up_u32(SIMT_FULL_MASK, upto, step);
        if (lane >= step) upto += other;
    }
    *total = simt_shfl_u32(SIMT_FULL_MASK, upto, GATHER_AHEAD - 1u);
    return (upto - count) << 8 | count;
}

/* Takes what some leaves have of the piece. */
SIMT_DEVICE void lines_copy(const copse_blink_copy_arguments *a, piece_walk *walk, const leaf_lines *lines,
                            uint32_t some)
{
    uint32_t total;
    const uint32_t fronts = lines_fronts(lines, some, &total);
    if (walk->skip >= total) {
        walk->skip -= total;
        return;
    }
    const uint32_t skip = (uint32_t)walk->skip, eighth = simt_lane() & 7u;
    const uint32_t entries = walk->left < total - skip ? (uint32_t)walk->left : total - skip;
    SIMT_UNROLL
    for (uint32_t r = 0; r < GATHER_LOADS; r++) {
        const uint32_t own = simt_shfl_u32(SIMT_FULL_MASK, fronts, r * 4u + simt_lane() / 8u);
        const uint32_t count = own & 255u,
                       at = (own >> 8) - skip; /* of the first entry; in front of the piece it wraps */
        SIMT_UNROLL
        for (uint32_t j = 0; j < PIECE_KEYS; j++) {
            const uint32_t slot = eighth * PIECE_KEYS + j;
            if (slot < count && at + slot < entries) walk->stage->keys[at + slot] = piece_key(lines->piece[r], j);
        }
        SIMT_UNROLL
        for (uint32_t j = 0; j < 128u / VALUE_BITS; j++) {
            const uint32_t slot = eighth * (128u / VALUE_BITS) + j - LEAF_VALUES / (VALUE_BITS / 8u); /* may wrap */
            if (slot < count && at + slot < entries) walk->stage->values[at + slot] = piece_value(lines->piece[r], j);
        }
    }
    stage_flush(a, walk, entries);
    walk->left -= entries;
    walk->skip = 0;
}

SIMT_DEVICE void line_copy(const copse_blink_copy_arguments *a, piece_walk *walk, const char *leaf)
{
    leaf_lines lines;
    lines_load(leaf, 1u, &lines);
    lines_copy(a, walk, &lines, 1u);
}

/* Takes a leaf and the overflow chain behind it, or the leaves of a branch, one after the other. Returns what the last leaf links to,
 * where all were taken. */
SIMT_DEVICE uint32_t chain_copy(const copse_blink_copy_arguments *a, piece_walk *walk, const char *leaf)
{
    const copse_blink_tree *tree = &a->tree;
    if (tree->branches && leaf_state(leaf) & COPSE_LEAF_BRANCH) {
        const uint32_t children = leaf_state(leaf) & COPSE_LEAF_COUNT;
        for (uint32_t i = 0; i < children && walk->left; i++) line_copy(a, walk, leaf_at(tree, branch_child(leaf, i)));
        return COPSE_LEAF_NONE;
    }
    for (;;) {
        line_copy(a, walk, leaf);
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
        const uint64_t wanted = (walk->skip + walk->left) / (LEAF_PACKED_TWO / 2u) + 1u;
        uint32_t some = wanted < GATHER_AHEAD ? (uint32_t)wanted : GATHER_AHEAD;
        if (some > tree->base_leaves - base_leaf) some = tree->base_leaves - base_leaf;
        if (some > base_leaves_contiguous(tree, base_leaf)) some = base_leaves_contiguous(tree, base_leaf);
        const char *first = base_leaf_at(tree, base_leaf);
        leaf_lines lines;
        lines_load(first, some, &lines);
        some = lines_alone(tree, &lines, some);
        if (some)
            lines_copy(a, walk, &lines, some);
        else
            (void)chain_copy(a, walk, first);
        base_leaf += some ? some : 1u;
        empty = walk->skip + walk->left == to_come ? empty + 1u : 0;
    }
    return true;
}

SIMT_DEVICE void piece_copy(const copse_blink_copy_arguments *a, piece_walk *walk, uint64_t location,
                            const gather_piece *piece)
{
    const uint64_t start = location;
    walk->skip = (uint32_t)location;
    walk->left = piece->count;
    walk->at = piece->at;
    walk->back = piece->back;
    while (!gather_copy(a, walk, (uint32_t)(location >> 32))) {
        location = rank_locate(a, 0, location_rank(&a->before, start) + piece->count - walk->left);
        walk->skip = (uint32_t)location;
    }
}

SIMT_DEVICE piece_walk piece_open(gather_stage *stages)
{
    piece_walk walk;
    walk.stage = &stages[simt_warp()];
    walk.skip = walk.left = walk.at = 0;
    walk.back = false;
    return walk;
}

/* Entries of a range in front of a piece that a warp rather passes along than looks for by rank. */
#define GATHER_NEAR (GATHER_AHEAD * LEAF_PACKED_TWO / 2u)

SIMT_KERNEL(NAME(gather), copse_blink_copy_arguments, COPSE_KERNEL_THREADS, 8)
{
    SIMT_SHARED(gather_stage, stages, GATHER_WARPS);
    uint64_t stop;
    if (!gather_stop(&a.output, &stop)) return;
    if (a.state && !a.state->left) return;
    piece_walk walk = piece_open(stages);
    gather_tiles tiles = gather_open(a.output.first, stop, a.output.offsets[a.output.n]);
    while (gather_next(&tiles)) {
        gather_ranges ranges = ranges_open(&a.output, &tiles, COPSE_LOCATION_DONE);
        gather_piece piece = {0, 0, 0, 0, false};
        while (ranges_piece(&a.output, &tiles, COPSE_LOCATION_DONE, &ranges, &piece)) {
            const uint64_t location = piece.beyond <= GATHER_NEAR
                                          ? piece.location + piece.beyond
                                          : rank_locate(&a, (piece.location >> 32) / COPSE_SUMS_BLOCK,
                                                        location_rank(&a.before, piece.location) + piece.beyond);
            piece_copy(&a, &walk, location, &piece);
        }
    }
}

/* Entries by rank, in tiles as those of ranges. */
SIMT_KERNEL(NAME(copy), copse_blink_copy_arguments, COPSE_KERNEL_THREADS, 8)
{
    SIMT_SHARED(gather_stage, stages, GATHER_WARPS);
    piece_walk walk = piece_open(stages);
    gather_tiles tiles = gather_open(0, a.output.count, a.output.count);
    while (gather_next(&tiles)) {
        gather_piece piece = {0, 0, 0, 0, false};
        piece.count = tiles.end - tiles.begin;
        piece.at = tiles.begin;
        piece.back = false;
        piece_copy(&a, &walk, rank_locate(&a, 0, a.output.first + tiles.begin), &piece);
    }
}

/*
 * Template: lists all leaves of a tree in key order, and counts the entries in front of each tile of so many leaves
 * (rebuild/tile_independent.h).
 *
 * 32 bytes of a leaf say all there is to know about it; so the kernel reads these once, and keeps many reads under way:
 *
 *   1. A block takes neighbouring base leaves, COPSE_LIST_EACH to a thread, and all threads load all of these at once.
 *   2. Few base leaves have leaves of the pool: an overflow chain, or the children of a branch. Both are *chains* here.
 *      They go onto a list in shared memory; each thread takes one of that list and counts its leaves, so that these
 *      loads overlap, too.
 *   3. The block adds up what it has, and finds what the blocks in front have by decoupled look-back, as tiles do
 *      (rebuild/tile.h). Blocks take their base leaves by tickets. A word: leaves besides base leaves << 32 | entries.
 *   4. Each thread writes its base leaves to their positions, and chains of one leaf; it notes the positions of longer
 *      chains, and then writes the leaves of one of these.
 *
 * The host knows how many leaves of the pool were taken. Some may be in no chain, and base leaves that are branches are
 * no leaves, so that there may be fewer leaves to list, and fewer tiles; the last block says how many. Where there are
 * more, or where they do not have as many entries as the tree, it says nothing and stops the work.
 */
#pragma once

#include "trees/blink/node/leaf.h"
#include "trees/blink/rebuild/arguments.h"
#include "trees/blink/rebuild/tile.h"
#include "trees/blink/rebuild/tile_lookback.h"
#include "trees/blink/rebuild/tile_operations.h"

#define LIST_EACH        COPSE_LIST_EACH
#define LIST_BASE_LEAVES (COPSE_LIST_THREADS * LIST_EACH)
#define LIST_WARPS       (COPSE_LIST_THREADS / SIMT_WARP)
/* A size, or a position in the list: leaves << 32 | entries. The size of a leaf without entries: */
#define LIST_LEAF ((uint64_t)1 << 32)

/* What a block knows. */
typedef struct list_block {
    uint64_t sizes[LIST_BASE_LEAVES]; /* of each chain; then its position */
    uint64_t warps[LIST_WARPS];       /* size of each warp's base leaves; then its position */
    uint32_t links[LIST_BASE_LEAVES]; /* of each chain: its first leaf, or the branch; COPSE_LEAF_NONE: it is done */
    uint32_t ticket, chains;
} list_block;

/* Base leaves of a thread, a word for each, so that registers hold them all:
 *
 *   bits 0..7   entries of the leaf
 *   bit 8       it is a leaf, and no branch
 *   bit 9       it has a chain
 *   bits 16..   the number of that chain
 */
#define BASE_LEAF_COUNT COPSE_LEAF_COUNT
#define BASE_LEAF_LEAF  0x100u
#define BASE_LEAF_CHAIN 0x200u
#define BASE_LEAF_SHIFT 16u
typedef struct list_base_leaves {
    uint32_t words[LIST_EACH];
} list_base_leaves;

/* --- 1: base leaves ----------------------------------------------------------------------------------------------- */

/* The state of a leaf, and next << 32: one load where they are aligned for it. */
SIMT_DEVICE uint64_t leaf_head(const char *leaf)
{
#if LEAF_STATE % 8u == 0
    return simt_load_once_u64((const uint64_t *)(leaf + LEAF_STATE));
#else
    const uint32_t state = simt_load_once_u32((const uint32_t *)(leaf + LEAF_STATE));
    return (uint64_t)simt_load_once_u32((const uint32_t *)(leaf + LEAF_NEXT)) << 32 | state;
#endif
}

/* Does `next` of a leaf lead to one of the same overflow chain? Only in a tree without branches. */
SIMT_DEVICE bool leads_on(const copse_blink_tree *tree, uint32_t next)
{
    return next >= tree->base_leaves && next != COPSE_LEAF_NONE;
}

/* Reads the heads of base leaves from `first` on. They lie in one segment, since it has 2^k leaves and more than these. */
SIMT_DEVICE list_base_leaves list_look(const copse_blink_tree *tree, list_block *list, uint32_t first)
{
    uint64_t heads[LIST_EACH];
    list_base_leaves listed;
    const char *leaf = base_leaf_at(tree, first < tree->base_leaves ? first : 0);
    SIMT_UNROLL
    for (uint32_t k = 0; k < LIST_EACH; k++)
        heads[k] = first + k < tree->base_leaves ? leaf_head(leaf + k * COPSE_LEAF_BYTES) : 0;
    SIMT_UNROLL
    for (uint32_t k = 0; k < LIST_EACH; k++) {
        const uint32_t state = (uint32_t)heads[k], next = (uint32_t)(heads[k] >> 32);
        const bool there = first + k < tree->base_leaves, branch = tree->branches && state & COPSE_LEAF_BRANCH;
        const bool more = tree->branches ? branch : leads_on(tree, next);
        listed.words[k] = there && !branch ? BASE_LEAF_LEAF | (state & COPSE_LEAF_COUNT) : 0;
        if (!there || !more) continue;
        const uint32_t chain = simt_atomic_add_u32(&list->chains, 1u);
        listed.words[k] |= BASE_LEAF_CHAIN | chain << BASE_LEAF_SHIFT;
        list->links[chain] = branch ? first + k : next;
    }
    return listed;
}

/* --- 2: chains ---------------------------------------------------------------------------------------------------- */

/* The first leaf of a chain. */
SIMT_DEVICE leaf_cursor chain_at(const copse_blink_tree *tree, uint32_t link)
{
    leaf_cursor cursor;
    if (tree->branches) return cursor_at(tree, link);
    cursor.base_leaf = cursor.child = cursor.steps = 0; /* without branches nobody reads them */
    cursor.end = COPSE_LEAF_NONE;
    cursor.number = link;
    cursor.leaf = leaf_at(tree, link);
    return cursor;
}

SIMT_DEVICE uint32_t chain_count(const leaf_cursor *cursor)
{
    return leaf_state(cursor->leaf) & COPSE_LEAF_COUNT;
}

SIMT_DEVICE uint64_t chain_size(const copse_blink_tree *tree, uint32_t link)
{
    uint64_t size = 0;
    if (tree->branches) {
        leaf_cursor cursor = chain_at(tree, link);
        do size += LIST_LEAF | chain_count(&cursor);
        while (cursor_step(tree, &cursor));
        return size;
    }
    do {
        const uint64_t head = leaf_head(leaf_at(tree, link));
        size += LIST_LEAF | (head & COPSE_LEAF_COUNT);
        link = (uint32_t)(head >> 32);
    } while (leads_on(tree, link));
    return size;
}

SIMT_DEVICE void chains_count(const copse_blink_tree *tree, list_block *list)
{
    for (uint32_t i = threadIdx.x; i < list->chains; i += COPSE_LIST_THREADS)
        list->sizes[i] = chain_size(tree, list->links[i]);
}

/* --- 3: positions ------------------------------------------------------------------------------------------------- */

SIMT_DEVICE uint64_t listed_size(const list_block *list, const list_base_leaves *listed)
{
    uint64_t size = 0;
    SIMT_UNROLL
    for (uint32_t k = 0; k < LIST_EACH; k++) {
        const uint32_t word = listed->words[k];
        if (word & BASE_LEAF_LEAF) size += LIST_LEAF | (word & BASE_LEAF_COUNT);
        if (word & BASE_LEAF_CHAIN) size += list->sizes[word >> BASE_LEAF_SHIFT];
    }
    return size;
}

/* The sum of `size` over this lane and those in front of it. */
SIMT_DEVICE uint64_t sizes_running(uint64_t size)
{
    for (uint32_t d = 1; d < SIMT_WARP; d *= 2u) {
        const uint64_t other = simt_shfl_up_u64(SIMT_FULL_MASK, size, d);
        if (simt_lane() >= d) size += other;
    }
    return size;
}

/* The last block: compares what there is with what the host expects, and writes the totals. */
SIMT_DEVICE void list_end(const copse_rebuild_arguments *a, uint64_t all)
{
    const uint32_t leaves = (uint32_t)(all >> 32), tiles = (leaves + a->tile_base_leaves - 1u) / a->tile_base_leaves;
    if (leaves > a->leaves || (uint32_t)all != a->from.entries) {
        tiles_stop(a);
        return;
    }
    if (simt_lane() != 0) return;
    a->totals->leaves = leaves;
    a->totals->tiles = tiles;
    if (tiles < a->tiles) a->before[tiles] = a->from.entries;
}

/* The position of a block, by look-back with all lanes of a warp; `all` is its size. */
SIMT_DEVICE uint64_t list_front(const copse_rebuild_arguments *a, uint32_t block, uint64_t all)
{
    const uint32_t first = block * LIST_BASE_LEAVES, left = a->from.base_leaves - first;
    const uint64_t own = all - LIST_LEAF * (left < LIST_BASE_LEAVES ? left : LIST_BASE_LEAVES);
    if (simt_lane() == 0) simt_store_relaxed_u64(&a->words[block], WORD_COUNTED | own);
    const uint64_t before = tile_look_back(a->words, block, LOOK_MOST), front = before + LIST_LEAF * first;
    if (simt_lane() == 0) simt_store_relaxed_u64(&a->words[block], WORD_SUMMED | (before + own));
    if (left <= LIST_BASE_LEAVES) list_end(a, front + all);
    return front;
}

/* The position of a thread's base leaves, which have that size. All threads have to come here. */
SIMT_DEVICE uint64_t list_begin(const copse_rebuild_arguments *a, list_block *list, uint64_t size)
{
    const uint64_t running = sizes_running(size);
    if (simt_lane() == SIMT_WARP - 1u) list->warps[simt_warp()] = running;
    __syncthreads();
    if (simt_warp() == 0) {
        const uint64_t warp = simt_lane() < LIST_WARPS ? list->warps[simt_lane()] : 0;
        const uint64_t warps = sizes_running(warp), all = simt_shfl_u64(SIMT_FULL_MASK, warps, SIMT_WARP - 1u);
        const uint64_t front = list_front(a, list->ticket, all);
        if (simt_lane() < LIST_WARPS) list->warps[simt_lane()] = front + warps - warp;
    }
    __syncthreads();
    return list->warps[simt_warp()] + running - size;
}

/* --- 4: the list -------------------------------------------------------------------------------------------------- */

/* A position in the list. */
typedef struct leaf_position {
    uint32_t at, entries; /* leaves and entries in front of it */
    uint32_t tile, row;   /* its tile, and where in it */
} leaf_position;

SIMT_DEVICE leaf_position position_of(const copse_rebuild_arguments *a, uint64_t size)
{
    leaf_position position;
    position.at = (uint32_t)(size >> 32);
    position.entries = (uint32_t)size;
    position.tile = position.at / a->tile_base_leaves;
    position.row = position.at - position.tile * a->tile_base_leaves;
    return position;
}

/* Puts a leaf there, if there is room, and moves on to the next position. */
SIMT_DEVICE void position_put(const copse_rebuild_arguments *a, leaf_position *position, uint32_t leaf, uint32_t count)
{
    if (position->at < a->leaves) {
        a->order[position->at] = leaf;
        if (position->row == 0) a->before[position->tile] = position->entries;
    }
    position->at++;
    position->entries += count;
    if (++position->row < a->tile_base_leaves) return;
    position->tile++;
    position->row = 0;
}

/* Puts a thread's base leaves into the list, and chains of one leaf, as most are. Notes the positions of longer chains. */
SIMT_DEVICE void list_put(const copse_rebuild_arguments *a, list_block *list, const list_base_leaves *listed,
                          uint32_t first, uint64_t front)
{
    leaf_position position = position_of(a, front);
    SIMT_UNROLL
    for (uint32_t k = 0; k < LIST_EACH; k++) {
        const uint32_t word = listed->words[k], chain = word >> BASE_LEAF_SHIFT;
        if (word & BASE_LEAF_LEAF) position_put(a, &position, first + k, word & BASE_LEAF_COUNT);
        if (!(word & BASE_LEAF_CHAIN)) continue;
        const uint64_t at = (uint64_t)position.at << 32 | position.entries, size = list->sizes[chain];
        if (size >> 32 == 1u && !a->from.branches) {
            position_put(a, &position, list->links[chain], (uint32_t)size);
            list->links[chain] = COPSE_LEAF_NONE;
            continue;
        }
        position = position_of(a, at + size);
        list->sizes[chain] = at;
    }
}

SIMT_DEVICE void chains_put(const copse_rebuild_arguments *a, const list_block *list)
{
    for (uint32_t i = threadIdx.x; i < list->chains; i += COPSE_LIST_THREADS) {
        if (list->links[i] == COPSE_LEAF_NONE) continue;
        leaf_cursor cursor = chain_at(&a->from, list->links[i]);
        leaf_position position = position_of(a, list->sizes[i]);
        do position_put(a, &position, cursor.number, chain_count(&cursor));
        while (cursor_step(&a->from, &cursor));
    }
}

SIMT_KERNEL(NAME(base_leaf_lists), copse_rebuild_arguments, COPSE_LIST_THREADS, 3)
{
    SIMT_SHARED(list_block, lists, 1);
    if (threadIdx.x == 0) {
        lists->ticket = simt_atomic_add_u32(&a.totals->lists, 1u);
        lists->chains = 0;
    }
    __syncthreads();
    const uint32_t first = (lists->ticket * COPSE_LIST_THREADS + threadIdx.x) * LIST_EACH;
    const list_base_leaves listed = list_look(&a.from, lists, first);
    __syncthreads();
    chains_count(&a.from, lists);
    __syncthreads();
    const uint64_t front = list_begin(&a, lists, listed_size(lists, &listed));
    list_put(&a, lists, &listed, first, front);
    __syncthreads();
    chains_put(&a, lists);
}

/*
 * Template: all leaves of a tree in the order of their keys, and how many entries there are in front of each tile of so many leaves
 * (blink/rebuild/tile_independent.h).
 *
 * There is no more to know about a leaf than 32 bytes of it say; so it is read once, and much is on its way at a time:
 *
 *   1. A block takes base_leaves that lie side by side, each thread COPSE_LIST_EACH of them, and all threads send for all of these at once.
 *   2. Few base_leaves have leaves of the pool: the rest of a chain, or the children of a branch. These *chains* go onto a list in shared memory;
 *      each thread takes one of that list and counts its leaves, so that they are on their way at once, too.
 *   3. The block adds up what it has, and learns from the blocks in front what they have, as tiles do (blink/rebuild/tile.h). Blocks take
 *      their base_leaves by tickets. A word: leaves concurrent the base_leaves << 32 | entries.
 *   4. Each thread puts its base_leaves into their places, and chains of one leaf, tells longer ones where theirs are, and then puts the
 *      leaves of one of these into the list.
 *
 * The host knows how many leaves of the pool were taken. Some may be in no chain, and base_leaf leaves that are branches are no leaves, so that
 * there may be fewer to list, and fewer tiles; the last block says how many. Where there are more, or they do not have as many entries as
 * the tree, nothing is said, and the work is stopped.
 */
#ifndef COPSE_TREES_BLINK_REBUILD_LEAF_LISTS_H
#define COPSE_TREES_BLINK_REBUILD_LEAF_LISTS_H

#include "core/widths.h"
#include "simt/simt.h"
#include "trees/blink/layout.h"
#include "trees/blink/node/leaf.h"
#include "trees/blink/rebuild/arguments.h"
#include "trees/blink/rebuild/tile.h"
#include "trees/blink/rebuild/tile_lookback.h"
#include "trees/blink/rebuild/tile_operations.h"

#define LIST_EACH        COPSE_LIST_EACH
#define LIST_BASE_LEAVES (COPSE_LIST_THREADS * LIST_EACH)
#define LIST_WARPS       (COPSE_LIST_THREADS / SIMT_WARP)
/* A size, or a place: leaves << 32 | entries. That of a leaf without entries: */
#define LIST_LEAF ((uint64_t)1 << 32)

/* What a block knows. */
typedef struct list_block {
    uint64_t sizes[LIST_BASE_LEAVES]; /* of each chain; then its place           */
    uint64_t warps[LIST_WARPS];       /* size of each warp's base_leaves; then its place */
    uint32_t links[LIST_BASE_LEAVES]; /* of each chain: its first leaf, or the branch; COPSE_LEAF_NONE: it is done */
    uint32_t ticket, chains;
} list_block;

/* Homes of a thread, a word for each, since all are kept in registers:
 *
 *   bits 0..7 entries of the leaf   8: it is a leaf, and no branch   9: it has a chain   16..31 the number of that chain
 */
#define BASE_LEAF_COUNT COPSE_LEAF_COUNT
#define BASE_LEAF_LEAF  0x100u
#define BASE_LEAF_CHAIN 0x200u
#define BASE_LEAF_SHIFT 16u
typedef struct list_base_leaves {
    uint32_t words[LIST_EACH];
} list_base_leaves;

/* --- 1: base_leaves ---------------------------------------------------------------------------------------------------------------- */

/* The state of a leaf, and next << 32: at once where they lie so. */
SIMT_DEVICE uint64_t leaf_head(const char *leaf)
{
#if LEAF_STATE % 8u == 0
    return simt_load_once_u64((const uint64_t *)(leaf + LEAF_STATE));
#else
    const uint32_t state = simt_load_once_u32((const uint32_t *)(leaf + LEAF_STATE));
    return (uint64_t)simt_load_once_u32((const uint32_t *)(leaf + LEAF_NEXT)) << 32 | state;
#endif
}

/* Does `next` of a leaf lead to one of the same base_leaf? Not where there are branches. */
SIMT_DEVICE bool leads_on(const copse_blink_tree *tree, uint32_t next)
{
    return next >= tree->base_leaves && next != COPSE_LEAF_NONE;
}

/* Looks at base_leaves from `first` on. They lie in one segment: it has 2^k leaves, and more than these. */
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

/* --- 2: chains --------------------------------------------------------------------------------------------------------------- */

/* The first leaf of a chain. */
SIMT_DEVICE leaf_cursor chain_at(const copse_blink_tree *tree, uint32_t link)
{
    leaf_cursor cursor;
    if (tree->branches) return cursor_at(tree, link);
    cursor.base_leaf = cursor.child = 0; /* nobody asks */
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

/* --- 3: places --------------------------------------------------------------------------------------------------------------- */

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

/* size summed up over this lane and those in front of it. */
SIMT_DEVICE uint64_t sizes_running(uint64_t size)
{
    for (uint32_t d = 1; d < SIMT_WARP; d *= 2u) {
        const uint64_t other = simt_shfl_up_u64(SIMT_FULL_MASK, size, d);
        if (simt_lane() >= d) size += other;
    }
    return size;
}

/* The last block: is that what the host expects? */
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

/* The place of a block, for which all lanes of a warp come here; `all` is its size. */
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

/* The place of a thread's base_leaves, which have that size. All threads come here. */
SIMT_DEVICE uint64_t list_place(const copse_rebuild_arguments *a, list_block *list, uint64_t size)
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

/* --- 4: the list ------------------------------------------------------------------------------------------------------------- */

/* A place in the list. */
typedef struct leaf_place {
    uint32_t at, entries; /* leaves and entries in front of it */
    uint32_t tile, row;   /* its tile, and where in it         */
} leaf_place;

SIMT_DEVICE leaf_place place_of(const copse_rebuild_arguments *a, uint64_t size)
{
    leaf_place place;
    place.at = (uint32_t)(size >> 32);
    place.entries = (uint32_t)size;
    place.tile = place.at / a->tile_base_leaves;
    place.row = place.at - place.tile * a->tile_base_leaves;
    return place;
}

/* Puts a leaf there, if there is room, and goes on to the next place. */
SIMT_DEVICE void place_put(const copse_rebuild_arguments *a, leaf_place *place, uint32_t leaf, uint32_t count)
{
    if (place->at < a->leaves) {
        a->order[place->at] = leaf;
        if (place->row == 0) a->before[place->tile] = place->entries;
    }
    place->at++;
    place->entries += count;
    if (++place->row < a->tile_base_leaves) return;
    place->tile++;
    place->row = 0;
}

/* Those of a thread's base_leaves that are leaves, and chains of one leaf, as most are. The others get to know their places. */
SIMT_DEVICE void list_put(const copse_rebuild_arguments *a, list_block *list, const list_base_leaves *listed,
                          uint32_t first, uint64_t front)
{
    leaf_place place = place_of(a, front);
    SIMT_UNROLL
    for (uint32_t k = 0; k < LIST_EACH; k++) {
        const uint32_t word = listed->words[k], chain = word >> BASE_LEAF_SHIFT;
        if (word & BASE_LEAF_LEAF) place_put(a, &place, first + k, word & BASE_LEAF_COUNT);
        if (!(word & BASE_LEAF_CHAIN)) continue;
        const uint64_t at = (uint64_t)place.at << 32 | place.entries, size = list->sizes[chain];
        if (size >> 32 == 1u && !a->from.branches) {
            place_put(a, &place, list->links[chain], (uint32_t)size);
            list->links[chain] = COPSE_LEAF_NONE;
            continue;
        }
        place = place_of(a, at + size);
        list->sizes[chain] = at;
    }
}

SIMT_DEVICE void chains_put(const copse_rebuild_arguments *a, const list_block *list)
{
    for (uint32_t i = threadIdx.x; i < list->chains; i += COPSE_LIST_THREADS) {
        if (list->links[i] == COPSE_LEAF_NONE) continue;
        leaf_cursor cursor = chain_at(&a->from, list->links[i]);
        leaf_place place = place_of(a, list->sizes[i]);
        do place_put(a, &place, cursor.number, chain_count(&cursor));
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
    const uint64_t front = list_place(&a, lists, listed_size(lists, &listed));
    list_put(&a, lists, &listed, first, front);
    __syncthreads();
    chains_put(&a, lists);
}

#endif

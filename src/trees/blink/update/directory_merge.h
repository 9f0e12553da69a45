/*
 * Template: the next overflow directory (drawn in blink/layout.h): the entries of the current one and those of new leaves, merged. Readers
 * use the current one meanwhile, and find the next one as soon as links lead to the new leaves, not before: of two readers one must not
 * find what the other, later, does not.
 */
#pragma once

#include "trees/blink/node/directory.h"
#include "trees/blink/update/arguments.h"
#include "trees/blink/update/crowded.h"

/* New entries. */
SIMT_DEVICE uint32_t directory_new(const copse_crowd_arguments *a)
{
    return crowd_may(a) ? (uint32_t)a->sizes[a->operations.n] : 0;
}

SIMT_DEVICE void directory_put(const copse_blink_directory *to, uint32_t at, KEY low, uint32_t leaf, uint32_t base_leaf)
{
    COPSE_BITS(simt_store_relaxed_u, KEY_BITS)((KEY *)to->lows + at, low);
    simt_store_relaxed_u32((uint32_t *)to->leaves + at, leaf);
    simt_store_relaxed_u32((uint32_t *)to->base_leaves + at, base_leaf);
}

/* New entries in front of a lower bound. Mostly all or none are. */
SIMT_DEVICE uint32_t directory_new_before(const KEY *lows, uint32_t some, KEY low)
{
    return some ? crowd_before(lows, 0, some, low) : 0;
}

SIMT_KERNEL(NAME(directory_merge), copse_crowd_arguments, COPSE_KERNEL_THREADS, 8)
{
    const uint32_t some = directory_new(&a), old = a.tree.directory_entries;
    const copse_blink_directory *from = directory_of(&a.tree);
    const KEY *lows = (const KEY *)a.lows;
    if (some == 0) return;
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < (uint64_t)old + some;
         i += (uint64_t)gridDim.x * blockDim.x) {
        const uint32_t at = (uint32_t)i, fresh = at - old;
        if (at < old) {
            const KEY low = directory_low(from, at);
            directory_put(&a.to, at + directory_new_before(lows, some, low), low, directory_leaf(from, at),
                          directory_base_leaf(from, at));
        } else {
            const KEY behind = (KEY)(lows[fresh] + 1u); /* where keys repeat, an old leaf may have the same bound */
            const uint32_t before = !old ? 0 : behind ? directory_before(from, behind) : old;
            directory_put(&a.to, fresh + before, lows[fresh], a.new_leaves[fresh], a.new_base_leaves[fresh]);
        }
    }
}

/* Levels over so many entries. */
SIMT_DEVICE void directory_shape(copse_blink_directory *directory, uint32_t entries)
{
    uint32_t sizes[COPSE_DIRECTORY_HEIGHT], height = 0;
    for (uint32_t n = entries; n > 1u; n = sizes[height - 1u]) sizes[height++] = (n + FULL_FANOUT - 1u) / FULL_FANOUT;
    directory->entries = entries;
    directory->height = height;
    directory->first[0] = 0;
    for (uint32_t l = 0; l < COPSE_DIRECTORY_HEIGHT; l++)
        directory->first[l + 1u] = directory->first[l] + (l < height ? sizes[height - 1u - l] : 0);
}

/* Separators of all nodes: the lower bound of the first entry behind that child, or the largest key where there is none. And counts the
 * new leaves of crowds as taken, before others take some. */
SIMT_KERNEL(NAME(directory_nodes), copse_crowd_arguments, COPSE_KERNEL_THREADS, 8)
{
    const uint32_t some = directory_new(&a);
    if (some == 0) return;
    if (a.items && blockIdx.x == 0 && threadIdx.x < COPSE_POOL_STRIPES)
        (void)simt_atomic_add_u32(&a.counters->taken[threadIdx.x], stripe_share(some, threadIdx.x));
    copse_blink_directory to = a.to;
    directory_shape(&to, a.tree.directory_entries + some);
    const uint64_t all = (uint64_t)to.first[to.height] * DIRECTORY_SEPARATORS;
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < all; i += (uint64_t)gridDim.x * blockDim.x) {
        const uint32_t node = (uint32_t)(i / DIRECTORY_SEPARATORS);
        uint32_t level = to.height - 1u;
        uint64_t span = 1;
        for (; to.first[level] > node; level--) span *= FULL_FANOUT;
        const uint64_t child = (uint64_t)(node - to.first[level]) * FULL_FANOUT + i % DIRECTORY_SEPARATORS;
        const uint64_t behind = (child + 1u) * span;
        COPSE_BITS(simt_store_relaxed_u, KEY_BITS)
        ((KEY *)to.nodes + i, behind < to.entries ? directory_low(&to, (uint32_t)behind) : KEY_MAX);
    }
}

/* Makes the next directory the current one. */
SIMT_KERNEL(NAME(directory_publish), copse_crowd_arguments, COPSE_KERNEL_THREADS, 1)
{
    const uint32_t some = directory_new(&a);
    if (some == 0 || blockIdx.x != 0 || threadIdx.x != 0) return;
    const uint32_t version = (simt_load_relaxed_u32(&a.tree.directories->version) | 1u) + 1u;
    copse_blink_directory *slot = &a.tree.directories->slot[version / 2u % 2u], to = a.to;
    directory_shape(&to, a.tree.directory_entries + some);
    simt_store_relaxed_u64(&slot->lows, to.lows);
    simt_store_relaxed_u64(&slot->leaves, to.leaves);
    simt_store_relaxed_u64(&slot->base_leaves, to.base_leaves);
    simt_store_relaxed_u64(&slot->nodes, to.nodes);
    simt_store_relaxed_u32(&slot->entries, to.entries);
    simt_store_relaxed_u32(&slot->height, to.height);
    for (uint32_t l = 0; l <= COPSE_DIRECTORY_HEIGHT; l++) simt_store_relaxed_u32(&slot->first[l], to.first[l]);
    simt_store_relaxed_u32(&a.counters->placed, some);
    simt_store_release_u32(&a.tree.directories->version, version);
}

/* --- anchors that have become long ---------------------------------------------------------------------------------------------- */

/* Leaves of one that go into the directory at a time. */
#define ADOPT_MOST 64u

/* An anchor to be made shorter. */
typedef struct adopted_anchor {
    anchor_leaves leaves;
    KEY high;      /* of its first leaf: says which anchor comes first */
    uint32_t some; /* leaves behind the first one, as many as go into the directory; 0: none do */
} adopted_anchor;

/* The leaf behind one of an anchor; COPSE_LEAF_NONE: there is none. */
SIMT_DEVICE uint32_t adopt_next(const copse_blink_tree *tree, const anchor_leaves *leaves, const char *leaf)
{
    const uint32_t next = leaf_next(leaf);
    return next < tree->base_leaves || next == leaves->end ? COPSE_LEAF_NONE : next;
}

SIMT_DEVICE adopted_anchor adopt_look(const copse_crowd_arguments *a, uint32_t mine)
{
    const copse_blink_tree *tree = &a->tree;
    const uint32_t first = tree->directories->winders[mine];
    const char *leaf = leaf_at(tree, first);
    adopted_anchor anchor;
    anchor.high = leaf_high(leaf);
    anchor.some = 0;
    anchor.leaves = anchor_at(tree, anchor_find(tree, first < tree->base_leaves ? first : 0, anchor.high).anchor);
    for (uint32_t other = 0; other < mine; other++)
        if (tree->directories->winders[other] == first) return anchor;
    for (uint32_t next = adopt_next(tree, &anchor.leaves, leaf); next != COPSE_LEAF_NONE && anchor.some < ADOPT_MOST;
         anchor.some++)
        next = adopt_next(tree, &anchor.leaves, leaf_at(tree, next));
    return anchor;
}

/* Lists the leaves of anchors that were noted, for the directory: a thread has an anchor. By one block; `winding` says how many. */
SIMT_KERNEL(NAME(directory_adopt), copse_crowd_arguments, COPSE_KERNEL_THREADS, 1)
{
    SIMT_SHARED(KEY, highs, COPSE_WINDERS);
    SIMT_SHARED(uint32_t, counts, COPSE_WINDERS);
    const uint32_t noted = a.new_most / ADOPT_MOST;
    for (uint32_t i = threadIdx.x; i < noted; i += COPSE_KERNEL_THREADS) {
        const adopted_anchor anchor = adopt_look(&a, i);
        highs[i] = anchor.high;
        counts[i] = anchor.some;
    }
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < noted; i += COPSE_KERNEL_THREADS) {
        const adopted_anchor anchor = adopt_look(&a, i);
        uint32_t at = 0, all = 0;
        for (uint32_t other = 0; other < noted; other++) {
            at += highs[other] < anchor.high ? counts[other] : 0;
            all += counts[other];
        }
        const char *leaf = leaf_at(&a.tree, anchor.leaves.first);
        for (uint32_t j = 0; j < anchor.some; j++, at++) {
            ((KEY *)a.lows)[at] = leaf_high(leaf);
            a.new_leaves[at] = leaf_next(leaf);
            a.new_base_leaves[at] = anchor.leaves.base_leaf;
            leaf = leaf_at(&a.tree, leaf_next(leaf));
        }
        if (i == 0) a.sizes[0] = all;
        if (i == 0 && all) simt_store_relaxed_u32(&a.tree.directories->version, a.tree.directories->version | 1u);
    }
}

/*
 * Template: the overflow directory of a B-link tree and the anchors of a tree (drawn in blink/layout.h). A kernel that goes over all
 * leaves takes one anchor after the other: where there is no directory, these are the base leaves.
 */
#pragma once

#include "gpu/levels_walk.h"
#include "trees/blink/layout.h"

/* Separators of a node; children are one more. */
#define DIRECTORY_SEPARATORS (FULL_FANOUT - 1u)

/* The directory to use while no other one is published. The load is relaxed: the kernel that begins the next version says so in the lowest
 * bit while its other threads read the current one. */
SIMT_DEVICE const copse_blink_directory *directory_of(const copse_blink_tree *tree)
{
    return &tree->directories->slot[simt_load_relaxed_u32(&tree->directories->version) / 2u % 2u];
}

/* Loads of what a directory holds are relaxed: a writer may be at work, and the reader find out afterwards. */
SIMT_DEVICE KEY directory_low(const copse_blink_directory *directory, uint32_t entry)
{
    return COPSE_BITS(simt_load_relaxed_u, KEY_BITS)((const KEY *)directory->lows + entry);
}

SIMT_DEVICE uint32_t directory_leaf(const copse_blink_directory *directory, uint32_t entry)
{
    return simt_load_relaxed_u32((const uint32_t *)directory->leaves + entry);
}

SIMT_DEVICE uint32_t directory_base_leaf(const copse_blink_directory *directory, uint32_t entry)
{
    return simt_load_relaxed_u32((const uint32_t *)directory->base_leaves + entry);
}

/* Entries whose lower bound is less than q: the last of these leads to the leaf of q, or to one left of it. There are some entries. What
 * it returns is in range even where a writer changed the separators meanwhile. */
SIMT_DEVICE uint32_t directory_before(const copse_blink_directory *directory, KEY q)
{
    uint32_t node = 0;
    for (uint32_t l = 0; l < directory->height; l++) {
        const KEY *separator = (const KEY *)(directory->nodes + ((uint64_t)directory->first[l] + node) * 64u);
        const bool lowest = l + 1u == directory->height;
        const uint32_t most = lowest ? directory->entries : directory->first[l + 2u] - directory->first[l + 1u];
        uint32_t child = 0;
        SIMT_UNROLL
        for (uint32_t step = DIRECTORY_SEPARATORS / 2u; step > 0; step /= 2u)
            child += COPSE_BITS(simt_load_relaxed_u, KEY_BITS)(separator + child + step - 1u) < q ? step : 0u;
        child += COPSE_BITS(simt_load_relaxed_u, KEY_BITS)(separator + child) < q;
        node = node * FULL_FANOUT + child;
        if (node >= most) node = most - 1u;
    }
    return node + (uint32_t)(directory_low(directory, node) < q);
}

/* The leaf to go on with on the way to q: `leaf`, all of whose keys are greater than `low`, or one further to the right. */
SIMT_DEVICE uint32_t directory_further(const copse_blink_directory *directory, uint32_t leaf, KEY low, KEY q)
{
    const uint32_t before = directory_before(directory, q);
    return before && directory_low(directory, before - 1u) > low ? directory_leaf(directory, before - 1u) : leaf;
}

/* The directory of a version, as far as no writer was changing it. */
SIMT_DEVICE copse_blink_directory directory_take(const copse_blink_tree *tree, uint32_t version)
{
    const copse_blink_directory *from = &tree->directories->slot[version / 2u % 2u];
    copse_blink_directory directory;
    directory.lows = simt_load_relaxed_u64(&from->lows);
    directory.leaves = simt_load_relaxed_u64(&from->leaves);
    directory.base_leaves = simt_load_relaxed_u64(&from->base_leaves);
    directory.nodes = simt_load_relaxed_u64(&from->nodes);
    directory.entries = simt_load_relaxed_u32(&from->entries);
    directory.height = simt_load_relaxed_u32(&from->height);
    for (uint32_t l = 0; l <= COPSE_DIRECTORY_HEIGHT; l++) directory.first[l] = simt_load_relaxed_u32(&from->first[l]);
    return directory;
}

/* Is what a reader has loaded of the directory of a version consistent? It is overwritten when the version after the next begins. */
SIMT_DEVICE bool directory_stands(const copse_blink_tree *tree, uint32_t version)
{
    __threadfence(); /* the loads above come before the one below */
    return simt_load_relaxed_u32(&tree->directories->version) < (version | 1u) + 2u;
}

/* An entry of the directory. */
typedef struct directory_entry {
    uint32_t leaf, base_leaf; /* leaf: COPSE_LEAF_NONE where there is no entry */
    KEY low;
} directory_entry;

/* The last entry whose lower bound is less than q, while a writer may be at work. A directory that has changed twice meanwhile has none:
 * the reader goes along the links, then. */
SIMT_DEVICE directory_entry directory_find_concurrent(const copse_blink_tree *tree, KEY q)
{
    const uint32_t version = simt_load_acquire_u32(&tree->directories->version);
    directory_entry none = {COPSE_LEAF_NONE, 0, 0}, entry = none;
    if (version < 2u) return none;
    const copse_blink_directory directory = directory_take(tree, version);
    if (!directory_stands(tree, version)) return none;
    const uint32_t before = directory_before(&directory, q);
    if (before == 0) return none;
    entry.leaf = directory_leaf(&directory, before - 1u);
    entry.base_leaf = directory_base_leaf(&directory, before - 1u);
    entry.low = directory_low(&directory, before - 1u);
    return directory_stands(tree, version) ? entry : none;
}

/* --- anchors ------------------------------------------------------------------------------------------------------------------ */

/* How many there are. */
SIMT_DEVICE uint32_t tree_anchors(const copse_blink_tree *tree)
{
    return tree->base_leaves + tree->directory_entries;
}

/* The leaves of an anchor: from `first` up to `end` (COPSE_LEAF_NONE: up to the next base leaf). */
typedef struct anchor_leaves {
    uint32_t first, end, base_leaf;
} anchor_leaves;

/* behind: the entry of the directory that may follow, if it is of the same base leaf. */
SIMT_DEVICE anchor_leaves anchor_make(const copse_blink_directory *directory, uint32_t first, uint32_t base_leaf,
                                      uint32_t behind)
{
    anchor_leaves leaves = {first, COPSE_LEAF_NONE, base_leaf};
    if (behind < directory->entries && directory_base_leaf(directory, behind) == base_leaf)
        leaves.end = directory_leaf(directory, behind);
    return leaves;
}

SIMT_DEVICE anchor_leaves anchor_at(const copse_blink_tree *tree, uint32_t anchor)
{
    anchor_leaves plain = {anchor, COPSE_LEAF_NONE, anchor};
    if (tree->directory_entries == 0) return plain;
    const copse_blink_directory *directory = directory_of(tree);
    uint32_t low = 0, high = directory->entries; /* entries whose anchor is not behind this one */
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2u;
        if (directory_base_leaf(directory, middle) + 1u + middle <= anchor)
            low = middle + 1u;
        else
            high = middle;
    }
    if (low > 0 && directory_base_leaf(directory, low - 1u) + low == anchor)
        return anchor_make(directory, directory_leaf(directory, low - 1u), anchor - low, low);
    return anchor_make(directory, anchor - low, anchor - low, low);
}

/* The same for each lane and the anchor `first` + its number, by all lanes of a warp: neighbours find theirs together. Behind the last anchor
 * that is the last one. */
SIMT_DEVICE anchor_leaves anchors_at(const copse_blink_tree *tree, uint32_t first)
{
    const uint32_t lane = simt_lane(), last = tree_anchors(tree) - 1u - first,
                   anchor = first + (lane < last ? lane : last);
    anchor_leaves plain = {anchor, COPSE_LEAF_NONE, anchor};
    if (tree->directory_entries == 0) return plain;
    const copse_blink_directory *directory = directory_of(tree);
    uint32_t low = 0, high = directory->entries; /* entries in front of `first`: each step leaves one in 33 */
    while (low < high) {
        const uint32_t step = (high - low + SIMT_WARP) / (SIMT_WARP + 1u), at = low + step * (lane + 1u) - 1u;
        const bool in_front = at < high && directory_base_leaf(directory, at) + 1u + at < first;
        const uint32_t steps = (uint32_t)__popc(__ballot_sync(SIMT_FULL_MASK, in_front));
        low += steps * step;
        if (steps < SIMT_WARP && low + step - 1u < high) high = low + step - 1u;
    }
    const uint32_t entry = low + lane; /* of 32 anchors no more are entries */
    const uint32_t own = entry < directory->entries ? directory_base_leaf(directory, entry) + 1u + entry : UINT32_MAX;
    uint32_t upto = 0; /* entries from `low` on that are not behind this lane's anchor */
    SIMT_UNROLL
    for (uint32_t step = SIMT_WARP / 2u; step > 0; step /= 2u)
        if (simt_shfl_u32(SIMT_FULL_MASK, own, upto + step - 1u) <= anchor) upto += step;
    upto += (uint32_t)(simt_shfl_u32(SIMT_FULL_MASK, own, upto) <= anchor);
    const uint32_t before = simt_shfl_u32(SIMT_FULL_MASK, own, (upto - 1u) & (SIMT_WARP - 1u));
    const bool is_entry = upto > 0 && before == anchor;
    const uint32_t base_leaf = anchor - low - upto;
    return anchor_make(directory, is_entry ? directory_leaf(directory, low + upto - 1u) : base_leaf, base_leaf,
                       low + upto);
}

/* The anchor that begins with a base leaf. */
SIMT_DEVICE uint32_t anchor_of_base_leaf(const copse_blink_tree *tree, uint32_t base_leaf)
{
    if (tree->directory_entries == 0) return base_leaf;
    const copse_blink_directory *directory = directory_of(tree);
    uint32_t low = 0, high = directory->entries; /* entries of base leaves in front */
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2u;
        if (directory_base_leaf(directory, middle) < base_leaf)
            low = middle + 1u;
        else
            high = middle;
    }
    return base_leaf + low;
}

/* The anchor with the leaf of q, or one left of it, its first leaf and its base leaf. */
typedef struct anchor_found {
    uint32_t anchor, leaf, base_leaf;
} anchor_found;

/* base_leaf: what the levels led to. */
SIMT_DEVICE anchor_found anchor_find(const copse_blink_tree *tree, uint32_t base_leaf, KEY q)
{
    anchor_found found = {base_leaf, base_leaf, base_leaf};
    if (tree->directory_entries == 0) return found;
    const copse_blink_directory *directory = directory_of(tree);
    const uint32_t before = directory_before(directory, q);
    const uint32_t last = before ? directory_base_leaf(directory, before - 1u) : 0;
    found.anchor = base_leaf + before;
    if (before == 0 || last < base_leaf) return found;
    found.anchor = last + before;
    found.leaf = directory_leaf(directory, before - 1u);
    found.base_leaf = last;
    return found;
}

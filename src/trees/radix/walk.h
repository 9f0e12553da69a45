/*
 * Ways down the radix tree, and walks along its leaves, for the CPU and for kernels. Who includes this has before
 *
 *   RADIX_TREE         the tree, with members root and width
 *   copse_radix_at     (const RADIX_TREE *, copse_radix_link): the node or leaf that a link leads to
 *   COPSE_RADIX_HELD   how many levels a walk remembers
 */
#pragma once

/* An editor that parses this header on its own takes the tree of the CPU. */
#ifndef RADIX_TREE
#include "trees/radix/cpu/tree.h"
#endif
#include "core/reads.h"
#include "core/slice.h"
#include "trees/radix/node.h"

#include <string.h>

/* --- comparing ------------------------------------------------------------------------------------------------------ */

COPSE_ANYWHERE uint64_t copse_radix_load8(const unsigned char *from)
{
    uint64_t word;
    memcpy(&word, from, sizeof word);
    return word;
}

/* Are the first n bytes the same? By words; the last one overlaps the one before it. */
COPSE_ANYWHERE bool copse_radix_equal(const unsigned char *a, const unsigned char *b, size_t n)
{
    if (n < 8) {
        uint32_t first, second, differ = 0;
        if (n >= 4) {
            memcpy(&first, a, 4);
            memcpy(&second, b, 4);
            differ = first ^ second;
            memcpy(&first, a + n - 4, 4);
            memcpy(&second, b + n - 4, 4);
            return (differ | (first ^ second)) == 0;
        }
        for (size_t i = 0; i < n; i++) differ |= (uint32_t)(a[i] ^ b[i]);
        return differ == 0;
    }
    uint64_t differ = 0;
    for (size_t i = 0; i + 8 < n; i += 8) differ |= copse_radix_load8(a + i) ^ copse_radix_load8(b + i);
    return (differ | (copse_radix_load8(a + n - 8) ^ copse_radix_load8(b + n - 8))) == 0;
}

/* How many bytes two strings have in common. */
RADIX_FUNCTION size_t copse_radix_common(copse_slice a, copse_slice b)
{
    const size_t both = a.length < b.length ? a.length : b.length;
    size_t i = 0;
    while (both - i >= 8 && copse_radix_load8(a.start + i) == copse_radix_load8(b.start + i)) i += 8;
    while (i < both && a.start[i] == b.start[i]) i++;
    return i;
}

/* --- down ----------------------------------------------------------------------------------------------------------- */

COPSE_ANYWHERE copse_slice copse_radix_key(const RADIX_TREE *tree, copse_radix_link leaf)
{
    copse_slice key;
    key.start = copse_radix_at(tree, leaf) + copse_radix_key_at(copse_radix_type_of(leaf), tree->width);
    key.length = copse_radix_length_of(leaf);
    return key;
}

COPSE_ANYWHERE char *copse_radix_value(const RADIX_TREE *tree, copse_radix_link leaf)
{
    return (char *)copse_radix_at(tree, leaf) + copse_radix_value_at(copse_radix_type_of(leaf));
}

/* By which symbol a key leaves a node of this depth; it has at least so many bytes. */
COPSE_ANYWHERE int copse_radix_symbol(copse_slice key, uint32_t depth)
{
    return key.length == depth ? COPSE_RADIX_END : key.start[depth];
}

/* The link by which a key that has `depth` bytes or more goes on; 0 where there is none. */
COPSE_ANYWHERE copse_radix_link copse_radix_step(const RADIX_TREE *tree, copse_radix_link node, copse_slice key)
{
    return copse_radix_get(copse_radix_type_of(node), copse_radix_at(tree, node),
                           copse_radix_symbol(key, copse_radix_depth_of(node)));
}

COPSE_ANYWHERE int copse_radix_edge_symbol(const RADIX_TREE *tree, copse_radix_link node, bool last)
{
    const uint32_t type = copse_radix_type_of(node);
    const void *at = copse_radix_at(tree, node);
    return last ? copse_radix_previous(type, at, COPSE_RADIX_BEHIND_LAST)
                : copse_radix_next(type, at, COPSE_RADIX_BEFORE_FIRST);
}

/* The first or the last leaf below a link. */
RADIX_FUNCTION copse_radix_link copse_radix_edge(const RADIX_TREE *tree, copse_radix_link link, bool last)
{
    while (!copse_radix_is_leaf(link))
        link = copse_radix_get(copse_radix_type_of(link), copse_radix_at(tree, link),
                               copse_radix_edge_symbol(tree, link, last));
    return link;
}

/* A leaf that shares with the key as many bytes as any leaf does; the tree is not empty. */
RADIX_FUNCTION copse_radix_link copse_radix_nearest(const RADIX_TREE *tree, copse_slice key)
{
    copse_radix_link link = tree->root;
    while (!copse_radix_is_leaf(link)) {
        const copse_radix_link next = key.length < copse_radix_depth_of(link) ? 0 : copse_radix_step(tree, link, key);
        if (!next) return copse_radix_edge(tree, link, false);
        link = next;
    }
    return link;
}

/* The leaf of a key, or 0. */
COPSE_ANYWHERE copse_radix_link copse_radix_find_one(const RADIX_TREE *tree, copse_slice key)
{
    copse_radix_link link = tree->root;
    while (link && !copse_radix_is_leaf(link))
        link = key.length < copse_radix_depth_of(link) ? 0 : copse_radix_step(tree, link, key);
    if (!link || copse_radix_length_of(link) != key.length) return 0;
    return copse_radix_equal(copse_radix_key(tree, link).start, key.start, key.length) ? link : 0;
}

/* --- walks ---------------------------------------------------------------------------------------------------------- */

/* A node on the way down, and by which symbol the way leaves it. */
typedef struct copse_radix_held {
    copse_radix_link node;
    int symbol;
} copse_radix_held;

/* A place in the order of leaves: at a leaf, or behind the last. A tree may be as deep as keys are long. A walk remembers the last levels
 * of its way down; where it comes back to higher ones, it goes down again, by the key of its leaf. */
typedef struct copse_radix_walk {
    const RADIX_TREE *tree;
    copse_radix_link leaf;                   /* 0: behind the last */
    uint32_t level;                          /* nodes on the way to it                   */
    uint32_t held;                           /* the last so many of them are remembered: */
    copse_radix_held path[COPSE_RADIX_HELD]; /* node number i at i mod COPSE_RADIX_HELD */
} copse_radix_walk;

/* Where to go: to the first entry that is at the key or behind it, behind the key, or behind all that begin with it. */
typedef enum copse_radix_side { COPSE_RADIX_AT, COPSE_RADIX_AFTER, COPSE_RADIX_PAST_PREFIX } copse_radix_side;

COPSE_ANYWHERE copse_radix_held *copse_radix_held_at(copse_radix_walk *walk, uint32_t level)
{
    return &walk->path[level % COPSE_RADIX_HELD];
}

COPSE_ANYWHERE void copse_radix_push(copse_radix_walk *walk, copse_radix_link node, int symbol)
{
    copse_radix_held *top = copse_radix_held_at(walk, walk->level++);
    top->node = node;
    top->symbol = symbol;
    if (walk->held < COPSE_RADIX_HELD) walk->held++;
}

/* Goes down by a key, as long as nodes have less than `depth` bytes; returns the link that is left. */
RADIX_FUNCTION copse_radix_link copse_radix_push_by_key(copse_radix_walk *walk, copse_slice key, size_t depth)
{
    copse_radix_link link = walk->tree->root;
    while (!copse_radix_is_leaf(link) && copse_radix_depth_of(link) < depth) {
        copse_radix_push(walk, link, copse_radix_symbol(key, copse_radix_depth_of(link)));
        link = copse_radix_step(walk->tree, link, key);
    }
    return link;
}

/* Goes down to the first or last leaf below a link. */
RADIX_FUNCTION void copse_radix_push_edge(copse_radix_walk *walk, copse_radix_link link, bool last)
{
    while (!copse_radix_is_leaf(link)) {
        const int symbol = copse_radix_edge_symbol(walk->tree, link, last);
        copse_radix_push(walk, link, symbol);
        link = copse_radix_get(copse_radix_type_of(link), copse_radix_at(walk->tree, link), symbol);
    }
    walk->leaf = link;
}

/* Remembers the levels above again that were forgotten: the leaf, whose key says the way, is below them. */
RADIX_FUNCTION void copse_radix_path_remember(copse_radix_walk *walk)
{
    const copse_slice key = copse_radix_key(walk->tree, walk->leaf);
    copse_radix_link link = walk->tree->root;
    for (uint32_t i = 0; i < walk->level; i++) {
        copse_radix_held *held = copse_radix_held_at(walk, i);
        held->node = link;
        held->symbol = copse_radix_symbol(key, copse_radix_depth_of(link));
        link = copse_radix_step(walk->tree, link, key);
    }
    walk->held = walk->level < COPSE_RADIX_HELD ? walk->level : COPSE_RADIX_HELD;
}

/* From the symbol that the path ends with to the next leaf in a direction. False: there is none. */
RADIX_FUNCTION bool copse_radix_turn(copse_radix_walk *walk, bool back)
{
    const uint32_t level = walk->level;
    for (; walk->level; walk->level--, walk->held--) {
        if (walk->held == 0) copse_radix_path_remember(walk);
        copse_radix_held *top = copse_radix_held_at(walk, walk->level - 1);
        const uint32_t type = copse_radix_type_of(top->node);
        const void *node = copse_radix_at(walk->tree, top->node);
        const int symbol =
            back ? copse_radix_previous(type, node, top->symbol) : copse_radix_next(type, node, top->symbol);
        if (symbol == COPSE_RADIX_BEFORE_FIRST || symbol == COPSE_RADIX_BEHIND_LAST) continue;
        top->symbol = symbol;
        copse_radix_push_edge(walk, copse_radix_get(type, node, symbol), back);
        return true;
    }
    walk->level = level; /* all of the path is as it was, but forgotten */
    walk->held = 0;
    return false;
}

COPSE_ANYWHERE void copse_radix_walk_behind(copse_radix_walk *walk, const RADIX_TREE *tree)
{
    walk->tree = tree;
    walk->leaf = 0;
    walk->level = walk->held = 0;
}

COPSE_ANYWHERE void copse_radix_walk_first(copse_radix_walk *walk, const RADIX_TREE *tree)
{
    copse_radix_walk_behind(walk, tree);
    if (tree->root) copse_radix_push_edge(walk, tree->root, false);
}

/* At a leaf of the tree. */
COPSE_ANYWHERE void copse_radix_walk_at(copse_radix_walk *walk, const RADIX_TREE *tree, copse_radix_link leaf)
{
    copse_radix_walk_behind(walk, tree);
    walk->leaf = copse_radix_push_by_key(walk, copse_radix_key(tree, leaf), SIZE_MAX);
}

COPSE_ANYWHERE void copse_radix_walk_next(copse_radix_walk *walk)
{
    if (!copse_radix_turn(walk, false)) copse_radix_walk_behind(walk, walk->tree);
}

/* False: there is no leaf in front, and the walk stays. */
COPSE_ANYWHERE bool copse_radix_walk_previous(copse_radix_walk *walk)
{
    if (walk->leaf) return copse_radix_turn(walk, true);
    if (walk->tree->root) copse_radix_push_edge(walk, walk->tree->root, true);
    return walk->leaf != 0;
}

RADIX_FUNCTION void copse_radix_walk_seek(copse_radix_walk *walk, const RADIX_TREE *tree, copse_slice key,
                                          copse_radix_side side)
{
    copse_radix_walk_behind(walk, tree);
    if (!tree->root) return;
    const copse_radix_link near = copse_radix_nearest(tree, key);
    const copse_slice other = copse_radix_key(tree, near);
    const size_t common = copse_radix_common(key, other);
    if (common == key.length && common == other.length && side != COPSE_RADIX_PAST_PREFIX) {
        walk->leaf = copse_radix_push_by_key(walk, key, SIZE_MAX);
        if (side == COPSE_RADIX_AFTER) copse_radix_walk_next(walk);
        return;
    }
    /* All leaves below `link` begin with what the two have in common, and only they do. */
    const copse_radix_link link = copse_radix_push_by_key(walk, key, common);
    const bool ends = common == key.length; /* the key is a prefix of all of them */
    walk->leaf = near;
    if (!ends && !copse_radix_is_leaf(link) && copse_radix_depth_of(link) == common)
        copse_radix_push(walk, link, key.start[common]); /* between its links */
    else if (ends ? side != COPSE_RADIX_PAST_PREFIX
                  : common < other.length && key.start[common] < other.start[common]) {
        copse_radix_push_edge(walk, link, false);
        return;
    }
    copse_radix_walk_next(walk);
}

/* The leaf with the longest key that `key` begins with, or 0. The nodes above the nearest leaf that share no more with the key than
 * that one does have all such keys as their ends. */
RADIX_FUNCTION copse_radix_link copse_radix_longest_prefix(const RADIX_TREE *tree, copse_slice key)
{
    if (!tree->root) return 0;
    const copse_radix_link near = copse_radix_nearest(tree, key);
    const size_t common = copse_radix_common(key, copse_radix_key(tree, near));
    copse_radix_link link = tree->root, found = 0;
    while (link && !copse_radix_is_leaf(link) && copse_radix_depth_of(link) <= common) {
        const copse_radix_link end =
            copse_radix_get(copse_radix_type_of(link), copse_radix_at(tree, link), COPSE_RADIX_END);
        if (end) found = end;
        link = copse_radix_step(tree, link, key);
    }
    return link && copse_radix_is_leaf(link) && copse_radix_length_of(link) <= common ? link : found;
}

/* The neighbour of a key that is wanted, or 0. */
COPSE_ANYWHERE copse_radix_link copse_radix_neighbour(const RADIX_TREE *tree, copse_slice key, uint32_t which)
{
    copse_radix_walk walk;
    if (which == COPSE_LONGEST_PREFIX) return copse_radix_longest_prefix(tree, key);
    copse_radix_walk_seek(&walk, tree, key, copse_neighbour_upper(which) ? COPSE_RADIX_AFTER : COPSE_RADIX_AT);
    if (copse_neighbour_back(which) && !copse_radix_walk_previous(&walk)) return 0;
    return walk.leaf;
}

/* The radix tree on the CPU: what its files share. */
#pragma once

#include "core/bytes.h"
#include "trees/radix/cpu/pool.h"
#include "trees/radix/node.h"
#include "trees/tree.h"

typedef struct copse_radix {
    copse_radix_link root; /* 0: empty */
    uint64_t entries;
    uint32_t width;                                /* of a value */
    uint32_t height;                               /* the most levels that an entry had when it came */
    copse_radix_pool pools[COPSE_RADIX_LEAF_LONG]; /* by type, but for that of long leaves: */
    copse_radix_heap heap;
} copse_radix;

/* --- memory --------------------------------------------------------------------------------------------------------- */

static inline const copse_radix_pool *copse_radix_pool_of(const copse_radix *tree, uint32_t type)
{
    return type == COPSE_RADIX_LEAF_LONG ? &tree->heap.pool : &tree->pools[type];
}

/* The node or leaf that a link leads to. */
static inline unsigned char *copse_radix_at(const copse_radix *tree, copse_radix_link link)
{
    return copse_radix_pool_at(copse_radix_pool_of(tree, copse_radix_type_of(link)), copse_radix_index_of(link));
}

static inline copse_slice copse_radix_key(const copse_radix *tree, copse_radix_link leaf)
{
    return (copse_slice){copse_radix_at(tree, leaf) + copse_radix_key_at(copse_radix_type_of(leaf), tree->width),
                         copse_radix_length_of(leaf)};
}

static inline char *copse_radix_value(const copse_radix *tree, copse_radix_link leaf)
{
    return (char *)copse_radix_at(tree, leaf) + copse_radix_value_at(copse_radix_type_of(leaf));
}

/* --- ways down ------------------------------------------------------------------------------------------------------ */

/* By which symbol a key leaves a node of this depth; it has at least so many bytes. */
static inline int copse_radix_symbol(copse_slice key, uint32_t depth)
{
    return key.length == depth ? COPSE_RADIX_END : key.start[depth];
}

/* The link by which a key that has `depth` bytes or more goes on; 0 where there is none. */
static inline copse_radix_link copse_radix_step(const copse_radix *tree, copse_radix_link node, copse_slice key)
{
    return copse_radix_get(copse_radix_type_of(node), copse_radix_at(tree, node),
                           copse_radix_symbol(key, copse_radix_depth_of(node)));
}

/* The first or the last leaf below a link. */
copse_radix_link copse_radix_edge(const copse_radix *tree, copse_radix_link link, bool last);
/* A leaf that shares with the key as many bytes as any leaf does; the tree is not empty. */
copse_radix_link copse_radix_nearest(const copse_radix *tree, copse_slice key);
/* How many bytes two strings have in common. */
size_t copse_radix_common(copse_slice a, copse_slice b);
/* Are the first n bytes the same? */
bool copse_radix_equal(const unsigned char *a, const unsigned char *b, size_t n);
/* The leaf of a key, or 0. */
copse_radix_link copse_radix_find_one(const copse_radix *tree, copse_slice key);
/* The leaves of n keys, which `keys` gives by number, or 0: several at a time. */
typedef copse_slice (*copse_radix_key_fn)(const void *user, uint64_t i);
void copse_radix_find_leaves(const copse_index *index, copse_radix_key_fn key, const void *user, uint64_t n,
                             copse_radix_link *leaves);

/* --- walks: walk.c --------------------------------------------------------------------------------------------------- */

/* A tree may be as deep as keys are long. A walk remembers the last levels of its way down; where it comes back to higher ones, it goes
 * down again, by the key of its leaf. */
#define COPSE_RADIX_HELD 48u

/* A place in the order of leaves: at a leaf, or behind the last. */
typedef struct copse_radix_walk {
    const copse_radix *tree;
    copse_radix_link leaf; /* 0: behind the last */
    uint32_t level;        /* nodes on the way to it                   */
    uint32_t held;         /* the last so many of them are remembered: */
    struct copse_radix_held {
        copse_radix_link node;
        int symbol;
    } path[COPSE_RADIX_HELD]; /* node number i at i mod COPSE_RADIX_HELD */
} copse_radix_walk;

/* Where to go: to the first entry that is at the key or behind it, behind the key, or behind all that begin with it. */
typedef enum copse_radix_side { COPSE_RADIX_AT, COPSE_RADIX_AFTER, COPSE_RADIX_PAST_PREFIX } copse_radix_side;

void copse_radix_walk_seek(copse_radix_walk *walk, const copse_radix *tree, copse_slice key, copse_radix_side side);
void copse_radix_walk_first(copse_radix_walk *walk, const copse_radix *tree);
void copse_radix_walk_behind(copse_radix_walk *walk, const copse_radix *tree);
/* At a leaf of the tree. */
void copse_radix_walk_at(copse_radix_walk *walk, const copse_radix *tree, copse_radix_link leaf);
void copse_radix_walk_next(copse_radix_walk *walk);
/* False: there is no leaf in front, and the walk stays. */
bool copse_radix_walk_previous(copse_radix_walk *walk);

/* --- change ---------------------------------------------------------------------------------------------------------- */

void copse_radix_init(copse_radix *tree, uint32_t width);
void copse_radix_release(const copse_ctx *ctx, copse_radix *tree);
/* A leaf for the key, without its value; memory has been reserved. */
copse_radix_link copse_radix_leaf_make(copse_radix *tree, copse_slice key);
/* Adds a key that is not there, with a value of tree->width bytes. False: no memory, and nothing has changed. */
bool copse_radix_insert_one(const copse_ctx *ctx, copse_radix *tree, copse_slice key, const void *value);
/* Takes a key away that is there. It needs no memory. */
void copse_radix_erase_one(const copse_ctx *ctx, copse_radix *tree, copse_slice key);

/* --- calls of trees/tree.h --------------------------------------------------------------------------------------------- */

extern const copse_calls copse_radix_calls;

copse_status copse_radix_build(copse_index *index, const void *keys, const void *values, uint64_t n);
copse_status copse_radix_insert(copse_index *index, const void *keys, const void *values, uint64_t n, uint32_t flags,
                                uint64_t *out_inserted);
copse_status copse_radix_erase(copse_index *index, const void *keys, uint64_t n, uint64_t *out_erased);
copse_status copse_radix_erase_pairs(copse_index *index, const void *keys, const void *values, uint64_t n,
                                     uint64_t *out_erased);
copse_status copse_radix_apply(copse_index *index, const uint8_t *operations, const void *keys, const void *values,
                               uint64_t n, void *out_values, uint8_t *out_found);
copse_status copse_radix_find(const copse_index *index, const void *keys, uint64_t n, void *values, uint8_t *found);
copse_status copse_radix_neighbours(const copse_index *index, const void *keys, uint64_t n, copse_neighbour which,
                                    void *out_keys, void *out_values, uint8_t *out_found, uint64_t *out_ranks);
copse_status copse_radix_count(const copse_index *index, const copse_ranges *ranges, uint64_t *counts);
copse_status copse_radix_range(const copse_index *index, const copse_ranges *ranges, const copse_rows *rows);
copse_status copse_radix_aggregate(const copse_index *index, copse_aggregate_kind kind, const copse_ranges *ranges,
                                   void *out, uint8_t *found);
copse_status copse_radix_scan(const copse_index *index, copse_scan *scan);
copse_status copse_radix_verify(const copse_index *index);

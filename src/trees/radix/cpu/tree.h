/* The radix tree on the CPU: what its files share. */
#pragma once

#include "core/bytes.h"
#include "core/codec.h"
#include "trees/radix/cpu/pool.h"
#include "trees/radix/node.h"
#include "trees/tree.h"

/* Which pages of the pools have changed, for a copy of them elsewhere. */
#define COPSE_RADIX_PAGE_BITS 10u

typedef struct copse_radix_marks {
    uint64_t *bits[COPSE_RADIX_TYPES];
    uint64_t words[COPSE_RADIX_TYPES];
    bool any, all;    /* all: a page for which there was no bit */
    uint32_t without; /* types that the copy does not have: bit `type` */
} copse_radix_marks;

typedef struct copse_radix {
    copse_radix_link root; /* 0: empty */
    uint64_t entries;
    uint32_t width;                                /* of a value */
    uint32_t height;                               /* the most levels that an entry had when it came */
    bool ordered;                                  /* no key came or went since the build: leaves lie in key order */
    copse_radix_pool pools[COPSE_RADIX_LEAF_LONG]; /* by type, but for that of long leaves: */
    copse_radix_heap heap;
    copse_radix_marks *marks; /* NULL: nobody wants to know */
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

void copse_radix_mark(const copse_radix *tree, copse_radix_link link);

/* A node or leaf has changed. */
static inline void copse_radix_touch(const copse_radix *tree, copse_radix_link link)
{
    if (tree->marks) copse_radix_mark(tree, link);
}

#define RADIX_TREE       copse_radix
#define COPSE_RADIX_HELD 48u
#include "trees/radix/walk.h"

/* --- lookups --------------------------------------------------------------------------------------------------------- */

/* The leaves of n keys, which `keys` gives by number, or 0: several at a time. */
typedef copse_slice (*copse_radix_key_fn)(const void *user, uint64_t i);
void copse_radix_find_leaves(const copse_index *index, copse_radix_key_fn key, const void *user, uint64_t n,
                             copse_radix_link *leaves);

/* The rest of lookups that others began: answer i is that of rest[i]. */
void copse_radix_find_rest(const copse_index *index, const copse_byte_keys *queries, const copse_radix_rest *rest,
                           uint64_t n, void *values, uint8_t *found);

/* --- change ---------------------------------------------------------------------------------------------------------- */

void copse_radix_init(copse_radix *tree, uint32_t width);
void copse_radix_release(const copse_ctx *ctx, copse_radix *tree);
/* A leaf for the key, without its value; memory has been reserved. */
copse_radix_link copse_radix_leaf_make(copse_radix *tree, copse_slice key);
/* A node or leaf is free. */
void copse_radix_item_drop(copse_radix *tree, copse_radix_link item);
/* Adds a key that is not there, with a value of tree->width bytes. False: no memory, and nothing has changed. */
bool copse_radix_insert_one(const copse_ctx *ctx, copse_radix *tree, copse_slice key, const void *value);
/* Takes a key away that is there. It needs no memory. */
void copse_radix_erase_one(const copse_ctx *ctx, copse_radix *tree, copse_slice key);

/* --- calls of trees/tree.h --------------------------------------------------------------------------------------------- */

extern const copse_calls copse_radix_calls;

/* The string of key i of fixed width. False: it is NaN. */
static inline bool copse_radix_key_encode(copse_type type, const void *keys, uint64_t i, unsigned char *to)
{
    if (copse_type_size(type) == 4) {
        uint32_t bits;
        memcpy(&bits, (const char *)keys + i * 4, 4);
        const uint32_t code = __builtin_bswap32(copse_encode_one_k32(type, bits));
        memcpy(to, &code, 4);
        return !copse_is_nan_k32(type, bits);
    }
    uint64_t bits;
    memcpy(&bits, (const char *)keys + i * 8, 8);
    const uint64_t code = __builtin_bswap64(copse_encode_one_k64(type, bits));
    memcpy(to, &code, 8);
    return !copse_is_nan_k64(type, bits);
}

copse_status copse_radix_build(copse_index *index, const void *keys, const void *values, uint64_t n);
copse_status copse_radix_insert(copse_index *index, const void *keys, const void *values, uint64_t n, uint32_t flags,
                                uint64_t *out_inserted);
copse_status copse_radix_erase(copse_index *index, const void *keys, uint64_t n, uint64_t *out_erased);
copse_status copse_radix_erase_pairs(copse_index *index, const void *keys, const void *values, uint64_t n,
                                     uint64_t *out_erased);
copse_status copse_radix_apply(copse_index *index, const uint8_t *operations, const void *keys, const void *values,
                               uint64_t n, void *out_values, uint8_t *out_found);
copse_status copse_radix_find(const copse_index *index, const void *keys, uint64_t n, void *values, uint8_t *found);
/* ... of keys of fixed width (trees/radix/fixed/fixed.h). */
copse_status copse_radix_find_fixed(const copse_index *index, const void *keys, uint64_t n, void *values,
                                    uint8_t *found);
copse_status copse_radix_neighbours(const copse_index *index, const void *keys, uint64_t n, copse_neighbour which,
                                    void *out_keys, void *out_values, uint8_t *out_found, uint64_t *out_ranks);
copse_status copse_radix_count(const copse_index *index, const copse_ranges *ranges, uint64_t *counts);
copse_status copse_radix_range(const copse_index *index, const copse_ranges *ranges, const copse_rows *rows);
copse_status copse_radix_aggregate(const copse_index *index, copse_aggregate_kind kind, const copse_ranges *ranges,
                                   void *out, uint8_t *found);
copse_status copse_radix_scan(const copse_index *index, copse_scan *scan);
copse_status copse_radix_verify(const copse_index *index);

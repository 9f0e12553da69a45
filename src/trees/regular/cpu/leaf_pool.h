/*
 * A pool of leaves, 1024 bytes each, cut from slabs that grow with the pool up to 2 MiB. A slab whose last leaf is
 * given back goes back to the allocator; a pool that is mostly free can be compacted.
 *
 *   slab   | header, one leaf wide | leaf | leaf | leaf | ...
 */
#pragma once

#include "core/internal.h"

#define COPSE_LEAF_BYTES 1024u

typedef struct copse_leaf_slab copse_leaf_slab;

typedef struct copse_leaf_pool {
    copse_leaf_slab **slab; /* by address                        */
    uint64_t slabs, slab_room;
    copse_leaf_slab *room;   /* list of those with a free leaf    */
    uint64_t used, capacity; /* leaves                            */
    size_t bytes;
} copse_leaf_pool;

/* A leaf with unspecified content, or NULL. */
char *copse_leaf_take(const copse_ctx *ctx, copse_leaf_pool *pool);
void copse_leaf_give(const copse_ctx *ctx, copse_leaf_pool *pool, char *leaf);
/* Gives back all memory of the pool, leaves in use included. */
void copse_leaf_pool_free(const copse_ctx *ctx, copse_leaf_pool *pool);

/* Whether so much is free that moving leaves together pays. */
bool copse_leaf_pool_sparse(const copse_leaf_pool *pool);
/* Moves the leaves of the emptiest slabs into the free leaves of the others and gives those slabs back. leaf[n] are
 * all leaves in use (NULLs are passed over); moved ones are replaced there. Cannot fail. */
void copse_leaf_pool_compact(const copse_ctx *ctx, copse_leaf_pool *pool, char **leaf, uint64_t n);

/*
 * A pool of leaves, 1024 bytes each, cut from chunks that grow with the pool up to 2 MiB. A chunk whose last leaf is
 * given back goes back to the allocator; a pool that is mostly free can be compacted.
 *
 *   chunk   | header, one leaf wide | leaf | leaf | leaf | ...
 */
#ifndef COPSE_LEAF_POOL_H
#define COPSE_LEAF_POOL_H

#include "core/internal.h"

#define COPSE_LEAF_BYTES 1024u

typedef struct copse_leaf_chunk copse_leaf_chunk;

typedef struct copse_leaf_pool {
    copse_leaf_chunk **chunk; /* by address                        */
    uint64_t chunks, chunk_room;
    copse_leaf_chunk *room;  /* list of those with a free leaf    */
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
/* Moves the leaves of the emptiest chunks into the free places of the others and gives those chunks back. leaf[n] are
 * all leaves in use (NULLs are passed over); moved ones are replaced there. Cannot fail. */
void copse_leaf_pool_compact(const copse_ctx *ctx, copse_leaf_pool *pool, char **leaf, uint64_t n);

#endif

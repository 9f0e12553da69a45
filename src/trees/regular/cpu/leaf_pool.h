/*
 * A pool of leaves, or of the pages above them, of equal size, cut from slabs that grow with the pool up to 2 MiB. A slab whose last leaf is
 * given back goes back to the allocator; a pool that is mostly free can be compacted.
 *
 *   slab   | header, one leaf wide | leaf | leaf | leaf | ...
 */
#pragma once

#include "core/internal.h"

#define COPSE_LEAF_BYTES 1024u

typedef struct copse_leaf_slab copse_leaf_slab;

typedef struct copse_leaf_pool {
    size_t leaf_bytes;      /* a multiple of a cache line */
    uint32_t smallest_slab; /* leaves, the header included */
    copse_leaf_slab **slab; /* by address                        */
    uint64_t slabs, slab_room;
    copse_leaf_slab *room;   /* list of those with a free leaf    */
    uint64_t used, capacity; /* leaves                            */
    size_t bytes;
    bool in_steps; /* new slabs are cleared as they are touched: a call that takes few leaves must not wait for all */
} copse_leaf_pool;

/* A leaf with unspecified content, or NULL. */
char *copse_leaf_take(const copse_ctx *ctx, copse_leaf_pool *pool);
/* Gets the memory for so many leaves that are about to be taken, in slabs as large as the whole allows: small ones come from malloc,
 * and the system gives it memory 4 KiB at a time. All threads touch it first, since the system clears it then, which takes longer than
 * all else. False: no memory, and nothing has changed. */
bool copse_leaf_reserve(const copse_ctx *ctx, copse_leaf_pool *pool, uint32_t threads, uint64_t leaves);
void copse_leaf_give(const copse_ctx *ctx, copse_leaf_pool *pool, char *leaf);
/* Gives back all memory of the pool, leaves in use included. */
void copse_leaf_pool_free(const copse_ctx *ctx, copse_leaf_pool *pool);

/* Whether so much is free that moving leaves together pays. */
bool copse_leaf_pool_sparse(const copse_leaf_pool *pool);
/* Moves the leaves of the emptiest slabs into the free leaves of the others and gives those slabs back: begin, then move with
 * all leaves in use (NULLs are passed over; moved ones are replaced there), in as many pieces as the caller likes, then end. Cannot
 * fail. */
void copse_leaf_pool_compact_begin(copse_leaf_pool *pool);
void copse_leaf_pool_compact_move(const copse_ctx *ctx, copse_leaf_pool *pool, char **leaf, uint64_t n);
void copse_leaf_pool_compact_end(const copse_ctx *ctx, copse_leaf_pool *pool);

/* The pool of leaves. */
#include "trees/regular/cpu/leaf_pool.h"

#include <stdlib.h>
#include <string.h>

#define SMALLEST_CHUNK 8u /* leaves, the header included */
#define LARGEST_CHUNK  (COPSE_HUGE_PAGE / COPSE_LEAF_BYTES)

struct copse_leaf_chunk {
    uint32_t capacity, used;
    uint32_t untouched;               /* leaves from here on were never handed out */
    bool leaving;                     /* being emptied by a compaction             */
    char *free;                       /* list through the first bytes of the leaves */
    copse_leaf_chunk *before, *after; /* in the list of chunks with room; only there while listed */
    bool listed;
};

_Static_assert(sizeof(copse_leaf_chunk) <= COPSE_LEAF_BYTES, "the header takes the place of one leaf");

static size_t chunk_bytes(const copse_leaf_chunk *chunk)
{
    return (size_t)(chunk->capacity + 1) * COPSE_LEAF_BYTES;
}

static void room_add(copse_leaf_pool *pool, copse_leaf_chunk *chunk)
{
    if (chunk->listed) return;
    chunk->listed = true;
    chunk->before = NULL;
    chunk->after = pool->room;
    if (pool->room) pool->room->before = chunk;
    pool->room = chunk;
}

static void room_remove(copse_leaf_pool *pool, copse_leaf_chunk *chunk)
{
    if (!chunk->listed) return;
    chunk->listed = false;
    if (chunk->after) chunk->after->before = chunk->before;
    if (chunk->before)
        chunk->before->after = chunk->after;
    else
        pool->room = chunk->after;
}

/* Position of the first chunk that starts behind an address. */
static uint64_t chunk_behind(const copse_leaf_pool *pool, const char *address)
{
    uint64_t low = 0, high = pool->chunks;
    while (low < high) {
        uint64_t middle = (low + high) / 2;
        if ((const char *)pool->chunk[middle] <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool chunk_list_grow(const copse_ctx *ctx, copse_leaf_pool *pool)
{
    uint64_t room = pool->chunk_room ? pool->chunk_room * 2 : 16;
    copse_leaf_chunk **list = copse_memory_alloc(ctx, room * sizeof *list);
    if (!list) return false;
    if (pool->chunks) memcpy(list, pool->chunk, pool->chunks * sizeof *list);
    copse_memory_free(ctx, pool->chunk, pool->chunk_room * sizeof *list);
    pool->bytes += (room - pool->chunk_room) * sizeof *list;
    pool->chunk = list;
    pool->chunk_room = room;
    return true;
}

static bool chunk_add(const copse_ctx *ctx, copse_leaf_pool *pool)
{
    if (pool->chunks == pool->chunk_room && !chunk_list_grow(ctx, pool)) return false;
    /* An eighth more each time: what is not used yet stays a small part of the whole. */
    uint64_t leaves = pool->capacity / 8 < SMALLEST_CHUNK ? SMALLEST_CHUNK : pool->capacity / 8;
    if (leaves > LARGEST_CHUNK) leaves = LARGEST_CHUNK;
    copse_leaf_chunk *chunk = copse_memory_alloc(ctx, leaves * COPSE_LEAF_BYTES);
    if (!chunk) return false;
    *chunk = (copse_leaf_chunk){.capacity = (uint32_t)leaves - 1};
    uint64_t at = chunk_behind(pool, (const char *)chunk);
    memmove(pool->chunk + at + 1, pool->chunk + at, (pool->chunks - at) * sizeof *pool->chunk);
    pool->chunk[at] = chunk;
    pool->chunks++;
    pool->capacity += chunk->capacity;
    pool->bytes += chunk_bytes(chunk);
    room_add(pool, chunk);
    return true;
}

static void chunk_drop(const copse_ctx *ctx, copse_leaf_pool *pool, copse_leaf_chunk *chunk)
{
    uint64_t at = chunk_behind(pool, (const char *)chunk) - 1;
    room_remove(pool, chunk);
    memmove(pool->chunk + at, pool->chunk + at + 1, (pool->chunks - at - 1) * sizeof *pool->chunk);
    pool->chunks--;
    pool->capacity -= chunk->capacity;
    pool->bytes -= chunk_bytes(chunk);
    copse_memory_free(ctx, chunk, chunk_bytes(chunk));
}

char *copse_leaf_take(const copse_ctx *ctx, copse_leaf_pool *pool)
{
    if (!pool->room && !chunk_add(ctx, pool)) return NULL;
    copse_leaf_chunk *chunk = pool->room;
    char *leaf = chunk->free;
    if (leaf)
        memcpy(&chunk->free, leaf, sizeof chunk->free);
    else
        leaf = (char *)chunk + (size_t)(++chunk->untouched) * COPSE_LEAF_BYTES;
    chunk->used++;
    pool->used++;
    if (chunk->used == chunk->capacity) room_remove(pool, chunk);
    return leaf;
}

/* Puts a leaf on its chunk's free list. */
static copse_leaf_chunk *leaf_release(copse_leaf_pool *pool, char *leaf)
{
    copse_leaf_chunk *chunk = pool->chunk[chunk_behind(pool, leaf) - 1];
    memcpy(leaf, &chunk->free, sizeof chunk->free);
    chunk->free = leaf;
    chunk->used--;
    pool->used--;
    return chunk;
}

void copse_leaf_give(const copse_ctx *ctx, copse_leaf_pool *pool, char *leaf)
{
    copse_leaf_chunk *chunk = leaf_release(pool, leaf);
    if (chunk->used == 0)
        chunk_drop(ctx, pool, chunk);
    else
        room_add(pool, chunk);
}

void copse_leaf_pool_free(const copse_ctx *ctx, copse_leaf_pool *pool)
{
    for (uint64_t i = 0; i < pool->chunks; i++) copse_memory_free(ctx, pool->chunk[i], chunk_bytes(pool->chunk[i]));
    copse_memory_free(ctx, pool->chunk, pool->chunk_room * sizeof *pool->chunk);
    *pool = (copse_leaf_pool){0};
}

bool copse_leaf_pool_sparse(const copse_leaf_pool *pool)
{
    return pool->chunks > 1 && pool->used < pool->capacity - pool->capacity / 4;
}

/* Marks the emptiest chunks as leaving, as many as the others have room for. Fullness is bucketed in 64ths, which
 * needs no memory and is close enough to sorting. */
static void chunks_choose(copse_leaf_pool *pool)
{
    uint64_t keep_capacity = 0;
    for (uint64_t i = 0; i < pool->chunks; i++) pool->chunk[i]->leaving = true;
    for (int level = 64; level >= 0 && keep_capacity < pool->used; level--)
        for (uint64_t i = 0; i < pool->chunks && keep_capacity < pool->used; i++) {
            copse_leaf_chunk *chunk = pool->chunk[i];
            if (!chunk->leaving || (int)((uint64_t)chunk->used * 64 / chunk->capacity) < level) continue;
            chunk->leaving = false;
            keep_capacity += chunk->capacity;
        }
}

void copse_leaf_pool_compact(const copse_ctx *ctx, copse_leaf_pool *pool, char **leaf, uint64_t n)
{
    chunks_choose(pool);
    for (uint64_t i = 0; i < pool->chunks; i++)
        if (pool->chunk[i]->leaving) room_remove(pool, pool->chunk[i]);
    for (uint64_t i = 0; i < n; i++) {
        if (!leaf[i] || !pool->chunk[chunk_behind(pool, leaf[i]) - 1]->leaving) continue;
        char *to = copse_leaf_take(ctx, pool); /* there is room in the chunks that stay */
        memcpy(to, leaf[i], COPSE_LEAF_BYTES);
        leaf_release(pool, leaf[i]);
        leaf[i] = to;
    }
    for (uint64_t i = pool->chunks; i-- > 0;) {
        copse_leaf_chunk *chunk = pool->chunk[i];
        if (chunk->leaving) chunk_drop(ctx, pool, chunk);
    }
}

/* The pools of the radix tree (trees/radix/layout.h): memory that grows by segments, so that nothing large is ever copied. */
#pragma once

#include "core/internal.h"
#include "trees/radix/layout.h"

/* An allocation, which holds one or more segments. */
typedef struct copse_radix_block {
    unsigned char *memory;
    size_t bytes;
} copse_radix_block;

typedef struct copse_radix_pool {
    unsigned char **segments;
    copse_radix_block *blocks;
    uint32_t tables; /* room of both arrays */
    uint32_t block_count;
    uint32_t stride, shift;
    uint64_t used;       /* items from the first on that were ever taken; the next one has this index */
    uint64_t capacity;   /* items for which there is memory */
    uint64_t free;       /* index + 1 of the first that was given back */
    uint64_t free_count; /* of the heap: units, in all of its lists */
    size_t bytes;        /* of all memory */
} copse_radix_pool;

/* An empty pool, which has no memory. */
void copse_radix_pool_init(copse_radix_pool *pool, uint32_t stride);
void copse_radix_pool_free(const copse_ctx *ctx, copse_radix_pool *pool);
/* Memory for n items of an empty pool, and for some more where they are many. False: there is none. */
bool copse_radix_pool_size(const copse_ctx *ctx, copse_radix_pool *pool, uint64_t n);
/* Memory for n items in a row behind those that were taken. False: there is none, and nothing changed. Items may lie elsewhere after
 * it, under the same index. */
bool copse_radix_pool_extend(const copse_ctx *ctx, copse_radix_pool *pool, uint64_t n);

static inline unsigned char *copse_radix_pool_at(const copse_radix_pool *pool, uint64_t index)
{
    return pool->segments[index >> pool->shift] + (index & ((UINT64_C(1) << pool->shift) - 1)) * pool->stride;
}

/* After it one item can be taken. */
static inline bool copse_radix_pool_reserve(const copse_ctx *ctx, copse_radix_pool *pool)
{
    return pool->free || pool->used < pool->capacity || copse_radix_pool_extend(ctx, pool, 1);
}

/* An item for which there is memory; what it holds is open. */
uint64_t copse_radix_pool_take(copse_radix_pool *pool);
void copse_radix_pool_give(copse_radix_pool *pool, uint64_t index);

/* --- the heap: a pool of units from which blocks are cut -------------------------------------------------------------- */

typedef struct copse_radix_heap {
    copse_radix_pool pool;
    uint64_t free[COPSE_RADIX_CLASSES]; /* index + 1 of the first free block of a class */
} copse_radix_heap;

/* Where a block goes that is cut behind `used` units. */
uint64_t copse_radix_heap_place(const copse_radix_pool *pool, uint64_t used, uint32_t units);
bool copse_radix_heap_reserve(const copse_ctx *ctx, copse_radix_heap *heap, uint32_t units);
uint64_t copse_radix_heap_take(copse_radix_heap *heap, uint32_t units);
void copse_radix_heap_give(copse_radix_heap *heap, uint64_t index, uint32_t units);

/* The pools of the radix tree. */
#include "trees/radix/cpu/pool.h"

#include <string.h>

/* A segment has at most so many bytes: few enough that a call that has to make one takes no time, and enough that a table of segments stays in a
 * near cache. Whatever the stride of a pool, it is a number of whole pages of COPSE_RADIX_PAGE_BITS. */
#define SEGMENT_BYTES (160u << 10)
/* ... of units, from which blocks of up to 80 KiB are cut: enough that what is left at the ends is little. */
#define UNIT_CHUNK_BYTES (1u << 20)
#define SMALLEST         8u /* items */

void copse_radix_pool_init(copse_radix_pool *pool, uint32_t stride)
{
    *pool = (copse_radix_pool){.stride = stride};
    const uint64_t most = stride == copse_radix_stride(COPSE_RADIX_LEAF_LONG, 0) ? UNIT_CHUNK_BYTES : SEGMENT_BYTES;
    while ((uint64_t)stride << (pool->shift + 1) <= most) pool->shift++;
}

void copse_radix_pool_free(const copse_ctx *ctx, copse_radix_pool *pool)
{
    for (uint32_t i = 0; i < pool->block_count; i++)
        copse_memory_free(ctx, pool->blocks[i].memory, pool->blocks[i].bytes);
    copse_memory_free(ctx, pool->blocks, pool->tables * sizeof *pool->blocks);
    copse_memory_free(ctx, pool->segments, pool->tables * sizeof *pool->segments);
    copse_radix_pool_init(pool, pool->stride);
}

/* Room for one more block and for `segments` segments in the tables. */
static bool tables_grow(const copse_ctx *ctx, copse_radix_pool *pool, uint64_t segments)
{
    if (segments <= pool->tables && pool->block_count < pool->tables) return true;
    uint64_t room = pool->tables ? 2 * (uint64_t)pool->tables : 4;
    while (room < segments) room *= 2;
    if (room > UINT32_MAX) return false;
    unsigned char **table = copse_memory_alloc(ctx, room * sizeof *table);
    copse_radix_block *blocks = copse_memory_alloc(ctx, room * sizeof *blocks);
    if (!table || !blocks) {
        copse_memory_free(ctx, table, room * sizeof *table);
        copse_memory_free(ctx, blocks, room * sizeof *blocks);
        return false;
    }
    if (pool->tables) {
        memcpy(table, pool->segments, pool->tables * sizeof *table);
        memcpy(blocks, pool->blocks, pool->tables * sizeof *blocks);
    }
    copse_memory_free(ctx, pool->segments, pool->tables * sizeof *pool->segments);
    copse_memory_free(ctx, pool->blocks, pool->tables * sizeof *pool->blocks);
    pool->bytes += (room - pool->tables) * (sizeof *table + sizeof *blocks);
    pool->segments = table;
    pool->blocks = blocks;
    pool->tables = (uint32_t)room;
    return true;
}

/* A block that has segment `first` and those behind it, up to `items` items of the pool. The last segment may be cut short. */
static bool block_add(const copse_ctx *ctx, copse_radix_pool *pool, uint64_t first, uint64_t items)
{
    const uint64_t segments = (items + (UINT64_C(1) << pool->shift) - 1) >> pool->shift;
    const size_t bytes = copse_memory_product(items - (first << pool->shift), pool->stride);
    if (!tables_grow(ctx, pool, segments)) return false;
    unsigned char *memory = copse_memory_alloc(ctx, bytes);
    if (!memory) return false;
    for (uint64_t i = first; i < segments; i++)
        pool->segments[i] = memory + ((i - first) << pool->shift) * (uint64_t)pool->stride;
    pool->blocks[pool->block_count++] = (copse_radix_block){memory, bytes};
    pool->bytes += bytes;
    pool->capacity = items;
    return true;
}

bool copse_radix_pool_size(const copse_ctx *ctx, copse_radix_pool *pool, uint64_t n)
{
    const uint64_t segment = UINT64_C(1) << pool->shift,
                   few = segment * pool->stride > SEGMENT_BYTES ? 64 * segment : segment;
    uint64_t items = n;
    /* Whole segments, for a part would be copied when the pool grows (of units, whose segments are large, that costs less where there are few),
     * and so many more that keys which come one by one wait neither for memory nor, as it is touched here, for its pages. */
    if (n > few)
        items = (n + n / 128 + segment - 1) >> pool->shift << pool->shift;
    else if (n && n < segment)
        items = n + n / 8 + 1 < segment ? n + n / 8 + 1 : segment;
    if (n && !block_add(ctx, pool, 0, items)) return false;
    for (uint64_t i = n; i < items; i += 1 + 4096 / pool->stride) *copse_radix_pool_at(pool, i) = 0;
    return true;
}

/* The block of the only segment goes, which has just been copied. */
static void first_block_drop(const copse_ctx *ctx, copse_radix_pool *pool)
{
    pool->bytes -= pool->blocks[0].bytes;
    copse_memory_free(ctx, pool->blocks[0].memory, pool->blocks[0].bytes);
    pool->blocks[0] = pool->blocks[--pool->block_count];
}

bool copse_radix_pool_extend(const copse_ctx *ctx, copse_radix_pool *pool, uint64_t n)
{
    const uint64_t segment = UINT64_C(1) << pool->shift, needed = pool->used + n, old = pool->capacity;
    if (needed <= old) return true;
    uint64_t items = old + old / 64;
    if (old < segment) items = old ? 2 * old : SMALLEST; /* one segment that is not whole yet grows by copying */
    if (items < needed) items = needed;
    if (items > segment) items = (items + segment - 1) >> pool->shift << pool->shift;
    const uint64_t first = old >> pool->shift;
    const unsigned char *from = old & (segment - 1) ? pool->segments[first] : NULL;
    if (!block_add(ctx, pool, first, items)) return false;
    if (!from) return true;
    const uint64_t filled = pool->used - (first << pool->shift);
    memcpy(pool->segments[first], from, (size_t)(filled * pool->stride));
    if (first == 0) first_block_drop(ctx, pool);
    return true;
}

uint64_t copse_radix_pool_take(copse_radix_pool *pool)
{
    if (!pool->free) return pool->used++;
    const uint64_t index = pool->free - 1;
    memcpy(&pool->free, copse_radix_pool_at(pool, index), sizeof pool->free);
    pool->free_count--;
    return index;
}

void copse_radix_pool_give(copse_radix_pool *pool, uint64_t index)
{
    memcpy(copse_radix_pool_at(pool, index), &pool->free, sizeof pool->free);
    pool->free = index + 1;
    pool->free_count++;
}

/* --- the heap ------------------------------------------------------------------------------------------------------- */

uint64_t copse_radix_heap_place(const copse_radix_pool *pool, uint64_t used, uint32_t units)
{
    const uint64_t segment = UINT64_C(1) << pool->shift;
    return (used & (segment - 1)) + units > segment ? ((used >> pool->shift) + 1) << pool->shift : used;
}

bool copse_radix_heap_reserve(const copse_ctx *ctx, copse_radix_heap *heap, uint32_t units)
{
    copse_radix_pool *pool = &heap->pool;
    uint32_t size;
    if (heap->free[copse_radix_class_of(units, &size)]) return true;
    return copse_radix_pool_extend(ctx, pool, copse_radix_heap_place(pool, pool->used, size) + size - pool->used);
}

uint64_t copse_radix_heap_take(copse_radix_heap *heap, uint32_t units)
{
    copse_radix_pool *pool = &heap->pool;
    uint32_t size;
    uint64_t *free = &heap->free[copse_radix_class_of(units, &size)];
    if (!*free) {
        const uint64_t index = copse_radix_heap_place(pool, pool->used, size);
        pool->free_count += index - pool->used; /* what is left of a segment stays unused */
        pool->used = index + size;
        return index;
    }
    const uint64_t index = *free - 1;
    memcpy(free, copse_radix_pool_at(pool, index), sizeof *free);
    pool->free_count -= size;
    return index;
}

void copse_radix_heap_give(copse_radix_heap *heap, uint64_t index, uint32_t units)
{
    uint32_t size;
    uint64_t *free = &heap->free[copse_radix_class_of(units, &size)];
    memcpy(copse_radix_pool_at(&heap->pool, index), free, sizeof *free);
    *free = index + 1;
    heap->pool.free_count += size;
}

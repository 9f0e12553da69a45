/*
 * The block cache keeps device memory that a call freed for the next call. A call needs some twenty blocks, and the driver takes
 * microseconds for each: as long as a kernel.
 *
 * It keeps only blocks of the main stream, and only for the main stream, so that nothing has to wait: the stream runs what used a
 * block last before what uses it next. It rounds sizes up, so that calls of slightly different sizes find each other's blocks;
 * the bytes that count (copse_device.allocated, limits, sentences) are those that the caller asked for.
 */
#include "device/device.h"

#include <string.h>

/* Up to SMALL_MOST bytes sizes are multiples of SMALL_STEP, above it of 1/STEP_SHARE of the power of two below, but of no more than
 * LARGE_STEP: trees are blocks, too, and should not take an eighth more than they say. */
#define SMALL_MOST UINT64_C(65536)
#define SMALL_STEP UINT64_C(512)
#define STEP_SHARE 8u
#define LARGE_STEP (UINT64_C(2) << 20)
/* A block that takes a larger share than this of what may be kept in all is not kept: it would push out everything else, and
 * takes long to use anyway. */
#define LARGEST_SHARE 4u

/* Bytes of the block for a request: the same for every request of so many bytes, because a freed block has to come back with the
 * size that it was taken with. */
static uint64_t size_of(const copse_block_cache *cache, uint64_t bytes)
{
    uint64_t step = SMALL_STEP;
    if (bytes > cache->most / LARGEST_SHARE) return bytes;
    if (bytes > SMALL_MOST) step = (UINT64_C(1) << (63 - __builtin_clzll(bytes))) / STEP_SHARE;
    if (step > LARGE_STEP) step = LARGE_STEP;
    return (bytes + step - 1) / step * step;
}

/* --- the list, under the lock ----------------------------------------------------------------------------------------------- */

static copse_cached_block remove_at(copse_block_cache *cache, unsigned i)
{
    const copse_cached_block block = cache->blocks[i];
    cache->count--;
    cache->bytes -= block.bytes;
    memmove(&cache->blocks[i], &cache->blocks[i + 1], (cache->count - i) * sizeof block);
    return block;
}

/* The youngest of that size: some of it may still be in the device's cache. */
static void *take(copse_device *device, uint64_t size)
{
    copse_block_cache *cache = &device->block_cache;
    void *memory = NULL;
    pthread_mutex_lock(&device->lock);
    for (unsigned i = cache->count; i-- > 0 && !memory;)
        if (cache->blocks[i].bytes == size) memory = remove_at(cache, i).memory;
    pthread_mutex_unlock(&device->lock);
    return memory;
}

/* Keeps a block where there is room. *out_gone: what has to go instead, the oldest or the block itself; where it is the oldest
 * the block is not kept yet. */
static bool keep(copse_device *device, copse_cached_block block, copse_cached_block *out_gone)
{
    copse_block_cache *cache = &device->block_cache;
    bool kept = false;
    pthread_mutex_lock(&device->lock);
    if (cache->closed || block.bytes > cache->most / LARGEST_SHARE) {
        *out_gone = block;
    } else if (cache->count == COPSE_BLOCK_CACHE_BLOCKS || cache->bytes + block.bytes > cache->most) {
        *out_gone = remove_at(cache, 0);
    } else {
        cache->blocks[cache->count++] = block;
        cache->bytes += block.bytes;
        kept = true;
    }
    pthread_mutex_unlock(&device->lock);
    return kept;
}

/* After an allocation failed the cache is closed: it gives freed blocks back at once, until an allocation succeeds again. */
static void set_closed(copse_device *device, bool closed)
{
    pthread_mutex_lock(&device->lock);
    device->block_cache.closed = closed;
    pthread_mutex_unlock(&device->lock);
}

uint64_t copse_block_cache_bytes(copse_device *device)
{
    pthread_mutex_lock(&device->lock);
    const uint64_t bytes = device->block_cache.bytes;
    pthread_mutex_unlock(&device->lock);
    return bytes;
}

bool copse_block_cache_drop(copse_device *device)
{
    copse_block_cache *cache = &device->block_cache;
    bool any = false;
    for (;;) {
        copse_cached_block block = {0};
        pthread_mutex_lock(&device->lock);
        if (cache->count) block = remove_at(cache, 0);
        pthread_mutex_unlock(&device->lock);
        if (!block.memory) return any;
        device->backend->free(device, device->main, block.memory, block.bytes);
        any = true;
    }
}

/* --- blocks that are smaller than others of their request ---------------------------------------------------------------------- */

static bool exact_add(copse_device *device, void *memory)
{
    copse_block_cache *cache = &device->block_cache;
    pthread_mutex_lock(&device->lock);
    const bool room = cache->exact_count < COPSE_BLOCK_CACHE_EXACT;
    if (room) cache->exact[cache->exact_count++] = memory;
    pthread_mutex_unlock(&device->lock);
    return room;
}

/* Whether it was one; it is taken off the list. */
static bool exact_remove(copse_device *device, const void *memory)
{
    copse_block_cache *cache = &device->block_cache;
    bool found = false;
    pthread_mutex_lock(&device->lock);
    for (unsigned i = 0; i < cache->exact_count && !found; i++) {
        if (cache->exact[i] != memory) continue;
        cache->exact[i] = cache->exact[--cache->exact_count];
        found = true;
    }
    pthread_mutex_unlock(&device->lock);
    return found;
}

/* --- what device.c calls -------------------------------------------------------------------------------------------------------- */

/* The device has no memory for a rounded size. Gives back all that the cache keeps, and asks for exactly the bytes wanted. */
static copse_status alloc_tight(copse_device *device, copse_stream *stream, uint64_t bytes, const char *what,
                                void **out)
{
    const bool smaller = size_of(&device->block_cache, bytes) != bytes;
    set_closed(device, true);
    if (!copse_block_cache_drop(device) && !smaller) return COPSE_ERR_MEMORY;
    copse_status status = device->backend->alloc(device, stream, bytes, what, out);
    if (status != COPSE_OK || !smaller || exact_add(device, *out)) return status;
    device->backend->free(device, stream, *out, bytes);
    *out = NULL;
    return copse_device_out_of_memory(device, bytes, what);
}

copse_status copse_block_cache_alloc(copse_device *device, copse_stream *stream, uint64_t bytes, const char *what,
                                     void **out)
{
    const uint64_t size = size_of(&device->block_cache, bytes);
    if (device->block_cache.most == 0) return device->backend->alloc(device, stream, bytes, what, out);
    if (stream == device->main && (*out = take(device, size)) != NULL) return COPSE_OK;
    copse_kept_error kept;
    copse_error_keep(&kept);
    copse_status status = device->backend->alloc(device, stream, size, what, out);
    if (status == COPSE_ERR_MEMORY) {
        status = alloc_tight(device, stream, bytes, what, out);
        if (status == COPSE_OK) copse_error_put_back(&kept);
    }
    if (status == COPSE_OK) set_closed(device, false);
    return status;
}

void copse_block_cache_bypass(copse_device *device, copse_stream *stream, void *memory, uint64_t bytes)
{
    const bool rounded = device->block_cache.most != 0 && !exact_remove(device, memory);
    device->backend->free(device, stream, memory, rounded ? size_of(&device->block_cache, bytes) : bytes);
}

void copse_block_cache_free(copse_device *device, copse_stream *stream, void *memory, uint64_t bytes)
{
    copse_cached_block block = {memory, bytes}, gone = {0};
    const bool exact = device->block_cache.most != 0 && exact_remove(device, memory);
    if (device->block_cache.most != 0 && !exact) block.bytes = size_of(&device->block_cache, bytes);
    if (device->block_cache.most == 0 || exact || stream != device->main) {
        device->backend->free(device, stream, memory, block.bytes);
        return;
    }
    while (gone.memory != memory && !keep(device, block, &gone))
        device->backend->free(device, stream, gone.memory, gone.bytes);
}

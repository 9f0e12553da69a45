/*
 * Blocks of device memory that were freed and are kept for the next call. A call needs some twenty of them, and the driver
 * takes microseconds for each: as long as a kernel, and longer than all of them where the host is what others wait for.
 *
 * Only blocks of the main stream are kept, and only for the main stream, so nobody has to wait: what used the block last is in
 * front of what uses it next. Sizes are rounded up, so that calls of slightly different sizes find each other's blocks; the
 * bytes that count (copse_device.allocated, limits, sentences) are those that were asked for.
 */
#include "device/device.h"

#include <string.h>

/* Up to SMALL_MOST bytes sizes are multiples of SMALL_STEP, above it of 1/STEP_PART of the power of two below, but of no more than
 * LARGE_STEP: trees are blocks, too, and should not take an eighth more than they say. */
#define SMALL_MOST UINT64_C(65536)
#define SMALL_STEP UINT64_C(512)
#define STEP_PART  8u
#define LARGE_STEP (UINT64_C(2) << 20)
/* A larger part of what may be kept in all is not kept: it would push out everything else, and takes long to use anyway. */
#define LARGEST_PART 4u

/* Bytes of the block for a request. The same for every request of so many bytes, or a block could come back as a larger one. */
static uint64_t size_of(const copse_block_cache *spare, uint64_t bytes)
{
    uint64_t step = SMALL_STEP;
    if (bytes > spare->most / LARGEST_PART) return bytes;
    if (bytes > SMALL_MOST) step = (UINT64_C(1) << (63 - __builtin_clzll(bytes))) / STEP_PART;
    if (step > LARGE_STEP) step = LARGE_STEP;
    return (bytes + step - 1) / step * step;
}

/* --- the list, under the lock ----------------------------------------------------------------------------------------------- */

static copse_cached_block remove_at(copse_block_cache *spare, unsigned i)
{
    const copse_cached_block block = spare->blocks[i];
    spare->count--;
    spare->bytes -= block.bytes;
    memmove(&spare->blocks[i], &spare->blocks[i + 1], (spare->count - i) * sizeof block);
    return block;
}

/* The youngest of that size: some of it may still be in the device's cache. */
static void *take(copse_device *device, uint64_t size)
{
    copse_block_cache *spare = &device->spare;
    void *memory = NULL;
    pthread_mutex_lock(&device->lock);
    for (unsigned i = spare->count; i-- > 0 && !memory;)
        if (spare->blocks[i].bytes == size) memory = remove_at(spare, i).memory;
    pthread_mutex_unlock(&device->lock);
    return memory;
}

/* Keeps a block where there is room. *out_gone: what has to go instead, the oldest or the block itself; where it is the oldest
 * the block is not kept yet. */
static bool keep(copse_device *device, copse_cached_block block, copse_cached_block *out_gone)
{
    copse_block_cache *spare = &device->spare;
    bool kept = false;
    pthread_mutex_lock(&device->lock);
    if (spare->closed || block.bytes > spare->most / LARGEST_PART) {
        *out_gone = block;
    } else if (spare->count == COPSE_BLOCK_CACHE_BLOCKS || spare->bytes + block.bytes > spare->most) {
        *out_gone = remove_at(spare, 0);
    } else {
        spare->blocks[spare->count++] = block;
        spare->bytes += block.bytes;
        kept = true;
    }
    pthread_mutex_unlock(&device->lock);
    return kept;
}

/* An allocation failed: what is freed from now on goes back at once, until one succeeds again. */
static void set_closed(copse_device *device, bool closed)
{
    pthread_mutex_lock(&device->lock);
    device->spare.closed = closed;
    pthread_mutex_unlock(&device->lock);
}

uint64_t copse_block_cache_bytes(copse_device *device)
{
    pthread_mutex_lock(&device->lock);
    const uint64_t bytes = device->spare.bytes;
    pthread_mutex_unlock(&device->lock);
    return bytes;
}

bool copse_block_cache_drop(copse_device *device)
{
    copse_block_cache *spare = &device->spare;
    bool any = false;
    for (;;) {
        copse_cached_block block = {0};
        pthread_mutex_lock(&device->lock);
        if (spare->count) block = remove_at(spare, 0);
        pthread_mutex_unlock(&device->lock);
        if (!block.memory) return any;
        device->backend->free(device, device->main, block.memory, block.bytes);
        any = true;
    }
}

/* --- blocks that are smaller than others of their request ---------------------------------------------------------------------- */

static bool exact_add(copse_device *device, void *memory)
{
    copse_block_cache *spare = &device->spare;
    pthread_mutex_lock(&device->lock);
    const bool room = spare->exact_count < COPSE_BLOCK_CACHE_EXACT;
    if (room) spare->exact[spare->exact_count++] = memory;
    pthread_mutex_unlock(&device->lock);
    return room;
}

/* Was it one? It is none any more. */
static bool exact_remove(copse_device *device, const void *memory)
{
    copse_block_cache *spare = &device->spare;
    bool found = false;
    pthread_mutex_lock(&device->lock);
    for (unsigned i = 0; i < spare->exact_count && !found; i++) {
        if (spare->exact[i] != memory) continue;
        spare->exact[i] = spare->exact[--spare->exact_count];
        found = true;
    }
    pthread_mutex_unlock(&device->lock);
    return found;
}

/* --- what device.c calls -------------------------------------------------------------------------------------------------------- */

/* There was no memory for a rounded size: with all that is kept given back, and not a byte more than asked for, there may be. */
static copse_status alloc_tight(copse_device *device, copse_stream *stream, uint64_t bytes, const char *what,
                                void **out)
{
    const bool smaller = size_of(&device->spare, bytes) != bytes;
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
    const uint64_t size = size_of(&device->spare, bytes);
    if (device->spare.most == 0) return device->backend->alloc(device, stream, bytes, what, out);
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
    const bool rounded = device->spare.most != 0 && !exact_remove(device, memory);
    device->backend->free(device, stream, memory, rounded ? size_of(&device->spare, bytes) : bytes);
}

void copse_block_cache_free(copse_device *device, copse_stream *stream, void *memory, uint64_t bytes)
{
    copse_cached_block block = {memory, bytes}, gone = {0};
    const bool exact = device->spare.most != 0 && exact_remove(device, memory);
    if (device->spare.most != 0 && !exact) block.bytes = size_of(&device->spare, bytes);
    if (device->spare.most == 0 || exact || stream != device->main) {
        device->backend->free(device, stream, memory, block.bytes);
        return;
    }
    while (gone.memory != memory && !keep(device, block, &gone))
        device->backend->free(device, stream, gone.memory, gone.bytes);
}

/*
 * Shared memory of a block. An array is allocated when the first lane reaches it; between them lie zones that no
 * kernel may write. Their content is a pattern at first, as a card promises nothing about it either.
 *
 *   [ zone | array | zone | array | zone | not used yet ............ ]
 */
#define _GNU_SOURCE /* mmap's flags */
#include "simt/emulator_internal.h"

#include <string.h>
#include <sys/mman.h>

#define ZONE         ((size_t)128)
#define ZONE_BYTE    0x5c
#define CONTENT_BYTE 0xa5

COPSE_NO_TSAN bool copse_emulator_shared_reserve(emulated_block *block)
{
    if (block->shared) return true;
    void *memory = mmap(NULL, COPSE_SIMT_SHARED_SPAN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return false;
    block->shared = memory;
    return true;
}

COPSE_NO_TSAN void copse_emulator_shared_begin(emulated_block *block)
{
    block->arrays = 0;
    block->array_bytes = block->shared_used = block->shared_filled = 0;
#if COPSE_ASAN
    __asan_poison_memory_region(block->shared, COPSE_SIMT_SHARED_SPAN);
#endif
#if COPSE_TSAN
    memset(block->shared, CONTENT_BYTE, COPSE_SIMT_SHARED_SPAN);
#endif
}

/* AddressSanitizer watches the zones itself. A loop by bytes: a call of memset would count as an access of this lane. */
static COPSE_NO_TSAN void fill_zones(emulated_block *block, size_t end, size_t offset, size_t bytes)
{
#if COPSE_ASAN
    (void)end;
    __asan_unpoison_memory_region(block->shared + offset, bytes);
#else
    for (size_t i = block->shared_filled; i < end; i++) {
        volatile char *byte = block->shared + i;
        if (i < offset || i >= offset + bytes) *byte = ZONE_BYTE;
    }
    block->shared_filled = end;
#endif
#if !COPSE_TSAN
    memset(block->shared + offset, CONTENT_BYTE, bytes);
#endif
}

static COPSE_NO_TSAN size_t allocate(emulated_lane *lane, const copse_simt_array *array)
{
    emulated_block *block = lane->warp->block;
    block->array_bytes += array->bytes;
    if (block->array_bytes > SIMT_SHARED_BYTES || block->arrays == BLOCK_ARRAYS) {
        copse_emulator_fault(block->launch, block, lane,
                             "array %s makes it %zu bytes of shared memory in %u arrays; "
                             "there are %u bytes, and the emulator has room for %u arrays",
                             array->name, block->array_bytes, (unsigned)block->arrays + 1, SIMT_SHARED_BYTES,
                             BLOCK_ARRAYS);
        copse_emulator_stop(lane);
    }
    /* Aligned as its type asks and no better, so that tests find a kernel that needs more than that. */
    size_t offset = (block->shared_used + ZONE + 63) & ~(size_t)63;
    if (array->alignment < 16) offset += array->alignment;
    fill_zones(block, offset + array->bytes + ZONE, offset, array->bytes);
    block->shared_used = offset + array->bytes;
    block->array[block->arrays].array = array;
    block->array[block->arrays].offset = offset;
    block->arrays++;
    return offset;
}

COPSE_NO_TSAN void *copse_simt_shared(const copse_simt_array *array)
{
    emulated_lane *lane = (struct emulated_lane *)copse_simt_me;
    emulated_block *block = lane->warp->block;
    for (uint32_t i = 0; i < block->arrays; i++) {
        if (block->array[i].array == array) return block->shared + block->array[i].offset;
    }
    return block->shared + allocate(lane, array);
}

static COPSE_NO_TSAN bool zone_is_whole(const char *zone)
{
    for (size_t i = 0; i < ZONE; i++) {
        if (zone[i] != ZONE_BYTE) return false;
    }
    return true;
}

static COPSE_NO_TSAN void check_zones(emulated_block *block)
{
    for (uint32_t i = 0; i < block->arrays; i++) {
        const copse_simt_array *array = block->array[i].array;
        const char *memory = block->shared + block->array[i].offset;
        const char *where = !zone_is_whole(memory + array->bytes) ? "behind the end of"
                            : !zone_is_whole(memory - ZONE)       ? "before the start of"
                                                                  : NULL;
        if (where) {
            copse_emulator_fault(block->launch, block, NULL, "wrote %s its shared array %s", where, array->name);
            return;
        }
    }
}

COPSE_NO_TSAN void copse_emulator_shared_end(emulated_block *block)
{
    if (!COPSE_ASAN && block->alive == 0) check_zones(block);
#if COPSE_TSAN
    /* A new piece of memory for each block: lanes of the next one are not in a race with those of this one. */
    copse_emulator_shared_free(block);
#endif
}

COPSE_NO_TSAN void copse_emulator_shared_free(emulated_block *block)
{
    if (!block->shared) return;
#if COPSE_ASAN
    __asan_unpoison_memory_region(block->shared, COPSE_SIMT_SHARED_SPAN);
#endif
    (void)munmap(block->shared, COPSE_SIMT_SHARED_SPAN);
    block->shared = NULL;
}

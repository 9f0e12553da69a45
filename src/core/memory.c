/* Memory: a custom allocator where the caller gave one, else malloc for small blocks and huge pages for large ones. */
#define _GNU_SOURCE
#include "core/internal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* From this size on a block gets its own mapping: it then starts on a huge page, and freeing it returns the memory to
 * the system at once. */
#define OWN_MAPPING COPSE_HUGE_PAGE

static size_t page_round(size_t size)
{
    return (size + 4095) & ~(size_t)4095;
}

/* Maps more than needed and gives back what stands out on both sides: mmap alone does not align to huge pages. */
static void *map_aligned(size_t size)
{
    size_t length = page_round(size), wide = length + COPSE_HUGE_PAGE;
    if (wide < size) return NULL;
    char *start = mmap(NULL, wide, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (start == MAP_FAILED) return NULL;
    char *aligned = (char *)(((uintptr_t)start + COPSE_HUGE_PAGE - 1) & ~(uintptr_t)(COPSE_HUGE_PAGE - 1));
    size_t before = (size_t)(aligned - start), after = wide - before - length;
    if (before) munmap(start, before);
    if (after) munmap(aligned + length, after);
    return aligned;
}

void *copse_memory_alloc(const copse_ctx *ctx, size_t size)
{
    if (size == SIZE_MAX) return NULL;
    if (ctx->allocator.alloc) return ctx->allocator.alloc(ctx->allocator.user, size, COPSE_CACHE_LINE);
    if (size < OWN_MAPPING) {
        size_t rounded = (size + COPSE_CACHE_LINE - 1) & ~(size_t)(COPSE_CACHE_LINE - 1);
        return aligned_alloc(COPSE_CACHE_LINE, rounded ? rounded : COPSE_CACHE_LINE);
    }
    void *memory = map_aligned(size);
    /* A refusal only costs speed, so the result is not looked at. */
    if (memory && ctx->huge_pages == COPSE_HUGE_PAGES_AUTO) (void)madvise(memory, page_round(size), MADV_HUGEPAGE);
    return memory;
}

void copse_memory_in_steps(const copse_ctx *ctx, void *memory, size_t size, bool steps)
{
    if (ctx->allocator.alloc || size < OWN_MAPPING || ctx->huge_pages != COPSE_HUGE_PAGES_AUTO) return;
    (void)madvise(memory, page_round(size), steps ? MADV_NOHUGEPAGE : MADV_HUGEPAGE);
}

void copse_memory_free(const copse_ctx *ctx, void *memory, size_t size)
{
    if (!memory) return;
    if (ctx->allocator.alloc)
        ctx->allocator.free(ctx->allocator.user, memory, size);
    else if (size < OWN_MAPPING)
        free(memory);
    else
        munmap(memory, page_round(size));
}

void *copse_memory_grow(const copse_ctx *ctx, void *memory, size_t size, size_t larger)
{
    /* The system moves the pages of a mapping: nothing is copied, and what was there is not cleared a second time. */
    if (memory && !ctx->allocator.alloc && size >= OWN_MAPPING && larger <= SIZE_MAX / 2) {
        void *moved = mremap(memory, page_round(size), page_round(larger), MREMAP_MAYMOVE);
        if (moved == MAP_FAILED) return NULL;
        if (ctx->huge_pages == COPSE_HUGE_PAGES_AUTO) (void)madvise(moved, page_round(larger), MADV_HUGEPAGE);
        return moved;
    }
    void *grown = copse_memory_alloc(ctx, larger);
    if (grown && memory) {
        memcpy(grown, memory, size);
        copse_memory_free(ctx, memory, size);
    }
    return grown;
}

size_t copse_memory_product(uint64_t count, size_t size)
{
    uint64_t product;
    /* Half the address space is out of reach anyway; refusing it keeps later additions from wrapping. */
    if (__builtin_mul_overflow(count, (uint64_t)size, &product) || product > SIZE_MAX / 2) return SIZE_MAX;
    return (size_t)product;
}

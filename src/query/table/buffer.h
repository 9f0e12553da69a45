/* A block of memory of a context that grows. */
#pragma once

#include "core/internal.h"

#include <string.h>

typedef struct copse_buffer {
    void *data;
    size_t bytes;
} copse_buffer;

/* copse_fail_memory, with a result that analysers see: COPSE_OK means that there is memory. */
static inline copse_status copse_no_memory(const copse_ctx *ctx, size_t bytes, const char *what)
{
    copse_fail_memory(ctx, bytes, what);
    return COPSE_ERR_MEMORY;
}

static inline void copse_buffer_free(const copse_ctx *ctx, copse_buffer *buffer)
{
    copse_memory_free(ctx, buffer->data, buffer->bytes);
    *buffer = (copse_buffer){0};
}

/* Room for at least count * size bytes; those that were there stay. Grows by half at least, so that appends are cheap. */
static inline copse_status copse_buffer_reserve(const copse_ctx *ctx, copse_buffer *buffer, uint64_t count, size_t size,
                                                const char *what)
{
    size_t needed = copse_memory_product(count, size);
    if (needed <= buffer->bytes && buffer->data) return COPSE_OK;
    size_t grown = buffer->bytes + buffer->bytes / 2, bytes = needed > grown ? needed : grown;
    void *data = copse_memory_grow(ctx, buffer->data, buffer->bytes, bytes);
    if (!data) return copse_no_memory(ctx, bytes, what);
    *buffer = (copse_buffer){data, bytes};
    return COPSE_OK;
}

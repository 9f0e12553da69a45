/* Work on all threads of a context, and the little that such work needs. */
#pragma once

#include "core/internal.h"
#include "core/pool.h"

/* Pieces for each thread where work is cut evenly: more than one, so that a thread which the system stops, or which is slower,
 * leaves its share to the others. */
#define COPSE_PIECES_PER_THREAD 8u

/* Runs body once for each chunk of items 0 .. n - 1, on up to so many threads: core/pool.h. */
static inline void copse_parallel(const copse_ctx *ctx, uint32_t threads, uint64_t n, uint64_t chunk,
                                  copse_chunk_fn body, void *job)
{
    copse_pool_run(ctx->pool, threads, n, chunk, body, job);
}

/* A chunk size that cuts n items evenly; all of them for one thread. */
static inline uint64_t copse_even_chunk(uint64_t n, uint32_t threads)
{
    uint64_t pieces = threads > 1 ? (uint64_t)threads * COPSE_PIECES_PER_THREAD : 1;
    uint64_t chunk = n / pieces + (n % pieces != 0);
    return chunk ? chunk : 1;
}

/* *least = the smaller of it and value, where several threads may do so. */
static inline void copse_note_least(uint64_t *least, uint64_t value)
{
    uint64_t seen = __atomic_load_n(least, __ATOMIC_RELAXED);
    while (value < seen && !__atomic_compare_exchange_n(least, &seen, value, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
}

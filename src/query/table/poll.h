/* Long loops ask the caller's progress callback now and then whether to go on: on the thread of the call, as copse.h promises. */
#pragma once

#include "core/threads.h"

#define COPSE_POLL_ROWS ((uint64_t)1 << 16)

/* For each item `at` of n: asks once every COPSE_POLL_ROWS items, and in shorter loops, of which there may be many, not at all. */
static inline copse_status copse_poll(const copse_ctx *ctx, const char *what, uint64_t at, uint64_t n)
{
    return (at + 1) % COPSE_POLL_ROWS == 0 ? copse_progress(ctx, what, at, n) : COPSE_OK;
}

/* Work on several threads: that of the call asks, and the others stop when it was told to. */
typedef struct copse_polled {
    const copse_ctx *ctx;
    const char *what;
    uint64_t n;
    pthread_t caller;
    int status; /* copse_status */
} copse_polled;

static inline copse_polled copse_polled_begin(const copse_ctx *ctx, const char *what, uint64_t n)
{
    return (copse_polled){ctx, what, n, pthread_self(), COPSE_OK};
}

static inline bool copse_polled_goes_on(copse_polled *p, uint64_t at)
{
    int status = __atomic_load_n(&p->status, __ATOMIC_RELAXED);
    if (status == COPSE_OK && pthread_equal(pthread_self(), p->caller)) {
        status = copse_progress(p->ctx, p->what, at, p->n);
        __atomic_store_n(&p->status, status, __ATOMIC_RELAXED);
    }
    return status == COPSE_OK;
}

/* copse_parallel on as many threads as are worth it. The body asks copse_polled_goes_on now and then, and returns early where it does not: so
 * does this call then. */
static inline copse_status copse_parallel_polled(copse_polled *p, const copse_ctx *ctx, const char *what, uint64_t n,
                                                 uint64_t chunk, copse_chunk_fn body, void *job)
{
    *p = copse_polled_begin(ctx, what, n);
    if (n > 0 && copse_polled_goes_on(p, 0)) copse_parallel(ctx, copse_threads_for(ctx, n), n, chunk, body, job);
    return (copse_status)p->status;
}

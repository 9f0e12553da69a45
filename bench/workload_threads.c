/* All processors for what the benchmark does besides measuring: one pool for the process, made when it is first wanted. */
#include "workload.h"

#include "core/processors.h"

#include <pthread.h>
#include <stdlib.h>

#define LINE         64u
#define MOST_THREADS 1024u /* that a peer may be read with; threads are made when they are wanted */

static pthread_once_t opened = PTHREAD_ONCE_INIT;
static uint32_t processors;
static copse_pool *pool; /* NULL: no memory for it, so that the caller works alone */
static uint32_t most;    /* 0: all */

static void pool_close(void)
{
    copse_pool_close(pool);
    free(pool);
}

static void pool_open(void)
{
    processors = copse_processors(COPSE_PROC_SELF, COPSE_CGROUPS);
    void *memory = aligned_alloc(LINE, (copse_pool_bytes(MOST_THREADS) + LINE - 1) / LINE * LINE);
    if (memory) pool = copse_pool_open(memory, MOST_THREADS);
    if (memory) (void)atexit(pool_close);
}

void workload_threads_limit(uint32_t threads)
{
    most = threads;
}

uint32_t workload_threads(void)
{
    (void)pthread_once(&opened, pool_open);
    return most ? most : processors;
}

void workload_parallel_on(uint32_t threads, uint64_t n, uint64_t chunk, copse_chunk_fn body, void *job)
{
    (void)pthread_once(&opened, pool_open);
    copse_pool_run(pool, threads, n, chunk, body, job);
}

void workload_parallel(uint64_t n, uint64_t chunk, copse_chunk_fn body, void *job)
{
    workload_parallel_on(workload_threads(), n, chunk, body, job);
}

typedef struct counting {
    workload_count_fn count;
    const void *job;
    uint64_t sum;
} counting;

static void count_part(void *argument, uint64_t first, uint64_t last)
{
    counting *c = argument;
    uint64_t part = c->count(c->job, first, last);
    if (part > 0) (void)__atomic_fetch_add(&c->sum, part, __ATOMIC_RELAXED);
}

uint64_t workload_count(uint64_t n, workload_count_fn count, const void *job)
{
    counting c = {count, job, 0};
    workload_parallel(n, WORKLOAD_PIECE, count_part, &c);
    return c.sum;
}

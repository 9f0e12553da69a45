/*
 * The threads of a context. They are made by the first call that wants them, sleep between calls, and end with the context.
 *
 *   calling thread                                          worker
 *   copse_pool_run(pool, threads, n, chunk, body, job)
 *     puts the job into a slot, wakes workers -----------> takes a seat, while the job is open
 *     body(job, 0, chunk)                                  body(job, chunk, 2 chunk)     whoever is free takes the next chunk
 *     body(job, 2 chunk, 3 chunk) ...
 *     no chunk is left: closes the job
 *     waits for workers that are inside a chunk <--------- leaves
 *
 * A worker that the system has not run until then finds the job closed: nobody waits for it. So a call takes no longer than on
 * one thread, but for the last chunk of a worker that the system stops in the middle. Callers never wait for each other: each
 * job has a slot of its own, also one that is begun inside another, and where all slots are taken the caller works alone.
 *
 * A thread that cannot be made is done without; the caller always works. After fork() the child makes new threads.
 */
#pragma once

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct copse_pool copse_pool;

/* Works on items first .. last - 1 of a job. */
typedef void (*copse_chunk_fn)(void *job, uint64_t first, uint64_t last);

/* A pool lies in memory of its caller, aligned to a cache line. `threads` counts the calling thread, too. */
size_t copse_pool_bytes(uint32_t threads);
copse_pool *copse_pool_open(void *memory, uint32_t threads);
/* Ends the threads; no job may be running. NULL is fine. */
void copse_pool_close(copse_pool *pool);

/* Runs body once for each chunk of 0 .. n - 1, the last of which may be shorter, on the calling thread and up to threads - 1
 * others, and returns when all have ended. What they wrote is visible to the caller then. pool may be NULL: the caller alone. */
void copse_pool_run(copse_pool *pool, uint32_t threads, uint64_t n, uint64_t chunk, copse_chunk_fn body, void *job);

/* Between the two calls, which may nest and come from several threads, a worker that has nothing to do looks for work much longer
 * before it sleeps: for callers whose jobs follow each other at once, with a wait for something else in between, where waking
 * threads each time would take as long as the jobs. pool may be NULL. */
void copse_pool_alert_begin(copse_pool *pool);
void copse_pool_alert_end(copse_pool *pool);

/* Changes with every fork() in the child. */
uint32_t copse_fork_generation(void);

/* For tests, to be set while nothing runs: makes threads instead of pthread_create; NULL: pthread_create does. */
extern int (*copse_pool_thread_create)(pthread_t *thread, const pthread_attr_t *attributes, void *(*main)(void *),
                                       void *argument);

#ifdef __cplusplus
}
#endif

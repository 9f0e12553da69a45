/*
 * The way down the inner levels, gone by somebody else. A hybrid tree's card walks the inner levels for a batch; what it found, the
 * number of the unit or slot below them for each query, lies in host memory, and the walks of the CPU begin there:
 *
 *   queries     q0  q1  q2  q3 ...        keys[first + i]
 *   nodes       17   4  93  17 ...        nodes[i]: from the card
 *   leaves      read by the CPU's threads
 *
 * It comes with the handle of an index (copse_index.walked), of which the hybrid tree makes a copy for each call. Nodes come bucket by
 * bucket, while the CPU is at another one: so the driver's threads take their queries from it (copse_cpu_run, or take and give).
 */
#pragma once

#include "core/internal.h"
#include "core/pool.h"
#include "core/threads.h"

/* Where the walks of some queries go on; nodes == NULL: at the root. */
typedef struct copse_below {
    const uint32_t *nodes; /* unit or slot of each query                                                         */
    const uint64_t
        *leaves; /* trees whose leaves have heads: address of the leaf, a multiple of 64, plus the unit in it */
} copse_below;

/* Queries first .. last - 1 of a call, which one thread has taken. */
typedef struct copse_share {
    uint64_t first, last;
    void *from; /* for whom it was taken from */
    double begun;
} copse_share;

typedef struct copse_walked copse_walked;
struct copse_walked {
    /* Of a call with ranges the lows and the highs, of any other the keys alone. */
    struct copse_walked_side {
        const void *keys; /* the caller's array; NULL: there is no such side */
        bool upper;       /* nodes lead to the first key > q instead of >= q  */
    } side[2];
    /* What is below for queries `first` and up, to the end of the share that this thread has. */
    copse_below (*below)(const copse_walked *walked, unsigned side, uint64_t first);
    /* Begins to hand out the queries of a call, in shares of at most `chunk`. Returns the size that it takes instead: all shares begin at
     * multiples of it, and all but the last have it. in_order: the caller profits from shares that come in the order of the queries;
     * it has to be ready for any other all the same. */
    uint64_t (*open)(copse_walked *walked, uint64_t chunk, bool in_order);
    /* A share for the calling thread, which has no other; false: all are taken. */
    bool (*take)(copse_walked *walked, copse_share *out);
    /* The thread has read what is below its share. */
    void (*give)(copse_walked *walked, const copse_share *share);
};

static inline copse_below copse_walked_below(const copse_index *index, const void *keys, bool upper, uint64_t first)
{
    const copse_walked *walked = index->walked;
    for (unsigned i = 0; walked && i < 2; i++)
        if (walked->side[i].keys == keys && walked->side[i].upper == upper) return walked->below(walked, i, first);
    return (copse_below){NULL, NULL};
}

typedef struct copse_walked_job {
    copse_walked *walked;
    copse_chunk_fn body;
    void *job;
} copse_walked_job;

/* One thread, until all queries are taken. */
static inline void copse_walked_chunks(void *argument, uint64_t seat, uint64_t end)
{
    const copse_walked_job *run = argument;
    copse_share share;
    (void)seat;
    (void)end;
    while (run->walked->take(run->walked, &share)) {
        run->body(run->job, share.first, share.last);
        run->walked->give(run->walked, &share);
    }
}

/* Runs body for chunks of positions 0 .. n - 1 of a batch of queries; one thread takes them whole. */
static inline void copse_cpu_run(const copse_index *index, uint32_t threads, uint64_t n, uint64_t chunk,
                                 copse_chunk_fn body, void *job)
{
    if (index->walked) {
        copse_walked_job run = {index->walked, body, job};
        (void)index->walked->open(index->walked, chunk, false);
        copse_parallel(index->ctx, threads, threads, 1, copse_walked_chunks, &run);
    } else
        copse_parallel(index->ctx, threads, n, chunk, body, job);
}

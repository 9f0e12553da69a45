/*
 * The way down the inner levels, gone by somebody else. A hybrid tree's card walks the inner levels for a batch; what it found, the
 * number of the unit or slot below them for each query, lies in host memory, and the walks of the CPU begin there:
 *
 *   queries     q0  q1  q2  q3 ...        keys[first + i]
 *   nodes       17   4  93  17 ...        nodes[i]: from the card
 *   leaves      read by the CPU's threads
 *
 * It comes with the handle of an index (copse_index.walked), of which the hybrid tree makes a copy for each call. The driver runs
 * the parts of a call through copse_cpu_run, so that nodes may come bucket by bucket, while the CPU is at another one.
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

typedef struct copse_walked copse_walked;
struct copse_walked {
    /* Of a call with ranges the lows and the highs, of any other the keys alone. */
    struct copse_walked_side {
        const void *keys; /* the caller's array; NULL: there is no such side */
        bool upper;       /* nodes lead to the first key > q instead of >= q  */
    } side[2];
    /* What is below for queries `first` and up, to the end of the part that is being run. */
    copse_below (*below)(const copse_walked *walked, unsigned side, uint64_t first);
    /* Runs all parts of 0 .. n - 1, none longer than `chunk`; NULL: what is below is known for all. */
    void (*run)(copse_walked *walked, uint32_t threads, uint64_t chunk, copse_chunk_fn part, void *job);
};

static inline copse_below copse_walked_below(const copse_index *index, const void *keys, bool upper, uint64_t first)
{
    const copse_walked *walked = index->walked;
    for (unsigned i = 0; walked && i < 2; i++)
        if (walked->side[i].keys == keys && walked->side[i].upper == upper) return walked->below(walked, i, first);
    return (copse_below){NULL, NULL};
}

/* Runs part for chunks of positions 0 .. n - 1 of a batch of queries; one thread takes them whole. */
static inline void copse_cpu_run(const copse_index *index, uint32_t threads, uint64_t n, uint64_t chunk,
                                 copse_chunk_fn part, void *job)
{
    if (index->walked && index->walked->run)
        index->walked->run(index->walked, threads, chunk, part, job);
    else
        copse_parallel(index->ctx, threads, n, chunk, part, job);
}

/*
 * The queries of a call, bucket by bucket: the card walks the inner levels for one while the CPU reads the leaves of another.
 *
 *   double-buffered      card   | 0 | 1 | 2 | 3 | 4 |
 *                        CPU            | 0 | 1 | 2 | 3 | 4 |
 *
 * All threads of the context work on a call at once, each on what it finds to do: reading leaves of a bucket that has come back,
 * copying keys for the next one, and where the schedule is balanced, walking queries from the end of the batch alone:
 *
 *   queries  | 0 read | 1 being read | 2 on the card | 3 keys being copied |   nobody yet   | read by the CPU alone |
 *                                                                          reach >          < back
 *
 * So a card that is slow, or has failed, is not waited for: the two meet somewhere, and the ratio between them needs no tuning.
 *
 * A hybrid call is the CPU driver's call on a handle of its own, in whose `walked` the nodes appear (cpu/walked.h).
 */
#pragma once

#include "cpu/walked.h"
#include "trees/hybrid/mirror.h"

typedef enum copse_bucket_state {
    COPSE_BUCKET_FREE,
    COPSE_BUCKET_FILLING, /* threads copy its keys                          */
    COPSE_BUCKET_SENT,    /* the card has it                                 */
    COPSE_BUCKET_THROUGH, /* its nodes are there                             */
    COPSE_BUCKET_LOST     /* the card has failed: no nodes will ever be there */
} copse_bucket_state;

/* What is in a slot. Under the lock of the call, but for `ready`. */
typedef struct copse_bucket {
    copse_bucket_state state;
    uint64_t number;
    uint64_t first, last; /* its queries                       */
    uint64_t asked, keys; /* up to here somebody copies keys; so many have been copied */
    uint64_t taken, read; /* up to here somebody reads leaves; so many have been read  */
    atomic_ullong ready;  /* number + 1 once its nodes are there */
    double sent, due;     /* seconds: when it went to the card; when a slower one is to be through, 0: not known yet */
} copse_bucket;

typedef struct copse_hybrid_call {
    copse_walked walked; /* first: the driver hands it back */
    copse_index handle;  /* what the driver gets            */
    copse_mirror *mirror;
    unsigned sides; /* arrays of keys: 1, or 2 for ranges */
    uint64_t n, size;
    unsigned slots;
    bool direct; /* the card reads the caller's arrays itself: they are pinned */
    bool shared; /* the CPU walks queries alone while the card is not through  */
    /* Lookups, where the card has leaves: the caller's arrays, either of which may be NULL. */
    bool cached;
    char *values;
    uint8_t *found;

    /* The parts of the driver's call. */
    uint64_t chunk;
    copse_chunk_fn part;
    void *job;

    atomic_flag lock; /* of what follows */
    atomic_flag looking;
    copse_bucket bucket[COPSE_HYBRID_SLOTS];
    uint64_t filling, oldest; /* bucket whose keys are to be copied; the oldest with leaves that nobody has taken */
    uint64_t reach, back;
    /* Queries that were read from the nodes of the card, those that were not, and the seconds that threads spent on each; those of
     * copying keys count to the former. */
    uint64_t together, alone;
    double together_seconds, alone_seconds;
    bool failed;        /* the card: the CPU goes on alone                   */
    double seen, until; /* a slower card: when the last bucket was through, and when it is to seem so */

    uint32_t *whole; /* nodes of all, for calls that do not go by position; of both sides one behind the other */
    uint64_t
        *whole_leaves; /* the same                                                                                */
} copse_hybrid_call;

/* Begins a call with n queries, keys[i] with that bound, and where highs is not NULL the upper bounds of those, too. False: the CPU is
 * to do it alone, and copse_hybrid_end is not due. */
bool copse_hybrid_begin(copse_hybrid_call *call, const copse_index *index, uint64_t n, const void *keys, bool upper,
                        const void *highs);
/* Lets the card answer lookups whose leaves it has; right behind copse_hybrid_begin. */
void copse_hybrid_use_leaves(copse_hybrid_call *call, void *values, uint8_t *found);
/* Walks all queries at once, for a call that needs the nodes in any order. */
void copse_hybrid_walk_all(copse_hybrid_call *call);
/* Ends a call. Returns `status`. */
copse_status copse_hybrid_end(copse_hybrid_call *call, copse_status status);

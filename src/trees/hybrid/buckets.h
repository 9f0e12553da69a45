/*
 * The queries of a call, bucket by bucket: the card walks the inner levels for one while the CPU reads the leaves of another.
 *
 *   double-buffered      card   | 0 | 1 | 2 | 3 | 4 |
 *                        CPU            | 0 | 1 | 2 | 3 | 4 |
 *
 * All threads of the context work on a call at once, each on what it finds to do: reading leaves of a bucket that has come back,
 * copying keys for the next one, and where the schedule is balanced, walking queries that the card has not come to alone:
 *
 *   queries  | 0 read | 1 being read | 2 on the card | walked by the CPU alone | 3 keys being copied |   nobody yet
 *                                                                                                    reach >
 *
 * So a card that is slow, or has failed, is not waited for, and the ratio between the two needs no tuning.
 *
 * A hybrid call is the CPU driver's call on a handle of its own, in whose `walked` the nodes appear (cpu/walked.h).
 */
#pragma once

#include "cpu/walked.h"
#include "trees/hybrid/mirror.h"

/* Queries that one thread reads at a time, at most. */
#define COPSE_HYBRID_SHARE 2048u

typedef enum copse_bucket_state {
    COPSE_BUCKET_FREE,
    COPSE_BUCKET_FILLING, /* threads copy its keys                          */
    COPSE_BUCKET_SENT,    /* the card has it                                 */
    COPSE_BUCKET_THROUGH, /* its nodes are there                             */
    COPSE_BUCKET_LOST     /* the card has failed: no nodes will ever be there */
} copse_bucket_state;

/* What is in a slot. Under the lock of the call. */
typedef struct copse_bucket {
    copse_bucket_state state;
    uint64_t number;
    uint64_t first, last; /* its queries                       */
    uint64_t asked, keys; /* up to here somebody copies keys; so many have been copied */
    uint64_t taken, read; /* up to here somebody reads leaves; so many have been read  */
    double sent, due;     /* seconds: when it went to the card; when a slower one is to be through, 0: not known yet */
} copse_bucket;

typedef struct copse_hybrid_call {
    copse_walked walked; /* first: the driver hands it back */
    copse_index handle;  /* what the driver gets            */
    copse_mirror *mirror;
    unsigned sides; /* arrays of keys: 1, or 2 for ranges */
    uint64_t n, size;
    unsigned slots;
    bool direct;    /* the card reads the caller's arrays itself: they are pinned */
    bool shared;    /* the CPU walks queries alone while the card is not through  */
    bool cached;    /* lookups, of which the card answers those whose leaves it has */
    uint64_t chunk; /* queries of a share */
    bool in_order;  /* shares are to come in the order of the queries */

    atomic_bool lock; /* of what follows */
    atomic_flag looking;
    copse_bucket bucket[COPSE_HYBRID_SLOTS];
    uint64_t filling, oldest; /* bucket whose keys are to be copied; the oldest with leaves that nobody has taken */
    uint64_t looked;          /* the bucket that the card is to be through with next */
    uint64_t reach;           /* queries from here on nobody has */
    /* Queries that were read from the nodes of the card, those that were not, and the seconds that threads spent on each; those of
     * copying keys count to the former. */
    uint64_t together, alone;
    double together_seconds, alone_seconds;
    bool failed;        /* the card: the CPU goes on alone                   */
    double seen, until; /* a slower card: when the last bucket was through, and when it is to seem so */
} copse_hybrid_call;

/* Begins a call with n queries, keys[i] with that bound, and where highs is not NULL the upper bounds of those, too. False: the CPU is
 * to do it alone, and copse_hybrid_end is not due. */
bool copse_hybrid_begin(copse_hybrid_call *call, const copse_index *index, uint64_t n, const void *keys, bool upper,
                        const void *highs);
/* copse_cpu_find for a call that has begun, where the card has leaves: it answers lookups that end there. */
copse_status copse_hybrid_find_cached(copse_hybrid_call *call, const void *keys, uint64_t n, void *values,
                                      uint8_t *found);
/* What the card has found of the calling thread's share, for queries first and up; false: nothing, the share is to be walked from the
 * root. */
bool copse_hybrid_answers(const copse_hybrid_call *call, uint64_t first, copse_below *out_below,
                          const char **out_values, const uint8_t **out_found);
/* Ends a call. Returns `status`. */
copse_status copse_hybrid_end(copse_hybrid_call *call, copse_status status);

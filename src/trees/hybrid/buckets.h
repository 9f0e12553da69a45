/*
 * The queries of a call, bucket by bucket: the card walks the inner levels for one while the CPU reads the leaves of another.
 *
 *   double-buffered      card   | 0 | 1 | 2 | 3 | 4 |
 *                        CPU            | 0 | 1 | 2 | 3 | 4 |
 *
 * A hybrid call is the CPU driver's call on a handle of its own, in whose `walked` the nodes appear (cpu/walked.h).
 */
#pragma once

#include "cpu/walked.h"
#include "trees/hybrid/mirror.h"

typedef struct copse_hybrid_call {
    copse_walked walked; /* first: the driver hands it back */
    copse_index handle;  /* what the driver gets            */
    copse_mirror *mirror;
    unsigned sides; /* arrays of keys: 1, or 2 for ranges */
    uint64_t n, bucket;
    unsigned slots, ahead; /* buckets with memory; those that the card may be ahead of the CPU */
    bool failed;           /* the card did: the CPU goes on alone */
    uint32_t *whole;       /* nodes of all, for calls that do not go by position; of both sides one behind the other */
} copse_hybrid_call;

/* Begins a call with n queries, keys[i] with that bound, and where highs is not NULL the upper bounds of those, too. False: the CPU is
 * to do it alone, and copse_hybrid_end is not due. */
bool copse_hybrid_begin(copse_hybrid_call *call, const copse_index *index, uint64_t n, const void *keys, bool upper,
                        const void *highs);
/* Walks all queries at once, for a call that needs the nodes in any order. */
void copse_hybrid_walk_all(copse_hybrid_call *call);
/* Ends a call: nothing of it is under way any more. Returns `status`. */
copse_status copse_hybrid_end(copse_hybrid_call *call, copse_status status);

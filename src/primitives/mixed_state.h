/*
 * What operations of a mixed batch do to their key, as numbers that can be joined.
 *
 *   tag     position << 3 | copse_operation: one operation of the batch, at its position in the caller's arrays
 *   state   position << 3 | first << 2 | copse_operation: what a run of operations on one key does to it. `first` says
 *           that the run begins with the first operation on the key. As an operation:
 *             FIND                nothing
 *             UPSERT              the key ends with the value at the position
 *             INSERT_IF_ABSENT    the same, unless it was there before the run
 *             ERASE               the key is gone
 *
 * Joining is associative, so that a scan finds for every operation how those before it left its key, in as little time for one
 * key as for many.
 *
 * ADD, which puts its value where the key is absent, counts as INSERT_IF_ABSENT here: the state then says where the value comes
 * from that is added to. What is added to it is a sum over a stretch of the batch, which prefix sums give: with the adds of
 * operation i being s[i] (0 for all else), a run that ends with operation i leaves a key, by its state, with
 *   FIND                       what it had
 *   UPSERT at p                value[p] + s[p + 1] + ... + s[i]
 *   INSERT_IF_ABSENT at p      the same where it was absent; x + s[p] + ... + s[i] where it had x, because there was no ADD
 *                              in front of p
 *   ERASE                      nothing
 * Positions are then those of the sorted batch (gpu/mixed.c). Sums of integers modulo 2^64 do not depend on how they are grouped;
 * those of floats do, and gpu/mixed.c folds each key's in order instead.
 *
 *  Both have 32 bits where positions are below COPSE_MIXED_POSITIONS_32, else 64.
 */
#pragma once

#include "copse.h"
#include "core/anywhere.h"

#define COPSE_MIXED_POSITIONS_32 (UINT64_C(1) << 29)
#define COPSE_MIXED_FIRST        UINT64_C(4)
#define COPSE_MIXED_OPERATION    UINT64_C(3)
#define COPSE_MIXED_TAG          UINT64_C(7) /* the operation in a tag */
#define COPSE_MIXED_SHIFT        3           /* in front of positions, in both */

COPSE_ANYWHERE uint64_t copse_mixed_state(uint64_t tag, int first)
{
    /* ADD is 4, and 4 >> 1 is INSERT_IF_ABSENT. */
    return (tag & ~COPSE_MIXED_TAG) | (first ? COPSE_MIXED_FIRST : 0u) | (tag & COPSE_MIXED_OPERATION) |
           (tag & 4u) >> 1;
}

/* What `before` and then `now` do. */
COPSE_ANYWHERE uint64_t copse_mixed_join(uint64_t before, uint64_t now)
{
    const uint64_t was = before & COPSE_MIXED_OPERATION, is = now & COPSE_MIXED_OPERATION;
    if (now & COPSE_MIXED_FIRST) return now;
    if (is == COPSE_OP_FIND) return before;
    if (is == COPSE_OP_INSERT_IF_ABSENT) {
        if (was == COPSE_OP_UPSERT || was == COPSE_OP_INSERT_IF_ABSENT) return before;
        if (was == COPSE_OP_ERASE) now = (now & ~COPSE_MIXED_OPERATION) | COPSE_OP_UPSERT;
    }
    return now | (before & COPSE_MIXED_FIRST);
}

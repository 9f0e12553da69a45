/*
 * Sums, minima and maxima of values, and the summary tree that makes them quick over wide ranges.
 *
 * The summary tree stands over a row of items, which the tree chooses (blocks of entries, or leaves):
 *
 *   level 2   [ a of 0..255                ] [ a of 256..511 ] ...
 *   level 1   [ a of 0..15 ] [ a of 16..31 ] ...                       16 to 1
 *   level 0   [a0] [a1] [a2] ...                                       one per item
 *
 * A range of items needs at most 2 * 15 nodes per level.
 */
#pragma once

#include "core/internal.h"
#include "core/reads.h"

__extension__ typedef __int128 copse_wide;

typedef struct copse_aggregate {
    copse_wide sum;    /* integer value types                                              */
    double float_sum;  /* float value types                                                */
    uint64_t smallest; /* encoded so that unsigned order is value order; smallest > largest */
    uint64_t largest;  /*   says that there was no value                                   */
} copse_aggregate;

#define COPSE_AGGREGATE_EMPTY ((copse_aggregate){0, 0.0, UINT64_MAX, 0})

/* Adds n values, raw bits of `type` (4- or 8-byte ones as the type says), to an aggregate. */
void copse_aggregate_add(copse_aggregate *to, copse_type type, const void *values, uint32_t n);

static inline void copse_aggregate_merge(copse_aggregate *to, const copse_aggregate *from)
{
    to->sum += from->sum;
    to->float_sum += from->float_sum;
    if (from->smallest < to->smallest) to->smallest = from->smallest;
    if (from->largest > to->largest) to->largest = from->largest;
}

/* Raw bits of a value from its encoded form, into out[at]. */
void copse_aggregate_store(copse_type type, uint64_t encoded, void *out, uint64_t at);

/* Result `at` of a call: out and found are the caller's arrays, count the entries of the range. False: the sum does not fit 64 bits,
 * and is the nearest limit. */
bool copse_aggregate_give(copse_aggregate_kind kind, copse_type type, const copse_aggregate *all, uint64_t count,
                          void *out, uint8_t *found, uint64_t at);
/* The error for it, which names the first such range. */
copse_status copse_fail_overflow(const copse_ctx *ctx, uint64_t range);

#define COPSE_SUMMARY_LEVELS 16

typedef struct copse_summary {
    uint64_t items;
    uint32_t height;
    copse_aggregate *level[COPSE_SUMMARY_LEVELS];
    uint64_t nodes[COPSE_SUMMARY_LEVELS];
    size_t bytes;
} copse_summary;

/* Room for `items` items, all unset: fill level[0], then call copse_summary_raise. False: no memory. */
bool copse_summary_create(const copse_ctx *ctx, uint64_t items, copse_summary *out);
void copse_summary_free(const copse_ctx *ctx, copse_summary *summary);
/* Computes the upper levels over items first .. last, both included. */
void copse_summary_raise(const copse_ctx *ctx, copse_summary *summary, uint64_t first, uint64_t last, uint32_t threads);
/* Merges items first .. end (end not included) into *to. */
void copse_summary_range(const copse_summary *summary, uint64_t first, uint64_t end, copse_aggregate *to);

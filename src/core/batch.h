/*
 * A batch on its way into a tree: the caller's arrays, encoded, in ascending key order, equal keys resolved.
 *
 * Where the caller's arrays are in order already the batch only points at them and the tree encodes while it copies;
 * else the batch owns an array of pairs made by the radix sort.
 */
#pragma once

#include "core/internal.h"
#include "core/codec.h"
#include "core/widths.h"

/* What becomes of equal keys inside the batch. */
typedef enum copse_equal_keys {
    COPSE_EQUAL_LAST,  /* the highest array position stays */
    COPSE_EQUAL_FIRST, /* the lowest array position stays  */
    COPSE_EQUAL_ALL    /* all stay, in array order         */
} copse_equal_keys;

typedef struct copse_batch {
    uint64_t n;
    copse_type key_type, value_type;
    const void *pairs;   /* copse_pair[n] of batch_pair.h, or NULL: read keys and values     */
    const void *keys;    /* the caller's array, in order                                     */
    const void *values;  /* the caller's array, or NULL: every value is its array position   */
    const uint8_t *tags; /* copse_batch_make_tagged                                          */
    const uint8_t *gone; /* pair i leaves the tree; NULL: none does. Only for apply          */
    const uint8_t *does; /* copse_group_change of pair i; NULL: keys are there once. Only for apply */
    void *memory;        /* what the batch owns                                              */
    size_t bytes;
    uint64_t
        one[2]; /* the pair of a batch that has only one: it needs no memory, but the batch must stay where it is */
} copse_batch;

/* Makes a batch of n entries. With `pairs_wanted` the result is always an array of pairs. Errors: NAN, MEMORY,
 * CANCELLED. `what` goes to the progress callback. */
copse_status copse_batch_make(const copse_index *index, const void *keys, const void *values, uint64_t n,
                              copse_equal_keys equal, bool pairs_wanted, const char *what, copse_batch *out);

/* What a pair does to the group of entries that have its key, in an index with duplicates. The pairs of a key stand together:
 * either one FIRST, if any, and then APPEND, or PUT and then one TAKE. A key whose pairs have a FIRST or a TAKE is there. */
typedef enum copse_group_change {
    COPSE_GROUP_APPEND, /* comes behind the group                          */
    COPSE_GROUP_FIRST,  /* gives its value to the first entry of the group */
    COPSE_GROUP_PUT,    /* comes in front of the group                     */
    COPSE_GROUP_TAKE    /* the group, as it was before, goes               */
} copse_group_change;

#define COPSE_TAG_BITS 3u
#define COPSE_TAG_MASK UINT64_C(7)
/* Makes a batch in which every value is (position << COPSE_TAG_BITS | tags[position]), 64 bits wide whatever the value type:
 * pairs of the widths (key, 64), with all equal keys in array order. tags may be NULL: then every value is its position. */
copse_status copse_batch_make_tagged(const copse_index *index, const void *keys, const uint8_t *tags, uint64_t n,
                                     const char *what, copse_batch *out);

void copse_batch_free(const copse_ctx *ctx, copse_batch *batch);

/* copse_batch_make for one pair of widths; *batch says what the caller gave and receives the rest. */
typedef copse_status copse_batch_make_width(const copse_index *index, copse_equal_keys equal, bool pairs_wanted,
                                            const char *what, copse_batch *batch);
COPSE_DECLARE_WIDTHS(copse_batch_make_width, copse_batch_make);

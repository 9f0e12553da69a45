/*
 * Batch walks, one table per instruction set. A walk takes part of a batch of the caller's keys down a tree, many at a
 * time, and is compiled once per instruction set with the node search inlined.
 */
#ifndef COPSE_WALK_H
#define COPSE_WALK_H

#include "core/internal.h"
#include "core/widths.h"
#include "trees/implicit/layout.h"
#include "trees/regular/layout.h"

/* The keys of a walk, keys[first .. first + n) of the caller's array. Every walk returns n, or the offset from `first`
 * of the first NaN. */
typedef struct copse_walk_input {
    copse_type type;
    const void *keys;
    uint64_t first;
    uint64_t n;
    uint32_t pipeline; /* queries in flight; 0: the default */
    bool upper;        /* bound: first key > q instead of >= q */
    bool unique;       /* no two entries have equal keys */
    const void *highs; /* walks over ranges: keys are the lows, these the highs; NULL otherwise */
} copse_walk_input;

static inline copse_walk_input copse_walk_over(const copse_index *index, const void *keys, uint64_t first, uint64_t n)
{
    return (copse_walk_input){.type = index->key_type,
                              .keys = keys,
                              .first = first,
                              .n = n,
                              .pipeline = index->ctx->pipeline,
                              .unique = !index->duplicates};
}

typedef struct copse_walk_table {
    /* Results of queries first .. first + n at those positions of the outputs; either may be NULL. */
    uint64_t (*implicit_find)(const copse_implicit *tree, const copse_walk_input *input, void *values, uint8_t *found);
    uint64_t (*regular_find)(const copse_regular *tree, const copse_walk_input *input, void *values, uint8_t *found);
    /* Places of the bounds, into out[0 .. n). */
    uint64_t (*implicit_locate)(const copse_implicit *tree, const copse_walk_input *input, uint64_t *out);
    uint64_t (*regular_locate)(const copse_regular *tree, const copse_walk_input *input, uint64_t *out);
    /* Entries of ranges (and the places of their lows, unless NULL), and sums of their values modulo 2^64, into
     * out[0 .. n). */
    uint64_t (*implicit_count)(const copse_implicit *tree, const copse_walk_input *input, uint64_t *places,
                               uint64_t *out);
    uint64_t (*implicit_sum)(const copse_implicit *tree, const copse_walk_input *input, uint64_t *out);
} copse_walk_table;

struct copse_walk {
    const char *name;
    const copse_walk_table *table[COPSE_WIDTH_PAIRS];
};

COPSE_DECLARE_WIDTHS(const copse_walk_table, copse_walk_scalar);
COPSE_DECLARE_WIDTHS(const copse_walk_table, copse_walk_avx2);
COPSE_DECLARE_WIDTHS(const copse_walk_table, copse_walk_avx512);

/* The best that this machine has; one by name (NULL: this machine lacks it); is that a name at all; all that it has. */
const copse_walk *copse_walk_best(void);
const copse_walk *copse_walk_find(const char *name);
bool copse_walk_known(const char *name);
const char *copse_walk_offered(void);

#endif

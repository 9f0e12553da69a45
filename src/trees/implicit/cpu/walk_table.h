/* The batch walks of the implicit tree as a table. */
#pragma once

#include "cpu/walk.h"
#include "trees/implicit/layout.h"

typedef struct implicit_walks {
    /* Results of queries first .. first + n at those positions of the outputs; either may be NULL. */
    uint64_t (*find)(const copse_implicit *tree, const copse_walk_input *input, void *values, uint8_t *found);
    /* Locations of the bounds, into out[0 .. n). */
    uint64_t (*locate)(const copse_implicit *tree, const copse_walk_input *input, uint64_t *out);
    /* Entries of ranges (and the locations of their lows, unless NULL), and sums of their values modulo 2^64, into
     * out[0 .. n). */
    uint64_t (*count)(const copse_implicit *tree, const copse_walk_input *input, uint64_t *locations, uint64_t *out);
    uint64_t (*sum)(const copse_implicit *tree, const copse_walk_input *input, uint64_t *out);
} implicit_walks;

COPSE_DECLARE_WALKS(implicit_walks, copse_implicit_walks);

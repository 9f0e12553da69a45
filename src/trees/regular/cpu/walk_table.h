/* The batch walks of the regular tree as a table. */
#pragma once

#include "cpu/walk.h"
#include "trees/regular/layout.h"

typedef struct regular_walks {
    /* Results of queries first .. first + n at those positions of the outputs; either may be NULL. */
    uint64_t (*find)(const copse_regular *tree, const copse_walk_input *input, void *values, uint8_t *found);
    /* Locations of the bounds, into out[0 .. n). */
    uint64_t (*locate)(const copse_regular *tree, const copse_walk_input *input, uint64_t *out);
    /* Ranges, by the summary: sums of integers; minima or maxima as in copse_aggregate, and whether there is one. Into [0 .. n). */
    uint64_t (*sum)(const copse_regular *tree, const copse_walk_input *input, bool is_signed, copse_wide *out);
    uint64_t (*extreme)(const copse_regular *tree, const copse_walk_input *input, copse_type type, bool largest,
                        uint64_t *out, uint8_t *found);
} regular_walks;

COPSE_DECLARE_WALKS(regular_walks, copse_regular_walks);

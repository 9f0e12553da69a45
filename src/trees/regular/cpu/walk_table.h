/* The batch walks of the regular tree as a table. */
#pragma once

#include "cpu/walk.h"
#include "trees/regular/layout.h"

typedef struct regular_walks {
    /* Results of queries first .. first + n at those positions of the outputs; either may be NULL. */
    uint64_t (*find)(const copse_regular *tree, const copse_walk_input *input, void *values, uint8_t *found);
    /* Locations of the bounds, into out[0 .. n). */
    uint64_t (*locate)(const copse_regular *tree, const copse_walk_input *input, uint64_t *out);
    /* Sums of all values in front of the bounds, of integers, by the summary, into out[0 .. n). */
    uint64_t (*sum)(const copse_regular *tree, const copse_walk_input *input, bool is_signed, copse_wide *out);
} regular_walks;

COPSE_DECLARE_WALKS(regular_walks, copse_regular_walks);

/* Arguments of the kernels for point queries: read/find.h, read/bounds.h, concurrent/. */
#ifndef COPSE_TREES_BLINK_READ_ARGUMENTS_H
#define COPSE_TREES_BLINK_READ_ARGUMENTS_H

#include "trees/blink/layout.h"

/* Point queries, n < 2^31 of them a launch. Every output may be NULL. */
typedef struct copse_blink_point_arguments {
    copse_blink_tree tree;
    const void *keys;
    uint64_t first; /* position of keys[0] in the caller's batch, for reports */
    uint32_t n;
    uint32_t per_warp;      /* queries that one warp takes: 32, or 8 for small batches */
    uint32_t which;         /* copse_neighbour */
    const uint64_t *before; /* entries in front of each base leaf, for ranks */
    void *out_keys, *out_values;
    uint8_t *out_found;
    uint64_t *out_ranks;
    uint64_t *report;
} copse_blink_point_arguments;

#endif

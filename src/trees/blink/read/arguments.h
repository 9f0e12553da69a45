/* Arguments of the kernels for point queries, and ranks (read/ordered_kernels.h draws them): read/find.h, read/bounds.h, concurrent/. */
#pragma once

#include "gpu/reads.h"
#include "trees/blink/layout.h"

/* Base leaves of a block of running sums. */
#define COPSE_SUMS_BLOCK 32u

/* Entries in front of each base leaf: those of its block in front of it, and those of the blocks in front. */
typedef struct copse_entries_before {
    const uint32_t *inside;
    const uint64_t *blocks; /* one more behind the last */
} copse_entries_before;

typedef struct copse_blink_point_arguments {
    copse_blink_tree tree;
    copse_point_queries queries;
    copse_entries_before before; /* for ranks */
} copse_blink_point_arguments;

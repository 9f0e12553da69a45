/* Arguments of the kernels for point queries: read/find.h, read/bounds.h, concurrent/. */
#pragma once

#include "gpu/reads.h"
#include "trees/blink/layout.h"

typedef struct copse_blink_point_arguments {
    copse_blink_tree tree;
    copse_point_queries queries;
    const uint64_t *before; /* entries in front of each base leaf, for ranks */
} copse_blink_point_arguments;

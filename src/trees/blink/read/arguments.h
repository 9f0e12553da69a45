/* Arguments of the kernels for point queries: read/find.h, read/bounds.h, concurrent/. */
#ifndef COPSE_TREES_BLINK_READ_ARGUMENTS_H
#define COPSE_TREES_BLINK_READ_ARGUMENTS_H

#include "gpu/reads.h"
#include "trees/blink/layout.h"

typedef struct copse_blink_point_arguments {
    copse_blink_tree tree;
    copse_point_queries queries;
    const uint64_t *before; /* entries in front of each base leaf, for ranks */
} copse_blink_point_arguments;

#endif

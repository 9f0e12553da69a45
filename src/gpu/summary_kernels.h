/* Template: the upper levels of a summary (core/aggregate.h), which are made in the same way whatever lies below. */
#pragma once

#include "gpu/kernel.h"
#include "gpu/partial_aggregate.h"

/* One level from the one below: a thread per node, 16 to 1. */
SIMT_KERNEL(NAME(raise), copse_raise_arguments, COPSE_KERNEL_THREADS, 8)
{
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < a.summary.nodes[a.level];
         i += (uint64_t)gridDim.x * blockDim.x)
        partial_store(&a.summary.level[a.level][i], partial_of_children(&a.summary, a.level, i));
}

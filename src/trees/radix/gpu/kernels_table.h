/* Template: the kernels of the radix tree, and the initializer of their table. */
#pragma once

#include "trees/radix/gpu/find_kernel.h"
#include "trees/radix/gpu/insert_kernels.h"
#include "trees/radix/gpu/read_kernels.h"
#include "trees/radix/gpu/upsert_kernels.h"

#define RADIX_ENTRY(name) SIMT_KERNEL_ENTRY(name, COPSE_RADIX_THREADS)
#define RADIX_KERNELS                                                                                                  \
    {                                                                                                                  \
        RADIX_ENTRY(radix_find), RADIX_ENTRY(radix_neighbours), RADIX_ENTRY(radix_ranges), RADIX_ENTRY(radix_rows),    \
            RADIX_ENTRY(radix_give), RADIX_ENTRY(radix_claim), RADIX_ENTRY(radix_upsert), RADIX_ENTRY(radix_locate),   \
            RADIX_ENTRY(radix_hang), RADIX_ENTRY(radix_settle), RADIX_ENTRY(radix_pages)                               \
    }

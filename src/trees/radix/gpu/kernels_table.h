/* Template: the kernels of the radix tree, and the initializer of their table. */
#pragma once

#include "trees/radix/gpu/apply_kernels.h"
#include "trees/radix/gpu/erase_kernels.h"
#include "trees/radix/gpu/find_kernel.h"
#include "trees/radix/gpu/fixed_kernels.h"
#include "trees/radix/gpu/forest_kernels.h"
#include "trees/radix/gpu/insert_kernels.h"
#include "trees/radix/gpu/order_kernels.h"
#include "trees/radix/gpu/read_kernels.h"
#include "trees/radix/gpu/upsert_kernels.h"
#include "trees/radix/gpu/wide_kernels.h"

#define RADIX_ENTRY(name) SIMT_KERNEL_ENTRY(name, COPSE_RADIX_THREADS)
#define RADIX_KERNELS                                                                                                  \
    {                                                                                                                  \
        RADIX_ENTRY(radix_find), RADIX_ENTRY(radix_find_apart), RADIX_ENTRY(radix_scatter),                            \
            RADIX_ENTRY(radix_neighbours), RADIX_ENTRY(radix_ranges), RADIX_ENTRY(radix_totals),                       \
            RADIX_ENTRY(radix_rows), RADIX_ENTRY(radix_give), RADIX_ENTRY(radix_claim),                                \
            RADIX_ENTRY(radix_claim_leaves), RADIX_ENTRY(radix_upsert), RADIX_ENTRY(radix_apply),                      \
            RADIX_ENTRY(radix_pages), RADIX_ENTRY(radix_find_fixed), RADIX_ENTRY(radix_encode),                        \
            RADIX_ENTRY(radix_decode), RADIX_ENTRY(radix_absent), RADIX_ENTRY(radix_survey), RADIX_ENTRY(radix_words), \
            RADIX_ENTRY(radix_merge), RADIX_ENTRY(radix_ties), RADIX_ENTRY(radix_ends), RADIX_ENTRY(radix_unique),     \
            RADIX_ENTRY(radix_level), RADIX_ENTRY(radix_chains), RADIX_ENTRY(radix_sizes), RADIX_ENTRY(radix_fits),    \
            RADIX_ENTRY(radix_leaves), RADIX_ENTRY(radix_nodes), RADIX_ENTRY(radix_fill), RADIX_ENTRY(radix_height),   \
            RADIX_ENTRY(radix_locate), RADIX_ENTRY(radix_need), RADIX_ENTRY(radix_hang), RADIX_ENTRY(radix_doomed),    \
            RADIX_ENTRY(radix_lose), RADIX_ENTRY(radix_take), RADIX_ENTRY(radix_spare),                                \
            RADIX_ENTRY(radix_blocks_count), RADIX_ENTRY(radix_blocks_group), RADIX_ENTRY(radix_blocks_leave),         \
            RADIX_ENTRY(radix_wide), RADIX_ENTRY(radix_descend), RADIX_ENTRY(radix_leaves_below),                      \
            RADIX_ENTRY(radix_lengths), RADIX_ENTRY(radix_wide_count), RADIX_ENTRY(radix_wide_rows),                   \
            RADIX_ENTRY(radix_list_totals), RADIX_ENTRY(radix_wide_totals)                                             \
    }

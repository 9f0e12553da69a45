/* Template: the kernels of the paged tree for one pair of widths: the initializer of their row. */
#pragma once

#include "gpu/gather.h"
#include "gpu/kernel_entries.h"
#include "gpu/levels_walk.h"
#include "gpu/pairs.h"
#include "gpu/partial_aggregate.h"
#include "gpu/queries.h"
#include "trees/paged/aggregate.h"
#include "trees/paged/check.h"
#include "trees/paged/kernels.h"
#include "trees/paged/page.h"
#include "trees/paged/read.h"
#include "trees/paged/update.h"

#define PAGED_KERNELS                                                                                                  \
    {                                                                                                                  \
        ENTRY(find), ENTRY(neighbours), ENTRY(bounds), ENTRY(copy), ENTRY(select), ENTRY(gather), ENTRY(row_counts),   \
            ENTRY(summarize), ENTRY(aggregate), ENTRY(locate), ENTRY(runs), ENTRY(plan),                               \
            SIMT_KERNEL_ENTRY(NAME(plan_small), COPSE_PAGED_PLAN_THREADS), ENTRY(replace), ENTRY(patch),               \
            ENTRY(patch_ends), ENTRY(write), ENTRY(move_rows), ENTRY(range_ends), ENTRY(pieces), ENTRY(fill_levels),   \
            ENTRY(push_pages), ENTRY(check)                                                                            \
    }

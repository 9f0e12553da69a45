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
#include "trees/paged/join.h"
#include "trees/paged/kernels.h"
#include "trees/paged/page.h"
#include "trees/paged/patch.h"
#include "trees/paged/read.h"
#include "trees/paged/small.h"
#include "trees/paged/update.h"
#include "trees/paged/write.h"

#define PAGED_KERNELS                                                                                                  \
    {                                                                                                                  \
        ENTRY(find), ENTRY(neighbours), ENTRY(bounds), ENTRY(copy), ENTRY(select), ENTRY(gather), ENTRY(row_counts),   \
            ENTRY(summarize), ENTRY(aggregate), ENTRY(locate), ENTRY(runs), ENTRY(plan), ENTRY(replace), ENTRY(patch), \
            ENTRY(finish), ENTRY(write), ENTRY(move_rows), SIMT_KERNEL_ENTRY(NAME(small), COPSE_PAGED_SMALL_THREADS),  \
            ENTRY(order), ENTRY(append), ENTRY(join_mark), ENTRY(join_pages), ENTRY(join_rows), ENTRY(range_ends),     \
            ENTRY(pieces), ENTRY(fill_levels), ENTRY(push_pages), ENTRY(check)                                         \
    }

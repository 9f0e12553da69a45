/* Template: the kernels that several trees use for one pair of widths: the initializer of their row. */
#pragma once

#include "gpu/batch_kernels.h"
#include "gpu/range_kernels.h"
#include "gpu/kernel_entries.h"
#include "gpu/levels_build.h"
#include "gpu/levels_walk.h"
#include "gpu/pairs.h"
#include "gpu/partial_aggregate.h"
#include "gpu/shared_kernels.h"
#include "gpu/sort_finish.h"
#include "gpu/summary_kernels.h"

#define SHARED_KERNELS                                                                                                 \
    {                                                                                                                  \
        ENTRY(survey), ENTRY(encode), ENTRY(sort_finish), ENTRY(digest_steps), ENTRY(fill_level), ENTRY(verify_level), \
            ENTRY(raise), ENTRY(close_ranges), ENTRY(limit_counts)                                                     \
    }

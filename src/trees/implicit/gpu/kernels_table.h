/* Template: the kernels of the implicit tree for one pair of widths: the initializer of their row. */
#pragma once

#include "gpu/gather.h"
#include "gpu/kernel_entries.h"
#include "gpu/levels_walk.h"
#include "gpu/pairs.h"
#include "gpu/partial_aggregate.h"
#include "gpu/queries.h"
#include "trees/implicit/gpu/aggregate.h"
#include "trees/implicit/gpu/build.h"
#include "trees/implicit/gpu/kernels.h"
#include "trees/implicit/gpu/read.h"
#include "trees/implicit/gpu/units.h"

#define IMPLICIT_KERNELS                                                                                               \
    {                                                                                                                  \
        ENTRY(count_kept), ENTRY(fill), ENTRY(fill_kept), ENTRY_PAIR(find), ENTRY_PAIR(neighbours), ENTRY_PAIR(count), \
            ENTRY_PAIR(sum), ENTRY(copy), ENTRY(select), ENTRY(gather), ENTRY(summarize), ENTRY(aggregate),            \
            ENTRY(widen), ENTRY(erase), ENTRY(absent), ENTRY(verify_units), ENTRY(verify_sums), ENTRY(verify_summary)  \
    }

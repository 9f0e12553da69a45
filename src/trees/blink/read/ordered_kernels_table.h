/* Template: the kernels that read the B-link and the B+ tree in order for one pair of widths: the initializer of their row. */
#pragma once

#include "gpu/gather.h"
#include "gpu/kernel_entries.h"
#include "gpu/levels_walk.h"
#include "gpu/partial_aggregate.h"
#include "gpu/queries.h"
#include "trees/blink/concurrent/neighbours.h"
#include "trees/blink/concurrent/range.h"
#include "trees/blink/concurrent/read.h"
#include "trees/blink/node/leaf.h"
#include "trees/blink/read/aggregate.h"
#include "trees/blink/read/bounds.h"
#include "trees/blink/read/gather.h"
#include "trees/blink/read/ordered_kernels.h"
#include "trees/blink/read/range.h"
#include "trees/blink/read/refresh.h"
#include "trees/blink/read/short_range.h"

#define BLINK_ORDERED_KERNELS                                                                                          \
    {                                                                                                                  \
        ENTRY(refresh_entries), ENTRY(refresh_values), ENTRY(refresh_both), ENTRY(refresh_summary),                    \
            ENTRY_PAIR(neighbours), ENTRY_PAIR(count), ENTRY_PAIR(sum), ENTRY(copy), ENTRY(select), ENTRY(gather),     \
            ENTRY_PAIR(short_range), ENTRY(aggregate), ENTRY(verify_base_leaves), ENTRY(verify_summary),               \
            ENTRY(find_concurrent), ENTRY(neighbours_concurrent), ENTRY(count_concurrent), ENTRY(gather_concurrent),   \
            ENTRY(aggregate_concurrent)                                                                                \
    }

/* Template: the kernels for keys that may repeat, for one pair of widths: the initializer of their row. */
#pragma once

#include "gpu/group_kernels.h"
#include "gpu/group_operations.h"
#include "gpu/kernel_entries.h"

#define GROUP_KERNELS                                                                                                  \
    {                                                                                                                  \
        ENTRY(group_fold), ENTRY(group_mark), ENTRY(group_compare), ENTRY(group_candidates), ENTRY(group_gather_keys), \
            ENTRY(group_gather_values), ENTRY(group_gather_numbers), ENTRY(group_take), ENTRY(group_rows)              \
    }

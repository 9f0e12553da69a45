/* Template: the kernels of mixed batches for one pair of widths: the initializer of their row. */
#pragma once

#include "gpu/kernel_entries.h"
#include "gpu/mixed_kernels.h"
#include "gpu/mixed_operations.h"

#define MIXED_KERNELS                                                                                                  \
    {                                                                                                                  \
        ENTRY(mixed_tag), ENTRY(mixed_answer), ENTRY(mixed_addends), ENTRY(mixed_answer_add), ENTRY(mixed_fold),       \
            ENTRY(mixed_ends), ENTRY(mixed_gather)                                                                     \
    }

/* Template: the kernels of hybrid trees for one pair of widths: the initializer of their row. */
#pragma once

#include "gpu/kernel_entries.h"
#include "trees/hybrid/descend.h"
#include "trees/hybrid/descend_pages.h"
#include "trees/hybrid/find_cached.h"
#include "trees/hybrid/kernels.h"

#define HYBRID_KERNELS                                                                                                 \
    {                                                                                                                  \
        ENTRY_PAIR(descend), ENTRY(descend_pages), ENTRY_PAIR(find_cached), ENTRY(scatter)                             \
    }

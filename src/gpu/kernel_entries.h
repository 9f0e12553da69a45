/* Template: the entries of which a row of kernels (gpu/kernel_rows.h) for one pair of widths is made. */
#pragma once

#include "gpu/kernel.h"

#define ENTRY(name) SIMT_KERNEL_ENTRY(NAME(name), COPSE_KERNEL_THREADS)

/* A kernel for full separators and one for digests. Keys of 32 bits have no digests: their separators are as small. */
#if KEY_BITS == 64
#define ENTRY_PAIR(name)                                                                                               \
    {                                                                                                                  \
        ENTRY(name##_full), ENTRY(name##_digest)                                                                       \
    }
#else
#define ENTRY_PAIR(name)                                                                                               \
    {                                                                                                                  \
        ENTRY(name##_full), ENTRY(name##_full)                                                                         \
    }
#endif

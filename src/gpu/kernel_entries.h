/* Template: the entries of which a row of kernels (gpu/kernel_rows.h) for one pair of widths is made. */
#ifndef COPSE_GPU_KERNEL_ENTRIES_H
#define COPSE_GPU_KERNEL_ENTRIES_H

#include "core/widths.h"
#include "gpu/shared_kernels.h"
#include "simt/simt.h"

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

#endif

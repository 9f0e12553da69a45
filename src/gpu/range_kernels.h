/* Template: what every tree needs around its own kernels over ranges. */
#pragma once

#include "core/closed_range.h"
#include "gpu/kernel.h"

/* Closes ranges, see core/closed_range.h. */
SIMT_KERNEL(NAME(close_ranges), copse_close_arguments, COPSE_KERNEL_THREADS, 8)
{
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < a.n; i += (uint64_t)gridDim.x * blockDim.x) {
        uint64_t low = a.lows ? ((const KEY *)a.lows)[i] : 0, high = a.highs ? ((const KEY *)a.highs)[i] : 0;
        copse_close_range(a.key_type, a.flags, a.lows != NULL, a.highs != NULL, &low, &high);
        ((KEY *)a.out_lows)[i] = (KEY)low;
        ((KEY *)a.out_highs)[i] = (KEY)high;
    }
}

SIMT_KERNEL(NAME(limit_counts), copse_limit_arguments, COPSE_KERNEL_THREADS, 8)
{
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < a.n; i += (uint64_t)gridDim.x * blockDim.x)
        a.counts[i] = a.limit && a.wholes[i] > a.limit ? a.limit : a.wholes[i];
}

/* Template: the radix tree as kernels walk it, and the strings of callers. */
#pragma once

#include "simt/simt.h"
#include "trees/radix/gpu/kernels.h"

COPSE_ANYWHERE unsigned char *copse_radix_at(const copse_radix_view *tree, copse_radix_link link)
{
    const uint32_t type = copse_radix_type_of(link);
    return tree->pool[type] + copse_radix_index_of(link) * copse_radix_stride(type, tree->width);
}

#define RADIX_TREE       copse_radix_view
#define COPSE_RADIX_HELD 8u /* in local memory: few, for what a thread does not remember it finds again */
#include "trees/radix/walk.h"

#define LONGEST_STRING 65536

#define RADIX_FOR(i, n)                                                                                                \
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < (n); i += (uint64_t)gridDim.x * blockDim.x)

SIMT_DEVICE int64_t string_offset(const copse_radix_strings *of, uint64_t i)
{
    return of->wide ? ((const int64_t *)of->offsets)[i] : ((const int32_t *)of->offsets)[i];
}

/* String i of n. False: its offsets are not sound, and it is empty. */
SIMT_DEVICE bool string_at(const copse_radix_strings *of, uint64_t i, uint64_t n, copse_slice *out)
{
    const int64_t start = string_offset(of, i);
    const int64_t stop = i + 1u == n && of->end >= 0 ? of->end : string_offset(of, i + 1u);
    const bool sound = start >= of->low && start <= stop && stop <= of->high && stop - start <= LONGEST_STRING;
    out->start = sound ? of->data + (start - of->low) : of->data;
    out->length = sound ? (size_t)(stop - start) : 0;
    return sound;
}

/* The same, with a word of the report for one that is not sound. */
SIMT_DEVICE copse_slice string_take(const copse_radix_strings *of, uint64_t i, uint64_t n, uint64_t *report)
{
    copse_slice string;
    if (!string_at(of, i, n, &string)) simt_atomic_min_u64(report, of->first + i);
    return string;
}

/* Template: how the warps of a kernel share the queries of a launch, for every structure. */
#ifndef COPSE_GPU_QUERIES_H
#define COPSE_GPU_QUERIES_H

#include "core/codec.h"
#include "core/widths.h"
#include "gpu/shared_kernels.h"
#include "simt/simt.h"

/* Of 32 neighbours so many must not fall for the warp to take them as sorted. */
#define SORTED_ENOUGH 30

/* The first query of this warp, and the one that this lane reads: n or more where there is none, and query_at then says which
 * other one it reads in its place. False: the warp has none. */
SIMT_DEVICE bool query_share(uint32_t n, uint32_t per_warp, uint32_t *first, uint32_t *mine)
{
    *first = (blockIdx.x * (COPSE_KERNEL_THREADS / SIMT_WARP) + simt_warp()) * per_warp;
    *mine = *first + (simt_lane() & (per_warp - 1u));
    return *first < n;
}

SIMT_DEVICE uint32_t query_at(uint32_t n, uint32_t mine)
{
    return mine < n ? mine : n - 1u;
}

/* Do the queries of this warp come sorted, nearly? */
SIMT_DEVICE bool query_sorted(uint32_t per_warp, KEY q)
{
    const KEY before = COPSE_BITS(simt_shfl_up_u, KEY_BITS)(SIMT_FULL_MASK, q, 1);
    return per_warp == SIMT_WARP && __popc(__ballot_sync(SIMT_FULL_MASK, before <= q)) >= SORTED_ENOUGH;
}

SIMT_DEVICE void report_nan(copse_type type, KEY bits, uint64_t *report, uint32_t word, uint64_t position)
{
    if (IS_NAN(type, bits)) simt_atomic_min_u64(&report[word], position);
}

#endif

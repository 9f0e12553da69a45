/*
 * Template: copying the entries of ranges. The work is cut by output, not by range, so that one wide range is spread over
 * all warps: a warp takes a tile of output positions, finds the range of its first one, and from there on keeps 32 offsets
 * in its lanes to find the ranges of 32 positions at a time.
 */
#pragma once

#include "gpu/reads.h"
#include "gpu/kernel.h"

/* The range that output position p lies in, the last r with offsets[r] <= p. All lanes of a warp look for the same one: each
 * step leaves one in 33 of the ranges, where halving would take five steps that wait for each other. */
SIMT_DEVICE uint64_t gather_seek(const uint64_t *offsets, uint64_t n, uint64_t p)
{
    uint64_t low = 0, high = n; /* offsets[low] <= p < offsets[high] */
    while (high - low > 1u) {
        const uint64_t step = (high - low + SIMT_WARP) / (SIMT_WARP + 1u), at = low + step * (simt_lane() + 1u);
        const bool below = at < high && offsets[at] <= p;
        const uint32_t steps = (uint32_t)__popc(__ballot_sync(SIMT_FULL_MASK, below));
        low += steps * step;
        high = low + step < high ? low + step : high;
    }
    return low;
}

/* Of 32 ascending offsets, one in each lane, how many are <= p. */
SIMT_DEVICE uint32_t gather_rank(uint64_t offset, uint64_t p)
{
    uint32_t rank = 0;
    SIMT_UNROLL
    for (uint32_t step = 16; step > 0; step /= 2)
        if (simt_shfl_u64(SIMT_FULL_MASK, offset, rank + step - 1u) <= p) rank += step;
    return rank + (uint32_t)(simt_shfl_u64(SIMT_FULL_MASK, offset, rank) <= p);
}

/* The range of this lane's position p. The positions of a warp ascend, and the first is in range `range` or behind it. */
SIMT_DEVICE uint64_t gather_range(const uint64_t *offsets, uint64_t n, uint64_t range, uint64_t p)
{
    uint64_t mine = 0;
    bool open = true;
    do {
        uint64_t next = range + 1u + simt_lane();
        uint32_t rank = gather_rank(offsets[next < n ? next : n], p);
        if (open && rank < SIMT_WARP) {
            mine = range + rank;
            open = false;
        }
        range += SIMT_WARP;
    } while (__any_sync(SIMT_FULL_MASK, open));
    return mine;
}

/* How many entries behind the first one of its range lies the entry of output position p. */
SIMT_DEVICE uint64_t gather_beyond(const copse_entry_output *a, uint64_t range, uint64_t p)
{
    const uint64_t at = p - a->offsets[range];
    return a->wholes ? a->wholes[range] - 1u - at : at;
}

/* Is there an entry with rank number i? Else its output is all zero. */
SIMT_DEVICE bool select_is_there(const copse_entry_output *a, uint64_t i, uint64_t entries)
{
    const bool there = a->ranks[i] < entries;
    if (a->found) a->found[i] = (uint8_t)there;
    if (!there && a->keys) ((KEY *)a->keys)[i] = 0;
    if (!there && a->values) ((VALUE *)a->values)[i] = 0;
    return there;
}

/* Where the first tile of this warp begins, of output positions from `first` on, and how far it is to its next one. */
SIMT_DEVICE uint64_t gather_first(uint64_t first)
{
    return first + ((uint64_t)blockIdx.x * (COPSE_KERNEL_THREADS / SIMT_WARP) + simt_warp()) * COPSE_GATHER_TILE;
}

SIMT_DEVICE uint64_t gather_step(void)
{
    return (uint64_t)gridDim.x * (COPSE_KERNEL_THREADS / SIMT_WARP) * COPSE_GATHER_TILE;
}

/* Where the output positions end that are wanted. False: the ranges hold more than fits, and a thread reports it. */
SIMT_DEVICE bool gather_stop(const copse_entry_output *a, uint64_t *out_stop)
{
    const uint64_t total = a->offsets[a->n];
    *out_stop = total - a->first < a->count ? total : a->first + a->count;
    if (total <= a->capacity) return true;
    if (blockIdx.x == 0 && threadIdx.x == 0) simt_atomic_min_u64(&a->report[COPSE_REPORT_TOO_SMALL], total);
    return false;
}

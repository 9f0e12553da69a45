/*
 * Template: what reads in key order need besides the leaves, brought up to date where base leaves have changed: running sums of
 * entries and of values, drawn in read/ordered_kernels.h, and blocks of the summary. Where all bits are set they are made.
 */
#pragma once

#include "gpu/partial_aggregate.h"
#include "trees/blink/node/leaf.h"
#include "trees/blink/read/aggregate.h"
#include "trees/blink/read/bounds.h"
#include "trees/blink/read/ordered_kernels.h"
#include "trees/blink/read/range.h"

/* The words of a warp, one to a lane: 0 where a lane has none. Takes them: nobody sees these bits again. */
SIMT_DEVICE uint32_t touched_take(const copse_refresh_arguments *a, uint64_t first)
{
    const uint64_t b = first + simt_lane();
    const uint32_t word = b < a->blocks ? a->touched[b] : 0;
    if (!word) return 0;
    a->touched[b] = 0;
    if (a->stale_sums) {
        a->stale_sums[b] |= word;
        a->stale_summary[b] |= word;
    }
    return word;
}

/* The next block of those words that has bits. False: there is none. */
SIMT_DEVICE bool touched_next(uint64_t first, uint32_t own, uint32_t *words, uint64_t *block, uint32_t *bits)
{
    if (!*words) return false;
    const uint32_t lane = (uint32_t)__ffs((int)*words) - 1u;
    *words &= *words - 1u;
    *block = first + lane;
    *bits = simt_shfl_u32(SIMT_FULL_MASK, own, lane);
    return true;
}

/* Of the numbers of a block, one to a lane: the sum of those in front; *total: of all. */
SIMT_DEVICE uint64_t block_sums(uint64_t own, uint64_t *total)
{
    uint64_t upto = own;
    SIMT_UNROLL
    for (uint32_t step = 1; step < SIMT_WARP; step *= 2u) {
        const uint64_t other = simt_shfl_up_u64(SIMT_FULL_MASK, upto, step);
        if (simt_lane() >= step) upto += other;
    }
    *total = simt_shfl_u64(SIMT_FULL_MASK, upto, SIMT_WARP - 1u);
    return upto - own;
}

/* What the running sums of a block say of this lane's base leaf: `inside` is its own, `total` that of the block. */
SIMT_DEVICE uint64_t block_share(uint64_t inside, uint64_t total)
{
    const uint64_t next = simt_shfl_down_u64(SIMT_FULL_MASK, inside, 1);
    return (simt_lane() == SIMT_WARP - 1u ? total : next) - inside;
}

/* How far a value is from 0. */
SIMT_DEVICE uint64_t value_distance(copse_type type, VALUE value)
{
    const uint64_t wide = value_wide(type, value);
    return (type == COPSE_I32 || type == COPSE_I64) && wide >> 63 ? 0 - wide : wide;
}

/* The sum of the values of a leaf, free slots being 0; raises *largest. */
SIMT_DEVICE uint64_t leaf_values(copse_type type, const char *leaf, uint64_t *largest)
{
    uint64_t sum = 0;
    SIMT_UNROLL
    for (uint32_t i = 0; i < LEAF_SLOTS; i++) {
        const VALUE value = leaf_value(leaf, i);
        const uint64_t distance = value_distance(type, value);
        sum += value_wide(type, value);
        if (distance > *largest) *largest = distance;
    }
    return sum;
}

/* What an anchor adds to running sums: its entries or the sum of their values. */
SIMT_DEVICE uint64_t anchor_share(const copse_blink_tree *tree, uint64_t anchor, bool values, uint64_t *largest)
{
    if (anchor >= tree_anchors(tree)) return 0;
    leaf_cursor cursor = cursor_at(tree, (uint32_t)anchor);
    uint64_t share = 0;
    do share += values ? leaf_values(tree->value_type, cursor.leaf, largest) : leaf_count(cursor.leaf);
    while (cursor_step(tree, &cursor));
    return share;
}

/* Blocks that a warp has on their way at a time. */
#define REFRESH_AHEAD 4u

/* Up to REFRESH_AHEAD of the blocks of `words`: loads first, so that they wait together. */
SIMT_DEVICE void blocks_refresh(const copse_refresh_arguments *a, bool values, uint64_t first, uint32_t own,
                                uint32_t *words, uint64_t *largest)
{
    uint64_t block[REFRESH_AHEAD] = {0}, inside[REFRESH_AHEAD] = {0}, total[REFRESH_AHEAD] = {0};
    uint32_t bits[REFRESH_AHEAD] = {0};
    bool there[REFRESH_AHEAD];
    SIMT_UNROLL
    for (uint32_t r = 0; r < REFRESH_AHEAD; r++) {
        there[r] = touched_next(first, own, words, &block[r], &bits[r]);
        if (!there[r] || bits[r] == UINT32_MAX) continue; /* made anew: what stands there may never have been written */
        const uint64_t at = block[r] * COPSE_SUMS_BLOCK + simt_lane();
        inside[r] = values ? a->values[at] : a->entries[at];
        total[r] = a->totals[block[r]];
    }
    __syncwarp(SIMT_FULL_MASK); /* all lanes have read the totals before lane 0 writes them */
    SIMT_UNROLL
    for (uint32_t r = 0; r < REFRESH_AHEAD; r++) {
        if (!there[r]) break;
        const uint64_t at = block[r] * COPSE_SUMS_BLOCK + simt_lane();
        uint64_t share = block_share(inside[r], total[r]);
        if (bits[r] >> simt_lane() & 1u) share = anchor_share(&a->tree, at, values, largest);
        const uint64_t front = block_sums(share, &total[r]);
        if (values)
            a->values[at] = front;
        else
            a->entries[at] = (uint32_t)front;
        if (simt_lane() == 0) a->totals[block[r]] = total[r];
    }
}

SIMT_DEVICE uint64_t sums_refresh(const copse_refresh_arguments *a, bool values)
{
    const uint64_t step = (uint64_t)gridDim.x * COPSE_KERNEL_THREADS;
    uint64_t largest = 0;
    for (uint64_t first = (uint64_t)blockIdx.x * COPSE_KERNEL_THREADS + simt_warp() * SIMT_WARP; first < a->blocks;
         first += step) {
        const uint32_t own = touched_take(a, first);
        uint32_t words = __ballot_sync(SIMT_FULL_MASK, own != 0);
        while (words) blocks_refresh(a, values, first, own, &words, &largest);
    }
    return largest;
}

SIMT_KERNEL(NAME(refresh_entries), copse_refresh_arguments, COPSE_KERNEL_THREADS, 12)
{
    (void)sums_refresh(&a, false);
}

SIMT_KERNEL(NAME(refresh_values), copse_refresh_arguments, COPSE_KERNEL_THREADS, 12)
{
    uint64_t largest = sums_refresh(&a, true);
    for (uint32_t d = 1; d < SIMT_WARP; d *= 2u) {
        const uint64_t other = simt_shfl_xor_u64(SIMT_FULL_MASK, largest, d);
        largest = other > largest ? other : largest;
    }
    if (simt_lane() == 0 && largest) simt_atomic_max_u64(a.largest, largest);
}

/* Level 0 of the summary: a warp makes the items of 32 base leaves that changed. */
SIMT_KERNEL(NAME(refresh_summary), copse_refresh_arguments, COPSE_KERNEL_THREADS, 8)
{
    const uint64_t step = (uint64_t)gridDim.x * COPSE_KERNEL_THREADS;
    for (uint64_t first = (uint64_t)blockIdx.x * COPSE_KERNEL_THREADS + simt_warp() * SIMT_WARP; first < a.blocks;
         first += step) {
        const uint32_t own = touched_take(&a, first);
        uint32_t words = __ballot_sync(SIMT_FULL_MASK, own != 0), bits;
        uint64_t b;
        while (touched_next(first, own, &words, &b, &bits))
            for (uint32_t half = 0; half < COPSE_SUMS_BLOCK / COPSE_BLOCK_BASE_LEAVES; half++) {
                const uint64_t item = b * (COPSE_SUMS_BLOCK / COPSE_BLOCK_BASE_LEAVES) + half;
                if (item < a.summary.nodes[0] && bits >> half * COPSE_BLOCK_BASE_LEAVES & 0xffffu)
                    summarize(&a.tree, &a.summary, item);
            }
    }
}

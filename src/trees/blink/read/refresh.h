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
    const uint32_t word = b < a->blocks ? a->touched[b] : 0, more = a->also && b < a->blocks ? a->also[b] : 0;
    if (word) a->touched[b] = 0;
    if (more) a->also[b] = 0;
    /* Atomic only so that the lane need not wait for the words. */
    if (word && a->stale_sums) (void)simt_atomic_or_u32(&a->stale_sums[b], word);
    if (word && a->stale_summary) (void)simt_atomic_or_u32(&a->stale_summary[b], word);
    return word | more;
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

/* What an anchor adds to running sums: its entries, and the sum of their values. */
typedef struct anchor_shares {
    uint64_t entries, values;
} anchor_shares;

SIMT_DEVICE anchor_shares anchor_shares_of(const copse_blink_tree *tree, uint64_t anchor, bool entries, bool values,
                                           uint64_t *largest)
{
    anchor_shares shares = {0, 0};
    if (anchor >= tree_anchors(tree)) return shares;
    leaf_cursor cursor = cursor_at(tree, (uint32_t)anchor);
    do {
        if (entries) shares.entries += leaf_count(cursor.leaf);
        if (values) shares.values += leaf_values(tree->value_type, cursor.leaf, largest);
    } while (cursor_step(tree, &cursor));
    return shares;
}

/* Blocks whose running sums a warp has on their way at a time. */
#define REFRESH_AHEAD 4u

/* Some of the words of a warp, with up to 32 bits together: each lane reads the anchor of one bit, so that all wait together. */
typedef struct touched_some {
    uint64_t first;    /* block of lane 0 */
    uint32_t own;      /* the word of this lane */
    uint32_t in_front; /* bits in the words of the lanes in front of it */
    uint32_t words;    /* the lanes whose words these are */
    uint32_t begin;    /* bits in the words of the lanes in front of those */
} touched_some;

/* The next ones of `words`. False: there are none. */
SIMT_DEVICE bool touched_next(touched_some *some, uint32_t *words)
{
    const bool left = *words >> simt_lane() & 1u;
    if (!*words) return false;
    some->begin = simt_shfl_u32(SIMT_FULL_MASK, some->in_front, (uint32_t)__ffs((int)*words) - 1u);
    some->words =
        __ballot_sync(SIMT_FULL_MASK, left && some->in_front + (uint32_t)__popc(some->own) - some->begin <= SIMT_WARP);
    *words &= ~some->words;
    return true;
}

/* The anchor of bit number `lane` of these words; a huge number: there are not so many. */
SIMT_DEVICE uint64_t touched_anchor(const touched_some *some)
{
    const uint32_t n = some->begin + simt_lane(), upto = some->in_front + (uint32_t)__popc(some->own);
    uint32_t word = 0, bit = 0;
    SIMT_UNROLL
    for (uint32_t step = SIMT_WARP / 2u; step > 0; step /= 2u)
        if (simt_shfl_u32(SIMT_FULL_MASK, upto, word + step - 1u) <= n) word += step;
    uint32_t bits = simt_shfl_u32(SIMT_FULL_MASK, some->own, word);
    uint32_t nth = n - simt_shfl_u32(SIMT_FULL_MASK, some->in_front, word);
    if (!(some->words >> word & 1u) || nth >= (uint32_t)__popc(bits)) return UINT64_MAX;
    SIMT_UNROLL
    for (uint32_t step = SIMT_WARP / 2u; step > 0; step /= 2u) {
        const uint32_t lower = (uint32_t)__popc(bits >> bit & ((1u << step) - 1u));
        if (lower > nth) continue;
        nth -= lower;
        bit += step;
    }
    return (some->first + word) * COPSE_SUMS_BLOCK + bit;
}

/* Corrects the running sums of up to REFRESH_AHEAD of the blocks of `words`: loads first, so that they wait together. own: what the anchor
 * of bit number `lane` adds. */
SIMT_DEVICE void blocks_correct(const copse_refresh_arguments *a, bool values, const touched_some *some, uint64_t own,
                                uint32_t *words)
{
    uint64_t *totals = values ? a->value_totals : a->totals;
    uint64_t inside[REFRESH_AHEAD] = {0}, total[REFRESH_AHEAD] = {0};
    uint32_t lane[REFRESH_AHEAD], bits[REFRESH_AHEAD];
    SIMT_UNROLL
    for (uint32_t r = 0; r < REFRESH_AHEAD; r++) {
        lane[r] = *words ? (uint32_t)__ffs((int)*words) - 1u : SIMT_WARP;
        *words &= *words - 1u;
        bits[r] = simt_shfl_u32(SIMT_FULL_MASK, some->own, lane[r] & (SIMT_WARP - 1u));
        if (lane[r] == SIMT_WARP || bits[r] == UINT32_MAX)
            continue; /* made anew: what stands there may never have been written */
        const uint64_t at = (some->first + lane[r]) * COPSE_SUMS_BLOCK + simt_lane();
        inside[r] = values ? a->values[at] : a->entries[at];
        total[r] = totals[some->first + lane[r]];
    }
    __syncwarp(SIMT_FULL_MASK); /* all lanes have read the totals before lane 0 writes them */
    SIMT_UNROLL
    for (uint32_t r = 0; r < REFRESH_AHEAD; r++) {
        if (lane[r] == SIMT_WARP) break;
        const uint64_t block = some->first + lane[r], at = block * COPSE_SUMS_BLOCK + simt_lane();
        const uint32_t nth = simt_shfl_u32(SIMT_FULL_MASK, some->in_front, lane[r]) - some->begin +
                             (uint32_t)__popc(bits[r] & ((1u << simt_lane()) - 1u));
        uint64_t share = block_share(inside[r], total[r]);
        const uint64_t fresh = simt_shfl_u64(SIMT_FULL_MASK, own, nth & (SIMT_WARP - 1u));
        if (bits[r] >> simt_lane() & 1u) share = fresh;
        const uint64_t front = block_sums(share, &total[r]);
        if (values)
            a->values[at] = front;
        else
            a->entries[at] = (uint32_t)front;
        if (simt_lane() == 0) totals[block] = total[r];
    }
}

SIMT_DEVICE uint64_t sums_refresh(const copse_refresh_arguments *a, bool entries, bool values)
{
    const uint64_t step = (uint64_t)gridDim.x * COPSE_KERNEL_THREADS;
    uint64_t largest = 0, bits;
    touched_some some = {0, 0, 0, 0, 0};
    for (some.first = (uint64_t)blockIdx.x * COPSE_KERNEL_THREADS + simt_warp() * SIMT_WARP; some.first < a->blocks;
         some.first += step) {
        some.own = touched_take(a, some.first);
        uint32_t words = __ballot_sync(SIMT_FULL_MASK, some.own != 0);
        if (words) some.in_front = (uint32_t)block_sums((uint32_t)__popc(some.own), &bits);
        while (touched_next(&some, &words)) {
            const uint64_t anchor = touched_anchor(&some);
            const anchor_shares shares = anchor_shares_of(&a->tree, anchor, entries, values, &largest);
            for (uint32_t left = entries ? some.words : 0; left;)
                blocks_correct(a, false, &some, shares.entries, &left);
            for (uint32_t left = values ? some.words : 0; left;) blocks_correct(a, true, &some, shares.values, &left);
        }
    }
    return largest;
}

SIMT_KERNEL(NAME(refresh_entries), copse_refresh_arguments, COPSE_KERNEL_THREADS, 10)
{
    (void)sums_refresh(&a, true, false);
}

/* Raises what is kept of values to what the lanes of a warp have seen. */
SIMT_DEVICE void largest_publish(const copse_refresh_arguments *a, uint64_t largest)
{
    for (uint32_t d = 1; d < SIMT_WARP; d *= 2u) {
        const uint64_t other = simt_shfl_xor_u64(SIMT_FULL_MASK, largest, d);
        largest = other > largest ? other : largest;
    }
    if (simt_lane() == 0 && largest) simt_atomic_max_u64(a->largest, largest);
}

SIMT_KERNEL(NAME(refresh_values), copse_refresh_arguments, COPSE_KERNEL_THREADS, 10)
{
    largest_publish(&a, sums_refresh(&a, false, true));
}

/* Both at once, so that a sum right after an update reads what has changed once. */
SIMT_KERNEL(NAME(refresh_both), copse_refresh_arguments, COPSE_KERNEL_THREADS, 8)
{
    largest_publish(&a, sums_refresh(&a, true, true));
}

/* Level 0 of the summary: a warp makes the items of 32 base leaves that changed. */
SIMT_KERNEL(NAME(refresh_summary), copse_refresh_arguments, COPSE_KERNEL_THREADS, 8)
{
    const uint64_t step = (uint64_t)gridDim.x * COPSE_KERNEL_THREADS;
    for (uint64_t first = (uint64_t)blockIdx.x * COPSE_KERNEL_THREADS + simt_warp() * SIMT_WARP; first < a.blocks;
         first += step) {
        const uint32_t own = touched_take(&a, first);
        for (uint32_t words = __ballot_sync(SIMT_FULL_MASK, own != 0); words; words &= words - 1u) {
            const uint32_t lane = (uint32_t)__ffs((int)words) - 1u, bits = simt_shfl_u32(SIMT_FULL_MASK, own, lane);
            for (uint32_t half = 0; half < COPSE_SUMS_BLOCK / COPSE_BLOCK_BASE_LEAVES; half++) {
                const uint64_t item = (first + lane) * (COPSE_SUMS_BLOCK / COPSE_BLOCK_BASE_LEAVES) + half;
                if (item < a.summary.nodes[0] && bits >> half * COPSE_BLOCK_BASE_LEAVES & 0xffffu)
                    summarize(&a.tree, &a.summary, item);
            }
        }
    }
}

/*
 * Template: ranges of the B-link and the B+ tree while a writer may be at work: counted, copied, aggregated. The tree has no
 * ranks then: the kernel reads all leaves of a range.
 *
 * A lane has a range to itself. Where that spans many base leaves, all lanes of the warp help: each takes one base leaf after the other.
 */
#pragma once

#include "gpu/pairs.h"
#include "gpu/partial_aggregate.h"
#include "gpu/queries.h"
#include "trees/blink/concurrent/neighbours.h"
#include "trees/blink/concurrent/read.h"
#include "trees/blink/node/leaf.h"
#include "trees/blink/read/ordered_kernels.h"

/* Base leaves from which on a range is one for the whole warp. */
#define WIDE_BASE_LEAVES 4u

typedef struct range_span {
    KEY low, high;            /* both belong to it           */
    uint32_t base_leaf, last; /* base leaves that may have entries */
    bool any;                 /* low <= high                 */
} range_span;

/* What a lane gathers from the entries of a range. */
typedef struct range_harvest {
    uint64_t found;
    partial all;       /* aggregate                            */
    uint64_t at, most; /* gather: where they go, and how many   */
} range_harvest;

SIMT_DEVICE range_harvest harvest_start(uint64_t at, uint64_t most)
{
    range_harvest harvest;
    harvest.found = 0;
    harvest.all = partial_empty();
    harvest.at = at;
    harvest.most = most;
    return harvest;
}

/* Range r, or none where there is no such range. */
SIMT_DEVICE range_span span_read(const copse_concurrent_arguments *a, uint64_t r, bool there)
{
    const copse_blink_tree *tree = &a->tree;
    range_span span = {0, 0, 0, 0, false};
    if (!there) return span;
    const KEY high = COPSE_BITS(simt_load_once_u, KEY_BITS)((const KEY *)a->highs + r);
    report_nan(tree->key_type, high, a->report, a->lows ? COPSE_REPORT_NAN_HIGH : COPSE_REPORT_NAN, a->first + r);
    span.high = ENCODE_ONE(tree->key_type, high);
    if (a->lows) {
        const KEY low = COPSE_BITS(simt_load_once_u, KEY_BITS)((const KEY *)a->lows + r);
        report_nan(tree->key_type, low, a->report, COPSE_REPORT_NAN, a->first + r);
        span.low = ENCODE_ONE(tree->key_type, low);
    }
    if (a->below && span.high == 0) return span;
    span.high = (KEY)(span.high - (KEY)(a->below != 0));
    span.any = span.low <= span.high;
    if (!span.any) return span;
    span.base_leaf = base_leaf_from(tree, span.low);
    span.last = base_leaf_upto(tree, span.high);
    return span;
}

SIMT_DEVICE range_span span_of_lane(range_span own, uint32_t lane)
{
    range_span span;
    span.low = COPSE_BITS(simt_shfl_u, KEY_BITS)(SIMT_FULL_MASK, own.low, lane);
    span.high = COPSE_BITS(simt_shfl_u, KEY_BITS)(SIMT_FULL_MASK, own.high, lane);
    span.base_leaf = simt_shfl_u32(SIMT_FULL_MASK, own.base_leaf, lane);
    span.last = simt_shfl_u32(SIMT_FULL_MASK, own.last, lane);
    span.any = true;
    return span;
}

/* --- one base leaf -------------------------------------------------------------------------------------------------------------- */

SIMT_DEVICE void harvest_entry(const copse_concurrent_arguments *a, bool copies, bool adds, KEY key, VALUE value,
                               range_harvest *harvest)
{
    if (adds) partial_add(&harvest->all, partial_of(a->tree.value_type, value));
    if (copies && harvest->found < harvest->most) {
        const uint64_t p = harvest->at + harvest->found - a->from; /* in front of `from` it wraps to a huge number */
        if (p < a->room && a->keys) ((KEY *)a->keys)[p] = DECODE_ONE(a->tree.key_type, key);
        if (p < a->room && a->values) ((VALUE *)a->values)[p] = value;
    }
    harvest->found++;
}

SIMT_DEVICE void harvest_base_leaf(const copse_concurrent_arguments *a, bool copies, bool adds, const range_span *span,
                                   uint32_t base_leaf, range_harvest *harvest)
{
    leaf_read leaf;
    read_from(&a->tree, base_leaf, span->low, &leaf);
    for (;;) {
        SIMT_UNROLL
        for (uint32_t i = 0; i < LEAF_SLOTS; i++)
            if (i < leaf.count && leaf.key[i] >= span->low && leaf.key[i] <= span->high)
                harvest_entry(a, copies, adds, leaf.key[i], leaf.value[i], harvest);
        if (leaf.high > span->high || (a->tree.unique && leaf.high == span->high)) return;
        if (!read_step(&a->tree, &leaf)) return;
    }
}

/* --- a range, by one lane or by all ------------------------------------------------------------------------------------------ */

/* Counts or adds a range by all lanes; all get the result. */
SIMT_DEVICE range_harvest harvest_wide(const copse_concurrent_arguments *a, bool adds, range_span span)
{
    range_harvest harvest = harvest_start(0, 0);
    for (uint64_t base_leaf = (uint64_t)span.base_leaf + simt_lane(); base_leaf <= span.last; base_leaf += SIMT_WARP)
        harvest_base_leaf(a, false, adds, &span, (uint32_t)base_leaf, &harvest);
    harvest.found = warp_sum(harvest.found);
    if (adds) harvest.all = partial_of_warp(harvest.all);
    return harvest;
}

/* Copies a range by all lanes: 32 base leaves at a time are counted, so that each lane knows where its entries go. A base leaf that was
 * changed before it is copied counts for what it had or has, in any case not for what was expected. */
SIMT_DEVICE range_harvest copy_wide(const copse_concurrent_arguments *a, range_span span, uint64_t at, uint64_t most)
{
    range_harvest all = harvest_start(at, most);
    const bool cut =
        a->limit && most == a->limit; /* else the warp reads all base leaves: entries may have moved behind others */
    bool changed = false;
    for (uint64_t first = span.base_leaf; first <= span.last && !(cut && all.found >= most); first += SIMT_WARP) {
        const uint64_t base_leaf = first + simt_lane();
        range_harvest counted = harvest_start(0, 0);
        if (base_leaf <= span.last) harvest_base_leaf(a, false, false, &span, (uint32_t)base_leaf, &counted);
        uint64_t behind =
            counted.found; /* the last entry of this base leaf, counted from the first of the 32 base leaves */
        for (uint32_t step = 1; step < SIMT_WARP; step *= 2u) {
            const uint64_t other = simt_shfl_up_u64(SIMT_FULL_MASK, behind, step);
            if (simt_lane() >= step) behind += other;
        }
        const uint64_t front = all.found + behind - counted.found;
        range_harvest copied = harvest_start(at + front, front < most ? most - front : 0);
        if (copied.most > counted.found) copied.most = counted.found;
        if (base_leaf <= span.last) harvest_base_leaf(a, true, false, &span, (uint32_t)base_leaf, &copied);
        changed |= copied.found != counted.found;
        all.found += simt_shfl_u64(SIMT_FULL_MASK, behind, SIMT_WARP - 1u);
    }
    if (__any_sync(SIMT_FULL_MASK, changed)) all.found = UINT64_MAX;
    return all;
}

/* --- kernels ----------------------------------------------------------------------------------------------------------------- */

/* Did gather find what was counted? */
SIMT_DEVICE void gather_check(const copse_concurrent_arguments *a, uint64_t r, uint64_t found)
{
    const uint64_t expected = a->offsets[r + 1u] - a->offsets[r];
    const bool cut = a->limit && expected == a->limit && found > expected && found != UINT64_MAX;
    if (found != expected && !cut) simt_atomic_min_u64(&a->report[COPSE_REPORT_CHANGED], a->first + r);
}

SIMT_DEVICE void harvest_store(const copse_concurrent_arguments *a, bool copies, bool adds, uint64_t r,
                               const range_harvest *harvest)
{
    if (adds)
        aggregate_store(&a->result, r, harvest->all, harvest->found);
    else if (copies)
        gather_check(a, r, harvest->found);
    else
        a->counts[r] = a->limit && harvest->found > a->limit ? a->limit : harvest->found;
}

/* Has range r something to do with the output positions that are wanted? */
SIMT_DEVICE bool gather_wants(const copse_concurrent_arguments *a, uint64_t r)
{
    return a->offsets[r + 1u] > a->from && a->offsets[r] < a->from + a->room;
}

/* The ranges of one warp from `first` on. */
SIMT_DEVICE void concurrent_some(const copse_concurrent_arguments *a, bool copies, bool adds, uint64_t first)
{
    const uint64_t mine = first + simt_lane();
    const bool there = simt_lane() < a->per_warp && mine < a->n && (!copies || gather_wants(a, mine));
    const range_span own = span_read(a, mine, there);
    const uint64_t at = copies && there ? a->offsets[mine] : 0, most = copies && there ? a->offsets[mine + 1u] - at : 0;
    const bool wide = own.any && own.last - own.base_leaf >= WIDE_BASE_LEAVES;
    if (there && !wide) {
        range_harvest harvest = harvest_start(at, most);
        for (uint64_t base_leaf = own.base_leaf; own.any && base_leaf <= own.last; base_leaf++)
            harvest_base_leaf(a, copies, adds, &own, (uint32_t)base_leaf, &harvest);
        harvest_store(a, copies, adds, mine, &harvest);
    }
    for (uint32_t wides = __ballot_sync(SIMT_FULL_MASK, wide); wides; wides &= wides - 1u) {
        const uint32_t lane = (uint32_t)__ffs((int)wides) - 1u;
        const range_span span = span_of_lane(own, lane);
        const uint64_t to = simt_shfl_u64(SIMT_FULL_MASK, at, lane), room = simt_shfl_u64(SIMT_FULL_MASK, most, lane);
        const range_harvest harvest = copies ? copy_wide(a, span, to, room) : harvest_wide(a, adds, span);
        if (simt_lane() == lane) harvest_store(a, copies, adds, mine, &harvest);
    }
}

SIMT_DEVICE void ranges_concurrent(const copse_concurrent_arguments *a, bool copies, bool adds)
{
    const uint64_t warp = (uint64_t)blockIdx.x * (COPSE_KERNEL_THREADS / SIMT_WARP) + simt_warp();
    const uint64_t step = (uint64_t)gridDim.x * (COPSE_KERNEL_THREADS / SIMT_WARP) * a->per_warp;
    for (uint64_t first = warp * a->per_warp; first < a->n; first += step) concurrent_some(a, copies, adds, first);
}

SIMT_KERNEL(NAME(count_concurrent), copse_concurrent_arguments, COPSE_KERNEL_THREADS, 4)
{
    ranges_concurrent(&a, false, false);
}

SIMT_KERNEL(NAME(gather_concurrent), copse_concurrent_arguments, COPSE_KERNEL_THREADS, 4)
{
    const uint64_t total = a.offsets[a.n];
    if (total > a.capacity) {
        if (blockIdx.x == 0 && threadIdx.x == 0) simt_atomic_min_u64(&a.report[COPSE_REPORT_TOO_SMALL], total);
        return;
    }
    ranges_concurrent(&a, true, false);
}

SIMT_KERNEL(NAME(aggregate_concurrent), copse_concurrent_arguments, COPSE_KERNEL_THREADS, 4)
{
    ranges_concurrent(&a, false, true);
}

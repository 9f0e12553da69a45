/* Template: kernels that read the implicit tree. */
#ifndef COPSE_TREES_IMPLICIT_GPU_READ_H
#define COPSE_TREES_IMPLICIT_GPU_READ_H

#include "core/codec.h"
#include "core/reads.h"
#include "core/widths.h"
#include "gpu/gather.h"
#include "gpu/levels_walk.h"
#include "gpu/queries.h"
#include "gpu/shared_kernels.h"
#include "simt/simt.h"
#include "trees/implicit/gpu/kernels.h"
#include "trees/implicit/gpu/units.h"

#include <math.h>

/* What a warp does with its queries. */
typedef struct warp_queries {
    uint32_t first; /* of the warp in this launch */
    uint32_t mine;  /* the query that this lane reads, n or more where there is none: it then reads the last one */
    walk_bound own;
    bool sorted;
} warp_queries;

/* Reads the queries of a warp, one a lane. False: there are none for it. */
SIMT_DEVICE bool read_queries(const copse_point_arguments *a, bool digest, bool upper, warp_queries *out)
{
    if (!query_share(a->n, a->per_warp, &out->first, &out->mine)) return false;
    const uint32_t at = query_at(a->n, out->mine);
    KEY bits = COPSE_BITS(simt_load_once_u, KEY_BITS)((const KEY *)a->keys + at);
    report_nan(a->tree.key_type, bits, a->report, COPSE_REPORT_NAN, a->first + at);
    KEY q = bound_key(&a->tree, ENCODE_ONE(a->tree.key_type, bits), upper);
    out->sorted = query_sorted(a->per_warp, q);
    out->own = walk_start(&a->tree.levels, digest, q);
    return true;
}

/* --- find ------------------------------------------------------------------------------------------------------------ */

SIMT_DEVICE void find_store(const copse_point_arguments *a, uint32_t at, VALUE value, bool found)
{
    if (at >= a->n) return;
    if (a->out_values) COPSE_BITS(simt_store_once_u, VALUE_BITS)((VALUE *)a->out_values + at, value);
    if (a->out_found) simt_store_once_u8(a->out_found + at, (uint8_t)found);
}

SIMT_DEVICE void find_alone(const copse_point_arguments *a, bool digest, walk_bound bound, uint32_t at)
{
    const copse_device_tree *tree = &a->tree;
    uint32_t unit = walk_alone(tree, digest, bound);
    uint64_t place = (uint64_t)unit * UNIT_SLOTS + unit_before(tree, unit, bound.q, false);
    bool found = place < tree->entries && unit_key(tree, place) == bound.q;
    find_store(a, at, found && a->out_values ? unit_value(tree, place) : 0, found);
}

/* Which key of this lane's part of a unit equals the query, the first one if several do: 1, 2, ..., or 0. */
SIMT_DEVICE uint32_t piece_match(simt_u32x4 v, KEY q)
{
    uint32_t match = 0;
    SIMT_UNROLL
    for (uint32_t j = 0; j < PIECE_KEYS; j++)
        if (piece_key(v, j) == q && (simt_lane() & 3u) * PIECE_KEYS + j < UNIT_SLOTS && !match) match = j + 1u;
    return match;
}

/* The end of a lookup by a group that has walked to the unit and has it in registers. */
SIMT_DEVICE void find_finish(const copse_point_arguments *a, bool digest, walk_bound bound, simt_u32x4 v, uint32_t at)
{
    const uint32_t lane = simt_lane(), part = lane & 3u;
    uint32_t match = piece_match(v, bound.q);
    uint32_t hits = __ballot_sync(SIMT_FULL_MASK, match != 0) >> (lane & 28u) & 15u;
    uint32_t astray = __ballot_sync(SIMT_FULL_MASK, (digest && piece_ends_below(v, bound.q)) || bound.q == KEY_MAX);
#if KEY_BITS == VALUE_BITS
    /* Keys in the first two lanes, the values of those in the same places of the other two. */
    uint32_t theirs = simt_shfl_xor_u32(SIMT_FULL_MASK, match, 2);
    bool writes = (theirs && (part == 2u || (part == 3u && !(hits & 1u)))) || (hits == 0 && part == 2u);
    VALUE value = theirs ? piece_key(v, theirs - 1u) : 0;
#else
    bool writes = (match && (hits & ((1u << part) - 1u)) == 0) || (hits == 0 && part == 0);
    uint64_t place = (uint64_t)bound.node * UNIT_SLOTS + part * PIECE_KEYS + (match - 1u);
    VALUE value = match && a->out_values ? unit_value(&a->tree, place) : 0;
#endif
    if (astray >> (lane & 28u) & 15u) {
        if (part == 0) find_alone(a, digest, bound, at);
    } else if (writes) {
        find_store(a, at, value, hits != 0);
    }
}

SIMT_DEVICE void find(const copse_point_arguments *a, bool digest)
{
    warp_queries warp;
    if (!read_queries(a, digest, false, &warp)) return;
    if (warp.sorted) {
        find_alone(a, digest, warp.own, warp.mine);
        return;
    }
    const uint32_t lane = simt_lane(), group = lane / 4u, part = (lane & 3u) * 16u;
    const uint32_t second = a->per_warp == SIMT_WARP ? 8u : 0u; /* small batches: the same query twice */
    for (uint32_t from = 0; from < a->per_warp; from += 16u) {
        uint32_t lane_x = from + group, lane_y = lane_x + second;
        walk_bound x = walk_take(warp.own, lane_x, digest), y = walk_take(warp.own, lane_y, digest);
        walk_pair(&a->tree.levels, digest, &x, &y);
        simt_u32x4 unit_x = simt_load16_once(a->tree.unit + (uint64_t)x.node * 64u + part);
        simt_u32x4 unit_y = simt_load16_once(a->tree.unit + (uint64_t)y.node * 64u + part);
        find_finish(a, digest, x, unit_x, warp.first + lane_x);
        if (second) find_finish(a, digest, y, unit_y, warp.first + lane_y);
    }
}

SIMT_KERNEL(NAME(find_full), copse_point_arguments, COPSE_KERNEL_THREADS, 16)
{
    find(&a, false);
}

/* --- neighbours -------------------------------------------------------------------------------------------------------- */

SIMT_DEVICE void neighbour_store(const copse_point_arguments *a, uint32_t at, uint64_t place)
{
    const copse_device_tree *tree = &a->tree;
    if (at >= a->n) return;
    uint64_t entry = place - (a->which == COPSE_BEFORE ? 1u : 0u); /* in front of the first it wraps to a huge number */
    bool found = entry < tree->entries;
    if (a->out_ranks) a->out_ranks[at] = place;
    if (a->out_found) a->out_found[at] = (uint8_t)found;
    if (a->out_keys) ((KEY *)a->out_keys)[at] = found ? DECODE_ONE(tree->key_type, unit_key(tree, entry)) : 0;
    if (a->out_values) ((VALUE *)a->out_values)[at] = found ? unit_value(tree, entry) : 0;
}

SIMT_DEVICE void neighbours(const copse_point_arguments *a, bool digest)
{
    const bool upper = a->which == COPSE_AFTER;
    warp_queries warp;
    if (!read_queries(a, digest, upper, &warp)) return;
    if (warp.sorted) {
        neighbour_store(a, warp.mine, place_alone(&a->tree, digest, warp.own, upper));
        return;
    }
    const uint32_t lane = simt_lane(), group = lane / 4u, second = a->per_warp == SIMT_WARP ? 8u : 0u;
    for (uint32_t from = 0; from < a->per_warp; from += 16u) {
        uint32_t lane_x = from + group, lane_y = lane_x + second;
        walk_bound x = walk_take(warp.own, lane_x, digest), y = walk_take(warp.own, lane_y, digest);
        walk_pair(&a->tree.levels, digest, &x, &y);
        uint64_t place_x = place_of_group(&a->tree, digest, x, upper);
        uint64_t place_y = place_of_group(&a->tree, digest, y, upper);
        if ((lane & 3u) == 0) neighbour_store(a, warp.first + lane_x, place_x);
        if ((lane & 3u) == 1u && second) neighbour_store(a, warp.first + lane_y, place_y);
    }
}

SIMT_KERNEL(NAME(neighbours_full), copse_point_arguments, COPSE_KERNEL_THREADS, 12)
{
    neighbours(&a, false);
}

/* --- ranges -------------------------------------------------------------------------------------------------------------- */

typedef struct warp_ranges {
    uint32_t first, mine;
    walk_bound low, high; /* as bound_key makes them */
    bool sorted;
} warp_ranges;

SIMT_DEVICE bool read_ranges(const copse_range_arguments *a, bool digest, warp_ranges *out)
{
    const copse_device_tree *tree = &a->tree;
    if (!query_share(a->n, a->per_warp, &out->first, &out->mine)) return false;
    const uint32_t at = query_at(a->n, out->mine);
    KEY low = COPSE_BITS(simt_load_once_u, KEY_BITS)((const KEY *)a->lows + at);
    KEY high = COPSE_BITS(simt_load_once_u, KEY_BITS)((const KEY *)a->highs + at);
    report_nan(tree->key_type, low, a->report, COPSE_REPORT_NAN, a->first + at);
    report_nan(tree->key_type, high, a->report, COPSE_REPORT_NAN_HIGH, a->first + at);
    low = ENCODE_ONE(tree->key_type, low);
    high = ENCODE_ONE(tree->key_type, high);
    out->sorted = query_sorted(a->per_warp, low);
    out->low = walk_start(&tree->levels, digest, low);
    out->high = walk_start(&tree->levels, digest, bound_key(tree, high, true));
    return true;
}

/* A range has been found: entries place .. end. */
SIMT_DEVICE void count_store(const copse_range_arguments *a, uint32_t at, uint64_t place, uint64_t end)
{
    uint64_t count = end > place ? end - place : 0;
    if (a->limit && count > a->limit) count = a->limit;
    if (a->places) simt_store_once_u64(a->places + at, place);
    if (a->counts) simt_store_once_u64(a->counts + at, count);
}

SIMT_DEVICE void sum_store(const copse_range_arguments *a, uint32_t at, uint64_t place, uint64_t end)
{
    uint64_t sum = end > place ? a->before[end] - a->before[place] : 0;
    const bool is_signed = a->tree.value_type == COPSE_I32 || a->tree.value_type == COPSE_I64;
    if (a->kind == COPSE_KIND_SUM128) {
        ((uint64_t *)a->out)[(uint64_t)at * 2u] = sum;
        ((uint64_t *)a->out)[(uint64_t)at * 2u + 1u] = is_signed && sum >> 63 ? UINT64_MAX : 0;
    } else if (a->kind == COPSE_KIND_AVG) {
        double total = is_signed ? (double)(int64_t)sum : (double)sum;
        ((double *)a->out)[at] = end > place ? total / (double)(end - place) : (double)NAN;
    } else {
        ((uint64_t *)a->out)[at] = sum;
    }
}

SIMT_DEVICE void range_store(const copse_range_arguments *a, bool sums, uint32_t at, uint64_t place, uint64_t end)
{
    if (at >= a->n) return;
    if (sums)
        sum_store(a, at, place, end);
    else
        count_store(a, at, place, end);
}

SIMT_DEVICE void ranges(const copse_range_arguments *a, bool digest, bool sums)
{
    const copse_device_tree *tree = &a->tree;
    warp_ranges warp;
    if (!read_ranges(a, digest, &warp)) return;
    if (warp.sorted) {
        uint64_t place = place_alone(tree, digest, warp.low, false);
        range_store(a, sums, warp.mine, place, place_alone(tree, digest, warp.high, true));
        return;
    }
    const uint32_t lane = simt_lane(), group = lane / 4u;
    for (uint32_t from = 0; from < a->per_warp; from += 8u) {
        walk_bound low = walk_take(warp.low, from + group, digest);
        walk_bound high = walk_take(warp.high, from + group, digest);
        walk_pair(&tree->levels, digest, &low, &high);
        uint64_t place = place_of_group(tree, digest, low, false);
        uint64_t end = place_of_group(tree, digest, high, true);
        uint32_t at = warp.first + from + group;
        if ((lane & 3u) == 0) range_store(a, sums, at, place, end);
    }
}

SIMT_KERNEL(NAME(count_full), copse_range_arguments, COPSE_KERNEL_THREADS, 12)
{
    ranges(&a, false, false);
}

SIMT_KERNEL(NAME(sum_full), copse_range_arguments, COPSE_KERNEL_THREADS, 12)
{
    ranges(&a, false, true);
}

#if KEY_BITS == 64
SIMT_KERNEL(NAME(find_digest), copse_point_arguments, COPSE_KERNEL_THREADS, 16)
{
    find(&a, true);
}

SIMT_KERNEL(NAME(neighbours_digest), copse_point_arguments, COPSE_KERNEL_THREADS, 12)
{
    neighbours(&a, true);
}

SIMT_KERNEL(NAME(count_digest), copse_range_arguments, COPSE_KERNEL_THREADS, 12)
{
    ranges(&a, true, false);
}

SIMT_KERNEL(NAME(sum_digest), copse_range_arguments, COPSE_KERNEL_THREADS, 12)
{
    ranges(&a, true, true);
}
#endif

/* --- entries ------------------------------------------------------------------------------------------------------------- */

SIMT_DEVICE void copy_one(const copse_copy_arguments *a, uint64_t place, uint64_t at)
{
    if (a->keys) {
        KEY key = unit_key(&a->tree, place);
        ((KEY *)a->keys)[at] = a->encoded ? key : DECODE_ONE(a->tree.key_type, key);
    }
    if (a->values) ((VALUE *)a->values)[at] = unit_value(&a->tree, place);
}

SIMT_KERNEL(NAME(copy), copse_copy_arguments, COPSE_KERNEL_THREADS, 8)
{
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < a.count;
         i += (uint64_t)gridDim.x * blockDim.x)
        copy_one(&a, a.place + i, i);
}

/* Copies the entries of ranges, see gather.h. */
SIMT_KERNEL(NAME(gather), copse_copy_arguments, COPSE_KERNEL_THREADS, 8)
{
    const uint64_t total = a.offsets[a.n];
    const uint64_t stop = total - a.place < a.count ? total : a.place + a.count;
    if (total > a.capacity) {
        if (blockIdx.x == 0 && threadIdx.x == 0) simt_atomic_min_u64(&a.report[COPSE_REPORT_TOO_SMALL], total);
        return;
    }
    for (uint64_t tile = gather_first(a.place); tile < stop; tile += gather_step()) {
        uint64_t end = stop - tile < COPSE_GATHER_TILE ? stop : tile + COPSE_GATHER_TILE;
        uint64_t range = gather_seek(a.offsets, a.n, tile);
        for (uint64_t from = tile; from < end; from += SIMT_WARP) {
            uint64_t p = from + simt_lane() < end ? from + simt_lane() : end - 1u;
            uint64_t mine = gather_range(a.offsets, a.n, range, p);
            if (from + simt_lane() < end) copy_one(&a, a.places[mine] + (p - a.offsets[mine]), p - a.place);
            range = simt_shfl_u64(SIMT_FULL_MASK, mine, SIMT_WARP - 1u);
        }
    }
}

#endif

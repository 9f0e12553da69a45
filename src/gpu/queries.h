/* Template: how the warps of a kernel share the queries of a launch, read them and store results, for every tree. */
#pragma once

#include "gpu/kernel.h"
#include "core/reads.h"
#include "gpu/levels_walk.h"
#include "gpu/reads.h"

#include <math.h>

/* The warp takes its queries as sorted where so many of 32 are not smaller than the one before. */
#define SORTED_ENOUGH 30

/* The first query of this warp, and the one that this lane reads: n or more where there is none, and query_at then says which
 * other one it reads instead. False: the warp has none. */
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

/*
 * Upper bounds: where keys may repeat, the first key > q is the first >= q + 1; for the largest key that wraps to 0, and the
 * bound is the end. Where they do not, it is the first >= q, or the one behind that if it is q itself.
 */
SIMT_DEVICE KEY bound_key(const uint32_t *unique, KEY q, bool upper)
{
    return (KEY)(q + (KEY)(upper && !*unique));
}

/* --- points -------------------------------------------------------------------------------------------------------------- */

/* What a warp does with its queries. */
typedef struct warp_queries {
    uint32_t first; /* of the warp in this launch */
    uint32_t mine;  /* the query that this lane reads, n or more where there is none: it then reads the last one */
    walk_bound own;
    bool sorted;
} warp_queries;

/* Reads the queries of a warp, one a lane. False: there are none for it. */
SIMT_DEVICE bool read_queries(const copse_point_queries *a, const copse_type *key_type,
                              const copse_device_levels *levels, const uint32_t *unique, bool digest, bool upper,
                              warp_queries *out)
{
    if (!query_share(a->n, a->per_warp, &out->first, &out->mine)) return false;
    const uint32_t at = query_at(a->n, out->mine);
    KEY bits = COPSE_BITS(simt_load_once_u, KEY_BITS)((const KEY *)a->keys + at);
    report_nan(*key_type, bits, a->report, COPSE_REPORT_NAN, a->first + at);
    KEY q = bound_key(unique, ENCODE_ONE(*key_type, bits), upper);
    out->sorted = query_sorted(a->per_warp, q);
    out->own = walk_start(levels, digest, q);
    return true;
}

SIMT_DEVICE void find_store(const copse_point_queries *a, uint32_t at, VALUE value, bool found)
{
    if (at >= a->n) return;
    if (a->out_values) COPSE_BITS(simt_store_once_u, VALUE_BITS)((VALUE *)a->out_values + at, value);
    if (a->out_found) simt_store_once_u8(a->out_found + at, (uint8_t)found);
}

/* --- ranges -------------------------------------------------------------------------------------------------------------- */

typedef struct warp_ranges {
    uint32_t first, mine;
    walk_bound low, high; /* as bound_key makes them */
    bool sorted;
} warp_ranges;

/* Reads the ranges of a warp, one a lane. False: there are none for it. */
SIMT_DEVICE bool read_ranges(const copse_range_queries *a, const copse_type *key_type,
                             const copse_device_levels *levels, const uint32_t *unique, bool digest, warp_ranges *out)
{
    if (!query_share(a->n, a->per_warp, &out->first, &out->mine)) return false;
    const uint32_t at = query_at(a->n, out->mine);
    KEY low = COPSE_BITS(simt_load_once_u, KEY_BITS)((const KEY *)a->lows + at);
    KEY high = COPSE_BITS(simt_load_once_u, KEY_BITS)((const KEY *)a->highs + at);
    report_nan(*key_type, low, a->report, COPSE_REPORT_NAN, a->first + at);
    report_nan(*key_type, high, a->report, COPSE_REPORT_NAN_HIGH, a->first + at);
    low = ENCODE_ONE(*key_type, low);
    high = ENCODE_ONE(*key_type, high);
    out->sorted = query_sorted(a->per_warp, low);
    out->low = walk_start(levels, digest, low);
    out->high = walk_start(levels, digest, bound_key(unique, high, true));
    return true;
}

/* Stores a sum that running sums gave, as the call wants it. For means, `any` says whether the range has entries, and count how many. */
SIMT_DEVICE void sum_store(const copse_range_queries *a, const copse_type *value_type, uint32_t at, uint64_t sum,
                           bool any, uint64_t count)
{
    const bool is_signed = *value_type == COPSE_I32 || *value_type == COPSE_I64;
    if (a->kind == COPSE_KIND_SUM128) {
        ((uint64_t *)a->out)[(uint64_t)at * 2u] = sum;
        ((uint64_t *)a->out)[(uint64_t)at * 2u + 1u] = is_signed && sum >> 63 ? UINT64_MAX : 0;
    } else if (a->kind == COPSE_KIND_AVG) {
        const double total = is_signed ? (double)(int64_t)sum : (double)sum;
        ((double *)a->out)[at] = any ? total / (double)count : (double)NAN;
    } else {
        ((uint64_t *)a->out)[at] = sum;
    }
}

/* Template: aggregates in pieces that shuffles can carry, the summary of them (core/aggregate.h), and how results are stored. */
#pragma once

#include "core/aggregate.h"
#include "gpu/kernel.h"
#include "core/reads.h"
#include "gpu/reads.h"

#include <math.h>
#include <string.h>

/* An aggregate in pieces that shuffles can carry. */
typedef struct partial {
    uint64_t low, high; /* of the 128-bit sum */
    double real;
    uint64_t smallest, largest;
} partial;

SIMT_DEVICE partial partial_empty(void)
{
    partial empty;
    empty.low = empty.high = empty.largest = 0;
    empty.real = 0.0;
    empty.smallest = UINT64_MAX;
    return empty;
}

SIMT_DEVICE void partial_add(partial *to, partial from)
{
    uint64_t low = to->low + from.low;
    to->high += from.high + (uint64_t)(low < to->low);
    to->low = low;
    to->real += from.real;
    to->smallest = from.smallest < to->smallest ? from.smallest : to->smallest;
    to->largest = from.largest > to->largest ? from.largest : to->largest;
}

SIMT_DEVICE double value_real(VALUE value)
{
#if VALUE_BITS == 64
    double number;
#else
    float number;
#endif
    memcpy(&number, &value, sizeof number);
    return (double)number;
}

/* A value as a 64-bit number, sign extended where it has a sign. */
SIMT_DEVICE uint64_t value_wide(copse_type type, VALUE value)
{
    return type == COPSE_I32 ? (uint64_t)(int64_t)(int32_t)value : (uint64_t)value;
}

SIMT_DEVICE partial partial_of(copse_type type, VALUE value)
{
    partial one = partial_empty();
    const bool is_float = type == COPSE_F32 || type == COPSE_F64;
    const bool is_signed = type == COPSE_I32 || type == COPSE_I64;
    if (is_float) {
        one.real = value_real(value);
        if (one.real != one.real) return one; /* NaN: in the sum, but neither smallest nor largest */
    } else {
        one.low = value_wide(type, value);
        one.high = is_signed && one.low >> 63 ? UINT64_MAX : 0;
    }
    one.smallest = one.largest = COPSE_BITS(copse_encode_one_k, VALUE_BITS)(type, value);
    return one;
}

SIMT_DEVICE partial partial_load(const copse_aggregate *from)
{
    partial one;
    one.low = (uint64_t)from->sum;
    one.high = (uint64_t)(from->sum >> 64);
    one.real = from->float_sum;
    one.smallest = from->smallest;
    one.largest = from->largest;
    return one;
}

SIMT_DEVICE void partial_store(copse_aggregate *to, partial from)
{
    to->sum = (copse_wide)(int64_t)from.high * ((copse_wide)1 << 64) + (copse_wide)from.low;
    to->float_sum = from.real;
    to->smallest = from.smallest;
    to->largest = from.largest;
}

SIMT_DEVICE partial partial_of_warp(partial own)
{
    for (uint32_t step = 16; step > 0; step /= 2) {
        partial other;
        uint64_t bits;
        memcpy(&bits, &own.real, sizeof bits);
        bits = simt_shfl_xor_u64(SIMT_FULL_MASK, bits, step);
        memcpy(&other.real, &bits, sizeof bits);
        other.low = simt_shfl_xor_u64(SIMT_FULL_MASK, own.low, step);
        other.high = simt_shfl_xor_u64(SIMT_FULL_MASK, own.high, step);
        other.smallest = simt_shfl_xor_u64(SIMT_FULL_MASK, own.smallest, step);
        other.largest = simt_shfl_xor_u64(SIMT_FULL_MASK, own.largest, step);
        partial_add(&own, other);
    }
    return own;
}

/* What node i of a level should hold. */
SIMT_DEVICE partial partial_of_children(const copse_device_summary *summary, uint32_t level, uint64_t i)
{
    const uint64_t below = summary->nodes[level - 1u];
    partial all = partial_empty();
    for (uint64_t j = i * 16u; j < i * 16u + 16u && j < below; j++)
        partial_add(&all, partial_load(&summary->level[level - 1u][j]));
    return all;
}

/* Adds items first .. end of the summary: what stands out on both sides level by level, then the middle one level up. */
SIMT_DEVICE void partial_climb(const copse_device_summary *summary, uint64_t first, uint64_t end, partial *to)
{
    for (uint32_t level = 0; first < end; level++) {
        const bool top = level + 1u == summary->height;
        uint64_t left = (first + 15u) / 16u * 16u, right = end / 16u * 16u;
        if (top || left > right) left = right = end; /* all of it here */
        for (uint64_t i = first + simt_lane(); i < left; i += SIMT_WARP)
            partial_add(to, partial_load(&summary->level[level][i]));
        for (uint64_t i = right + simt_lane(); i < end; i += SIMT_WARP)
            partial_add(to, partial_load(&summary->level[level][i]));
        first = left / 16u;
        end = right / 16u;
        if (left >= right) return;
    }
}

/* Stores an integer sum as copse_sum promises: exact, or the nearest limit and a report. */
SIMT_DEVICE void sum_fit(const copse_result_arguments *a, uint64_t at, partial all)
{
    const bool is_signed = a->value_type == COPSE_I32 || a->value_type == COPSE_I64;
    const uint64_t sign = (uint64_t)1 << 63;
    bool fits = is_signed ? all.high == (all.low & sign ? UINT64_MAX : 0) : all.high == 0;
    uint64_t limit = !is_signed ? UINT64_MAX : all.high & sign ? sign : sign - 1u;
    if (!fits) simt_atomic_min_u64(&a->report[COPSE_REPORT_OVERFLOW], a->first + at);
    ((uint64_t *)a->out)[at] = fits ? all.low : limit;
}

SIMT_DEVICE double wide_real(partial all)
{
    return (double)((copse_wide)(int64_t)all.high * ((copse_wide)1 << 64) + (copse_wide)all.low);
}

SIMT_DEVICE void aggregate_store(const copse_result_arguments *a, uint64_t at, partial all, uint64_t count)
{
    const copse_type type = a->value_type;
    const bool is_float = type == COPSE_F32 || type == COPSE_F64, any = all.smallest <= all.largest;
    if (a->kind == COPSE_KIND_SUM && is_float) {
        ((double *)a->out)[at] = all.real;
    } else if (a->kind == COPSE_KIND_SUM) {
        sum_fit(a, at, all);
    } else if (a->kind == COPSE_KIND_SUM128) {
        ((uint64_t *)a->out)[at * 2u] = all.low;
        ((uint64_t *)a->out)[at * 2u + 1u] = all.high;
    } else if (a->kind == COPSE_KIND_AVG) {
        double sum = is_float ? all.real : wide_real(all);
        ((double *)a->out)[at] = count ? sum / (double)count : (double)NAN;
    } else {
        uint64_t code = a->kind == COPSE_KIND_MIN ? all.smallest : all.largest;
        if (a->found) a->found[at] = (uint8_t)any;
        ((VALUE *)a->out)[at] = any ? COPSE_BITS(copse_decode_one_k, VALUE_BITS)(type, (VALUE)code) : 0;
    }
}

/* The float sums are left out: their rounding depends on the order of the additions. */
SIMT_DEVICE bool partial_same(partial x, partial y)
{
    return x.low == y.low && x.high == y.high && x.smallest == y.smallest && x.largest == y.largest;
}

/* trouble[3]: a node of a summary that does not agree with those below it. */
SIMT_DEVICE void summary_check(const copse_device_summary *summary, copse_device_survey *survey)
{
    for (uint32_t level = 1; level < summary->height; level++)
        for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < summary->nodes[level];
             i += (uint64_t)gridDim.x * blockDim.x) {
            partial all = partial_of_children(summary, level, i);
            if (!partial_same(all, partial_load(&summary->level[level][i])))
                simt_atomic_min_u64(&survey->trouble[3], i);
        }
}

/*
 * Passes over values on the host, for one pair of widths: loops over entries in a row. Those over sums have accumulators that do not
 * wait for each other, so that the processor's wide instructions can be used.
 */
#include "core/pass.h"
#include "core/pass_value.h"

#include <string.h>

#define ACCUMULATORS 8u

/* --- maps --------------------------------------------------------------------------------------------------------------- */

static void map_values(const copse_pass *pass, const void *values, uint64_t n, void *to)
{
    const copse_type type = pass->value_type;
    const VALUE *from = values, a = (VALUE)pass->a, b = (VALUE)pass->b;
    VALUE *out = to;
    if (pass->map == COPSE_VISIT_ADD)
        for (uint64_t i = 0; i < n; i++) out[i] = copse_value_add(type, from[i], a);
    else if (pass->map == COPSE_VISIT_MULTIPLY)
        for (uint64_t i = 0; i < n; i++) out[i] = pass_multiply(type, from[i], a);
    else
        for (uint64_t i = 0; i < n; i++) out[i] = pass_bound(type, pass->map, from[i], a, b);
}

/* --- reductions ----------------------------------------------------------------------------------------------------------- */

/* Integers, moved up so that none is negative, in two halves of 32 bits, whose sums 64 bits hold for 2^32 values. */
static copse_wide sum_integers(copse_type type, const VALUE *values, uint64_t n)
{
    const bool is_signed = type == COPSE_I32 || type == COPSE_I64;
    const VALUE up = is_signed ? (VALUE)((VALUE)1 << (VALUE_BITS - 1)) : 0;
    uint64_t low = 0, high = 0;
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t value = values[i] ^ up;
        low += (uint32_t)value;
#if VALUE_BITS == 64
        high += value >> 32;
#endif
    }
    return (copse_wide)low + ((copse_wide)high << 32) - (copse_wide)up * (copse_wide)n;
}

static double sum_reals(copse_type type, const VALUE *values, uint64_t n)
{
    double part[ACCUMULATORS] = {0};
    uint64_t i = 0;
    for (; i + ACCUMULATORS <= n; i += ACCUMULATORS)
        for (uint64_t j = 0; j < ACCUMULATORS; j++) part[j] += pass_real(type, values[i + j]);
    for (; i < n; i++) part[0] += pass_real(type, values[i]);
    for (uint64_t j = 1; j < ACCUMULATORS; j++) part[0] += part[j];
    return part[0];
}

static double sum_squares(copse_type type, const VALUE *values, uint64_t n, double mean)
{
    double part[ACCUMULATORS] = {0};
    uint64_t i = 0;
    for (; i + ACCUMULATORS <= n; i += ACCUMULATORS)
        for (uint64_t j = 0; j < ACCUMULATORS; j++) {
            const double away = pass_real(type, values[i + j]) - mean;
            part[j] += away * away;
        }
    for (; i < n; i++) {
        const double away = pass_real(type, values[i]) - mean;
        part[0] += away * away;
    }
    for (uint64_t j = 1; j < ACCUMULATORS; j++) part[0] += part[j];
    return part[0];
}

static void extremes(copse_type type, const VALUE *values, uint64_t n, copse_aggregate *to)
{
    VALUE smallest = (VALUE) ~(VALUE)0, largest = 0;
    bool any = false;
    for (uint64_t i = 0; i < n; i++) {
        if (pass_is_nan(type, values[i])) continue;
        const VALUE code = pass_code(type, values[i]);
        smallest = code < smallest ? code : smallest;
        largest = code > largest ? code : largest;
        any = true;
    }
    if (any && smallest < to->smallest) to->smallest = smallest;
    if (any && largest > to->largest) to->largest = largest;
}

static void reduce(const copse_pass *pass, const void *values, uint64_t n, copse_pass_sums *to)
{
    const copse_type type = pass->value_type;
    const bool is_float = copse_type_is_float(type);
    to->count += n;
    if (pass->look & COPSE_LOOK_SUM && !is_float) to->all.sum += sum_integers(type, values, n);
    if (pass->look & COPSE_LOOK_SUM && is_float) to->all.float_sum += sum_reals(type, values, n);
    if (pass->look & COPSE_LOOK_SQUARES) to->squares += sum_squares(type, values, n, pass->mean);
    if (pass->look & COPSE_LOOK_EXTREMES) extremes(type, values, n, &to->all);
}

/* --- histograms ----------------------------------------------------------------------------------------------------------- */

static void histogram(const copse_pass *pass, const void *values, uint64_t n, uint64_t *counts, bool shared)
{
    const VALUE *from = values;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t *count = counts + pass_bin_uint64_t(pass->value_type, pass->edges, pass->bins, pass->even, from[i]);
        if (shared)
            __atomic_fetch_add(count, 1, __ATOMIC_RELAXED);
        else
            ++*count;
    }
}

/* --- filters -------------------------------------------------------------------------------------------------------------- */

static uint64_t filter(const copse_pass *pass, const void *keys, const void *values, uint64_t n, uint64_t most,
                       void *to_keys, void *to_values)
{
    const VALUE *from = values, least = (VALUE)pass->least, greatest = (VALUE)pass->greatest;
    const KEY *from_keys = keys;
    uint64_t fit = 0;
    for (uint64_t i = 0; i < n; i++) {
        if (!pass_fits(pass->value_type, from[i], least, greatest)) continue;
        if (fit < most && to_keys) ((KEY *)to_keys)[fit] = from_keys[i];
        if (fit < most && to_values) ((VALUE *)to_values)[fit] = from[i];
        fit++;
    }
    return fit;
}

const copse_pass_loops NAME(copse_pass_loops) = {map_values, reduce, histogram, filter};

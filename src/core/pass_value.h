/* Template: what a pass does to one value of the object's width, the same on the CPU and in kernels. */
#pragma once

#include "core/codec.h"
#include "core/pass.h"
#include "core/value_add.h"

COPSE_ANYWHERE VALUE pass_code(copse_type type, VALUE value)
{
    return COPSE_BITS(copse_encode_one_k, VALUE_BITS)(type, value);
}

COPSE_ANYWHERE bool pass_is_nan(copse_type type, VALUE value)
{
    return COPSE_BITS(copse_is_nan_k, VALUE_BITS)(type, value) != 0;
}

COPSE_ANYWHERE double pass_real(copse_type type, VALUE value)
{
#if VALUE_BITS == 64
    double number;
    if (type == COPSE_U64) return (double)value;
    if (type == COPSE_I64) return (double)(int64_t)value;
#else
    float number;
    if (type == COPSE_U32) return (double)value;
    if (type == COPSE_I32) return (double)(int32_t)value;
#endif
    memcpy(&number, &value, sizeof number);
    return (double)number;
}

COPSE_ANYWHERE VALUE pass_multiply(copse_type type, VALUE a, VALUE b)
{
#if VALUE_BITS == 64
    const VALUE nan = UINT64_C(0x7ff8000000000000);
    double x, y;
    if (type != COPSE_F64) return a * b;
#else
    const VALUE nan = 0x7fc00000u;
    float x, y;
    if (type != COPSE_F32) return a * b;
#endif
    memcpy(&x, &a, sizeof x);
    memcpy(&y, &b, sizeof y);
    x *= y;
    memcpy(&a, &x, sizeof a);
    return x != x ? nan : a;
}

/* MIN has no lower bound, MAX no upper one. */
COPSE_ANYWHERE VALUE pass_bound(copse_type type, uint32_t map, VALUE value, VALUE low, VALUE high)
{
    const VALUE code = pass_code(type, value);
    if (pass_is_nan(type, value)) return value;
    if (map != COPSE_VISIT_MAX && code > pass_code(type, high)) return high;
    return map != COPSE_VISIT_MIN && code < pass_code(type, low) ? low : value;
}

COPSE_ANYWHERE VALUE pass_map(copse_type type, uint32_t map, VALUE value, VALUE a, VALUE b)
{
    if (map == COPSE_VISIT_ADD) return copse_value_add(type, value, a);
    if (map == COPSE_VISIT_MULTIPLY) return pass_multiply(type, value, a);
    return pass_bound(type, map, value, a, b);
}

/* The bin of a value, where n bins have edges in codes; `even` as in copse_pass. Bins lie behind each other: those outside come last. */
#define PASS_BIN(EDGE)                                                                                                 \
    COPSE_ANYWHERE uint32_t pass_bin_##EDGE(copse_type type, const EDGE *edges, uint32_t n, uint32_t even,             \
                                            VALUE value)                                                               \
    {                                                                                                                  \
        const EDGE code = pass_code(type, value);                                                                      \
        uint32_t at = 0, left = n + 1u;                                                                                \
        if (pass_is_nan(type, value)) return n + COPSE_BIN_NAN;                                                        \
        if (code < edges[0]) return n + COPSE_BIN_BELOW;                                                               \
        if (code >= edges[n]) return code == edges[n] ? n - 1u : n + COPSE_BIN_ABOVE;                                  \
        if (even) return (uint32_t)((code - edges[0]) >> (even - 1u));                                                 \
        while (left > 1u) { /* halves without a branch: edges up to the code */                                        \
            const uint32_t half = left / 2u;                                                                           \
            at += edges[at + half - 1u] <= code ? half : 0u;                                                           \
            left -= half;                                                                                              \
        }                                                                                                              \
        return at + (uint32_t)(edges[at] <= code) - 1u;                                                                \
    }
PASS_BIN(uint64_t)
#if VALUE_BITS == 32
PASS_BIN(uint32_t)
#endif

COPSE_ANYWHERE bool pass_fits(copse_type type, VALUE value, VALUE least, VALUE greatest)
{
    const VALUE code = pass_code(type, value);
    return code >= least && code <= greatest && !pass_is_nan(type, value);
}

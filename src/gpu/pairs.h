/* Template: pairs on their way into a tree, one at a time, and sums over a warp. */
#pragma once

#include "gpu/kernel.h"

#include <string.h>

/* A position in the caller's arrays as a number of the value type; in a set always 0. */
SIMT_DEVICE VALUE position_value(copse_type type, uint64_t position)
{
    VALUE value = type == COPSE_NONE ? 0 : (VALUE)position;
#if VALUE_BITS == 64
    double number = (double)position;
    if (type == COPSE_F64) memcpy(&value, &number, sizeof value);
#else
    float number = (float)position;
    if (type == COPSE_F32) memcpy(&value, &number, sizeof value);
#endif
    return value;
}

/* The value of pair i: the caller's, or its position. */
SIMT_DEVICE VALUE pair_value(const copse_pairs_arguments *a, uint64_t i)
{
    return a->values ? ((const VALUE *)a->values)[i] : position_value(a->value_type, a->first + i);
}

SIMT_DEVICE KEY pair_key(const copse_pairs_arguments *a, uint64_t i)
{
    return ENCODE_ONE(a->key_type, ((const KEY *)a->keys)[i]);
}

SIMT_DEVICE uint64_t warp_min(uint64_t value)
{
    for (uint32_t step = 16; step > 0; step /= 2) {
        uint64_t other = simt_shfl_xor_u64(SIMT_FULL_MASK, value, step);
        value = other < value ? other : value;
    }
    return value;
}

SIMT_DEVICE uint64_t warp_max(uint64_t value)
{
    return ~warp_min(~value);
}

SIMT_DEVICE uint64_t warp_sum(uint64_t value)
{
    for (uint32_t step = 16; step > 0; step /= 2) value += simt_shfl_xor_u64(SIMT_FULL_MASK, value, step);
    return value;
}

/*
 * Open and missing ends of ranges of fixed-width keys. Between two keys that are neighbours in the order of the codes
 * (core/codec.h) there is no other key, so that every range has the same entries as a closed one:
 *
 *     (low, high)     low's next key .. high's key before         (low, no end)     low's next key .. the largest key
 *
 * and where the end has no such neighbour, the range is empty: it becomes largest .. smallest. Trees thus see closed ranges only.
 */
#pragma once

#include "core/codec.h"

#include <stdbool.h>

/* The bits of a key, in the low half where it has 32, and its code. */
COPSE_ANYWHERE uint64_t copse_key_code(copse_type type, uint64_t bits)
{
    const bool four_bytes = type == COPSE_U32 || type == COPSE_I32 || type == COPSE_F32 || type == COPSE_DATE;
    return four_bytes ? copse_encode_one_k32(type, (uint32_t)bits) : copse_encode_one_k64(type, bits);
}

COPSE_ANYWHERE uint64_t copse_key_bits(copse_type type, uint64_t code)
{
    const bool four_bytes = type == COPSE_U32 || type == COPSE_I32 || type == COPSE_F32 || type == COPSE_DATE;
    return four_bytes ? copse_decode_one_k32(type, (uint32_t)code) : copse_decode_one_k64(type, code);
}

COPSE_ANYWHERE uint64_t copse_smallest_code(copse_type type)
{
    if (type == COPSE_F32) return copse_encode_f32(0xff800000u); /* -infinity */
    return type == COPSE_F64 ? copse_encode_f64(UINT64_C(0xfff0000000000000)) : 0;
}

COPSE_ANYWHERE uint64_t copse_largest_code(copse_type type)
{
    if (type == COPSE_F32) return copse_encode_f32(0x7f800000u);
    if (type == COPSE_F64) return copse_encode_f64(UINT64_C(0x7ff0000000000000));
    return type == COPSE_U32 || type == COPSE_I32 || type == COPSE_DATE ? UINT32_MAX : UINT64_MAX;
}

COPSE_ANYWHERE bool copse_bits_are_nan(copse_type type, uint64_t bits)
{
    return type == COPSE_F32 ? copse_is_nan32((uint32_t)bits) : type == COPSE_F64 && copse_is_nan64(bits);
}

/* Closes one range: *low and *high are the bits of its ends, has_* says which of them it has; flags are COPSE_RANGE_*. A NaN stays,
 * so that whoever reads the range next finds and names it. */
COPSE_ANYWHERE void copse_close_range(copse_type type, uint32_t flags, bool has_low, bool has_high, uint64_t *low,
                                      uint64_t *high)
{
    if ((has_low && copse_bits_are_nan(type, *low)) || (has_high && copse_bits_are_nan(type, *high))) {
        if (!has_low) *low = copse_key_bits(type, copse_smallest_code(type));
        if (!has_high) *high = copse_key_bits(type, copse_largest_code(type));
        return;
    }
    const uint64_t smallest = copse_smallest_code(type), largest = copse_largest_code(type);
    uint64_t from = has_low ? copse_key_code(type, *low) : smallest;
    uint64_t to = has_high ? copse_key_code(type, *high) : largest;
    const bool above = has_low && (flags & COPSE_RANGE_LOW_OPEN), below = has_high && (flags & COPSE_RANGE_HIGH_OPEN);
    const bool empty = (above && from == largest) || (below && to == smallest);
    from = empty ? largest : from + (above ? 1u : 0u);
    /* No key has the code in front of 0.0: it stands for -0.0, which would become 0.0 again. */
    const bool zero = (type == COPSE_F32 || type == COPSE_F64) && to == copse_key_code(type, 0);
    to = empty ? smallest : to - (below ? zero ? 2u : 1u : 0u);
    *low = copse_key_bits(type, from);
    *high = copse_key_bits(type, to);
}

/*
 * Key codecs: every fixed-width key type maps to an unsigned integer of 32 or 64 bits that sorts the same, so that the
 * trees only ever see u32 and u64.
 *
 *   u32 u64                     as they are
 *   i32 i64 date timestamp      sign bit flipped: the most negative becomes 0
 *   f32 f64                     negative: all bits flipped; else: sign bit set. -0.0 becomes 0.0 first. NaN is refused.
 *
 * The functions work on a few keys at a time and are inlined into the loop that reads the caller's array: encoding is
 * never a pass of its own.
 */
#pragma once

#include "copse.h"
#include "core/anywhere.h"

#include <string.h>

COPSE_ANYWHERE uint32_t copse_encode_f32(uint32_t bits)
{
    if (bits == 0x80000000u) bits = 0; /* -0.0 */
    return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

COPSE_ANYWHERE uint64_t copse_encode_f64(uint64_t bits)
{
    const uint64_t sign = UINT64_C(1) << 63;
    if (bits == sign) bits = 0; /* -0.0 */
    return bits & sign ? ~bits : bits | sign;
}

COPSE_ANYWHERE int copse_is_nan32(uint32_t bits)
{
    return (bits & 0x7fffffffu) > 0x7f800000u;
}

COPSE_ANYWHERE int copse_is_nan64(uint64_t bits)
{
    return (bits & ~(UINT64_C(1) << 63)) > UINT64_C(0x7ff0000000000000);
}

/* One key at a time: its bits to the code, and the code back to the bits. */
COPSE_ANYWHERE uint32_t copse_encode_one_k32(copse_type type, uint32_t bits)
{
    if (type == COPSE_U32) return bits;
    return type == COPSE_F32 ? copse_encode_f32(bits) : bits ^ 0x80000000u;
}

COPSE_ANYWHERE uint64_t copse_encode_one_k64(copse_type type, uint64_t bits)
{
    if (type == COPSE_U64) return bits;
    return type == COPSE_F64 ? copse_encode_f64(bits) : bits ^ (UINT64_C(1) << 63);
}

COPSE_ANYWHERE uint32_t copse_decode_one_k32(copse_type type, uint32_t key)
{
    if (type == COPSE_F32) return key & 0x80000000u ? key ^ 0x80000000u : ~key;
    return type == COPSE_U32 ? key : key ^ 0x80000000u;
}

COPSE_ANYWHERE uint64_t copse_decode_one_k64(copse_type type, uint64_t key)
{
    const uint64_t sign = UINT64_C(1) << 63;
    if (type == COPSE_F64) return key & sign ? key ^ sign : ~key;
    return type == COPSE_U64 ? key : key ^ sign;
}

COPSE_ANYWHERE int copse_is_nan_k32(copse_type type, uint32_t bits)
{
    return type == COPSE_F32 && copse_is_nan32(bits);
}

COPSE_ANYWHERE int copse_is_nan_k64(copse_type type, uint64_t bits)
{
    return type == COPSE_F64 && copse_is_nan64(bits);
}

/* Encodes keys[first .. first + n) into out. Returns n, or the index (below n) of the first NaN. */
static inline uint32_t copse_encode_k32(copse_type type, const void *keys, uint64_t first, uint32_t n, uint32_t *out)
{
    const uint32_t *in = (const uint32_t *)keys + first;
    if (type == COPSE_U32) {
        memcpy(out, in, n * sizeof *out);
    } else if (type == COPSE_F32) {
        uint32_t bad = 0;
        for (uint32_t i = 0; i < n; i++) {
            bad |= (uint32_t)copse_is_nan32(in[i]);
            out[i] = copse_encode_f32(in[i]);
        }
        if (bad)
            for (uint32_t i = 0; i < n; i++)
                if (copse_is_nan32(in[i])) return i;
    } else {
        for (uint32_t i = 0; i < n; i++) out[i] = in[i] ^ 0x80000000u;
    }
    return n;
}

static inline uint32_t copse_encode_k64(copse_type type, const void *keys, uint64_t first, uint32_t n, uint64_t *out)
{
    const uint64_t *in = (const uint64_t *)keys + first;
    if (type == COPSE_U64) {
        memcpy(out, in, n * sizeof *out);
    } else if (type == COPSE_F64) {
        uint32_t bad = 0;
        for (uint32_t i = 0; i < n; i++) {
            bad |= (uint32_t)copse_is_nan64(in[i]);
            out[i] = copse_encode_f64(in[i]);
        }
        if (bad)
            for (uint32_t i = 0; i < n; i++)
                if (copse_is_nan64(in[i])) return i;
    } else {
        for (uint32_t i = 0; i < n; i++) out[i] = in[i] ^ (UINT64_C(1) << 63);
    }
    return n;
}

/* The way back, one key at a time, into out[at]. */
static inline void copse_decode_k32(copse_type type, uint32_t key, void *out, uint64_t at)
{
    ((uint32_t *)out)[at] = copse_decode_one_k32(type, key);
}

static inline void copse_decode_k64(copse_type type, uint64_t key, void *out, uint64_t at)
{
    ((uint64_t *)out)[at] = copse_decode_one_k64(type, key);
}

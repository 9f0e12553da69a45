/* Node search with AVX-512: one compare for the whole line. */
#pragma once

#include <immintrin.h>
#include <stdint.h>

/* Keys before position `keys` of a line that are less than q. The mask keeps bytes behind them from being read. */
static inline uint32_t count_less_u32(const void *line, uint32_t q, uint32_t keys)
{
    __mmask16 used = (__mmask16)((1u << keys) - 1);
    __m512i node = keys == 16 ? _mm512_loadu_si512(line) : _mm512_maskz_loadu_epi32(used, line);
    return (uint32_t)__builtin_popcount(_mm512_mask_cmplt_epu32_mask(used, node, _mm512_set1_epi32((int)q)));
}

static inline uint32_t count_less_u64(const void *line, uint64_t q, uint32_t keys)
{
    __mmask8 used = (__mmask8)((1u << keys) - 1);
    __m512i node = keys == 8 ? _mm512_loadu_si512(line) : _mm512_maskz_loadu_epi64(used, line);
    return (uint32_t)__builtin_popcount(_mm512_mask_cmplt_epu64_mask(used, node, _mm512_set1_epi64((long long)q)));
}

/* Node search with AVX2: two halves of 32 bytes. AVX2 compares signed only, so both sides get their sign bit flipped. */
#pragma once

#include <immintrin.h>
#include <stdint.h>

/* Keys before position `keys` of a line that are less than q. The whole line is read and compared. */
static inline uint32_t count_less_u32(const void *line, uint32_t q, uint32_t keys)
{
    const __m256i sign = _mm256_set1_epi32((int)0x80000000u);
    const __m256i *half = (const __m256i *)line;
    __m256i needle = _mm256_set1_epi32((int)(q ^ 0x80000000u));
    __m256i a = _mm256_cmpgt_epi32(needle, _mm256_xor_si256(_mm256_loadu_si256(half), sign));
    uint32_t mask = (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(a));
    if (keys > 8) {
        __m256i b = _mm256_cmpgt_epi32(needle, _mm256_xor_si256(_mm256_loadu_si256(half + 1), sign));
        mask |= (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(b)) << 8;
    }
    return (uint32_t)__builtin_popcount(mask & ((1u << keys) - 1));
}

static inline uint32_t count_less_u64(const void *line, uint64_t q, uint32_t keys)
{
    const __m256i sign = _mm256_set1_epi64x((long long)(UINT64_C(1) << 63));
    const __m256i *half = (const __m256i *)line;
    __m256i needle = _mm256_set1_epi64x((long long)(q ^ (UINT64_C(1) << 63)));
    __m256i a = _mm256_cmpgt_epi64(needle, _mm256_xor_si256(_mm256_loadu_si256(half), sign));
    uint32_t mask = (uint32_t)_mm256_movemask_pd(_mm256_castsi256_pd(a));
    if (keys > 4) {
        __m256i b = _mm256_cmpgt_epi64(needle, _mm256_xor_si256(_mm256_loadu_si256(half + 1), sign));
        mask |= (uint32_t)_mm256_movemask_pd(_mm256_castsi256_pd(b)) << 4;
    }
    return (uint32_t)__builtin_popcount(mask & ((1u << keys) - 1));
}

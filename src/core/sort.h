/*
 * A stable radix sort of pairs, most significant digit first.
 *
 * The keys' own span decides which bits are looked at, so a million timestamps of one week need no more passes than a
 * million random numbers. One parallel pass cuts the input into buckets that fit a core's cache; each bucket is then
 * cut again, in cache, into runs of a few pairs, which insertion finishes. Stable throughout: the caller's array order
 * among equal keys is what decides which of them wins.
 *
 * CUB does this on the card; on the CPU no C library offers a stable, parallel sort of pairs at this speed
 * (docs/DEPENDENCIES.md).
 */
#pragma once

#include "core/batch_pair.h"

#include <string.h>

/* Runs up to this length go to insertion sort. */
#define SORT_SMALL 24u
/* Most bits of one in-cache digit: 1024 counters of 4 bytes stay in the first-level cache. */
#define SORT_DIGIT_BITS 10u

static void sort_insertion(const copse_pair *from, copse_pair *to, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        copse_pair pair = from[i];
        uint32_t at = i;
        for (; at > 0 && to[at - 1].key > pair.key; at--) to[at] = to[at - 1];
        to[at] = pair;
    }
}

static inline unsigned sort_bit_length(KEY x)
{
    return x ? 64u - (unsigned)__builtin_clzll((unsigned long long)x) : 0u;
}

/* Sorts n pairs that lie in `from`; they end up in `from` or in `other`, as asked. `other` is as large. */
static void sort_bucket(copse_pair *from, copse_pair *other, uint64_t n, bool end_in_other)
{
    if (n <= SORT_SMALL) {
        sort_insertion(from, end_in_other ? other : from, (uint32_t)n);
        return;
    }
    KEY low = from[0].key, high = from[0].key;
    for (uint64_t i = 1; i < n; i++) {
        KEY key = from[i].key;
        low = key < low ? key : low;
        high = key > high ? key : high;
    }
    if (low == high) {
        if (end_in_other) memcpy(other, from, n * sizeof *from);
        return;
    }
    unsigned span_bits = sort_bit_length((KEY)(high - low));
    unsigned size_bits = sort_bit_length((KEY)(n > 0xffffffu ? 0xffffffu : n)) - 3;
    unsigned bits = size_bits < SORT_DIGIT_BITS ? size_bits : SORT_DIGIT_BITS;
    if (bits > span_bits) bits = span_bits;
    unsigned shift = span_bits - bits;
    uint64_t start[(1u << SORT_DIGIT_BITS) + 1];
    unsigned digits = 1u << bits;
    memset(start, 0, (digits + 1) * sizeof *start);
    for (uint64_t i = 0; i < n; i++) start[((KEY)(from[i].key - low) >> shift) + 1]++;
    for (unsigned d = 0; d < digits; d++) start[d + 1] += start[d];
    for (uint64_t i = 0; i < n; i++) other[start[(KEY)(from[i].key - low) >> shift]++] = from[i];
    /* start[d] now is where bucket d ends. A digit that used all remaining bits leaves nothing to sort. */
    uint64_t begin = 0;
    if (shift == 0) {
        if (!end_in_other) memcpy(from, other, n * sizeof *from);
        return;
    }
    for (unsigned d = 0; d < digits; d++) {
        uint64_t end = start[d];
        if (end > begin) sort_bucket(other + begin, from + begin, end - begin, !end_in_other);
        begin = end;
    }
}

/* Template: the keys of a batch in order (copse_radix_order_arguments). */
#pragma once

#include "trees/radix/gpu/find_kernel.h"
#include "trees/radix/gpu/fixed_kernels.h"

/* 1 for positions whose keys are wanted: to be summed up, and then the positions. */
SIMT_KERNEL(radix_absent, copse_radix_order_arguments, COPSE_RADIX_THREADS, 6)
{
    RADIX_FOR(i, a.keys_n)
    {
        const bool wanted = !a.places || a.places[i] == UINT32_MAX;
        if (!a.positions)
            a.ranks[i] = wanted;
        else if (wanted)
            a.positions[a.places ? a.ranks[i] : i] = (uint32_t)i;
    }
}

SIMT_DEVICE copse_slice ordered_key(const copse_radix_order_arguments *a, uint32_t position)
{
    copse_slice key;
    (void)string_at(&a->keys, position, a->keys_n, &key);
    return key;
}

/* Word number `word` of a key, the first byte of which counts most; behind the end are zeros. */
SIMT_DEVICE uint64_t ordered_word(const copse_radix_order_arguments *a, copse_slice key, uint32_t word)
{
    const uint32_t at = 8u * word, length = (uint32_t)key.length;
    if (word == COPSE_RADIX_LENGTHS) return length < COPSE_RADIX_SORT_BYTES ? length : COPSE_RADIX_SORT_BYTES + 1u;
    if (at >= length) return 0;
    const uint64_t bytes =
        string_word(key.start + at, length - at < 8u ? length - at : 8u, a->keys.data + (a->keys.high - a->keys.low));
    return (uint64_t)bytes_turned((uint32_t)bytes) << 32 | bytes_turned((uint32_t)(bytes >> 32));
}

SIMT_KERNEL(radix_survey, copse_radix_order_arguments, COPSE_RADIX_THREADS, 4)
{
    const copse_slice first = ordered_key(&a, a.positions[0]);
    RADIX_FOR(i, a.n)
    {
        const copse_slice key = ordered_key(&a, a.positions[i]);
        const uint64_t length = key.length;
        if (length > simt_load_relaxed_u64(&a.survey->longest)) (void)simt_atomic_max_u64(&a.survey->longest, length);
        if (~length > simt_load_relaxed_u64(&a.survey->shortest))
            (void)simt_atomic_max_u64(&a.survey->shortest, ~length);
        if (length > COPSE_RADIX_SORT_BYTES) (void)simt_atomic_add_u64(&a.survey->longer, 1);
        for (uint32_t word = 0; word < COPSE_RADIX_SORT_WORDS && (8u * word < length || 8u * word < first.length);
             word++) {
            const uint64_t differ = ordered_word(&a, key, word) ^ ordered_word(&a, first, word);
            if (differ & ~simt_load_relaxed_u64(&a.survey->differ[word]))
                (void)simt_atomic_or_u64(&a.survey->differ[word], differ);
        }
    }
}

SIMT_KERNEL(radix_words, copse_radix_order_arguments, COPSE_RADIX_THREADS, 6)
{
    RADIX_FOR(i, a.n) a.words[i] = ordered_word(&a, ordered_key(&a, a.positions[i]), a.word);
}

/* Does a key belong in front of another, or, where `equal` is 1, does it have the same bytes? */
SIMT_DEVICE bool key_before(const copse_radix_order_arguments *a, copse_slice key, copse_slice other, bool equal)
{
    const unsigned char *end = a->keys.data + (a->keys.high - a->keys.low);
    const uint32_t common = strings_common(key, end, other, end);
    const int symbol = copse_radix_symbol(key, common), others = copse_radix_symbol(other, common);
    return symbol < others || (equal && symbol == others);
}

/* Runs in order become runs of twice as many, equal keys as they were: each position counts what of the other run comes before it. */
SIMT_KERNEL(radix_merge, copse_radix_order_arguments, COPSE_RADIX_THREADS, 4)
{
    RADIX_FOR(i, a.n)
    {
        const copse_slice key = ordered_key(&a, a.positions[i]);
        const uint64_t other = (i & ~(a.run - 1u)) ^ a.run;
        uint64_t low = other, high = other + a.run < a.n ? other + a.run : a.n;
        while (low < high) {
            const uint64_t middle = low + (high - low) / 2u;
            if (key_before(&a, ordered_key(&a, a.positions[middle]), key, (i & a.run) != 0))
                low = middle + 1u;
            else
                high = middle;
        }
        a.merged[(i & ~a.run) + (low - other)] = a.positions[i];
    }
}

SIMT_KERNEL(radix_ties, copse_radix_order_arguments, COPSE_RADIX_THREADS, 6)
{
    RADIX_FOR(i, a.n)
    {
        if (i + 1u < a.n && a.words[i] == a.words[i + 1u] && !simt_load_relaxed_u64(&a.survey->ties))
            (void)simt_atomic_max_u64(&a.survey->ties, 1);
    }
}

/* Bytes in common with the next key, and which keys are the last of equal ones. */
SIMT_KERNEL(radix_ends, copse_radix_order_arguments, COPSE_RADIX_THREADS, 4)
{
    RADIX_FOR(i, a.n)
    {
        uint32_t common = 0;
        bool last = i + 1u == a.n;
        if (!last) {
            const copse_slice key = ordered_key(&a, a.positions[i]), next = ordered_key(&a, a.positions[i + 1u]);
            const unsigned char *end = a.keys.data + (a.keys.high - a.keys.low);
            common = strings_common(key, end, next, end);
            last = common != key.length || common != next.length;
        }
        a.words[i] = common;
        a.ranks[i] = last;
    }
}

SIMT_KERNEL(radix_unique, copse_radix_order_arguments, COPSE_RADIX_THREADS, 6)
{
    RADIX_FOR(i, a.n)
    {
        const uint64_t rank = a.ranks[i];
        const bool last = a.ranks[i + 1u] != rank, begins = i == 0 || a.ranks[i - 1u] != rank;
        if (a.first ? begins : last) a.unique[rank] = a.positions[i];
        if (a.sorted) a.sorted[i] = a.positions[i];
        if (a.ends && last) a.ends[rank] = (uint32_t)i + 1u;
        if (last) a.common[rank] = i + 1u == a.n ? -1 : (int32_t)a.words[i];
        if (i + 1u == a.n) a.survey->different = rank + 1u;
    }
}

/* Template: kernels for batches on their way into a tree: a look at the keys, encoding. */
#pragma once

#include "gpu/kernel.h"
#include "gpu/pairs.h"

/* Looks at all keys once: NaN, smallest, largest, order. */
SIMT_KERNEL(NAME(survey), copse_pairs_arguments, COPSE_KERNEL_THREADS, 8)
{
    uint64_t smallest = UINT64_MAX, largest = 0, falls = 0, equals = 0;
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < a.n; i += (uint64_t)gridDim.x * blockDim.x) {
        if (IS_NAN(a.key_type, ((const KEY *)a.keys)[i])) simt_atomic_min_u64(&a.survey->first_nan, i);
        KEY key = pair_key(&a, i), before = i ? pair_key(&a, i - 1u) : key;
        falls += key < before;
        equals += i && key == before;
        smallest = key < smallest ? key : smallest;
        largest = key > largest ? key : largest;
    }
    smallest = warp_min(smallest);
    largest = warp_max(largest);
    falls = warp_sum(falls);
    equals = warp_sum(equals);
    if (simt_lane() != 0) return;
    /* A load first: thousands of warps that change the same word wait for each other. */
    if (smallest < simt_load_relaxed_u64(&a.survey->smallest)) simt_atomic_min_u64(&a.survey->smallest, smallest);
    if (largest > simt_load_relaxed_u64(&a.survey->largest)) simt_atomic_max_u64(&a.survey->largest, largest);
    if (falls && !simt_load_relaxed_u64(&a.survey->falls)) simt_atomic_add_u64(&a.survey->falls, falls);
    if (equals && !simt_load_relaxed_u64(&a.survey->equals)) simt_atomic_add_u64(&a.survey->equals, equals);
}

/* Where no survey has run, this kernel looks for NaN. */
SIMT_DEVICE void encode_check(const copse_pairs_arguments *a, uint64_t i)
{
    if (!a->speculation || !a->out_keys || !IS_NAN(a->key_type, ((const KEY *)a->keys)[i])) return;
    simt_atomic_max_u64(&a->speculation->not_first_nan, ~i);
    simt_store_relaxed_u64(&a->speculation->wrong, 1u);
}

SIMT_KERNEL(NAME(encode), copse_pairs_arguments, COPSE_KERNEL_THREADS, 8)
{
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < a.n; i += (uint64_t)gridDim.x * blockDim.x) {
        encode_check(&a, i);
        if (a.out_keys) ((KEY *)a.out_keys)[i] = pair_key(&a, i);
        if (a.out_values) ((VALUE *)a.out_values)[i] = pair_value(&a, i);
    }
}

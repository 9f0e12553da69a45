/* Template: keys of fixed width (trees/radix/fixed/fixed.h). */
#pragma once

#include "core/codec.h"
#include "trees/radix/gpu/find_kernel.h"

SIMT_DEVICE uint32_t bytes_turned(uint32_t word)
{
    return word >> 24 | (word >> 8 & 0xff00u) | (word << 8 & 0xff0000u) | word << 24;
}

/* The code of key i with its most significant byte in front, whatever its width: bytes behind it are 0. */
SIMT_DEVICE uint64_t fixed_code(copse_type type, const void *keys, uint64_t i, uint64_t *report, uint64_t position)
{
    uint64_t code;
    bool nan;
    if (type == COPSE_U64 || type == COPSE_I64 || type == COPSE_F64 || type == COPSE_TIMESTAMP) {
        const uint64_t bits = simt_load_once_u64((const uint64_t *)keys + i);
        nan = copse_is_nan_k64(type, bits);
        code = copse_encode_one_k64(type, bits);
    } else {
        const uint32_t bits = simt_load_once_u32((const uint32_t *)keys + i);
        nan = copse_is_nan_k32(type, bits);
        code = (uint64_t)copse_encode_one_k32(type, bits) << 32;
    }
    if (nan) simt_atomic_min_u64(&report[COPSE_REPORT_NAN], position);
    return code;
}

/* The leaf of a code, or 0: no key is a prefix of another, so that no node has an end. */
SIMT_DEVICE copse_radix_link fixed_leaf(const copse_radix_view *tree, uint64_t code)
{
    copse_radix_link link = tree->root;
    while (link && !copse_radix_is_leaf(link))
        link = step_byte(tree, link, (uint32_t)(code >> (56u - 8u * copse_radix_depth_of(link))) & 0xffu);
    if (!link) return 0;
    const uint64_t word = *(const uint64_t *)copse_radix_at(tree, link);
    const uint64_t key = (uint64_t)bytes_turned((uint32_t)code) << 32 | bytes_turned((uint32_t)(code >> 32));
    return word == key ? link : 0;
}

SIMT_KERNEL(radix_find_fixed, copse_radix_fixed_find_arguments, COPSE_RADIX_THREADS, 8)
{
    const uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= a.n) return;
    const copse_radix_link leaf = fixed_leaf(&a.tree, fixed_code(a.type, a.keys, i, a.report, a.first + i));
    if (a.values) value_put(&a.tree, a.values, i, leaf);
    if (a.found) simt_store_once_u8(&a.found[i], leaf != 0);
}

SIMT_DEVICE uint32_t fixed_width(copse_type type)
{
    return type == COPSE_U64 || type == COPSE_I64 || type == COPSE_F64 || type == COPSE_TIMESTAMP ? 8u : 4u;
}

SIMT_KERNEL(radix_encode, copse_radix_fixed_arguments, COPSE_RADIX_THREADS, 4)
{
    const uint32_t width = fixed_width(a.type);
    RADIX_FOR(i, a.n)
    {
        const uint64_t code = fixed_code(a.type, a.keys, i, a.report, i);
        if (width == 8u) ((uint32_t *)a.data)[2u * i + 1u] = bytes_turned((uint32_t)code);
        ((uint32_t *)a.data)[i * (width / 4u)] = bytes_turned((uint32_t)(code >> 32));
        ((int64_t *)a.offsets)[i] = (int64_t)(i * width);
        if (i + 1u == a.n) ((int64_t *)a.offsets)[a.n] = (int64_t)(a.n * width);
    }
}

SIMT_KERNEL(radix_decode, copse_radix_fixed_arguments, COPSE_RADIX_THREADS, 4)
{
    const uint32_t width = fixed_width(a.type);
    RADIX_FOR(i, a.n)
    {
        const int64_t at = ((const int64_t *)a.offsets)[i];
        const bool there = ((const int64_t *)a.offsets)[i + 1u] > at;
        const uint32_t *words = (const uint32_t *)(a.data + (there ? at : 0));
        if (width == 8u)
            ((uint64_t *)a.keys)[i] =
                there ? copse_decode_one_k64(a.type, (uint64_t)bytes_turned(words[0]) << 32 | bytes_turned(words[1]))
                      : 0;
        else
            ((uint32_t *)a.keys)[i] = there ? copse_decode_one_k32(a.type, bytes_turned(words[0])) : 0;
    }
}

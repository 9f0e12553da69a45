/* Template: values of keys that are there. */
#pragma once

#include "trees/radix/gpu/find_kernel.h"

/* The place of a leaf in the table of claims: the one that has it, or a free one that it takes. */
SIMT_DEVICE uint32_t claim_place(copse_radix_claim *claims, uint32_t bits, copse_radix_link leaf)
{
    const uint32_t last = (uint32_t)(UINT64_C(1) << bits) - 1u;
    uint32_t place = (uint32_t)(leaf * UINT64_C(0x9e3779b97f4a7c15) >> (64u - bits));
    for (;; place = (place + 1u) & last) {
        uint64_t *slot = &claims[place].leaf;
        uint64_t there = simt_load_relaxed_u64(slot);
        if (there == 0) there = simt_atomic_cas_u64(slot, 0, leaf);
        if (there == 0 || there == leaf) return place;
    }
}

/* A position as a value. */
SIMT_DEVICE uint64_t position_value(copse_type type, uint32_t position)
{
    const float single = (float)position;
    const double wide = (double)position;
    uint64_t bits = position;
    uint32_t half;
    if (type == COPSE_F64) memcpy(&bits, &wide, sizeof bits);
    if (type != COPSE_F32) return bits;
    memcpy(&half, &single, sizeof half);
    return half;
}

/* Is the value of a leaf the one that the caller gives? */
SIMT_DEVICE bool value_is(const copse_radix_upsert_arguments *a, copse_radix_link leaf, uint64_t i)
{
    const char *value = copse_radix_value(&a->tree, leaf);
    return a->tree.width == 8u ? *(const uint64_t *)value == ((const uint64_t *)a->values)[i]
                               : *(const uint32_t *)value == ((const uint32_t *)a->values)[i];
}

SIMT_KERNEL(radix_claim, copse_radix_upsert_arguments, COPSE_RADIX_THREADS, 6)
{
    const uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= a.n) return;
    copse_slice key;
    copse_radix_link leaf = 0;
    if (string_at(&a.keys, i, a.n, &key))
        leaf = leaf_of(&a.tree, key, a.keys.data + (a.keys.high - a.keys.low));
    else
        simt_atomic_min_u64(&a.report[COPSE_RADIX_UNSOUND], a.keys.first + i);
    if (leaf && a.match && !value_is(&a, leaf, i)) leaf = 0;
    if (!leaf) {
        if (!simt_load_relaxed_u64(a.missing)) (void)simt_atomic_max_u64(a.missing, 1);
        a.places[i] = UINT32_MAX;
        return;
    }
    if (!simt_load_relaxed_u64(&a.missing[1])) (void)simt_atomic_max_u64(&a.missing[1], 1);
    const uint32_t place = claim_place(a.claims, a.claim_bits, leaf);
    a.places[i] = place;
    simt_atomic_max_u64(&a.claims[place].position, i);
}

/* Says that the host does not have these bytes of a pool. */
SIMT_DEVICE void bytes_ahead(uint32_t *const *ahead, const copse_radix_view *tree, uint32_t type, const void *from,
                             uint32_t bytes)
{
    const uint64_t at = (uint64_t)((const unsigned char *)from - tree->pool[type]);
    for (uint64_t page = at / COPSE_RADIX_PAGE; page <= (at + bytes - 1u) / COPSE_RADIX_PAGE; page++) {
        uint32_t *word = &ahead[type][page / 32u];
        const uint32_t bit = 1u << page % 32u;
        if (!(simt_load_relaxed_u32(word) & bit)) (void)simt_atomic_or_u32(word, bit);
    }
}

SIMT_KERNEL(radix_upsert, copse_radix_upsert_arguments, COPSE_RADIX_THREADS, 6)
{
    const uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
    const uint64_t missing = *a.missing;
    if (i == 0) {
        a.report[COPSE_RADIX_MISSING] = missing;
        a.report[COPSE_RADIX_PRESENT] = a.missing[1];
    }
    if (i >= a.n || a.keep || (missing && !a.partly) || a.places[i] == UINT32_MAX) return;
    const copse_radix_claim claim = a.claims[a.places[i]];
    if (claim.position != i) return;
    char *value = copse_radix_value(&a.tree, claim.leaf);
    if (a.tree.width == 8u)
        *(uint64_t *)value = a.values ? ((const uint64_t *)a.values)[i] : position_value(a.type, (uint32_t)i);
    else
        *(uint32_t *)value = a.values ? ((const uint32_t *)a.values)[i] : (uint32_t)position_value(a.type, (uint32_t)i);
    bytes_ahead(a.ahead, &a.tree, copse_radix_type_of(claim.leaf), value, 8);
}

/* Template: the kernel that takes queries down the inner levels and answers those whose unit the card has. */
#pragma once

#include "trees/hybrid/descend.h"

#define UNIT_SLOTS  (64u / (KEY_BITS / 8u + VALUE_BITS / 8u))
#define UNIT_VALUES ((UNIT_SLOTS * (KEY_BITS / 8u) + VALUE_BITS / 8u - 1u) / (VALUE_BITS / 8u) * (VALUE_BITS / 8u))

/* The unit of each lane's own query, walked to by groups of four. */
SIMT_DEVICE uint32_t own_unit(const copse_device_levels *levels, bool digest, walk_bound own)
{
    const uint32_t lane = simt_lane(), group = lane / 4u;
    uint32_t unit = 0;
    for (uint32_t from = 0; from < SIMT_WARP; from += 16u) {
        walk_bound x = walk_take(own, from + group, digest), y = walk_take(own, from + group + 8u, digest);
        walk_pair(levels, digest, &x, &y);
        const uint32_t of_x = simt_shfl_u32(SIMT_FULL_MASK, x.node, (lane & 7u) * 4u);
        const uint32_t of_y = simt_shfl_u32(SIMT_FULL_MASK, y.node, (lane & 7u) * 4u);
        if ((lane & 16u) == from) unit = lane & 8u ? of_y : of_x;
    }
    return unit;
}

SIMT_DEVICE void find_cached(const copse_cached_arguments *a, bool digest)
{
    const copse_descend_arguments *d = &a->descend;
    uint32_t first, mine;
    if (!query_share(d->n, SIMT_WARP, &first, &mine)) return;
    const KEY bits = COPSE_BITS(simt_load_once_u, KEY_BITS)((const KEY *)d->keys + query_at(d->n, mine));
    const KEY q = ENCODE_ONE(d->key_type, bits);
    const walk_bound own = walk_start(&d->levels, digest, q);
    uint32_t unit =
        query_sorted(SIMT_WARP, q) ? walk_down_alone(&d->levels, digest, own) : own_unit(&d->levels, digest, own);
    if (mine >= d->n) return;
    while (unit < a->cached && unit + 1u < a->all &&
           ((const KEY *)(a->units + (uint64_t)unit * 64u))[UNIT_SLOTS - 1u] < q)
        unit++;
    const bool cached = unit < a->cached;
    const char *line = a->units + (uint64_t)(cached ? unit : 0u) * 64u;
    uint32_t less = 0;
    SIMT_UNROLL
    for (uint32_t i = 0; i < UNIT_SLOTS; i++) less += (uint32_t)(((const KEY *)line)[i] < q);
    const uint32_t at = less < UNIT_SLOTS ? less : UNIT_SLOTS - 1u;
    /* Free slots hold the largest key. */
    const bool found = cached && ((const KEY *)line)[at] == q && (uint64_t)unit * UNIT_SLOTS + at < a->entries;
    d->nodes[mine] = cached ? 0 : unit;
    ((VALUE *)a->values)[mine] = found ? ((const VALUE *)(line + UNIT_VALUES))[at] : 0;
    a->found[mine] = cached ? (uint8_t)found : (uint8_t)COPSE_NOT_CACHED;
}

SIMT_KERNEL(NAME(find_cached_full), copse_cached_arguments, COPSE_KERNEL_THREADS, 16)
{
    find_cached(&a, false);
}

#if KEY_BITS == 64
SIMT_KERNEL(NAME(find_cached_digest), copse_cached_arguments, COPSE_KERNEL_THREADS, 16)
{
    find_cached(&a, true);
}
#endif

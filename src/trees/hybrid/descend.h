/* Template: the kernel that takes queries down the inner levels. A key that is no number leads anywhere: the CPU, which reads the
 * key again, says so. */
#pragma once

#include "gpu/kernel.h"
#include "gpu/levels_walk.h"
#include "gpu/queries.h"
#include "trees/hybrid/kernels.h"

SIMT_DEVICE void descend(const copse_descend_arguments *a, bool digest)
{
    uint32_t first, mine;
    if (!query_share(a->n, SIMT_WARP, &first, &mine)) return;
    const KEY bits = COPSE_BITS(simt_load_once_u, KEY_BITS)((const KEY *)a->keys + query_at(a->n, mine));
    const KEY q = bound_key(&a->unique, ENCODE_ONE(a->key_type, bits), a->upper);
    const walk_bound own = walk_start(&a->levels, digest, q);
    if (query_sorted(SIMT_WARP, q)) {
        const uint32_t node = walk_down_alone(&a->levels, digest, own);
        if (mine < a->n) a->nodes[mine] = node;
        return;
    }
    const uint32_t group = simt_lane() / 4u, quarter = simt_lane() & 3u;
    for (uint32_t from = 0; from < SIMT_WARP; from += 16u) {
        walk_bound x = walk_take(own, from + group, digest), y = walk_take(own, from + group + 8u, digest);
        walk_pair(&a->levels, digest, &x, &y);
        const uint32_t at = first + from + group + (quarter == 1u ? 8u : 0u);
        if (quarter < 2u && at < a->n) a->nodes[at] = quarter == 0 ? x.node : y.node;
    }
}

SIMT_KERNEL(NAME(descend_full), copse_descend_arguments, COPSE_KERNEL_THREADS, 16)
{
    descend(&a, false);
}

#if KEY_BITS == 64
SIMT_KERNEL(NAME(descend_digest), copse_descend_arguments, COPSE_KERNEL_THREADS, 16)
{
    descend(&a, true);
}
#endif

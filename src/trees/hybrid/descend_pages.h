/* Template: the kernel that takes queries down the levels and then through the nodes of a page to a unit of a leaf, and the one that
 * puts copies of pages into their records. */
#pragma once

#include "trees/hybrid/descend.h"

#define HYBRID_PAGE_SHIFT 9u
#define HEAD_LINE         (1u + FULL_FANOUT)
#define ADDRESS_LINE      (1u + FULL_FANOUT + FULL_FANOUT * FULL_FANOUT)

/* Digests of a leaf's head, of which the last two words are their base and shift, that are less than the query. */
SIMT_DEVICE uint32_t head_less(const char *head, KEY q)
{
    const uint32_t quarter = simt_lane() & 3u;
    const simt_u32x4 v = simt_load16(head + quarter * 16u);
#if KEY_BITS == 64
    const uint32_t last = simt_lane() | 3u;
    const uint32_t low = simt_shfl_u32(SIMT_FULL_MASK, v.z, last), high = simt_shfl_u32(SIMT_FULL_MASK, v.w, last);
    const uint64_t base_shift = walk_join(low, high);
    const uint32_t digest = copse_digest(q, base_shift & ~(uint64_t)63, (uint32_t)(base_shift & 63u));
#else
    const uint32_t digest = q;
#endif
    const uint32_t less = (uint32_t)(v.x < digest) + (uint32_t)(v.y < digest);
    return less + (quarter < 3u ? (uint32_t)(v.z < digest) + (uint32_t)(v.w < digest) : 0u);
}

/* Takes a query of each group that stands at a page to the slot; returns the leaf and the unit in it. */
SIMT_DEVICE uint64_t page_down(const copse_descend_arguments *a, walk_bound *x)
{
    const char *record = a->records + (uint64_t)a->record_of[x->node] * a->record_bytes;
    const uint32_t quarter = (simt_lane() & 3u) * 16u;
    const uint32_t node = walk_group_sum(walk_less(record + quarter, *x, false));
    const uint32_t less = walk_group_sum(walk_less(record + (uint64_t)(1u + node) * 64u + quarter, *x, false));
    const uint32_t leaf = node * FULL_FANOUT + less;
    const uint32_t unit = walk_group_sum(head_less(record + (uint64_t)(HEAD_LINE + leaf) * 64u, x->q));
    x->node = x->node << HYBRID_PAGE_SHIFT | leaf;
    return ((const uint64_t *)(record + (uint64_t)ADDRESS_LINE * 64u))[leaf] + unit;
}

SIMT_KERNEL(NAME(descend_pages), copse_descend_arguments, COPSE_KERNEL_THREADS, 16)
{
    uint32_t first, mine;
    if (!query_share(a.n, SIMT_WARP, &first, &mine)) return;
    const KEY bits = COPSE_BITS(simt_load_once_u, KEY_BITS)((const KEY *)a.keys + query_at(a.n, mine));
    const walk_bound own = walk_start(&a.levels, false, bound_key(&a.unique, ENCODE_ONE(a.key_type, bits), a.upper));
    const uint32_t group = simt_lane() / 4u, quarter = simt_lane() & 3u;
    for (uint32_t from = 0; from < SIMT_WARP; from += 16u) {
        walk_bound x = walk_take(own, from + group, false), y = walk_take(own, from + group + 8u, false);
        walk_pair(&a.levels, false, &x, &y);
        const uint64_t leaf_x = page_down(&a, &x), leaf_y = page_down(&a, &y);
        const uint32_t at = first + from + group + (quarter == 1u ? 8u : 0u);
        if (quarter < 2u && at < a.n) {
            a.nodes[at] = quarter == 0 ? x.node : y.node;
            a.leaves[at] = quarter == 0 ? leaf_x : leaf_y;
        }
    }
}

SIMT_KERNEL(NAME(scatter), copse_scatter_arguments, COPSE_KERNEL_THREADS, 16)
{
    const uint64_t i = (uint64_t)blockIdx.x * COPSE_KERNEL_THREADS + threadIdx.x, page = i / a.words;
    if (page < a.n) a.to[a.record_of[page] * a.words + (i - page * a.words)] = a.from[i];
}

/*
 * Template: walking pointer-free levels (core/levels.h) on a device, for every structure that has them.
 *
 * Two ways down. For queries in random order, four lanes share a query: each loads 16 bytes of the 64-byte node and
 * counts the separators there that are less than the query, and two shuffles add the counts up. A group of four takes
 * two queries at a time, so that one waits while the other works. Lanes of a warp never diverge, so every collective names
 * all 32.
 *
 *   node   | 16 bytes: lane 0 | lane 1 | lane 2 | lane 3 |      eight groups, eight nodes, one load instruction
 *
 * For queries that come sorted the neighbours walk the same nodes, and every lane takes its own query alone: fewer
 * instructions, and the loads of a warp fall together.
 */
#pragma once

#include "core/levels.h"
#include "gpu/kernel.h"

#define FULL_FANOUT   (512u / KEY_BITS + 1u)
#define DIGEST_FANOUT 17u
#define PIECE_KEYS    (128u / KEY_BITS) /* keys in the 16 bytes of one lane */

/* A query on its way: what is looked for, and where the walk stands (a node, in the end a child below the levels). */
typedef struct walk_bound {
    KEY q;
    uint32_t digest;
    uint32_t node;
} walk_bound;

SIMT_DEVICE walk_bound walk_start(const copse_device_levels *levels, bool digest, KEY q)
{
    walk_bound bound;
    bound.q = q;
    bound.node = 0;
    bound.digest = (uint32_t)q;
#if KEY_BITS == 64
    if (digest) bound.digest = copse_digest(q, levels->base, levels->shift);
#else
    (void)levels;
    (void)digest;
#endif
    return bound;
}

/* The query that another lane read. */
SIMT_DEVICE walk_bound walk_take(walk_bound own, uint32_t lane, bool digest)
{
    walk_bound bound;
    bound.node = 0;
    bound.q = COPSE_BITS(simt_shfl_u, KEY_BITS)(SIMT_FULL_MASK, own.q, lane);
    bound.digest = (uint32_t)bound.q;
    if (KEY_BITS == 64 && digest) bound.digest = simt_shfl_u32(SIMT_FULL_MASK, own.digest, lane);
    return bound;
}

/* --- four lanes to a query ------------------------------------------------------------------------------------------ */

SIMT_DEVICE uint64_t walk_join(uint32_t low, uint32_t high)
{
    return (uint64_t)high << 32 | low;
}

/* Separators less than the query in this lane's quarter of a node. */
SIMT_DEVICE uint32_t walk_less(const char *quarter, walk_bound bound, bool digest)
{
    simt_u32x4 v = simt_load16(quarter);
    if (KEY_BITS == 64 && !digest)
        return (uint32_t)(walk_join(v.x, v.y) < bound.q) + (uint32_t)(walk_join(v.z, v.w) < bound.q);
    return (uint32_t)(v.x < bound.digest) + (uint32_t)(v.y < bound.digest) + (uint32_t)(v.z < bound.digest) +
           (uint32_t)(v.w < bound.digest);
}

SIMT_DEVICE uint32_t walk_group_sum(uint32_t count)
{
    count += simt_shfl_xor_u32(SIMT_FULL_MASK, count, 1);
    return count + simt_shfl_xor_u32(SIMT_FULL_MASK, count, 2);
}

/* Takes two queries of each group from the root to their children below the levels. */
SIMT_DEVICE void walk_pair(const copse_device_levels *levels, bool digest, walk_bound *x, walk_bound *y)
{
    const uint32_t fanout = digest ? DIGEST_FANOUT : FULL_FANOUT, quarter = (simt_lane() & 3u) * 16u;
    for (uint32_t l = 0; l < levels->height; l++) {
        const char *level = levels->level[l] + quarter;
        uint32_t less_x = walk_less(level + (uint64_t)x->node * 64u, *x, digest);
        uint32_t less_y = walk_less(level + (uint64_t)y->node * 64u, *y, digest);
        x->node = x->node * fanout + walk_group_sum(less_x);
        y->node = y->node * fanout + walk_group_sum(less_y);
    }
}

/* Word `word` of four. */
SIMT_DEVICE uint32_t piece_word(simt_u32x4 v, uint32_t word)
{
    return word == 0 ? v.x : word == 1u ? v.y : word == 2u ? v.z : v.w;
}

/* Key j of this lane's 16 bytes. */
SIMT_DEVICE KEY piece_key(simt_u32x4 v, uint32_t j)
{
#if KEY_BITS == 64
    return j == 0 ? walk_join(v.x, v.y) : walk_join(v.z, v.w);
#else
    return j == 0 ? v.x : j == 1 ? v.y : j == 2 ? v.z : v.w;
#endif
}

/* --- one lane to a query ---------------------------------------------------------------------------------------------- */

/* The child to take: the number of separators less than the query, by halving. */
SIMT_DEVICE uint32_t walk_child_alone(const char *node, walk_bound bound, bool digest)
{
    uint32_t at = 0;
    if (KEY_BITS == 32 || digest) {
        const uint32_t *separator = (const uint32_t *)node;
        SIMT_UNROLL
        for (uint32_t step = 8; step > 0; step /= 2) at += separator[at + step - 1u] < bound.digest ? step : 0u;
        return at + (uint32_t)(separator[at] < bound.digest);
    }
    const KEY *separator = (const KEY *)node;
    SIMT_UNROLL
    for (uint32_t step = 4; step > 0; step /= 2) at += separator[at + step - 1u] < bound.q ? step : 0u;
    return at + (uint32_t)(separator[at] < bound.q);
}

/* The child below the levels that a query leads to: with digests one in front of the right one, at times. */
SIMT_DEVICE uint32_t walk_down_alone(const copse_device_levels *levels, bool digest, walk_bound bound)
{
    const uint32_t fanout = digest ? DIGEST_FANOUT : FULL_FANOUT;
    uint32_t node = 0;
    for (uint32_t l = 0; l < levels->height; l++)
        node = node * fanout + walk_child_alone(levels->level[l] + (uint64_t)node * 64u, bound, digest);
    return node;
}

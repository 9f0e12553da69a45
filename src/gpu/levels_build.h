/* Template: kernels that make and check pointer-free levels (core/levels.h) over whatever children a structure has. */
#pragma once

#include "core/levels.h"
#include "gpu/kernel.h"
#include "gpu/levels_walk.h"
#include "gpu/pairs.h"

#define DIGEST_LONGEST_RUN 16u

/* Steps right that lookups of the children's largest keys would make if separators were digests; see trees/implicit/cpu/build.h. */
SIMT_KERNEL(NAME(digest_steps), copse_level_arguments, COPSE_KERNEL_THREADS, 8)
{
    uint64_t steps = 0;
    for (uint64_t u = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; u < a.children;
         u += (uint64_t)gridDim.x * blockDim.x) {
        uint64_t run = 0;
        while (run < DIGEST_LONGEST_RUN && run < u && a.last[u - run - 1u] == a.last[u]) run++;
        steps += run == DIGEST_LONGEST_RUN ? (uint64_t)1 << 40 : run;
    }
    steps = warp_sum(steps);
    if (simt_lane() == 0 && steps) simt_atomic_add_u64(&a.survey->digest_steps, steps);
}

/* The largest key of a child below the levels. */
SIMT_DEVICE const KEY *last_key(const copse_level_arguments *a, uint64_t child)
{
    if (!a->segments) return (const KEY *)(a->keys + child * a->stride);
    const char *segment = (const char *)a->segments[child >> a->segment_shift];
    return (const KEY *)(segment + (child & (((uint64_t)1 << a->segment_shift) - 1u)) * a->stride + a->segment_offset);
}

/* Separator of child `child`: the largest key below it, the maximum where no child follows. */
SIMT_DEVICE KEY child_separator(const copse_level_arguments *a, uint64_t child)
{
    if (child + 1u >= a->children) return KEY_MAX;
    if (a->last) return (KEY)a->last[(child + 1u) * a->span - 1u];
    KEY last = *last_key(a, (child + 1u) * a->span - 1u);
    return a->levels.digest ? (KEY)copse_digest(last, a->levels.base, a->levels.shift) : last;
}

/* One thread per separator. */
SIMT_KERNEL(NAME(fill_level), copse_level_arguments, COPSE_KERNEL_THREADS, 8)
{
    const uint32_t separators = (a.levels.digest ? DIGEST_FANOUT : FULL_FANOUT) - 1u;
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < a.nodes * separators;
         i += (uint64_t)gridDim.x * blockDim.x) {
        const uint64_t node = i / separators;
        const uint32_t j = (uint32_t)(i % separators);
        KEY separator = child_separator(&a, node * (separators + 1u) + j);
        char *line = a.levels.level[a.level] + node * 64u;
        if (a.levels.digest)
            ((uint32_t *)line)[j] = (uint32_t)separator;
        else
            ((KEY *)line)[j] = separator;
    }
}

/* trouble[2]: a separator of this level that is wrong, as its number in the level. */
SIMT_KERNEL(NAME(verify_level), copse_level_arguments, COPSE_KERNEL_THREADS, 8)
{
    const uint32_t separators = (a.levels.digest ? DIGEST_FANOUT : FULL_FANOUT) - 1u;
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < a.nodes * separators;
         i += (uint64_t)gridDim.x * blockDim.x) {
        const uint64_t node = i / separators;
        const uint32_t j = (uint32_t)(i % separators);
        KEY want = child_separator(&a, node * (separators + 1u) + j);
        const char *line = a.levels.level[a.level] + node * 64u;
        bool right = a.levels.digest ? ((const uint32_t *)line)[j] == (uint32_t)want : ((const KEY *)line)[j] == want;
        if (!right) simt_atomic_min_u64(&a.survey->trouble[2], i);
    }
}

/* Building the implicit tree: units, then inner levels. Layout: trees/implicit/layout.h. */
#pragma once

#include "trees/implicit/cpu/tree.h"
#include "core/batch_pair.h"
#include "core/levels.h"
#include "core/threads.h"
#include "cpu/merge.h"

#include <string.h>

#define FULL_SEPARATORS (64u / sizeof(KEY))

/* Digests are not used where this many units in a row would share one. */
#define DIGEST_LONGEST_RUN 16u

/* --- inner levels ------------------------------------------------------------------------------------------------- */

static inline KEY implicit_unit_max(const copse_unit *units, uint64_t unit)
{
    return units[unit].keys[UNIT_ENTRIES - 1];
}

/* Digests pay as long as few queries have to step right. For units first .. last returns the sum of the steps
 * that lookups of their largest keys would make, or a huge number where one would make too many. */
static uint64_t implicit_digest_steps(const copse_unit *units, const copse_levels *levels, uint64_t first,
                                      uint64_t last)
{
    uint64_t run = 0, steps = 0;
    uint32_t before = 0;
    uint64_t back = first > DIGEST_LONGEST_RUN ? first - DIGEST_LONGEST_RUN : 0;
    for (uint64_t u = back; u < last; u++) {
        uint32_t digest = copse_digest(implicit_unit_max(units, u), levels->base, levels->shift);
        run = u > back && digest == before ? run + 1 : 0;
        if (run >= DIGEST_LONGEST_RUN) return UINT64_MAX / 1024;
        if (u >= first) steps += run;
        before = digest;
    }
    return steps;
}

typedef struct implicit_digest_job {
    const copse_implicit *tree;
    const copse_levels *levels;
    uint64_t steps; /* atomic */
} implicit_digest_job;

static void implicit_digest_chunk(void *argument, uint64_t first, uint64_t last)
{
    implicit_digest_job *job = argument;
    uint64_t steps = implicit_digest_steps(job->tree->units, job->levels, first, last);
    (void)__atomic_fetch_add(&job->steps, steps, __ATOMIC_RELAXED);
}

/* Chooses between full separators and digests, and the digests' base and shift. */
static void implicit_choose_separators(const copse_ctx *ctx, const copse_implicit *tree, uint32_t threads,
                                       copse_levels *levels)
{
    levels->digest = false;
    if (KEY_BITS == 32 || tree->unit_count < 2) return; /* 32-bit separators are as small as digests */
    const copse_unit *units = tree->units;
    KEY low = unit_key(units, 0), high = unit_key(units, tree->entries - 1);
    unsigned bits = high > low ? 64u - (unsigned)__builtin_clzll((unsigned long long)(high - low)) : 1;
    levels->base = low;
    levels->shift = bits > 32 ? bits - 32 : 0;
    implicit_digest_job job = {tree, levels, 0};
    copse_parallel(ctx, threads, tree->unit_count, copse_even_chunk(tree->unit_count, threads), implicit_digest_chunk,
                   &job);
    levels->digest = job.steps <= tree->unit_count / 8;
}

/* Separator j of a node whose child j covers `span` units: the largest key of the child, the maximum where no child
 * follows. */
static inline KEY implicit_separator(const copse_implicit *tree, uint64_t child, uint64_t children, uint64_t span)
{
    return child + 1 < children ? implicit_unit_max(tree->units, (child + 1) * span - 1) : KEY_MAX;
}

static void implicit_fill_node(const copse_implicit *tree, const copse_levels *levels, uint32_t level, uint64_t node,
                               uint64_t children, uint64_t span)
{
    char *line = levels->level[level] + node * 64;
    uint32_t separators = levels->digest ? 16 : FULL_SEPARATORS;
    for (uint32_t j = 0; j < separators; j++) {
        uint64_t child = node * (separators + 1) + j;
        KEY separator = implicit_separator(tree, child, children, span);
        if (!levels->digest)
            ((KEY *)line)[j] = separator;
        else
            ((uint32_t *)line)[j] =
                child + 1 < children ? copse_digest(separator, levels->base, levels->shift) : UINT32_MAX;
    }
}

typedef struct implicit_level_job {
    const copse_implicit *tree;
    uint32_t level;
    uint64_t children, span;
} implicit_level_job;

static void implicit_fill_nodes(void *argument, uint64_t node, uint64_t last)
{
    const implicit_level_job *job = argument;
    for (; node < last; node++)
        implicit_fill_node(job->tree, &job->tree->levels, job->level, node, job->children, job->span);
}

/* Sizes of the levels over `children` units, root first. */
static void implicit_plan_levels(copse_levels *levels, uint64_t children)
{
    uint64_t sizes[COPSE_LEVELS_MOST], fanout = levels->digest ? 17 : FULL_SEPARATORS + 1;
    uint32_t height = 0;
    for (uint64_t n = children; n > 1; n = sizes[height - 1]) sizes[height++] = (n + fanout - 1) / fanout;
    levels->height = height;
    levels->bytes = 0;
    for (uint32_t l = 0; l < height; l++) {
        levels->nodes[l] = sizes[height - 1 - l];
        levels->bytes += levels->nodes[l] * 64;
    }
}

static copse_status implicit_build_levels(const copse_ctx *ctx, copse_implicit *tree, uint32_t threads)
{
    copse_levels *levels = &tree->levels;
    implicit_choose_separators(ctx, tree, threads, levels);
    implicit_plan_levels(levels, tree->unit_count);
    if (levels->height == 0) return COPSE_OK;
    levels->memory = copse_memory_alloc(ctx, levels->bytes);
    if (!levels->memory) return copse_fail_memory(ctx, levels->bytes, "the inner levels of the implicit tree");
    char *at = levels->memory;
    for (uint32_t l = 0; l < levels->height; l++) {
        levels->level[l] = at;
        at += levels->nodes[l] * 64;
    }
    uint64_t span = 1, fanout = levels->digest ? 17 : FULL_SEPARATORS + 1;
    for (uint32_t l = levels->height; l-- > 0; span *= fanout) {
        uint64_t children = l + 1 < levels->height ? levels->nodes[l + 1] : tree->unit_count;
        uint32_t team = levels->nodes[l] < 4096 ? 1 : threads;
        implicit_level_job job = {tree, l, children, span};
        copse_parallel(ctx, team, levels->nodes[l], copse_even_chunk(levels->nodes[l], team), implicit_fill_nodes,
                       &job);
    }
    return COPSE_OK;
}

/* --- life --------------------------------------------------------------------------------------------------------- */

/* Memory for a tree of n entries, its units not yet filled. */
static copse_status implicit_make(const copse_ctx *ctx, uint64_t n, copse_implicit **out)
{
    copse_implicit *tree = copse_memory_alloc(ctx, sizeof *tree);
    if (!tree) return copse_fail_memory(ctx, sizeof *tree, "the implicit tree");
    memset(tree, 0, sizeof *tree);
    tree->entries = n;
    tree->unit_count = n / UNIT_ENTRIES + (n % UNIT_ENTRIES != 0);
    tree->unit_bytes = copse_memory_product(tree->unit_count, sizeof(copse_unit));
    copse_status status = COPSE_OK;
    if (tree->unit_count > UINT32_MAX)
        status = copse_fail(ctx, COPSE_ERR_UNSUPPORTED, "n is %llu: the implicit tree holds at most %llu entries",
                            (unsigned long long)n, (unsigned long long)UINT32_MAX * UNIT_ENTRIES);
    else if (n && !(tree->units = copse_memory_alloc(ctx, tree->unit_bytes)))
        status = copse_fail_memory(ctx, tree->unit_bytes, "the leaves of the implicit tree");
    if (status != COPSE_OK) {
        copse_memory_free(ctx, tree, sizeof *tree);
        return status;
    }
    pthread_mutex_init(&tree->lock, NULL);
    *out = tree;
    return COPSE_OK;
}

static copse_status implicit_create(copse_index *index)
{
    copse_implicit *tree = NULL;
    copse_status status = implicit_make(index->ctx, 0, &tree);
    index->tree = tree;
    return status;
}

static void implicit_fill(const copse_batch *batch, copse_unit *units, uint64_t first, uint64_t last)
{
    enum { BLOCK = 16 };
    KEY keys[BLOCK * UNIT_ENTRIES];
    VALUE values[BLOCK * UNIT_ENTRIES];
    for (uint64_t u = first; u < last; u += BLOCK) {
        uint64_t at = u * UNIT_ENTRIES, end = (last < u + BLOCK ? last : u + BLOCK) * UNIT_ENTRIES;
        uint32_t n = (uint32_t)((end < batch->n ? end : batch->n) - at);
        copse_batch_read(batch, at, n, keys, values);
        for (uint32_t i = 0; i < n / UNIT_ENTRIES; i++) {
            memcpy(units[u + i].keys, keys + i * UNIT_ENTRIES, sizeof units->keys);
            memcpy(units[u + i].values, values + i * UNIT_ENTRIES, sizeof units->values);
        }
        for (uint32_t i = n - n % UNIT_ENTRIES; i < n; i++) {
            units[u + i / UNIT_ENTRIES].keys[i % UNIT_ENTRIES] = keys[i];
            units[u + i / UNIT_ENTRIES].values[i % UNIT_ENTRIES] = values[i];
        }
    }
}

typedef struct implicit_fill_job {
    const copse_batch *batch;
    copse_unit *units;
} implicit_fill_job;

static void implicit_fill_chunk(void *argument, uint64_t first, uint64_t last)
{
    const implicit_fill_job *job = argument;
    implicit_fill(job->batch, job->units, first, last);
}

/* Replaces the old tree by a finished one; from here on nothing can fail. */
static void implicit_replace(copse_index *index, copse_implicit *tree)
{
    copse_implicit_free(index->ctx, index->tree);
    index->tree = tree;
}

static copse_status implicit_build(copse_index *index, const copse_batch *batch)
{
    const copse_ctx *ctx = index->ctx;
    copse_implicit *tree;
    uint32_t threads = copse_threads_for(ctx, batch->n);
    copse_status status = implicit_make(ctx, batch->n, &tree);
    if (status != COPSE_OK) return status;
    implicit_fill_job job = {batch, tree->units};
    copse_parallel(ctx, threads, tree->unit_count, copse_even_chunk(tree->unit_count, threads), implicit_fill_chunk,
                   &job);
    unit_pad(tree->units, batch->n);
    status = copse_progress(ctx, "building the inner levels", batch->n, batch->n);
    if (status == COPSE_OK) status = implicit_build_levels(ctx, tree, threads);
    if (status == COPSE_OK)
        implicit_replace(index, tree);
    else
        copse_implicit_free(ctx, tree);
    return status;
}

/* Aggregates of the implicit tree: the summary over blocks of units, and the units of running sums. */
#pragma once

#include "cpu/fetch.h"
#include "trees/implicit/cpu/tree.h"
#include "core/aggregate.h"
#include "core/threads.h"
#include "trees/implicit/cpu/sum_unit.h"

static inline uint32_t implicit_unit_used(const copse_implicit *tree, uint64_t unit)
{
    uint64_t left = tree->entries - unit * UNIT_ENTRIES;
    return left < UNIT_ENTRIES ? (uint32_t)left : UNIT_ENTRIES;
}

typedef struct implicit_summary_job {
    copse_implicit *tree;
    copse_type type;
} implicit_summary_job;

static void implicit_summarize(void *argument, uint64_t first_block, uint64_t last_block)
{
    const implicit_summary_job *job = argument;
    copse_implicit *tree = job->tree;
    const copse_unit *units = tree->units;
    for (uint64_t b = first_block; b < last_block; b++) {
        copse_aggregate all = COPSE_AGGREGATE_EMPTY;
        uint64_t first = b * COPSE_IMPLICIT_BLOCK_UNITS, last = first + COPSE_IMPLICIT_BLOCK_UNITS;
        for (uint64_t u = first; u < last && u < tree->unit_count; u++)
            copse_aggregate_add(&all, job->type, units[u].values, implicit_unit_used(tree, u));
        tree->summary.level[0][b] = all;
    }
}

static void implicit_make_summary(const copse_index *index, copse_implicit *tree)
{
    uint64_t blocks = (tree->unit_count + COPSE_IMPLICIT_BLOCK_UNITS - 1) / COPSE_IMPLICIT_BLOCK_UNITS;
    uint32_t threads = copse_threads_for(index->ctx, tree->entries);
    if (!blocks || !copse_summary_create(index->ctx, blocks, &tree->summary)) return;
    implicit_summary_job job = {tree, index->value_type};
    copse_parallel(index->ctx, threads, blocks, copse_even_chunk(blocks, threads), implicit_summarize, &job);
    copse_summary_raise(index->ctx, &tree->summary, 0, blocks - 1, threads);
    tree->has_summary = true;
}

static inline uint64_t implicit_extend(copse_type type, VALUE value)
{
    return type == COPSE_I32 ? (uint64_t)(int64_t)(int32_t)value : (uint64_t)value;
}

/* Differences modulo 2^64 are exact as long as no range can sum to more than 64 bits hold. */
static bool implicit_sums_fit(const copse_implicit *tree, copse_type type)
{
    const copse_summary *s = &tree->summary;
    copse_aggregate all = COPSE_AGGREGATE_EMPTY;
    copse_summary_range(s, 0, s->items, &all);
    if (type == COPSE_U32 || type == COPSE_U64) return all.sum <= (copse_wide)UINT64_MAX;
    /* Signed: bound the sum of magnitudes by count times the largest magnitude, from the two extremes. */
    uint64_t half = sizeof(VALUE) == 4 ? UINT64_C(1) << 31 : UINT64_C(1) << 63;
    copse_wide low = (copse_wide)all.smallest - (copse_wide)half, high = (copse_wide)all.largest - (copse_wide)half;
    copse_wide most = -low > high ? -low : high;
    return most <= 0 || (copse_wide)tree->entries <= (copse_wide)INT64_MAX / most;
}

static void implicit_fill_sums(const copse_index *index, const copse_implicit *tree, copse_sum_unit *out,
                               uint64_t first, uint64_t last, uint64_t sum)
{
    const copse_unit *units = tree->units;
    for (uint64_t u = first; u < last; u++) {
        uint32_t used = implicit_unit_used(tree, u);
        for (uint32_t i = 0; i < UNIT_ENTRIES; i++) {
            out[u].keys[i] = units[u].keys[i];
            out[u].before[i] = sum;
            if (i < used) sum += implicit_extend(index->value_type, units[u].values[i]);
        }
    }
}

typedef struct implicit_sums_job {
    const copse_index *index;
    const copse_implicit *tree;
    copse_sum_unit *out;
    uint64_t chunks;
} implicit_sums_job;

/* Chunks begin at blocks of the summary, which knows the sum in front of them. */
static void implicit_sum_chunks(void *argument, uint64_t chunk, uint64_t end_chunk)
{
    const implicit_sums_job *job = argument;
    const copse_implicit *tree = job->tree;
    for (uint64_t c = chunk, blocks = tree->summary.items; c < end_chunk; c++) {
        uint64_t first = blocks * c / job->chunks, last = blocks * (c + 1) / job->chunks;
        copse_aggregate before = COPSE_AGGREGATE_EMPTY;
        copse_summary_range(&tree->summary, 0, first, &before);
        uint64_t end = last * COPSE_IMPLICIT_BLOCK_UNITS;
        implicit_fill_sums(job->index, tree, job->out, first * COPSE_IMPLICIT_BLOCK_UNITS,
                           end < tree->unit_count ? end : tree->unit_count, (uint64_t)before.sum);
    }
}

static void implicit_make_sums(const copse_index *index, copse_implicit *tree)
{
    if (!tree->has_summary || copse_type_is_float(index->value_type)) return;
    if (!implicit_sums_fit(tree, index->value_type)) return;
    size_t bytes = copse_memory_product(tree->unit_count + 1, sizeof(copse_sum_unit)); /* and one for the end */
    copse_sum_unit *out = copse_memory_alloc(index->ctx, bytes);
    if (!out) return;
    uint64_t blocks = tree->summary.items;
    implicit_sums_job job = {index, tree, out, blocks < 64 ? 1 : 64};
    copse_parallel(index->ctx, copse_threads_for(index->ctx, tree->entries), job.chunks, 1, implicit_sum_chunks, &job);
    copse_aggregate all = COPSE_AGGREGATE_EMPTY;
    copse_summary_range(&tree->summary, 0, blocks, &all);
    tree->total = (uint64_t)all.sum;
    for (uint32_t i = 0; i < UNIT_ENTRIES; i++) out[tree->unit_count].before[i] = tree->total;
    tree->sum_bytes = bytes;
    tree->sum_units = out;
    tree->has_sums = true;
}

/* Readers may come at the same time: the first makes it, the others wait; afterwards the flag alone is read. */
static void implicit_prepare(const copse_index *index, bool sums)
{
    copse_implicit *tree = index->tree;
    if (atomic_load_explicit(sums ? &tree->sums_tried : &tree->summary_tried, memory_order_acquire)) return;
    pthread_mutex_lock(&tree->lock);
    if (!atomic_load_explicit(&tree->summary_tried, memory_order_relaxed)) {
        implicit_make_summary(index, tree);
        atomic_store_explicit(&tree->summary_tried, true, memory_order_release);
    }
    if (sums && !atomic_load_explicit(&tree->sums_tried, memory_order_relaxed)) {
        implicit_make_sums(index, tree);
        atomic_store_explicit(&tree->sums_tried, true, memory_order_release);
    }
    pthread_mutex_unlock(&tree->lock);
}

/* Adds entries location .. end, unit by unit. */
static void implicit_scan(const copse_index *index, uint64_t location, uint64_t end, copse_aggregate *to)
{
    const copse_unit *units = ((const copse_implicit *)index->tree)->units;
    while (location < end) {
        uint32_t slot = (uint32_t)(location % UNIT_ENTRIES);
        uint32_t n = end - location < UNIT_ENTRIES - slot ? (uint32_t)(end - location) : UNIT_ENTRIES - slot;
        copse_aggregate_add(to, index->value_type, units[location / UNIT_ENTRIES].values + slot, n);
        location += n;
    }
}

static void implicit_aggregate(const copse_index *index, uint64_t location, uint64_t end, copse_aggregate_kind kind,
                               copse_aggregate *to)
{
    (void)kind;
    const copse_implicit *tree = index->tree;
    const uint64_t block = COPSE_IMPLICIT_BLOCK_UNITS * UNIT_ENTRIES;
    uint64_t first = (location + block - 1) / block, last = end / block;
    if (!tree->has_summary || first >= last) {
        implicit_scan(index, location, end, to);
        return;
    }
    implicit_scan(index, location, first * block, to);
    copse_summary_range(&tree->summary, first, last, to);
    implicit_scan(index, last * block, end, to);
}

COPSE_FETCH void fetch_block(const copse_index *index, uint64_t location)
{
    const copse_implicit *tree = index->tree;
    uint64_t first = location / UNIT_ENTRIES / COPSE_IMPLICIT_BLOCK_UNITS * COPSE_IMPLICIT_BLOCK_UNITS;
    for (uint64_t u = first; u < first + COPSE_IMPLICIT_BLOCK_UNITS && u < tree->unit_count; u++)
        __builtin_prefetch((const copse_unit *)tree->units + u, 0, 2);
}

COPSE_FETCH void implicit_fetch_range(const copse_index *index, uint64_t location, uint64_t end,
                                      copse_aggregate_kind kind)
{
    (void)kind;
    fetch_block(index, location);
    fetch_block(index, end);
}

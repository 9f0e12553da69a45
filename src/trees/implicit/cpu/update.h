/* Updates of the implicit tree: the batch is merged into a new tree, in parallel chunks. */
#pragma once

#include "trees/implicit/cpu/build.h"
#include "core/threads.h"
#include "cpu/merge.h"

typedef struct implicit_chunk {
    uint64_t pair, old;  /* where the chunk begins in the batch and in the tree */
    uint64_t out, count; /* where it begins in the new tree, and its size      */
} implicit_chunk;

/* Cuts batch and tree into `chunks` at the same keys; chunk[chunks] is the end. Equal batch keys stay together. */
static void implicit_cut(const copse_implicit *tree, const copse_batch *batch, implicit_chunk *chunk, uint64_t chunks)
{
    const copse_pair *pairs = batch->pairs;
    chunk[0] = (implicit_chunk){0, 0, 0, 0};
    for (uint64_t c = 1; c < chunks; c++) {
        uint64_t at = batch->n * c / chunks;
        if (at < chunk[c - 1].pair) at = chunk[c - 1].pair;
        while (at > 0 && at < batch->n && pairs[at].key == pairs[at - 1].key) at++;
        uint64_t old = tree->entries;
        if (at < batch->n) old = merge_seek(tree->units, chunk[c - 1].old, tree->entries, pairs[at].key);
        chunk[c] = (implicit_chunk){at, old, 0, 0};
    }
    chunk[chunks] = (implicit_chunk){batch->n, tree->entries, 0, 0};
}

typedef struct implicit_merge_job {
    const copse_implicit *old;
    copse_implicit *tree; /* the new one, once it is known how large */
    const copse_batch *batch;
    merge_kind kind;
    implicit_chunk *chunk;
} implicit_merge_job;

static void implicit_count_chunks(void *argument, uint64_t c, uint64_t end)
{
    const implicit_merge_job *job = argument;
    for (implicit_chunk *chunk = job->chunk; c < end; c++) {
        uint64_t fresh;
        merge_slice slice = merge_slice_of(job->batch, chunk[c].pair, chunk[c + 1].pair - chunk[c].pair);
        chunk[c].count = merge_count(job->old->units, chunk[c].old, chunk[c + 1].old, slice, job->kind, &fresh);
    }
}

static void implicit_write_chunks(void *argument, uint64_t c, uint64_t end)
{
    const implicit_merge_job *job = argument;
    for (const implicit_chunk *chunk = job->chunk; c < end; c++) {
        if (chunk[c].count == 0) continue;
        merge_sink sink = {.at = cursor_at(job->tree->units, chunk[c].out), .room = chunk[c].count};
        merge_slice slice = merge_slice_of(job->batch, chunk[c].pair, chunk[c + 1].pair - chunk[c].pair);
        merge_write(job->old->units, chunk[c].old, chunk[c + 1].old, slice, job->kind, &sink);
    }
}

/* Puts a tree whose entries are written in the place of the old one. */
static copse_status implicit_finish(copse_index *index, copse_implicit *tree, uint32_t threads)
{
    const copse_ctx *ctx = index->ctx;
    if (tree->entries) unit_pad(tree->units, tree->entries);
    copse_status status = copse_progress(ctx, "rebuilding the inner levels", tree->entries, tree->entries);
    if (status == COPSE_OK) status = implicit_build_levels(ctx, tree, threads);
    if (status == COPSE_OK)
        implicit_replace(index, tree);
    else
        copse_implicit_free(ctx, tree);
    return status;
}

static copse_status implicit_merge_chunks(copse_index *index, const copse_batch *batch, merge_kind kind,
                                          implicit_chunk *chunk, uint64_t chunks, uint32_t threads)
{
    const copse_ctx *ctx = index->ctx;
    const copse_implicit *old = index->tree;
    implicit_cut(old, batch, chunk, chunks);
    implicit_merge_job job = {old, NULL, batch, kind, chunk};
    copse_parallel(ctx, threads, chunks, 1, implicit_count_chunks, &job);
    uint64_t total = 0;
    for (uint64_t c = 0; c < chunks; c++) {
        chunk[c].out = total;
        total += chunk[c].count;
    }
    copse_implicit *tree;
    copse_status status = implicit_make(ctx, total, &tree);
    if (status != COPSE_OK) return status;
    job.tree = tree;
    copse_parallel(ctx, threads, chunks, 1, implicit_write_chunks, &job);
    return implicit_finish(index, tree, threads);
}

static copse_status implicit_merge(copse_index *index, const copse_batch *batch, merge_kind kind)
{
    const copse_implicit *old = index->tree;
    uint32_t threads = copse_threads_for(index->ctx, batch->n + old->entries);
    uint64_t chunks = threads == 1 ? 1 : threads * 8;
    size_t bytes = (chunks + 1) * sizeof(implicit_chunk);
    implicit_chunk *chunk = copse_memory_alloc(index->ctx, bytes);
    if (!chunk) return copse_fail_memory(index->ctx, bytes, "the update");
    copse_status status = implicit_merge_chunks(index, batch, kind, chunk, chunks, threads);
    copse_memory_free(index->ctx, chunk, bytes);
    return status;
}

static copse_status implicit_insert(copse_index *index, const copse_batch *batch, uint32_t flags,
                                    uint64_t *out_inserted)
{
    uint64_t before = ((copse_implicit *)index->tree)->entries;
    copse_status status =
        before ? implicit_merge(index, batch, merge_kind_of(index, flags)) : implicit_build(index, batch);
    if (status == COPSE_OK) *out_inserted = ((copse_implicit *)index->tree)->entries - before;
    return status;
}

static copse_status implicit_erase(copse_index *index, const copse_batch *batch, uint64_t *out_erased)
{
    uint64_t before = ((copse_implicit *)index->tree)->entries;
    if (before == 0) return COPSE_OK;
    copse_status status = implicit_merge(index, batch, MERGE_ERASE);
    if (status == COPSE_OK) *out_erased = before - ((copse_implicit *)index->tree)->entries;
    return status;
}

static copse_status implicit_apply(copse_index *index, const copse_batch *batch)
{
    const copse_implicit *tree = index->tree;
    return tree->entries ? implicit_merge(index, batch, merge_kind_of_apply(batch)) : implicit_build(index, batch);
}

/* --- erasing stretches ------------------------------------------------------------------------------------------------- */

typedef struct implicit_keep_job {
    const copse_implicit *old;
    copse_implicit *tree;
    const copse_stretch *stretches;
    uint64_t n;
} implicit_keep_job;

/* Stretches in front of entry `at` of the new tree. */
static uint64_t implicit_stretches_before(const implicit_keep_job *job, uint64_t at)
{
    uint64_t low = 0, high = job->n;
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        if (job->stretches[middle].first - job->stretches[middle].before <= at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Writes units first .. last of the new tree: what the old one has between the stretches. */
static void implicit_keep_chunk(void *argument, uint64_t first, uint64_t last)
{
    const implicit_keep_job *job = argument;
    const uint64_t entries = job->tree->entries;
    const uint64_t end = last * UNIT_ENTRIES < entries ? last * UNIT_ENTRIES : entries;
    uint64_t at = first * UNIT_ENTRIES, next = implicit_stretches_before(job, at), from = at;
    if (next)
        from = job->stretches[next - 1].end + (at - (job->stretches[next - 1].first - job->stretches[next - 1].before));
    while (at < end) {
        const uint64_t stop = next < job->n ? job->stretches[next].first : job->old->entries;
        const uint64_t count = stop - from < end - at ? stop - from : end - at;
        merge_sink sink = {.at = cursor_at(job->tree->units, at), .room = count};
        merge_write(job->old->units, from, from + count, (merge_slice){0}, MERGE_ERASE, &sink);
        at += count;
        if (at < end) from = job->stretches[next++].end;
    }
}

static copse_status implicit_erase_between(copse_index *index, const copse_stretch *stretches, uint64_t n,
                                           uint64_t erased)
{
    implicit_keep_job job = {.old = index->tree, .stretches = stretches, .n = n};
    const uint32_t threads = copse_threads_for(index->ctx, job.old->entries);
    copse_status status = implicit_make(index->ctx, job.old->entries - erased, &job.tree);
    if (status != COPSE_OK) return status;
    copse_parallel(index->ctx, threads, job.tree->unit_count, copse_even_chunk(job.tree->unit_count, threads),
                   implicit_keep_chunk, &job);
    return implicit_finish(index, job.tree, threads);
}

/*
 * The CPU driver: passes over values. The entries are cut into pieces, one at a time for each thread; a piece goes in blocks through a
 * buffer that stays in the first-level cache, or straight over the tree's own memory, where values lie in a row.
 */
#include "cpu/driver.h"

#include "core/pass.h"
#include "core/threads.h"

#include <string.h>

#define BLOCK      2048u
#define OWN_COUNTS 1024u /* bins of a histogram up to which a piece counts on its own */

/* What came of a piece. */
typedef struct visit_piece {
    copse_pass_sums sums;
    uint64_t fit; /* FILTER; then, where its entries go */
} visit_piece;

typedef struct visit_job {
    const copse_index *index;
    const copse_pass *pass;
    const copse_pass_loops *loops;
    uint64_t rank; /* of the first entry */
    uint64_t chunk;
    visit_piece *pieces;
    bool writes; /* FILTER: the second time */
} visit_job;

/* Entries in a row. */
typedef struct visit_block {
    const void *keys, *values;
    uint64_t n;
    uint64_t room[2][BLOCK];
} visit_block;

/* Up to `most` entries from a rank on. */
static void block_read(const visit_job *job, uint64_t rank, uint64_t most, bool keys, visit_block *out)
{
    const copse_cpu_tree *tree = copse_cpu_tree_of(job->index);
    const uint64_t location = tree->select(job->index, rank);
    const bool lent = tree->values && !keys;
    out->n = lent || most < BLOCK ? most : BLOCK;
    out->keys = keys ? out->room[0] : NULL;
    out->values = lent ? tree->values(job->index, location, &out->n) : out->room[1];
    if (!lent) tree->copy(job->index, location, out->n, 0, keys ? out->room[0] : NULL, out->room[1]);
}

static void *array_at(void *array, uint64_t at, size_t width)
{
    return array ? (char *)array + at * width : NULL;
}

/* MAP: entry `at` of the pass and those behind it go to their places. */
static void block_map(const visit_job *job, const visit_block *block, uint64_t at)
{
    const copse_pass *pass = job->pass;
    const size_t key = copse_type_size(job->index->key_type), value = copse_value_width(job->index->value_type);
    if (pass->values) job->loops->map(pass, block->values, block->n, array_at(pass->values, at, value));
    if (pass->keys) memcpy(array_at(pass->keys, at, key), block->keys, block->n * key);
}

static void block_filter(const visit_job *job, const visit_block *block, visit_piece *piece)
{
    const copse_pass *pass = job->pass;
    const size_t key = copse_type_size(job->index->key_type), value = copse_value_width(job->index->value_type);
    const uint64_t left = piece->fit < pass->most ? pass->most - piece->fit : 0;
    piece->fit += job->loops->filter(pass, block->keys, block->values, block->n, job->writes ? left : 0,
                                     array_at(pass->keys, piece->fit, key), array_at(pass->values, piece->fit, value));
}

static void piece_visit(void *argument, uint64_t first, uint64_t last)
{
    const visit_job *job = argument;
    const copse_pass *pass = job->pass;
    const bool keys = pass->keys && (pass->kind == COPSE_PASS_MAP || job->writes);
    visit_piece *piece = job->pieces + first / job->chunk;
    visit_block block;
    uint64_t own[OWN_COUNTS + COPSE_BINS_OUTSIDE] = {0}, *counts = pass->bins > OWN_COUNTS ? pass->counts : own;
    for (uint64_t at = first; at < last; at += block.n) {
        block_read(job, job->rank + at, last - at, keys, &block);
        if (pass->kind == COPSE_PASS_MAP)
            block_map(job, &block, at);
        else if (pass->kind == COPSE_PASS_REDUCE)
            job->loops->reduce(pass, block.values, block.n, &piece->sums);
        else if (pass->kind == COPSE_PASS_HISTOGRAM)
            job->loops->histogram(pass, block.values, block.n, counts, counts != own);
        else
            block_filter(job, &block, piece);
    }
    for (uint32_t i = 0; pass->kind == COPSE_PASS_HISTOGRAM && counts == own && i < pass->bins + COPSE_BINS_OUTSIDE;
         i++)
        __atomic_fetch_add(pass->counts + i, own[i], __ATOMIC_RELAXED);
}

/* From how many entries of each piece fit to where the first of them goes. */
static uint64_t pieces_add_up(visit_piece *pieces, uint64_t n)
{
    uint64_t all = 0;
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t fit = pieces[i].fit;
        pieces[i].fit = all;
        all += fit;
    }
    return all;
}

static copse_status pieces_run(visit_job *job, copse_pass *pass, uint64_t n, uint32_t threads)
{
    const copse_ctx *ctx = job->index->ctx;
    const uint64_t count = (n + job->chunk - 1) / job->chunk;
    copse_status status = COPSE_OK;
    pass->n = n;
    if (pass->kind == COPSE_PASS_MAP) {
        status = copse_pass_room(ctx, pass);
        if (status != COPSE_OK || !copse_pass_writes(pass)) return status;
    }
    copse_parallel(ctx, threads, n, job->chunk, piece_visit, job);
    for (uint64_t i = 0; i < count && pass->kind == COPSE_PASS_REDUCE; i++)
        copse_pass_sums_merge(&pass->sums, &job->pieces[i].sums);
    if (pass->kind != COPSE_PASS_FILTER) return COPSE_OK;
    pass->n = pieces_add_up(job->pieces, count);
    status = copse_pass_room(ctx, pass);
    if (status != COPSE_OK || !copse_pass_writes(pass)) return status;
    job->writes = true;
    copse_parallel(ctx, threads, n, job->chunk, piece_visit, job);
    return COPSE_OK;
}

copse_status copse_cpu_visit(const copse_index *index, copse_pass *pass)
{
    uint64_t first = 0, end = copse_size(index);
    copse_status status = COPSE_OK;
    if (pass->low) status = copse_cpu_bound_rank(index, pass->low, false, &first);
    if (status == COPSE_OK && pass->high) status = copse_cpu_bound_rank(index, pass->high, true, &end);
    pass->n = 0;
    if (status != COPSE_OK || first >= end) return status;
    const uint64_t n = end - first;
    const uint32_t threads = copse_threads_for(index->ctx, n);
    visit_job job = {.index = index, .pass = pass, .loops = copse_pass_loops_of(index), .rank = first};
    job.chunk = copse_even_chunk(n, threads);
    const uint64_t count = (n + job.chunk - 1) / job.chunk;
    const size_t bytes = count * sizeof *job.pieces;
    job.pieces = copse_memory_alloc(index->ctx, bytes);
    if (!job.pieces) return copse_fail_memory(index->ctx, bytes, "the visit");
    for (uint64_t i = 0; i < count; i++) job.pieces[i] = (visit_piece){COPSE_PASS_SUMS_EMPTY, 0};
    status = pieces_run(&job, pass, n, threads);
    copse_memory_free(index->ctx, job.pieces, bytes);
    return status;
}

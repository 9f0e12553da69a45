/*
 * The CPU driver: mixed batches, that is point operations that behave as if they ran one after the other.
 *
 * They are sorted by key, which leaves those of one key in array order, and only those can see each other's work. One
 * lookup finds how a key begins; its operations are replayed from there; how it ends up goes into the tree, with all
 * other keys, in one update. So nothing is changed before the last step that can fail.
 */
#include "cpu/driver_mixed.h"

#include "core/threads.h"
#include "cpu/driver.h"

#include <string.h>

static const mixed_width *const widths[COPSE_WIDTH_PAIRS] = COPSE_WIDTH_ROW(copse_mixed);

/* Every chunk begins where another key does; chunks may be empty. */
static void cut_chunks(const mixed_call *call, const mixed_width *width, mixed_chunk *chunk, uint64_t chunks)
{
    for (uint64_t p = 0; p < chunks; p++) {
        chunk[p] = (mixed_chunk){.first = p ? chunk[p - 1].last : 0};
        uint64_t last = width->cut(call->sorted, call->n, call->n / chunks * (p + 1));
        chunk[p].last = p + 1 == chunks ? call->n : last > chunk[p].first ? last : chunk[p].first;
    }
}

/* Moves the changes of the chunks together. Returns how many there are. */
static uint64_t join_chunks(const mixed_call *call, const mixed_width *width, const mixed_chunk *chunk, uint64_t chunks,
                            bool *out_gone)
{
    uint64_t n = chunk[0].changes;
    *out_gone = chunk[0].has_gone;
    for (uint64_t p = 1; p < chunks; p++) {
        char *changes = call->sorted;
        memmove(changes + n * width->change_bytes, changes + chunk[p].first * width->sorted_bytes,
                chunk[p].changes * width->change_bytes);
        memmove(call->gone + n, call->gone + chunk[p].first, chunk[p].changes);
        n += chunk[p].changes;
        *out_gone |= chunk[p].has_gone;
    }
    return n;
}

typedef struct replay_job {
    const mixed_call *call;
    const mixed_width *width;
    mixed_chunk *chunk;
} replay_job;

static void replay_chunks(void *argument, uint64_t first, uint64_t last)
{
    const replay_job *job = argument;
    for (uint64_t p = first; p < last; p++) job->width->replay(job->call, &job->chunk[p]);
}

/* Answers every operation and collects what changes, on all threads. */
static copse_status replay(const mixed_call *call, const mixed_width *width, copse_batch *out)
{
    const copse_ctx *ctx = call->index->ctx;
    uint32_t threads = copse_threads_for(ctx, call->n);
    uint64_t chunks = threads == 1 ? 1 : threads * 8;
    mixed_chunk *chunk = copse_memory_alloc(ctx, chunks * sizeof *chunk);
    bool gone;
    if (!chunk) return copse_fail_memory(ctx, chunks * sizeof *chunk, "the batch");
    cut_chunks(call, width, chunk, chunks);
    replay_job job = {call, width, chunk};
    copse_parallel(ctx, threads, chunks, 1, replay_chunks, &job);
    uint64_t n = join_chunks(call, width, chunk, chunks, &gone);
    *out = (copse_batch){.n = n,
                         .key_type = call->index->key_type,
                         .value_type = call->index->value_type,
                         .pairs = call->sorted,
                         .gone = gone ? call->gone : NULL,
                         .does = call->index->duplicates ? call->gone : NULL};
    copse_memory_free(ctx, chunk, chunks * sizeof *chunk);
    return copse_progress(ctx, "applying", call->n, call->n);
}

static copse_status apply_here(copse_index *index, const uint8_t *operations, const void *keys, mixed_call *call)
{
    const copse_ctx *ctx = index->ctx;
    const mixed_width *width =
        widths[copse_width_pair(copse_type_size(index->key_type), copse_value_width(index->value_type))];
    copse_batch sorted, changes = {0};
    copse_status status = copse_batch_make_tagged(index, keys, operations, call->n, "applying", &sorted);
    if (status != COPSE_OK) return status;
    call->sorted = sorted.memory;
    call->gone = copse_memory_alloc(ctx, call->n);
    status = call->gone ? replay(call, width, &changes) : copse_fail_memory(ctx, call->n, "the changes of the batch");
    if (status == COPSE_OK && changes.n) status = copse_cpu_tree_of(index)->apply(index, &changes);
    if (status == COPSE_OK && changes.n) copse_version_advance(index);
    copse_memory_free(ctx, call->gone, call->n);
    copse_batch_free(ctx, &sorted);
    return status;
}

copse_status copse_cpu_check_operations(const copse_index *index, const uint8_t *operations, uint64_t n,
                                        bool has_values, bool *out_finds, bool *out_adds)
{
    uint8_t most = 0, needs = 0, adds = 0;
    for (uint64_t i = 0; i < n; i++) {
        const uint8_t code = operations[i];
        most = code > most ? code : most;
        adds |= code == COPSE_OP_ADD;
        needs |= (uint8_t)(code ^ code >> 1 ^ code >> 2); /* bit 0: UPSERT, INSERT_IF_ABSENT or ADD */
    }
    *out_finds = most == COPSE_OP_FIND;
    *out_adds = adds;
    if (most <= COPSE_OP_ADD && adds && index->value_type == COPSE_NONE) return copse_fail_set(index, "copse_apply");
    if (most <= COPSE_OP_ADD && (has_values || !(needs & 1))) return COPSE_OK;
    uint64_t at = 0;
    while (most > COPSE_OP_ADD && operations[at] <= COPSE_OP_ADD) at++;
    if (most > COPSE_OP_ADD) return copse_fail_operation(index->ctx, at, operations[at]);
    while (operations[at] == COPSE_OP_FIND || operations[at] == COPSE_OP_ERASE) at++;
    return copse_fail_no_value(index->ctx, at);
}

copse_status copse_cpu_apply(copse_index *index, const uint8_t *operations, const void *keys, const void *values,
                             uint64_t n, void *out_values, uint8_t *out_found)
{
    bool finds, adds;
    const bool has_values = values || index->value_type == COPSE_NONE;
    copse_status status = copse_cpu_check_operations(index, operations, n, has_values, &finds, &adds);
    if (status != COPSE_OK) return status;
    if (finds) return copse_cpu_find(index, keys, n, out_values, out_found);
    mixed_call call = {
        .index = index, .n = n, .values = values, .out_values = out_values, .out_found = out_found, .adds = adds};
    return apply_here(index, operations, keys, &call);
}

/*
 * The CPU driver: erasing pairs of key and value.
 *
 * Where keys are there once, a lookup says which of them have the value; those are erased. Where they may repeat, the entries of
 * each key of the batch are read, and what is left of them takes their place: a cost of the batch and of the groups that it touches.
 * Nothing is changed before the last step that can fail.
 */
#include "cpu/driver_pairs.h"

#include "core/threads.h"
#include "cpu/driver.h"

#include <string.h>

static const pairs_width *const widths[COPSE_WIDTH_PAIRS] = COPSE_WIDTH_ROW(copse_pairs);

/* --- keys that are there once ------------------------------------------------------------------------------------------- */

/* Moves the keys that have the wanted value together, into `chosen`. Returns how many. */
static uint64_t choose(const copse_index *index, const void *keys, const void *wanted, uint64_t n, const void *values,
                       const uint8_t *found, char *chosen)
{
    const size_t key = copse_type_size(index->key_type), value = copse_value_width(index->value_type);
    uint64_t kept = 0;
    for (uint64_t i = 0; i < n; i++) {
        if (!found[i]) continue;
        if (wanted && memcmp((const char *)wanted + i * value, (const char *)values + i * value, value) != 0) continue;
        memcpy(chosen + kept++ * key, (const char *)keys + i * key, key);
    }
    return kept;
}

static copse_status erase_unique(copse_index *index, const void *keys, const void *wanted, uint64_t n,
                                 uint64_t *out_erased)
{
    const copse_ctx *ctx = index->ctx;
    const size_t key = copse_type_size(index->key_type), value = copse_value_width(index->value_type);
    const size_t bytes = copse_memory_product(n, key + value + 1);
    char *memory = copse_memory_alloc(ctx, bytes);
    if (!memory) return copse_fail_memory(ctx, bytes, "erasing pairs");
    char *values = memory, *chosen = memory + n * (value > key ? value : key); /* the wider first: both are aligned */
    if (key > value) {
        chosen = memory;
        values = memory + n * key;
    }
    uint8_t *found = (uint8_t *)memory + n * (key + value);
    copse_status status = copse_cpu_find(index, keys, n, values, found);
    if (status == COPSE_OK) {
        const uint64_t kept = choose(index, keys, wanted, n, values, found, chosen);
        if (kept) status = copse_cpu_erase(index, chosen, kept, out_erased);
    }
    copse_memory_free(ctx, memory, bytes);
    return status;
}

/* --- duplicates ----------------------------------------------------------------------------------------------------------- */

/* What a call takes from memory. */
typedef struct pairs_memory {
    void *memory[6];
    size_t bytes[6];
    unsigned n;
} pairs_memory;

static void *take(const copse_ctx *ctx, pairs_memory *m, uint64_t count, size_t size)
{
    void *memory = copse_memory_alloc(ctx, copse_memory_product(count, size));
    if (!memory) {
        (void)copse_fail_memory(ctx, copse_memory_product(count, size), "erasing pairs");
        return NULL;
    }
    m->memory[m->n] = memory;
    m->bytes[m->n++] = count * size;
    return memory;
}

/* Moves the changes of all runs together. Returns how many there are. */
static uint64_t join(const pairs_call *call, size_t change_bytes, uint64_t *out_taken)
{
    uint64_t n = 0;
    for (uint64_t r = 0; r < call->runs; r++) {
        const pairs_run *run = &call->run[r];
        char *changes = call->changes;
        memmove(changes + n * change_bytes, changes + run->out * change_bytes, run->made * change_bytes);
        memmove(call->does + n, call->does + run->out, run->made);
        n += run->made;
        *out_taken += run->taken;
    }
    return n;
}

typedef struct match_job {
    const pairs_call *call;
    const pairs_width *width;
} match_job;

static void match_runs(void *argument, uint64_t first, uint64_t last)
{
    const match_job *job = argument;
    for (uint64_t r = first; r < last; r++)
        if (job->call->run[r].entries) job->width->match(job->call, &job->call->run[r]);
}

static copse_status match_all(pairs_call *call, const pairs_width *width, pairs_memory *m, copse_batch *out,
                              uint64_t *out_taken)
{
    const copse_ctx *ctx = call->index->ctx;
    const size_t value = copse_value_width(call->index->value_type);
    uint64_t room = 0;
    for (uint64_t r = 0; r < call->runs; r++) {
        call->run[r].out = room;
        if (call->run[r].entries) room += call->run[r].entries + 1;
    }
    if (room == 0) return COPSE_OK;
    if (!(call->wanted = take(ctx, m, call->n, value)) || !(call->left = take(ctx, m, call->n, sizeof *call->left)) ||
        !(call->group = take(ctx, m, room, value)) || !(call->changes = take(ctx, m, room, width->change_bytes)) ||
        !(call->does = take(ctx, m, room, 1)))
        return COPSE_ERR_MEMORY;
    const uint32_t threads = copse_threads_for(ctx, room);
    match_job job = {call, width};
    copse_parallel(ctx, threads, call->runs, copse_even_chunk(call->runs, threads), match_runs, &job);
    *out = (copse_batch){.n = join(call, width->change_bytes, out_taken),
                         .key_type = call->index->key_type,
                         .value_type = call->index->value_type,
                         .pairs = call->changes,
                         .does = call->does};
    return COPSE_OK;
}

static copse_status erase_groups(copse_index *index, const void *keys, const void *values, uint64_t n,
                                 uint64_t *out_erased)
{
    const copse_ctx *ctx = index->ctx;
    const pairs_width *width =
        widths[copse_width_pair(copse_type_size(index->key_type), copse_value_width(index->value_type))];
    copse_batch sorted, changes = {0};
    pairs_memory m = {.n = 0};
    uint64_t taken = 0;
    copse_status status = copse_batch_make_tagged(index, keys, NULL, n, "erasing", &sorted);
    if (status != COPSE_OK) return status;
    pairs_call call = {.index = index, .sorted = sorted.memory, .n = n, .values = values};
    call.runs = width->count_runs(call.sorted, n);
    call.run = take(ctx, &m, call.runs, sizeof *call.run);
    if (!call.run) status = COPSE_ERR_MEMORY;
    if (status == COPSE_OK) {
        width->find_runs(&call);
        status = match_all(&call, width, &m, &changes, &taken);
    }
    if (status == COPSE_OK && changes.n) status = copse_cpu_tree_of(index)->apply(index, &changes);
    if (status == COPSE_OK) *out_erased = taken;
    while (m.n) {
        m.n--;
        copse_memory_free(ctx, m.memory[m.n], m.bytes[m.n]);
    }
    copse_batch_free(ctx, &sorted);
    return status;
}

copse_status copse_cpu_erase_pairs(copse_index *index, const void *keys, const void *values, uint64_t n,
                                   uint64_t *out_erased)
{
    return index->duplicates ? erase_groups(index, keys, values, n, out_erased)
                             : erase_unique(index, keys, values, n, out_erased);
}

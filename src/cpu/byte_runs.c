/* Updates of trees of byte strings, as changes to lists of values. */
#include "cpu/byte_runs.h"
#include "cpu/driver.h"

#include <math.h>

void copse_byte_given_value(const copse_byte_update *update, uint64_t at, char *to)
{
    const copse_type type = update->index->value_type;
    const double wide = (double)at;
    const float single = (float)at;
    const uint32_t low = (uint32_t)at;
    if (update->given)
        memcpy(to, (const char *)update->given + at * update->width, update->width);
    else if (update->width == sizeof wide)
        memcpy(to, type == COPSE_F64 ? (const void *)&wide : (const void *)&at, update->width);
    else
        memcpy(to, type == COPSE_F32 ? (const void *)&single : (const void *)&low, update->width);
}

/* COPSE_OP_ADD: integers wrap, and a sum that is no number is always the same one. */
static void value_add(const copse_byte_update *update, uint64_t at, char *to)
{
    const copse_type type = update->index->value_type;
    uint64_t wide[2] = {0, 0};
    uint32_t words[2] = {0, 0};
    void *both = update->width == sizeof *wide ? (void *)wide : (void *)words;
    memcpy(both, to, update->width);
    copse_byte_given_value(update, at, (char *)both + update->width);
    if (type == COPSE_F64) {
        double numbers[2];
        memcpy(numbers, wide, sizeof numbers);
        numbers[0] += numbers[1];
        wide[0] = UINT64_C(0x7ff8000000000000);
        if (!isnan(numbers[0])) memcpy(wide, numbers, sizeof *wide);
    } else if (type == COPSE_F32) {
        float numbers[2];
        memcpy(numbers, words, sizeof numbers);
        numbers[0] += numbers[1];
        words[0] = 0x7fc00000u;
        if (!isnan(numbers[0])) memcpy(words, numbers, sizeof *words);
    } else {
        wide[0] += wide[1];
        words[0] += words[1];
    }
    memcpy(to, both, update->width);
}

/* --- runs ----------------------------------------------------------------------------------------------------------- */

static void update_free(copse_byte_update *update)
{
    const copse_ctx *ctx = update->index->ctx;
    copse_byte_batch_free(ctx, &update->batch);
    copse_memory_free(ctx, update->runs, update->run_bytes);
    copse_memory_free(ctx, update->values, update->value_bytes);
}

/* Finds the runs, and makes room for the values that they may get: those that are there, and one for each operation. */
static copse_status runs_find(const copse_byte_updater *tree, copse_byte_update *update)
{
    const copse_ctx *ctx = update->index->ctx;
    const copse_byte_batch *batch = &update->batch;
    uint64_t runs = 0, values = 0;
    for (uint64_t i = 0; i < batch->n; i = copse_byte_batch_run(batch, i)) runs++;
    update->run_bytes = copse_memory_product(runs, sizeof *update->runs);
    update->runs = copse_memory_alloc(ctx, update->run_bytes);
    if (!update->runs) return copse_fail_memory(ctx, update->run_bytes, "the batch");
    for (uint64_t i = 0, last; i < batch->n; i = last) {
        last = copse_byte_batch_run(batch, i);
        update->runs[update->n++] = (copse_byte_run){.first = i, .last = last};
    }
    copse_status status = tree->locate(update);
    if (status != COPSE_OK) return status;
    for (uint64_t r = 0; r < runs; r++) {
        update->runs[r].at = values;
        values += update->runs[r].old_n + (update->runs[r].last - update->runs[r].first);
    }
    update->value_bytes = copse_memory_product(values + 1, update->width ? update->width : 1);
    update->values = copse_memory_alloc(ctx, update->value_bytes);
    return update->values ? COPSE_OK : copse_fail_memory(ctx, update->value_bytes, "the batch");
}

static copse_status update_open(const copse_byte_updater *tree, copse_index *index, const void *keys,
                                const void *values, uint64_t n, const char *what, copse_byte_update *out)
{
    *out = (copse_byte_update){.index = index, .given = values, .width = copse_type_size(index->value_type)};
    copse_status status = copse_byte_batch_make(index->ctx, keys, n, what, &out->batch);
    if (status == COPSE_OK) status = runs_find(tree, out);
    if (status != COPSE_OK) update_free(out);
    return status;
}

/* The values that the tree has. */
static void run_keep(copse_byte_update *update, copse_byte_run *run)
{
    run->n = run->old_n;
    if (run->n && update->width) memcpy(copse_byte_run_value(update, run, 0), run->old, run->n * update->width);
}

/* Another value behind them: the one of this position of the batch. */
static void run_append(copse_byte_update *update, copse_byte_run *run, uint64_t position)
{
    copse_byte_given_value(update, position, copse_byte_run_value(update, run, run->n++));
}

bool copse_byte_run_same(const copse_byte_update *update, const copse_byte_run *run)
{
    if (run->n != run->old_n) return false;
    return run->n == 0 || update->width == 0 ||
           memcmp(copse_byte_run_value(update, run, 0), run->old, run->n * update->width) == 0;
}

/* --- insert, erase -------------------------------------------------------------------------------------------------- */

static void insert_run(copse_byte_update *update, copse_byte_run *run, uint32_t flags)
{
    const copse_byte_item *items = update->batch.items;
    const bool absent_only = flags & COPSE_INSERT_IF_ABSENT;
    if (absent_only || update->index->duplicates) run_keep(update, run);
    if (absent_only) {
        if (run->n == 0) run_append(update, run, items[run->first].position);
    } else if (update->index->duplicates) {
        for (uint64_t i = run->first; i < run->last; i++) run_append(update, run, items[i].position);
    } else {
        run_append(update, run, items[run->last - 1].position);
    }
}

copse_status copse_byte_insert(const copse_byte_updater *tree, copse_index *index, const void *keys, const void *values,
                               uint64_t n, uint32_t flags, uint64_t *out_inserted)
{
    const uint64_t before = copse_size(index);
    copse_byte_update update;
    copse_status status = update_open(tree, index, keys, values, n, "inserting", &update);
    if (status != COPSE_OK) return status;
    for (uint64_t r = 0; r < update.n; r++) insert_run(&update, &update.runs[r], flags);
    status = tree->merge(&update);
    update_free(&update);
    if (status == COPSE_OK) *out_inserted = copse_size(index) - before;
    return status;
}

copse_status copse_byte_erase(const copse_byte_updater *tree, copse_index *index, const void *keys, uint64_t n,
                              uint64_t *out_erased)
{
    const uint64_t before = copse_size(index);
    copse_byte_update update;
    copse_status status = update_open(tree, index, keys, NULL, n, "erasing", &update); /* runs begin without values */
    if (status != COPSE_OK) return status;
    status = tree->merge(&update);
    update_free(&update);
    if (status == COPSE_OK) *out_erased = before - copse_size(index);
    return status;
}

/* Takes away the first value that is the one of this position of the batch; in a set, where all are alike, any. */
static void run_erase_value(copse_byte_update *update, copse_byte_run *run, uint64_t position)
{
    const size_t width = update->width;
    const char *wanted = update->given ? (const char *)update->given + position * width : NULL;
    uint64_t i = 0;
    while (i < run->n && wanted && memcmp(copse_byte_run_value(update, run, i), wanted, width) != 0) i++;
    if (i == run->n) return;
    memmove(copse_byte_run_value(update, run, i), copse_byte_run_value(update, run, i + 1), (run->n - i - 1) * width);
    run->n--;
}

copse_status copse_byte_erase_pairs(const copse_byte_updater *tree, copse_index *index, const void *keys,
                                    const void *values, uint64_t n, uint64_t *out_erased)
{
    const uint64_t before = copse_size(index);
    copse_byte_update update;
    copse_status status = update_open(tree, index, keys, values, n, "erasing", &update);
    if (status != COPSE_OK) return status;
    for (uint64_t r = 0; r < update.n; r++) {
        copse_byte_run *run = &update.runs[r];
        run_keep(&update, run);
        for (uint64_t i = run->first; i < run->last; i++) run_erase_value(&update, run, update.batch.items[i].position);
    }
    status = tree->merge(&update);
    update_free(&update);
    if (status == COPSE_OK) *out_erased = before - copse_size(index);
    return status;
}

/* --- apply ---------------------------------------------------------------------------------------------------------- */

typedef struct apply_call {
    const uint8_t *operations;
    char *out_values;
    uint8_t *out_found;
} apply_call;

/* Answers the operation at this position, and does what it says. */
static void apply_step(copse_byte_update *update, copse_byte_run *run, const apply_call *call, uint64_t position)
{
    const size_t width = update->width;
    if (call->out_found) call->out_found[position] = run->n != 0;
    if (call->out_values && run->n)
        memcpy(call->out_values + position * width, copse_byte_run_value(update, run, 0), width);
    if (call->out_values && !run->n) memset(call->out_values + position * width, 0, width);
    switch (call->operations[position]) {
    case COPSE_OP_UPSERT:
        if (!update->index->duplicates) run->n = 0;
        run_append(update, run, position);
        break;
    case COPSE_OP_INSERT_IF_ABSENT:
        if (run->n == 0) run_append(update, run, position);
        break;
    case COPSE_OP_ADD:
        if (run->n)
            value_add(update, position, copse_byte_run_value(update, run, 0));
        else
            run_append(update, run, position);
        break;
    case COPSE_OP_ERASE:
        run->n = 0;
        break;
    default:
        break;
    }
}

copse_status copse_byte_apply(const copse_byte_updater *tree, copse_index *index, const uint8_t *operations,
                              const void *keys, const void *values, uint64_t n, void *out_values, uint8_t *out_found)
{
    const apply_call call = {operations, out_values, out_found};
    const bool has_values = values || index->value_type == COPSE_NONE;
    bool finds, adds, changed = false;
    copse_byte_update update;
    copse_status status = copse_cpu_check_operations(index, operations, n, has_values, &finds, &adds);
    if (status != COPSE_OK) return status;
    if (finds) return index->calls->find(index, keys, n, out_values, out_found);
    status = update_open(tree, index, keys, values, n, "applying", &update);
    if (status != COPSE_OK) return status;
    for (uint64_t r = 0; r < update.n; r++) {
        copse_byte_run *run = &update.runs[r];
        run_keep(&update, run);
        for (uint64_t i = run->first; i < run->last; i++)
            apply_step(&update, run, &call, update.batch.items[i].position);
        changed |= !copse_byte_run_same(&update, run);
    }
    if (changed) status = tree->merge(&update);
    update_free(&update);
    if (status == COPSE_OK && changed) copse_version_advance(index);
    return status;
}

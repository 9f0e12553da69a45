/*
 * The sorted array of byte strings: updates. The batch is sorted, and what it does to each of its keys is worked out as a *run*:
 *
 *   entries of the tree    ...  | fig 1 | fig 2 |  ...          the values 1, 2 of fig are copied behind those of the runs before,
 *   operations of the batch     erase fig, insert fig 9         the operations change them as a list, in array order: 9,
 *   new tree               ...  | fig 9 |          ...          and the merge puts the run in the place of the entries
 *
 * So an operation is a change to a list of values, the merge is one for all of them, and nothing can fail behind it.
 */
#include "core/byte_batch.h"
#include "core/spans.h"
#include "cpu/driver.h"
#include "trees/sorted/cpu/bytes.h"

#include <math.h>

/* One key of the batch. */
typedef struct byte_run {
    uint64_t first, last; /* items of the batch with the key: first up to last        */
    uint64_t equal, end;  /* entries of the tree with the key: equal up to end        */
    uint64_t at, n;       /* values that it will have: the n from value `at` of the update on */
} byte_run;

/* One update at work. */
typedef struct byte_update {
    copse_index *index;
    const copse_sorted_bytes *old;
    const void *given; /* the caller's values, or NULL: positions */
    size_t width;      /* of a value                              */
    copse_byte_batch batch;
    byte_run *runs;
    uint64_t n; /* runs */
    size_t run_bytes;
    char *values;
    size_t value_bytes;
} byte_update;

/* The value that position `at` of the batch comes with. */
static void given_value(const byte_update *update, uint64_t at, char *to)
{
    const copse_type type = update->index->value_type;
    const double wide = (double)at;
    const float narrow = (float)at;
    const uint32_t low = (uint32_t)at;
    if (update->given)
        memcpy(to, (const char *)update->given + at * update->width, update->width);
    else if (update->width == sizeof wide)
        memcpy(to, type == COPSE_F64 ? (const void *)&wide : (const void *)&at, update->width);
    else
        memcpy(to, type == COPSE_F32 ? (const void *)&narrow : (const void *)&low, update->width);
}

/* COPSE_OP_ADD: integers wrap, and a sum that is no number is always the same one. */
static void value_add(const byte_update *update, uint64_t at, char *to)
{
    const copse_type type = update->index->value_type;
    uint64_t wide[2] = {0, 0};
    uint32_t narrow[2] = {0, 0};
    void *both = update->width == sizeof *wide ? (void *)wide : (void *)narrow;
    memcpy(both, to, update->width);
    given_value(update, at, (char *)both + update->width);
    if (type == COPSE_F64) {
        double numbers[2];
        memcpy(numbers, wide, sizeof numbers);
        numbers[0] += numbers[1];
        wide[0] = UINT64_C(0x7ff8000000000000);
        if (!isnan(numbers[0])) memcpy(wide, numbers, sizeof *wide);
    } else if (type == COPSE_F32) {
        float numbers[2];
        memcpy(numbers, narrow, sizeof numbers);
        numbers[0] += numbers[1];
        narrow[0] = 0x7fc00000u;
        if (!isnan(numbers[0])) memcpy(narrow, numbers, sizeof *narrow);
    } else {
        wide[0] += wide[1];
        narrow[0] += narrow[1];
    }
    memcpy(to, both, update->width);
}

/* --- new arrays ----------------------------------------------------------------------------------------------------- */

/* An array with room for n entries and `length` bytes of keys, and nothing in it yet. False: no memory. */
static bool tree_allocate(const copse_ctx *ctx, uint64_t n, uint64_t length, size_t width, copse_sorted_bytes *out)
{
    *out = (copse_sorted_bytes){0};
    if (n == 0) return true;
    const size_t offset_bytes = copse_memory_product(n + 1, sizeof *out->offsets);
    const size_t value_bytes = copse_memory_product(n + 1, width) & ~(size_t)7;
    if (offset_bytes == SIZE_MAX || length > SIZE_MAX / 4)
        out->bytes = SIZE_MAX;
    else
        out->bytes = offset_bytes + value_bytes + length;
    out->offsets = copse_memory_alloc(ctx, out->bytes);
    if (!out->offsets) return false;
    out->offsets[0] = 0;
    out->values = (char *)out->offsets + offset_bytes;
    out->data = (unsigned char *)out->values + value_bytes;
    return true;
}

static void tree_replace(copse_index *index, const copse_sorted_bytes *by)
{
    copse_sorted_bytes *tree = index->tree;
    copse_memory_free(index->ctx, tree->offsets, tree->bytes);
    *tree = *by;
}

/* Appends an entry; the caller writes its value to what is returned. */
static char *tree_put(copse_sorted_bytes *to, copse_slice key, size_t width)
{
    const uint64_t start = to->offsets[to->entries];
    memcpy(to->data + start, key.start, key.length);
    to->offsets[to->entries + 1] = start + key.length;
    return (char *)to->values + to->entries++ * width;
}

/* Appends entries first .. end of another array. */
static void tree_keep(copse_sorted_bytes *to, const copse_sorted_bytes *from, uint64_t first, uint64_t end,
                      size_t width)
{
    if (first == end) return;
    const uint64_t start = to->offsets[to->entries], was = from->offsets[first];
    memcpy(to->data + start, from->data + was, from->offsets[end] - was);
    memcpy((char *)to->values + to->entries * width, copse_sorted_bytes_value(from, first, width),
           (end - first) * width);
    for (uint64_t i = first; i < end; i++) to->offsets[++to->entries] = start + (from->offsets[i + 1] - was);
}

/* --- building ------------------------------------------------------------------------------------------------------- */

/* Of equal keys the last one stays, or all of them. */
static copse_status build_sorted(byte_update *update, copse_sorted_bytes *out)
{
    const copse_byte_batch *batch = &update->batch;
    const bool all = update->index->duplicates;
    uint64_t entries = 0, length = 0, end;
    for (uint64_t i = 0; i < batch->n; i = end) {
        end = all ? i + 1 : copse_byte_batch_run(batch, i);
        length += copse_byte_batch_key(batch, i).length;
        entries++;
    }
    if (!tree_allocate(update->index->ctx, entries, length, update->width, out))
        return copse_fail_memory(update->index->ctx, out->bytes, "the sorted array");
    for (uint64_t i = 0; out->offsets && i < batch->n; i = end) {
        end = all ? i + 1 : copse_byte_batch_run(batch, i);
        given_value(update, batch->items[end - 1].position,
                    tree_put(out, copse_byte_batch_key(batch, i), update->width));
    }
    return COPSE_OK;
}

copse_status copse_sorted_bytes_build(copse_index *index, const void *keys, const void *values, uint64_t n)
{
    copse_sorted_bytes made = {0};
    byte_update update = {.index = index, .given = values, .width = copse_type_size(index->value_type)};
    copse_status status = COPSE_OK;
    if (n) {
        status = copse_byte_batch_make(index->ctx, keys, n, "building", &update.batch);
        if (status == COPSE_OK) status = build_sorted(&update, &made);
        copse_byte_batch_free(index->ctx, &update.batch);
    }
    if (status == COPSE_OK) tree_replace(index, &made);
    return status;
}

/* --- runs ----------------------------------------------------------------------------------------------------------- */

static void update_free(byte_update *update)
{
    const copse_ctx *ctx = update->index->ctx;
    copse_byte_batch_free(ctx, &update->batch);
    copse_memory_free(ctx, update->runs, update->run_bytes);
    copse_memory_free(ctx, update->values, update->value_bytes);
}

/* Finds the runs, and makes room for the values that they may get: those that are there, and one for each operation. */
static copse_status runs_find(byte_update *update)
{
    const copse_ctx *ctx = update->index->ctx;
    const copse_byte_batch *batch = &update->batch;
    uint64_t runs = 0, rank = 0, values = 0;
    for (uint64_t i = 0; i < batch->n; i = copse_byte_batch_run(batch, i)) runs++;
    update->run_bytes = copse_memory_product(runs, sizeof *update->runs);
    update->runs = copse_memory_alloc(ctx, update->run_bytes);
    if (!update->runs) return copse_fail_memory(ctx, update->run_bytes, "the batch");
    for (uint64_t i = 0, last; i < batch->n; i = last) {
        const copse_slice key = copse_byte_batch_key(batch, i);
        const uint64_t equal = copse_sorted_bytes_bound(update->old, rank, key, false);
        rank = copse_sorted_bytes_bound(update->old, equal, key, true);
        last = copse_byte_batch_run(batch, i);
        update->runs[update->n++] = (byte_run){.first = i, .last = last, .equal = equal, .end = rank, .at = values};
        values += (rank - equal) + (last - i);
    }
    update->value_bytes = copse_memory_product(values + 1, update->width ? update->width : 1);
    update->values = copse_memory_alloc(ctx, update->value_bytes);
    return update->values ? COPSE_OK : copse_fail_memory(ctx, update->value_bytes, "the batch");
}

static copse_status update_open(copse_index *index, const void *keys, const void *values, uint64_t n, const char *what,
                                byte_update *out)
{
    *out =
        (byte_update){.index = index, .old = index->tree, .given = values, .width = copse_type_size(index->value_type)};
    copse_status status = copse_byte_batch_make(index->ctx, keys, n, what, &out->batch);
    if (status == COPSE_OK) status = runs_find(out);
    if (status != COPSE_OK) update_free(out);
    return status;
}

/* Value i of a run. */
static char *run_value(const byte_update *update, const byte_run *run, uint64_t i)
{
    return update->values + (run->at + i) * update->width;
}

/* The values that the tree has. */
static void run_keep(byte_update *update, byte_run *run)
{
    run->n = run->end - run->equal;
    if (run->n)
        memcpy(run_value(update, run, 0), copse_sorted_bytes_value(update->old, run->equal, update->width),
               run->n * update->width);
}

/* Another value behind them: the one of this position of the batch. */
static void run_append(byte_update *update, byte_run *run, uint64_t position)
{
    given_value(update, position, run_value(update, run, run->n++));
}

/* Puts the runs in the place of the entries that they began with. */
static copse_status update_merge(byte_update *update)
{
    const copse_sorted_bytes *old = update->old;
    uint64_t entries = old->entries, length = copse_sorted_bytes_length(old, 0, old->entries), at = 0;
    copse_sorted_bytes made;
    for (uint64_t r = 0; r < update->n; r++) {
        const byte_run *run = &update->runs[r];
        entries += run->n - (run->end - run->equal); /* both may fall, and wrap on the way */
        length += copse_byte_batch_key(&update->batch, run->first).length * (run->n - (run->end - run->equal));
    }
    if (!tree_allocate(update->index->ctx, entries, length, update->width, &made))
        return copse_fail_memory(update->index->ctx, made.bytes, "the sorted array");
    for (uint64_t r = 0; made.offsets && r < update->n; r++) {
        const byte_run *run = &update->runs[r];
        const copse_slice key = copse_byte_batch_key(&update->batch, run->first);
        tree_keep(&made, old, at, run->equal, update->width);
        for (uint64_t i = 0; i < run->n; i++)
            memcpy(tree_put(&made, key, update->width), run_value(update, run, i), update->width);
        at = run->end;
    }
    if (made.offsets) tree_keep(&made, old, at, old->entries, update->width);
    tree_replace(update->index, &made);
    return COPSE_OK;
}

/* --- insert, erase -------------------------------------------------------------------------------------------------- */

static void insert_run(byte_update *update, byte_run *run, uint32_t flags)
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

copse_status copse_sorted_bytes_insert(copse_index *index, const void *keys, const void *values, uint64_t n,
                                       uint32_t flags, uint64_t *out_inserted)
{
    const uint64_t before = copse_size(index);
    byte_update update;
    copse_status status = update_open(index, keys, values, n, "inserting", &update);
    if (status != COPSE_OK) return status;
    for (uint64_t r = 0; r < update.n; r++) insert_run(&update, &update.runs[r], flags);
    status = update_merge(&update);
    update_free(&update);
    if (status == COPSE_OK) *out_inserted = copse_size(index) - before;
    return status;
}

copse_status copse_sorted_bytes_erase(copse_index *index, const void *keys, uint64_t n, uint64_t *out_erased)
{
    const uint64_t before = copse_size(index);
    byte_update update;
    copse_status status = update_open(index, keys, NULL, n, "erasing", &update); /* runs begin without values */
    if (status != COPSE_OK) return status;
    status = update_merge(&update);
    update_free(&update);
    if (status == COPSE_OK) *out_erased = before - copse_size(index);
    return status;
}

/* Takes away the first value that is the one of this position of the batch; in a set, where all are alike, any. */
static void run_erase_value(byte_update *update, byte_run *run, uint64_t position)
{
    const size_t width = update->width;
    const char *wanted = update->given ? (const char *)update->given + position * width : NULL;
    uint64_t i = 0;
    while (i < run->n && wanted && memcmp(run_value(update, run, i), wanted, width) != 0) i++;
    if (i == run->n) return;
    memmove(run_value(update, run, i), run_value(update, run, i + 1), (run->n - i - 1) * width);
    run->n--;
}

copse_status copse_sorted_bytes_erase_pairs(copse_index *index, const void *keys, const void *values, uint64_t n,
                                            uint64_t *out_erased)
{
    const uint64_t before = copse_size(index);
    byte_update update;
    copse_status status = update_open(index, keys, values, n, "erasing", &update);
    if (status != COPSE_OK) return status;
    for (uint64_t r = 0; r < update.n; r++) {
        byte_run *run = &update.runs[r];
        run_keep(&update, run);
        for (uint64_t i = run->first; i < run->last; i++) run_erase_value(&update, run, update.batch.items[i].position);
    }
    status = update_merge(&update);
    update_free(&update);
    if (status == COPSE_OK) *out_erased = before - copse_size(index);
    return status;
}

/* Copies what stays between n spans of ranks. */
static copse_status spans_erase(copse_index *index, const uint64_t *lows, const uint64_t *highs, uint64_t n)
{
    const copse_sorted_bytes *old = index->tree;
    const size_t width = copse_type_size(index->value_type);
    uint64_t entries = old->entries, length = copse_sorted_bytes_length(old, 0, entries), at = 0;
    for (uint64_t i = 0; i < n; i++) {
        entries -= highs[i] - lows[i] + 1;
        length -= copse_sorted_bytes_length(old, lows[i], highs[i] + 1);
    }
    copse_sorted_bytes made;
    if (!tree_allocate(index->ctx, entries, length, width, &made))
        return copse_fail_memory(index->ctx, made.bytes, "the sorted array");
    for (uint64_t i = 0; i < n; i++) {
        tree_keep(&made, old, at, lows[i], width);
        at = highs[i] + 1;
    }
    tree_keep(&made, old, at, old->entries, width);
    tree_replace(index, &made);
    return COPSE_OK;
}

copse_status copse_sorted_bytes_erase_range(copse_index *index, const copse_ranges *ranges, uint64_t *out_erased)
{
    const uint64_t before = copse_size(index);
    const size_t bytes = copse_memory_product(ranges->n, 2 * sizeof(uint64_t));
    uint64_t *lows = copse_memory_alloc(index->ctx, bytes), n = ranges->n;
    if (!lows) return copse_fail_memory(index->ctx, bytes, "the ends of ranges");
    uint64_t *highs = lows + ranges->n;
    copse_status status = copse_sorted_bytes_ranks(index, ranges, lows, highs);
    if (status == COPSE_OK) status = copse_spans_join(index->ctx, lows, highs, &n);
    if (status == COPSE_OK && n) status = spans_erase(index, lows, highs, n);
    copse_memory_free(index->ctx, lows, bytes);
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
static void apply_step(byte_update *update, byte_run *run, const apply_call *call, uint64_t position)
{
    const size_t width = update->width;
    if (call->out_found) call->out_found[position] = run->n != 0;
    if (call->out_values && run->n) memcpy(call->out_values + position * width, run_value(update, run, 0), width);
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
            value_add(update, position, run_value(update, run, 0));
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

/* Does the run end as it began? */
static bool run_same(const byte_update *update, const byte_run *run)
{
    if (run->n != run->end - run->equal) return false;
    return run->n == 0 ||
           memcmp(run_value(update, run, 0), copse_sorted_bytes_value(update->old, run->equal, update->width),
                  run->n * update->width) == 0;
}

copse_status copse_sorted_bytes_apply(copse_index *index, const uint8_t *operations, const void *keys,
                                      const void *values, uint64_t n, void *out_values, uint8_t *out_found)
{
    const apply_call call = {operations, out_values, out_found};
    const bool has_values = values || index->value_type == COPSE_NONE;
    bool finds, adds, changed = false;
    byte_update update;
    copse_status status = copse_cpu_check_operations(index, operations, n, has_values, &finds, &adds);
    if (status != COPSE_OK) return status;
    if (finds) return copse_sorted_bytes_find(index, keys, n, out_values, out_found);
    status = update_open(index, keys, values, n, "applying", &update);
    if (status != COPSE_OK) return status;
    for (uint64_t r = 0; r < update.n; r++) {
        byte_run *run = &update.runs[r];
        run_keep(&update, run);
        for (uint64_t i = run->first; i < run->last; i++)
            apply_step(&update, run, &call, update.batch.items[i].position);
        changed |= !run_same(&update, run);
    }
    if (changed) status = update_merge(&update);
    update_free(&update);
    if (status == COPSE_OK && changed) copse_version_advance(index);
    return status;
}

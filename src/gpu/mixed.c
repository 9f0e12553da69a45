/*
 * Mixed batches on a device: point operations that behave as if they ran one after the other.
 *
 *   tag      looks at the operations, encodes the keys                                  then the host reads what it saw
 *   sort     operations by key, which leaves those of one key in the caller's order
 *   look up  how each key begins, by the tree
 *   scan     what all operations on a key up to each one do to it together (mixed_state.h)
 *   answer   both together: what each operation finds, and whether its key ends differently from how it began
 *            a batch with an ADD has prefix sums of what is added, too; where the values are floats, one thread goes through all
 *            operations of a key in order instead of the scan
 *   select   the keys that do                                                           then the host reads how many
 *   change   those, by the tree
 *
 * Nothing is changed before the last step, and that is all or nothing.
 */
#include "gpu/mixed.h"
#include "gpu/call.h"
#include "gpu/batch.h"
#include "gpu/group_kernels.h"
#include "gpu/groups.h"
#include "gpu/scratch.h"
#include "transfer/transfer.h"

COPSE_PICK_KERNEL_ROW(copse_mixed_kernels)

/* A mixed batch under way. */
typedef struct mixed {
    copse_index *index;
    copse_device *device;
    const copse_mixed_structure *structure;
    const copse_mixed_call *call;
    copse_mixed_arguments arguments;
    copse_device_sorting sorting;
    copse_scratch first, second; /* what it needs from the start; what it needs once the batch has been looked at */
    void *chosen;                /* values, or rows, of the changes */
    bool values_out, found_out;  /* outputs that are host memory: they go there in the end */
    copse_mixed_survey seen;
} mixed;

static const copse_mixed_kernels *kernels_of(const mixed *m)
{
    return copse_mixed_kernels_on(m->device, copse_device_pair(m->index));
}

static copse_status block_make(const mixed *m, const copse_scratch_array *arrays, unsigned n, copse_scratch *out)
{
    return copse_scratch_take(m->device, "the operations of the batch", arrays, n, out);
}

/* Bytes of a copy of one of the caller's arrays: none where it is device memory, or not there. */
static copse_status copy_bytes(const mixed *m, const void *array, const char *name, size_t width, uint64_t *out)
{
    bool on_device = true;
    copse_status status = array ? copse_call_array(m->index, array, name, &on_device) : COPSE_OK;
    *out = on_device ? 0 : m->call->n * width;
    return status;
}

/* --- what is asked for ---------------------------------------------------------------------------------------------------- */

/* Memory for the unsorted and the sorted operations, and the caller's arrays brought to the device. */
static copse_status begin(mixed *m)
{
    static const copse_mixed_survey start = {
        .first_bad = UINT64_MAX, .first_without = UINT64_MAX, .first_nan = UINT64_MAX, .smallest = UINT64_MAX};
    const copse_mixed_call *call = m->call;
    const size_t key = copse_type_size(m->index->key_type), tag = m->arguments.wide ? 8 : 4;
    void *operations = (void *)(uintptr_t)call->operations, *keys = (void *)(uintptr_t)call->keys, *survey = NULL;
    uint64_t operation_bytes, key_bytes;
    copse_status status = copy_bytes(m, operations, "operations", 1, &operation_bytes);
    if (status == COPSE_OK) status = copy_bytes(m, keys, "keys", key, &key_bytes);
    if (status != COPSE_OK) return status;
    const copse_scratch_array pieces[] = {{&survey, sizeof start},
                                          {&operations, operation_bytes},
                                          {&keys, key_bytes},
                                          {&m->sorting.keys[0], call->n * key},
                                          {&m->sorting.keys[1], call->n * key},
                                          {&m->sorting.values[0], call->n * tag},
                                          {&m->sorting.values[1], call->n * tag}};
    status = block_make(m, pieces, sizeof pieces / sizeof *pieces, &m->first);
    if (status == COPSE_OK) status = copse_device_copy(m->device, m->device->main, survey, &start, sizeof start);
    if (status == COPSE_OK && operation_bytes)
        status = copse_transfer_to_device(m->device, operations, call->operations, operation_bytes);
    if (status == COPSE_OK && key_bytes) status = copse_transfer_to_device(m->device, keys, call->keys, key_bytes);
    m->arguments.operations = operations;
    m->arguments.raw_keys = keys;
    m->arguments.survey = survey;
    return status;
}

/* Encoded keys and tags, and what there is to know about the batch. */
static copse_status look(mixed *m)
{
    copse_device *device = m->device;
    copse_mixed_arguments a = m->arguments;
    a.values = m->call->values; /* only whether they are there */
    a.keys = m->sorting.keys[0];
    a.tags = m->sorting.values[0];
    copse_status status =
        copse_device_launch(device, device->main, &kernels_of(m)->tag, copse_device_blocks(device, a.n), &a);
    if (status != COPSE_OK) return status;
    return copse_device_read(device, device->main, &m->seen, a.survey, sizeof m->seen);
}

static bool has(const mixed *m, copse_operation operation)
{
    return m->seen.operations >> operation & 1u;
}

static copse_status check_seen(const mixed *m)
{
    const copse_ctx *ctx = m->index->ctx;
    const uint64_t bad = m->seen.first_bad;
    if (bad != UINT64_MAX) {
        uint8_t code = 0;
        copse_status status =
            copse_device_read(m->device, m->device->main, &code, m->arguments.operations + bad, sizeof code);
        if (status != COPSE_OK) return status;
        return copse_fail_operation(ctx, bad, code);
    }
    if (has(m, COPSE_OP_ADD) && m->index->value_type == COPSE_NONE) return copse_fail_set(m->index, "copse_apply");
    if (m->seen.first_without != UINT64_MAX && m->index->value_type != COPSE_NONE)
        return copse_fail_no_value(ctx, m->seen.first_without);
    if (m->seen.first_nan != UINT64_MAX) return copse_fail_nan(ctx, "keys", (unsigned long long)m->seen.first_nan);
    return COPSE_OK;
}

/* Floats are added in order. */
static bool folds(const mixed *m)
{
    return has(m, COPSE_OP_ADD) && copse_type_is_float(m->index->value_type);
}

/* --- answers --------------------------------------------------------------------------------------------------------------- */

/* Memory for everything else, which is behind the sort so that its scratch may be used again. */
static copse_status prepare(mixed *m)
{
    const copse_mixed_call *call = m->call;
    copse_mixed_arguments *a = &m->arguments;
    const size_t value = copse_value_width(m->index->value_type);
    const bool erases = has(m, COPSE_OP_ERASE), groups = m->index->duplicates;
    const bool adds = has(m, COPSE_OP_ADD) && !folds(m) && !groups, rows_too = erases && !groups;
    const bool puts = has(m, COPSE_OP_UPSERT) || has(m, COPSE_OP_INSERT_IF_ABSENT) || has(m, COPSE_OP_ADD);
    void *values = puts ? (void *)(uintptr_t)call->values : NULL, *there = NULL, *rows = NULL, *gone = NULL;
    void *sums = NULL;
    void *out_values = call->out_values, *out_found = call->out_found;
    uint64_t value_bytes = 0, out_value_bytes = 0, out_found_bytes = 0;
    copse_status status = copy_bytes(m, values, "values", value, &value_bytes);
    if (status == COPSE_OK) status = copy_bytes(m, out_values, "out_values", value, &out_value_bytes);
    if (status == COPSE_OK) status = copy_bytes(m, out_found, "out_found", 1, &out_found_bytes);
    if (status != COPSE_OK) return status;
    const copse_scratch_array pieces[] = {{&values, value_bytes},
                                          {&out_values, out_value_bytes},
                                          {&out_found, out_found_bytes},
                                          {&a->standing, call->n * value},
                                          {&there, call->n},
                                          {&m->chosen, groups ? 0 : call->n * (erases ? sizeof *a->rows : value)},
                                          {&rows, rows_too ? call->n * sizeof *a->rows : 0},
                                          {&gone, erases || groups ? call->n : 0},
                                          {&a->firsts, groups ? call->n * value : 0},
                                          {&a->own_tags, adds ? call->n * (a->wide ? 8 : 4) : 0},
                                          {&sums, adds ? (call->n + 1) * sizeof *a->sums : 0}};
    status = block_make(m, pieces, sizeof pieces / sizeof *pieces, &m->second);
    if (status == COPSE_OK && value_bytes)
        status = copse_transfer_to_device(m->device, values, call->values, value_bytes);
    a->values = values;
    a->out_values = out_values;
    a->out_found = out_found;
    a->there = there;
    a->rows = rows;
    a->gone = gone;
    a->sums = sums;
    m->values_out = out_value_bytes != 0;
    m->found_out = out_found_bytes != 0;
    return status;
}

static copse_status sort(mixed *m)
{
    m->sorting.low = m->seen.smallest;
    m->sorting.high = m->seen.largest;
    copse_status status = m->seen.falls ? copse_device_sort(m->device, &m->sorting) : COPSE_OK;
    m->arguments.keys = m->sorting.keys[m->sorting.where];
    m->arguments.tags = m->sorting.values[m->sorting.where];
    m->arguments.states = m->sorting.values[1 - m->sorting.where]; /* where the sort left nothing of use */
    return status;
}

/* What operations add, up to each one. */
static copse_status sum(const mixed *m)
{
    copse_device *device = m->device;
    const copse_mixed_arguments *a = &m->arguments;
    copse_status status =
        copse_device_launch(device, device->main, &kernels_of(m)->addends, copse_device_blocks(device, a->n), a);
    if (status != COPSE_OK) return status;
    return device->backend->primitives->scan_u64(device, device->main, a->sums, a->sums, a->n + 1);
}

static copse_status answer(mixed *m)
{
    copse_device *device = m->device;
    const copse_mixed_arguments *a = &m->arguments;
    const copse_mixed_kernels *kernels = kernels_of(m);
    const copse_kernel *kernel = folds(m) ? &kernels->fold : a->sums ? &kernels->answer_add : &kernels->answer;
    copse_status status = m->structure->look_up(m->index, a->keys, a->n, a->standing, a->there);
    if (status == COPSE_OK && a->sums) status = sum(m);
    if (status == COPSE_OK && !folds(m))
        status = device->backend->primitives->scan_states(device, device->main, m->sorting.pair, a->keys,
                                                          a->sums ? a->own_tags : a->tags,
                                                          m->sorting.values[1 - m->sorting.where], a->n);
    if (status == COPSE_OK)
        status = copse_device_launch(device, device->main, kernel, copse_device_blocks(device, a->n), a);
    return status;
}

/* --- changes --------------------------------------------------------------------------------------------------------------- */

/* The keys that change, with their values; where some leave, with the rows of their values. */
static copse_status choose(mixed *m, copse_mixed_changes *out)
{
    copse_device *device = m->device;
    const copse_mixed_arguments *a = &m->arguments;
    const size_t value = a->rows ? sizeof *a->rows : copse_value_width(m->index->value_type);
    const unsigned pair = copse_width_pair(copse_type_size(m->index->key_type), value);
    void *keys = m->sorting.keys[1 - m->sorting.where];
    copse_mixed_arguments ends = *a;
    ends.keys = keys;
    copse_status status =
        device->backend->primitives->select_pairs(device, device->main, pair, a->keys, a->rows ? a->rows : a->standing,
                                                  a->there, keys, m->chosen, a->n, &a->survey->changes);
    if (status == COPSE_OK) status = copse_device_launch(device, device->main, &kernels_of(m)->ends, 1, &ends);
    if (status == COPSE_OK) status = copse_device_read(device, device->main, &m->seen, a->survey, sizeof m->seen);
    *out = (copse_mixed_changes){.n = m->seen.changes,
                                 .keys = keys,
                                 .rows = a->rows ? m->chosen : NULL,
                                 .values = a->rows ? a->standing : m->chosen,
                                 .gone = a->gone,
                                 .low = m->seen.lowest_change,
                                 .high = m->seen.highest_change};
    return status;
}

/* Brings the answers to where the caller wants them: before anything is changed, because it may fail. */
static copse_status hand_out(const mixed *m)
{
    const copse_mixed_call *call = m->call;
    const size_t value = copse_value_width(m->index->value_type);
    copse_status status = COPSE_OK;
    if (m->values_out)
        status = copse_transfer_to_host(m->device, call->out_values, m->arguments.out_values, call->n * value);
    if (status == COPSE_OK && m->found_out)
        status = copse_transfer_to_host(m->device, call->out_found, m->arguments.out_found, call->n);
    return status;
}

/* Without writes it is a find, whose keys are encoded already. */
static copse_status find(const mixed *m)
{
    const copse_mixed_call *call = m->call;
    copse_status status = m->index->calls->find(m->index, call->keys, call->n, call->out_values, call->out_found);
    return status == COPSE_OK ? copse_device_wait(m->device, m->device->main) : status;
}

/* The rest of a batch where keys may repeat. */
static copse_status run_groups(mixed *m)
{
    copse_device *device = m->device;
    const copse_mixed_arguments *a = &m->arguments;
    copse_status status = m->structure->look_up(m->index, a->keys, a->n, a->standing, a->there);
    if (status == COPSE_OK)
        status = copse_device_launch(device, device->main,
                                     &copse_group_kernels_on(device, copse_device_pair(m->index))->fold,
                                     copse_device_blocks(device, a->n), a);
    if (status == COPSE_OK) status = copse_device_read(device, device->main, &m->seen, a->survey, sizeof m->seen);
    if (status == COPSE_OK) status = hand_out(m);
    if (status == COPSE_OK) status = copse_progress(m->index->ctx, "applying", a->n, a->n);
    if (status != COPSE_OK || m->seen.changes == 0) return status;
    const copse_group_changes changes = {
        .n = a->n, .keys = a->keys, .does = a->gone, .firsts = a->firsts, .added = a->there, .values = a->standing};
    status = copse_device_groups_change(m->index, m->structure, &changes);
    if (status == COPSE_OK) copse_version_advance(m->index);
    return status;
}

static copse_status run(mixed *m)
{
    const copse_ctx *ctx = m->index->ctx;
    const uint64_t n = m->call->n;
    copse_mixed_changes changes;
    copse_status status = begin(m);
    if (status == COPSE_OK) status = look(m);
    if (status == COPSE_OK) status = check_seen(m);
    if (status == COPSE_OK) status = copse_progress(ctx, "applying", 0, n);
    if (status != COPSE_OK) return status;
    if (m->seen.operations == 1u << COPSE_OP_FIND) return find(m);
    status = sort(m);
    if (status == COPSE_OK) status = prepare(m);
    if (status == COPSE_OK && m->index->duplicates) return run_groups(m);
    if (status == COPSE_OK) status = answer(m);
    if (status == COPSE_OK) status = choose(m, &changes);
    if (status == COPSE_OK) status = hand_out(m);
    if (status == COPSE_OK) status = copse_progress(ctx, "applying", n, n);
    if (status != COPSE_OK || changes.n == 0) return status;
    status = m->structure->change(m->index, &changes);
    if (status == COPSE_OK) copse_version_advance(m->index);
    return status;
}

copse_status copse_device_mixed(copse_index *index, const copse_mixed_structure *structure,
                                const copse_mixed_call *call)
{
    copse_device *device = index->device;
    const bool wide = call->wide || call->n > COPSE_MIXED_POSITIONS_32;
    if (call->n > UINT32_MAX)
        return copse_fail(index->ctx, COPSE_ERR_UNSUPPORTED,
                          "copse_apply: n is %llu, and a mixed batch on a device has at most %llu operations",
                          (unsigned long long)call->n, (unsigned long long)UINT32_MAX);
    mixed m = {.index = index,
               .device = device,
               .structure = structure,
               .call = call,
               .arguments = {.n = call->n, .key_type = index->key_type, .value_type = index->value_type, .wide = wide},
               .sorting = {.pair = copse_width_pair(copse_type_size(index->key_type), wide ? 8 : 4),
                           .n = call->n,
                           .between = true}};
    copse_status status = run(&m);
    copse_scratch_free(device, &m.first);
    copse_scratch_free(device, &m.second);
    return status;
}

/*
 * Small batches on the B-link and the B+ tree, in place and as they come: two kernels and one wait. The first finds out where
 * every operation belongs and which of equal keys counts, the second does them, each leaf under its latch. Where the first
 * one found something wrong, the second changes nothing.
 */
#include "trees/blink/tree.h"
#include "transfer/transfer.h"

/* Up to so many operations the tables have eight places for each: every further one that is looked at is a trip to memory. */
#define ROOMY_MOST (UINT64_C(1) << 15)

/* Everything that the kernels need besides the tree, in one piece of memory. */
typedef struct place_memory {
    char *memory;
    uint64_t bytes;
    uint64_t size; /* of the hash tables: a power of two */
    void *keys, *values;
    uint32_t *table, *crowds, *base_leaves, *slots;
} place_memory;

static uint64_t round_up(uint64_t bytes)
{
    return (bytes + 255) / 256 * 256;
}

static copse_status memory_take(const copse_index *index, uint64_t n, place_memory *m)
{
    const uint64_t keys = round_up(n * copse_type_size(index->key_type));
    const uint64_t values = round_up(n * copse_type_size(index->value_type)), numbers = round_up(n * sizeof(uint32_t));
    void *memory = NULL;
    m->size = 64;
    while (m->size < n * (n > ROOMY_MOST ? 4 : 8)) m->size *= 2;
    const uint64_t tables = m->size * sizeof(uint32_t);
    m->bytes = 2 * tables + 2 * numbers + keys + values;
    copse_status status = copse_device_alloc(index->device, index->device->main, m->bytes, "the update", &memory);
    m->memory = memory;
    if (status != COPSE_OK) return status;
    m->table = memory;
    m->crowds = (uint32_t *)(m->memory + tables);
    m->base_leaves = (uint32_t *)(m->memory + 2 * tables);
    m->slots = (uint32_t *)(m->memory + 2 * tables + numbers);
    m->keys = m->memory + 2 * tables + 2 * numbers;
    m->values = m->memory + 2 * tables + 2 * numbers + keys;
    return copse_device_fill(index->device, index->device->main, memory, 0, 2 * tables);
}

/* One of the caller's arrays: as it is where it lies on the device, else a copy there. */
static copse_status bring(const copse_index *index, const char *name, const void *array, uint64_t bytes, void *room,
                          const void **out)
{
    bool on_device;
    copse_status status = copse_call_array(index, array, name, &on_device);
    *out = on_device ? array : room;
    return status != COPSE_OK || on_device ? status : copse_transfer_to_device(index->device, room, array, bytes);
}

/* Values that are positions. */
static copse_status count_up(const copse_index *index, uint64_t n, void *values)
{
    copse_device *device = index->device;
    copse_pairs_arguments arguments = {.value_type = index->value_type, .n = n, .out_values = values};
    return copse_device_launch(device, device->main, &copse_device_shared(index)->encode,
                               copse_device_blocks(device, n), &arguments);
}

static copse_status operations_bring(const copse_index *index, const void *keys, const void *values,
                                     const place_memory *m, copse_blink_operations *operations)
{
    const uint64_t n = operations->n;
    copse_status status = bring(index, "keys", keys, n * copse_type_size(index->key_type), m->keys, &operations->keys);
    if (status != COPSE_OK || operations->action == COPSE_ACTION_ERASE) return status;
    operations->values = m->values;
    if (!values) return count_up(index, n, m->values);
    return bring(index, "values", values, n * copse_type_size(index->value_type), m->values, &operations->values);
}

static copse_status kernels_run(const copse_index *index, copse_blink_epoch *epoch,
                                const copse_blink_operations *operations, const place_memory *m,
                                copse_blink_counters *seen)
{
    copse_device *device = index->device;
    const copse_blink_kernels *kernels = copse_blink_kernels_of(index);
    copse_resolve_arguments resolve = {.tree = epoch->view,
                                       .operations = *operations,
                                       .base_leaves = m->base_leaves,
                                       .slots = m->slots,
                                       .table = m->table,
                                       .crowds = m->crowds,
                                       .mask = (uint32_t)m->size - 1,
                                       .counters = epoch->counters};
    copse_apply_arguments place = {.tree = epoch->view,
                                   .operations = *operations,
                                   .base_leaves = m->base_leaves,
                                   .table = m->table,
                                   .slots = m->slots,
                                   .shared = 1,
                                   .counters = epoch->counters};
    copse_status status = copse_blink_counters_reset(index, epoch);
    if (status == COPSE_OK)
        status = copse_device_launch(device, device->main, &kernels->resolve,
                                     copse_device_blocks(device, operations->n), &resolve);
    if (status == COPSE_OK)
        status = copse_device_launch(device, device->main, &kernels->place,
                                     copse_device_blocks(device, operations->n * 16), &place);
    return status == COPSE_OK ? copse_blink_counters_read(index, epoch, seen) : status;
}

copse_status copse_blink_update_unsorted(copse_index *index, const void *keys, const void *values, uint64_t n,
                                         copse_action action, uint64_t *out_changed, bool *out_done)
{
    copse_blink_epoch *epoch = copse_blink_handle_of(index)->tree->current;
    copse_blink_operations operations = {.action = action, .last_wins = action != COPSE_ACTION_IF_ABSENT, .n = n};
    copse_blink_counters seen;
    place_memory m = {0};
    *out_done = false;
    /* Every operation splits one leaf at most, and a base_leaf of a B+ tree takes one more. */
    const uint64_t leaves = action == COPSE_ACTION_ERASE ? 0 : epoch->view.branches ? 2 * n : n;
    if (epoch->pool_taken + leaves > copse_blink_pool_most(epoch)) return COPSE_OK;
    copse_status status = copse_progress(index->ctx, action == COPSE_ACTION_ERASE ? "erasing" : "inserting", 0, n);
    if (status == COPSE_OK) status = copse_blink_pool_reserve(index, epoch, leaves);
    if (status == COPSE_OK) status = memory_take(index, n, &m);
    if (status == COPSE_OK) status = operations_bring(index, keys, values, &m, &operations);
    if (status == COPSE_OK) status = kernels_run(index, epoch, &operations, &m, &seen);
    copse_device_free(index->device, index->device->main, m.memory, m.bytes);
    if (status != COPSE_OK || seen.not_first_nan || seen.crowded == 1) {
        epoch->pool_wanted = 0; /* nothing was done */
        copse_blink_pool_trim(index, epoch);
    }
    if (status != COPSE_OK) return status;
    const unsigned long long first_nan = ~seen.not_first_nan;
    if (seen.not_first_nan)
        return copse_fail(index->ctx, COPSE_ERR_NAN, "keys[%llu] is NaN, which has no place in an order", first_nan);
    if (seen.crowded == 1) return COPSE_OK;
    *out_done = true;
    if (~seen.not_low < epoch->low) epoch->low = ~seen.not_low;
    if (seen.high > epoch->high) epoch->high = seen.high;
    return copse_blink_update_finish(index, epoch, &seen, action == COPSE_ACTION_ERASE, out_changed);
}

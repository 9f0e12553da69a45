/*
 * The strategy "unsorted": a small batch changes leaves in place, in the order in which it comes, with two kernels and one wait. The
 * kernel `resolve` finds the base leaf of every operation and which of equal keys counts; `apply_unsorted` carries the operations out,
 * each under the latch of its leaf. Where `resolve` found a NaN, or too many operations for one base leaf, `apply_unsorted` changes nothing.
 */
#include "trees/blink/update/strategies.h"
#include "transfer/transfer.h"

/* Operations up to which this is the fastest strategy, see docs/PERFORMANCE.md; and what the hash tables hold in any case. */
#define UNSORTED_MOST (UINT64_C(1) << 17)
#define FORCED_MOST   (UINT64_C(1) << 28)
/* Up to so many operations the tables have eight slots for each: every further slot that a lane looks at is a trip to memory. */
#define ROOMY_MOST (UINT64_C(1) << 15)

/* What the kernels need, in one allocation. */
typedef struct unsorted_memory {
    void *memory, *keys, *values; /* all of it; room for the caller's arrays */
    uint64_t bytes;
    copse_resolve_arguments resolve;
} unsorted_memory;

static uint64_t round_up(uint64_t bytes)
{
    return (bytes + 255) / 256 * 256;
}

static copse_status memory_take(const copse_index *index, uint64_t n, unsorted_memory *m)
{
    const uint64_t keys = round_up(n * copse_type_size(index->key_type));
    const uint64_t values = round_up(n * copse_value_width(index->value_type)),
                   numbers = round_up(n * sizeof(uint32_t));
    uint64_t slots = 64; /* of each hash table: a power of two */
    while (slots < n * (n > ROOMY_MOST ? 4 : 8)) slots *= 2;
    const uint64_t tables = 2 * slots * sizeof(uint32_t);
    m->bytes = tables + 2 * numbers + keys + values;
    copse_status status = copse_device_alloc(index->device, index->device->main, m->bytes, "the update", &m->memory);
    if (status != COPSE_OK) return status;
    m->resolve.mask = (uint32_t)slots - 1;
    m->resolve.table = m->memory;
    m->resolve.crowds = m->resolve.table + slots;
    m->resolve.base_leaves = m->resolve.crowds + slots;
    m->resolve.slots = m->resolve.base_leaves + numbers / sizeof(uint32_t);
    m->keys = m->resolve.slots + numbers / sizeof(uint32_t);
    m->values = (char *)m->keys + keys;
    return copse_device_fill(index->device, index->device->main, m->memory, 0, tables);
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

static copse_status operations_bring(const copse_blink_update *u, unsorted_memory *m)
{
    const copse_index *index = u->index;
    copse_blink_operations *operations = &m->resolve.operations;
    const uint64_t n = operations->n;
    copse_status status =
        bring(index, "keys", u->keys, n * copse_type_size(index->key_type), m->keys, &operations->keys);
    if (status != COPSE_OK || u->action == COPSE_ACTION_ERASE) return status;
    operations->values = m->values;
    if (u->values)
        return bring(index, "values", u->values, n * copse_value_width(index->value_type), m->values,
                     &operations->values);
    copse_pairs_arguments positions = {.value_type = index->value_type, .n = n, .out_values = m->values};
    return copse_device_launch(index->device, index->device->main, &copse_device_shared(index)->encode,
                               copse_device_blocks(index->device, n), &positions);
}

static copse_status kernels_run(const copse_blink_update *u, const unsorted_memory *m, copse_blink_counters *seen)
{
    copse_device *device = u->index->device;
    const copse_blink_kernels *kernels = copse_blink_kernels_of(u->index);
    const uint64_t n = m->resolve.operations.n;
    const copse_apply_arguments apply = {.tree = m->resolve.tree,
                                         .operations = m->resolve.operations,
                                         .base_leaves = m->resolve.base_leaves,
                                         .table = m->resolve.table,
                                         .slots = m->resolve.slots,
                                         .shared = 1,
                                         .counters = m->resolve.counters};
    copse_status status = copse_blink_counters_reset(u->index, u->epoch);
    if (status == COPSE_OK)
        status =
            copse_device_launch(device, device->main, &kernels->resolve, copse_device_blocks(device, n), &m->resolve);
    if (status == COPSE_OK)
        status = copse_device_launch(device, device->main, &kernels->apply_unsorted,
                                     copse_device_blocks(device, n * 16), &apply);
    return status == COPSE_OK ? copse_blink_counters_read(u->index, u->epoch, seen) : status;
}

/* --- the strategy --------------------------------------------------------------------------------------------------------------- */

static bool may(const copse_blink_update *u)
{
    const uint64_t tuned = u->tree->tuning.unsorted_most, most = tuned ? tuned : UNSORTED_MOST;
    return !u->sorted && u->pairs.n <= (u->forced ? FORCED_MOST : most) && copse_blink_in_place_may(u);
}

static int run(copse_blink_update *u)
{
    const copse_index *index = u->index;
    copse_blink_epoch *epoch = u->epoch;
    const uint64_t n = u->pairs.n;
    copse_blink_counters seen = {0};
    unsorted_memory m = {
        .resolve = {.counters = epoch->counters,
                    .operations = {.action = u->action, .last_wins = u->action != COPSE_ACTION_IF_ABSENT, .n = n}}};
    /* Every operation splits one leaf at most, and a base leaf of a B+ tree takes one more. */
    const uint64_t leaves = u->action == COPSE_ACTION_ERASE ? 0 : epoch->view.branches ? 2 * n : n;
    if (epoch->pool_taken + leaves > copse_blink_pool_most(epoch)) return COPSE_DECLINED;
    copse_status status = copse_progress(index->ctx, u->what, 0, n);
    if (status == COPSE_OK) status = copse_blink_pool_reserve(index, epoch, leaves);
    if (status == COPSE_OK) status = memory_take(index, n, &m);
    m.resolve.tree = epoch->view;
    if (status == COPSE_OK) status = operations_bring(u, &m);
    if (status == COPSE_OK) status = kernels_run(u, &m, &seen);
    copse_device_free(index->device, index->device->main, m.memory, m.bytes);
    if (status != COPSE_OK || seen.not_first_nan || seen.crowded == 1) {
        epoch->pool_wanted = 0; /* nothing was done */
        copse_blink_pool_trim(index, epoch);
    }
    if (status != COPSE_OK) return status;
    const unsigned long long first_nan = ~seen.not_first_nan;
    if (seen.not_first_nan) return copse_fail_nan(index->ctx, "keys", first_nan);
    if (seen.crowded == 1) return COPSE_DECLINED;
    if (~seen.not_low < epoch->low) epoch->low = ~seen.not_low;
    if (seen.high > epoch->high) epoch->high = seen.high;
    return copse_blink_in_place_finish(u, &seen);
}

const copse_blink_strategy copse_blink_unsorted = {"unsorted", may, run};

/*
 * The strategy "unsorted": a small batch changes leaves in place, in the order in which it comes, with two kernels and one wait. The
 * kernel `resolve` finds the base leaf of every operation and which of equal keys counts; `apply_unsorted` carries the operations out,
 * each under the latch of its leaf. Where `resolve` found a NaN, or too many operations for one base leaf, `apply_unsorted` changes nothing.
 */
#include "trees/blink/update/strategies.h"
#include "transfer/transfer.h"

#include <string.h>

_Static_assert(sizeof(copse_blink_counters) <= COPSE_NOTE_BYTES, "a note has room for the counters");

/* Operations up to which this is the fastest strategy, see docs/PERFORMANCE.md; and what the hash tables hold in any case. */
#define UNSORTED_MOST (UINT64_C(1) << 17)
#define FORCED_MOST   (UINT64_C(1) << 28)
/* Operations that may be a crowd, where the last batch had some: as many as a leaf may get here. */
#define CROWD 32u
/* Up to so many operations the tables have eight slots for each: every further slot that a lane looks at is a trip to memory. */
#define ROOMY_MOST (UINT64_C(1) << 15)
/* Up to so many operations the tree keeps the tables, where these are a small share of its memory, and the kernel empties what it
 * used: a call that fills memory takes 3 us. */
#define KEPT_MOST  (UINT64_C(1) << 16)
#define KEPT_SHARE 256u

/* What the kernels need. */
typedef struct unsorted_memory {
    void *memory, *keys, *values; /* all of it, but for tables that the tree keeps; room for the caller's arrays */
    uint64_t bytes;
    bool kept; /* the tables are the tree's */
    copse_resolve_arguments resolve;
} unsorted_memory;

static uint64_t round_up(uint64_t bytes)
{
    return (bytes + 255) / 256 * 256;
}

static void tables_free(const copse_index *index, copse_blink *tree)
{
    copse_device_free(index->device, index->device->main, tree->tables, tree->table_bytes);
    tree->tables = NULL;
    tree->table_slots = tree->table_bytes = 0;
}

void copse_blink_tables_free(copse_blink *tree)
{
    tables_free(&tree->owner, tree);
}

/* Makes sure that the tree's tables have so many slots, all of them empty. */
static copse_status tables_ready(const copse_index *index, copse_blink *tree, uint64_t slots)
{
    const uint64_t bytes = slots * sizeof(uint32_t);
    copse_device *device = index->device;
    copse_status status = COPSE_OK;
    if (slots <= tree->table_slots) return COPSE_OK;
    if (bytes > tree->table_bytes) {
        tables_free(index, tree);
        status = copse_device_alloc(device, device->main, bytes, "the update", (void **)&tree->tables);
        if (status != COPSE_OK) return status;
        tree->table_bytes = bytes;
    }
    status = copse_device_fill(device, device->main, tree->tables, 0, tree->table_bytes);
    if (status == COPSE_OK) tree->table_slots = tree->table_bytes / sizeof(uint32_t);
    return status;
}

static copse_status memory_take(const copse_blink_update *u, uint64_t n, unsorted_memory *m)
{
    const copse_index *index = u->index;
    const uint64_t keys = round_up(n * copse_type_size(index->key_type));
    const uint64_t values = round_up(n * copse_value_width(index->value_type)),
                   numbers = round_up(n * sizeof(uint32_t));
    uint64_t slots = 64; /* of each hash table: a power of two */
    while (slots < n * (n > ROOMY_MOST ? 4 : 8)) slots *= 2;
    uint64_t tables = 2 * slots * sizeof(uint32_t);
    m->kept = n <= KEPT_MOST && tables <= copse_blink_epoch_bytes(u->epoch) / KEPT_SHARE;
    if (m->kept) tables = 0;
    copse_status status = m->kept ? tables_ready(index, u->tree, 2 * slots) : COPSE_OK;
    m->bytes = tables + 2 * numbers + keys + values;
    if (status == COPSE_OK)
        status = copse_device_alloc(index->device, index->device->main, m->bytes, "the update", &m->memory);
    if (status != COPSE_OK) return status;
    m->resolve.mask = (uint32_t)slots - 1;
    m->resolve.table = m->kept ? u->tree->tables : m->memory;
    m->resolve.crowds = m->resolve.table + slots;
    m->resolve.base_leaves = (uint32_t *)((char *)m->memory + tables);
    m->resolve.slots = m->resolve.base_leaves + numbers / sizeof(uint32_t);
    m->keys = m->resolve.slots + numbers / sizeof(uint32_t);
    m->values = (char *)m->keys + keys;
    return m->kept ? COPSE_OK : copse_device_fill(index->device, index->device->main, m->memory, 0, tables);
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

/* Launches both and waits. The second writes the counters to the note of the device, which the caller has locked. */
static copse_status kernels_launch(const copse_blink_update *u, const unsorted_memory *m)
{
    copse_device *device = u->index->device;
    const copse_blink_kernels *kernels = copse_blink_kernels_of(u->index);
    const uint64_t n = m->resolve.operations.n;
    const copse_apply_arguments apply = {.tree = m->resolve.tree,
                                         .operations = m->resolve.operations,
                                         .base_leaves = m->resolve.base_leaves,
                                         .slots = m->resolve.slots,
                                         .table = m->resolve.table,
                                         .crowds = m->kept ? m->resolve.crowds : NULL,
                                         .mask = m->resolve.mask,
                                         .delivered = (copse_blink_counters *)device->note,
                                         .shared = 1,
                                         .counters = m->resolve.counters};
    copse_status status = copse_blink_counters_reset(u->index, u->epoch);
    if (status == COPSE_OK)
        status =
            copse_device_launch(device, device->main, &kernels->resolve, copse_device_blocks(device, n), &m->resolve);
    if (status == COPSE_OK)
        status = copse_device_launch(device, device->main, &kernels->apply_unsorted,
                                     copse_device_blocks(device, n * 16), &apply);
    return status == COPSE_OK ? copse_device_wait(device, device->main) : status;
}

static copse_status kernels_run(const copse_blink_update *u, const unsorted_memory *m, copse_blink_counters *seen)
{
    copse_device *device = u->index->device;
    const uint64_t slots = u->tree->table_slots;
    u->tree->table_slots = 0; /* until it is known that the kernels emptied them */
    pthread_mutex_lock(&device->note_lock);
    copse_status status = kernels_launch(u, m);
    if (status == COPSE_OK) memcpy(seen, device->note, sizeof *seen);
    pthread_mutex_unlock(&device->note_lock);
    if (status != COPSE_OK) return status;
    u->epoch->counters_reset = true;
    if (!m->kept || (!seen->not_first_nan && seen->crowded != 1)) u->tree->table_slots = slots;
    return COPSE_OK;
}

/* --- the strategy --------------------------------------------------------------------------------------------------------------- */

static bool may(const copse_blink_update *u)
{
    const uint64_t tuned = u->tree->tuning.unsorted_most, most = tuned ? tuned : UNSORTED_MOST;
    if (u->tree->crowds && u->pairs.n > CROWD && !u->forced) return false;
    return !u->sorted && u->pairs.n <= (u->forced ? FORCED_MOST : most) && !u->index->duplicates &&
           copse_blink_in_place_may(u);
}

static int run(copse_blink_update *u)
{
    const copse_index *index = u->index;
    copse_blink_epoch *epoch = u->epoch;
    const uint64_t n = u->pairs.n;
    copse_blink_counters seen = {0};
    unsorted_memory m = {
        .resolve = {.counters = epoch->counters,
                    .low = epoch->low,
                    .high = epoch->high,
                    .operations = {.action = u->action, .last_wins = u->action != COPSE_ACTION_IF_ABSENT, .n = n}}};
    /* Every operation splits one leaf at most, and a base leaf of a B+ tree takes one more. */
    const uint64_t leaves = u->action == COPSE_ACTION_ERASE ? 0 : epoch->view.branches ? 2 * n : n;
    if (epoch->pool_taken + leaves > copse_blink_pool_most(epoch)) return COPSE_DECLINED;
    copse_status status = copse_progress(index->ctx, u->what, 0, n);
    if (status == COPSE_OK) status = copse_blink_pool_reserve(index, epoch, leaves);
    if (status == COPSE_OK) status = memory_take(u, n, &m);
    m.resolve.tree = epoch->view;
    m.resolve.touched = copse_blink_ranks_touched(epoch);
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
    if (seen.crowded == 1) {
        u->tree->crowds = !epoch->view.branches;
        return COPSE_DECLINED;
    }
    if (~seen.not_low < epoch->low) epoch->low = ~seen.not_low;
    if (seen.high > epoch->high) epoch->high = seen.high;
    return copse_blink_in_place_finish(u, &seen);
}

const copse_blink_strategy copse_blink_unsorted = {"unsorted", may, run};

/* The calls of the radix tree for keys of fixed width: those for byte strings, with keys turned into strings. */
#include "trees/radix/fixed/fixed.h"

#include "cpu/driver.h"
#include "core/handle.h"
#include "device/device.h"
#include "trees/radix/gpu/tree.h"

static const copse_calls *strings_of(const copse_index *index)
{
    return index->device ? &copse_radix_gpu_calls : &copse_radix_calls;
}

/* --- life and inspection ---------------------------------------------------------------------------------------------------- */

static copse_status fixed_create(copse_index *index)
{
    return strings_of(index)->create(index);
}

static void fixed_destroy(copse_index *index)
{
    strings_of(index)->destroy(index);
}

static uint64_t fixed_size(const copse_index *index)
{
    return strings_of(index)->size(index);
}

static void fixed_stats(const copse_index *index, copse_stats *out)
{
    strings_of(index)->stats(index, out);
}

static copse_status fixed_verify(const copse_index *index)
{
    return strings_of(index)->verify(index);
}

/* --- change ------------------------------------------------------------------------------------------------------------------ */

static copse_status fixed_build(copse_index *index, const void *keys, const void *values, uint64_t n)
{
    copse_radix_fixed_array strings = {.there = false};
    copse_status status = n ? copse_radix_fixed_take(index, "keys", keys, n, &strings) : COPSE_OK;
    if (status == COPSE_OK) status = strings_of(index)->build(index, &strings.bytes, values, n);
    copse_radix_fixed_free(index, &strings);
    return status;
}

static copse_status fixed_insert(copse_index *index, const void *keys, const void *values, uint64_t n, uint32_t flags,
                                 uint64_t *out_inserted)
{
    copse_radix_fixed_array strings;
    copse_status status = copse_radix_fixed_take(index, "keys", keys, n, &strings);
    if (status == COPSE_OK) status = strings_of(index)->insert(index, &strings.bytes, values, n, flags, out_inserted);
    copse_radix_fixed_free(index, &strings);
    return status;
}

static copse_status fixed_erase(copse_index *index, const void *keys, uint64_t n, uint64_t *out_erased)
{
    copse_radix_fixed_array strings;
    copse_status status = copse_radix_fixed_take(index, "keys", keys, n, &strings);
    if (status == COPSE_OK) status = strings_of(index)->erase(index, &strings.bytes, n, out_erased);
    copse_radix_fixed_free(index, &strings);
    return status;
}

static copse_status fixed_erase_pairs(copse_index *index, const void *keys, const void *values, uint64_t n,
                                      uint64_t *out_erased)
{
    copse_radix_fixed_array strings;
    copse_status status = copse_radix_fixed_take(index, "keys", keys, n, &strings);
    if (status == COPSE_OK) status = strings_of(index)->erase_pairs(index, &strings.bytes, values, n, out_erased);
    copse_radix_fixed_free(index, &strings);
    return status;
}

/* Where a key is NaN: operations that cannot be run are named first, as on every tree. */
static copse_status refuse_nan(const copse_index *index, const uint8_t *operations, bool has_values, uint64_t n,
                               copse_status nan)
{
    const bool there = index->device && copse_device_kind(index->device, operations) == COPSE_MEMORY_DEVICE;
    uint8_t *copy = there ? copse_memory_alloc(index->ctx, n) : NULL;
    copse_kept_error first;
    copse_error_keep(&first);
    copse_status status = COPSE_OK;
    bool finds, adds;
    if (copy) status = copse_device_read(index->device, index->device->main, copy, operations, n);
    if (status == COPSE_OK && (copy || !there))
        status = copse_cpu_check_operations(index, copy ? copy : operations, n, has_values, &finds, &adds);
    copse_memory_free(index->ctx, copy, n);
    if (status == COPSE_ERR_ARGUMENT || status == COPSE_ERR_TYPE) return status;
    copse_error_put_back(&first);
    return nan;
}

static copse_status fixed_apply(copse_index *index, const uint8_t *operations, const void *keys, const void *values,
                                uint64_t n, void *out_values, uint8_t *out_found)
{
    copse_radix_fixed_array strings;
    copse_index handle = copse_index_handle(index); /* by which the tree calls itself */
    handle.calls = strings_of(index);
    copse_status status = copse_radix_fixed_take(index, "keys", keys, n, &strings);
    if (status == COPSE_ERR_NAN)
        status = refuse_nan(index, operations, values || index->value_type == COPSE_NONE, n, status);
    if (status == COPSE_OK)
        status = handle.calls->apply(&handle, operations, &strings.bytes, values, n, out_values, out_found);
    copse_radix_fixed_free(index, &strings);
    return status;
}

/* --- points ------------------------------------------------------------------------------------------------------------------ */

static copse_status fixed_find(const copse_index *index, const void *keys, uint64_t n, void *values, uint8_t *found)
{
    if (!index->device) return copse_radix_find_fixed(index, keys, n, values, found);
    if (!copse_radix_is_apart(copse_radix_device_of(index), COPSE_RADIX_LEAF8))
        return copse_radix_fixed_device_find(index, keys, n, values, found);
    copse_radix_fixed_array strings;
    copse_status status = copse_radix_fixed_take(index, "keys", keys, n, &strings);
    if (status == COPSE_OK) status = copse_radix_device_find(index, &strings.bytes, n, values, found);
    copse_radix_fixed_free(index, &strings);
    return status;
}

static copse_status fixed_neighbours(const copse_index *index, const void *keys, uint64_t n, copse_neighbour which,
                                     void *out_keys, void *out_values, uint8_t *out_found, uint64_t *out_ranks)
{
    copse_radix_fixed_array strings, room = {.there = false};
    copse_status status = copse_radix_fixed_take(index, "keys", keys, n, &strings);
    if (status == COPSE_OK && out_keys) status = copse_radix_fixed_room(index, "out_keys", out_keys, n, &room);
    if (status == COPSE_OK)
        status = strings_of(index)->neighbours(index, &strings.bytes, n, which, out_keys ? &room.bytes : NULL,
                                               out_values, out_found, out_ranks);
    if (status == COPSE_OK && out_keys) status = copse_radix_fixed_give(index, &room, n, out_keys);
    copse_radix_fixed_free(index, &room);
    copse_radix_fixed_free(index, &strings);
    return status;
}

/* --- ranges ------------------------------------------------------------------------------------------------------------------ */

/* The ends of ranges as strings. */
typedef struct fixed_ranges {
    copse_ranges ranges;
    copse_radix_fixed_array lows, highs;
} fixed_ranges;

static copse_status ranges_take(const copse_index *index, const copse_ranges *asked, fixed_ranges *out)
{
    *out = (fixed_ranges){.ranges = *asked};
    if (!asked->n) return COPSE_OK;
    copse_status status = copse_radix_fixed_take(index, "lows", asked->lows, asked->n, &out->lows);
    if (status == COPSE_OK) status = copse_radix_fixed_take(index, "highs", asked->highs, asked->n, &out->highs);
    out->ranges.lows = &out->lows.bytes;
    out->ranges.highs = &out->highs.bytes;
    return status;
}

static void ranges_free(const copse_index *index, fixed_ranges *ranges)
{
    copse_radix_fixed_free(index, &ranges->lows);
    copse_radix_fixed_free(index, &ranges->highs);
}

static copse_status fixed_count(const copse_index *index, const copse_ranges *asked, uint64_t *counts)
{
    fixed_ranges strings;
    copse_status status = ranges_take(index, asked, &strings);
    if (status == COPSE_OK) status = strings_of(index)->count(index, &strings.ranges, counts);
    ranges_free(index, &strings);
    return status;
}

static copse_status fixed_aggregate(const copse_index *index, copse_aggregate_kind kind, const copse_ranges *asked,
                                    void *out, uint8_t *found)
{
    fixed_ranges strings;
    copse_status status = ranges_take(index, asked, &strings);
    if (status == COPSE_OK) status = strings_of(index)->aggregate(index, kind, &strings.ranges, out, found);
    ranges_free(index, &strings);
    return status;
}

static copse_status fixed_erase_range(copse_index *index, const copse_ranges *asked, uint64_t *out_erased)
{
    fixed_ranges strings;
    copse_index handle = copse_index_handle(index); /* by which the tree calls itself */
    handle.calls = strings_of(index);
    copse_status status = ranges_take(index, asked, &strings);
    if (status == COPSE_OK) status = handle.calls->erase_range(&handle, &strings.ranges, out_erased);
    ranges_free(index, &strings);
    return status;
}

/* The last of the offsets that a call has written: how many entries there are. */
static copse_status rows_total(const copse_index *index, const copse_rows *rows, uint64_t n, uint64_t *out)
{
    if (!index->device || copse_device_kind(index->device, rows->offsets) != COPSE_MEMORY_DEVICE) {
        *out = rows->offsets[n];
        return COPSE_OK;
    }
    return copse_device_read(index->device, index->device->main, out, rows->offsets + n, sizeof *out);
}

static copse_status fixed_range(const copse_index *index, const copse_ranges *asked, const copse_rows *rows)
{
    copse_radix_fixed_array room = {.there = false};
    copse_rows strings_to = *rows;
    fixed_ranges strings;
    uint64_t total = 0;
    copse_status status = ranges_take(index, asked, &strings);
    const bool keys = rows->keys && rows->capacity;
    if (status == COPSE_OK && keys)
        status = copse_radix_fixed_room(index, "out_keys", rows->keys, rows->capacity, &room);
    strings_to.keys = keys ? &room.bytes : NULL;
    if (status == COPSE_OK) status = strings_of(index)->range(index, &strings.ranges, &strings_to);
    if (status == COPSE_OK && rows->keys) status = rows_total(index, rows, asked->n, &total);
    if (status == COPSE_OK && rows->keys && total > rows->capacity)
        status = copse_fail_room(index->ctx, "out_rows", rows->capacity, total);
    if (status == COPSE_OK && keys) status = copse_radix_fixed_give(index, &room, total, rows->keys);
    copse_radix_fixed_free(index, &room);
    ranges_free(index, &strings);
    return status;
}

/* --- scans -------------------------------------------------------------------------------------------------------------------- */

static copse_status fixed_scan(const copse_index *index, copse_scan *scan)
{
    copse_radix_fixed_array from = {.there = false}, to = {.there = false}, room = {.there = false};
    copse_scan strings = *scan;
    copse_status status = COPSE_OK;
    if (scan->from) status = copse_radix_fixed_take(index, "key", scan->from, 1, &from);
    if (status == COPSE_OK && scan->to) status = copse_radix_fixed_take(index, "key", scan->to, 1, &to);
    const bool keys = scan->keys && scan->most;
    if (status == COPSE_OK && keys) status = copse_radix_fixed_room(index, "out_keys", scan->keys, scan->most, &room);
    if (scan->from) strings.from = &from.bytes;
    if (scan->to) strings.to = &to.bytes;
    strings.keys = keys ? &room.bytes : NULL;
    if (status == COPSE_OK) status = strings_of(index)->scan(index, &strings);
    if (status == COPSE_OK && keys) status = copse_radix_fixed_give(index, &room, strings.n, scan->keys);
    scan->n = status == COPSE_OK ? strings.n : 0;
    if (status == COPSE_OK) scan->position = strings.position;
    copse_radix_fixed_free(index, &from);
    copse_radix_fixed_free(index, &to);
    copse_radix_fixed_free(index, &room);
    return status;
}

const copse_calls copse_radix_fixed_calls = {
    .create = fixed_create,
    .destroy = fixed_destroy,
    .build = fixed_build,
    .insert = fixed_insert,
    .erase = fixed_erase,
    .erase_pairs = fixed_erase_pairs,
    .erase_range = fixed_erase_range,
    .apply = fixed_apply,
    .find = fixed_find,
    .neighbours = fixed_neighbours,
    .count = fixed_count,
    .range = fixed_range,
    .aggregate = fixed_aggregate,
    .scan = fixed_scan,
    .scan_step = 4096,
    .size = fixed_size,
    .stats = fixed_stats,
    .verify = fixed_verify,
};

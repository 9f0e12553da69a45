/* Calls over ranges on a device, whatever the tree. */
#include "gpu/ranges.h"
#include "core/reads.h"
#include "gpu/batch.h"
#include "gpu/shared_kernels.h"
#include "primitives/primitives.h"

#define SMALL_SHARE  UINT64_C(248)       /* ranges for each multiprocessor up to which a warp takes few */
#define COPY_ENTRIES (UINT64_C(1) << 24) /* entries that go to host arrays at a time                    */

/* Element `elements` of an array that may be NULL. */
static void *advance(const void *array, uint64_t elements, size_t width)
{
    return array ? (char *)(uintptr_t)array + elements * width : NULL;
}

uint32_t copse_ranges_per_warp(const copse_index *index, uint64_t n)
{
    return n <= SMALL_SHARE * index->device->multiprocessors ? 8 : 32;
}

copse_status copse_ranges_launch(const copse_index *index, copse_stream *stream, const copse_range_kernel *kernel,
                                 const copse_range_queries *all, uint64_t n)
{
    const size_t key = copse_type_size(index->key_type), result = all->kind == COPSE_KIND_SUM128 ? 16 : 8;
    copse_range_queries *queries = kernel->queries;
    copse_status status = COPSE_OK;
    *queries = *all;
    for (uint64_t at = 0; at < n && status == COPSE_OK; at += COPSE_RANGES_LAUNCH) {
        queries->n = (uint32_t)(n - at < COPSE_RANGES_LAUNCH ? n - at : COPSE_RANGES_LAUNCH);
        queries->per_warp = copse_ranges_per_warp(index, queries->n);
        queries->first = all->first + at;
        queries->lows = advance(all->lows, at, key);
        queries->highs = advance(all->highs, at, key);
        queries->locations = advance(all->locations, at, sizeof(uint64_t));
        queries->ends = advance(all->ends, at, sizeof(uint64_t));
        queries->counts = advance(all->counts, at, sizeof(uint64_t));
        queries->out = advance(all->out, at, result);
        const uint64_t per_block = (uint64_t)queries->per_warp * (COPSE_KERNEL_THREADS / 32);
        status = copse_device_launch(index->device, stream, kernel->kernel, (queries->n + per_block - 1) / per_block,
                                     kernel->arguments);
    }
    return status;
}

/* --- one result for each range ---------------------------------------------------------------------------------------------- */

copse_status copse_ranges_transfer(const copse_index *index, const copse_range_arrays *arrays, bool reports,
                                   copse_transfer_work work, void *user, uint64_t **report)
{
    const size_t key = copse_type_size(index->key_type);
    const void *all[] = {arrays->lows, arrays->highs, arrays->out, arrays->found};
    copse_transfer_job transfer = {
        .device = index->device,
        .array = {{.memory = (void *)(uintptr_t)arrays->lows, .element = key, .name = "lows"},
                  {.memory = (void *)(uintptr_t)arrays->highs, .element = key, .name = "highs"},
                  {.memory = arrays->out, .element = arrays->element, .output = true, .name = arrays->name},
                  {.memory = arrays->found, .element = 1, .output = true, .name = "out_found"}},
        .arrays = 4,
        .n = arrays->n,
        .work = work,
        .user = user};
    int number;
    copse_status status = copse_call_report_take(index, reports, &number, report);
    if (status != COPSE_OK) return status;
    status = copse_transfer_run(&transfer);
    return copse_call_report_end(index, number, status, copse_call_waits(index, all, 4), true);
}

typedef struct count_call {
    const copse_index *index;
    const copse_range_kernel *kernel;
    uint64_t *report;
} count_call;

static copse_status count_work(void *user, copse_stream *stream, uint64_t first, uint64_t n, void *const *memory)
{
    const count_call *call = user;
    const copse_range_queries ranges = {
        .lows = memory[0], .highs = memory[1], .first = first, .counts = memory[2], .report = call->report};
    return copse_ranges_launch(call->index, stream, call->kernel, &ranges, n);
}

copse_status copse_count_run(const copse_index *index, const copse_range_kernel *count, const copse_ranges *ranges,
                             uint64_t *counts)
{
    count_call call = {.index = index, .kernel = count};
    const copse_range_arrays arrays = copse_count_arrays(ranges, counts);
    return copse_ranges_transfer(index, &arrays, false, count_work, &call, &call.report);
}

/* --- entries of ranges: the caller's arrays ----------------------------------------------------------------------------------- */

static copse_status side_open(const copse_index *index, const void *array, const char *name, uint64_t bytes,
                              bool upload, copse_device_side *out)
{
    copse_device *device = index->device;
    *out = (copse_device_side){.memory = (void *)(uintptr_t)array};
    if (bytes == 0) return COPSE_OK; /* no kernel reads or writes it */
    bool on_device;
    copse_status status = copse_call_array(index, array, name, &on_device);
    if (status != COPSE_OK || on_device) return status;
    *out = (copse_device_side){.host = (void *)(uintptr_t)array, .bytes = bytes, .own = true};
    status = copse_device_alloc(device, device->main, bytes, "copse_range", &out->memory);
    if (status == COPSE_OK && upload) status = copse_transfer_to_device(device, out->memory, array, bytes);
    return status;
}

/* An array of our own with 8 bytes for each range. */
static copse_status own_open(const copse_index *index, uint64_t n, copse_device_side *out)
{
    *out = (copse_device_side){.bytes = (n ? n : 1) * sizeof(uint64_t), .own = true};
    return copse_device_alloc(index->device, index->device->main, out->bytes, "copse_range", &out->memory);
}

static copse_status sides_open(copse_range_call *call, const copse_range_target *target)
{
    const copse_index *index = call->index;
    const size_t key = copse_type_size(index->key_type), value = copse_value_width(index->value_type);
    const uint64_t room = call->capacity < COPY_ENTRIES ? call->capacity : COPY_ENTRIES;
    const uint64_t offset_bytes = (call->n + 1) * sizeof *target->offsets;
    copse_status status = COPSE_OK;
    if (call->n) status = side_open(index, target->lows, "lows", call->n * key, true, &call->lows);
    if (status == COPSE_OK && call->n)
        status = side_open(index, target->highs, "highs", call->n * key, true, &call->highs);
    if (status == COPSE_OK)
        status = side_open(index, target->offsets, "out_offsets", offset_bytes, false, &call->offsets);
    if (status == COPSE_OK && call->descending) status = own_open(index, call->n, &call->wholes);
    if (status == COPSE_OK && target->keys)
        status = side_open(index, target->keys, "out_keys", room * key, false, &call->keys);
    if (status == COPSE_OK && target->values)
        status = side_open(index, target->values, "out_values", room * value, false, &call->values);
    if (status != COPSE_OK || (!target->keys && !target->values)) return status;
    return own_open(index, call->n, &call->locations);
}

copse_status copse_range_begin(copse_range_call *call, const copse_range_target *target)
{
    const void *arrays[] = {target->lows, target->highs, target->offsets, target->keys, target->values};
    copse_status status = copse_call_report_take(call->index, true, &call->report_number, &call->report);
    if (status != COPSE_OK) return status;
    call->report[COPSE_REPORT_ROOM] = call->capacity;
    call->waits = copse_call_waits(call->index, arrays, 5);
    return sides_open(call, target);
}

copse_status copse_range_end(copse_range_call *call, copse_status status)
{
    copse_device *device = call->index->device;
    copse_device_side *sides[] = {&call->lows,      &call->highs, &call->offsets, &call->wholes,
                                  &call->locations, &call->keys,  &call->values};
    for (unsigned i = 0; i < sizeof sides / sizeof *sides; i++)
        if (sides[i]->own) copse_device_free(device, device->main, sides[i]->memory, sides[i]->bytes);
    return copse_call_report_end(call->index, call->report_number, status, call->waits, true);
}

/* --- entries of ranges: the steps ------------------------------------------------------------------------------------------- */

static bool to_host(const copse_range_call *call)
{
    return call->offsets.host || call->keys.host || call->values.host;
}

bool copse_range_stays(const copse_range_call *call)
{
    return call->locations.own && !to_host(call);
}

/* Where something lies in host memory the host waits for the offsets, since they say how much there is to copy. */
static copse_status offsets_to_host(copse_range_call *call)
{
    copse_device *device = call->index->device;
    const uint64_t *offsets = call->offsets.memory;
    copse_status status = copse_device_read(device, device->main, &call->total, offsets + call->n, sizeof call->total);
    if (status == COPSE_OK && call->offsets.host)
        status = copse_transfer_to_host(device, call->offsets.host, offsets, (call->n + 1) * sizeof *offsets);
    call->more = call->locations.own && call->total > 0;
    if (status == COPSE_OK && call->more && call->total > call->capacity) {
        call->report[COPSE_REPORT_TOO_SMALL] = call->total;
        call->more = false;
    }
    return status;
}

copse_status copse_range_offsets(copse_range_call *call)
{
    copse_device *device = call->index->device;
    uint64_t *offsets = call->offsets.memory;
    copse_status status = copse_device_fill(device, device->main, offsets + call->n, 0, sizeof *offsets);
    if (status == COPSE_OK)
        status = device->backend->primitives->scan_u64(device, device->main, offsets, offsets, call->n + 1);
    call->stretch.first = call->stretch.count = 0;
    call->total = call->capacity; /* a kernel finds out how much of that there is */
    call->more = call->locations.own;
    return status == COPSE_OK && to_host(call) ? offsets_to_host(call) : status;
}

/* Brings a stretch of one array to the host, where it lies there. */
static copse_status stretch_to_host(const copse_range_call *call, const copse_device_side *side, size_t width)
{
    if (!side->host) return COPSE_OK;
    return copse_transfer_to_host(call->index->device, advance(side->host, call->stretch.first, width), side->memory,
                                  call->stretch.count * width);
}

bool copse_range_next(copse_range_call *call, copse_status *status)
{
    const copse_index *index = call->index;
    const size_t key = copse_type_size(index->key_type), value = copse_value_width(index->value_type);
    if (*status == COPSE_OK && call->stretch.count) *status = stretch_to_host(call, &call->keys, key);
    if (*status == COPSE_OK && call->stretch.count) *status = stretch_to_host(call, &call->values, value);
    if (*status != COPSE_OK || !call->more) return false;
    const uint64_t first = call->stretch.first + call->stretch.count, left = call->total - first;
    call->stretch.first = first;
    call->stretch.count = to_host(call) && left > COPY_ENTRIES ? COPY_ENTRIES : left;
    call->stretch.keys = call->keys.host ? call->keys.memory : advance(call->keys.memory, first, key);
    call->stretch.values = call->values.host ? call->values.memory : advance(call->values.memory, first, value);
    call->more = call->stretch.count < left;
    return true;
}

static uint64_t entry_blocks(const copse_index *index, const copse_entry_kernel *kernel, uint64_t count)
{
    return copse_device_blocks(index->device, kernel->single ? count : (count / COPSE_GATHER_TILE + 1) * 32);
}

/* Puts the copying of one stretch on the stream. */
static copse_status stretch_gather(const copse_range_call *call, const copse_entry_kernel *gather)
{
    const copse_index *index = call->index;
    *gather->output = (copse_entry_output){.first = call->stretch.first,
                                           .count = call->stretch.count,
                                           .locations = call->locations.memory,
                                           .offsets = call->offsets.memory,
                                           .wholes = call->wholes.memory,
                                           .n = call->n,
                                           .capacity = call->capacity,
                                           .keys = call->stretch.keys,
                                           .values = call->stretch.values,
                                           .report = call->report};
    return copse_device_launch(index->device, index->device->main, gather->kernel,
                               entry_blocks(index, gather, call->stretch.count), gather->arguments);
}

copse_status copse_range_gather_all(copse_range_call *call, const copse_entry_kernel *gather)
{
    call->stretch.first = 0;
    call->stretch.count = call->capacity;
    call->stretch.keys = call->keys.memory;
    call->stretch.values = call->values.memory;
    return stretch_gather(call, gather);
}

/* Entries of ranges that are wanted from the last one back: as many as the limit lets through. */
static copse_status wholes_limit(const copse_range_call *call)
{
    const copse_index *index = call->index;
    const unsigned pair = copse_width_pair(copse_type_size(index->key_type), copse_value_width(index->value_type));
    const copse_limit_arguments arguments = {call->wholes.memory, call->offsets.memory, call->n, call->limit};
    if (call->n == 0) return COPSE_OK;
    return copse_device_launch(index->device, index->device->main,
                               &copse_shared_kernels_on(index->device, pair)->limit_counts,
                               copse_device_blocks(index->device, call->n), &arguments);
}

copse_status copse_range_run(copse_range_call *call, const copse_range_kernel *count, const copse_entry_kernel *gather)
{
    const copse_range_queries ranges = {.lows = call->lows.memory,
                                        .highs = call->highs.memory,
                                        .limit = call->descending ? 0 : call->limit,
                                        .locations = call->locations.memory,
                                        .counts = (call->descending ? call->wholes : call->offsets).memory,
                                        .report = call->report};
    copse_status status = copse_ranges_launch(call->index, call->index->device->main, count, &ranges, call->n);
    if (status == COPSE_OK && call->descending) status = wholes_limit(call);
    if (status == COPSE_OK) status = copse_range_offsets(call);
    while (copse_range_next(call, &status)) status = stretch_gather(call, gather);
    return status;
}

/* --- entries by rank -------------------------------------------------------------------------------------------------------- */

typedef struct entries_call {
    const copse_index *index;
    const copse_entry_kernel *copy;
    uint64_t rank;
} entries_call;

static copse_status entries_work(void *user, copse_stream *stream, uint64_t first, uint64_t n, void *const *memory)
{
    const entries_call *call = user;
    const copse_index *index = call->index;
    *call->copy->output =
        (copse_entry_output){.first = call->rank + first, .count = n, .keys = memory[0], .values = memory[1]};
    return copse_device_launch(index->device, stream, call->copy->kernel, entry_blocks(index, call->copy, n),
                               call->copy->arguments);
}

static copse_status select_work(void *user, copse_stream *stream, uint64_t first, uint64_t n, void *const *memory)
{
    const entries_call *call = user;
    (void)first;
    *call->copy->output = (copse_entry_output){
        .ranks = memory[0], .count = n, .keys = memory[1], .values = memory[2], .found = memory[3]};
    return copse_device_launch(call->index->device, stream, call->copy->kernel,
                               copse_device_blocks(call->index->device, n), call->copy->arguments);
}

copse_status copse_select_run(const copse_index *index, const copse_entry_kernel *select, const uint64_t *ranks,
                              uint64_t n, void *keys, void *values, uint8_t *found)
{
    entries_call call = {index, select, 0};
    copse_transfer_job transfer = {
        .device = index->device,
        .array =
            {{.memory = (void *)(uintptr_t)ranks, .element = sizeof *ranks, .name = "ranks"},
             {.memory = keys, .element = copse_type_size(index->key_type), .output = true, .name = "out_keys"},
             {.memory = values, .element = copse_value_width(index->value_type), .output = true, .name = "out_values"},
             {.memory = found, .element = 1, .output = true, .name = "out_found"}},
        .arrays = 4,
        .n = n,
        .work = select_work,
        .user = &call};
    return copse_transfer_run(&transfer);
}

copse_status copse_entries_run(const copse_index *index, const copse_entry_kernel *copy, uint64_t rank, uint64_t count,
                               void *keys, void *values)
{
    entries_call call = {index, copy, rank};
    copse_transfer_job transfer = {
        .device = index->device,
        .array =
            {{.memory = keys, .element = copse_type_size(index->key_type), .output = true, .name = "out_keys"},
             {.memory = values, .element = copse_value_width(index->value_type), .output = true, .name = "out_values"}},
        .arrays = 2,
        .n = count,
        .work = entries_work,
        .user = &call};
    return copse_transfer_run(&transfer);
}

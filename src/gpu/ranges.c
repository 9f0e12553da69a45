/* Calls over ranges on a device, whatever the structure. */
#include "gpu/ranges.h"
#include "primitives/primitives.h"
#include "transfer/transfer.h"

#define SMALL_SHARE  UINT64_C(248)       /* ranges for each multiprocessor up to which a warp takes few */
#define COPY_ENTRIES (UINT64_C(1) << 24) /* entries that go to host arrays at a time                    */

uint32_t copse_ranges_per_warp(const copse_index *index, uint64_t n)
{
    return n <= SMALL_SHARE * index->device->multiprocessors ? 8 : 32;
}

static copse_status side_open(const copse_index *index, const void *array, const char *name, uint64_t bytes,
                              bool upload, copse_device_side *out)
{
    copse_device *device = index->device;
    *out = (copse_device_side){.memory = (void *)(uintptr_t)array};
    if (bytes == 0) return COPSE_OK; /* nobody looks there */
    bool on_device;
    copse_status status = copse_call_array(index, array, name, &on_device);
    if (status != COPSE_OK || on_device) return status;
    *out = (copse_device_side){.host = (void *)(uintptr_t)array, .bytes = bytes, .own = true};
    status = copse_device_alloc(device, device->main, bytes, "copse_range", &out->memory);
    if (status == COPSE_OK && upload) status = copse_transfer_to_device(device, out->memory, array, bytes);
    return status;
}

/* Places and offsets of all ranges. */
static copse_status range_size(const copse_range_call *call)
{
    copse_device *device = call->index->device;
    uint64_t *offsets = call->offsets.memory;
    copse_status status = copse_device_fill(device, device->main, offsets + call->n, 0, sizeof *offsets);
    if (status == COPSE_OK) status = call->size(call);
    if (status == COPSE_OK)
        status = device->backend->primitives->scan_u64(device, device->main, offsets, offsets, call->n + 1);
    return status;
}

/* Host outputs are filled stretch by stretch through buffers on the device. */
static copse_status range_to_host(copse_range_call *call, uint64_t total)
{
    const copse_index *index = call->index;
    const size_t key = copse_type_size(index->key_type), value = copse_type_size(index->value_type);
    copse_status status = COPSE_OK;
    for (uint64_t first = 0; first < total && status == COPSE_OK; first += COPY_ENTRIES) {
        uint64_t count = total - first < COPY_ENTRIES ? total - first : COPY_ENTRIES;
        void *keys = call->keys.host ? call->keys.memory : copse_ranges_advance(call->keys.memory, first, key);
        void *values =
            call->values.host ? call->values.memory : copse_ranges_advance(call->values.memory, first, value);
        status = call->gather(call, first, count, keys, values);
        if (status == COPSE_OK && call->keys.host)
            status = copse_transfer_to_host(index->device, copse_ranges_advance(call->keys.host, first, key), keys,
                                            count * key);
        if (status == COPSE_OK && call->values.host)
            status = copse_transfer_to_host(index->device, copse_ranges_advance(call->values.host, first, value),
                                            values, count * value);
    }
    return status;
}

/* Where something lies in host memory the call waits for the offsets and goes on from there. */
static copse_status range_staged(copse_range_call *call, bool copying)
{
    const copse_index *index = call->index;
    copse_device *device = index->device;
    const uint64_t *offsets = call->offsets.memory;
    uint64_t total = 0;
    copse_status status = copse_device_read(device, device->main, &total, offsets + call->n, sizeof total);
    if (status == COPSE_OK && call->offsets.host)
        status = copse_transfer_to_host(device, call->offsets.host, offsets, (call->n + 1) * sizeof *offsets);
    if (status != COPSE_OK || !copying) return status;
    if (total > call->capacity) {
        call->report[COPSE_REPORT_TOO_SMALL] = total;
        return COPSE_OK;
    }
    return range_to_host(call, total);
}

copse_status copse_range_open(copse_range_call *call, const void *lows, const void *highs, uint64_t *offsets,
                              void *keys, void *values)
{
    const copse_index *index = call->index;
    const size_t key = copse_type_size(index->key_type), value = copse_type_size(index->value_type);
    const uint64_t room = call->capacity < COPY_ENTRIES ? call->capacity : COPY_ENTRIES;
    copse_status status = COPSE_OK;
    if (call->n) status = side_open(index, lows, "lows", call->n * key, true, &call->lows);
    if (status == COPSE_OK && call->n) status = side_open(index, highs, "highs", call->n * key, true, &call->highs);
    if (status == COPSE_OK)
        status = side_open(index, offsets, "out_offsets", (call->n + 1) * sizeof *offsets, false, &call->offsets);
    if (status == COPSE_OK && keys) status = side_open(index, keys, "out_keys", room * key, false, &call->keys);
    if (status == COPSE_OK && values)
        status = side_open(index, values, "out_values", room * value, false, &call->values);
    if (status == COPSE_OK && (keys || values)) {
        call->places.bytes = (call->n ? call->n : 1) * sizeof(uint64_t);
        call->places.own = true;
        status = copse_device_alloc(index->device, index->device->main, call->places.bytes, "copse_range",
                                    &call->places.memory);
    }
    return status;
}

copse_status copse_range_run(copse_range_call *call)
{
    const bool copying = call->places.own, to_host = call->offsets.host || call->keys.host || call->values.host;
    if (copying && !to_host && call->n && call->whole) return call->whole(call);
    copse_status status = range_size(call);
    if (status != COPSE_OK) return status;
    if (to_host) return range_staged(call, copying);
    return copying ? call->gather(call, 0, call->capacity, call->keys.memory, call->values.memory) : COPSE_OK;
}

void copse_range_close(copse_range_call *call)
{
    copse_device *device = call->index->device;
    copse_device_side *sides[] = {&call->lows, &call->highs, &call->offsets, &call->places, &call->keys, &call->values};
    for (unsigned i = 0; i < sizeof sides / sizeof *sides; i++)
        if (sides[i]->own) copse_device_free(device, device->main, sides[i]->memory, sides[i]->bytes);
}

copse_status copse_range_call_run(copse_range_call *call, const void *lows, const void *highs, uint64_t *offsets,
                                  void *keys, void *values)
{
    const void *arrays[] = {lows, highs, offsets, keys, values};
    int report;
    copse_status status = copse_call_report_take(call->index, true, &report, &call->report);
    if (status != COPSE_OK) return status;
    call->report[COPSE_REPORT_ROOM] = call->capacity;
    status = copse_range_open(call, lows, highs, offsets, keys, values);
    if (status == COPSE_OK) status = copse_range_run(call);
    copse_range_close(call);
    return copse_call_report_end(call->index, report, status, copse_call_waits(call->index, arrays, 5), true);
}

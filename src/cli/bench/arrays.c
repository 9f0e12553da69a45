/* The caller's arrays: in ordinary memory, in pinned memory or in the memory of a device. Nothing here is timed. */
#include "cli/bench/bench.h"

#include "device/device.h"

#include <stdlib.h>
#include <string.h>

#define POISON 0xA5

/* ---- what a measurement needs ---- */

static bool gives_keys(const bench_op *op)
{
    switch (op->code) {
    case BENCH_LOWER_BOUND:
    case BENCH_SUCCESSOR:
    case BENCH_PREDECESSOR:
    case BENCH_RANGE:
    case BENCH_EXPORT:
    case BENCH_VISIT_FILTER:
        return true;
    default:
        return false;
    }
}

static bool gives_values(const bench_op *op)
{
    return gives_keys(op) || bench_op_mixes(op) || op->code == BENCH_FIND || op->code == BENCH_MISS ||
           op->code == BENCH_MIN || op->code == BENCH_MAX;
}

static bool gives_found(const bench_op *op)
{
    return op->code == BENCH_CONTAINS || (gives_values(op) && op->code != BENCH_RANGE && op->kind != BENCH_KIND_PASS);
}

static bool gives_words(const bench_op *op)
{
    switch (op->code) {
    case BENCH_RANK:
    case BENCH_RANGE:
    case BENCH_COUNT:
    case BENCH_SUM:
    case BENCH_AVG:
    case BENCH_VISIT:
    case BENCH_VISIT_SUM:
    case BENCH_VISIT_MAP:
    case BENCH_VISIT_FILTER:
    case BENCH_VISIT_HISTOGRAM:
    case BENCH_VISIT_TOP:
        return true;
    default:
        return false;
    }
}

static void add_input(bench_layout *layout, bench_array which, const void *array, uint64_t bytes)
{
    if (array == NULL) return;
    layout->host[which] = (void *)(uintptr_t)array; /* inputs are only read, but share a table with the outputs */
    layout->bytes[which] = bytes;
}

static void add_output(bench_layout *layout, bench_array which, bool wanted, uint64_t count, size_t size)
{
    if (!wanted) return;
    layout->host[which] = bench_memory(count, size);
    layout->bytes[which] = count * size;
}

void bench_layout_make(bench_layout *layout, const bench_data *data, const bench_op *op, const bench_queries *queries,
                       uint64_t count, uint64_t batch)
{
    memset(layout, 0, sizeof *layout);
    if (op->kind == BENCH_KIND_BUILD) {
        bool sorted = op->code == BENCH_BUILD_SORTED;
        uint64_t n = sorted ? data->entries : data->n;
        add_input(layout, BENCH_IN_KEYS, sorted ? data->sorted_keys : data->keys, n * data->key_size);
        add_input(layout, BENCH_IN_VALUES, sorted ? data->sorted_values : data->values, n * data->value_size);
        return;
    }
    add_input(layout, BENCH_IN_KEYS, queries->keys, count * data->key_size);
    add_input(layout, BENCH_IN_HIGHS, queries->highs, count * data->key_size);
    add_input(layout, BENCH_IN_VALUES, queries->values, count * data->value_size);
    add_input(layout, BENCH_IN_OPERATIONS, queries->operations, count);
    bool rows = op->code == BENCH_RANGE;
    uint64_t calls = rows && count > 0 ? (count + batch - 1) / batch : 0;
    uint64_t cells = op->kind == BENCH_KIND_PASS ? data->entries : rows ? count * queries->lengths[0] : count;
    layout->capacity = cells;
    add_output(layout, BENCH_OUT_KEYS, gives_keys(op), cells, data->key_size);
    add_output(layout, BENCH_OUT_VALUES, gives_values(op), cells, data->value_size);
    add_output(layout, BENCH_OUT_FOUND, gives_found(op), count, 1);
    add_output(layout, BENCH_OUT_WORDS, gives_words(op), op->kind == BENCH_KIND_PASS ? 2 : count + calls,
               sizeof(uint64_t));
}

void bench_layout_free(bench_layout *layout)
{
    for (int i = BENCH_OUT_KEYS; i < BENCH_ARRAYS; i++) free(layout->host[i]);
    memset(layout, 0, sizeof *layout);
}

/* ---- memory ---- */

typedef struct filling {
    char *memory;
    uint8_t byte;
} filling;

static void fill_chunk(void *argument, uint64_t first, uint64_t last)
{
    const filling *f = argument;
    memset(f->memory + first, f->byte, last - first);
}

static void fill_host(void *memory, uint8_t byte, uint64_t bytes)
{
    filling f = {memory, byte};
    workload_parallel(bytes, UINT64_C(1) << 22, fill_chunk, &f);
}

static bool report(const bench_target *target, copse_status status)
{
    if (status != COPSE_OK) cli_fail("bench", "%s: %s", target->name, copse_last_error(target->ctx));
    return status == COPSE_OK;
}

static bool finish(const bench_target *target, copse_status status)
{
    if (status == COPSE_OK) status = copse_device_wait(target->device, target->device->main);
    return report(target, status);
}

static void *pinned_memory(const bench_target *target, uint64_t bytes)
{
    copse_device *device = target->device;
    int before = device->backend->enter(device);
    void *memory = device->backend->pinned_alloc(device, bytes);
    device->backend->leave(device, before);
    if (memory == NULL) {
        cli_fail("bench", "%s: no pinned memory for %llu bytes; try a smaller --queries", target->name,
                 (unsigned long long)bytes);
    }
    return memory;
}

static void free_pinned(const bench_target *target, void *memory, uint64_t bytes)
{
    copse_device *device = target->device;
    int before = device->backend->enter(device);
    device->backend->pinned_free(device, memory, bytes);
    device->backend->leave(device, before);
}

static bool make_array(bench_arrays *arrays, bench_array which)
{
    const bench_target *target = arrays->target;
    uint64_t bytes = arrays->layout->bytes[which];
    const void *input = which < BENCH_OUT_KEYS ? arrays->layout->host[which] : NULL;
    if (arrays->memory == BENCH_PINNED) {
        arrays->at[which] = pinned_memory(target, bytes);
        if (arrays->at[which] && input) memcpy(arrays->at[which], input, bytes);
        return arrays->at[which] != NULL;
    }
    copse_device *device = target->device;
    copse_status status =
        copse_device_alloc(device, device->main, bytes, "arrays of the benchmark", &arrays->at[which]);
    if (status == COPSE_OK && input) {
        status = copse_device_copy(device, device->main, arrays->at[which], input, bytes);
    }
    return finish(target, status);
}

/* ---- arrays of a contestant ---- */

bool bench_arrays_make(bench_arrays *arrays, const bench_layout *layout, const bench_target *target, const bench_op *op)
{
    /* A visitor is called on the host, and a snapshot is a file: there is nothing for a device to hold. */
    bool here = op->kind == BENCH_KIND_PASS && op->code != BENCH_EXPORT;
    bench_memory_kind memory = target->memory == BENCH_PROMISED ? BENCH_DEVICE : target->memory;
    *arrays = (bench_arrays){.layout = layout, .target = target, .memory = here ? BENCH_HOST : memory};
    if (arrays->memory == BENCH_HOST) {
        memcpy(arrays->at, layout->host, sizeof arrays->at);
        return true;
    }
    for (int i = 0; i < BENCH_ARRAYS; i++) {
        if (layout->bytes[i] > 0 && !make_array(arrays, (bench_array)i)) return false;
    }
    return true;
}

bool bench_arrays_poison(const bench_arrays *arrays)
{
    copse_status status = COPSE_OK;
    for (int i = BENCH_OUT_KEYS; i < BENCH_ARRAYS && status == COPSE_OK; i++) {
        uint64_t bytes = arrays->layout->bytes[i];
        if (bytes == 0) continue;
        if (arrays->memory == BENCH_DEVICE) {
            copse_device *device = arrays->target->device;
            status = copse_device_fill(device, device->main, arrays->at[i], POISON, bytes);
        } else {
            fill_host(arrays->at[i], POISON, bytes);
        }
    }
    return arrays->memory != BENCH_DEVICE || finish(arrays->target, status);
}

bool bench_arrays_read(const bench_arrays *arrays, bench_outputs *out)
{
    const bench_layout *layout = arrays->layout;
    bool copied = arrays->memory == BENCH_DEVICE;
    copse_status status = COPSE_OK;
    for (int i = BENCH_OUT_KEYS; copied && i < BENCH_ARRAYS && status == COPSE_OK; i++) {
        copse_device *device = arrays->target->device;
        if (layout->bytes[i] == 0) continue;
        fill_host(layout->host[i], POISON ^ 0xFF, layout->bytes[i]); /* nor may a copy that did not happen pass */
        status = copse_device_copy(device, device->main, layout->host[i], arrays->at[i], layout->bytes[i]);
    }
    if (copied && !finish(arrays->target, status)) return false;
    void *const *at = copied ? layout->host : arrays->at;
    *out = (bench_outputs){.keys = at[BENCH_OUT_KEYS],
                           .values = at[BENCH_OUT_VALUES],
                           .found = at[BENCH_OUT_FOUND],
                           .words = at[BENCH_OUT_WORDS],
                           .capacity = layout->capacity};
    return true;
}

void bench_arrays_free(bench_arrays *arrays)
{
    for (int i = 0; i < BENCH_ARRAYS && arrays->memory != BENCH_HOST; i++) {
        const bench_target *target = arrays->target;
        uint64_t bytes = arrays->layout->bytes[i];
        if (arrays->at[i] == NULL) continue;
        if (arrays->memory == BENCH_PINNED) {
            free_pinned(target, arrays->at[i], bytes);
        } else {
            copse_device_free(target->device, target->device->main, arrays->at[i], bytes);
        }
    }
    memset(arrays, 0, sizeof *arrays);
}

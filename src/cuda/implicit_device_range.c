/* Ranges of the implicit tree on a device: how many entries, and the entries themselves. */
#include "cuda/implicit_device.h"
#include "cuda/transfer.h"

#define LAUNCH_MOST  (UINT64_C(1) << 30)
#define SMALL_SHARE  UINT64_C(248)       /* ranges for each multiprocessor up to which a warp takes few */
#define REPORT_ROOM  4                   /* word of the report that takes the capacity, for the sentence */
#define COPY_ENTRIES (UINT64_C(1) << 24) /* entries that go to host arrays at a time                     */

static void *advance(const void *array, uint64_t elements, size_t width)
{
    return array ? (char *)(uintptr_t)array + elements * width : NULL;
}

copse_status copse_implicit_device_ranges(const copse_index *index, copse_stream *stream, const copse_kernel *kernels,
                                          const copse_range_arguments *arguments, uint64_t n)
{
    const size_t key = copse_type_size(index->key_type);
    const size_t result = arguments->kind == COPSE_KIND_SUM128 ? 16 : 8;
    copse_range_arguments a = *arguments;
    copse_status status = COPSE_OK;
    for (uint64_t at = 0; at < n && status == COPSE_OK; at += LAUNCH_MOST) {
        a.n = (uint32_t)(n - at < LAUNCH_MOST ? n - at : LAUNCH_MOST);
        a.per_warp = a.n <= SMALL_SHARE * index->device->multiprocessors ? 8 : 32;
        a.first = arguments->first + at;
        a.lows = advance(arguments->lows, at, key);
        a.highs = advance(arguments->highs, at, key);
        a.places = advance(arguments->places, at, sizeof(uint64_t));
        a.counts = advance(arguments->counts, at, sizeof(uint64_t));
        a.out = advance(arguments->out, at, result);
        const uint64_t per_block = (uint64_t)a.per_warp * (COPSE_KERNEL_THREADS / 32);
        status = copse_device_launch(index->device, stream, &kernels[a.tree.levels.digest],
                                     (a.n + per_block - 1) / per_block, &a);
    }
    return status;
}

/* --- count -------------------------------------------------------------------------------------------------------------- */

typedef struct count_job {
    const copse_index *index;
    uint64_t *report;
} count_job;

static copse_status count_work(void *user, copse_stream *stream, uint64_t first, uint64_t n, void *const *memory)
{
    const count_job *job = user;
    copse_range_arguments arguments = {.tree = copse_implicit_device_of(job->index)->view,
                                       .lows = memory[0],
                                       .highs = memory[1],
                                       .first = first,
                                       .counts = memory[2],
                                       .report = job->report};
    return copse_implicit_device_ranges(job->index, stream, copse_implicit_device_kernels(job->index)->count,
                                        &arguments, n);
}

copse_status copse_implicit_device_count(const copse_index *index, const void *lows, const void *highs, uint64_t n,
                                         uint64_t *counts)
{
    const size_t key = copse_type_size(index->key_type);
    const void *arrays[] = {lows, highs, counts};
    count_job job = {.index = index};
    copse_transfer_job transfer = {
        .device = index->device,
        .array = {{.memory = (void *)(uintptr_t)lows, .element = key, .name = "lows"},
                  {.memory = (void *)(uintptr_t)highs, .element = key, .name = "highs"},
                  {.memory = counts, .element = sizeof *counts, .output = true, .name = "out_counts"}},
        .arrays = 3,
        .n = n,
        .work = count_work,
        .user = &job};
    int report;
    copse_status status = copse_call_report_take(index, false, &report, &job.report);
    if (status != COPSE_OK) return status;
    status = copse_transfer_run(&transfer);
    return copse_call_report_end(index, report, status, copse_call_waits(index, arrays, 3), true);
}

/* --- range -------------------------------------------------------------------------------------------------------------- */

/* One of a call's arrays on the device: the caller's where it lies there, else memory of our own. */
typedef struct device_side {
    void *memory;
    void *host; /* the caller's array in host memory; NULL: it is device memory, or not wanted */
    uint64_t bytes;
    bool own;
} device_side;

typedef struct range_job {
    const copse_index *index;
    uint64_t n, limit, capacity;
    device_side lows, highs, offsets, places, keys, values;
    uint64_t *report;
} range_job;

static copse_status side_open(const copse_index *index, const void *array, const char *name, uint64_t bytes,
                              bool upload, device_side *out)
{
    copse_device *device = index->device;
    *out = (device_side){.memory = (void *)(uintptr_t)array};
    if (bytes == 0) return COPSE_OK; /* nobody looks there */
    bool on_device;
    copse_status status = copse_call_array(index, array, name, &on_device);
    if (status != COPSE_OK || on_device) return status;
    *out = (device_side){.host = (void *)(uintptr_t)array, .bytes = bytes, .own = true};
    status = copse_device_alloc(device, device->main, bytes, "copse_range", &out->memory);
    if (status == COPSE_OK && upload) status = copse_transfer_to_device(device, out->memory, array, bytes);
    return status;
}

static void side_close(const copse_index *index, device_side *side)
{
    if (side->own) copse_device_free(index->device, index->device->main, side->memory, side->bytes);
}

/* Places and offsets of all ranges. */
static copse_status range_size(const range_job *job)
{
    const copse_index *index = job->index;
    copse_device *device = index->device;
    uint64_t *offsets = job->offsets.memory;
    copse_range_arguments arguments = {.tree = copse_implicit_device_of(index)->view,
                                       .lows = job->lows.memory,
                                       .highs = job->highs.memory,
                                       .limit = job->limit,
                                       .places = job->places.memory,
                                       .counts = offsets,
                                       .report = job->report};
    copse_status status = copse_device_fill(device, device->main, offsets + job->n, 0, sizeof *offsets);
    if (status == COPSE_OK)
        status = copse_implicit_device_ranges(index, device->main, copse_implicit_device_kernels(index)->count,
                                              &arguments, job->n);
    if (status == COPSE_OK)
        status = device->backend->primitives->scan_u64(device, device->main, offsets, offsets, job->n + 1);
    return status;
}

static copse_status range_gather(const range_job *job, uint64_t first, uint64_t count, void *keys, void *values)
{
    const copse_index *index = job->index;
    copse_copy_arguments arguments = {.tree = copse_implicit_device_of(index)->view,
                                      .place = first,
                                      .count = count,
                                      .places = job->places.memory,
                                      .offsets = job->offsets.memory,
                                      .n = job->n,
                                      .capacity = job->capacity,
                                      .keys = keys,
                                      .values = values,
                                      .report = job->report};
    const uint64_t tiles = count / COPSE_GATHER_TILE + 1;
    return copse_device_launch(index->device, index->device->main, &copse_implicit_device_kernels(index)->gather,
                               copse_device_blocks(index->device, tiles * 32), &arguments);
}

/* Host outputs are filled stretch by stretch through buffers on the device. */
static copse_status range_to_host(range_job *job, uint64_t total)
{
    const copse_index *index = job->index;
    const size_t key = copse_type_size(index->key_type), value = copse_type_size(index->value_type);
    copse_status status = COPSE_OK;
    for (uint64_t first = 0; first < total && status == COPSE_OK; first += COPY_ENTRIES) {
        uint64_t count = total - first < COPY_ENTRIES ? total - first : COPY_ENTRIES;
        void *keys = job->keys.host ? job->keys.memory : advance(job->keys.memory, first, key);
        void *values = job->values.host ? job->values.memory : advance(job->values.memory, first, value);
        status = range_gather(job, first, count, keys, values);
        if (status == COPSE_OK && job->keys.host)
            status = copse_transfer_to_host(index->device, advance(job->keys.host, first, key), keys, count * key);
        if (status == COPSE_OK && job->values.host)
            status =
                copse_transfer_to_host(index->device, advance(job->values.host, first, value), values, count * value);
    }
    return status;
}

/* Where something lies in host memory the call waits for the offsets and goes on from there. */
static copse_status range_staged(range_job *job, bool copying)
{
    const copse_index *index = job->index;
    copse_device *device = index->device;
    const uint64_t *offsets = job->offsets.memory;
    uint64_t total = 0;
    copse_status status = copse_device_read(device, device->main, &total, offsets + job->n, sizeof total);
    if (status == COPSE_OK && job->offsets.host)
        status = copse_transfer_to_host(device, job->offsets.host, offsets, (job->n + 1) * sizeof *offsets);
    if (status != COPSE_OK || !copying) return status;
    if (total > job->capacity) {
        job->report[COPSE_REPORT_TOO_SMALL] = total;
        return COPSE_OK;
    }
    return range_to_host(job, total);
}

static copse_status range_open(range_job *job, const void *lows, const void *highs, uint64_t *offsets, void *keys,
                               void *values)
{
    const copse_index *index = job->index;
    const size_t key = copse_type_size(index->key_type), value = copse_type_size(index->value_type);
    const uint64_t room = job->capacity < COPY_ENTRIES ? job->capacity : COPY_ENTRIES;
    copse_status status = COPSE_OK;
    if (job->n) status = side_open(index, lows, "lows", job->n * key, true, &job->lows);
    if (status == COPSE_OK && job->n) status = side_open(index, highs, "highs", job->n * key, true, &job->highs);
    if (status == COPSE_OK)
        status = side_open(index, offsets, "out_offsets", (job->n + 1) * sizeof *offsets, false, &job->offsets);
    if (status == COPSE_OK && keys) status = side_open(index, keys, "out_keys", room * key, false, &job->keys);
    if (status == COPSE_OK && values)
        status = side_open(index, values, "out_values", room * value, false, &job->values);
    if (status == COPSE_OK && (keys || values)) {
        job->places.bytes = (job->n ? job->n : 1) * sizeof(uint64_t);
        job->places.own = true;
        status = copse_device_alloc(index->device, index->device->main, job->places.bytes, "copse_range",
                                    &job->places.memory);
    }
    return status;
}

static copse_status range_run(range_job *job, bool copying)
{
    copse_status status = range_size(job);
    if (status != COPSE_OK) return status;
    if (job->offsets.host || job->keys.host || job->values.host) return range_staged(job, copying);
    return copying ? range_gather(job, 0, job->capacity, job->keys.memory, job->values.memory) : COPSE_OK;
}

copse_status copse_implicit_device_range(const copse_index *index, const void *lows, const void *highs, uint64_t n,
                                         uint64_t limit, uint64_t *offsets, void *keys, void *values, uint64_t capacity)
{
    const void *arrays[] = {lows, highs, offsets, keys, values};
    range_job job = {.index = index, .n = n, .limit = limit, .capacity = capacity};
    int report;
    copse_status status = copse_call_report_take(index, true, &report, &job.report);
    if (status != COPSE_OK) return status;
    job.report[REPORT_ROOM] = capacity;
    status = range_open(&job, lows, highs, offsets, keys, values);
    if (status == COPSE_OK) status = range_run(&job, keys || values);
    device_side *sides[] = {&job.lows, &job.highs, &job.offsets, &job.places, &job.keys, &job.values};
    for (unsigned i = 0; i < sizeof sides / sizeof *sides; i++) side_close(index, sides[i]);
    return copse_call_report_end(index, report, status, copse_call_waits(index, arrays, 5), true);
}

/* Ranges of the implicit tree on a device: how many entries, and the entries themselves. */
#include "trees/implicit/gpu/tree.h"
#include "gpu/ranges.h"
#include "transfer/transfer.h"

copse_status copse_implicit_device_ranges(const copse_index *index, copse_stream *stream, const copse_kernel *kernels,
                                          const copse_range_arguments *arguments, uint64_t n)
{
    const size_t key = copse_type_size(index->key_type);
    const size_t result = arguments->kind == COPSE_KIND_SUM128 ? 16 : 8;
    copse_range_arguments a = *arguments;
    copse_status status = COPSE_OK;
    for (uint64_t at = 0; at < n && status == COPSE_OK; at += COPSE_RANGES_LAUNCH) {
        a.n = (uint32_t)(n - at < COPSE_RANGES_LAUNCH ? n - at : COPSE_RANGES_LAUNCH);
        a.per_warp = copse_ranges_per_warp(index, a.n);
        a.first = arguments->first + at;
        a.lows = copse_ranges_advance(arguments->lows, at, key);
        a.highs = copse_ranges_advance(arguments->highs, at, key);
        a.places = copse_ranges_advance(arguments->places, at, sizeof(uint64_t));
        a.counts = copse_ranges_advance(arguments->counts, at, sizeof(uint64_t));
        a.out = copse_ranges_advance(arguments->out, at, result);
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

static copse_status range_size(const copse_range_call *call)
{
    const copse_index *index = call->index;
    copse_range_arguments arguments = {.tree = copse_implicit_device_of(index)->view,
                                       .lows = call->lows.memory,
                                       .highs = call->highs.memory,
                                       .limit = call->limit,
                                       .places = call->places.memory,
                                       .counts = call->offsets.memory,
                                       .report = call->report};
    return copse_implicit_device_ranges(index, index->device->main, copse_implicit_device_kernels(index)->count,
                                        &arguments, call->n);
}

static copse_status range_gather(const copse_range_call *call, uint64_t first, uint64_t count, void *keys, void *values)
{
    const copse_index *index = call->index;
    copse_copy_arguments arguments = {.tree = copse_implicit_device_of(index)->view,
                                      .place = first,
                                      .count = count,
                                      .places = call->places.memory,
                                      .offsets = call->offsets.memory,
                                      .n = call->n,
                                      .capacity = call->capacity,
                                      .keys = keys,
                                      .values = values,
                                      .report = call->report};
    const uint64_t tiles = count / COPSE_GATHER_TILE + 1;
    return copse_device_launch(index->device, index->device->main, &copse_implicit_device_kernels(index)->gather,
                               copse_device_blocks(index->device, tiles * 32), &arguments);
}

copse_status copse_implicit_device_range(const copse_index *index, const void *lows, const void *highs, uint64_t n,
                                         uint64_t limit, uint64_t *offsets, void *keys, void *values, uint64_t capacity)
{
    copse_range_call call = {
        .index = index, .n = n, .limit = limit, .capacity = capacity, .size = range_size, .gather = range_gather};
    return copse_range_call_run(&call, lows, highs, offsets, keys, values);
}

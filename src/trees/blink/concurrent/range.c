/* Ranges of the B-link and the B+ tree on a device, through a view, while a writer may be at work. */
#include "trees/blink/read/ranges.h"

/* How often ranges are sized and copied before the writer has to wait for it. */
#define ATTEMPTS 8
/* Up to so many ranges for each multiprocessor a warp takes one of them, or a few. */
#define ONE_SHARE UINT64_C(16)

copse_concurrent_arguments copse_concurrent_start(const copse_index *index, const copse_blink_epoch *epoch,
                                                  const void *lows, const void *highs, uint64_t first, uint64_t n,
                                                  uint64_t *report)
{
    const bool few = n <= ONE_SHARE * index->device->multiprocessors;
    return (copse_concurrent_arguments){.tree = copse_blink_tree_of(index, epoch),
                                        .lows = lows,
                                        .highs = highs,
                                        .per_warp = few ? 1 : copse_ranges_per_warp(index, n),
                                        .first = first,
                                        .n = n,
                                        .report = report};
}

copse_status copse_concurrent_launch(const copse_index *index, copse_stream *stream, const copse_kernel *kernel,
                                     const copse_concurrent_arguments *arguments)
{
    const uint64_t warps = arguments->n / arguments->per_warp + 1;
    return copse_device_launch(index->device, stream, kernel, copse_device_blocks(index->device, warps * 32),
                               arguments);
}

static copse_concurrent_arguments range_start(const copse_range_call *call)
{
    copse_concurrent_arguments arguments = copse_concurrent_start(call->index, call->user, call->lows.memory,
                                                                  call->highs.memory, 0, call->n, call->report);
    arguments.limit = call->limit;
    return arguments;
}

static copse_status range_size(const copse_range_call *call)
{
    const copse_index *index = call->index;
    copse_concurrent_arguments arguments = range_start(call);
    arguments.counts = call->offsets.memory;
    return copse_concurrent_launch(index, index->device->main, &copse_blink_order_kernels_of(index)->count_concurrent,
                                   &arguments);
}

static copse_status range_gather(const copse_range_call *call, uint64_t first, uint64_t count, void *keys, void *values)
{
    const copse_index *index = call->index;
    copse_concurrent_arguments arguments = range_start(call);
    arguments.offsets = call->offsets.memory;
    arguments.from = first;
    arguments.room = count;
    arguments.capacity = call->capacity;
    arguments.keys = keys;
    arguments.values = values;
    return copse_concurrent_launch(index, index->device->main, &copse_blink_order_kernels_of(index)->gather_concurrent,
                                   &arguments);
}

/* Ranges may change between sizing and copying them. */
static copse_status range_attempts(copse_range_call *call, bool *out_done)
{
    copse_device *device = call->index->device;
    copse_status status = COPSE_OK;
    for (unsigned i = 0; i < ATTEMPTS && status == COPSE_OK && !*out_done; i++) {
        call->report[COPSE_REPORT_CHANGED] = call->report[COPSE_REPORT_TOO_SMALL] = UINT64_MAX;
        status = copse_range_run(call);
        if (status == COPSE_OK) status = copse_device_wait(device, device->main);
        *out_done = call->report[COPSE_REPORT_CHANGED] == UINT64_MAX;
    }
    return status;
}

copse_status copse_concurrent_range(copse_range_call *call, const void *lows, const void *highs, uint64_t *offsets,
                                    void *keys, void *values, bool *out_done)
{
    int report;
    copse_status status = copse_call_report_take(call->index, true, &report, &call->report);
    if (status != COPSE_OK) return status;
    copse_blink_epoch *epoch = copse_blink_enter(call->index);
    call->report[COPSE_REPORT_ROOM] = call->capacity;
    call->size = range_size;
    call->gather = range_gather;
    call->user = epoch;
    status = copse_range_open(call, lows, highs, offsets, keys, values);
    if (status == COPSE_OK) status = range_attempts(call, out_done);
    copse_range_close(call);
    copse_blink_leave(call->index, epoch);
    return copse_call_report_end(call->index, report, status, true, true);
}

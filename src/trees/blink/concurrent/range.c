/* Ranges of the B-link and the B+ tree on a device, through a view, while a writer may be at work. */
#include "trees/blink/read/ranges.h"

/* How often a reader sizes and copies ranges before it makes the writer wait. */
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

/* --- count -------------------------------------------------------------------------------------------------------------- */

typedef struct count_call {
    const copse_index *index;
    const copse_blink_epoch *epoch;
    uint64_t *report;
} count_call;

static copse_status count_work(void *user, copse_stream *stream, uint64_t first, uint64_t n, void *const *memory)
{
    const count_call *call = user;
    copse_concurrent_arguments arguments =
        copse_concurrent_start(call->index, call->epoch, memory[0], memory[1], first, n, call->report);
    arguments.counts = memory[2];
    return copse_concurrent_launch(call->index, stream, &copse_blink_ordered_kernels_of(call->index)->count_concurrent,
                                   &arguments);
}

copse_status copse_concurrent_count(const copse_index *index, const copse_blink_epoch *epoch,
                                    const copse_ranges *ranges, uint64_t *counts)
{
    count_call call = {.index = index, .epoch = epoch};
    const copse_range_arrays arrays = copse_count_arrays(ranges, counts);
    return copse_ranges_transfer(index, &arrays, false, count_work, &call, &call.report);
}

/* --- range -------------------------------------------------------------------------------------------------------------- */

/* Sizes the ranges and copies them. They may change in between: the kernel that copies reports it. */
static copse_status range_attempt(copse_range_call *call, const copse_blink_epoch *epoch)
{
    const copse_index *index = call->index;
    const copse_blink_ordered_kernels *kernels = copse_blink_ordered_kernels_of(index);
    copse_concurrent_arguments a =
        copse_concurrent_start(index, epoch, call->lows.memory, call->highs.memory, 0, call->n, call->report);
    a.limit = call->limit;
    a.counts = call->offsets.memory;
    copse_status status = copse_concurrent_launch(index, index->device->main, &kernels->count_concurrent, &a);
    if (status == COPSE_OK) status = copse_range_offsets(call);
    a.counts = NULL;
    a.offsets = call->offsets.memory;
    a.capacity = call->capacity;
    while (copse_range_next(call, &status)) {
        a.from = call->stretch.first;
        a.room = call->stretch.count;
        a.keys = call->stretch.keys;
        a.values = call->stretch.values;
        status = copse_concurrent_launch(index, index->device->main, &kernels->gather_concurrent, &a);
    }
    return status == COPSE_OK ? copse_device_wait(index->device, index->device->main) : status;
}

int copse_concurrent_range(copse_range_call *call, const copse_range_target *target)
{
    if (call->descending) return COPSE_DECLINED;
    copse_blink_epoch *epoch = copse_blink_enter(call->index);
    copse_status status = copse_range_begin(call, target);
    bool changed = true;
    call->waits = true;
    for (unsigned i = 0; i < ATTEMPTS && status == COPSE_OK && changed; i++) {
        call->report[COPSE_REPORT_CHANGED] = call->report[COPSE_REPORT_TOO_SMALL] = UINT64_MAX;
        status = range_attempt(call, epoch);
        changed = call->report[COPSE_REPORT_CHANGED] != UINT64_MAX;
    }
    status = copse_range_end(call, status);
    copse_blink_leave(call->index, epoch);
    return status == COPSE_OK && changed ? COPSE_DECLINED : (int)status;
}

/* Aggregates of the B-link and the B+ tree on a device, by running sums where they fit, else by the summary. */
#include "trees/blink/read/ranges.h"

/* lows, highs, out, found */
static copse_status sum_work(void *user, copse_stream *stream, uint64_t first, uint64_t n, void *const *memory)
{
    const copse_aggregate_call *call = user;
    const copse_blink_epoch *epoch = call->user;
    copse_blink_range_arguments arguments = {.tree = epoch->view,
                                             .before = epoch->order.before,
                                             .sums = epoch->order.sums,
                                             .lows = memory[0],
                                             .highs = memory[1],
                                             .first = first,
                                             .kind = (uint32_t)call->kind,
                                             .out = memory[2],
                                             .report = call->report};
    return copse_blink_ranges(call->index, stream, copse_blink_order_kernels_of(call->index)->sum, &arguments, n);
}

/* What lies between the places of ranges. */
static copse_status summary_launch(const copse_aggregate_call *call, copse_stream *stream,
                                   const copse_blink_range_arguments *ranges, uint64_t n, void *const *memory)
{
    const copse_blink_epoch *epoch = call->user;
    copse_device *device = call->index->device;
    copse_blink_summary_arguments arguments = {.tree = epoch->view,
                                               .summary = epoch->order.summary.summary,
                                               .before = epoch->order.before,
                                               .places = ranges->places,
                                               .ends = ranges->ends,
                                               .n = n,
                                               .result = {.value_type = call->index->value_type,
                                                          .kind = (uint32_t)call->kind,
                                                          .first = ranges->first,
                                                          .out = memory[2],
                                                          .found = memory[3],
                                                          .report = call->report}};
    return copse_device_launch(device, stream, &copse_blink_order_kernels_of(call->index)->aggregate,
                               copse_device_blocks(device, n * 32), &arguments);
}

/* First the places of the ranges, then what lies between them. */
static copse_status summary_work(void *user, copse_stream *stream, uint64_t first, uint64_t n, void *const *memory)
{
    const copse_aggregate_call *call = user;
    const copse_blink_epoch *epoch = call->user;
    copse_device *device = call->index->device;
    const uint64_t bytes = n * 2 * sizeof(uint64_t);
    void *scratch = NULL;
    copse_status status = copse_device_alloc(device, stream, bytes, "aggregates of ranges", &scratch);
    if (status != COPSE_OK) return status;
    copse_blink_range_arguments ranges = {.tree = epoch->view,
                                          .lows = memory[0],
                                          .highs = memory[1],
                                          .first = first,
                                          .places = scratch,
                                          .ends = (uint64_t *)scratch + n,
                                          .report = call->report};
    status = copse_blink_ranges(call->index, stream, copse_blink_order_kernels_of(call->index)->count, &ranges, n);
    if (status == COPSE_OK) status = summary_launch(call, stream, &ranges, n, memory);
    copse_device_free(device, stream, scratch, bytes);
    return status;
}

/* Beside a writer: all that lies in the ranges. */
static copse_status concurrent_work(void *user, copse_stream *stream, uint64_t first, uint64_t n, void *const *memory)
{
    const copse_aggregate_call *call = user;
    const copse_index *index = call->index;
    copse_concurrent_arguments arguments =
        copse_concurrent_start(index, call->user, memory[0], memory[1], first, n, call->report);
    arguments.result = (copse_result_arguments){.value_type = index->value_type,
                                                .kind = (uint32_t)call->kind,
                                                .first = first,
                                                .out = memory[2],
                                                .found = memory[3],
                                                .report = call->report};
    return copse_concurrent_launch(index, stream, &copse_blink_order_kernels_of(index)->aggregate_concurrent,
                                   &arguments);
}

static copse_status aggregate_quiet(copse_aggregate_call *call, copse_blink_epoch *epoch, const void *lows,
                                    const void *highs, uint64_t n, void *out, uint8_t *found)
{
    const bool is_sum = copse_kind_is_sum(call->kind);
    copse_status status = copse_blink_order_ready(call->index, epoch);
    if (status == COPSE_OK) status = copse_blink_summary_ready(call->index, epoch, is_sum);
    if (status != COPSE_OK) return status;
    const bool quick = is_sum && epoch->order.sums;
    return copse_aggregate_call_run(call, quick ? sum_work : summary_work, !quick, lows, highs, n, out, found);
}

copse_status copse_blink_aggregate(const copse_index *index, copse_aggregate_kind kind, const void *lows,
                                   const void *highs, uint64_t n, void *out, uint8_t *found)
{
    copse_blink_epoch *epoch = copse_blink_enter(index);
    copse_aggregate_call call = {.index = index, .kind = kind, .user = epoch};
    copse_status status = copse_blink_concurrent(index)
                              ? copse_aggregate_call_run(&call, concurrent_work, true, lows, highs, n, out, found)
                              : aggregate_quiet(&call, epoch, lows, highs, n, out, found);
    copse_blink_leave(index, epoch);
    return status;
}

/* Aggregates on a device, whatever the structure: summaries, and calls that use them. */
#include "gpu/aggregates.h"
#include "gpu/batch.h"

#include <stddef.h>

/* --- summaries ------------------------------------------------------------------------------------------------------------ */

static uint64_t summary_plan(copse_device_summary *summary, uint64_t items)
{
    uint64_t all = 0;
    summary->height = 0;
    for (uint64_t nodes = items;; nodes = (nodes + 15) / 16) {
        summary->nodes[summary->height++] = nodes;
        all += nodes;
        if (nodes == 1) return all * sizeof(copse_aggregate);
    }
}

static copse_status summary_raise(const copse_index *index, const copse_device_summary *summary)
{
    copse_device *device = index->device;
    copse_raise_arguments arguments = {.summary = *summary};
    copse_status status = COPSE_OK;
    for (uint32_t l = 1; l < summary->height && status == COPSE_OK; l++) {
        arguments.level = l;
        status = copse_device_launch(device, device->main, &copse_device_shared(index)->raise,
                                     copse_device_blocks(device, summary->nodes[l]), &arguments);
    }
    return status;
}

copse_status copse_device_summary_alloc(const copse_index *index, uint64_t items, copse_summary_memory *out)
{
    copse_device *device = index->device;
    copse_summary_memory made = {.memory = NULL};
    made.bytes = summary_plan(&made.summary, items);
    copse_status status = copse_device_alloc(device, device->main, made.bytes, "the summary of values", &made.memory);
    if (status != COPSE_OK) return status;
    copse_aggregate *at = made.memory;
    for (uint32_t l = 0; l < made.summary.height; at += made.summary.nodes[l++]) made.summary.level[l] = at;
    *out = made;
    return COPSE_OK;
}

copse_status copse_device_summary_fill(const copse_index *index, const copse_kernel *kernel, uint64_t blocks,
                                       const void *arguments, const copse_device_summary *summary)
{
    copse_device *device = index->device;
    copse_status status = copse_device_launch(device, device->main, kernel, blocks, arguments);
    if (status == COPSE_OK) status = summary_raise(index, summary);
    return status == COPSE_OK ? copse_device_wait(device, device->main) : status;
}

copse_status copse_device_summary_make(const copse_index *index, uint64_t items, const copse_kernel *kernel,
                                       const void *arguments, copse_device_summary *to, copse_summary_memory *out)
{
    copse_summary_memory made;
    copse_status status = copse_device_summary_alloc(index, items, &made);
    if (status != COPSE_OK) return status;
    *to = made.summary;
    status = copse_device_summary_fill(index, kernel, copse_device_blocks(index->device, items * 32), arguments, to);
    if (status == COPSE_OK)
        *out = made;
    else
        copse_device_summary_free(index->device, &made);
    return status;
}

void copse_device_summary_free(copse_device *device, copse_summary_memory *summary)
{
    copse_device_free(device, device->main, summary->memory, summary->bytes);
    summary->memory = NULL;
}

static bool sums_fit(copse_type type, const copse_aggregate *all, uint64_t entries)
{
    if (type == COPSE_U32 || type == COPSE_U64) return all->sum <= (copse_wide)UINT64_MAX;
    const uint64_t half = type == COPSE_I32 ? UINT64_C(1) << 31 : UINT64_C(1) << 63;
    copse_wide low = (copse_wide)all->smallest - (copse_wide)half, high = (copse_wide)all->largest - (copse_wide)half;
    copse_wide most = -low > high ? -low : high;
    return most <= 0 || (copse_wide)entries <= (copse_wide)INT64_MAX / most;
}

copse_status copse_device_sums_fit(const copse_index *index, const copse_device_summary *summary, uint64_t entries,
                                   bool *out)
{
    copse_device *device = index->device;
    copse_aggregate all = {0};
    const size_t bytes = offsetof(copse_aggregate, largest) + sizeof all.largest; /* not what pads it */
    *out = false;
    if (copse_type_is_float(index->value_type)) return COPSE_OK;
    copse_status status = copse_device_read(device, device->main, &all, summary->level[summary->height - 1], bytes);
    if (status == COPSE_OK) *out = sums_fit(index->value_type, &all, entries);
    return status;
}

/* --- calls ---------------------------------------------------------------------------------------------------------------- */

size_t copse_aggregate_bytes(const copse_index *index, copse_aggregate_kind kind)
{
    if (kind == COPSE_KIND_SUM128) return sizeof(copse_int128);
    return kind == COPSE_KIND_MIN || kind == COPSE_KIND_MAX ? copse_value_width(index->value_type) : 8;
}

const char *copse_aggregate_name(copse_aggregate_kind kind)
{
    static const char *const names[] = {"out_sums", "out_sums", "out_values", "out_values", "out_means"};
    return names[kind];
}

static copse_status sum_work(void *user, copse_stream *stream, uint64_t first, uint64_t n, void *const *memory)
{
    const copse_aggregate_call *call = user;
    const copse_range_queries ranges = {.lows = memory[0],
                                        .highs = memory[1],
                                        .first = first,
                                        .kind = (uint32_t)call->kind,
                                        .out = memory[2],
                                        .report = call->report};
    return copse_ranges_launch(call->index, stream, &call->ranges, &ranges, n);
}

/* First the bounds of the ranges, then what lies between them. */
static copse_status summary_work(void *user, copse_stream *stream, uint64_t first, uint64_t n, void *const *memory)
{
    const copse_aggregate_call *call = user;
    const copse_index *index = call->index;
    copse_device *device = index->device;
    const uint64_t bytes = n * 2 * sizeof(uint64_t);
    void *scratch = NULL;
    copse_status status = copse_device_alloc(device, stream, bytes, "aggregates of ranges", &scratch);
    if (status != COPSE_OK) return status;
    uint64_t *locations = scratch, *second = locations + n;
    const copse_range_queries ranges = {.lows = memory[0],
                                        .highs = memory[1],
                                        .first = first,
                                        .locations = locations,
                                        .ends = call->by_counts ? NULL : second,
                                        .counts = call->by_counts ? second : NULL,
                                        .report = call->report};
    *call->extents = (copse_range_extents){.locations = locations,
                                           .ends = ranges.ends,
                                           .counts = ranges.counts,
                                           .n = n,
                                           .result = copse_aggregate_result(call, first, memory)};
    status = copse_ranges_launch(index, stream, &call->ranges, &ranges, n);
    if (status == COPSE_OK)
        status =
            copse_device_launch(device, stream, call->aggregate, copse_device_blocks(device, n * 32), call->arguments);
    copse_device_free(device, stream, scratch, bytes);
    return status;
}

copse_result_arguments copse_aggregate_result(const copse_aggregate_call *call, uint64_t first, void *const *memory)
{
    return (copse_result_arguments){.value_type = call->index->value_type,
                                    .kind = (uint32_t)call->kind,
                                    .first = first,
                                    .out = memory[2],
                                    .found = memory[3],
                                    .report = call->report};
}

/* Sums by running sums always fit; others may have to report one that does not. */
static copse_status call_run(copse_aggregate_call *call, bool reports, copse_transfer_work work, void *user,
                             const copse_range_arrays *arrays)
{
    copse_range_arrays all = *arrays;
    all.element = copse_aggregate_bytes(call->index, call->kind);
    all.name = copse_aggregate_name(call->kind);
    return copse_ranges_transfer(call->index, &all, reports, work, user, &call->report);
}

copse_status copse_aggregate_call_run(copse_aggregate_call *call, const copse_range_arrays *arrays)
{
    return call_run(call, call->aggregate, call->aggregate ? summary_work : sum_work, call, arrays);
}

copse_status copse_aggregate_call_with(copse_aggregate_call *call, copse_transfer_work work, void *user,
                                       const copse_range_arrays *arrays)
{
    return call_run(call, true, work, user, arrays);
}

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

copse_status copse_device_summary_make(const copse_index *index, uint64_t items, copse_summary_fill fill,
                                       const void *user, copse_summary_memory *out)
{
    copse_device *device = index->device;
    copse_summary_memory made = {.memory = NULL};
    made.bytes = summary_plan(&made.summary, items);
    copse_status status = copse_device_alloc(device, device->main, made.bytes, "the summary of values", &made.memory);
    if (status != COPSE_OK) return status;
    copse_aggregate *at = made.memory;
    for (uint32_t l = 0; l < made.summary.height; at += made.summary.nodes[l++]) made.summary.level[l] = at;
    status = fill(index, user, &made.summary);
    if (status == COPSE_OK) status = summary_raise(index, &made.summary);
    if (status == COPSE_OK) status = copse_device_wait(device, device->main);
    if (status == COPSE_OK)
        *out = made;
    else
        copse_device_summary_free(device, &made);
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

static size_t result_bytes(const copse_index *index, copse_aggregate_kind kind)
{
    if (kind == COPSE_KIND_SUM128) return sizeof(copse_int128);
    return kind == COPSE_KIND_MIN || kind == COPSE_KIND_MAX ? copse_type_size(index->value_type) : 8;
}

copse_status copse_aggregate_call_run(copse_aggregate_call *call, copse_transfer_work work, bool reports,
                                      const void *lows, const void *highs, uint64_t n, void *out, uint8_t *found)
{
    const copse_index *index = call->index;
    const size_t key = copse_type_size(index->key_type);
    const void *arrays[] = {lows, highs, out, found};
    static const char *const out_names[] = {"out_sums", "out_sums", "out_values", "out_values",
                                            "out_means"}; /* by kind */
    copse_transfer_job transfer = {.device = index->device,
                                   .array = {{.memory = (void *)(uintptr_t)lows, .element = key, .name = "lows"},
                                             {.memory = (void *)(uintptr_t)highs, .element = key, .name = "highs"},
                                             {.memory = out,
                                              .element = result_bytes(index, call->kind),
                                              .output = true,
                                              .name = out_names[call->kind]},
                                             {.memory = found, .element = 1, .output = true, .name = "out_found"}},
                                   .arrays = 4,
                                   .n = n,
                                   .work = work,
                                   .user = call};
    int report;
    copse_status status = copse_call_report_take(index, reports, &report, &call->report);
    if (status != COPSE_OK) return status;
    status = copse_transfer_run(&transfer);
    return copse_call_report_end(index, report, status, copse_call_waits(index, arrays, 4), true);
}

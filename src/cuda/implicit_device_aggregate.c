/* Aggregates of the implicit tree on a device: the summary over blocks of units, running sums, and calls that use them. */
#include "cuda/implicit_device.h"
#include "cuda/transfer.h"

#include <stddef.h>
#include <string.h>

void copse_implicit_device_aggregate_free(const copse_index *index, copse_implicit_device *tree)
{
    copse_device *device = index->device;
    copse_device_free(device, device->main, tree->summary_memory, tree->summary_bytes);
    copse_device_free(device, device->main, tree->before, tree->before_bytes);
}

/* --- making them ---------------------------------------------------------------------------------------------------------- */

static void summary_plan(copse_implicit_device *tree)
{
    copse_device_summary *summary = &tree->summary;
    uint64_t nodes = (tree->view.units + (uint64_t)COPSE_DEVICE_BLOCK_UNITS - 1) / COPSE_DEVICE_BLOCK_UNITS;
    uint64_t all = 0;
    summary->height = 0;
    for (;; nodes = (nodes + 15) / 16) {
        summary->nodes[summary->height++] = nodes;
        all += nodes;
        if (nodes == 1) break;
    }
    tree->summary_bytes = all * sizeof(copse_aggregate);
}

static copse_status summary_make(const copse_index *index, copse_implicit_device *tree)
{
    copse_device *device = index->device;
    const copse_implicit_kernels *kernels = copse_implicit_device_kernels(index);
    copse_device_summary *summary = &tree->summary;
    summary_plan(tree);
    copse_status status = copse_device_alloc(device, device->main, tree->summary_bytes,
                                             "the summary of the implicit tree", &tree->summary_memory);
    if (status != COPSE_OK) return status;
    copse_aggregate *at = tree->summary_memory;
    for (uint32_t l = 0; l < summary->height; at += summary->nodes[l++]) summary->level[l] = at;
    copse_summary_arguments arguments = {.tree = tree->view, .summary = *summary};
    status = copse_device_launch(device, device->main, &kernels->summarize,
                                 copse_device_blocks(device, summary->nodes[0] * 32), &arguments);
    for (uint32_t l = 1; l < summary->height && status == COPSE_OK; l++) {
        arguments.level = l;
        status = copse_device_launch(device, device->main, &kernels->raise,
                                     copse_device_blocks(device, summary->nodes[l]), &arguments);
    }
    if (status == COPSE_OK) status = copse_device_wait(device, device->main);
    if (status != COPSE_OK) {
        copse_device_free(device, device->main, tree->summary_memory, tree->summary_bytes);
        tree->summary_memory = NULL;
    }
    return status;
}

/* Differences modulo 2^64 are exact as long as no range can sum to more than 64 bits hold. */
static bool sums_fit(const copse_index *index, const copse_aggregate *all, uint64_t entries)
{
    if (copse_type_is_float(index->value_type)) return false;
    if (index->value_type == COPSE_U32 || index->value_type == COPSE_U64) return all->sum <= (copse_wide)UINT64_MAX;
    const uint64_t half = index->value_type == COPSE_I32 ? UINT64_C(1) << 31 : UINT64_C(1) << 63;
    copse_wide low = (copse_wide)all->smallest - (copse_wide)half, high = (copse_wide)all->largest - (copse_wide)half;
    copse_wide most = -low > high ? -low : high;
    return most <= 0 || (copse_wide)entries <= (copse_wide)INT64_MAX / most;
}

/* Running sums are a convenience: where there is no memory for them the summary serves. A fault is an error. */
static copse_status sums_make(const copse_index *index, copse_implicit_device *tree)
{
    copse_device *device = index->device;
    copse_aggregate all = {0};
    void *before = NULL;
    const size_t bytes = offsetof(copse_aggregate, largest) + sizeof all.largest; /* not what pads it */
    copse_status status =
        copse_device_read(device, device->main, &all, tree->summary.level[tree->summary.height - 1], bytes);
    if (status != COPSE_OK || !sums_fit(index, &all, tree->view.entries)) return status;
    tree->before_bytes = (tree->view.entries + 1) * sizeof *tree->before;
    status = copse_device_alloc(device, device->main, tree->before_bytes, "running sums", &before);
    if (status == COPSE_ERR_MEMORY) return COPSE_OK;
    copse_summary_arguments arguments = {.tree = tree->view, .before = before};
    if (status == COPSE_OK)
        status = copse_device_launch(device, device->main, &copse_implicit_device_kernels(index)->widen,
                                     copse_device_blocks(device, tree->view.entries + 1), &arguments);
    if (status == COPSE_OK)
        status = device->backend->primitives->scan_u64(device, device->main, before, before, tree->view.entries + 1);
    if (status == COPSE_OK) status = copse_device_wait(device, device->main);
    if (status != COPSE_OK) {
        copse_device_free(device, device->main, before, tree->before_bytes);
        return status == COPSE_ERR_MEMORY ? COPSE_OK : status;
    }
    tree->before = before;
    tree->has_sums = true;
    return COPSE_OK;
}

/* Readers may come at the same time: the first makes it, the others wait; afterwards the flag alone is read. */
static copse_status prepare(const copse_index *index, copse_implicit_device *tree, bool sums)
{
    if (atomic_load_explicit(sums ? &tree->sums_tried : &tree->summary_ready, memory_order_acquire)) return COPSE_OK;
    copse_status status = COPSE_OK;
    pthread_mutex_lock(&tree->lock);
    if (!atomic_load_explicit(&tree->summary_ready, memory_order_relaxed)) {
        status = summary_make(index, tree);
        if (status == COPSE_OK) atomic_store_explicit(&tree->summary_ready, true, memory_order_release);
    }
    if (status == COPSE_OK && sums && !atomic_load_explicit(&tree->sums_tried, memory_order_relaxed)) {
        status = sums_make(index, tree);
        if (status == COPSE_OK) atomic_store_explicit(&tree->sums_tried, true, memory_order_release);
    }
    pthread_mutex_unlock(&tree->lock);
    return status;
}

/* --- using them ----------------------------------------------------------------------------------------------------------- */

typedef struct aggregate_job {
    const copse_index *index;
    copse_aggregate_kind kind;
    uint64_t *report;
} aggregate_job;

/* lows, highs, out, found */
static copse_status sum_work(void *user, copse_stream *stream, uint64_t first, uint64_t n, void *const *memory)
{
    const aggregate_job *job = user;
    const copse_implicit_device *tree = copse_implicit_device_of(job->index);
    copse_range_arguments arguments = {.tree = tree->view,
                                       .lows = memory[0],
                                       .highs = memory[1],
                                       .first = first,
                                       .before = tree->before,
                                       .kind = (uint32_t)job->kind,
                                       .out = memory[2],
                                       .report = job->report};
    return copse_implicit_device_ranges(job->index, stream, copse_implicit_device_kernels(job->index)->sum, &arguments,
                                        n);
}

/* First the places of the ranges, then what lies between them. */
static copse_status summary_work(void *user, copse_stream *stream, uint64_t first, uint64_t n, void *const *memory)
{
    const aggregate_job *job = user;
    const copse_index *index = job->index;
    copse_device *device = index->device;
    const copse_implicit_kernels *kernels = copse_implicit_device_kernels(index);
    const copse_implicit_device *tree = copse_implicit_device_of(index);
    void *scratch = NULL;
    const uint64_t bytes = n * 2 * sizeof(uint64_t);
    copse_status status = copse_device_alloc(device, stream, bytes, "aggregates of ranges", &scratch);
    if (status != COPSE_OK) return status;
    copse_range_arguments ranges = {.tree = tree->view,
                                    .lows = memory[0],
                                    .highs = memory[1],
                                    .first = first,
                                    .places = scratch,
                                    .counts = (uint64_t *)scratch + n,
                                    .report = job->report};
    copse_summary_arguments arguments = {.tree = tree->view,
                                         .summary = tree->summary,
                                         .places = ranges.places,
                                         .counts = ranges.counts,
                                         .n = n,
                                         .result = {.value_type = index->value_type,
                                                    .kind = (uint32_t)job->kind,
                                                    .first = first,
                                                    .out = memory[2],
                                                    .found = memory[3],
                                                    .report = job->report}};
    status = copse_implicit_device_ranges(index, stream, kernels->count, &ranges, n);
    if (status == COPSE_OK)
        status =
            copse_device_launch(device, stream, &kernels->aggregate, copse_device_blocks(device, n * 32), &arguments);
    copse_device_free(device, stream, scratch, bytes);
    return status;
}

static size_t result_bytes(const copse_index *index, copse_aggregate_kind kind)
{
    if (kind == COPSE_KIND_SUM128) return sizeof(copse_int128);
    return kind == COPSE_KIND_MIN || kind == COPSE_KIND_MAX ? copse_type_size(index->value_type) : 8;
}

copse_status copse_implicit_device_aggregate(const copse_index *index, copse_aggregate_kind kind, const void *lows,
                                             const void *highs, uint64_t n, void *out, uint8_t *found)
{
    copse_implicit_device *tree = copse_implicit_device_of(index);
    const bool sums = kind == COPSE_KIND_SUM || kind == COPSE_KIND_SUM128 || kind == COPSE_KIND_AVG;
    const size_t key = copse_type_size(index->key_type);
    const void *arrays[] = {lows, highs, out, found};
    static const char *const out_names[] = {"out_sums", "out_sums", "out_values", "out_values",
                                            "out_means"}; /* by kind */
    aggregate_job job = {.index = index, .kind = kind};
    copse_transfer_job transfer = {
        .device = index->device,
        .array = {{.memory = (void *)(uintptr_t)lows, .element = key, .name = "lows"},
                  {.memory = (void *)(uintptr_t)highs, .element = key, .name = "highs"},
                  {.memory = out, .element = result_bytes(index, kind), .output = true, .name = out_names[kind]},
                  {.memory = found, .element = 1, .output = true, .name = "out_found"}},
        .arrays = 4,
        .n = n,
        .user = &job};
    int report;
    copse_status status = prepare(index, tree, sums);
    if (status != COPSE_OK) return status;
    const bool quick = sums && tree->has_sums;
    transfer.work = quick ? sum_work : summary_work;
    status = copse_call_report_take(index, !quick, &report, &job.report);
    if (status != COPSE_OK) return status;
    status = copse_transfer_run(&transfer);
    return copse_call_report_end(index, report, status, copse_call_waits(index, arrays, 4), true);
}

/* --- checking them -------------------------------------------------------------------------------------------------------- */

copse_status copse_implicit_device_verify_aggregates(const copse_index *index, copse_device_survey *survey)
{
    copse_device *device = index->device;
    copse_implicit_device *tree = copse_implicit_device_of(index);
    const copse_implicit_kernels *kernels = copse_implicit_device_kernels(index);
    copse_summary_arguments arguments = {
        .tree = tree->view, .summary = tree->summary, .before = tree->before, .survey = survey};
    copse_status status = COPSE_OK;
    if (tree->summary_memory)
        status = copse_device_launch(device, device->main, &kernels->verify_summary,
                                     copse_device_blocks(device, tree->summary.nodes[0] * 32), &arguments);
    if (status == COPSE_OK && tree->before)
        status = copse_device_launch(device, device->main, &kernels->verify_sums,
                                     copse_device_blocks(device, tree->view.entries), &arguments);
    return status;
}

/* Aggregates of the implicit tree on a device: the summary over blocks of units, running sums, and calls that use them. */
#include "trees/implicit/gpu/tree.h"

void copse_implicit_device_aggregate_free(const copse_index *index, copse_implicit_device *tree)
{
    copse_device *device = index->device;
    copse_device_summary_free(device, &tree->summary);
    copse_device_free(device, device->main, tree->before, tree->before_bytes);
}

/* --- making them ---------------------------------------------------------------------------------------------------------- */

static copse_status summary_make(const copse_index *index, copse_implicit_device *tree)
{
    const uint64_t blocks = (tree->view.units + (uint64_t)COPSE_DEVICE_BLOCK_UNITS - 1) / COPSE_DEVICE_BLOCK_UNITS;
    copse_summary_arguments arguments = {.tree = tree->view};
    return copse_device_summary_make(index, blocks, &copse_implicit_device_kernels(index)->summarize, &arguments,
                                     &arguments.summary, &tree->summary);
}

/* Running sums are a convenience: where there is no memory for them the summary serves. A fault is an error. */
static copse_status sums_make(const copse_index *index, copse_implicit_device *tree)
{
    copse_device *device = index->device;
    void *before = NULL;
    bool fit;
    copse_status status = copse_device_sums_fit(index, &tree->summary.summary, tree->view.entries, &fit);
    if (status != COPSE_OK || !fit) return status;
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

copse_status copse_implicit_device_aggregate(const copse_index *index, copse_aggregate_kind kind,
                                             const copse_ranges *asked, void *out, uint8_t *found)
{
    const copse_implicit_kernels *kernels = copse_implicit_device_kernels(index);
    copse_implicit_device *tree = copse_implicit_device_of(index);
    copse_status status = prepare(index, tree, copse_kind_is_sum(kind));
    if (status != COPSE_OK) return status;
    const bool quick = copse_kind_is_sum(kind) && tree->has_sums;
    copse_range_arguments ranges = {.tree = tree->view, .before = tree->before};
    copse_summary_arguments arguments = {.tree = tree->view, .summary = tree->summary.summary};
    copse_aggregate_call call = {
        .index = index,
        .kind = kind,
        .ranges = {&(quick ? kernels->sum : kernels->count)[tree->view.levels.digest], &ranges, &ranges.queries},
        .aggregate = quick ? NULL : &kernels->aggregate,
        .arguments = &arguments,
        .extents = &arguments.extents,
        .by_counts = true};
    return copse_aggregate_call_run(
        &call,
        &(copse_range_arrays){.lows = asked->lows, .highs = asked->highs, .n = asked->n, .out = out, .found = found});
}

/* --- checking them -------------------------------------------------------------------------------------------------------- */

copse_status copse_implicit_device_verify_aggregates(const copse_index *index, copse_device_survey *survey)
{
    copse_device *device = index->device;
    copse_implicit_device *tree = copse_implicit_device_of(index);
    const copse_implicit_kernels *kernels = copse_implicit_device_kernels(index);
    copse_summary_arguments arguments = {
        .tree = tree->view, .summary = tree->summary.summary, .before = tree->before, .survey = survey};
    copse_status status = COPSE_OK;
    if (tree->summary.memory)
        status = copse_device_launch(device, device->main, &kernels->verify_summary,
                                     copse_device_blocks(device, tree->summary.summary.nodes[0] * 32), &arguments);
    if (status == COPSE_OK && tree->before)
        status = copse_device_launch(device, device->main, &kernels->verify_sums,
                                     copse_device_blocks(device, tree->view.entries), &arguments);
    return status;
}

/* The implicit tree on a device: inspection, and the table of calls. */
#include "trees/implicit/gpu/tree.h"
#include "gpu/erase_range.h"
#include "gpu/scan.h"

static void implicit_device_destroy(copse_index *index)
{
    copse_implicit_device_free(index, index->tree);
}

static uint64_t implicit_device_size(const copse_index *index)
{
    return copse_implicit_device_of(index)->view.entries;
}

static void implicit_device_stats(const copse_index *index, copse_stats *out)
{
    copse_implicit_device *tree = copse_implicit_device_of(index);
    const uint64_t slots = 64 / (copse_type_size(index->key_type) + copse_value_width(index->value_type));
    const uint64_t entries = tree->view.entries;
    pthread_mutex_lock(&tree->lock); /* an aggregate call may be making the summary */
    out->entries = entries;
    out->aggregate_bytes = (tree->summary.memory ? tree->summary.bytes : 0) + (tree->before ? tree->before_bytes : 0);
    out->bytes = sizeof *tree + tree->unit_bytes + tree->levels.bytes + out->aggregate_bytes;
    out->height = entries ? tree->view.levels.height + 1 : 0;
    out->fill = entries ? (double)entries / (double)(tree->view.units * slots) : 0.0;
    pthread_mutex_unlock(&tree->lock);
}

/* --- verify --------------------------------------------------------------------------------------------------------------- */

static copse_status verify_launch(const copse_index *index, copse_device_survey *survey)
{
    copse_device *device = index->device;
    copse_implicit_device *tree = copse_implicit_device_of(index);
    const copse_implicit_kernels *kernels = copse_implicit_device_kernels(index);
    copse_unit_arguments arguments = {.tree = tree->view, .pairs.survey = survey};
    copse_levels_source source = copse_implicit_device_source(index, tree, NULL);
    copse_status status = copse_device_launch(device, device->main, &kernels->verify_units,
                                              copse_device_blocks(device, tree->view.entries), &arguments);
    if (status == COPSE_OK)
        status = copse_device_levels_verify(index, &source, &tree->view.levels, &tree->levels, survey);
    return status == COPSE_OK ? copse_implicit_device_verify_aggregates(index, survey) : status;
}

static copse_status verify_result(const copse_index *index, const copse_device_survey *seen)
{
    const copse_ctx *ctx = index->ctx;
    const uint64_t *trouble = seen->trouble;
    if (trouble[0] != UINT64_MAX)
        return copse_fail(ctx, COPSE_ERR_CORRUPT, "implicit tree: entry %llu is not %s the one before it",
                          (unsigned long long)trouble[0], index->duplicates ? "at least" : "greater than");
    if (trouble[1] != UINT64_MAX)
        return copse_fail(ctx, COPSE_ERR_CORRUPT, "implicit tree: free slot %llu of the last unit is not padded",
                          (unsigned long long)trouble[1]);
    if (trouble[2] != UINT64_MAX)
        return copse_fail(ctx, COPSE_ERR_CORRUPT, "implicit tree: separator %llu of a level is wrong",
                          (unsigned long long)trouble[2]);
    if (trouble[3] != UINT64_MAX)
        return copse_fail(ctx, COPSE_ERR_CORRUPT, "implicit tree: the aggregates at %llu do not agree with the values",
                          (unsigned long long)trouble[3]);
    return COPSE_OK;
}

static copse_status implicit_device_verify(const copse_index *index)
{
    copse_device *device = index->device;
    copse_implicit_device *tree = copse_implicit_device_of(index);
    copse_device_survey *survey = NULL, seen;
    copse_status status = copse_progress(index->ctx, "verifying", 0, tree->view.entries);
    if (status == COPSE_OK) status = copse_device_survey_make(device, &survey);
    if (status != COPSE_OK) return status;
    pthread_mutex_lock(&tree->lock);
    status = verify_launch(index, survey);
    if (status == COPSE_OK) status = copse_device_survey_read(device, survey, &seen);
    pthread_mutex_unlock(&tree->lock);
    copse_device_survey_free(device, survey);
    return status == COPSE_OK ? verify_result(index, &seen) : status;
}

/* --- calls ---------------------------------------------------------------------------------------------------------------- */

static copse_status implicit_device_scan(const copse_index *index, copse_scan *scan)
{
    return copse_gpu_scan(index, scan, copse_implicit_device_entries);
}

/* One table serves cards, the emulator and every pair of widths: what depends on those is in the kernels. */
const copse_calls copse_implicit_gpu_calls = {
    .create = copse_implicit_device_create,
    .destroy = implicit_device_destroy,
    .build = copse_implicit_device_build,
    .insert = copse_implicit_device_insert,
    .erase = copse_implicit_device_erase,
    .erase_pairs = copse_implicit_device_erase_pairs,
    .erase_range = copse_device_erase_range,
    .apply = copse_implicit_device_apply,
    .find = copse_implicit_device_find,
    .neighbours = copse_implicit_device_neighbours,
    .count = copse_implicit_device_count,
    .range = copse_implicit_device_range,
    .aggregate = copse_implicit_device_aggregate,
    .select = copse_implicit_device_select,
    .scan = implicit_device_scan,
    .scan_step = COPSE_GPU_SCAN_STEP,
    .size = implicit_device_size,
    .stats = implicit_device_stats,
    .verify = implicit_device_verify,
};

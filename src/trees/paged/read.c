/* Reads of the paged tree, and what they need besides the pages. */
#include "gpu/points.h"
#include "primitives/primitives.h"
#include "trees/paged/hybrid.h"

COPSE_PICK_KERNEL_ROW(copse_paged_kernels)

/* --- ranks and the summary ------------------------------------------------------------------------------------------------------ */

void copse_paged_forget(const copse_index *index, copse_paged *tree)
{
    copse_device *device = index->device;
    copse_device_free(device, device->main, tree->before, tree->before_bytes);
    copse_device_summary_free(device, &tree->summary);
    tree->before = NULL;
    atomic_store_explicit(&tree->ranks_ready, false, memory_order_relaxed);
    atomic_store_explicit(&tree->summary_ready, false, memory_order_relaxed);
}

/* Entries in front of each row. Waits for it, so that any stream may use it. */
static copse_status ranks_make(const copse_index *index, copse_paged *tree)
{
    copse_device *device = index->device;
    const uint64_t n = (uint64_t)tree->view.rows + 1;
    void *before = NULL;
    tree->before_bytes = n * sizeof *tree->before;
    copse_status status = copse_device_alloc(device, device->main, tree->before_bytes, "ranks", &before);
    if (status != COPSE_OK) return status;
    const copse_paged_summary_arguments arguments = {.tree = tree->view, .before = before};
    status = copse_device_launch(device, device->main, &copse_paged_kernels_of(index)->row_counts,
                                 copse_device_blocks(device, n), &arguments);
    if (status == COPSE_OK) status = device->backend->primitives->scan_u64(device, device->main, before, before, n);
    if (status == COPSE_OK) status = copse_device_wait(device, device->main);
    if (status == COPSE_OK)
        tree->before = before;
    else
        copse_device_free(device, device->main, before, tree->before_bytes);
    return status;
}

static copse_status summary_make(const copse_index *index, copse_paged *tree)
{
    copse_paged_summary_arguments arguments = {.tree = tree->view};
    return copse_device_summary_make(index, tree->view.rows, &copse_paged_kernels_of(index)->summarize, &arguments,
                                     &arguments.summary, &tree->summary);
}

/* Readers may come at the same time: the first makes it, the others wait; afterwards the flag alone is read. */
copse_status copse_paged_prepare(const copse_index *index, atomic_bool *ready,
                                 copse_status (*make)(const copse_index *index, copse_paged *tree))
{
    copse_paged *tree = copse_paged_of(index);
    copse_status status = COPSE_OK;
    if (atomic_load_explicit(ready, memory_order_acquire)) return COPSE_OK;
    pthread_mutex_lock(&tree->lock);
    if (!atomic_load_explicit(ready, memory_order_relaxed)) {
        status = make(index, tree);
        if (status == COPSE_OK) atomic_store_explicit(ready, true, memory_order_release);
    }
    pthread_mutex_unlock(&tree->lock);
    return status;
}

copse_status copse_paged_ranks(const copse_index *index, copse_paged_tree *out)
{
    copse_paged *tree = copse_paged_of(index);
    copse_status status = copse_paged_prepare(index, &tree->ranks_ready, ranks_make);
    *out = tree->view;
    if (status == COPSE_OK) out->before = tree->before;
    return status;
}

copse_status copse_paged_summary(const copse_index *index, copse_paged_tree *out)
{
    copse_status status = copse_paged_ranks(index, out);
    if (status == COPSE_OK) status = copse_paged_prepare(index, &copse_paged_of(index)->summary_ready, summary_make);
    return status;
}

/* --- points --------------------------------------------------------------------------------------------------------------------- */

/* A whole call; of a hybrid tree (which has walks by width) the host finds the rows. */
static copse_status points_run(const copse_index *index, const copse_kernel *kernel,
                               copse_paged_point_arguments *arguments, bool upper, const copse_point_arrays *arrays)
{
    copse_point_call call = {index, kernel, arguments, &arguments->queries};
    copse_scratch scratch = {0};
    copse_status status = COPSE_OK;
    if (index->by_width) status = copse_paged_rows(index, arrays->keys, arrays->n, upper, &scratch, &arguments->rows);
    if (status == COPSE_OK) status = copse_point_call_run(&call, arrays);
    copse_scratch_free(index->device, &scratch);
    return status;
}

copse_status copse_paged_find(const copse_index *index, const void *keys, uint64_t n, void *values, uint8_t *found)
{
    copse_paged_point_arguments arguments = {.tree = copse_paged_of(index)->view};
    return points_run(index, &copse_paged_kernels_of(index)->find, &arguments, false,
                      &(copse_point_arrays){.keys = keys, .n = n, .out_values = values, .out_found = found});
}

copse_status copse_paged_look_up(const copse_index *index, const void *keys, uint64_t n, void *values, uint8_t *found)
{
    copse_paged_point_arguments arguments = {.tree = copse_paged_of(index)->view};
    copse_point_call call = {index, &copse_paged_kernels_of(index)->find, &arguments, &arguments.queries};
    arguments.tree.key_type = copse_device_pairs_type(index);
    return copse_point_call_encoded(&call, keys, n, values, found);
}

copse_status copse_paged_neighbours(const copse_index *index, const void *keys, uint64_t n, copse_neighbour which,
                                    void *out_keys, void *out_values, uint8_t *out_found, uint64_t *out_ranks)
{
    copse_paged_point_arguments arguments = {.tree = copse_paged_of(index)->view, .queries.which = (uint32_t)which};
    copse_status status = out_ranks ? copse_paged_ranks(index, &arguments.tree) : COPSE_OK;
    if (status != COPSE_OK) return status;
    return points_run(index, &copse_paged_kernels_of(index)->neighbours, &arguments, copse_neighbour_upper(which),
                      &(copse_point_arrays){keys, n, out_keys, out_values, out_found, out_ranks});
}

/* --- entries -------------------------------------------------------------------------------------------------------------------- */

copse_status copse_paged_select(const copse_index *index, const uint64_t *ranks, uint64_t n, void *keys, void *values,
                                uint8_t *found)
{
    copse_paged_copy_arguments arguments = {0};
    const copse_entry_kernel select = {&copse_paged_kernels_of(index)->select, &arguments, &arguments.output, true};
    copse_status status = copse_paged_ranks(index, &arguments.tree);
    return status == COPSE_OK ? copse_select_run(index, &select, ranks, n, keys, values, found) : status;
}

copse_status copse_paged_entries(const copse_index *index, uint64_t rank, uint64_t count, void *keys, void *values)
{
    copse_paged_copy_arguments arguments = {0};
    const copse_entry_kernel copy = {&copse_paged_kernels_of(index)->copy, &arguments, &arguments.output, false};
    copse_status status = copse_paged_ranks(index, &arguments.tree);
    return status == COPSE_OK ? copse_entries_run(index, &copy, rank, count, keys, values) : status;
}

copse_status copse_paged_entries_out(const copse_index *index, copse_device_pairs *out)
{
    copse_device *device = index->device;
    copse_paged_copy_arguments arguments = {.encoded = 1};
    *out = (copse_device_pairs){.n = copse_paged_of(index)->view.entries, .key_type = copse_device_pairs_type(index)};
    copse_status status = copse_paged_ranks(index, &arguments.tree);
    arguments.encoded = 1;
    arguments.output.count = out->n;
    if (status == COPSE_OK)
        status = copse_device_pairs_room(index, out, out->n, &arguments.output.keys, &arguments.output.values);
    out->keys = arguments.output.keys;
    out->values = arguments.output.values;
    if (status == COPSE_OK && out->n)
        status = copse_device_launch(device, device->main, &copse_paged_kernels_of(index)->copy,
                                     copse_device_blocks(device, (out->n / COPSE_GATHER_TILE + 1) * 32), &arguments);
    if (status != COPSE_OK) copse_device_pairs_free(index, out);
    return status;
}

/* --- ranges --------------------------------------------------------------------------------------------------------------------- */

copse_status copse_paged_range_rows(const copse_index *index, const void *lows, const void *highs, uint64_t n,
                                    copse_paged_range_arguments *arguments, copse_scratch scratch[2])
{
    scratch[0] = scratch[1] = (copse_scratch){0};
    copse_status status = copse_paged_rows(index, lows, n, false, &scratch[0], &arguments->low_rows);
    if (status == COPSE_OK) status = copse_paged_rows(index, highs, n, true, &scratch[1], &arguments->high_rows);
    return status;
}

void copse_paged_range_rows_free(const copse_index *index, copse_scratch scratch[2])
{
    copse_scratch_free(index->device, &scratch[0]);
    copse_scratch_free(index->device, &scratch[1]);
}

copse_status copse_paged_count(const copse_index *index, const copse_ranges *ranges, uint64_t *counts)
{
    copse_paged_range_arguments arguments = {0};
    const copse_range_kernel bounds = {&copse_paged_kernels_of(index)->bounds, &arguments, &arguments.queries};
    copse_scratch rows[2];
    copse_status status = copse_paged_ranks(index, &arguments.tree);
    if (status != COPSE_OK) return status;
    status = copse_paged_range_rows(index, ranges->lows, ranges->highs, ranges->n, &arguments, rows);
    if (status == COPSE_OK) status = copse_count_run(index, &bounds, ranges, counts);
    copse_paged_range_rows_free(index, rows);
    return status;
}

copse_status copse_paged_range(const copse_index *index, const copse_ranges *asked, const copse_rows *rows)
{
    const copse_paged_kernels *kernels = copse_paged_kernels_of(index);
    copse_paged_range_arguments ranges = {0};
    copse_paged_copy_arguments entries = {0};
    copse_scratch found[2];
    copse_status status = copse_paged_ranks(index, &ranges.tree);
    if (status != COPSE_OK) return status;
    entries.tree = ranges.tree;
    const copse_range_kernel bounds = {&kernels->bounds, &ranges, &ranges.queries};
    const copse_entry_kernel gather = {&kernels->gather, &entries, &entries.output, false};
    const copse_range_target target = copse_range_target_of(asked, rows);
    copse_range_call call = copse_range_call_of(index, asked, rows);
    status = copse_paged_range_rows(index, asked->lows, asked->highs, asked->n, &ranges, found);
    if (status == COPSE_OK) {
        status = copse_range_begin(&call, &target);
        if (status == COPSE_OK) status = copse_range_run(&call, &bounds, &gather);
        status = copse_range_end(&call, status);
    }
    copse_paged_range_rows_free(index, found);
    return status;
}

copse_status copse_paged_aggregate(const copse_index *index, copse_aggregate_kind kind, const copse_ranges *asked,
                                   void *out, uint8_t *found)
{
    const copse_paged_kernels *kernels = copse_paged_kernels_of(index);
    copse_paged_range_arguments ranges = {0};
    copse_scratch rows[2];
    copse_status status = copse_paged_summary(index, &ranges.tree);
    if (status != COPSE_OK) return status;
    copse_paged_summary_arguments arguments = {.tree = ranges.tree, .summary = copse_paged_of(index)->summary.summary};
    copse_aggregate_call call = {.index = index,
                                 .kind = kind,
                                 .ranges = {&kernels->bounds, &ranges, &ranges.queries},
                                 .aggregate = &kernels->aggregate,
                                 .arguments = &arguments,
                                 .extents = &arguments.extents};
    status = copse_paged_range_rows(index, asked->lows, asked->highs, asked->n, &ranges, rows);
    if (status == COPSE_OK)
        status = copse_aggregate_call_run(
            &call, &(copse_range_arrays){
                       .lows = asked->lows, .highs = asked->highs, .n = asked->n, .out = out, .found = found});
    copse_paged_range_rows_free(index, rows);
    return status;
}

/* Pages that erases left nearly empty are joined: when enough entries have gone since the last time, a pass over the directory looks for
 * neighbours that fit half a page together. Only their pages are touched. */
#include "gpu/scratch.h"
#include "primitives/primitives.h"
#include "trees/paged/tree.h"

/* A pass is worth it after this share of the slots was emptied. */
#define JOIN_SHARE 16u

static copse_status launch(const copse_index *index, const copse_kernel *kernel, uint64_t items,
                           const copse_paged_join_arguments *a)
{
    copse_device *device = index->device;
    return copse_device_launch(device, device->main, kernel, copse_device_blocks(device, items), a);
}

/* How many rows go. */
static copse_status mark(const copse_index *index, const copse_paged_join_arguments *a, uint64_t *out_gone)
{
    copse_device *device = index->device;
    const uint64_t rows = a->tree.rows;
    copse_status status = launch(index, &copse_paged_kernels_of(index)->join_mark, rows + 1, a);
    if (status == COPSE_OK)
        status = device->backend->primitives->scan_u64(device, device->main, a->joined, a->joined, rows + 1);
    if (status == COPSE_OK)
        status = copse_device_read(device, device->main, out_gone, a->joined + rows, sizeof *out_gone);
    return status;
}

static copse_status join(const copse_index *index, copse_paged *tree, copse_paged_join_arguments *a, uint64_t gone)
{
    const copse_paged_kernels *kernels = copse_paged_kernels_of(index);
    copse_device *device = index->device;
    copse_paged_directory directory;
    copse_status status = copse_paged_directory_make(index, tree->view.rows - gone, true, &directory);
    if (status != COPSE_OK) return status;
    a->new_highs = directory.highs;
    a->new_pages = directory.pages;
    a->new_counts = directory.counts;
    a->stack = tree->pool.stack;
    a->stack_top = tree->pool.top;
    status = copse_device_launch(device, device->main, &kernels->join_pages,
                                 copse_device_blocks(device, (uint64_t)tree->view.rows / 2 * COPSE_KERNEL_THREADS), a);
    if (status == COPSE_OK) status = launch(index, &kernels->join_rows, tree->view.rows, a);
    if (status == COPSE_OK) status = copse_paged_levels_fill(index, tree, &directory, NULL);
    if (status != COPSE_OK) {
        copse_paged_directory_free(index, &directory);
        return status;
    }
    copse_paged_directory_put(index, tree, &directory);
    copse_paged_forget(index, tree);
    tree->pool.top += gone;
    tree->tail_known = false;
    return device->callers_stream ? COPSE_OK : copse_device_wait(device, device->main);
}

copse_status copse_paged_join(const copse_index *index, uint64_t erased)
{
    copse_paged *tree = copse_paged_of(index);
    const uint64_t slots = (uint64_t)tree->view.rows * tree->view.slots;
    void *joined = NULL;
    const copse_scratch_array array = {&joined, ((uint64_t)tree->view.rows + 2) * sizeof(uint64_t)};
    copse_scratch scratch;
    uint64_t gone = 0;
    tree->erased += erased;
    if (tree->view.rows < 2 || tree->erased < slots / JOIN_SHARE || tree->view.entries > slots / 2) return COPSE_OK;
    copse_kept_error kept;
    copse_error_keep(&kept);
    copse_status status = copse_scratch_take(index->device, "joining pages", &array, 1, &scratch);
    copse_paged_join_arguments a = {.tree = tree->view, .joined = joined};
    if (status == COPSE_OK) status = mark(index, &a, &gone);
    if (status == COPSE_OK && gone) status = join(index, tree, &a, gone);
    copse_scratch_free(index->device, &scratch);
    if (status != COPSE_ERR_MEMORY) {
        if (status == COPSE_OK) tree->erased = 0;
        return status;
    }
    copse_error_put_back(&kept); /* the erase is done; pages are joined another time */
    return COPSE_OK;
}

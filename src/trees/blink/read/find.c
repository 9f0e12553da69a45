/* Reading the B-link and the B+ tree on a device: a read holds on to the epoch that it began with; lookups. */
#include "trees/blink/tree.h"
#include "gpu/points.h"

COPSE_PICK_KERNEL_ROW(copse_blink_kernels)

copse_blink_epoch *copse_blink_enter(const copse_index *index)
{
    const copse_blink_handle *handle = copse_blink_handle_of(index);
    pthread_mutex_lock(&handle->tree->lock);
    copse_blink_epoch *epoch = handle->frozen ? handle->frozen : handle->tree->current;
    epoch->holders++;
    pthread_mutex_unlock(&handle->tree->lock);
    return epoch;
}

void copse_blink_leave(const copse_index *index, copse_blink_epoch *epoch)
{
    copse_blink *tree = copse_blink_handle_of(index)->tree;
    /* The kernels of a view run on its own stream; they must end before another stream frees the memory. */
    if (copse_blink_concurrent(index)) (void)copse_device_wait(index->device, index->device->main);
    pthread_mutex_lock(&tree->lock);
    const bool last = --epoch->holders == 0 && epoch != tree->current;
    pthread_mutex_unlock(&tree->lock);
    if (last) copse_blink_epoch_free(&tree->owner, epoch);
}

copse_status copse_blink_find(const copse_index *index, const void *keys, uint64_t n, void *values, uint8_t *found)
{
    copse_blink_epoch *epoch = copse_blink_enter(index);
    copse_blink_point_arguments arguments = {.tree = copse_blink_tree_of(index, epoch)};
    const copse_blink_tree *tree = &arguments.tree;
    copse_point_call call = {index, &copse_blink_kernels_of(index)->find[tree->levels.digest][tree->branches],
                             &arguments, &arguments.queries};
    if (copse_blink_concurrent(index)) call.kernel = copse_blink_find_concurrent(index);
    copse_status status = copse_point_call_run(
        &call, &(copse_point_arrays){.keys = keys, .n = n, .out_values = values, .out_found = found});
    copse_blink_leave(index, epoch);
    return status;
}

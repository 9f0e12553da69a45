/* Lookups in the B-link and the B+ tree on a device. */
#include "trees/blink/tree.h"
#include "gpu/points.h"

static copse_status find_launch(const copse_point_call *call, copse_stream *stream, const copse_point_slice *slice)
{
    const copse_index *index = call->index;
    const copse_blink_epoch *epoch = call->user;
    const copse_blink_tree tree = copse_blink_tree_of(index, epoch);
    copse_blink_point_arguments arguments = {.tree = tree,
                                             .keys = slice->keys,
                                             .first = slice->first,
                                             .n = slice->n,
                                             .per_warp = slice->per_warp,
                                             .out_values = slice->out_values,
                                             .out_found = slice->out_found,
                                             .report = slice->report};
    const copse_kernel *kernel = &copse_blink_kernels_of(index)->find[tree.levels.digest][tree.branches];
    if (copse_blink_concurrent(index)) kernel = copse_blink_find_concurrent(index);
    return copse_device_launch(index->device, stream, kernel, slice->blocks, &arguments);
}

copse_status copse_blink_find(const copse_index *index, const void *keys, uint64_t n, void *values, uint8_t *found)
{
    copse_blink_epoch *epoch = copse_blink_enter(index);
    copse_point_call call = {.index = index, .launch = find_launch, .user = epoch};
    copse_status status = copse_point_call_run(&call, keys, n, NULL, values, found, NULL);
    copse_blink_leave(index, epoch);
    return status;
}

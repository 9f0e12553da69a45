/* The B-link and the B+ tree on a device: first entries at or behind keys, and those in front of them. */
#include "trees/blink/read/ranges.h"
#include "gpu/points.h"

static copse_status neighbours_launch(const copse_point_call *call, copse_stream *stream,
                                      const copse_point_slice *slice)
{
    const copse_index *index = call->index;
    const copse_blink_epoch *epoch = call->user;
    copse_blink_point_arguments arguments = {.tree = epoch->view,
                                             .keys = slice->keys,
                                             .first = slice->first,
                                             .n = slice->n,
                                             .per_warp = slice->per_warp,
                                             .which = call->which,
                                             .before = epoch->order.before,
                                             .out_keys = slice->out_keys,
                                             .out_values = slice->out_values,
                                             .out_found = slice->out_found,
                                             .out_ranks = slice->out_ranks,
                                             .report = slice->report};
    return copse_device_launch(index->device, stream,
                               &copse_blink_order_kernels_of(index)->neighbours[epoch->view.levels.digest],
                               slice->blocks, &arguments);
}

/* Beside a writer: ranks are counted, since the tree keeps none then. */
static copse_status concurrent_launch(const copse_point_call *call, copse_stream *stream,
                                      const copse_point_slice *slice)
{
    const copse_index *index = call->index;
    const copse_blink_order_kernels *kernels = copse_blink_order_kernels_of(index);
    copse_blink_point_arguments arguments = {.tree = copse_blink_tree_of(index, call->user),
                                             .keys = slice->keys,
                                             .first = slice->first,
                                             .n = slice->n,
                                             .per_warp = slice->per_warp,
                                             .which = call->which,
                                             .out_keys = slice->out_keys,
                                             .out_values = slice->out_values,
                                             .out_found = slice->out_found,
                                             .report = slice->report};
    copse_status status =
        copse_device_launch(index->device, stream, &kernels->neighbours_concurrent, slice->blocks, &arguments);
    if (status != COPSE_OK || !slice->out_ranks) return status;
    copse_concurrent_arguments ranks =
        copse_concurrent_start(index, call->user, NULL, slice->keys, slice->first, slice->n, slice->report);
    ranks.below = call->which != COPSE_AFTER;
    ranks.counts = slice->out_ranks;
    return copse_concurrent_launch(index, stream, &kernels->count_concurrent, &ranks);
}

copse_status copse_blink_neighbours(const copse_index *index, const void *keys, uint64_t n, copse_neighbour which,
                                    void *out_keys, void *out_values, uint8_t *out_found, uint64_t *out_ranks)
{
    copse_blink_epoch *epoch = copse_blink_enter(index);
    const bool concurrent = copse_blink_concurrent(index);
    copse_point_call call = {.index = index,
                             .launch = concurrent ? concurrent_launch : neighbours_launch,
                             .user = epoch,
                             .which = (uint32_t)which};
    copse_status status = out_ranks && !concurrent ? copse_blink_order_ready(index, epoch) : COPSE_OK;
    if (status == COPSE_OK) status = copse_point_call_run(&call, keys, n, out_keys, out_values, out_found, out_ranks);
    copse_blink_leave(index, epoch);
    return status;
}

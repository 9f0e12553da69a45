/* Point reads of the implicit tree on a device, and entries by rank. */
#include "trees/implicit/gpu/tree.h"
#include "gpu/points.h"
#include "transfer/transfer.h"

static copse_status point_launch(const copse_point_call *call, copse_stream *stream, const copse_point_slice *slice)
{
    const copse_kernel *kernels = call->user; /* [0]: full separators, [1]: digests */
    copse_point_arguments arguments = {.tree = copse_implicit_device_of(call->index)->view,
                                       .keys = slice->keys,
                                       .first = slice->first,
                                       .n = slice->n,
                                       .per_warp = slice->per_warp,
                                       .which = call->which,
                                       .out_keys = slice->out_keys,
                                       .out_values = slice->out_values,
                                       .out_found = slice->out_found,
                                       .out_ranks = slice->out_ranks,
                                       .report = slice->report};
    arguments.tree.key_type = call->key_type;
    return copse_device_launch(call->index->device, stream, &kernels[arguments.tree.levels.digest], slice->blocks,
                               &arguments);
}

copse_status copse_implicit_device_find(const copse_index *index, const void *keys, uint64_t n, void *values,
                                        uint8_t *found)
{
    copse_point_call call = {
        .index = index, .launch = point_launch, .user = copse_implicit_device_kernels(index)->find};
    return copse_point_call_run(&call, keys, n, NULL, values, found, NULL);
}

copse_status copse_implicit_device_look_up(const copse_index *index, const void *keys, uint64_t n, void *values,
                                           uint8_t *found)
{
    copse_point_call call = {
        .index = index, .launch = point_launch, .user = copse_implicit_device_kernels(index)->find};
    return copse_point_call_encoded(&call, keys, n, values, found);
}

copse_status copse_implicit_device_neighbours(const copse_index *index, const void *keys, uint64_t n,
                                              copse_neighbour which, void *out_keys, void *out_values,
                                              uint8_t *out_found, uint64_t *out_ranks)
{
    copse_point_call call = {.index = index,
                             .launch = point_launch,
                             .user = copse_implicit_device_kernels(index)->neighbours,
                             .which = (uint32_t)which};
    return copse_point_call_run(&call, keys, n, out_keys, out_values, out_found, out_ranks);
}

/* --- entries by rank ------------------------------------------------------------------------------------------------------ */

typedef struct entries_job {
    const copse_index *index;
    uint64_t rank;
} entries_job;

static copse_status entries_work(void *user, copse_stream *stream, uint64_t first, uint64_t n, void *const *memory)
{
    const entries_job *job = user;
    const copse_index *index = job->index;
    copse_copy_arguments arguments = {.tree = copse_implicit_device_of(index)->view,
                                      .place = job->rank + first,
                                      .count = n,
                                      .keys = memory[0],
                                      .values = memory[1]};
    return copse_device_launch(index->device, stream, &copse_implicit_device_kernels(index)->copy,
                               copse_device_blocks(index->device, n), &arguments);
}

copse_status copse_implicit_device_entries(const copse_index *index, uint64_t rank, uint64_t count, void *keys,
                                           void *values)
{
    entries_job job = {index, rank};
    copse_transfer_job transfer = {
        .device = index->device,
        .array =
            {{.memory = keys, .element = copse_type_size(index->key_type), .output = true, .name = "out_keys"},
             {.memory = values, .element = copse_type_size(index->value_type), .output = true, .name = "out_values"}},
        .arrays = 2,
        .n = count,
        .work = entries_work,
        .user = &job};
    return copse_transfer_run(&transfer);
}

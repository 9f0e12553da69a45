/* Point reads of the implicit tree on a device, and entries by rank. */
#include "trees/implicit/gpu/tree.h"
#include "gpu/points.h"

COPSE_PICK_KERNEL_ROW(copse_implicit_kernels)

copse_status copse_implicit_device_find(const copse_index *index, const void *keys, uint64_t n, void *values,
                                        uint8_t *found)
{
    copse_point_arguments arguments = {.tree = copse_implicit_device_of(index)->view};
    copse_point_call call = {index, &copse_implicit_device_kernels(index)->find[arguments.tree.levels.digest],
                             &arguments, &arguments.queries};
    return copse_point_call_run(&call,
                                &(copse_point_arrays){.keys = keys, .n = n, .out_values = values, .out_found = found});
}

copse_status copse_implicit_device_look_up(const copse_index *index, const void *keys, uint64_t n, void *values,
                                           uint8_t *found)
{
    copse_point_arguments arguments = {.tree = copse_implicit_device_of(index)->view};
    copse_point_call call = {index, &copse_implicit_device_kernels(index)->find[arguments.tree.levels.digest],
                             &arguments, &arguments.queries};
    arguments.tree.key_type = copse_device_pairs_type(index);
    return copse_point_call_encoded(&call, keys, n, values, found);
}

copse_status copse_implicit_device_neighbours(const copse_index *index, const void *keys, uint64_t n,
                                              copse_neighbour which, void *out_keys, void *out_values,
                                              uint8_t *out_found, uint64_t *out_ranks)
{
    copse_point_arguments arguments = {.tree = copse_implicit_device_of(index)->view, .queries.which = (uint32_t)which};
    copse_point_call call = {index, &copse_implicit_device_kernels(index)->neighbours[arguments.tree.levels.digest],
                             &arguments, &arguments.queries};
    return copse_point_call_run(&call, &(copse_point_arrays){keys, n, out_keys, out_values, out_found, out_ranks});
}

copse_status copse_implicit_device_select(const copse_index *index, const uint64_t *ranks, uint64_t n, void *keys,
                                          void *values, uint8_t *found)
{
    copse_copy_arguments arguments = {.tree = copse_implicit_device_of(index)->view};
    const copse_entry_kernel select = {&copse_implicit_device_kernels(index)->select, &arguments, &arguments.output,
                                       true};
    return copse_select_run(index, &select, ranks, n, keys, values, found);
}

copse_status copse_implicit_device_entries(const copse_index *index, uint64_t rank, uint64_t count, void *keys,
                                           void *values)
{
    copse_copy_arguments arguments = {.tree = copse_implicit_device_of(index)->view};
    const copse_entry_kernel copy = {&copse_implicit_device_kernels(index)->copy, &arguments, &arguments.output, true};
    return copse_entries_run(index, &copy, rank, count, keys, values);
}

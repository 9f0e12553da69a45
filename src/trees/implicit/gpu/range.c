/* Ranges of the implicit tree on a device: how many entries, and the entries themselves. */
#include "trees/implicit/gpu/tree.h"

copse_status copse_implicit_device_count(const copse_index *index, const copse_ranges *ranges, uint64_t *counts)
{
    copse_range_arguments arguments = {.tree = copse_implicit_device_of(index)->view};
    const copse_range_kernel count = {&copse_implicit_device_kernels(index)->count[arguments.tree.levels.digest],
                                      &arguments, &arguments.queries};
    return copse_count_run(index, &count, ranges, counts);
}

copse_status copse_implicit_device_range(const copse_index *index, const copse_ranges *asked, const copse_rows *rows)
{
    const copse_implicit_kernels *kernels = copse_implicit_device_kernels(index);
    copse_range_arguments ranges = {.tree = copse_implicit_device_of(index)->view};
    copse_copy_arguments entries = {.tree = ranges.tree};
    const copse_range_kernel count = {&kernels->count[ranges.tree.levels.digest], &ranges, &ranges.queries};
    const copse_entry_kernel gather = {&kernels->gather, &entries, &entries.output, false};
    const copse_range_target target = copse_range_target_of(asked, rows);
    copse_range_call call = copse_range_call_of(index, asked, rows);
    copse_status status = copse_range_begin(&call, &target);
    if (status == COPSE_OK) status = copse_range_run(&call, &count, &gather);
    return copse_range_end(&call, status);
}

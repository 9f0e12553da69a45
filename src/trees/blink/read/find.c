/* Lookups in the B-link and the B+ tree on a device. */
#include "trees/blink/tree.h"
#include "gpu/points.h"

COPSE_PICK_KERNEL_ROW(copse_blink_kernels)

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

/* The B-link and the B+ tree on a device: first entries at or behind keys, and those in front of them. */
#include "trees/blink/read/ranges.h"
#include "gpu/points.h"

static copse_status neighbours_quiet(const copse_index *index, copse_blink_epoch *epoch, copse_neighbour which,
                                     const copse_point_arrays *arrays)
{
    copse_status status = arrays->out_ranks ? copse_blink_ranks_ready(index, epoch) : COPSE_OK;
    if (status != COPSE_OK) return status;
    copse_blink_point_arguments arguments = {.tree = epoch->view, .queries.which = (uint32_t)which};
    if (arrays->out_ranks) arguments.before = epoch->ranks.before; /* else another reader may be making it */
    copse_point_call call = {index, &copse_blink_ordered_kernels_of(index)->neighbours[epoch->view.levels.digest],
                             &arguments, &arguments.queries};
    return copse_point_call_run(&call, arrays);
}

/* --- through a view ----------------------------------------------------------------------------------------------------------- */

typedef struct concurrent_call {
    copse_point_call point;
    const copse_blink_epoch *epoch;
} concurrent_call;

/* The neighbours, then their ranks, which a kernel counts: the tree keeps none while a writer may be at work. */
static copse_status concurrent_work(void *user, copse_stream *stream, uint64_t first, uint64_t n, void *const *memory)
{
    concurrent_call *call = user;
    const copse_index *index = call->point.index;
    const copse_point_queries *queries = call->point.queries;
    copse_status status = copse_point_launch(&call->point, stream, first, n, memory);
    if (status != COPSE_OK || !memory[COPSE_POINT_OUT_RANKS]) return status;
    copse_concurrent_arguments ranks =
        copse_concurrent_start(index, call->epoch, NULL, memory[COPSE_POINT_KEYS], first, n, queries->report);
    ranks.below = !copse_neighbour_upper(queries->which);
    ranks.counts = memory[COPSE_POINT_OUT_RANKS];
    return copse_concurrent_launch(index, stream, &copse_blink_ordered_kernels_of(index)->count_concurrent, &ranks);
}

static copse_status neighbours_concurrent(const copse_index *index, copse_blink_epoch *epoch, copse_neighbour which,
                                          const copse_point_arrays *arrays)
{
    copse_blink_point_arguments arguments = {.tree = copse_blink_tree_of(index, epoch),
                                             .queries.which = (uint32_t)which};
    concurrent_call call = {
        {index, &copse_blink_ordered_kernels_of(index)->neighbours_concurrent, &arguments, &arguments.queries}, epoch};
    return copse_point_call_with(&call.point, arrays, concurrent_work, &call);
}

copse_status copse_blink_neighbours(const copse_index *index, const void *keys, uint64_t n, copse_neighbour which,
                                    void *out_keys, void *out_values, uint8_t *out_found, uint64_t *out_ranks)
{
    const copse_point_arrays arrays = {keys, n, out_keys, out_values, out_found, out_ranks};
    copse_blink_epoch *epoch = copse_blink_enter(index);
    copse_status status = copse_blink_concurrent(index) ? neighbours_concurrent(index, epoch, which, &arrays)
                                                        : neighbours_quiet(index, epoch, which, &arrays);
    copse_blink_leave(index, epoch);
    return status;
}

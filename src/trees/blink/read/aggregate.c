/* Aggregates of the B-link and the B+ tree on a device, by running sums where they fit, else by the summary. */
#include "trees/blink/read/ranges.h"

static copse_status aggregate_quiet(const copse_index *index, copse_blink_epoch *epoch, copse_aggregate_kind kind,
                                    const copse_range_arrays *arrays)
{
    const copse_blink_ordered_kernels *kernels = copse_blink_ordered_kernels_of(index);
    const copse_blink_ranks *ranks = &epoch->ranks;
    const bool is_sum = copse_kind_is_sum(kind);
    copse_status status = is_sum ? copse_blink_sums_ready(index, epoch) : COPSE_OK;
    if (status == COPSE_OK) status = copse_blink_ranks_ready(index, epoch); /* mostly made with the sums */
    const bool quick = is_sum && status == COPSE_OK && ranks->sums_fit;
    if (status == COPSE_OK && !quick) status = copse_blink_summary_ready(index, epoch);
    if (status != COPSE_OK) return status;
    copse_blink_range_arguments ranges = {.tree = epoch->view, .before = ranks->before, .sums = ranks->sums};
    copse_blink_summary_arguments arguments = {.tree = epoch->view, .before = ranks->before};
    if (!quick) arguments.summary = ranks->summary.summary;
    copse_aggregate_call call = {
        .index = index,
        .kind = kind,
        .ranges = {&(quick ? kernels->sum : kernels->count)[epoch->view.levels.digest], &ranges, &ranges.queries},
        .aggregate = quick ? NULL : &kernels->aggregate,
        .arguments = &arguments,
        .extents = &arguments.extents};
    return copse_aggregate_call_run(&call, arrays);
}

/* --- through a view ----------------------------------------------------------------------------------------------------------- */

typedef struct concurrent_call {
    copse_aggregate_call aggregate;
    const copse_blink_epoch *epoch;
} concurrent_call;

/* While a writer may be at work the kernel reads all leaves of the ranges. */
static copse_status concurrent_work(void *user, copse_stream *stream, uint64_t first, uint64_t n, void *const *memory)
{
    const concurrent_call *call = user;
    const copse_index *index = call->aggregate.index;
    copse_concurrent_arguments arguments =
        copse_concurrent_start(index, call->epoch, memory[0], memory[1], first, n, call->aggregate.report);
    arguments.result = copse_aggregate_result(&call->aggregate, first, memory);
    return copse_concurrent_launch(index, stream, &copse_blink_ordered_kernels_of(index)->aggregate_concurrent,
                                   &arguments);
}

copse_status copse_blink_aggregate(const copse_index *index, copse_aggregate_kind kind, const copse_ranges *ranges,
                                   void *out, uint8_t *found)
{
    const copse_range_arrays arrays = {
        .lows = ranges->lows, .highs = ranges->highs, .n = ranges->n, .out = out, .found = found};
    copse_blink_epoch *epoch = copse_blink_enter(index);
    concurrent_call call = {{.index = index, .kind = kind}, epoch};
    copse_status status = copse_blink_concurrent(index)
                              ? copse_aggregate_call_with(&call.aggregate, concurrent_work, &call, &arrays)
                              : aggregate_quiet(index, epoch, kind, &arrays);
    copse_blink_leave(index, epoch);
    return status;
}

/* Ranges of the B-link and the B+ tree on a device: how many entries, and the entries themselves. */
#include "trees/blink/read/ranges.h"

/* --- count -------------------------------------------------------------------------------------------------------------- */

static copse_status count_quiet(const copse_index *index, copse_blink_epoch *epoch, const copse_ranges *ranges,
                                uint64_t *counts)
{
    copse_status status = copse_blink_ranks_ready(index, epoch);
    if (status != COPSE_OK) return status;
    copse_blink_range_arguments arguments = {.tree = epoch->view, .before = epoch->ranks.before};
    const copse_range_kernel count = {&copse_blink_ordered_kernels_of(index)->count[epoch->view.levels.digest],
                                      &arguments, &arguments.queries};
    return copse_count_run(index, &count, ranges, counts);
}

copse_status copse_blink_count(const copse_index *index, const copse_ranges *ranges, uint64_t *counts)
{
    copse_blink_epoch *epoch = copse_blink_enter(index);
    copse_status status = copse_blink_concurrent(index) ? copse_concurrent_count(index, epoch, ranges, counts)
                                                        : count_quiet(index, epoch, ranges, counts);
    copse_blink_leave(index, epoch);
    return status;
}

/* --- range in one pass --------------------------------------------------------------------------------------------------- */

/* Blocks for each multiprocessor: at least as many as it has room for. */
#define SHORT_RANGE_SHARE UINT64_C(8)
/* Entries of all ranges that the words of tiles have room for. */
#define SHORT_RANGE_ENTRIES (UINT64_C(1) << 62)

static copse_status short_range_launch(const copse_range_call *call, const copse_blink_epoch *epoch,
                                       copse_blink_short_range_arguments *a)
{
    const copse_index *index = call->index;
    const uint64_t most = SHORT_RANGE_SHARE * index->device->multiprocessors;
    a->ranges = (copse_blink_range_arguments){.tree = epoch->view,
                                              .before = epoch->ranks.before,
                                              .queries = {.lows = call->lows.memory,
                                                          .highs = call->highs.memory,
                                                          .n = (uint32_t)call->n,
                                                          .per_warp = copse_ranges_per_warp(index, call->n),
                                                          .limit = call->limit,
                                                          .locations = call->locations.memory,
                                                          .report = call->report}};
    return copse_device_launch(index->device, index->device->main,
                               &copse_blink_ordered_kernels_of(index)->short_range[epoch->view.levels.digest],
                               a->tiles < most ? a->tiles : most, a);
}

/* Offsets and the entries of short ranges by one kernel; `gather` copies what that leaves. */
static copse_status range_one_pass(copse_range_call *call, const copse_blink_epoch *epoch, copse_entry_kernel *gather)
{
    copse_device *device = call->index->device;
    const uint64_t per_block = (uint64_t)copse_ranges_per_warp(call->index, call->n) * (COPSE_KERNEL_THREADS / 32);
    copse_blink_short_range_arguments arguments = {.offsets = call->offsets.memory,
                                                   .capacity = call->capacity,
                                                   .keys = call->keys.memory,
                                                   .values = call->values.memory,
                                                   .tiles = (uint32_t)((call->n + per_block - 1) / per_block)};
    const uint64_t bytes = sizeof *arguments.state + arguments.tiles * sizeof *arguments.words;
    void *memory = NULL;
    copse_status status = copse_device_alloc(device, device->main, bytes, "copse_range", &memory);
    if (status != COPSE_OK) return status;
    arguments.state = memory;
    arguments.words = (uint64_t *)(arguments.state + 1);
    ((copse_blink_copy_arguments *)gather->arguments)->state = arguments.state;
    status = copse_device_fill(device, device->main, memory, 0, bytes);
    if (status == COPSE_OK) status = short_range_launch(call, epoch, &arguments);
    if (status == COPSE_OK) status = copse_range_gather_all(call, gather);
    copse_device_free(device, device->main, memory, bytes);
    return status;
}

static bool one_pass_may(const copse_range_call *call, const copse_blink_epoch *epoch)
{
    const uint64_t entries = epoch->view.entries;
    return copse_range_stays(call) && !call->descending && call->n && call->n <= COPSE_RANGES_LAUNCH &&
           (entries == 0 || call->n < SHORT_RANGE_ENTRIES / entries);
}

/* --- range -------------------------------------------------------------------------------------------------------------- */

/* While no writer changes the tree. */
static copse_status range_quiet(const copse_index *index, copse_range_call *call, const copse_range_target *target)
{
    const copse_blink_ordered_kernels *kernels = copse_blink_ordered_kernels_of(index);
    copse_blink_epoch *epoch = copse_blink_enter(index);
    copse_status status = copse_blink_ranks_ready(index, epoch);
    if (status == COPSE_OK) {
        copse_blink_range_arguments ranges = {.tree = epoch->view, .before = epoch->ranks.before};
        copse_blink_copy_arguments entries = {.tree = epoch->view, .before = epoch->ranks.before};
        const copse_range_kernel count = {&kernels->count[epoch->view.levels.digest], &ranges, &ranges.queries};
        copse_entry_kernel gather = {&kernels->gather, &entries, &entries.output, false};
        status = copse_range_begin(call, target);
        if (status == COPSE_OK)
            status = one_pass_may(call, epoch) ? range_one_pass(call, epoch, &gather)
                                               : copse_range_run(call, &count, &gather);
        status = copse_range_end(call, status);
    }
    copse_blink_leave(index, epoch);
    return status;
}

copse_status copse_blink_range(const copse_index *index, const copse_ranges *ranges, const copse_rows *rows)
{
    const copse_range_target target = copse_range_target_of(ranges, rows);
    copse_range_call call = copse_range_call_of(index, ranges, rows);
    if (!copse_blink_concurrent(index)) return range_quiet(index, &call, &target);
    const int outcome = copse_concurrent_range(&call, &target);
    if (outcome != COPSE_DECLINED) return (copse_status)outcome;
    copse_blink *tree = copse_blink_handle_of(index)->tree;
    call = copse_range_call_of(index, ranges, rows);
    pthread_mutex_lock(&tree->writer);
    const copse_status status = range_quiet(index, &call, &target);
    pthread_mutex_unlock(&tree->writer);
    return status;
}

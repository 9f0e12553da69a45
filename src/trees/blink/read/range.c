/* Ranges of the B-link and the B+ tree on a device: how many entries, and the entries themselves. */
#include "trees/blink/read/ranges.h"
#include "transfer/transfer.h"

copse_status copse_blink_ranges(const copse_index *index, copse_stream *stream, const copse_kernel *kernels,
                                const copse_blink_range_arguments *arguments, uint64_t n)
{
    const size_t key = copse_type_size(index->key_type);
    const size_t result = arguments->kind == COPSE_KIND_SUM128 ? 16 : 8;
    copse_blink_range_arguments a = *arguments;
    copse_status status = COPSE_OK;
    for (uint64_t at = 0; at < n && status == COPSE_OK; at += COPSE_RANGES_LAUNCH) {
        a.n = (uint32_t)(n - at < COPSE_RANGES_LAUNCH ? n - at : COPSE_RANGES_LAUNCH);
        a.per_warp = copse_ranges_per_warp(index, a.n);
        a.first = arguments->first + at;
        a.lows = copse_ranges_advance(arguments->lows, at, key);
        a.highs = copse_ranges_advance(arguments->highs, at, key);
        a.places = copse_ranges_advance(arguments->places, at, sizeof(uint64_t));
        a.ends = copse_ranges_advance(arguments->ends, at, sizeof(uint64_t));
        a.counts = copse_ranges_advance(arguments->counts, at, sizeof(uint64_t));
        a.out = copse_ranges_advance(arguments->out, at, result);
        const uint64_t per_block = (uint64_t)a.per_warp * (COPSE_KERNEL_THREADS / 32);
        status = copse_device_launch(index->device, stream, &kernels[a.tree.levels.digest],
                                     (a.n + per_block - 1) / per_block, &a);
    }
    return status;
}

/* --- count -------------------------------------------------------------------------------------------------------------- */

typedef struct count_job {
    const copse_index *index;
    const copse_blink_epoch *epoch;
    uint64_t *report;
} count_job;

static copse_status count_work(void *user, copse_stream *stream, uint64_t first, uint64_t n, void *const *memory)
{
    const count_job *job = user;
    if (copse_blink_concurrent(job->index)) {
        copse_concurrent_arguments concurrent =
            copse_concurrent_start(job->index, job->epoch, memory[0], memory[1], first, n, job->report);
        concurrent.counts = memory[2];
        return copse_concurrent_launch(job->index, stream, &copse_blink_order_kernels_of(job->index)->count_concurrent,
                                       &concurrent);
    }
    copse_blink_range_arguments arguments = {.tree = job->epoch->view,
                                             .before = job->epoch->order.before,
                                             .lows = memory[0],
                                             .highs = memory[1],
                                             .first = first,
                                             .counts = memory[2],
                                             .report = job->report};
    return copse_blink_ranges(job->index, stream, copse_blink_order_kernels_of(job->index)->count, &arguments, n);
}

static copse_status count_run(count_job *job, const void *lows, const void *highs, uint64_t n, uint64_t *counts)
{
    const copse_index *index = job->index;
    const size_t key = copse_type_size(index->key_type);
    const void *arrays[] = {lows, highs, counts};
    copse_transfer_job transfer = {
        .device = index->device,
        .array = {{.memory = (void *)(uintptr_t)lows, .element = key, .name = "lows"},
                  {.memory = (void *)(uintptr_t)highs, .element = key, .name = "highs"},
                  {.memory = counts, .element = sizeof *counts, .output = true, .name = "out_counts"}},
        .arrays = 3,
        .n = n,
        .work = count_work,
        .user = job};
    int report;
    copse_status status = copse_call_report_take(index, false, &report, &job->report);
    if (status != COPSE_OK) return status;
    status = copse_transfer_run(&transfer);
    return copse_call_report_end(index, report, status, copse_call_waits(index, arrays, 3), true);
}

copse_status copse_blink_count(const copse_index *index, const void *lows, const void *highs, uint64_t n,
                               uint64_t *counts)
{
    copse_blink_epoch *epoch = copse_blink_enter(index);
    count_job job = {.index = index, .epoch = epoch};
    copse_status status = copse_blink_concurrent(index) ? COPSE_OK : copse_blink_order_ready(index, epoch);
    if (status == COPSE_OK) status = count_run(&job, lows, highs, n, counts);
    copse_blink_leave(index, epoch);
    return status;
}

/* --- range -------------------------------------------------------------------------------------------------------------- */

static copse_status range_size(const copse_range_call *call)
{
    const copse_index *index = call->index;
    const copse_blink_epoch *epoch = call->user;
    copse_blink_range_arguments arguments = {.tree = epoch->view,
                                             .before = epoch->order.before,
                                             .lows = call->lows.memory,
                                             .highs = call->highs.memory,
                                             .limit = call->limit,
                                             .places = call->places.memory,
                                             .counts = call->offsets.memory,
                                             .report = call->report};
    return copse_blink_ranges(index, index->device->main, copse_blink_order_kernels_of(index)->count, &arguments,
                              call->n);
}

static copse_status gather_launch(const copse_range_call *call, uint64_t first, uint64_t count, void *keys,
                                  void *values, const copse_short_range_state *state)
{
    const copse_index *index = call->index;
    const copse_blink_epoch *epoch = call->user;
    copse_blink_copy_arguments arguments = {.tree = epoch->view,
                                            .before = epoch->order.before,
                                            .first = first,
                                            .count = count,
                                            .places = call->places.memory,
                                            .offsets = call->offsets.memory,
                                            .n = call->n,
                                            .capacity = call->capacity,
                                            .keys = keys,
                                            .values = values,
                                            .state = state,
                                            .report = call->report};
    return copse_device_launch(index->device, index->device->main, &copse_blink_order_kernels_of(index)->gather,
                               copse_device_blocks(index->device, (count / COPSE_GATHER_TILE + 1) * 32), &arguments);
}

static copse_status range_gather(const copse_range_call *call, uint64_t first, uint64_t count, void *keys, void *values)
{
    return gather_launch(call, first, count, keys, values, NULL);
}

/* --- range in one pass --------------------------------------------------------------------------------------------------- */

/* Blocks for each multiprocessor: at least as many as it has room for. */
#define NARROW_SHARE UINT64_C(8)
/* Entries of all ranges that the words of tiles have room for. */
#define NARROW_ENTRIES (UINT64_C(1) << 62)

static copse_status narrow_launch(const copse_range_call *call, copse_blink_short_range_arguments *a)
{
    const copse_index *index = call->index;
    const copse_blink_epoch *epoch = call->user;
    const uint64_t most = NARROW_SHARE * index->device->multiprocessors;
    a->ranges = (copse_blink_range_arguments){.tree = epoch->view,
                                              .before = epoch->order.before,
                                              .lows = call->lows.memory,
                                              .highs = call->highs.memory,
                                              .n = (uint32_t)call->n,
                                              .per_warp = copse_ranges_per_warp(index, call->n),
                                              .limit = call->limit,
                                              .places = call->places.memory,
                                              .report = call->report};
    return copse_device_launch(index->device, index->device->main,
                               &copse_blink_order_kernels_of(index)->short_range[epoch->view.levels.digest],
                               a->tiles < most ? a->tiles : most, a);
}

static copse_status range_whole(const copse_range_call *call)
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
    status = copse_device_fill(device, device->main, memory, 0, bytes);
    if (status == COPSE_OK) status = narrow_launch(call, &arguments);
    if (status == COPSE_OK)
        status = gather_launch(call, 0, call->capacity, call->keys.memory, call->values.memory, arguments.state);
    copse_device_free(device, device->main, memory, bytes);
    return status;
}

static bool whole_fits(const copse_range_call *call, const copse_blink_epoch *epoch)
{
    const uint64_t entries = epoch->view.entries;
    return call->n <= COPSE_RANGES_LAUNCH && (entries == 0 || call->n < NARROW_ENTRIES / entries);
}

/* While nobody changes the tree. */
static copse_status range_quiet(copse_range_call *call, const void *lows, const void *highs, uint64_t *offsets,
                                void *keys, void *values)
{
    copse_blink_epoch *epoch = copse_blink_enter(call->index);
    call->size = range_size;
    call->gather = range_gather;
    call->whole = whole_fits(call, epoch) ? range_whole : NULL;
    call->user = epoch;
    copse_status status = copse_blink_order_ready(call->index, epoch);
    if (status == COPSE_OK) status = copse_range_call_run(call, lows, highs, offsets, keys, values);
    copse_blink_leave(call->index, epoch);
    return status;
}

copse_status copse_blink_range(const copse_index *index, const void *lows, const void *highs, uint64_t n,
                               uint64_t limit, uint64_t *offsets, void *keys, void *values, uint64_t capacity)
{
    const copse_range_call call = {.index = index, .n = n, .limit = limit, .capacity = capacity};
    copse_range_call tried = call;
    bool done = false;
    if (!copse_blink_concurrent(index)) return range_quiet(&tried, lows, highs, offsets, keys, values);
    copse_status status = copse_concurrent_range(&tried, lows, highs, offsets, keys, values, &done);
    if (status != COPSE_OK || done) return status;
    copse_blink *tree = copse_blink_handle_of(index)->tree;
    tried = call;
    pthread_mutex_lock(&tree->writer);
    status = range_quiet(&tried, lows, highs, offsets, keys, values);
    pthread_mutex_unlock(&tree->writer);
    return status;
}

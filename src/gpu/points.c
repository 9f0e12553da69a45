/* Point reads on a device, whatever the tree. */
#include "gpu/points.h"
#include "gpu/shared_kernels.h"

/* Queries of one launch: kernels count them with 32 bits. */
#define LAUNCH_MOST (UINT64_C(1) << 30)
/* Up to this many queries for each multiprocessor a warp takes few of them, so that all multiprocessors have some. */
#define SMALL_SHARE UINT64_C(497)

#define POINT_ARRAYS (COPSE_POINT_OUT_RANKS + 1)

static void *advance(void *array, uint64_t elements, size_t width)
{
    return array ? (char *)array + elements * width : NULL;
}

copse_status copse_point_launch(void *user, copse_stream *stream, uint64_t first, uint64_t n, void *const *memory)
{
    const copse_point_call *call = user;
    const copse_index *index = call->index;
    copse_point_queries *queries = call->queries;
    const size_t key = copse_type_size(index->key_type), value = copse_value_width(index->value_type);
    copse_status status = COPSE_OK;
    for (uint64_t at = 0; at < n && status == COPSE_OK; at += LAUNCH_MOST) {
        queries->keys = advance(memory[COPSE_POINT_KEYS], at, key);
        queries->first = first + at;
        queries->n = (uint32_t)(n - at < LAUNCH_MOST ? n - at : LAUNCH_MOST);
        queries->per_warp = queries->n <= SMALL_SHARE * index->device->multiprocessors ? 8 : 32;
        queries->out_keys = advance(memory[COPSE_POINT_OUT_KEYS], at, key);
        queries->out_values = advance(memory[COPSE_POINT_OUT_VALUES], at, value);
        queries->out_found = advance(memory[COPSE_POINT_OUT_FOUND], at, 1);
        queries->out_ranks = advance(memory[COPSE_POINT_OUT_RANKS], at, sizeof(uint64_t));
        const uint64_t per_block = (uint64_t)queries->per_warp * (COPSE_KERNEL_THREADS / 32);
        status = copse_device_launch(index->device, stream, call->kernel, (queries->n + per_block - 1) / per_block,
                                     call->arguments);
    }
    return status;
}

copse_status copse_point_call_with(copse_point_call *call, const copse_point_arrays *arrays, copse_transfer_work work,
                                   void *user)
{
    const copse_index *index = call->index;
    const size_t key = copse_type_size(index->key_type), value = copse_value_width(index->value_type);
    const void *all[POINT_ARRAYS] = {arrays->keys, arrays->out_keys, arrays->out_values, arrays->out_found,
                                     arrays->out_ranks};
    copse_transfer_job transfer = {
        .device = index->device,
        .array = {{.memory = (void *)(uintptr_t)arrays->keys, .element = key, .name = "keys"},
                  {.memory = arrays->out_keys, .element = key, .output = true, .name = "out_keys"},
                  {.memory = arrays->out_values, .element = value, .output = true, .name = "out_values"},
                  {.memory = arrays->out_found, .element = 1, .output = true, .name = "out_found"},
                  {.memory = arrays->out_ranks, .element = sizeof(uint64_t), .output = true, .name = "out_ranks"}},
        .arrays = POINT_ARRAYS,
        .n = arrays->n,
        .work = work,
        .user = user};
    int report;
    copse_status status = copse_call_report_take(index, false, &report, &call->queries->report);
    if (status != COPSE_OK) return status;
    status = copse_transfer_run(&transfer);
    return copse_call_report_end(index, report, status, copse_call_waits(index, all, POINT_ARRAYS), false);
}

copse_status copse_point_call_run(copse_point_call *call, const copse_point_arrays *arrays)
{
    return copse_point_call_with(call, arrays, copse_point_launch, call);
}

copse_status copse_point_call_encoded(copse_point_call *call, const void *keys, uint64_t n, void *out_values,
                                      uint8_t *out_found)
{
    void *const arrays[POINT_ARRAYS] = {[COPSE_POINT_KEYS] = (void *)(uintptr_t)keys,
                                        [COPSE_POINT_OUT_VALUES] = out_values,
                                        [COPSE_POINT_OUT_FOUND] = out_found};
    return copse_point_launch(call, call->index->device->main, 0, n, arrays);
}

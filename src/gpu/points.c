/* Point reads on a device, whatever the structure. */
#include "gpu/points.h"
#include "gpu/batch.h"
#include "gpu/shared_kernels.h"
#include "transfer/transfer.h"

/* Queries of one launch: their numbers are 32 bits in kernels. */
#define LAUNCH_MOST (UINT64_C(1) << 30)
/* Up to this many queries for each multiprocessor a warp takes few of them, so that all multiprocessors have some. */
#define SMALL_SHARE UINT64_C(497)

static void *advance(void *array, uint64_t elements, size_t width)
{
    return array ? (char *)array + elements * width : NULL;
}

/* Arrays of a point call, in this order. */
enum { POINT_KEYS, POINT_OUT_KEYS, POINT_OUT_VALUES, POINT_OUT_FOUND, POINT_OUT_RANKS, POINT_ARRAYS };

static copse_status point_work(void *user, copse_stream *stream, uint64_t first, uint64_t n, void *const *memory)
{
    const copse_point_call *call = user;
    const copse_index *index = call->index;
    const size_t key = copse_type_size(index->key_type), value = copse_type_size(index->value_type);
    copse_status status = COPSE_OK;
    for (uint64_t at = 0; at < n && status == COPSE_OK; at += LAUNCH_MOST) {
        copse_point_slice slice = {.keys = advance(memory[POINT_KEYS], at, key),
                                   .first = first + at,
                                   .n = (uint32_t)(n - at < LAUNCH_MOST ? n - at : LAUNCH_MOST),
                                   .out_keys = advance(memory[POINT_OUT_KEYS], at, key),
                                   .out_values = advance(memory[POINT_OUT_VALUES], at, value),
                                   .out_found = advance(memory[POINT_OUT_FOUND], at, 1),
                                   .out_ranks = advance(memory[POINT_OUT_RANKS], at, sizeof(uint64_t)),
                                   .report = call->report};
        slice.per_warp = slice.n <= SMALL_SHARE * index->device->multiprocessors ? 8 : 32;
        const uint64_t per_block = (uint64_t)slice.per_warp * (COPSE_KERNEL_THREADS / 32);
        slice.blocks = (slice.n + per_block - 1) / per_block;
        status = call->launch(call, stream, &slice);
    }
    return status;
}

copse_status copse_point_call_run(copse_point_call *call, const void *keys, uint64_t n, void *out_keys,
                                  void *out_values, uint8_t *out_found, uint64_t *out_ranks)
{
    const copse_index *index = call->index;
    const size_t key = copse_type_size(index->key_type), value = copse_type_size(index->value_type);
    const void *arrays[POINT_ARRAYS] = {keys, out_keys, out_values, out_found, out_ranks};
    copse_transfer_job transfer = {
        .device = index->device,
        .array = {{.memory = (void *)(uintptr_t)keys, .element = key, .name = "keys"},
                  {.memory = out_keys, .element = key, .output = true, .name = "out_keys"},
                  {.memory = out_values, .element = value, .output = true, .name = "out_values"},
                  {.memory = out_found, .element = 1, .output = true, .name = "out_found"},
                  {.memory = out_ranks, .element = sizeof(uint64_t), .output = true, .name = "out_ranks"}},
        .arrays = POINT_ARRAYS,
        .n = n,
        .work = point_work,
        .user = call};
    int report;
    call->key_type = index->key_type;
    copse_status status = copse_call_report_take(index, false, &report, &call->report);
    if (status != COPSE_OK) return status;
    status = copse_transfer_run(&transfer);
    return copse_call_report_end(index, report, status, copse_call_waits(index, arrays, POINT_ARRAYS), false);
}

copse_status copse_point_call_encoded(copse_point_call *call, const void *keys, uint64_t n, void *out_values,
                                      uint8_t *out_found)
{
    void *const arrays[POINT_ARRAYS] = {
        [POINT_KEYS] = (void *)(uintptr_t)keys, [POINT_OUT_VALUES] = out_values, [POINT_OUT_FOUND] = out_found};
    call->key_type = copse_device_pairs_type(call->index);
    return point_work(call, call->index->device->main, 0, n, arrays);
}

/* Point reads of the implicit tree on a device, and entries by rank. */
#include "cuda/implicit_device.h"
#include "cuda/transfer.h"

/* Queries of one launch: their numbers are 32 bits in kernels. */
#define LAUNCH_MOST (UINT64_C(1) << 30)
/* Up to this many queries for each multiprocessor a warp takes few of them, so that all multiprocessors have some. */
#define SMALL_SHARE UINT64_C(497)

typedef struct point_job {
    const copse_index *index;
    const copse_kernel *kernels; /* [0]: full separators, [1]: digests */
    copse_point_arguments arguments;
} point_job;

static void *advance(void *array, uint64_t elements, size_t width)
{
    return array ? (char *)array + elements * width : NULL;
}

/* Arrays of a point job, in this order. */
enum { POINT_KEYS, POINT_OUT_KEYS, POINT_OUT_VALUES, POINT_OUT_FOUND, POINT_OUT_RANKS, POINT_ARRAYS };

static copse_status point_work(void *user, copse_stream *stream, uint64_t first, uint64_t n, void *const *memory)
{
    const point_job *job = user;
    const copse_index *index = job->index;
    const size_t key = copse_type_size(index->key_type), value = copse_type_size(index->value_type);
    copse_point_arguments a = job->arguments;
    copse_status status = COPSE_OK;
    for (uint64_t at = 0; at < n && status == COPSE_OK; at += LAUNCH_MOST) {
        a.n = (uint32_t)(n - at < LAUNCH_MOST ? n - at : LAUNCH_MOST);
        a.per_warp = a.n <= SMALL_SHARE * index->device->multiprocessors ? 8 : 32;
        a.first = first + at;
        a.keys = advance(memory[POINT_KEYS], at, key);
        a.out_keys = advance(memory[POINT_OUT_KEYS], at, key);
        a.out_values = advance(memory[POINT_OUT_VALUES], at, value);
        a.out_found = advance(memory[POINT_OUT_FOUND], at, 1);
        a.out_ranks = advance(memory[POINT_OUT_RANKS], at, sizeof(uint64_t));
        const uint64_t per_block = (uint64_t)a.per_warp * (COPSE_KERNEL_THREADS / 32);
        status = copse_device_launch(index->device, stream, &job->kernels[a.tree.levels.digest],
                                     (a.n + per_block - 1) / per_block, &a);
    }
    return status;
}

static copse_status point_run(point_job *job, const void *keys, uint64_t n, void *out_keys, void *out_values,
                              uint8_t *out_found, uint64_t *out_ranks)
{
    const copse_index *index = job->index;
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
        .user = job};
    int report;
    job->arguments.tree = copse_implicit_device_of(index)->view;
    copse_status status = copse_call_report_take(index, false, &report, &job->arguments.report);
    if (status != COPSE_OK) return status;
    status = copse_transfer_run(&transfer);
    return copse_call_report_end(index, report, status, copse_call_waits(index, arrays, POINT_ARRAYS), false);
}

copse_status copse_implicit_device_find(const copse_index *index, const void *keys, uint64_t n, void *values,
                                        uint8_t *found)
{
    point_job job = {.index = index, .kernels = copse_implicit_device_kernels(index)->find};
    return point_run(&job, keys, n, NULL, values, found, NULL);
}

copse_status copse_implicit_device_neighbours(const copse_index *index, const void *keys, uint64_t n,
                                              copse_neighbour which, void *out_keys, void *out_values,
                                              uint8_t *out_found, uint64_t *out_ranks)
{
    point_job job = {.index = index, .kernels = copse_implicit_device_kernels(index)->neighbours};
    job.arguments.which = (uint32_t)which;
    return point_run(&job, keys, n, out_keys, out_values, out_found, out_ranks);
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

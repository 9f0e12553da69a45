/*
 * What the files of the CUDA primitives share. The work is split over several .cu files because CUB's templates take
 * long to compile: one file per algorithm, and one per key width where that is still long.
 */
#pragma once

#include "device/cuda_status.h"
#include "primitives/primitives.h"

/* CUB would mark its calls for profilers, and load a library to do so at run time. */
#ifndef NVTX_DISABLE
#define NVTX_DISABLE
#endif

/* A sort as primitives.h describes it. keys[0], values[0] is the input. With `between` NULL keys[1], values[1] is the
 * output and the input stays; else both are overwritten and *between says where the result is. */
typedef struct copse_cuda_sort {
    void *keys[2];
    void *values[2];
    uint64_t n;
    unsigned first_bit, last_bit;
    unsigned *between;
} copse_cuda_sort;

copse_status copse_cuda_sort_k32v32(copse_device *device, copse_stream *stream, const copse_cuda_sort *sort);
copse_status copse_cuda_sort_k32v64(copse_device *device, copse_stream *stream, const copse_cuda_sort *sort);
copse_status copse_cuda_sort_k64v32(copse_device *device, copse_stream *stream, const copse_cuda_sort *sort);
copse_status copse_cuda_sort_k64v64(copse_device *device, copse_stream *stream, const copse_cuda_sort *sort);

copse_status copse_cuda_scan_states(copse_device *device, copse_stream *stream, unsigned pair, const void *keys,
                                    const void *tags, void *states, uint64_t n);
copse_status copse_cuda_unique_pairs(copse_device *device, copse_stream *stream, unsigned pair, const void *keys_in,
                                     const void *values_in, void *keys_out, void *values_out, uint64_t n,
                                     copse_unique which, uint64_t *out_count);
copse_status copse_cuda_select_pairs(copse_device *device, copse_stream *stream, unsigned pair, const void *keys_in,
                                     const void *values_in, const uint8_t *flags, void *keys_out, void *values_out,
                                     uint64_t n, uint64_t *out_count);
copse_status copse_cuda_select_flagged(copse_device *device, copse_stream *stream, const uint8_t *flags, uint32_t *out,
                                       uint64_t n, uint64_t *out_count);
copse_status copse_cuda_merge_pairs(copse_device *device, copse_stream *stream, unsigned pair, const void *keys_a,
                                    const void *values_a, uint64_t n_a, const void *keys_b, const void *values_b,
                                    uint64_t n_b, void *keys_out, void *values_out);

static inline cudaStream_t copse_cuda_stream(copse_stream *stream)
{
    return (cudaStream_t)stream;
}

/* Runs `call(scratch, bytes)`, a function of CUB, in the two steps they all have: asked with NULL it says how much scratch
 * it needs, then it puts the work on the stream. The scratch is freed in stream order, so behind that work. */
template <typename Call>
copse_status copse_cuda_with_scratch(copse_device *device, copse_stream *stream, const char *what, Call call)
{
    copse_status status = copse_device_check(device);
    if (status != COPSE_OK) return status;
    int before = device->backend->enter(device);
    void *scratch = nullptr;
    size_t bytes = 0;
    status = copse_cuda_status(device, call(scratch, bytes), what);
    uint64_t taken = bytes ? bytes : 1; /* with NULL it would only be asked again */
    if (status == COPSE_OK) status = copse_device_alloc(device, stream, taken, what, &scratch);
    if (status == COPSE_OK) {
        status = copse_cuda_status(device, call(scratch, bytes), what);
        copse_device_free(device, stream, scratch, taken);
    }
    device->backend->leave(device, before);
    return status;
}

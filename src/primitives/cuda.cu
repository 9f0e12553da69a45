/* The table of primitives on a card, by CUB, and those of one type: scan and reductions. */
#include "primitives/cuda.h"

#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>

namespace {

copse_status sort_by_widths(copse_device *device, copse_stream *stream, unsigned pair, const copse_cuda_sort *sort)
{
    if (sort->between) *sort->between = 0;
    if (sort->n == 0) return copse_device_check(device);
    switch (pair) {
    case 0:
        return copse_cuda_sort_k32v32(device, stream, sort);
    case 1:
        return copse_cuda_sort_k32v64(device, stream, sort);
    case 2:
        return copse_cuda_sort_k64v32(device, stream, sort);
    default:
        return copse_cuda_sort_k64v64(device, stream, sort);
    }
}

copse_status sort_pairs(copse_device *device, copse_stream *stream, unsigned pair, const void *keys_in,
                        const void *values_in, void *keys_out, void *values_out, uint64_t n, unsigned first_bit,
                        unsigned last_bit)
{
    copse_cuda_sort sort = {
        {(void *)keys_in, keys_out}, {(void *)values_in, values_out}, n, first_bit, last_bit, nullptr};
    return sort_by_widths(device, stream, pair, &sort);
}

copse_status sort_pairs_between(copse_device *device, copse_stream *stream, unsigned pair, void *const keys[2],
                                void *const values[2], uint64_t n, unsigned first_bit, unsigned last_bit,
                                unsigned *out_where)
{
    copse_cuda_sort sort = {{keys[0], keys[1]}, {values[0], values[1]}, n, first_bit, last_bit, out_where};
    return sort_by_widths(device, stream, pair, &sort);
}

copse_status scan_u64(copse_device *device, copse_stream *stream, const uint64_t *in, uint64_t *out, uint64_t n)
{
    if (n == 0) return copse_device_check(device);
    return copse_cuda_with_scratch(device, stream, "scanning", [&](void *scratch, size_t &bytes) -> cudaError_t {
        return cub::DeviceScan::ExclusiveSum(scratch, bytes, in, out, n, copse_cuda_stream(stream));
    });
}

copse_status sum_u64(copse_device *device, copse_stream *stream, const uint64_t *in, uint64_t n, uint64_t *out)
{
    if (n == 0) return copse_device_fill(device, stream, out, 0, sizeof *out);
    return copse_cuda_with_scratch(device, stream, "summing", [&](void *scratch, size_t &bytes) -> cudaError_t {
        return cub::DeviceReduce::Sum(scratch, bytes, in, out, n, copse_cuda_stream(stream));
    });
}

copse_status min_u64(copse_device *device, copse_stream *stream, const uint64_t *in, uint64_t n, uint64_t *out)
{
    if (n == 0) return copse_device_fill(device, stream, out, 0xff, sizeof *out);
    return copse_cuda_with_scratch(device, stream, "finding the least", [&](void *scratch, size_t &bytes) {
        return cub::DeviceReduce::Min(scratch, bytes, in, out, n, copse_cuda_stream(stream));
    });
}

copse_status max_u64(copse_device *device, copse_stream *stream, const uint64_t *in, uint64_t n, uint64_t *out)
{
    if (n == 0) return copse_device_fill(device, stream, out, 0, sizeof *out);
    return copse_cuda_with_scratch(device, stream, "finding the largest", [&](void *scratch, size_t &bytes) {
        return cub::DeviceReduce::Max(scratch, bytes, in, out, n, copse_cuda_stream(stream));
    });
}

} // namespace

extern "C" const copse_primitives copse_primitives_cuda = {
    sort_pairs,
    sort_pairs_between,
    scan_u64,
    copse_cuda_scan_states,
    copse_cuda_unique_pairs,
    copse_cuda_select_pairs,
    copse_cuda_select_flagged,
    copse_cuda_merge_pairs,
    sum_u64,
    min_u64,
    max_u64,
};

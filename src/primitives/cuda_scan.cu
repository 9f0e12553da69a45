/* Scan of mixed batches on a card. */
#include "primitives/mixed_state.h"
#include "primitives/cuda.h"

#include <cub/device/device_scan.cuh>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

namespace {

/* The state of operation i alone, made where it is asked for: never a pass over memory of its own. */
template <typename Key, typename Tag> struct alone {
    const Key *keys;
    const Tag *tags;
    __device__ Tag operator()(int64_t i) const
    {
        return (Tag)copse_mixed_state(tags[i], i == 0 || keys[i - 1] != keys[i]);
    }
};

template <typename Tag> struct joined {
    __host__ __device__ Tag operator()(Tag before, Tag now) const { return (Tag)copse_mixed_join(before, now); }
};

template <typename Key, typename Tag>
copse_status scan_any(copse_device *device, copse_stream *stream, const void *keys, const void *tags, void *states,
                      uint64_t n)
{
    auto in = thrust::make_transform_iterator(thrust::counting_iterator<int64_t>(0),
                                              alone<Key, Tag>{(const Key *)keys, (const Tag *)tags});
    return copse_cuda_with_scratch(
        device, stream, "joining operations", [&](void *scratch, size_t &bytes) -> cudaError_t {
            return cub::DeviceScan::InclusiveScan(scratch, bytes, in, (Tag *)states, joined<Tag>{}, n,
                                                  copse_cuda_stream(stream));
        });
}

} // namespace

copse_status copse_cuda_scan_states(copse_device *device, copse_stream *stream, unsigned pair, const void *keys,
                                    const void *tags, void *states, uint64_t n)
{
    if (n == 0) return copse_device_check(device);
    switch (pair) {
    case 0:
        return scan_any<uint32_t, uint32_t>(device, stream, keys, tags, states, n);
    case 1:
        return scan_any<uint32_t, uint64_t>(device, stream, keys, tags, states, n);
    case 2:
        return scan_any<uint64_t, uint32_t>(device, stream, keys, tags, states, n);
    default:
        return scan_any<uint64_t, uint64_t>(device, stream, keys, tags, states, n);
    }
}

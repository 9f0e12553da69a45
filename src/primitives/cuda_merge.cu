/* Merge pairs on a card. */
#include "primitives/cuda.h"

#include <cub/device/device_merge.cuh>

namespace {

struct merging {
    copse_device *device;
    copse_stream *stream;
    const void *keys_a, *values_a;
    uint64_t n_a;
    const void *keys_b, *values_b;
    uint64_t n_b;
    void *keys_out, *values_out;
};

template <typename Key, typename Value> copse_status merge_any(const merging &m)
{
    return copse_cuda_with_scratch(
        m.device, m.stream, "merging pairs", [&](void *scratch, size_t &bytes) -> cudaError_t {
            return cub::DeviceMerge::MergePairs(scratch, bytes, (const Key *)m.keys_a, (const Value *)m.values_a,
                                                (int64_t)m.n_a, (const Key *)m.keys_b, (const Value *)m.values_b,
                                                (int64_t)m.n_b, (Key *)m.keys_out, (Value *)m.values_out,
                                                ::cuda::std::less<>{}, copse_cuda_stream(m.stream));
        });
}

} // namespace

copse_status copse_cuda_merge_pairs(copse_device *device, copse_stream *stream, unsigned pair, const void *keys_a,
                                    const void *values_a, uint64_t n_a, const void *keys_b, const void *values_b,
                                    uint64_t n_b, void *keys_out, void *values_out)
{
    merging m = {device, stream, keys_a, values_a, n_a, keys_b, values_b, n_b, keys_out, values_out};
    if (n_a + n_b == 0) return copse_device_check(device);
    switch (pair) {
    case 0:
        return merge_any<uint32_t, uint32_t>(m);
    case 1:
        return merge_any<uint32_t, uint64_t>(m);
    case 2:
        return merge_any<uint64_t, uint32_t>(m);
    default:
        return merge_any<uint64_t, uint64_t>(m);
    }
}

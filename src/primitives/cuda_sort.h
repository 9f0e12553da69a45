/* Sort pairs of one pair of widths on a card; which cuda_sort_k*.cu instantiate. */
#pragma once

#include "primitives/cuda.h"

#include <cub/device/device_radix_sort.cuh>

template <typename Key, typename Value>
copse_status copse_cuda_sort_any(copse_device *device, copse_stream *stream, const copse_cuda_sort *sort)
{
    /* Both ways are one set of kernels to CUB, so offering both costs no compile time. */
    cub::DoubleBuffer<Key> keys((Key *)sort->keys[0], (Key *)sort->keys[1]);
    cub::DoubleBuffer<Value> values((Value *)sort->values[0], (Value *)sort->values[1]);
    int first = (int)sort->first_bit, last = (int)sort->last_bit;
    copse_status status =
        copse_cuda_with_scratch(device, stream, "sorting pairs", [&](void *scratch, size_t &bytes) -> cudaError_t {
            if (sort->between)
                return cub::DeviceRadixSort::SortPairs(scratch, bytes, keys, values, sort->n, first, last,
                                                       copse_cuda_stream(stream));
            return cub::DeviceRadixSort::SortPairs(scratch, bytes, (const Key *)sort->keys[0], (Key *)sort->keys[1],
                                                   (const Value *)sort->values[0], (Value *)sort->values[1], sort->n,
                                                   first, last, copse_cuda_stream(stream));
        });
    if (sort->between) *sort->between = (unsigned)keys.selector;
    return status;
}

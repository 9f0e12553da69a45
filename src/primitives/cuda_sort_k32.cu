/* Sort pairs with keys of 32 bits. */
#include "primitives/cuda_sort.h"

copse_status copse_cuda_sort_k32v32(copse_device *device, copse_stream *stream, const copse_cuda_sort *sort)
{
    return copse_cuda_sort_any<uint32_t, uint32_t>(device, stream, sort);
}

copse_status copse_cuda_sort_k32v64(copse_device *device, copse_stream *stream, const copse_cuda_sort *sort)
{
    return copse_cuda_sort_any<uint32_t, uint64_t>(device, stream, sort);
}

/* Stands in for device/cuda.cu in a build without CUDA: there are no cards, and it says why. Nothing but count is ever
 * called, since no device of this kind can be opened. */
#include "device/device.h"

static int absent_count(const char **out_why)
{
    *out_why = "copse was built without CUDA";
    return 0;
}

static int absent_stream_device(void *stream)
{
    (void)stream;
    return -1;
}

const copse_device_backend copse_device_cuda = {
    .name = "cuda",
    .placement = COPSE_PLACEMENT_GPU,
    .count = absent_count,
    .stream_device = absent_stream_device,
};

#include "gpu/scratch.h"

#define ALIGNMENT 256u

static uint64_t aligned(uint64_t bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

copse_status copse_scratch_take(copse_device *device, const char *what, const copse_scratch_array *arrays, unsigned n,
                                copse_scratch *out)
{
    *out = (copse_scratch){0};
    for (unsigned i = 0; i < n; i++) out->bytes += aligned(arrays[i].bytes);
    copse_status status = copse_device_alloc(device, device->main, out->bytes, what, &out->memory);
    if (status != COPSE_OK) return status;
    char *at = out->memory;
    for (unsigned i = 0; i < n; i++) {
        if (arrays[i].bytes) *arrays[i].where = at;
        at += aligned(arrays[i].bytes);
    }
    return COPSE_OK;
}

void copse_scratch_free(copse_device *device, copse_scratch *scratch)
{
    copse_device_free(device, device->main, scratch->memory, scratch->bytes);
    *scratch = (copse_scratch){0};
}

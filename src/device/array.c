/* Growable arrays: whole granules mapped behind an address that stays. */
#include "device/array.h"

#include <string.h>

static uint64_t round_up(uint64_t bytes, uint64_t granule)
{
    return (bytes + granule - 1) / granule * granule;
}

copse_status copse_device_array_create(copse_device *device, uint64_t most, copse_device_array *out)
{
    memset(out, 0, sizeof *out);
    copse_status status = copse_device_check(device);
    if (status != COPSE_OK) return status;
    copse_device_array made = {.device = device};
    status = device->backend->array_reserve(device, most, &made.address, &made.reserved, &made.granule);
    if (status == COPSE_OK) *out = made;
    return status;
}

copse_status copse_device_array_grow(copse_device_array *array, uint64_t bytes)
{
    if (bytes <= array->mapped) return COPSE_OK;
    if (bytes > array->reserved)
        return copse_fail(array->device->ctx, COPSE_ERR_ARGUMENT,
                          "a device array cannot grow to %llu bytes: %llu were reserved", (unsigned long long)bytes,
                          (unsigned long long)array->reserved);
    uint64_t mapped = round_up(bytes, array->granule);
    copse_status status = copse_device_map(array->device, array->address, array->mapped, mapped, "a growing array");
    if (status == COPSE_OK) array->mapped = mapped;
    return status;
}

void copse_device_array_free(copse_device_array *array)
{
    if (!array->address) return;
    copse_device_unmap(array->device, array->address, array->reserved, array->mapped);
    memset(array, 0, sizeof *array);
}

/* Device memory of one call. */
#include "query/device/device.h"

copse_status copse_card_take(copse_card_memory *memory, uint64_t n, size_t size, void *out)
{
    void *taken = NULL;
    copse_device *device = memory->device;
    *(void **)out = NULL;
    if (memory->count == COPSE_CARD_ARRAYS)
        return copse_fail(device->ctx, COPSE_ERR_UNSUPPORTED, "a query takes more arrays than are planned for");
    uint64_t bytes = copse_memory_product(n ? n : 1, size);
    /* Each step of a query takes arrays, and may fail here: so it is here that the caller is asked whether to go on. */
    copse_status status = copse_progress(device->ctx, "asking the device", memory->count, 0);
    if (status == COPSE_OK) status = copse_device_alloc(device, device->main, bytes, "a query on the device", &taken);
    if (status != COPSE_OK) return status;
    memory->arrays[memory->count].memory = taken;
    memory->arrays[memory->count++].bytes = bytes;
    *(void **)out = taken;
    return COPSE_OK;
}

uint64_t copse_card_keep(copse_card_memory *memory, const void *array)
{
    for (uint32_t i = 0; array && i < memory->count; i++) {
        uint64_t bytes = memory->arrays[i].bytes;
        if (memory->arrays[i].memory != array) continue;
        memory->arrays[i] = memory->arrays[--memory->count];
        return bytes;
    }
    return 0;
}

void copse_card_release(copse_card_memory *memory)
{
    for (uint32_t i = 0; i < memory->count; i++)
        copse_device_free(memory->device, memory->device->main, memory->arrays[i].memory, memory->arrays[i].bytes);
    memory->count = 0;
}

copse_status copse_card_launch(copse_device *device, const copse_kernel *kernel, uint64_t n, const void *arguments)
{
    return copse_device_launch(device, device->main, kernel, (n + COPSE_CARD_THREADS - 1) / COPSE_CARD_THREADS,
                               arguments);
}

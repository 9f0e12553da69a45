/*
 * An array in device memory that grows where it stands: address space for the largest size it may have is reserved at
 * once, memory is mapped behind it as it grows. Nothing moves, so pointers into it stay valid.
 *
 *   address  [ mapped, in granules ............ | reserved, nothing behind it yet ........................ ]
 */
#ifndef COPSE_DEVICE_ARRAY_H
#define COPSE_DEVICE_ARRAY_H

#include "device/device.h"

typedef struct copse_device_array {
    copse_device *device;
    void *address;
    uint64_t reserved; /* bytes */
    uint64_t mapped;   /* bytes, a multiple of granule */
    uint64_t granule;
} copse_device_array;

/* Reserves address space for up to `most` bytes. Errors: MEMORY, DEVICE. */
copse_status copse_device_array_create(copse_device *device, uint64_t most, copse_device_array *out);
/* Makes at least `bytes` usable. Errors: MEMORY (the array is as before), ARGUMENT (more than reserved). */
copse_status copse_device_array_grow(copse_device_array *array, uint64_t bytes);
/* Waits for the work on the device before it frees. An array that was never made (all zero) is fine. */
void copse_device_array_free(copse_device_array *array);

#endif

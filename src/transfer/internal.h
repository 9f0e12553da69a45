/* What the files of the transfer pipeline share. */
#pragma once

#include "transfer/transfer.h"

/* One chunk under way: where it lies on the device, where its staged arrays lie on the host, how far it is. */
typedef struct copse_transfer_slot {
    copse_event *arrived; /* inputs are on the device   */
    copse_event *worked;
    copse_event *left; /* outputs are on the host    */
    char *device;
    uint64_t device_bytes;
    char *pinned;
    uint64_t pinned_bytes;
} copse_transfer_slot;

/* What a device keeps for its jobs: device->transfer, used under device->transfer_lock. */
typedef struct copse_transfer {
    copse_transfer_settings settings;
    copse_stream *in, *out; /* copies; the work is on device->main */
    copse_event *begun;
    copse_transfer_slot slot[COPSE_TRANSFER_SLOTS];
} copse_transfer;

/* --- transfer/slots.c ------------------------------------------------------------------------------------------- */

/* device->transfer, made where it is not there yet. */
copse_status copse_transfer_open(copse_device *device, copse_transfer **out);
/* Gives a slot at least that much memory. */
copse_status copse_transfer_slot_reserve(copse_device *device, copse_transfer_slot *slot, uint64_t device_bytes,
                                         uint64_t pinned_bytes);

/* --- transfer/pin.c --------------------------------------------------------------------------------------------- */

/* Memory that is pinned for the time of a job. */
typedef struct copse_transfer_pin {
    const char *memory;
    uint64_t bytes;
    struct copse_transfer_pin *next;
} copse_transfer_pin;

/* Pins memory until copse_transfer_pin_drop; false where the system refuses. */
bool copse_transfer_pin_take(copse_device *device, const void *memory, uint64_t bytes, copse_transfer_pin *pin);
void copse_transfer_pin_drop(copse_device *device, copse_transfer_pin *pin);

/* --- transfer/pipeline.c ---------------------------------------------------------------------------------------- */

/* Runs a job of which `on_device` says which arrays are device memory. Under device->transfer_lock. */
copse_status copse_transfer_pipeline(copse_transfer *transfer, const copse_transfer_job *job, const bool *on_device);
/* Ends a job: waits for device->main, and for the streams of the pipeline unless `transfer` is NULL, even where the device has a
 * fault, because nothing of a job may be under way when its call returns. Returns `status` with its sentence, or where that is
 * COPSE_OK the first error of the streams. */
copse_status copse_transfer_finish(copse_transfer *transfer, copse_device *device, copse_status status);

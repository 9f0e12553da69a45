/* What the transfer pipeline keeps between jobs: its settings, streams, events and slots. */
#include "transfer/internal.h"

#include <stdlib.h>
#include <string.h>

static const copse_transfer_settings defaults = {
    .mode = COPSE_TRANSFER_AUTO,
    .slots = 3,
    .chunk_bytes = 32u << 20, /* test_transfer_gpu --table: larger ones gain nothing, 8 MiB lose a tenth */
    .small_bytes = 1u << 20,
    .direct_bytes = 64u << 10,
    .streaming = true, /* test_transfer_gpu --table compares both */
};

static copse_status mode_choose(const copse_ctx *ctx, copse_transfer_mode *out)
{
    static const char *const names[] = {"auto", "staged", "pinned"}; /* in the order of copse_transfer_mode */
    const char *text = getenv("COPSE_TRANSFER");
    if (!text || !*text) return COPSE_OK;
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(text, names[i]) != 0) continue;
        *out = (copse_transfer_mode)i;
        return COPSE_OK;
    }
    return copse_fail_argument(ctx, "COPSE_TRANSFER", "COPSE_TRANSFER is '%.40s'; it takes auto, staged or pinned",
                               text);
}

static copse_status handles_make(copse_device *device, copse_transfer *transfer)
{
    const copse_device_backend *backend = device->backend;
    copse_status status = backend->stream_create(device, &transfer->in);
    if (status == COPSE_OK) status = backend->stream_create(device, &transfer->out);
    if (status == COPSE_OK) status = backend->event_create(device, &transfer->begun);
    for (unsigned i = 0; status == COPSE_OK && i < COPSE_TRANSFER_SLOTS; i++) {
        copse_transfer_slot *slot = &transfer->slot[i];
        status = backend->event_create(device, &slot->arrived);
        if (status == COPSE_OK) status = backend->event_create(device, &slot->worked);
        if (status == COPSE_OK) status = backend->event_create(device, &slot->left);
    }
    return status;
}

static void slot_empty(copse_device *device, copse_transfer_slot *slot)
{
    copse_device_free(device, device->main, slot->device, slot->device_bytes);
    if (slot->pinned) device->backend->pinned_free(device, slot->pinned, slot->pinned_bytes);
    slot->device = slot->pinned = NULL;
    slot->device_bytes = slot->pinned_bytes = 0;
}

static void event_drop(copse_device *device, copse_event *event)
{
    if (event) device->backend->event_free(device, event);
}

static void transfer_free(copse_device *device, copse_transfer *transfer)
{
    for (unsigned i = 0; i < COPSE_TRANSFER_SLOTS; i++) {
        slot_empty(device, &transfer->slot[i]);
        event_drop(device, transfer->slot[i].arrived);
        event_drop(device, transfer->slot[i].worked);
        event_drop(device, transfer->slot[i].left);
    }
    event_drop(device, transfer->begun);
    if (transfer->in) device->backend->stream_free(device, transfer->in);
    if (transfer->out) device->backend->stream_free(device, transfer->out);
    copse_memory_free(device->ctx, transfer, sizeof *transfer);
}

copse_status copse_transfer_open(copse_device *device, copse_transfer **out)
{
    *out = device->transfer;
    if (*out) return COPSE_OK;
    copse_transfer *transfer = copse_memory_alloc(device->ctx, sizeof *transfer);
    if (!transfer) return copse_fail_memory(device->ctx, sizeof *transfer, "the transfer pipeline");
    *transfer = (copse_transfer){.settings = defaults};
    copse_status status = mode_choose(device->ctx, &transfer->settings.mode);
    if (status == COPSE_OK) status = handles_make(device, transfer);
    if (status == COPSE_OK) {
        device->transfer = *out = transfer;
        device->transfer_close = copse_transfer_close;
    } else {
        transfer_free(device, transfer);
    }
    return status;
}

copse_status copse_transfer_slot_reserve(copse_device *device, copse_transfer_slot *slot, uint64_t device_bytes,
                                         uint64_t pinned_bytes)
{
    if (slot->device_bytes < device_bytes) {
        copse_device_free(device, device->main, slot->device, slot->device_bytes);
        slot->device = NULL;
        slot->device_bytes = 0;
        void *memory;
        copse_status status =
            copse_device_alloc(device, device->main, device_bytes, "a slot of the transfer pipeline", &memory);
        if (status != COPSE_OK) return status;
        slot->device = memory;
        slot->device_bytes = device_bytes;
        /* A packed batch comes back as one block, with the gaps between its arrays, which must not be uninitialized. */
        status = copse_device_fill(device, device->main, memory, 0, device_bytes);
        if (status != COPSE_OK) return status;
    }
    if (slot->pinned_bytes < pinned_bytes) {
        if (slot->pinned) device->backend->pinned_free(device, slot->pinned, slot->pinned_bytes);
        slot->pinned_bytes = 0;
        slot->pinned = device->backend->pinned_alloc(device, pinned_bytes);
        if (!slot->pinned)
            return copse_fail(device->ctx, COPSE_ERR_MEMORY,
                              "out of memory: a slot of the transfer pipeline needs %llu pinned bytes",
                              (unsigned long long)pinned_bytes);
        slot->pinned_bytes = pinned_bytes;
    }
    return COPSE_OK;
}

void copse_transfer_close(copse_device *device)
{
    if (device->transfer) transfer_free(device, device->transfer);
    device->transfer = NULL;
}

copse_status copse_transfer_settings_get(copse_device *device, copse_transfer_settings *out)
{
    copse_transfer *transfer;
    pthread_mutex_lock(&device->transfer_lock);
    copse_status status = copse_transfer_open(device, &transfer);
    if (status == COPSE_OK) *out = transfer->settings;
    pthread_mutex_unlock(&device->transfer_lock);
    return status;
}

copse_status copse_transfer_settings_set(copse_device *device, const copse_transfer_settings *settings)
{
    if (settings->slots < 2 || settings->slots > COPSE_TRANSFER_SLOTS)
        return copse_fail_argument(device->ctx, "settings", "settings->slots is %u; it goes from 2 to %d",
                                   settings->slots, COPSE_TRANSFER_SLOTS);
    copse_transfer *transfer;
    pthread_mutex_lock(&device->transfer_lock);
    copse_status status = copse_transfer_open(device, &transfer);
    if (status == COPSE_OK) {
        transfer->settings = *settings;
        for (unsigned i = 0; i < COPSE_TRANSFER_SLOTS; i++) slot_empty(device, &transfer->slot[i]);
    }
    pthread_mutex_unlock(&device->transfer_lock);
    return status;
}

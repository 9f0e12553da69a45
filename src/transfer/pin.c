/*
 * Host memory that the device copies itself: pinned by the caller, or by a job for as long as it runs.
 *
 * What one job pins looks pinned to every other, in this context or another, and stops being so at a moment that the
 * other does not know. Therefore this file lists all such memory of the process, and no job relies on what another
 * pinned. The lock makes looking and listing one step.
 */
#include "transfer/internal.h"

static pthread_mutex_t pins_lock = PTHREAD_MUTEX_INITIALIZER;
static copse_transfer_pin *pins;

static bool is_lent(const char *memory, uint64_t bytes)
{
    for (const copse_transfer_pin *pin = pins; pin; pin = pin->next) {
        if (memory < pin->memory + pin->bytes && pin->memory < memory + bytes) return true;
    }
    return false;
}

bool copse_transfer_is_pinned(copse_device *device, const void *memory, uint64_t bytes)
{
    const char *last = (const char *)memory + bytes - 1;
    pthread_mutex_lock(&pins_lock);
    bool pinned = device->backend->kind(device, memory) == COPSE_MEMORY_PINNED &&
                  device->backend->kind(device, last) == COPSE_MEMORY_PINNED && !is_lent(memory, bytes);
    pthread_mutex_unlock(&pins_lock);
    return pinned;
}

bool copse_transfer_pin_take(copse_device *device, const void *memory, uint64_t bytes, copse_transfer_pin *pin)
{
    pthread_mutex_lock(&pins_lock);
    bool pinned = !is_lent(memory, bytes) && device->backend->pin(device, memory, bytes);
    if (pinned) {
        *pin = (copse_transfer_pin){memory, bytes, pins};
        pins = pin;
    }
    pthread_mutex_unlock(&pins_lock);
    return pinned;
}

void copse_transfer_pin_drop(copse_device *device, copse_transfer_pin *pin)
{
    pthread_mutex_lock(&pins_lock);
    copse_transfer_pin **link = &pins;
    while (*link != pin) link = &(*link)->next;
    *link = pin->next;
    device->backend->unpin(device, pin->memory);
    pthread_mutex_unlock(&pins_lock);
}

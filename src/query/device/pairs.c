/* Pairs that a join left in device memory, or to be listed. */
#include "query/device/device.h"

void copse_card_pairs_take(copse_pairs *pairs, copse_card_memory *memory, uint64_t *left, uint64_t *right, uint64_t n)
{
    pairs->device = memory->device;
    pairs->device_left = left;
    pairs->device_right = right;
    pairs->device_left_bytes = copse_card_keep(memory, left);
    pairs->device_right_bytes = copse_card_keep(memory, right);
    pairs->n = n;
}

void copse_pairs_drop(copse_pairs *pairs)
{
    if (!pairs->device) return;
    copse_device *device = pairs->device;
    copse_device_free(device, device->main, pairs->device_left, pairs->device_left_bytes);
    copse_device_free(device, device->main, pairs->device_right, pairs->device_right_bytes);
    pairs->device = NULL;
}

static copse_status list_numbers(copse_pairs *pairs)
{
    copse_status status = copse_pairs_reserve(pairs, pairs->n);
    for (uint64_t i = 0; status == COPSE_OK && i < pairs->n; i++) ((uint64_t *)pairs->left.data)[i] = i;
    return status;
}

static copse_status fetch(copse_pairs *pairs)
{
    if (pairs->left_is_number) return list_numbers(pairs);
    copse_device *device = pairs->device;
    const uint64_t bytes = pairs->n * sizeof(uint64_t);
    copse_status status = copse_pairs_reserve(pairs, pairs->n);
    if (status == COPSE_OK)
        status = copse_device_read(device, device->main, pairs->left.data, pairs->device_left, bytes);
    if (status == COPSE_OK && pairs->has_right)
        status = copse_device_read(device, device->main, pairs->right.data, pairs->device_right, bytes);
    return status;
}

copse_status copse_pairs_fetch(const copse_pairs *pairs)
{
    /* Threads may ask at the same time, and rarely do: one lock for all pairs is enough. */
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    copse_status status = COPSE_OK;
    if (!pairs->device && !pairs->left_is_number) return COPSE_OK;
    pthread_mutex_lock(&lock);
    if (!pairs->fetched) {
        copse_pairs *own = (copse_pairs *)(uintptr_t)pairs; /* ours: copse_join made it */
        status = fetch(own);
        own->fetched = status == COPSE_OK;
    }
    pthread_mutex_unlock(&lock);
    return status;
}

const uint64_t *copse_pairs_device_left(const copse_pairs *pairs)
{
    return pairs && pairs->device ? pairs->device_left : NULL;
}

const uint64_t *copse_pairs_device_right(const copse_pairs *pairs)
{
    return pairs && pairs->device ? pairs->device_right : NULL;
}

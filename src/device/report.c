/* Reports of kernels: taken before a launch, read after it, or left to copse_ctx_synchronize. */
#include "device/device.h"

#include <string.h>

static uint64_t *words_of(copse_device *device, int report)
{
    return device->reports + (size_t)report * COPSE_REPORT_WORDS;
}

/* Under the lock. */
static void put_back(copse_device *device, int report)
{
    memset(words_of(device, report), 0xFF, COPSE_REPORT_WORDS * sizeof(uint64_t));
    device->reports_taken &= ~(UINT64_C(1) << report);
    pthread_cond_signal(&device->report_put);
}

void copse_report_drop(copse_device *device, int report)
{
    pthread_mutex_lock(&device->lock);
    put_back(device, report);
    pthread_mutex_unlock(&device->lock);
}

void copse_report_defer(copse_device *device, int report, copse_report_check check, const char *call)
{
    pthread_mutex_lock(&device->lock);
    device->deferred[device->deferred_count++] = (copse_deferred_report){check, call, report};
    pthread_mutex_unlock(&device->lock);
}

/* Waits for the main stream, then checks all reports that were deferred before. Keeps the first error for
 * copse_device_synchronize. */
static copse_status check_deferred(copse_device *device)
{
    copse_deferred_report mine[COPSE_REPORTS];
    copse_status late = COPSE_OK;
    pthread_mutex_lock(&device->lock);
    unsigned count = device->deferred_count;
    memcpy(mine, device->deferred, count * sizeof *mine);
    device->deferred_count = 0;
    pthread_mutex_unlock(&device->lock);
    copse_status status = copse_device_wait(device, device->main);
    for (unsigned i = 0; i < count && status == COPSE_OK && late == COPSE_OK; i++)
        late = mine[i].check(device->ctx, mine[i].call, words_of(device, mine[i].report));
    pthread_mutex_lock(&device->lock);
    if (late != COPSE_OK && device->late_status == COPSE_OK) {
        device->late_status = late;
        (void)snprintf(device->late, sizeof device->late, "%s", copse_last_error(device->ctx));
    }
    for (unsigned i = 0; i < count; i++) put_back(device, mine[i].report);
    pthread_mutex_unlock(&device->lock);
    return status;
}

/* Under the lock: waits until a report is free. Checking those of deferred calls frees them. */
static copse_status wait_for_one(copse_device *device)
{
    copse_status status = COPSE_OK;
    while (device->reports_taken == UINT64_MAX && status == COPSE_OK) {
        if (device->deferred_count == 0) {
            pthread_cond_wait(&device->report_put, &device->lock);
            continue;
        }
        pthread_mutex_unlock(&device->lock);
        status = check_deferred(device);
        pthread_mutex_lock(&device->lock);
    }
    return status;
}

copse_status copse_report_take(copse_device *device, int *out_report, uint64_t **out_words)
{
    *out_report = -1;
    *out_words = NULL;
    copse_status status = copse_device_check(device);
    if (status != COPSE_OK) return status;
    pthread_mutex_lock(&device->lock);
    status = wait_for_one(device);
    if (status == COPSE_OK) {
        *out_report = __builtin_ctzll(~device->reports_taken);
        *out_words = words_of(device, *out_report);
        device->reports_taken |= UINT64_C(1) << *out_report;
    }
    pthread_mutex_unlock(&device->lock);
    return status;
}

copse_status copse_report_read(copse_device *device, int report, uint64_t out_words[COPSE_REPORT_WORDS])
{
    copse_status status = copse_device_wait(device, device->main);
    memcpy(out_words, words_of(device, report), COPSE_REPORT_WORDS * sizeof *out_words);
    copse_report_drop(device, report);
    return status;
}

copse_status copse_device_synchronize(copse_device *device)
{
    copse_status status = check_deferred(device);
    if (status != COPSE_OK) return status;
    pthread_mutex_lock(&device->lock);
    status = device->late_status;
    device->late_status = COPSE_OK;
    if (status != COPSE_OK) copse_fail(device->ctx, status, "%s", device->late);
    pthread_mutex_unlock(&device->lock);
    return status;
}

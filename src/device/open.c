/* Which device a context has: chosen and opened on first use, closed with the context. */
#include "device/device.h"

#include "core/pool.h"

#include <string.h>

/* --- which one ---------------------------------------------------------------------------------------------------- */

/* "card 3 (name) cannot be used: why" */
static copse_status refuse(const copse_ctx *ctx, int number, const copse_device_info *info)
{
    return copse_fail(ctx, COPSE_ERR_DEVICE, "card %d (%s) cannot be used: %s", number, info->name, info->why);
}

/* The first that can be used. Where none can, the sentence is about the first. */
static copse_status choose_first(const copse_ctx *ctx, const copse_device_backend *backend, int count, int *out)
{
    copse_device_info first, info;
    for (int i = 0; i < count; i++) {
        backend->describe(i, &info);
        if (i == 0) first = info;
        *out = i;
        if (info.usable) return COPSE_OK;
    }
    return refuse(ctx, 0, &first);
}

static copse_status choose_named(const copse_ctx *ctx, const copse_device_backend *backend, int count, int number)
{
    copse_device_info info = {.struct_size = sizeof info};
    if (number >= count)
        return copse_fail(ctx, COPSE_ERR_DEVICE, "there is no card %d: this machine has %d, counted from 0", number,
                          count);
    backend->describe(number, &info);
    return info.usable ? COPSE_OK : refuse(ctx, number, &info);
}

static copse_status choose(const copse_ctx *ctx, const copse_device_backend *backend, int *out)
{
    const char *why = "";
    int count = backend->count(&why);
    *out = ctx->device_number;
    if (count == 0 && *out < 0) return copse_fail(ctx, COPSE_ERR_DEVICE, "%s", why);
    if (count == 0) return copse_fail(ctx, COPSE_ERR_DEVICE, "there is no card %d: %s", *out, why);
    if (*out < 0 && ctx->stream) *out = backend->stream_device(ctx->stream);
    return *out < 0 ? choose_first(ctx, backend, count, out) : choose_named(ctx, backend, count, *out);
}

/* --- open and close ------------------------------------------------------------------------------------------------ */

#define REPORT_BYTES (COPSE_REPORTS * COPSE_REPORT_WORDS * sizeof(uint64_t) + COPSE_NOTE_BYTES)

static bool locks_make(copse_device *device)
{
    pthread_mutex_t *locks[] = {&device->lock, &device->transfer_lock, &device->note_lock};
    const unsigned all = sizeof locks / sizeof *locks;
    unsigned made = 0;
    while (made < all && pthread_mutex_init(locks[made], NULL) == 0) made++;
    if (made == all && pthread_cond_init(&device->report_put, NULL) == 0) return true;
    while (made > 0) pthread_mutex_destroy(locks[--made]);
    return false;
}

static void locks_free(copse_device *device)
{
    pthread_cond_destroy(&device->report_put);
    pthread_mutex_destroy(&device->note_lock);
    pthread_mutex_destroy(&device->transfer_lock);
    pthread_mutex_destroy(&device->lock);
}

static copse_status reports_make(copse_device *device)
{
    uint64_t bytes = REPORT_BYTES;
    device->reports = device->backend->pinned_alloc(device, bytes);
    if (!device->reports)
        return copse_fail(device->ctx, COPSE_ERR_MEMORY, "out of memory: reports of kernels need %llu pinned bytes",
                          (unsigned long long)bytes);
    memset(device->reports, 0xFF, bytes);
    device->note = (char *)device->reports + bytes - COPSE_NOTE_BYTES;
    return COPSE_OK;
}

static copse_status open_locked(copse_device *device)
{
    copse_status status = device->backend->open(device, device->ctx->stream);
    if (status != COPSE_OK) return status;
    status = reports_make(device);
    if (status != COPSE_OK) device->backend->close(device);
    return status;
}

static copse_status device_open(copse_ctx *ctx, const copse_device_backend *backend, copse_device **out)
{
    int number = 0;
    copse_status status = choose(ctx, backend, &number);
    if (status != COPSE_OK) return status;
    copse_device *device = copse_memory_alloc(ctx, sizeof *device);
    if (!device) return copse_fail_memory(ctx, sizeof *device, "the device");
    *device = (copse_device){.backend = backend,
                             .ctx = ctx,
                             .number = number,
                             .callers_stream = ctx->stream != NULL,
                             .limit = ctx->device_memory ? ctx->device_memory : UINT64_MAX,
                             .generation = copse_fork_generation(),
                             .allocations_left = -1};
    if (!locks_make(device)) {
        copse_memory_free(ctx, device, sizeof *device);
        return copse_fail(ctx, COPSE_ERR_MEMORY, "out of memory: the system gives no locks for the device");
    }
    status = open_locked(device);
    if (status == COPSE_OK) {
        *out = device;
    } else {
        locks_free(device);
        copse_memory_free(ctx, device, sizeof *device);
    }
    return status;
}

static void device_close(copse_device *device)
{
    if (!device) return;
    copse_ctx *ctx = device->ctx;
    if (!copse_device_is_parents(device)) {
        (void)device->backend->wait(device, device->main);
        if (device->transfer_close) device->transfer_close(device);
        (void)copse_block_cache_drop(device);
        device->backend->pinned_free(device, device->reports, REPORT_BYTES);
        device->backend->close(device);
    }
    locks_free(device);
    copse_memory_free(ctx, device, sizeof *device);
}

/* Under the lock, and once: readers of the sentence take no lock. */
static void remember_why(copse_ctx *ctx)
{
    if (ctx->placement_why[0] == '\0')
        (void)snprintf(ctx->placement_why, sizeof ctx->placement_why, "%s", copse_last_error(ctx));
}

const char *copse_device_why_not(copse_ctx *ctx)
{
    return ctx->placement_why;
}

copse_status copse_device_get(copse_ctx *ctx, copse_placement placement, copse_device **out)
{
    const bool card = placement == COPSE_PLACEMENT_GPU || placement == COPSE_PLACEMENT_HYBRID;
    copse_device **slot = card ? &ctx->gpu : &ctx->emulated;
    copse_status status = COPSE_OK;
    pthread_mutex_lock(&ctx->device_lock);
    if (!*slot) status = device_open(ctx, card ? &copse_device_cuda : &copse_device_emulated, slot);
    *out = *slot;
    if (status != COPSE_OK && card) remember_why(ctx);
    pthread_mutex_unlock(&ctx->device_lock);
    return status == COPSE_OK ? copse_device_check(*out) : status;
}

bool copse_device_try_gpu(copse_ctx *ctx, copse_device **out)
{
    copse_kept_error kept;
    copse_error_keep(&kept);
    bool there = copse_device_get(ctx, COPSE_PLACEMENT_GPU, out) == COPSE_OK;
    if (!there) copse_error_put_back(&kept);
    return there;
}

void copse_device_close_all(copse_ctx *ctx)
{
    device_close(ctx->gpu);
    device_close(ctx->emulated);
    ctx->gpu = ctx->emulated = NULL;
}

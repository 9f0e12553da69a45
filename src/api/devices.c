/* Cards as copse.h shows them, and waiting for the devices of a context. */
#include "core/structs.h"
#include "device/device.h"

copse_status copse_ctx_synchronize(copse_ctx *ctx)
{
    if (!ctx) return copse_fail_argument(NULL, "ctx", "copse_ctx_synchronize: ctx is NULL");
    pthread_mutex_lock(&ctx->device_lock);
    copse_device *const devices[] = {ctx->gpu, ctx->emulated};
    pthread_mutex_unlock(&ctx->device_lock);
    for (unsigned i = 0; i < 2; i++) {
        copse_status status = devices[i] ? copse_device_synchronize(devices[i]) : COPSE_OK;
        if (status != COPSE_OK) return status;
    }
    return COPSE_OK;
}

copse_status copse_ctx_set_stream(copse_ctx *ctx, void *stream)
{
    if (!ctx) return copse_fail_argument(NULL, "ctx", "copse_ctx_set_stream: ctx is NULL");
    pthread_mutex_lock(&ctx->device_lock);
    copse_status status = COPSE_OK;
    if (ctx->gpu) status = copse_device_set_stream(ctx->gpu, stream);
    if (status == COPSE_OK && ctx->emulated) status = copse_device_set_stream(ctx->emulated, stream);
    if (status == COPSE_OK) ctx->stream = stream;
    pthread_mutex_unlock(&ctx->device_lock);
    return status;
}

int32_t copse_device_count(const char **out_why)
{
    const char *why = "";
    int count = copse_device_cuda.count(&why);
    if (out_why) *out_why = count ? "" : why;
    return count;
}

copse_status copse_device_describe(int32_t device, copse_device_info *out_info)
{
    static const copse_wide_member wide[] = {
        COPSE_WIDE(copse_device_info, name),   COPSE_WIDE(copse_device_info, why),
        COPSE_WIDE(copse_device_info, memory), COPSE_WIDE(copse_device_info, memory_free),
        COPSE_WIDE(copse_device_info, cache),  {0, 0}};
    const char *why = "";
    if (!out_info) return copse_fail_argument(NULL, "out_info", "copse_device_describe: out_info is NULL");
    copse_device_info info = {.struct_size = sizeof info};
    copse_status status =
        copse_struct_give(NULL, "copse_device_describe", "out_info", out_info, &info, sizeof info, wide);
    if (status != COPSE_OK) return status; /* before the cards are looked at */
    int count = copse_device_cuda.count(&why);
    if (count == 0) return copse_fail(NULL, COPSE_ERR_DEVICE, "there is no card %d: %s", device, why);
    if (device < 0 || device >= count)
        return copse_fail(NULL, COPSE_ERR_DEVICE, "there is no card %d: this machine has %d, counted from 0", device,
                          count);
    copse_device_cuda.describe(device, &info);
    return copse_struct_give(NULL, "copse_device_describe", "out_info", out_info, &info, sizeof info, wide);
}

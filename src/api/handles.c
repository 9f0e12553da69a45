/* Further handles on an index: views, which follow it, frozen ones, which do not, and copies. */
#include "api/check.h"
#include "core/handle.h"
#include "device/device.h"

static copse_status check(const copse_index *index, const copse_ctx *ctx, const void *out, const char *call,
                          const char *out_name)
{
    const char *missing = !index ? "index" : !ctx ? "ctx" : !out ? out_name : NULL;
    if (!missing) return COPSE_OK;
    (void)copse_fail_argument(ctx, missing, "%s: %s is NULL", call, missing);
    return COPSE_ERR_ARGUMENT; /* said here, so that an analyzer knows that it is never COPSE_OK */
}

/* Another handle on the same tree, which only reads. */
static copse_status share(const copse_index *index, copse_ctx *ctx, bool frozen, const char *call, copse_index **out)
{
    copse_device *device = NULL;
    copse_status status = copse_device_get(ctx, index->placement, &device);
    if (status != COPSE_OK) return status;
    if (device->number != index->device->number)
        return copse_fail_argument(ctx, "ctx", "%s: ctx uses device %d, but the index is on device %d", call,
                                   device->number, index->device->number);
    copse_index *other = copse_memory_alloc(ctx, sizeof *other);
    if (!other) return copse_fail_memory(ctx, sizeof *other, "the index");
    *other = copse_index_handle(index);
    other->references = 1;
    other->own_version = copse_version_of(index);
    /* A frozen index and views of one keep the version that it had. */
    const bool fixed = frozen || index->version == &index->own_version;
    other->version = fixed ? &other->own_version : index->version;
    other->ctx = ctx;
    other->device = device;
    other->tree = NULL;
    other->read_only = frozen ? "a frozen index" : "a view";
    status = index->calls->share(index, other, frozen);
    if (status != COPSE_OK) {
        copse_memory_free(ctx, other, sizeof *other);
        return status;
    }
    copse_ctx_hold(ctx);
    *out = other;
    return COPSE_OK;
}

copse_status copse_index_view(const copse_index *index, copse_ctx *ctx, copse_index **out_view)
{
    if (out_view) *out_view = NULL;
    copse_status status = check(index, ctx, out_view, "copse_index_view", "out_view");
    if (status != COPSE_OK) return status;
    if (!index->calls->share)
        return copse_fail(ctx, COPSE_ERR_UNSUPPORTED,
                          "copse_index_view: the %s tree cannot be read while it is updated; blink and bplus can",
                          copse_structure_name(index->description->structure));
    return share(index, ctx, false, "copse_index_view", out_view);
}

copse_status copse_freeze(const copse_index *index, copse_ctx *ctx, copse_index **out_frozen)
{
    if (out_frozen) *out_frozen = NULL;
    copse_status status = check(index, ctx, out_frozen, "copse_freeze", "out_frozen");
    if (status != COPSE_OK) return status;
    if (index->calls->share) return share(index, ctx, true, "copse_freeze", out_frozen);
    status = copse_index_copy(index, ctx, index->placement, out_frozen);
    if (status == COPSE_OK) (*out_frozen)->read_only = "a frozen index";
    return status;
}

copse_status copse_copy(const copse_index *index, copse_ctx *ctx, copse_index **out_copy)
{
    if (out_copy) *out_copy = NULL;
    copse_status status = check(index, ctx, out_copy, "copse_copy", "out_copy");
    return status == COPSE_OK ? copse_index_copy(index, ctx, index->placement, out_copy) : status;
}

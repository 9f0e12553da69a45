/* Values of keys that the radix tree on a device has: written by kernels. The last of equal keys in the batch wins. */
#include "gpu/call.h"
#include "transfer/transfer.h"
#include "trees/radix/gpu/tree.h"

/* A batch of upserts on its way. */
typedef struct upsert_call {
    copse_index *index;
    copse_radix_input keys;
    bool values_there;
    copse_radix_upsert_arguments a;
    copse_scratch scratch;
} upsert_call;

static copse_status arrays_make(upsert_call *call, const void *values)
{
    copse_device *device = call->index->device;
    copse_radix_upsert_arguments *a = &call->a;
    const uint64_t bytes = a->n * a->tree.width;
    void *own = NULL;
    a->claim_bits = 5;
    while (UINT64_C(1) << a->claim_bits < 2 * a->n) a->claim_bits++;
    const copse_scratch_array arrays[] = {{(void **)&a->missing, sizeof *a->missing},
                                          {(void **)&a->claims, sizeof *a->claims << a->claim_bits},
                                          {(void **)&a->places, a->n * sizeof *a->places},
                                          {&own, call->values_there ? 0 : bytes}};
    copse_status status = copse_scratch_take(device, "the update", arrays, 4, &call->scratch);
    if (status == COPSE_OK) /* missing, and the claims behind it */
        status =
            copse_device_fill(device, device->main, a->missing, 0,
                              (uint64_t)((char *)(a->claims + (UINT64_C(1) << a->claim_bits)) - (char *)a->missing));
    a->values = call->values_there ? values : own;
    if (status == COPSE_OK && !call->values_there) status = copse_transfer_to_device(device, own, values, bytes);
    return status == COPSE_OK ? copse_radix_ahead_make(call->index, a->ahead) : status;
}

/* Both kernels, and what they say. */
static copse_status kernels_run(upsert_call *call, bool *out_done)
{
    copse_device *device = call->index->device;
    const copse_radix_kernels *kernels = copse_radix_kernels_on(device);
    const uint64_t blocks = (call->a.n + COPSE_RADIX_THREADS - 1) / COPSE_RADIX_THREADS;
    uint64_t words[COPSE_REPORT_WORDS];
    int report;
    copse_status status = copse_report_take(device, &report, &call->a.report);
    if (status != COPSE_OK) return status;
    status = copse_device_launch(device, device->main, &kernels->claim, blocks, &call->a);
    if (status == COPSE_OK) status = copse_device_launch(device, device->main, &kernels->upsert, blocks, &call->a);
    const copse_status read = copse_report_read(device, report, words);
    if (status == COPSE_OK) status = read;
    if (status != COPSE_OK) return status;
    *out_done = words[COPSE_RADIX_MISSING] == 0;
    if (words[COPSE_RADIX_UNSOUND] == UINT64_MAX) return COPSE_OK;
    return copse_radix_input_fail(call->index, &call->keys, words[COPSE_RADIX_UNSOUND]);
}

copse_status copse_radix_device_upsert(copse_index *index, const void *keys, const void *values, uint64_t n,
                                       bool *out_done)
{
    upsert_call call = {.index = index};
    *out_done = false;
    if (!copse_radix_device_of(index)->host.root || n >> 31) return COPSE_OK;
    copse_status status = copse_radix_input_look(index, "keys", keys, n, &call.keys);
    if (status == COPSE_OK) status = copse_call_array(index, values, "values", &call.values_there);
    const bool promised = index->ctx->device_arrays;
    (void)copse_promise_end(COPSE_OK);
    if (status == COPSE_OK) status = copse_radix_mirror_ready(index);
    if (status != COPSE_OK) return status;
    call.a.tree = copse_radix_device_of(index)->view;
    call.a.n = n;
    status = copse_radix_input_bring(index, &call.keys);
    call.a.keys = call.keys.strings;
    if (status == COPSE_OK) status = arrays_make(&call, values);
    if (status == COPSE_OK) status = kernels_run(&call, out_done);
    copse_scratch_free(index->device, &call.scratch);
    copse_scratch_free(index->device, &call.keys.scratch);
    if (promised && !*out_done) copse_promise_begin(index);
    return status;
}

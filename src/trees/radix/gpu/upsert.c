/* Inserts into the radix tree on a device by kernels. A first one finds which keys are there; where all are, a second one writes their values,
 * of equal keys in the batch the last. Else insert.c adds the others first. */
#include "gpu/call.h"
#include "transfer/transfer.h"
#include "trees/radix/gpu/tree.h"

/* A batch of upserts on its way. */
typedef struct upsert_call {
    copse_index *index;
    uint32_t flags;
    copse_radix_input keys;
    bool values_there;
    copse_radix_upsert_arguments a;
    copse_scratch scratch;
} upsert_call;

static copse_status arrays_make(upsert_call *call, const void *values)
{
    copse_device *device = call->index->device;
    copse_radix_upsert_arguments *a = &call->a;
    const uint64_t bytes = call->values_there || !values ? 0 : a->n * a->tree.width;
    void *own = NULL;
    a->claim_bits = 5;
    while (UINT64_C(1) << a->claim_bits < 2 * a->n) a->claim_bits++;
    const copse_scratch_array arrays[] = {{(void **)&a->missing, 2 * sizeof *a->missing},
                                          {(void **)&a->claims, sizeof *a->claims << a->claim_bits},
                                          {(void **)&a->places, a->n * sizeof *a->places},
                                          {&own, bytes}};
    copse_status status = copse_scratch_take(device, "the update", arrays, 4, &call->scratch);
    if (status == COPSE_OK) /* missing, and the claims behind it */
        status =
            copse_device_fill(device, device->main, a->missing, 0,
                              (uint64_t)((char *)(a->claims + (UINT64_C(1) << a->claim_bits)) - (char *)a->missing));
    a->values = bytes ? own : values;
    a->type = call->index->value_type;
    if (status == COPSE_OK && bytes) status = copse_transfer_to_device(device, own, values, bytes);
    return status == COPSE_OK ? copse_radix_ahead_make(call->index, copse_radix_device_of(call->index), a->ahead)
                              : status;
}

/* Both kernels, and what they say. */
static copse_status kernels_run(upsert_call *call, bool *out_missing)
{
    copse_device *device = call->index->device;
    const copse_radix_kernels *kernels = copse_radix_kernels_on(device);
    const uint64_t blocks = (call->a.n + COPSE_RADIX_THREADS - 1) / COPSE_RADIX_THREADS;
    uint64_t words[COPSE_REPORT_WORDS];
    int report;
    copse_status status = copse_report_take(device, &report, &call->a.report);
    if (status != COPSE_OK) return status;
    call->a.keep = (call->flags & COPSE_INSERT_IF_ABSENT) != 0 || call->a.tree.width == 0;
    status = copse_device_launch(device, device->main, &kernels->claim, blocks, &call->a);
    if (status == COPSE_OK) status = copse_device_launch(device, device->main, &kernels->upsert, blocks, &call->a);
    const copse_status read = copse_report_read(device, report, words);
    if (status == COPSE_OK) status = read;
    if (status != COPSE_OK) return status;
    *out_missing = words[COPSE_RADIX_MISSING] != 0;
    if (!words[COPSE_RADIX_PRESENT]) call->a.places = NULL; /* all are missing */
    if (words[COPSE_RADIX_UNSOUND] == UINT64_MAX) return COPSE_OK;
    return copse_radix_input_fail(call->index, &call->keys, words[COPSE_RADIX_UNSOUND]);
}

static copse_status upsert_run(upsert_call *call, const void *values, uint64_t *out_inserted, bool *out_done)
{
    copse_index *index = call->index;
    bool missing = false;
    copse_status status = copse_radix_input_bring(index, &call->keys);
    call->a.keys = call->keys.strings;
    if (status == COPSE_OK) status = arrays_make(call, values);
    if (status == COPSE_OK) status = copse_progress(index->ctx, "inserting", call->a.n, call->a.n);
    if (status == COPSE_OK) status = kernels_run(call, &missing);
    if (status != COPSE_OK) return status;
    *out_done = missing == 0;
    *out_inserted = 0;
    return missing ? copse_radix_device_add(index, &call->a, call->flags, 0, out_inserted, out_done) : COPSE_OK;
}

copse_status copse_radix_device_upsert(copse_index *index, const void *keys, const void *values, uint64_t n,
                                       uint32_t flags, uint64_t *out_inserted, bool *out_done)
{
    upsert_call call = {.index = index, .flags = flags};
    *out_done = false;
    if (copse_radix_device_of(index)->marks.without || n >> 31) return COPSE_OK;
    copse_status status = copse_radix_input_look(index, "keys", keys, n, &call.keys);
    call.values_there = true;
    if (status == COPSE_OK && values) status = copse_call_array(index, values, "values", &call.values_there);
    const bool promised = index->ctx->device_arrays;
    (void)copse_promise_end(COPSE_OK);
    if (status == COPSE_OK) status = copse_radix_mirror_ready(index);
    if (status != COPSE_OK) return status;
    call.a.tree = copse_radix_device_of(index)->view;
    call.a.n = n;
    status = upsert_run(&call, values, out_inserted, out_done);
    copse_scratch_free(index->device, &call.scratch);
    copse_scratch_free(index->device, &call.keys.scratch);
    if (promised && !*out_done) copse_promise_begin(index);
    return status;
}

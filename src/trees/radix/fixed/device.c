/* Keys of fixed width on a device: finds, and arrays of keys as strings. */
#include "trees/radix/fixed/fixed.h"

#include "gpu/call.h"
#include "gpu/sort.h"
#include "transfer/transfer.h"
#include "trees/radix/gpu/tree.h"

/* --- finds ----------------------------------------------------------------------------------------------------------------- */

enum { FIND_KEYS, FIND_VALUES, FIND_FOUND, FIND_ARRAYS };

typedef struct fixed_find {
    const copse_index *index;
    copse_radix_fixed_find_arguments a;
} fixed_find;

/* Puts the finds of a chunk on the stream: copse_transfer_work. */
static copse_status find_launch(void *user, copse_stream *stream, uint64_t first, uint64_t n, void *const *memory)
{
    fixed_find *call = user;
    copse_device *device = call->index->device;
    call->a.keys = memory[FIND_KEYS];
    call->a.values = memory[FIND_VALUES];
    call->a.found = memory[FIND_FOUND];
    call->a.first = first;
    call->a.n = n;
    return copse_device_launch(device, stream, &copse_radix_kernels_on(device)->find_fixed,
                               (n + COPSE_RADIX_THREADS - 1) / COPSE_RADIX_THREADS, &call->a);
}

copse_status copse_radix_fixed_device_find(const copse_index *index, const void *keys, uint64_t n, void *values,
                                           uint8_t *found)
{
    const void *all[] = {keys, values, found};
    int report;
    copse_status status = copse_radix_mirror_ready(index);
    if (status != COPSE_OK) return status;
    fixed_find call = {.index = index, .a = {.tree = copse_radix_device_of(index)->view, .type = index->key_type}};
    copse_transfer_job job = {
        .device = index->device,
        .array = {{.memory = (void *)(uintptr_t)keys, .element = copse_type_size(index->key_type), .name = "keys"},
                  {.memory = values, .element = call.a.tree.width, .output = true, .name = "out_values"},
                  {.memory = found, .element = 1, .output = true, .name = "out_found"}},
        .arrays = FIND_ARRAYS,
        .n = n,
        .work = find_launch,
        .user = &call};
    status = copse_call_report_take(index, false, &report, &call.a.report);
    if (status != COPSE_OK) return status;
    status = copse_transfer_run(&job);
    return copse_call_report_end(index, report, status, copse_call_waits(index, all, FIND_ARRAYS), false);
}

/* --- arrays ----------------------------------------------------------------------------------------------------------------- */

copse_status copse_radix_fixed_encode(const copse_index *index, const char *name, const void *keys, uint64_t n,
                                      const copse_bytes *to)
{
    copse_device *device = index->device;
    uint64_t words[COPSE_REPORT_WORDS];
    int report;
    copse_radix_fixed_arguments a = {
        .type = index->key_type, .keys = (void *)(uintptr_t)keys, .n = n, .data = to->data, .offsets = to->offsets};
    copse_status status = copse_call_report_take(index, false, &report, &a.report);
    if (status != COPSE_OK) return status;
    status = copse_device_launch(device, device->main, &copse_radix_kernels_on(device)->encode,
                                 copse_device_blocks(device, n), &a);
    if (report < 0) return status;
    const copse_status read = copse_report_read(device, report, words);
    if (status != COPSE_OK || read != COPSE_OK) return status != COPSE_OK ? status : read;
    return words[COPSE_REPORT_NAN] == UINT64_MAX ? COPSE_OK : copse_fail_nan(index->ctx, name, words[COPSE_REPORT_NAN]);
}

copse_status copse_radix_fixed_decode(const copse_index *index, const copse_bytes *from, uint64_t n, void *keys)
{
    copse_device *device = index->device;
    const copse_radix_fixed_arguments a = {
        .type = index->key_type, .keys = keys, .n = n, .data = from->data, .offsets = from->offsets};
    if (n == 0) return COPSE_OK;
    return copse_device_launch(device, device->main, &copse_radix_kernels_on(device)->decode,
                               copse_device_blocks(device, n), &a);
}

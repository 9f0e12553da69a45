/* Byte strings of a call on the radix tree on a device: keys to kernels, entries to callers. */
#include "gpu/call.h"
#include "gpu/sort.h"
#include "primitives/primitives.h"
#include "transfer/transfer.h"
#include "trees/radix/gpu/tree.h"

static size_t offset_width(const copse_bytes *bytes)
{
    return bytes->offset_bits / 8;
}

/* --- input -------------------------------------------------------------------------------------------------------------- */

copse_status copse_radix_input_look(const copse_index *index, const char *name, const void *given, uint64_t n,
                                    copse_radix_input *out)
{
    *out = (copse_radix_input){.name = name, .n = n};
    copse_status status = copse_bytes_take_keys(index->ctx, name, given, n, &out->bytes);
    if (status == COPSE_OK) status = copse_call_array(index, out->bytes.offsets, name, &out->offsets_there);
    if (status == COPSE_OK && out->bytes.size)
        status = copse_call_array(index, out->bytes.data, name, &out->data_there);
    copse_byte_keys keys;
    if (status == COPSE_OK && !out->offsets_there) status = copse_byte_keys_take(index->ctx, name, given, n, &keys);
    return status;
}

int64_t copse_radix_input_offset(const copse_radix_input *input, uint64_t i)
{
    const copse_byte_keys keys = {.offsets = input->bytes.offsets, .wide = input->bytes.offset_bits == 64};
    return copse_byte_offset(&keys, i);
}

copse_status copse_radix_input_fail(const copse_index *index, const copse_radix_input *input, uint64_t position)
{
    return copse_error_at(
        copse_fail_argument(index->ctx, input->name,
                            "%s: the offsets of key %llu fall, pass %s->size, or are more than %u apart", input->name,
                            (unsigned long long)position, input->name, COPSE_LONGEST_KEY),
        input->name, position, 0);
}

copse_status copse_radix_input_bring(const copse_index *index, copse_radix_input *input)
{
    copse_device *device = index->device;
    const copse_bytes *bytes = &input->bytes;
    const size_t width = offset_width(bytes);
    copse_radix_strings *s = &input->strings;
    void *offsets = NULL, *data = NULL;
    *s = (copse_radix_strings){.high = (int64_t)bytes->size, .end = -1, .wide = width == 8};
    if (!input->offsets_there) {
        s->low = input->data_there ? 0 : copse_radix_input_offset(input, 0);
        s->high = input->data_there ? s->high : copse_radix_input_offset(input, input->n);
    }
    const bool aligned = input->offsets_there && (uintptr_t)bytes->offsets % width == 0;
    const uint64_t offset_bytes = (input->n + 1) * width, data_bytes = (uint64_t)(s->high - s->low);
    const copse_scratch_array arrays[] = {{&offsets, aligned ? 0 : offset_bytes},
                                          {&data, input->data_there ? 0 : data_bytes + 16}};
    copse_status status = copse_scratch_take(device, "the keys", arrays, 2, &input->scratch);
    if (status == COPSE_OK && !aligned)
        status = input->offsets_there ? copse_device_copy(device, device->main, offsets, bytes->offsets, offset_bytes)
                                      : copse_transfer_to_device(device, offsets, bytes->offsets, offset_bytes);
    if (status == COPSE_OK && !input->data_there && data_bytes)
        status = copse_transfer_to_device(device, data, (const char *)bytes->data + s->low, data_bytes);
    s->offsets = aligned ? bytes->offsets : offsets;
    s->data = input->data_there ? bytes->data : data;
    return status;
}

/* --- output ------------------------------------------------------------------------------------------------------------- */

copse_status copse_radix_output_look(const copse_index *index, void *keys, void *values, uint8_t *found,
                                     copse_radix_output *out)
{
    *out = (copse_radix_output){.values = values, .found = found};
    copse_status status = copse_byte_output_open(index->ctx, "out_keys", keys, &out->keys);
    if (status == COPSE_OK && out->keys.offsets)
        status = copse_call_array(index, out->keys.offsets, "out_keys", &out->offsets_there);
    if ((uintptr_t)out->keys.offsets % (out->keys.wide ? 8 : 4)) out->offsets_there = false; /* they are copied there */
    if (status == COPSE_OK && out->keys.data && out->keys.size)
        status = copse_call_array(index, out->keys.data, "out_keys", &out->data_there);
    if (status == COPSE_OK && values) status = copse_call_array(index, values, "out_values", &out->values_there);
    if (status == COPSE_OK && found) status = copse_call_array(index, found, "out_found", &out->found_there);
    return status;
}

copse_status copse_radix_output_close(const copse_index *index, copse_radix_output *out, uint64_t needed)
{
    copse_byte_output keys = out->keys;
    keys.needed = needed;
    keys.overflow = keys.offsets && !keys.wide && needed > INT32_MAX;
    keys.offsets = NULL; /* they have been written */
    return copse_byte_output_close(index->ctx, &keys);
}

/* An array of a caller as a kernel writes it: the caller's own, or one to be copied. */
typedef struct side {
    void *callers;
    void *there;
    uint64_t bytes; /* 0: not wanted, or the caller's own */
} side;

static side side_of(void *array, bool there, uint64_t bytes)
{
    return (side){array, there ? array : NULL, array && !there ? bytes : 0};
}

copse_status copse_radix_output_give(const copse_index *index, copse_radix_output *out,
                                     const copse_radix_leaves *leaves)
{
    copse_device *device = index->device;
    const uint64_t n = leaves->n;
    uint64_t needed = 0;
    copse_scratch scratch = {0};
    copse_status status =
        device->backend->primitives->scan_u64(device, device->main, leaves->sizes, leaves->sizes, n + 1);
    if (status == COPSE_OK) status = copse_device_read(device, device->main, &needed, leaves->sizes + n, sizeof needed);
    if (status != COPSE_OK) return status;
    const bool fits = out->keys.data && needed <= out->keys.size && (out->keys.wide || needed <= INT32_MAX);
    side sides[] = {side_of(out->keys.offsets, out->offsets_there, (n + 1) * (out->keys.wide ? 8 : 4)),
                    side_of(fits && needed ? out->keys.data : NULL, out->data_there, needed),
                    side_of(out->values, out->values_there, n * copse_radix_device_of(index)->view.width),
                    side_of(out->found, out->found_there, n)};
    copse_scratch_array arrays[4];
    for (unsigned i = 0; i < 4; i++) arrays[i] = (copse_scratch_array){&sides[i].there, sides[i].bytes};
    status = copse_scratch_take(device, "the entries", arrays, 4, &scratch);
    const copse_radix_give_arguments arguments = {.tree = copse_radix_device_of(index)->view,
                                                  .from = *leaves,
                                                  .offsets = sides[0].there,
                                                  .wide = out->keys.wide,
                                                  .data = sides[1].there,
                                                  .values = sides[2].there,
                                                  .found = sides[3].there};
    if (status == COPSE_OK)
        status = copse_device_launch(device, device->main, &copse_radix_kernels_on(device)->give,
                                     copse_device_blocks(device, n + 1), &arguments);
    for (unsigned i = 0; i < 4 && status == COPSE_OK; i++)
        if (sides[i].bytes) status = copse_transfer_to_host(device, sides[i].callers, sides[i].there, sides[i].bytes);
    if (status == COPSE_OK) status = copse_device_wait(device, device->main);
    copse_scratch_free(device, &scratch);
    return status == COPSE_OK ? copse_radix_output_close(index, out, needed) : status;
}

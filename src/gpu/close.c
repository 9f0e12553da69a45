/* Open and missing ends of ranges whose keys lie in device memory. */
#include "gpu/close.h"
#include "gpu/call.h"
#include "gpu/shared_kernels.h"
#include "gpu/sort.h"
#include "transfer/transfer.h"

/* The keys of one end as a kernel can read them: the caller's own in device memory, a copy of those in host memory. */
static copse_status end_open(const copse_index *index, const char *name, const void **keys, uint64_t bytes, void *room)
{
    bool on_device;
    if (!*keys) return COPSE_OK;
    copse_status status = copse_call_array(index, *keys, name, &on_device);
    if (status != COPSE_OK || on_device) return status;
    status = copse_transfer_to_device(index->device, room, *keys, bytes);
    *keys = room;
    return status;
}

copse_status copse_gpu_close(const copse_index *index, const copse_ranges *asked, copse_ranges *out,
                             copse_scratch *scratch)
{
    const size_t key = copse_type_size(index->key_type), value = copse_value_width(index->value_type);
    const uint64_t bytes = copse_memory_product(asked->n, key);
    copse_close_arguments arguments = {
        .lows = asked->lows, .highs = asked->highs, .n = asked->n, .key_type = index->key_type, .flags = asked->flags};
    const copse_scratch_array arrays[] = {{&arguments.out_lows, bytes}, {&arguments.out_highs, bytes}};
    copse_status status = copse_scratch_take(index->device, "the ends of ranges", arrays, 2, scratch);
    if (status == COPSE_OK) status = end_open(index, "lows", &arguments.lows, bytes, arguments.out_lows);
    if (status == COPSE_OK) status = end_open(index, "highs", &arguments.highs, bytes, arguments.out_highs);
    if (status == COPSE_OK)
        status =
            copse_device_launch(index->device, index->device->main,
                                &copse_shared_kernels_on(index->device, copse_width_pair(key, value))->close_ranges,
                                copse_device_blocks(index->device, asked->n), &arguments);
    *out = *asked;
    out->flags &= COPSE_RANGE_DESCENDING;
    out->lows = arguments.out_lows;
    out->highs = arguments.out_highs;
    return status;
}

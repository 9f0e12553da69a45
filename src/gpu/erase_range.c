/* Erasing by ranges on a device, through what every tree has there: the keys of the ranges are listed in device memory, in order, and
 * erased as a batch, all or none. */
#include "gpu/erase_range.h"
#include "device/device.h"

/* Lists the `total` keys of the ranges and erases them. */
static copse_status erase_listed(copse_index *index, const copse_ranges *ranges, copse_rows *rows, uint64_t total,
                                 uint64_t *out_erased)
{
    copse_device *device = index->device;
    const uint64_t bytes = total * copse_type_size(index->key_type);
    copse_status status = copse_device_alloc(device, device->main, bytes, "the keys of ranges", &rows->keys);
    if (status != COPSE_OK) return status;
    rows->capacity = total;
    status = index->calls->range(index, ranges, rows);
    if (status == COPSE_OK) status = index->calls->erase(index, rows->keys, total, out_erased);
    copse_device_free(device, device->main, rows->keys, bytes);
    return status;
}

copse_status copse_device_erase_range(copse_index *index, const copse_ranges *ranges, uint64_t *out_erased)
{
    const uint64_t size = copse_size(index);
    const size_t bytes = copse_memory_product(ranges->n + 1, sizeof(uint64_t));
    copse_rows rows = COPSE_ROWS_INIT;
    if (size == 0) return COPSE_OK;
    rows.offsets = copse_memory_alloc(index->ctx, bytes);
    if (!rows.offsets) return copse_fail_memory(index->ctx, bytes, "the ends of ranges");
    copse_status status = index->calls->range(index, ranges, &rows);
    const uint64_t total = status == COPSE_OK ? rows.offsets[ranges->n] : 0;
    if (total == size) {
        status = index->calls->build(index, NULL, NULL, 0);
        if (status == COPSE_OK) *out_erased = total;
    } else if (total) {
        status = erase_listed(index, ranges, &rows, total, out_erased);
    }
    copse_memory_free(index->ctx, rows.offsets, bytes);
    return status;
}

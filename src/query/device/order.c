/* Rows in the order of columns, on a device: a stable sort for each column, the last one first. */
#include "query/device/device.h"

#include "core/widths.h"
#include "primitives/primitives.h"

/* Bits up to the highest in which keys differ; 0: they are all alike. */
static copse_status differing_bits(copse_card_memory *memory, const uint64_t *keys, uint64_t n, unsigned *out)
{
    copse_device *device = memory->device;
    uint64_t *ends = NULL, both[2] = {0};
    copse_status status = copse_card_take(memory, 2, sizeof *ends, &ends);
    if (status == COPSE_OK) status = device->backend->primitives->min_u64(device, device->main, keys, n, ends);
    if (status == COPSE_OK) status = device->backend->primitives->max_u64(device, device->main, keys, n, ends + 1);
    if (status == COPSE_OK) status = copse_device_read(device, device->main, both, ends, sizeof both);
    *out = both[0] == both[1] ? 0 : 64u - (unsigned)__builtin_clzll(both[0] ^ both[1]);
    return status;
}

copse_status copse_card_sort(copse_card_memory *memory, uint64_t **keys, uint32_t **values, uint64_t n)
{
    copse_device *device = memory->device;
    uint64_t *other_keys = NULL;
    uint32_t *other_values = NULL;
    unsigned bits = 0, where = 0;
    if (n < 2) return COPSE_OK;
    copse_status status = differing_bits(memory, *keys, n, &bits);
    if (status != COPSE_OK || bits == 0) return status;
    status = copse_card_take(memory, n, sizeof *other_keys, &other_keys);
    if (status == COPSE_OK) status = copse_card_take(memory, n, sizeof *other_values, &other_values);
    if (status != COPSE_OK) return status;
    void *const both_keys[2] = {*keys, other_keys}, *const both_values[2] = {*values, other_values};
    status = device->backend->primitives->sort_pairs_between(device, device->main, copse_width_pair(8, 4), both_keys,
                                                             both_values, n, 0, bits, &where);
    *keys = both_keys[where];
    *values = both_values[where];
    return status;
}

static copse_status sort_by(const copse_table *table, const copse_sort_key *key, copse_card_key what,
                            copse_card_memory *memory, copse_card_rows *rows)
{
    copse_device *device = memory->device;
    copse_card_memory own = {.device = device};
    const copse_card_column column = copse_card_column_of(table, key->column);
    uint64_t mask = what == COPSE_CARD_VALID || column.width == 1 ? 1 : column.width == 8 ? UINT64_MAX : UINT32_MAX;
    copse_card_keys_arguments arguments = {
        .column = column, .rows = rows->rows, .n = rows->n, .flip = key->descending ? mask : 0, .what = what};
    copse_status status = copse_card_take(&own, rows->n, sizeof *arguments.keys, &arguments.keys);
    if (status == COPSE_OK) status = copse_card_take(&own, rows->n, sizeof *arguments.values, &arguments.values);
    if (status == COPSE_OK)
        status = copse_card_launch(device, &copse_card_kernels_on(device)->keys, rows->n, &arguments);
    if (status == COPSE_OK) status = copse_card_sort(&own, &arguments.keys, &arguments.values, rows->n);
    /* The list of rows that was is replaced: the caller's memory has the new one. */
    uint32_t *sorted = rows->rows;
    if (status == COPSE_OK && !sorted) status = copse_card_take(memory, rows->n, sizeof *sorted, &sorted);
    if (status == COPSE_OK)
        status = copse_device_copy(device, device->main, sorted, arguments.values, rows->n * sizeof *sorted);
    if (status == COPSE_OK) rows->rows = sorted;
    copse_card_release(&own);
    return status;
}

copse_status copse_card_sort_rows(const copse_table *table, const copse_sort_key *keys, uint32_t count,
                                  copse_card_memory *memory, copse_card_rows *rows)
{
    copse_status status = COPSE_OK;
    for (uint32_t i = count; status == COPSE_OK && rows->n > 1 && i-- > 0;) {
        status = sort_by(table, &keys[i], COPSE_CARD_CODE, memory, rows);
        if (status == COPSE_OK && table->columns[keys[i].column].nulls > 0)
            status = sort_by(table, &keys[i], COPSE_CARD_VALID, memory, rows);
    }
    return status;
}

copse_status copse_card_sort_column(const copse_table *table, uint32_t a, uint32_t b, copse_card_memory *memory,
                                    uint64_t **codes, copse_card_rows *out)
{
    copse_status status = copse_card_used(table, a, b, memory, out);
    copse_card_keys_arguments keys = {.column = copse_card_column_of(table, a), .rows = out->rows, .n = out->n};
    if (status == COPSE_OK) status = copse_card_take(memory, keys.n, sizeof *keys.keys, &keys.keys);
    if (status == COPSE_OK) status = copse_card_take(memory, keys.n, sizeof *keys.values, &keys.values);
    if (status == COPSE_OK)
        status = copse_card_launch(memory->device, &copse_card_kernels_on(memory->device)->keys, keys.n, &keys);
    if (status == COPSE_OK) status = copse_card_sort(memory, &keys.keys, &keys.values, keys.n);
    *codes = keys.keys;
    out->rows = keys.values;
    return status;
}

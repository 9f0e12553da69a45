/* Aggregates of a column for each group of a list of rows, in the order that run/float_sum.h draws: blocks, then blocks of blocks. */
#include "query/device/device.h"

#include "core/widths.h"
#include "primitives/primitives.h"

/* Where the blocks of each group begin, groups + 1 of them, and how many there are. */
static copse_status plan_blocks(copse_card_memory *memory, const uint64_t *starts, uint64_t groups, uint64_t **out,
                                uint64_t *out_blocks)
{
    copse_device *device = memory->device;
    copse_card_blocks_arguments arguments = {starts, groups, NULL};
    copse_status status = copse_card_take(memory, groups + 1, sizeof **out, &arguments.counts);
    if (status == COPSE_OK)
        status = copse_card_launch(device, &copse_card_kernels_on(device)->blocks, groups + 1, &arguments);
    *out = arguments.counts;
    if (status == COPSE_OK)
        status = device->backend->primitives->scan_u64(device, device->main, *out, *out, groups + 1);
    return status == COPSE_OK ? copse_device_read(device, device->main, out_blocks, *out + groups, sizeof *out_blocks)
                              : status;
}

/* Blocks, and blocks of those, until each group has one. */
static copse_status reduce(copse_card_reduce_arguments arguments, copse_card_memory *memory, copse_card_partial **out)
{
    copse_device *device = memory->device;
    copse_status status = COPSE_OK;
    *out = NULL;
    do {
        uint64_t *firsts = NULL;
        status = plan_blocks(memory, arguments.starts, arguments.groups, &firsts, &arguments.blocks);
        arguments.firsts = firsts;
        if (status == COPSE_OK) status = copse_card_take(memory, arguments.blocks, sizeof **out, &arguments.out);
        if (status == COPSE_OK)
            status =
                copse_card_launch(device, &copse_card_kernels_on(device)->reduce, arguments.blocks * 32, &arguments);
        arguments.in = *out = arguments.out;
        arguments.starts = firsts;
    } while (status == COPSE_OK && arguments.blocks > arguments.groups);
    return status;
}

copse_status copse_card_reduce(const copse_table *table, uint32_t column, const copse_card_rows *rows,
                               const uint64_t *starts, uint64_t groups, copse_card_memory *memory,
                               copse_card_partial **out)
{
    const copse_card_reduce_arguments arguments = {
        .column = copse_card_column_of(table, column), .rows = rows->rows, .starts = starts, .groups = groups};
    return reduce(arguments, memory, out);
}

copse_status copse_card_merge(const copse_card_partial *partials, uint64_t n, copse_card_memory *memory,
                              copse_card_partial **out)
{
    const uint64_t ends[2] = {0, n};
    uint64_t *starts = NULL;
    copse_status status = copse_card_take(memory, 2, sizeof *starts, &starts);
    if (status == COPSE_OK) status = copse_device_copy(memory->device, memory->device->main, starts, ends, sizeof ends);
    const copse_card_reduce_arguments arguments = {.in = partials, .starts = starts, .groups = 1};
    return status == COPSE_OK ? reduce(arguments, memory, out) : status;
}

/* ---- different values ---- */

/* Positions in the list of rows whose cell has a value, and their codes. */
static copse_status valued(const copse_table *table, uint32_t column, const copse_card_rows *rows,
                           copse_card_memory *memory, copse_card_rows *out, uint64_t **codes)
{
    copse_device *device = memory->device;
    const copse_card_kernels *kernels = copse_card_kernels_on(device);
    copse_card_valued_arguments arguments = {copse_card_column_of(table, column), rows->rows, rows->n, NULL, NULL};
    copse_status status = copse_card_take(memory, rows->n, 1, &arguments.flags);
    if (status == COPSE_OK) status = copse_card_take(memory, rows->n, sizeof **codes, codes);
    arguments.codes = *codes;
    if (status == COPSE_OK) status = copse_card_launch(device, &kernels->valued, rows->n, &arguments);
    return status == COPSE_OK ? copse_card_flagged(memory, arguments.flags, rows->n, out) : status;
}

/* Codes in their order, those of each group together: codes first, then, stably, groups. */
static copse_status order_codes(const uint64_t *starts, uint64_t groups, copse_card_memory *memory,
                                const copse_card_rows *positions, const uint64_t *codes,
                                copse_card_distinct_arguments *out)
{
    copse_device *device = memory->device;
    const copse_card_kernels *kernels = copse_card_kernels_on(device);
    uint64_t *sorted = NULL, *owners = NULL, *picked = NULL;
    uint32_t *order = positions->rows, *iota = NULL, *ordered = NULL;
    const uint64_t n = positions->n;
    copse_status status = copse_card_take(memory, n, sizeof *sorted, &sorted);
    const copse_card_pick_arguments first = {order, n, codes, sorted, order, NULL};
    if (status == COPSE_OK) status = copse_card_launch(device, &kernels->pick, n, &first);
    if (status == COPSE_OK) status = copse_card_sort(memory, &sorted, &order, n);
    if (status == COPSE_OK) status = copse_card_take(memory, n, sizeof *owners, &owners);
    if (status == COPSE_OK) status = copse_card_take(memory, n, sizeof *iota, &iota);
    const copse_card_owner_arguments owner = {starts, groups, order, n, owners, iota};
    if (status == COPSE_OK) status = copse_card_launch(device, &kernels->owner, n, &owner);
    ordered = iota;
    if (status == COPSE_OK) status = copse_card_sort(memory, &owners, &ordered, n);
    *out = (copse_card_distinct_arguments){owners, sorted, ordered, n, picked};
    return status;
}

copse_status copse_card_distinct(const copse_table *table, uint32_t column, const copse_card_rows *rows,
                                 const uint64_t *starts, uint64_t groups, copse_card_memory *memory, uint64_t **out)
{
    copse_device *device = memory->device;
    copse_card_memory own = {.device = device};
    copse_card_distinct_arguments arguments;
    copse_card_rows positions = {0};
    uint64_t *codes = NULL;
    copse_status status = copse_card_take(memory, groups, sizeof **out, out);
    if (status == COPSE_OK) status = copse_device_fill(device, device->main, *out, 0, groups * sizeof **out);
    if (status == COPSE_OK) status = valued(table, column, rows, &own, &positions, &codes);
    if (status == COPSE_OK && positions.n > 0) {
        status = order_codes(starts, groups, &own, &positions, codes, &arguments);
        arguments.counts = *out;
        if (status == COPSE_OK)
            status = copse_card_launch(device, &copse_card_kernels_on(device)->distinct, positions.n, &arguments);
    }
    copse_card_release(&own);
    return status;
}

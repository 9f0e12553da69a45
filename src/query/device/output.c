/* Rows that a device found, as a table or as numbers in host memory. */
#include "query/device/device.h"

/* ---- cells ---- */

static void count_nulls(copse_stored_column *column, uint64_t n)
{
    const uint8_t *bits = column->validity.data;
    uint64_t valid = 0;
    for (uint64_t i = 0; i < n / 8; i++) valid += (uint64_t)__builtin_popcount(bits[i]);
    for (uint64_t i = n / 8 * 8; i < n; i++) valid += bits[i / 8] >> (i % 8) & 1u;
    column->nulls = n - valid;
}

static copse_status read_numbers(const copse_ctx *ctx, copse_card_memory *memory, const copse_card_rows *rows,
                                 copse_row_list *out)
{
    copse_device *device = memory->device;
    copse_status status = copse_buffer_reserve(ctx, &out->memory, rows->n + 1, sizeof(uint32_t), "the rows of a query");
    if (status != COPSE_OK) return status;
    out->n = rows->n;
    for (uint64_t i = 0; !rows->rows && i < rows->n; i++) copse_row_list_rows(out)[i] = (uint32_t)i;
    return rows->rows
               ? copse_device_read(device, device->main, out->memory.data, rows->rows, rows->n * sizeof(uint32_t))
               : COPSE_OK;
}

static copse_status fetch_strings(const copse_table *table, uint32_t column, const copse_card_rows *rows,
                                  copse_card_memory *memory, copse_stored_column *out)
{
    copse_row_list numbers = {0};
    copse_status status = read_numbers(table->ctx, memory, rows, &numbers);
    if (status == COPSE_OK)
        status =
            copse_column_gather(table->ctx, out, 0, &table->columns[column], copse_row_list_rows(&numbers), rows->n);
    copse_buffer_free(table->ctx, &numbers.memory);
    return status;
}

copse_status copse_card_fetch(const copse_table *table, uint32_t column, const copse_card_rows *rows,
                              copse_card_memory *memory, copse_stored_column *out)
{
    copse_device *device = memory->device;
    copse_card_memory own = {.device = device};
    copse_card_gather_arguments gather = {
        .column = copse_card_column_of(table, column), .rows = rows->rows, .n = rows->n};
    if (copse_column_is_text(&table->columns[column])) return fetch_strings(table, column, rows, memory, out);
    copse_status status = copse_column_reserve(table->ctx, out, rows->n, 0);
    if (status != COPSE_OK || rows->n == 0) return status;
    status = copse_card_take(&own, rows->n, out->width, &gather.out);
    if (status == COPSE_OK)
        status = copse_card_take(&own, rows->n / 32 + 1, sizeof *gather.out_validity, &gather.out_validity);
    if (status == COPSE_OK)
        status = copse_card_launch(device, &copse_card_kernels_on(device)->gather, rows->n, &gather);
    if (status == COPSE_OK)
        status = copse_device_read(device, device->main, out->cells.data, gather.out, rows->n * out->width);
    if (status == COPSE_OK)
        status = copse_device_read(device, device->main, out->validity.data, gather.out_validity, (rows->n + 7) / 8);
    if (status == COPSE_OK) count_nulls(out, rows->n);
    copse_card_release(&own);
    return status;
}

/* ---- rows ---- */

/* The rows of a query in its order, without those that the limit leaves out. */
static copse_status ordered(copse_query *query, copse_card_memory *memory, copse_card_rows *out)
{
    copse_sort_key keys[COPSE_MOST_ORDERS];
    uint64_t first = 0, count = 0;
    copse_status status = copse_output_order(query, query->table, keys);
    if (status == COPSE_OK) status = copse_card_select(query, memory, out);
    if (status == COPSE_OK) status = copse_card_sort_rows(query->table, keys, query->order_count, memory, out);
    if (status != COPSE_OK) return status;
    copse_output_cut(query, out->n, &first, &count);
    if (first > 0 && !out->rows) { /* all rows, from some row on: as a list */
        copse_card_keys_arguments list = {.column = copse_card_column_of(query->table, 0), .n = out->n};
        list.what = COPSE_CARD_VALID;
        status = copse_card_take(memory, out->n, sizeof *list.keys, &list.keys);
        if (status == COPSE_OK) status = copse_card_take(memory, out->n, sizeof *list.values, &list.values);
        if (status == COPSE_OK)
            status = copse_card_launch(memory->device, &copse_card_kernels_on(memory->device)->keys, out->n, &list);
        out->rows = list.values;
    }
    if (first > 0 && status == COPSE_OK) out->rows += first;
    out->n = count;
    return status;
}

copse_status copse_card_run_row_numbers(copse_query *query, copse_row_list *out)
{
    copse_card_memory memory = {.device = copse_card_of(query->table)};
    copse_card_rows rows = {0};
    copse_status status = ordered(query, &memory, &rows);
    if (status == COPSE_OK) status = read_numbers(query->ctx, &memory, &rows, out);
    copse_card_release(&memory);
    return status;
}

static copse_status fill_columns(copse_query *query, copse_card_memory *memory, const copse_card_rows *rows,
                                 copse_table *out)
{
    const uint32_t *selected = query->selected_count ? query->selected.data : NULL;
    const copse_table *table = query->table;
    copse_status status = COPSE_OK;
    for (uint32_t i = 0; status == COPSE_OK && i < out->column_count; i++) {
        const uint32_t at = selected ? selected[i] : i;
        status = copse_column_open(table->ctx, table->columns[at].name, table->columns[at].type, &out->columns[i]);
        if (status == COPSE_OK) status = copse_card_fetch(table, at, rows, memory, &out->columns[i]);
    }
    return status;
}

copse_status copse_card_run_rows(copse_query *query, copse_table **out)
{
    copse_card_memory memory = {.device = copse_card_of(query->table)};
    copse_card_rows rows = {0};
    copse_table *made = NULL;
    copse_status status = ordered(query, &memory, &rows);
    if (status == COPSE_OK)
        status = copse_table_begin(query->ctx,
                                   query->selected_count ? query->selected_count : query->table->column_count, &made);
    if (status == COPSE_OK) status = fill_columns(query, &memory, &rows, made);
    copse_card_release(&memory);
    if (status == COPSE_OK) {
        made->slots = made->live = rows.n;
        *out = made;
    } else if (made) {
        copse_table_close(made);
    }
    return status;
}

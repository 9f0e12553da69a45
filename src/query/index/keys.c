/* Cells on their way into an index, without those that are NULL. */
#include "query/index/index.h"

copse_type copse_key_type(const copse_stored_column *column)
{
    return column->type == COPSE_BOOL ? COPSE_U32 : (copse_type)column->type;
}

void copse_key_batch_free(const copse_ctx *ctx, copse_key_batch *batch)
{
    copse_buffer_free(ctx, &batch->cells);
    copse_buffer_free(ctx, &batch->text);
    copse_buffer_free(ctx, &batch->values);
    copse_buffer_free(ctx, &batch->positions);
}

const void *copse_key_batch_keys(const copse_key_batch *batch)
{
    return batch->type == COPSE_BYTES ? (const void *)&batch->bytes : batch->cells.data;
}

static uint64_t row_at(copse_cells cells, uint64_t i)
{
    return cells.rows ? cells.rows[i] : i;
}

static bool has_entry(copse_cells keys, const copse_cells *sums, uint64_t i)
{
    return copse_cell_valid(keys.column, row_at(keys, i)) &&
           (!sums || copse_cell_valid(sums->column, row_at(*sums, i)));
}

static uint64_t text_bytes(copse_cells keys, uint64_t n)
{
    return copse_column_text_bytes(keys.column, keys.rows, n);
}

static copse_status reserve(const copse_ctx *ctx, copse_key_batch *batch, copse_cells keys, const copse_cells *sums,
                            uint64_t n)
{
    bool text = batch->type == COPSE_BYTES;
    size_t width = text ? sizeof(int64_t) : copse_type_size(batch->type);
    copse_status status = copse_buffer_reserve(ctx, &batch->cells, n + 1, width, "keys of an index");
    if (status == COPSE_OK && text)
        status = copse_buffer_reserve(ctx, &batch->text, text_bytes(keys, n) + 1, 1, "keys of an index");
    if (status == COPSE_OK)
        status =
            copse_buffer_reserve(ctx, &batch->values, n + 1,
                                 sums ? (sums->column->width == 1 ? 4 : sums->column->width) : 4, "values of an index");
    if (status == COPSE_OK)
        status = copse_buffer_reserve(ctx, &batch->positions, n + 1, sizeof(uint32_t), "keys of an index");
    return status;
}

static void put_cell(void *to, uint64_t at, const copse_stored_column *column, uint64_t row)
{
    if (column->width == 1)
        ((uint32_t *)to)[at] = ((const uint8_t *)column->cells.data)[row];
    else if (column->width == 4)
        ((uint32_t *)to)[at] = ((const uint32_t *)column->cells.data)[row];
    else
        ((uint64_t *)to)[at] = ((const uint64_t *)column->cells.data)[row];
}

static copse_status put_text(const copse_ctx *ctx, copse_key_batch *batch, const copse_stored_column *column,
                             uint64_t row)
{
    int64_t *offsets = batch->cells.data;
    copse_slice text = copse_cell_text(column, row);
    if (text.length > COPSE_LONGEST_KEY)
        return copse_fail(ctx, COPSE_ERR_UNSUPPORTED,
                          "row %llu of column \"%.40s\" has %zu bytes; an index takes strings of up to %u",
                          (unsigned long long)row, column->name, text.length, COPSE_LONGEST_KEY);
    if (text.length > 0) memcpy((char *)batch->text.data + offsets[batch->n], text.start, text.length);
    offsets[batch->n + 1] = offsets[batch->n] + (int64_t)text.length;
    return COPSE_OK;
}

copse_status copse_key_batch_fill(const copse_ctx *ctx, copse_key_batch *batch, copse_cells keys,
                                  const copse_cells *sums, const uint32_t *rows, uint64_t n)
{
    batch->type = copse_key_type(keys.column);
    batch->n = 0;
    copse_status status = reserve(ctx, batch, keys, sums, n);
    if (status != COPSE_OK) return status;
    bool text = batch->type == COPSE_BYTES;
    if (text) ((int64_t *)batch->cells.data)[0] = 0;
    for (uint64_t i = 0; i < n; i++) {
        if (!has_entry(keys, sums, i)) continue;
        uint64_t row = row_at(keys, i);
        if (!text)
            put_cell(batch->cells.data, batch->n, keys.column, row);
        else if (put_text(ctx, batch, keys.column, row) != COPSE_OK)
            return COPSE_ERR_UNSUPPORTED;
        if (sums)
            put_cell(batch->values.data, batch->n, sums->column, row_at(*sums, i));
        else
            ((uint32_t *)batch->values.data)[batch->n] = rows ? rows[i] : (uint32_t)i;
        ((uint32_t *)batch->positions.data)[batch->n++] = (uint32_t)i;
    }
    if (text) {
        copse_bytes bytes = COPSE_BYTES_INIT(batch->text.data, (uint64_t)((int64_t *)batch->cells.data)[batch->n],
                                             batch->cells.data, 64);
        batch->bytes = bytes;
    }
    return COPSE_OK;
}

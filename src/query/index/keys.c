/* Cells on their way into an index, without those that are NULL. */
#include "query/index/index.h"
#include "query/table/poll.h"

copse_type copse_key_type(const copse_stored_column *column)
{
    return column->type == COPSE_BOOL ? COPSE_U32 : (copse_type)column->type;
}

copse_type copse_index_key_type(const copse_table *table, const copse_stored_index *index)
{
    return copse_index_is_composite(index) ? COPSE_BYTES : copse_key_type(&table->columns[index->columns[0]]);
}

copse_type copse_index_value_type(const copse_table *table, const copse_stored_index *index)
{
    if (index->sums == COPSE_NO_COLUMN) return COPSE_U32;
    return copse_key_type(&table->columns[index->sums]); /* bools become numbers, as in keys */
}

copse_key_source copse_index_source(const copse_table *table, const copse_stored_index *index, const uint32_t *rows)
{
    copse_key_source source = {.count = index->column_count};
    for (uint32_t i = 0; i < index->column_count; i++)
        source.parts[i] = (copse_cells){&table->columns[index->columns[i]], rows};
    return source;
}

copse_key_source copse_key_source_of(const copse_stored_column *column, const uint32_t *rows)
{
    return (copse_key_source){.parts = {{column, rows}}, .count = 1};
}

const char *copse_key_show(const copse_key_source *keys, uint64_t i, char shown[COPSE_SHOWN_KEY])
{
    char cell[COPSE_SHOWN_CELL];
    size_t at = 0;
    for (uint32_t part = 0; part < keys->count && at < COPSE_SHOWN_KEY - COPSE_SHOWN_CELL; part++) {
        const copse_cells *cells = &keys->parts[part];
        at += (size_t)snprintf(shown + at, COPSE_SHOWN_KEY - at, "%s%s", part ? ", " : "",
                               copse_cell_show(cells->column, cells->rows ? cells->rows[i] : i, cell));
    }
    return shown;
}

const char *copse_index_show(const copse_table *table, const copse_stored_index *index, char shown[COPSE_SHOWN_KEY])
{
    size_t at = 0;
    for (uint32_t i = 0; i < index->column_count && at < COPSE_SHOWN_KEY - 44; i++)
        at += (size_t)snprintf(shown + at, COPSE_SHOWN_KEY - at, "%s%.40s", i ? ", " : "",
                               table->columns[index->columns[i]].name);
    return shown;
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

static bool has_entry(const copse_key_source *keys, const copse_cells *sums, uint64_t i)
{
    return (keys->count > 1 || copse_cell_valid(keys->parts[0].column, row_at(keys->parts[0], i))) &&
           (!sums || copse_cell_valid(sums->column, row_at(*sums, i)));
}

static uint64_t text_bytes(const copse_key_source *keys, uint64_t n)
{
    uint64_t bytes = 0;
    if (keys->count == 1) return copse_column_text_bytes(keys->parts[0].column, keys->parts[0].rows, n);
    for (uint64_t i = 0; i < n; i++)
        for (uint32_t part = 0; part < keys->count; part++)
            bytes += copse_composite_room(keys->parts[part].column, row_at(keys->parts[part], i));
    return bytes;
}

static copse_status reserve(const copse_ctx *ctx, copse_key_batch *batch, const copse_key_source *keys,
                            const copse_cells *sums, uint64_t n)
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

static copse_status put_bytes(const copse_ctx *ctx, copse_key_batch *batch, const copse_key_source *keys, uint64_t i)
{
    const copse_cells *first = &keys->parts[0];
    int64_t *offsets = batch->cells.data;
    unsigned char *begin = (unsigned char *)batch->text.data + offsets[batch->n], *end = begin;
    if (keys->count == 1) {
        copse_slice text = copse_cell_text(first->column, row_at(*first, i));
        if (text.length > 0) memcpy(begin, text.start, text.length);
        end = begin + text.length;
    }
    for (uint32_t part = 0; keys->count > 1 && part < keys->count; part++)
        end = copse_composite_cell(end, keys->parts[part].column, row_at(keys->parts[part], i));
    if ((size_t)(end - begin) > COPSE_LONGEST_KEY)
        return copse_fail(ctx, COPSE_ERR_UNSUPPORTED,
                          "row %llu of column \"%.40s\" has a key of %zu bytes; an index takes up to %u",
                          (unsigned long long)row_at(*first, i), first->column ? first->column->name : "",
                          (size_t)(end - begin), COPSE_LONGEST_KEY);
    offsets[batch->n + 1] = offsets[batch->n] + (end - begin);
    return COPSE_OK;
}

copse_status copse_key_batch_fill(const copse_ctx *ctx, copse_key_batch *batch, const copse_key_source *keys,
                                  const copse_cells *sums, const uint32_t *rows, uint64_t n)
{
    batch->type = keys->count > 1 ? COPSE_BYTES : copse_key_type(keys->parts[0].column);
    batch->n = 0;
    for (uint32_t i = 0; i < keys->count; i++)
        if (keys->parts[i].column) copse_cells_touch(keys->parts[i].column, keys->parts[i].rows, n);
    if (sums) copse_cells_touch(sums->column, sums->rows, n);
    copse_status status = reserve(ctx, batch, keys, sums, n);
    if (status != COPSE_OK) return status;
    bool text = batch->type == COPSE_BYTES;
    if (text) ((int64_t *)batch->cells.data)[0] = 0;
    for (uint64_t i = 0; i < n; i++) {
        status = copse_poll(ctx, "making keys", i, n);
        if (status != COPSE_OK) return status;
        if (!has_entry(keys, sums, i)) continue;
        if (!text)
            put_cell(batch->cells.data, batch->n, keys->parts[0].column, row_at(keys->parts[0], i));
        else if (put_bytes(ctx, batch, keys, i) != COPSE_OK)
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

/* Columns: their memory, and cells that go in and out. */
#include "query/table/poll.h"
#include "query/table/table.h"

uint32_t copse_column_width(uint32_t type)
{
    if (type == COPSE_BOOL) return 1;
    if (type == COPSE_STRING) return sizeof(copse_text);
    return type == COPSE_NONE ? 0 : (uint32_t)copse_type_size((copse_type)type);
}

const char *copse_column_type_name(uint32_t type)
{
    if (type == COPSE_BOOL) return "bool";
    return type == COPSE_STRING ? "string" : copse_type_name((copse_type)type);
}

copse_status copse_column_open(const copse_ctx *ctx, const char *name, uint32_t type, copse_stored_column *out)
{
    *out = (copse_stored_column){.type = type, .width = copse_column_width(type)};
    size_t bytes = strlen(name) + 1;
    out->name = copse_memory_alloc(ctx, bytes);
    if (!out->name) return copse_no_memory(ctx, bytes, "the name of a column");
    out->name_bytes = bytes;
    memcpy(out->name, name, bytes);
    return COPSE_OK;
}

void copse_column_close(const copse_ctx *ctx, copse_stored_column *column)
{
    copse_memory_free(ctx, column->name, column->name_bytes);
    if (!column->file) {
        copse_buffer_free(ctx, &column->cells);
        copse_buffer_free(ctx, &column->validity);
        copse_buffer_free(ctx, &column->text);
    }
    *column = (copse_stored_column){0};
}

copse_status copse_column_reserve(const copse_ctx *ctx, copse_stored_column *column, uint64_t slots, uint64_t text)
{
    copse_status status = copse_buffer_reserve(ctx, &column->cells, slots, column->width, "a column");
    if (status == COPSE_OK) status = copse_buffer_reserve(ctx, &column->validity, slots / 8 + 1, 1, "a column");
    if (status == COPSE_OK && text > 0)
        status = copse_buffer_reserve(ctx, &column->text, column->text_used + text, 1, "the text of a column");
    return status;
}

static void put_text(copse_stored_column *column, uint64_t row, copse_slice slice)
{
    if (slice.length > 0) memcpy((char *)column->text.data + column->text_used, slice.start, slice.length);
    ((copse_text *)column->cells.data)[row] = copse_text_at(column->text_used, slice.length);
    column->text_used += slice.length;
}

static void put_null(copse_stored_column *column, uint64_t row, bool slot_is_new)
{
    if (slot_is_new || copse_bit(&column->validity, row)) column->nulls++;
    copse_bit_set(&column->validity, row, false);
    memset((char *)column->cells.data + row * column->width, 0, column->width);
}

void copse_column_put(copse_stored_column *column, uint64_t row, const copse_stored_column *from, uint64_t from_row,
                      bool slot_is_new)
{
    if (from_row == COPSE_ROW_NONE || !copse_cell_valid(from, from_row)) {
        put_null(column, row, slot_is_new);
        return;
    }
    if (!slot_is_new && !copse_bit(&column->validity, row)) column->nulls--;
    copse_bit_set(&column->validity, row, true);
    if (copse_column_is_text(column))
        put_text(column, row, copse_cell_text(from, from_row));
    else
        memcpy((char *)column->cells.data + row * column->width, (char *)from->cells.data + from_row * column->width,
               column->width);
}

uint64_t copse_column_text_bytes(const copse_stored_column *column, const uint32_t *rows, uint64_t n)
{
    uint64_t bytes = 0;
    if (!copse_column_is_text(column)) return 0;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t row = rows ? rows[i] : i;
        if (row != COPSE_ROW_NONE) bytes += copse_cell_text(column, row).length;
    }
    return bytes;
}

#define GATHER(type)                                                                                                   \
    do {                                                                                                               \
        type *to = (type *)column->cells.data + at;                                                                    \
        const type *cells = from->cells.data;                                                                          \
        for (uint64_t i = 0; i < n; i++) to[i] = cells[rows[i]];                                                       \
    } while (0)

/* Numbers without a NULL, into whole bytes of validity: false, and nothing is done, where they are not so. */
static bool gather_plain(copse_stored_column *column, uint64_t at, const copse_stored_column *from,
                         const uint32_t *rows, uint64_t n)
{
    bool missing = !rows || copse_column_is_text(from) || from->nulls > 0 || at % 8 != 0;
    for (uint64_t i = 0; !missing && i < n; i++) missing = rows[i] == COPSE_ROW_NONE;
    if (missing) return false;
    if (column->width == 8)
        GATHER(uint64_t);
    else if (column->width == 4)
        GATHER(uint32_t);
    else
        GATHER(uint8_t);
    memset((uint8_t *)column->validity.data + at / 8, 0xFF, n / 8);
    for (uint64_t i = n / 8 * 8; i < n; i++) copse_bit_set(&column->validity, at + i, true);
    return true;
}

copse_status copse_column_gather(const copse_ctx *ctx, copse_stored_column *column, uint64_t at,
                                 const copse_stored_column *from, const uint32_t *rows, uint64_t n)
{
    copse_cells_touch(from, rows, n);
    copse_status status = copse_column_reserve(ctx, column, at + n, copse_column_text_bytes(from, rows, n));
    if (status != COPSE_OK) return status;
    for (uint64_t begin = 0; status == COPSE_OK && begin < n; begin += COPSE_POLL_ROWS) {
        const uint64_t end = n - begin < COPSE_POLL_ROWS ? n : begin + COPSE_POLL_ROWS;
        if (!gather_plain(column, at + begin, from, rows ? rows + begin : NULL, end - begin))
            for (uint64_t i = begin; i < end; i++) copse_column_put(column, at + i, from, rows ? rows[i] : i, true);
        if (end < n) status = copse_progress(ctx, "copying cells", end, n);
    }
    return status;
}

static void put_number(copse_stored_column *column, uint64_t row, copse_value value)
{
    void *cell = (char *)column->cells.data + row * column->width;
    if (column->type == COPSE_F32) {
        float number = (float)value.as.f64;
        memcpy(cell, &number, sizeof number);
    } else if (column->width == 8) {
        memcpy(cell, &value.as, 8);
    } else if (column->width == 4) {
        uint32_t low = (uint32_t)value.as.u64;
        memcpy(cell, &low, sizeof low);
    } else {
        *(uint8_t *)cell = (uint8_t)value.as.u64;
    }
}

copse_status copse_column_push(const copse_ctx *ctx, copse_stored_column *column, uint64_t row, copse_value value)
{
    bool text = value.type == COPSE_STRING;
    copse_status status = copse_column_reserve(ctx, column, row + 1, text ? value.size : 0);
    if (status != COPSE_OK) return status;
    if (value.type == 0) {
        put_null(column, row, true);
        return COPSE_OK;
    }
    copse_bit_set(&column->validity, row, true);
    if (text)
        put_text(column, row, (copse_slice){(const unsigned char *)value.as.text, value.size});
    else
        put_number(column, row, value);
    return COPSE_OK;
}

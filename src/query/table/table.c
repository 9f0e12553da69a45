/* Tables from arrays, and what they hold. */
#include "query/table/table.h"

#include "io/cells.h"
#include "query/device/placed.h"
#include "query/index/index.h"

#include <math.h>

copse_status copse_table_check(const copse_table *table, const char *call)
{
    return table ? COPSE_OK : copse_fail_argument(NULL, "table", "%s: table is NULL", call);
}

copse_status copse_table_changeable(const copse_table *table, const char *call)
{
    if (!table->file) return COPSE_OK;
    return copse_fail(table->ctx, COPSE_ERR_UNSUPPORTED,
                      "%s: the table is an open file, which is not changed; copse_table_load takes it into memory",
                      call);
}

copse_status copse_table_begin(copse_ctx *ctx, uint32_t column_count, copse_table **out)
{
    copse_table *table = copse_memory_alloc(ctx, sizeof *table);
    if (!table) return copse_no_memory(ctx, sizeof *table, "a table");
    *table = (copse_table){.ctx = ctx, .column_count = column_count, .placement = COPSE_PLACEMENT_CPU};
    size_t bytes = copse_memory_product(column_count, sizeof *table->columns);
    table->columns = copse_memory_alloc(ctx, bytes);
    if (!table->columns) {
        copse_memory_free(ctx, table, sizeof *table);
        return copse_no_memory(ctx, bytes, "the columns of a table");
    }
    memset(table->columns, 0, bytes);
    copse_ctx_hold(ctx);
    *out = table;
    return COPSE_OK;
}

void copse_table_close(copse_table *table)
{
    copse_ctx *ctx = table->ctx;
    copse_indexes_close(table);
    copse_image_free(table->image);
    for (uint32_t i = 0; i < table->column_count; i++) copse_column_close(ctx, &table->columns[i]);
    copse_memory_free(ctx, table->columns, copse_memory_product(table->column_count, sizeof *table->columns));
    if (!table->file) copse_buffer_free(ctx, &table->alive);
    copse_table_file_close(table->file);
    copse_memory_free(ctx, table, sizeof *table);
    copse_ctx_release(ctx);
}

void copse_table_free(copse_table *table)
{
    if (table) copse_table_close(table);
}

/* ---- from arrays ---- */

static bool is_given(const copse_column *column, uint64_t row)
{
    return !column->validity || (column->validity[row / 8] >> (row % 8) & 1);
}

static copse_status check_column(const copse_ctx *ctx, const copse_column *columns, uint32_t at, uint64_t rows)
{
    const copse_column *column = &columns[at];
    if (!column->name || !*column->name)
        return copse_fail_argument(ctx, "columns", "columns[%u]: its name is NULL or empty", at);
    for (uint32_t i = 0; i < at; i++)
        if (strcmp(columns[i].name, column->name) == 0)
            return copse_fail_argument(ctx, "columns", "columns %u and %u are both named \"%.40s\"", i, at,
                                       column->name);
    if (copse_column_width(column->type) == 0)
        return copse_fail(ctx, COPSE_ERR_TYPE, "column \"%.40s\": %u is not the type of a column", column->name,
                          column->type);
    if (rows > 0 && !column->data)
        return copse_fail_argument(ctx, "columns", "column \"%.40s\": data is NULL, but there are rows", column->name);
    return COPSE_OK;
}

static copse_status take_texts(const copse_ctx *ctx, copse_stored_column *out, const copse_column *given, uint64_t rows)
{
    copse_byte_keys keys;
    uint64_t bytes = 0;
    copse_status status = copse_byte_keys_take(ctx, "data", given->data, rows, &keys);
    if (status != COPSE_OK) return copse_fail(ctx, status, "column \"%.40s\": %s", given->name, copse_last_error(ctx));
    for (uint64_t i = 0; i < rows; i++)
        if (is_given(given, i)) bytes += copse_byte_key(&keys, i).length;
    status = copse_column_reserve(ctx, out, rows, bytes);
    for (uint64_t i = 0; status == COPSE_OK && i < rows; i++) {
        copse_slice text = copse_byte_key(&keys, i);
        bool valid = is_given(given, i);
        status = copse_column_push(ctx, out, i,
                                   valid ? copse_value_text((const char *)text.start, (uint32_t)text.length)
                                         : copse_value_null());
    }
    return status;
}

/* Of cells that have just been copied. */
static copse_status check_cells(const copse_ctx *ctx, const copse_stored_column *column, uint64_t rows)
{
    for (uint64_t i = 0; copse_column_is_float(column) && i < rows; i++)
        if (isnan(copse_cell_float(column, i)))
            return copse_fail(ctx, COPSE_ERR_NAN,
                              "row %llu of column \"%.40s\" is NaN, which has no place in an order; leave it NULL",
                              (unsigned long long)i, column->name);
    const uint8_t *bools = column->cells.data;
    for (uint64_t i = 0; column->type == COPSE_BOOL && i < rows; i++)
        if (bools[i] > 1)
            return copse_fail_argument(ctx, "columns", "row %llu of column \"%.40s\" is %u; a bool is 0 or 1",
                                       (unsigned long long)i, column->name, bools[i]);
    return COPSE_OK;
}

/* The arrays may lie in device memory. */
static copse_status take_cells(copse_ctx *ctx, copse_stored_column *out, const copse_column *given, uint64_t rows)
{
    copse_status status = copse_column_reserve(ctx, out, rows, 0);
    if (status != COPSE_OK) return status;
    memset(out->validity.data, 0xFF, rows / 8 + 1);
    status = copse_take_array(ctx, out->cells.data, given->data, rows * out->width);
    if (status == COPSE_OK && given->validity)
        status = copse_take_array(ctx, out->validity.data, given->validity, (rows + 7) / 8);
    if (status != COPSE_OK) return status;
    for (uint64_t i = 0; given->validity && i < rows; i++) {
        if (copse_bit(&out->validity, i)) continue;
        memset((char *)out->cells.data + i * out->width, 0, out->width);
        out->nulls++;
    }
    return check_cells(ctx, out, rows);
}

copse_status copse_table_create(copse_ctx *ctx, const copse_column *columns, uint32_t column_count, uint64_t rows,
                                copse_table **out_table)
{
    copse_table *table = NULL;
    if (!ctx) return copse_fail_argument(NULL, "ctx", "copse_table_create: ctx is NULL");
    if (!out_table) return copse_fail_argument(ctx, "out_table", "copse_table_create: out_table is NULL");
    *out_table = NULL;
    if (!columns || column_count == 0)
        return copse_fail_argument(ctx, "columns", "copse_table_create: a table needs at least one column");
    if (rows > COPSE_MOST_ROWS)
        return copse_fail_argument(ctx, "rows", "copse_table_create: a table holds at most %u rows", COPSE_MOST_ROWS);
    copse_status status = copse_table_begin(ctx, column_count, &table);
    if (status != COPSE_OK) return status;
    for (uint32_t i = 0; status == COPSE_OK && i < column_count; i++) {
        copse_stored_column *column = &table->columns[i];
        status = check_column(ctx, columns, i, rows);
        if (status == COPSE_OK) status = copse_column_open(ctx, columns[i].name, columns[i].type, column);
        if (status == COPSE_OK && rows > 0)
            status = copse_column_is_text(column) ? take_texts(ctx, column, &columns[i], rows)
                                                  : take_cells(ctx, column, &columns[i], rows);
    }
    table->slots = table->live = rows;
    if (status == COPSE_OK)
        *out_table = table;
    else
        copse_table_close(table);
    return status;
}

/* ---- where it is ---- */

static copse_status check_place(const copse_table *table, copse_placement placement)
{
    if (placement != COPSE_PLACEMENT_CPU && placement != COPSE_PLACEMENT_GPU && placement != COPSE_PLACEMENT_EMULATED)
        return copse_fail_argument(table->ctx, "placement",
                                   "copse_table_place: a table is on the cpu, a gpu or emulated, not %s",
                                   copse_placement_name(placement));
    if (placement != COPSE_PLACEMENT_CPU && table->ctx->device_arrays)
        return copse_fail(table->ctx, COPSE_ERR_UNSUPPORTED,
                          "copse_table_place: the context takes all arrays for device memory "
                          "(COPSE_CTX_DEVICE_ARRAYS), and tables have some in host memory");
    return COPSE_OK;
}

copse_status copse_table_place(copse_table *table, copse_placement placement)
{
    copse_table_image *image = NULL;
    if (copse_table_check(table, "copse_table_place") != COPSE_OK) return COPSE_ERR_ARGUMENT;
    copse_status status = check_place(table, placement);
    if (status == COPSE_OK) status = copse_image_make(table, placement, &image);
    if (status != COPSE_OK) return status;
    status = copse_indexes_move(table, placement);
    if (status != COPSE_OK) {
        copse_image_free(image);
        return status;
    }
    copse_image_free(table->image);
    table->image = image;
    table->placement = placement;
    return COPSE_OK;
}

copse_placement copse_table_placement(const copse_table *table)
{
    return table ? table->placement : COPSE_PLACEMENT_AUTO;
}

/* ---- asking ---- */

uint64_t copse_table_rows(const copse_table *table)
{
    return table ? table->live : 0;
}

uint64_t copse_table_end(const copse_table *table)
{
    return table ? table->slots : 0;
}

int copse_table_has_row(const copse_table *table, uint64_t row)
{
    return table && row < table->slots && copse_row_lives(table, row);
}

uint32_t copse_table_columns(const copse_table *table)
{
    return table ? table->column_count : 0;
}

const char *copse_table_column_name(const copse_table *table, uint32_t column)
{
    return table && column < table->column_count ? table->columns[column].name : NULL;
}

uint32_t copse_table_column_type(const copse_table *table, uint32_t column)
{
    return table && column < table->column_count ? table->columns[column].type : 0;
}

static copse_status no_such_column(const copse_table *table, const char *call, const char *name)
{
    char list[256] = "";
    size_t at = 0;
    const char *near = NULL, *side = strstr(call, ": "); /* "copse_join: left" */
    char prefix[32] = "";
    if (side) snprintf(prefix, sizeof prefix, "the %s table: ", side + 2);
    for (uint32_t i = 0; i < table->column_count; i++) {
        const char *own = table->columns[i].name, *pair[2] = {own, near ? near : own};
        near = copse_nearest(name, pair, near ? 2 : 1);
        if (at < sizeof list - 56) at += (size_t)snprintf(list + at, sizeof list - at, "%s%.40s", i ? ", " : "", own);
    }
    if (near)
        return copse_fail_argument(table->ctx, "column", "%sthere is no column \"%.40s\"; did you mean \"%.40s\"?",
                                   prefix, name, near);
    return copse_fail_argument(table->ctx, "column", "%sthere is no column \"%.40s\"; the columns are %s", prefix, name,
                               list);
}

copse_status copse_table_column(const copse_table *table, const char *call, const char *name, uint32_t *out)
{
    if (!name) return copse_fail_argument(table->ctx, "column", "%s: the name of a column is NULL", call);
    for (uint32_t i = 0; i < table->column_count; i++)
        if (strcmp(table->columns[i].name, name) == 0) {
            *out = i;
            return COPSE_OK;
        }
    return no_such_column(table, call, name);
}

copse_status copse_table_find_column(const copse_table *table, const char *name, uint32_t *out_column)
{
    const char *call = "copse_table_find_column";
    if (copse_table_check(table, call) != COPSE_OK) return COPSE_ERR_ARGUMENT;
    if (!out_column) return copse_fail_argument(table->ctx, "out_column", "%s: out_column is NULL", call);
    return copse_table_column(table, call, name, out_column);
}

copse_status copse_table_get(const copse_table *table, uint64_t row, uint32_t column, copse_value *out_value)
{
    const char *call = "copse_table_get";
    if (copse_table_check(table, call) != COPSE_OK) return COPSE_ERR_ARGUMENT;
    if (!out_value) return copse_fail_argument(table->ctx, "out_value", "%s: out_value is NULL", call);
    if (!copse_table_has_row(table, row))
        return copse_fail_argument(table->ctx, "row", "%s: there is no row %llu", call, (unsigned long long)row);
    if (column >= table->column_count)
        return copse_fail_argument(table->ctx, "column", "%s: there is no column %u, but %u of them", call, column,
                                   table->column_count);
    const uint32_t one = (uint32_t)row;
    copse_cells_touch(&table->columns[column], &one, 1);
    *out_value = copse_cell_value(&table->columns[column], row);
    return copse_table_sound(table);
}

void copse_table_live_rows(const copse_table *table, uint32_t *out)
{
    uint64_t n = 0;
    for (uint64_t i = 0; i < table->slots; i++)
        if (copse_row_lives(table, i)) out[n++] = (uint32_t)i;
}

const char *copse_cell_show(const copse_stored_column *column, uint64_t row, char shown[COPSE_SHOWN_CELL])
{
    char text[COPSE_CELL_TEXT] = "";
    if (!copse_cell_valid(column, row)) {
        snprintf(shown, COPSE_SHOWN_CELL, "NULL");
    } else if (copse_column_is_text(column)) {
        copse_slice slice = copse_cell_text(column, row);
        snprintf(shown, COPSE_SHOWN_CELL, "\"%.*s\"", (int)(slice.length < 40 ? slice.length : 40), slice.start);
    } else if (column->type == COPSE_BOOL) {
        snprintf(shown, COPSE_SHOWN_CELL, "%s", copse_cell_code(column, row) ? "true" : "false");
    } else {
        copse_cell_format((copse_type)column->type, (const char *)column->cells.data + row * column->width, text);
        snprintf(shown, COPSE_SHOWN_CELL, "%s", text);
    }
    return shown;
}

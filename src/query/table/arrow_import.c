/* Tables from Arrow: its arrays become the arrays that copse_table_create takes. */
#include "query/table/table.h"

typedef struct import_column {
    copse_column column;
    copse_bytes bytes;
    copse_buffer validity;
    copse_buffer data; /* where the cells had to be rewritten */
} import_column;

typedef struct importing {
    copse_ctx *ctx;
    const struct ArrowSchema *schema;
    const struct ArrowArray *array;
    copse_buffer columns; /* import_column */
} importing;

/* ---- types ---- */

#define NANOSECONDS (-1)

/* Microseconds of one unit of a timestamp, or NANOSECONDS; 0 where it is none that fits. */
static int64_t timestamp_unit(const char *format)
{
    if (strncmp(format, "ts", 2) != 0 || !format[2] || format[3] != ':') return 0;
    return format[2] == 's'   ? 1000000
           : format[2] == 'm' ? 1000
           : format[2] == 'u' ? 1
           : format[2] == 'n' ? NANOSECONDS
                              : 0;
}

static uint32_t type_of(const char *format)
{
    static const struct {
        const char *format;
        uint32_t type;
    } known[] = {{"i", COPSE_I32},    {"I", COPSE_U32},    {"l", COPSE_I64},    {"L", COPSE_U64},
                 {"f", COPSE_F32},    {"g", COPSE_F64},    {"b", COPSE_BOOL},   {"tdD", COPSE_DATE},
                 {"u", COPSE_STRING}, {"U", COPSE_STRING}, {"z", COPSE_STRING}, {"Z", COPSE_STRING}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(format, known[i].format) == 0) return known[i].type;
    return timestamp_unit(format) != 0 ? COPSE_TIMESTAMP : 0;
}

static bool arrow_bit(const uint8_t *bits, uint64_t at)
{
    return bits[at / 8] >> (at % 8) & 1;
}

/* ---- one column ---- */

static copse_status take_validity(const importing *im, const struct ArrowArray *child, uint64_t first, uint64_t rows,
                                  import_column *out)
{
    const uint8_t *bits = child->buffers[0];
    if (!bits || child->null_count == 0) return COPSE_OK;
    copse_status status = copse_buffer_reserve(im->ctx, &out->validity, rows / 8 + 1, 1, "a column of Arrow");
    for (uint64_t i = 0; status == COPSE_OK && i < rows; i++)
        copse_bit_set(&out->validity, i, arrow_bit(bits, first + i));
    out->column.validity = out->validity.data;
    return status;
}

static copse_status take_bools(const importing *im, const uint8_t *bits, uint64_t first, uint64_t rows,
                               import_column *out)
{
    copse_status status = copse_buffer_reserve(im->ctx, &out->data, rows + 1, 1, "a column of Arrow");
    for (uint64_t i = 0; status == COPSE_OK && i < rows; i++)
        ((uint8_t *)out->data.data)[i] = arrow_bit(bits, first + i);
    out->column.data = out->data.data;
    return status;
}

static copse_status take_times(const importing *im, const int64_t *times, int64_t unit, uint64_t rows,
                               import_column *out)
{
    copse_status status = copse_buffer_reserve(im->ctx, &out->data, rows + 1, sizeof *times, "a column of Arrow");
    int64_t *to = out->data.data;
    for (uint64_t i = 0; status == COPSE_OK && i < rows; i++) {
        bool valid = !out->column.validity || arrow_bit(out->column.validity, i);
        to[i] = 0;
        if (valid && unit == NANOSECONDS) {
            to[i] = times[i] / 1000;
            if (times[i] % 1000 == 0) continue;
            return copse_fail(im->ctx, COPSE_ERR_TYPE, "row %llu of column \"%.40s\" is finer than a microsecond",
                              (unsigned long long)i, out->column.name);
        }
        if (valid && __builtin_mul_overflow(times[i], unit, &to[i]))
            return copse_fail(im->ctx, COPSE_ERR_OVERFLOW, "row %llu of column \"%.40s\" is too far from 1970",
                              (unsigned long long)i, out->column.name);
    }
    out->column.data = out->data.data;
    return status;
}

static void take_text(const struct ArrowArray *child, const char *format, uint64_t first, uint64_t rows,
                      import_column *out)
{
    bool wide = *format == 'U' || *format == 'Z';
    const char *offsets = (const char *)child->buffers[1] + first * (wide ? 8 : 4);
    int32_t end32 = 0;
    int64_t end = 0;
    if (wide)
        memcpy(&end, offsets + rows * 8, sizeof end);
    else
        memcpy(&end32, offsets + rows * 4, sizeof end32);
    copse_bytes bytes = COPSE_BYTES_INIT((void *)(uintptr_t)child->buffers[2], (uint64_t)(wide ? end : end32),
                                         (void *)(uintptr_t)offsets, wide ? 64 : 32);
    out->bytes = bytes;
    out->column.data = &out->bytes;
}

static copse_status take_column(const importing *im, int64_t at, import_column *out)
{
    const struct ArrowSchema *schema = im->schema->children[at];
    const struct ArrowArray *child = im->array->children[at];
    uint64_t rows = (uint64_t)im->array->length, first = (uint64_t)(im->array->offset + child->offset);
    out->column.name = schema->name;
    out->column.type = type_of(schema->format);
    if (out->column.type == 0 || schema->dictionary)
        return copse_fail(
            im->ctx, COPSE_ERR_TYPE, "column \"%.40s\" has the Arrow type \"%.40s\"%s, which tables do not have",
            schema->name ? schema->name : "", schema->format, schema->dictionary ? " in a dictionary" : "");
    if (child->length + child->offset < im->array->length + im->array->offset)
        return copse_fail_argument(im->ctx, "array", "column \"%.40s\" has fewer rows than the table", schema->name);
    if (rows == 0) return COPSE_OK;
    copse_status status = take_validity(im, child, first, rows, out);
    if (status != COPSE_OK) return status;
    int64_t unit = timestamp_unit(schema->format);
    const char *cells = child->buffers[1];
    if (out->column.type == COPSE_STRING)
        take_text(child, schema->format, first, rows, out);
    else if (out->column.type == COPSE_BOOL)
        return take_bools(im, child->buffers[1], first, rows, out);
    else if (unit != 0 && unit != 1)
        return take_times(im, (const int64_t *)child->buffers[1] + first, unit, rows, out);
    else
        out->column.data = cells + first * copse_column_width(out->column.type);
    return COPSE_OK;
}

/* ---- all of them ---- */

/* Where nobody has counted them, too. */
static bool has_null_rows(const struct ArrowArray *array)
{
    const uint8_t *bits = array->null_count < 0 && array->n_buffers > 0 ? array->buffers[0] : NULL;
    for (int64_t i = 0; bits && i < array->length; i++)
        if (!arrow_bit(bits, (uint64_t)(array->offset + i))) return true;
    return array->null_count > 0;
}

static copse_status check(const importing *im, const char *call)
{
    if (!im->schema || !im->schema->release || !im->array || !im->array->release)
        return copse_fail_argument(im->ctx, "array", "%s: schema or array is NULL, or was released", call);
    if (strcmp(im->schema->format, "+s") != 0 || im->schema->n_children != im->array->n_children ||
        im->schema->n_children == 0)
        return copse_fail_argument(im->ctx, "schema", "%s: not a struct array (\"+s\") with columns", call);
    if (im->array->length < 0 || im->array->offset < 0)
        return copse_fail_argument(im->ctx, "array", "%s: a length or an offset below 0", call);
    if (has_null_rows(im->array))
        return copse_fail_argument(im->ctx, "array", "%s: rows as a whole cannot be NULL", call);
    return COPSE_OK;
}

static copse_status import(importing *im, copse_table **out)
{
    uint32_t n = (uint32_t)im->schema->n_children;
    copse_buffer given = {0};
    copse_status status = copse_buffer_reserve(im->ctx, &im->columns, n, sizeof(import_column), "columns of Arrow");
    if (status != COPSE_OK) return status;
    import_column *columns = im->columns.data;
    memset(columns, 0, n * sizeof *columns);
    status = copse_buffer_reserve(im->ctx, &given, n, sizeof(copse_column), "columns of Arrow");
    for (uint32_t i = 0; status == COPSE_OK && i < n; i++) {
        status = take_column(im, i, &columns[i]);
        ((copse_column *)given.data)[i] = columns[i].column;
    }
    if (status == COPSE_OK) status = copse_table_create(im->ctx, given.data, n, (uint64_t)im->array->length, out);
    for (uint32_t i = 0; i < n; i++) {
        copse_buffer_free(im->ctx, &columns[i].validity);
        copse_buffer_free(im->ctx, &columns[i].data);
    }
    copse_buffer_free(im->ctx, &given);
    copse_buffer_free(im->ctx, &im->columns);
    return status;
}

copse_status copse_table_from_arrow(copse_ctx *ctx, struct ArrowSchema *schema, struct ArrowArray *array,
                                    copse_table **out_table)
{
    const char *call = "copse_table_from_arrow";
    importing im = {.ctx = ctx, .schema = schema, .array = array};
    if (!ctx) return copse_fail_argument(NULL, "ctx", "%s: ctx is NULL", call);
    if (!out_table) return copse_fail_argument(ctx, "out_table", "%s: out_table is NULL", call);
    *out_table = NULL;
    copse_status status = check(&im, call);
    if (status == COPSE_OK) status = import(&im, out_table);
    if (status != COPSE_OK) return status;
    schema->release(schema);
    array->release(array);
    return COPSE_OK;
}

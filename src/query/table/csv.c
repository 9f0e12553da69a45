/* A table from CSV. */
#include "query/table/csv.h"

#include "core/structs.h"

#include <errno.h>

#define STEP_ROWS 4096u /* between two looks at memory and at the user */

typedef copse_csv_loading loading;

/* ---- bytes ---- */

static size_t read_more(copse_csv_source *source, void *buffer, size_t size, int *out_error)
{
    if (source->options.read) return source->options.read(source->options.read_user, buffer, size, out_error);
    size_t n = fread(buffer, 1, size, source->file);
    if (n == 0 && ferror(source->file)) *out_error = errno ? errno : EIO;
    return n;
}

static size_t read_bytes(void *user, void *buffer, size_t size, int *out_error)
{
    copse_csv_source *source = user;
    size_t left = source->head_size - source->head_used, n = left < size ? left : size;
    if (left == 0) return read_more(source, buffer, size, out_error);
    memcpy(buffer, (char *)source->head.data + source->head_used, n);
    source->head_used += n;
    return n;
}

static copse_status read_head(copse_csv_source *source)
{
    int error = 0;
    copse_status status =
        copse_buffer_reserve(source->ctx, &source->head, COPSE_CSV_HEAD, 1, "the beginning of a file");
    while (status == COPSE_OK && source->head_size < COPSE_CSV_HEAD) {
        size_t got = read_more(source, (char *)source->head.data + source->head_size,
                               COPSE_CSV_HEAD - source->head_size, &error);
        if (error)
            return copse_fail(source->ctx, COPSE_ERR_IO, "%s: reading failed: %s", source->path, strerror(error));
        if (got == 0) break;
        source->head_size += got;
    }
    const unsigned char *head = source->head.data;
    if (status == COPSE_OK && source->head_size >= 2 && head[0] == 0x1F && head[1] == 0x8B)
        return copse_fail(source->ctx, COPSE_ERR_UNSUPPORTED,
                          "%s: this is gzip data; give a function that reads it in options->read", source->path);
    return status;
}

static copse_status open_source(copse_csv_source *source)
{
    char problem[256];
    const copse_table_csv_options *options = &source->options;
    if (options->flags & ~(COPSE_CSV_NO_HEADER | COPSE_CSV_SKIP_BAD))
        return copse_fail_argument(source->ctx, "options", "copse_table_read_csv: options->flags has an unknown bit");
    if (options->date_format &&
        !copse_date_format_check(options->date_format, &source->date_has_time, problem, sizeof problem))
        return copse_fail_argument(source->ctx, "options", "copse_table_read_csv: the date format \"%.60s\": %s",
                                   options->date_format, problem);
    if (!copse_nulls_add(&source->nulls, options->nulls))
        return copse_fail_argument(source->ctx, "options", "copse_table_read_csv: more than %d words for NULL",
                                   COPSE_NULLS);
    if (options->read) return COPSE_OK;
    source->file = fopen(source->path, "rb");
    if (source->file) return COPSE_OK;
    return copse_fail(source->ctx, COPSE_ERR_IO, "%s: %s", source->path, strerror(errno));
}

/* ---- cells ---- */

static copse_status refuse(loading *l, size_t column, const char *problem)
{
    const copse_csv_column *own = (const copse_csv_column *)l->source->columns.data + column;
    char advice[160] = "";
    if (own->guessed)
        snprintf(advice, sizeof advice, "; type %s was guessed from the first %llu rows and can be given",
                 copse_column_type_name(own->type), (unsigned long long)l->source->sampled);
    copse_csv_bad_cell(l->csv, column, problem);
    return copse_fail(l->source->ctx, COPSE_ERR_FORMAT, "%s: %s%s", l->source->path, copse_csv_error(l->csv), advice);
}

static copse_status take_text(loading *l, size_t column, const copse_csv_cell *cell)
{
    copse_stored_column *stored = &l->table->columns[column];
    if (cell->length > COPSE_LONGEST_KEY) return refuse(l, column, "is longer than 65,536 bytes");
    if (cell->length <= stored->text.bytes - stored->text_used && stored->text.data) {
        ((copse_text *)stored->cells.data)[l->rows] = copse_text_at(stored->text_used, cell->length);
        memcpy((char *)stored->text.data + stored->text_used, cell->text, cell->length);
        stored->text_used += cell->length;
        return COPSE_OK;
    }
    return copse_column_push(l->source->ctx, stored, l->rows, copse_value_text(cell->text, (uint32_t)cell->length));
}

static copse_status take_cell(loading *l, size_t column, const copse_csv_cell *cell)
{
    const copse_csv_column *own = (const copse_csv_column *)l->source->columns.data + column;
    copse_stored_column *stored = &l->table->columns[column];
    void *out = (char *)stored->cells.data + l->rows * stored->width;
    copse_type type = (copse_type)own->type;
    if (copse_csv_may_be_null(l->source, cell) && copse_csv_is_null(l->source, own->type, cell))
        return copse_column_push(l->source->ctx, stored, l->rows, copse_value_null());
    if (own->type == COPSE_STRING) return take_text(l, column, cell);
    if (own->type == COPSE_BOOL) {
        if (!copse_csv_is_bool(cell->text, cell->length, out)) {
            bool digit = cell->length == 1 && (*cell->text == '0' || *cell->text == '1');
            if (!digit) return refuse(l, column, "is not true or false");
            *(uint8_t *)out = (uint8_t)(*cell->text - '0');
        }
    } else {
        copse_cell_error error = copse_cell_parse_as(&own->form, type, cell->text, cell->length, out);
        if (error != COPSE_CELL_OK && error != COPSE_CELL_FINE)
            return refuse(l, column, copse_cell_problem(type, error));
        if (copse_column_is_float(stored) && copse_cell_is_nan(type, out))
            return refuse(l, column, "has no place in an order; nulls can say that it stands for NULL");
    }
    return COPSE_OK; /* make_room has said that the cell has a value */
}

/* Cells of a row that is not taken after all. */
static void take_back(loading *l, size_t columns, const uint64_t *text_used)
{
    for (size_t i = 0; i < columns; i++) {
        copse_stored_column *stored = &l->table->columns[i];
        if (copse_bit(&stored->validity, l->rows)) continue;
        stored->nulls--;
        copse_bit_set(&stored->validity, l->rows, true);
    }
    for (size_t i = 0; i < l->source->column_count; i++) l->table->columns[i].text_used = text_used[i];
}

static copse_status take_row(loading *l, const copse_csv_cell *cells)
{
    copse_status status = COPSE_OK;
    uint64_t *text_used = l->text_used.data;
    size_t i = 0;
    for (size_t c = 0; c < l->source->column_count; c++) text_used[c] = l->table->columns[c].text_used;
    for (; status == COPSE_OK && i < l->source->column_count; i++) status = take_cell(l, i, &cells[i]);
    if (status == COPSE_OK) l->rows++;
    if (status != COPSE_ERR_FORMAT || !(l->source->options.flags & COPSE_CSV_SKIP_BAD)) return status;
    take_back(l, i - 1, text_used);
    l->skipped++;
    return COPSE_OK;
}

/* ---- rows ---- */

/* The next rows have values; those of NULLs are taken back one by one. */
static void expect_values(copse_stored_column *column, uint64_t row)
{
    uint8_t *bytes = (uint8_t *)column->validity.data + row / 8;
    *bytes |= (uint8_t)(0xFFu << (row % 8));
    memset(bytes + 1, 0xFF, (row + STEP_ROWS) / 8 - row / 8);
}

static copse_status make_room(loading *l)
{
    copse_status status =
        l->is_piece ? COPSE_OK : copse_progress(l->source->ctx, "reading", copse_csv_position(l->csv), 0);
    if (l->rows + STEP_ROWS > COPSE_MOST_ROWS)
        return copse_fail(l->source->ctx, COPSE_ERR_UNSUPPORTED, "%s: more rows than a table holds", l->source->path);
    for (uint32_t i = 0; status == COPSE_OK && i < l->table->column_count; i++)
        status = copse_column_reserve(l->source->ctx, &l->table->columns[i], l->rows + STEP_ROWS + 1, 0);
    for (uint32_t i = 0; status == COPSE_OK && i < l->table->column_count; i++)
        expect_values(&l->table->columns[i], l->rows);
    return status;
}

static copse_status refuse_record(loading *l)
{
    bool skip = (l->source->options.flags & COPSE_CSV_SKIP_BAD) != 0;
    copse_status status =
        copse_fail(l->source->ctx, COPSE_ERR_FORMAT, "%s: %s", l->source->path, copse_csv_error(l->csv));
    if (!skip || !copse_csv_skip(l->csv)) return status;
    l->skipped++;
    return COPSE_OK;
}

copse_status copse_csv_loading_rows(loading *l, uint64_t stop)
{
    copse_status status = COPSE_OK;
    for (uint64_t seen = 0; status == COPSE_OK; seen++) {
        copse_csv_cell *cells = NULL;
        size_t count = 0;
        uint64_t at = 0;
        if (seen % STEP_ROWS == 0) status = make_room(l);
        if (status != COPSE_OK) break;
        copse_status read = stop == UINT64_MAX ? COPSE_OK : copse_csv_next_position(l->csv, &at);
        if (read == COPSE_OK && stop != UINT64_MAX && at >= stop) break;
        if (read == COPSE_OK) read = copse_csv_next(l->csv, &cells, &count);
        if (read == COPSE_OK && count == 0) break;
        if (read != COPSE_OK && read != COPSE_ERR_FORMAT)
            return copse_fail(l->source->ctx, read, "%s: %s", l->source->path, copse_csv_error(l->csv));
        status = read == COPSE_OK ? take_row(l, cells) : refuse_record(l);
    }
    l->table->slots = l->table->live = l->rows;
    return status;
}

copse_status copse_csv_loading_open(copse_csv_source *source, loading *out)
{
    const copse_csv_column *columns = source->columns.data;
    *out = (loading){.source = source};
    copse_status status = copse_table_begin(source->ctx, (uint32_t)source->column_count, &out->table);
    if (status == COPSE_OK)
        status = copse_buffer_reserve(source->ctx, &out->text_used, source->column_count, sizeof(uint64_t),
                                      "reading a file");
    for (size_t i = 0; status == COPSE_OK && i < source->column_count; i++)
        status = copse_column_open(source->ctx, columns[i].name, columns[i].type, &out->table->columns[i]);
    return status;
}

void copse_csv_loading_close(loading *l)
{
    if (!l->source) return;
    copse_buffer_free(l->source->ctx, &l->text_used);
    if (l->table) copse_table_close(l->table);
    l->table = NULL;
}

/* From the beginning to the end, on this thread. */
static copse_status read_in_order(loading *l)
{
    char message[512];
    copse_csv_source *source = l->source;
    copse_status status = copse_csv_open(read_bytes, source, &source->csv, &l->csv, message, sizeof message);
    if (status != COPSE_OK) return copse_fail(source->ctx, status, "%s: %s", source->path, message);
    status = copse_csv_loading_rows(l, UINT64_MAX);
    copse_csv_close(l->csv);
    l->csv = NULL;
    return status;
}

static copse_status load(copse_csv_source *source, copse_table **out, uint64_t *out_skipped)
{
    loading l;
    bool done = false;
    copse_status status = copse_csv_loading_open(source, &l);
    if (status == COPSE_OK) status = copse_csv_read_threads(&l, &done);
    if (status == COPSE_OK && !done) {
        copse_csv_loading_close(&l); /* with the rows that came before what was wrong */
        status = copse_csv_loading_open(source, &l);
        if (status == COPSE_OK) status = read_in_order(&l);
    }
    if (status == COPSE_OK) {
        *out = l.table;
        l.table = NULL;
        if (out_skipped) *out_skipped = l.skipped;
    }
    copse_csv_loading_close(&l);
    return status;
}

copse_status copse_table_read_csv(copse_ctx *ctx, const char *path, const copse_table_csv_options *options,
                                  copse_table **out_table, uint64_t *out_skipped)
{
    const char *call = "copse_table_read_csv";
    static const copse_wide_member wide[] = {
        COPSE_WIDE(copse_table_csv_options, types),       COPSE_WIDE(copse_table_csv_options, date_format),
        COPSE_WIDE(copse_table_csv_options, nulls),       COPSE_WIDE(copse_table_csv_options, read),
        COPSE_WIDE(copse_table_csv_options, read_user),   COPSE_WIDE(copse_table_csv_options, remark),
        COPSE_WIDE(copse_table_csv_options, remark_user), {0, 0}};
    copse_csv_source source = {.ctx = ctx, .path = path, .options = COPSE_TABLE_CSV_OPTIONS_INIT};
    if (!ctx) return copse_fail_argument(NULL, "ctx", "%s: ctx is NULL", call);
    if (!path) return copse_fail_argument(ctx, "path", "%s: path is NULL", call);
    if (!out_table) return copse_fail_argument(ctx, "out_table", "%s: out_table is NULL", call);
    *out_table = NULL;
    copse_status status =
        options ? copse_struct_take(ctx, call, "options", options, &source.options, sizeof source.options, wide)
                : COPSE_OK;
    if (status == COPSE_OK) status = open_source(&source);
    source.csv.allocator = ctx->allocator;
    if (status == COPSE_OK) status = read_head(&source);
    if (status == COPSE_OK) status = copse_csv_find_layout(&source);
    if (status == COPSE_OK) status = load(&source, out_table, out_skipped);
    copse_csv_close(source.reader);
    copse_buffer_free(ctx, &source.columns);
    copse_buffer_free(ctx, &source.head);
    if (source.file) (void)fclose(source.file);
    return status;
}

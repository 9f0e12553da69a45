/* What the first rows of a CSV file show: the delimiter, types, decimal commas. */
#include "query/table/csv.h"

#include <ctype.h>

static copse_csv_column *columns_of(const copse_csv_source *source)
{
    return source->columns.data;
}

bool copse_csv_is_bool(const char *text, size_t length, uint8_t *out)
{
    static const char *const words[] = {"false", "true"};
    for (uint8_t i = 0; i < 2; i++) {
        size_t at = 0;
        while (at < length && words[i][at] && tolower((unsigned char)text[at]) == words[i][at]) at++;
        *out = i;
        if (at == length && !words[i][at] && length > 0) return true;
    }
    return false;
}

bool copse_csv_is_null(const copse_csv_source *source, uint32_t type, const copse_csv_cell *cell)
{
    if (type == COPSE_STRING && cell->quoted) return false;
    return copse_nulls_has(&source->nulls, cell->text, cell->length);
}

/* ---- types that are given ---- */

static copse_status parse_type(const copse_csv_source *source, const char *text, size_t length, uint32_t *out)
{
    char name[16] = "";
    copse_type type = 0;
    if (length < sizeof name) memcpy(name, text, length);
    if (strcmp(name, "string") == 0 || strcmp(name, "text") == 0)
        *out = COPSE_STRING;
    else if (strcmp(name, "bool") == 0)
        *out = COPSE_BOOL;
    else if (copse_type_parse(name, &type) == COPSE_OK && copse_type_size(type) > 0)
        *out = type;
    else
        return copse_fail_argument(source->ctx, "types",
                                   "\"%.*s\" is not a type of a column: i32, i64, u32, u64, f32, f64, bool, date, "
                                   "timestamp or string",
                                   (int)(length < 40 ? length : 40), text);
    return COPSE_OK;
}

static copse_csv_column *find_column(const copse_csv_source *source, const char *name, size_t length)
{
    for (size_t i = 0; i < source->column_count; i++) {
        copse_csv_column *column = &columns_of(source)[i];
        if (strlen(column->name) == length && memcmp(column->name, name, length) == 0) return column;
    }
    return NULL;
}

static copse_status take_types(const copse_csv_source *source)
{
    const char *at = source->options.types;
    while (at && *at) {
        size_t length = strcspn(at, ",");
        const char *equals = memchr(at, '=', length);
        copse_csv_column *column = equals ? find_column(source, at, (size_t)(equals - at)) : NULL;
        if (!column)
            return copse_fail_argument(source->ctx, "types",
                                       "%s: types has \"%.*s\", which is not COLUMN=TYPE of a column", source->path,
                                       (int)(length < 60 ? length : 60), at);
        copse_status status = parse_type(source, equals + 1, length - (size_t)(equals + 1 - at), &column->type);
        if (status != COPSE_OK) return status;
        column->guessed = false;
        at += length + (at[length] == ',');
    }
    return COPSE_OK;
}

/* ---- types that are guessed ---- */

/* Dates that are not guessed, since nobody knows the day from the month: they make a column of strings and a remark. */
static const char *const other_dates[] = {"%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y"};
#define OTHER_DATES (sizeof other_dates / sizeof *other_dates)

typedef struct trial {
    copse_guess point, comma;
    uint64_t cells, bools, quoted;
    uint64_t dates[OTHER_DATES];
} trial;

static void add_cell(const copse_csv_source *source, trial *t, const copse_csv_cell *cell)
{
    uint8_t out = 0;
    if (copse_nulls_has(&source->nulls, cell->text, cell->length)) {
        t->quoted += cell->quoted != 0;
        return;
    }
    t->cells++;
    t->bools += copse_csv_is_bool(cell->text, cell->length, &out);
    copse_guess_add(&t->point, cell->text, cell->length);
    copse_guess_add(&t->comma, cell->text, cell->length);
    for (size_t i = 0; i < OTHER_DATES; i++) {
        const copse_cell_form form = {other_dates[i], '.'};
        uint64_t day = 0;
        t->dates[i] += copse_cell_parse_as(&form, COPSE_DATE, cell->text, cell->length, &day) == COPSE_CELL_OK;
    }
}

/* What the column would be without a few cells: more than half fit one type. */
static copse_type nearly(const trial *t)
{
    const copse_guess *guess = copse_guess_fitting(&t->comma) > copse_guess_fitting(&t->point) ? &t->comma : &t->point;
    return copse_guess_fitting(guess) * 2 > t->cells ? copse_guess_result(guess) : (copse_type)0;
}

static void choose_type(const copse_csv_source *source, const trial *t, copse_csv_column *column)
{
    /* Where bad rows are left out, a few of them do not decide. */
    uint64_t least = source->options.flags & COPSE_CSV_SKIP_BAD ? t->cells / 2 + 1 : t->cells;
    bool point = copse_guess_fitting(&t->point) >= least, comma = copse_guess_fitting(&t->comma) >= least;
    column->form = !point && comma ? t->comma.form : t->point.form;
    if (source->options.decimal) column->form.decimal = (char)source->options.decimal;
    if (!column->guessed) return;
    if (t->cells == 0 || t->quoted > 0)
        column->type = COPSE_STRING;
    else if (t->bools == t->cells)
        column->type = COPSE_BOOL;
    else if (source->options.decimal == ',' ? comma : point)
        column->type = copse_guess_result(source->options.decimal == ',' ? &t->comma : &t->point);
    else
        column->type = comma && !source->options.decimal ? copse_guess_result(&t->comma) : COPSE_STRING;
    if (column->type == COPSE_DATE && source->date_has_time) column->type = COPSE_TIMESTAMP;
    if (column->type != COPSE_STRING || t->cells == 0) return;
    if (t->quoted == 0) column->nearly = nearly(t);
    for (size_t i = OTHER_DATES; i-- > 0 && !source->options.date_format;)
        if (t->dates[i] == t->cells) column->date_format = other_dates[i];
}

static void guess_types(copse_csv_source *source, copse_csv *csv, trial *trials)
{
    const copse_cell_form point = {source->options.date_format, '.'}, comma = {source->options.date_format, ','};
    copse_csv_cell *cells = NULL;
    size_t count = 0;
    for (size_t i = 0; i < source->column_count; i++) {
        trials[i] = (trial){0};
        copse_guess_start(&trials[i].point, &point, false);
        copse_guess_start(&trials[i].comma, &comma, false);
    }
    while (source->sampled < COPSE_CSV_SAMPLE) {
        /* A bad record is reported when all rows are read. */
        bool good = copse_csv_next(csv, &cells, &count) == COPSE_OK;
        if (!good && !copse_csv_skip(csv)) break;
        if (good && count == 0) break;
        if (!good) continue;
        for (size_t i = 0; i < count; i++) add_cell(source, &trials[i], &cells[i]);
        source->sampled++;
    }
    for (size_t i = 0; i < source->column_count; i++) choose_type(source, &trials[i], &columns_of(source)[i]);
}

/* ---- remarks ---- */

static void remark_on_dates(const copse_csv_source *source, size_t column)
{
    const copse_csv_column *own = &columns_of(source)[column];
    char sentence[512];
    snprintf(sentence, sizeof sentence,
             "%.160s: column \"%.40s\" is read as string, though the date format \"%s\" would read it as dates",
             source->path, own->name, own->date_format);
    source->options.remark(source->options.remark_user, sentence);
}

/* The first cell that keeps a column from being one of numbers or dates. */
static void remark_on(const copse_csv_source *source, copse_csv *csv, size_t column)
{
    const copse_csv_column *own = &columns_of(source)[column];
    copse_csv_cell *cells = NULL;
    char sentence[512];
    size_t count = 0;
    for (uint64_t seen = 0; seen < source->sampled;) {
        uint64_t element = 0;
        bool good = copse_csv_next(csv, &cells, &count) == COPSE_OK;
        if (!good && !copse_csv_skip(csv)) return;
        if (!good) continue;
        if (count == 0) return;
        seen++;
        const copse_csv_cell *cell = &cells[column];
        if (copse_nulls_has(&source->nulls, cell->text, cell->length)) continue;
        copse_cell_error error = copse_cell_parse_as(&own->form, own->nearly, cell->text, cell->length, &element);
        if (error == COPSE_CELL_OK || error == COPSE_CELL_FINE) continue;
        (void)copse_csv_bad_cell(csv, column, copse_cell_problem(own->nearly, error));
        snprintf(sentence, sizeof sentence, "%.160s: %s, so that the column is read as string, not as %s", source->path,
                 copse_csv_error(csv), copse_type_name(own->nearly));
        source->options.remark(source->options.remark_user, sentence);
        return;
    }
}

/* ---- columns ---- */

static bool name_is_taken(const copse_csv_source *source, size_t column, const char *name)
{
    for (size_t i = 0; i < column; i++)
        if (strcmp(columns_of(source)[i].name, name) == 0) return true;
    return false;
}

/* The reader outlives the columns, and so do its names. */
static void name_columns(copse_csv_source *source)
{
    for (size_t i = 0; i < source->column_count; i++) {
        copse_csv_column *column = &columns_of(source)[i];
        *column = (copse_csv_column){.guessed = true};
        column->name = (char *)(uintptr_t)copse_csv_column_name(source->reader, i);
        if (*column->name && !name_is_taken(source, i, column->name)) continue;
        snprintf(column->own_name, sizeof column->own_name, "%.16s#%zu", column->name, i + 1);
        column->name = column->own_name;
    }
}

/* A record that the end of the head cuts in two must not count. */
static size_t whole_records(const copse_csv_source *source)
{
    const char *head = source->head.data;
    size_t size = source->head_size;
    if (size == COPSE_CSV_HEAD)
        while (size > 0 && head[size - 1] != '\n' && head[size - 1] != '\r') size--;
    return size > 0 ? size : source->head_size;
}

static copse_status open_sample(copse_csv_source *source, copse_csv **out)
{
    char message[512];
    copse_status status =
        copse_csv_open_memory(source->head.data, whole_records(source), &source->csv, out, message, sizeof message);
    return status == COPSE_OK ? status : copse_fail(source->ctx, status, "%s: %s", source->path, message);
}

/* How many columns there are, without a header from the first record. */
static copse_status count_columns(copse_csv_source *source)
{
    copse_csv *csv = NULL;
    copse_csv_cell *cells = NULL;
    copse_status status = open_sample(source, &csv);
    if (status != COPSE_OK) return status;
    (void)copse_csv_next(csv, &cells, &source->column_count);
    source->column_count = copse_csv_columns(csv);
    copse_csv_close(csv);
    if (source->column_count == 0)
        return copse_fail(source->ctx, COPSE_ERR_FORMAT, "%s: the input is empty", source->path);
    return COPSE_OK;
}

copse_status copse_csv_find_layout(copse_csv_source *source)
{
    copse_buffer trials = {0};
    copse_csv *csv = NULL;
    source->csv.no_header = (source->options.flags & COPSE_CSV_NO_HEADER) != 0;
    source->csv.delimiter = (char)source->options.delimiter;
    if (!source->csv.delimiter) source->csv.delimiter = copse_delimiter_guess(source->head.data, whole_records(source));
    copse_status status = count_columns(source);
    if (status == COPSE_OK)
        status = copse_buffer_reserve(source->ctx, &source->columns, source->column_count, sizeof(copse_csv_column),
                                      "the columns of a table");
    if (status == COPSE_OK)
        status = copse_buffer_reserve(source->ctx, &trials, source->column_count, sizeof(trial), "guessing types");
    if (status == COPSE_OK) status = open_sample(source, &csv);
    if (status == COPSE_OK) {
        source->reader = csv; /* for the names */
        name_columns(source);
        status = take_types(source);
        if (status == COPSE_OK) guess_types(source, csv, trials.data);
    }
    for (size_t i = 0; status == COPSE_OK && source->options.remark && i < source->column_count; i++) {
        if (columns_of(source)[i].date_format) remark_on_dates(source, i);
        if (columns_of(source)[i].nearly == 0) continue;
        copse_csv *again = NULL;
        status = open_sample(source, &again);
        if (status == COPSE_OK) remark_on(source, again, i);
        copse_csv_close(again);
    }
    copse_buffer_free(source->ctx, &trials);
    return status;
}

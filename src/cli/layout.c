/* What the first bytes of a table show: the delimiter, which columns hold keys and values, decimal commas, types. */
#include "cli/rows.h"

#include <string.h>

typedef enum decimal_form { POINT, COMMA, DECIMAL_FORMS } decimal_form;

typedef struct finder {
    cli_layout *layout;
    cli_session *session;
    const cli_rows_args *args;
    const cli_input *input;
    const copse_nulls *nulls;
    size_t head;        /* bytes of the head that are whole records */
    decimal_form least; /* which forms of decimals there may be: one where it is given */
    decimal_form most;
} finder;

static int fail_csv(const finder *f, const copse_csv *csv)
{
    return cli_fail(f->session->command, "%s: %s", f->input->name, copse_csv_error(csv));
}

/* ---- the delimiter ---- */

/* table.tsv, table.tsv.gz */
static bool is_tsv(const char *path)
{
    size_t length = strlen(path);
    if (length > 3 && strcmp(path + length - 3, ".gz") == 0) length -= 3;
    return length > 4 && strncmp(path + length - 4, ".tsv", 4) == 0;
}

static void find_delimiter(finder *f)
{
    const char *given = f->args->delimiter;
    f->layout->csv.no_header = f->args->no_header;
    if (given) {
        f->layout->csv.delimiter = strcmp(given, "tab") == 0 || strcmp(given, "\\t") == 0 ? '\t' : given[0];
    } else if (is_tsv(f->args->input)) {
        f->layout->csv.delimiter = '\t';
    } else {
        f->layout->csv.delimiter = copse_delimiter_guess(f->input->head, f->head);
        f->layout->guessed_delimiter = true;
    }
}

/* ---- columns ---- */

/* Without a request: the first column is the key, the first other column the value; a lone column gets row numbers. */
static int choose_columns(finder *f, copse_csv *csv)
{
    const cli_rows_args *args = f->args;
    cli_column *key = &f->layout->key, *value = &f->layout->value;
    size_t columns = copse_csv_columns(csv);
    if (args->key && copse_csv_find_column(csv, args->key, &key->index) != COPSE_OK) return fail_csv(f, csv);
    bool asks_for_row = args->value && strcmp(args->value, "row") == 0;
    if (args->value_type == COPSE_NONE) return CLI_OK;
    if (!args->value) {
        value->row_number = columns < 2;
        value->index = key->index == 0 ? 1 : 0;
    } else if (copse_csv_find_column(csv, args->value, &value->index) != COPSE_OK) {
        if (!asks_for_row) return fail_csv(f, csv);
        value->row_number = true;
    }
    return CLI_OK;
}

static bool is_number(const char *text)
{
    double number = 0;
    return copse_cell_parse(COPSE_F64, text, strlen(text), &number) == COPSE_CELL_OK;
}

/* One column, in whose name there is what stands between columns elsewhere. */
static bool is_uncut(const copse_csv *csv)
{
    const char *name = copse_csv_column_name(csv, 0);
    return copse_csv_columns(csv) == 1 && name[strcspn(name, ",;|\t")] != '\0';
}

static void remark_on_header(const finder *f, const copse_csv *csv)
{
    const size_t columns = copse_csv_columns(csv), value = f->layout->value.index;
    const bool default_value = !f->args->value && f->args->value_type != COPSE_NONE && value < columns;
    const char *key = copse_csv_column_name(csv, f->layout->key.index);
    if (f->args->no_header || f->args->quiet) return;
    if (is_uncut(csv))
        cli_note(f->session->command, "%s has one column, named '%.40s'; --delimiter sets what stands between cells",
                 f->input->name, key);
    else if (is_number(key))
        cli_note(f->session->command,
                 "the first line was taken as the header though it starts with a number; --no-header makes it a row");
    else if (default_value && is_number(copse_csv_column_name(csv, value)))
        cli_note(f->session->command,
                 "the first line was taken as the header though its value is a number; --no-header makes it a row");
}

/* ---- types and decimal commas ---- */

/* A column under both forms. */
typedef struct column_guess {
    cli_column *column;
    copse_guess forms[DECIMAL_FORMS];
    bool unused;
} column_guess;

static void start_guess(const finder *f, column_guess *g, cli_column *column, bool is_value)
{
    *g = (column_guess){.column = column, .unused = column->row_number || column->type == COPSE_NONE};
    for (int i = 0; i < DECIMAL_FORMS; i++) {
        const copse_cell_form form = {is_value ? NULL : f->args->date_format, i == COMMA ? ',' : '.'};
        if (column->type == 0)
            copse_guess_start(&g->forms[i], &form, is_value);
        else
            copse_guess_start_with(&g->forms[i], &form, column->type);
    }
}

/* false: no type is left that fits every cell. */
static bool add_cell(const finder *f, column_guess *g, const copse_csv_cell *cells)
{
    if (g->unused) return true;
    const copse_csv_cell *cell = &cells[g->column->index];
    bool fits = false;
    if (copse_nulls_has(f->nulls, cell->text, cell->length)) return true;
    for (decimal_form i = f->least; i <= f->most; i++) {
        copse_guess_add(&g->forms[i], cell->text, cell->length);
        fits |= copse_guess_fitting(&g->forms[i]) == g->forms[i].cells;
    }
    return fits || g->column->type != 0;
}

static int unfit_sample(const finder *f, copse_csv *csv, const cli_column *c, bool is_value)
{
    char problem[256];
    bool first = f->layout->sampled == 1;
    if (is_value)
        snprintf(problem, sizeof problem,
                 "is not a number; --value chooses another column, --value row stores row numbers, --value-type none "
                 "keys alone%s",
                 first ? "" : "; --on-bad skip leaves bad rows out");
    else
        snprintf(
            problem, sizeof problem,
            "is not a number, date or timestamp%s; --key chooses another column, --key-type text takes it as text%s",
            first ? "" : " like those before it", first ? "" : ", --on-bad skip leaves bad rows out");
    copse_csv_bad_cell(csv, c->index, problem);
    return fail_csv(f, csv);
}

/* The next record of the sample; *count 0: no more. Bad records end it, and are reported when all rows are read, or are passed
 * over where they will be left out. */
static void next_sample(const finder *f, copse_csv *csv, copse_csv_cell **cells, size_t *count)
{
    while (copse_csv_next(csv, cells, count) != COPSE_OK)
        if (!f->args->skip_bad || !copse_csv_skip(csv)) return;
}

static int sample_rows(finder *f, copse_csv *csv, copse_csv_cell *cells, size_t count, column_guess *key,
                       column_guess *value)
{
    while (count > 0 && f->layout->sampled < CLI_SAMPLE_ROWS) {
        f->layout->sampled++;
        if (!add_cell(f, key, cells) && !f->args->skip_bad) return unfit_sample(f, csv, key->column, false);
        if (!add_cell(f, value, cells) && !f->args->skip_bad) return unfit_sample(f, csv, value->column, true);
        next_sample(f, csv, &cells, &count);
    }
    return CLI_OK;
}

static decimal_form choose_decimal(const finder *f, const column_guess *key, const column_guess *value)
{
    uint64_t fitting[DECIMAL_FORMS] = {0};
    for (decimal_form i = f->least; i <= f->most; i++) {
        if (!key->unused) fitting[i] += copse_guess_fitting(&key->forms[i]);
        if (!value->unused) fitting[i] += copse_guess_fitting(&value->forms[i]);
    }
    if (f->least == f->most) return f->least;
    return fitting[COMMA] > fitting[POINT] ? COMMA : POINT;
}

static int choose_type(const finder *f, copse_csv *csv, const column_guess *g, decimal_form form, bool is_value)
{
    const copse_guess *guess = &g->forms[form];
    g->column->form = (copse_cell_form){is_value ? NULL : f->args->date_format, form == COMMA ? ',' : '.'};
    if (g->unused || g->column->type != 0) return CLI_OK;
    if (guess->cells > 0 && copse_guess_fitting(guess) == 0) /* a value: such keys are text */
        return cli_fail(f->session->command, "%s: column %zu (\"%.40s\") has not one number in its first %llu row%s",
                        f->input->name, g->column->index + 1, copse_csv_column_name(csv, g->column->index),
                        (unsigned long long)f->layout->sampled, f->layout->sampled == 1 ? "" : "s");
    g->column->type = copse_guess_result(guess);
    return CLI_OK;
}

static void prepare_types(finder *f)
{
    cli_layout *layout = f->layout;
    layout->key.type = f->args->key_type;
    layout->value.type = f->args->value_type;
    layout->key.guessed = layout->key.type == 0;
    layout->value.guessed = layout->value.type == 0 && !layout->value.row_number;
    if (layout->value.row_number && layout->value.type == 0) layout->value.type = COPSE_U64;
}

/* Forms of dates that people have and nobody can guess: which number is the day? */
static const char *const date_formats[] = {"%d/%m/%Y", "%m/%d/%Y",       "%d.%m.%Y",       "%d-%m-%Y",      "%m-%d-%Y",
                                           "%Y/%m/%d", "%d/%m/%Y %H:%M", "%m/%d/%Y %H:%M", "%d.%m.%Y %H:%M"};
#define DATE_FORMATS (sizeof date_formats / sizeof date_formats[0])

static void start_dates(copse_guess *dates)
{
    for (size_t i = 0; i < DATE_FORMATS; i++)
        copse_guess_start_with(&dates[i], &(copse_cell_form){.date_format = date_formats[i]}, COPSE_TIMESTAMP);
}

static void add_date(const finder *f, copse_guess *dates, const copse_csv_cell *cell)
{
    if (copse_nulls_has(f->nulls, cell->text, cell->length)) return;
    for (size_t i = 0; i < DATE_FORMATS; i++) copse_guess_add(&dates[i], cell->text, cell->length);
}

static void settle_dates(const finder *f, const copse_guess *dates)
{
    for (size_t i = DATE_FORMATS; i-- > 0;) {
        if (dates[i].cells == 0 || copse_guess_fitting(&dates[i]) < dates[i].cells) continue;
        f->layout->other_date_format = f->layout->date_format;
        f->layout->date_format = date_formats[i];
    }
}

/* Whether the keys are text can be told once all rows of the sample are known; then they are read again for the rest. */
static bool keys_are_text(const finder *f)
{
    copse_csv *csv = NULL;
    copse_csv_cell *cells = NULL;
    column_guess key;
    copse_guess dates[DATE_FORMATS];
    size_t count = 0;
    bool text = true;
    if (copse_csv_open_memory(f->input->head, f->head, &f->layout->csv, &csv, NULL, 0) != COPSE_OK) return false;
    start_guess(f, &key, &f->layout->key, false);
    start_dates(dates);
    for (int rows = 0; rows < CLI_SAMPLE_ROWS; rows++) {
        count = 0;
        next_sample(f, csv, &cells, &count);
        if (count == 0) break;
        add_cell(f, &key, cells);
        add_date(f, dates, &cells[key.column->index]);
    }
    for (decimal_form i = f->least; i <= f->most; i++) text &= copse_guess_is_text(&key.forms[i]);
    if (text) settle_dates(f, dates);
    copse_csv_close(csv);
    return text;
}

static int find_types(finder *f, copse_csv *csv, copse_csv_cell *cells, size_t count)
{
    cli_layout *layout = f->layout;
    column_guess key, value;
    prepare_types(f);
    if (layout->key.guessed && !is_uncut(csv) && keys_are_text(f)) layout->key.type = COPSE_BYTES;
    start_guess(f, &key, &layout->key, false);
    start_guess(f, &value, &layout->value, true);
    int code = sample_rows(f, csv, cells, count, &key, &value);
    if (code != CLI_OK) return code;
    decimal_form form = choose_decimal(f, &key, &value);
    code = choose_type(f, csv, &key, form, false);
    return code == CLI_OK ? choose_type(f, csv, &value, form, true) : code;
}

/* ---- all of it ---- */

/* A record that the end of the head cuts in two must not count. */
static size_t whole_records(const cli_input *input)
{
    size_t size = input->head_size;
    if (size == CLI_INPUT_HEAD)
        while (size > 0 && input->head[size - 1] != '\n' && input->head[size - 1] != '\r') size--;
    return size > 0 ? size : input->head_size;
}

static int look_at_head(finder *f, copse_csv *csv)
{
    copse_csv_cell *cells = NULL;
    size_t count = 0;
    copse_status status = copse_csv_next(csv, &cells, &count);
    while (status != COPSE_OK && f->args->skip_bad && copse_csv_skip(csv)) status = copse_csv_next(csv, &cells, &count);
    if (status != COPSE_OK) return fail_csv(f, csv);
    if (copse_csv_columns(csv) == 0)
        return cli_fail(f->session->command, "%s: the input is empty: there is not one row", f->input->name);
    int code = choose_columns(f, csv);
    if (code != CLI_OK) return code;
    remark_on_header(f, csv);
    return find_types(f, csv, cells, count);
}

int cli_layout_find(cli_layout *out, cli_session *session, const cli_rows_args *args, const cli_input *input,
                    const copse_nulls *nulls)
{
    char message[512];
    copse_csv *csv = NULL;
    finder f = {out, session, args, input, nulls, whole_records(input), POINT, COMMA};
    memset(out, 0, sizeof *out);
    if (args->decimal) f.least = f.most = args->decimal[0] == ',' || args->decimal[0] == 'c' ? COMMA : POINT;
    out->guessed_decimal = !args->decimal;
    find_delimiter(&f);
    if (copse_csv_open_memory(input->head, f.head, &out->csv, &csv, message, sizeof message) != COPSE_OK)
        return cli_fail(session->command, "%s: %s", input->name, message);
    int code = look_at_head(&f, csv);
    copse_csv_close(csv);
    return code;
}

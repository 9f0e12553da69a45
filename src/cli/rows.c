/* Rows of a CSV file as pairs: every row is read into the arrays of a batch, or is bad. */
#include "cli/rows.h"

#include <stdlib.h>
#include <string.h>

#define STEP_ROWS 4096 /* between two looks at the progress bar */
#define NAMED_BAD 5    /* bad rows that are named; the others are counted */

struct cli_rows {
    cli_session *session;
    const cli_rows_args *args;
    cli_input input;
    copse_nulls nulls;
    cli_layout layout;
    copse_csv *csv;
    uint64_t seen; /* rows so far, bad ones, too */
    uint64_t bad;
    uint64_t cut; /* keys that had digits below a microsecond */
    char key_name[64];
    char value_name[64];
};

/* ---- the command line ---- */

int cli_nulls_start(copse_nulls *nulls, const char *command, const cli_words *given)
{
    memset(nulls, 0, sizeof *nulls);
    if (given->count == 0) copse_nulls_add(nulls, NULL);
    for (size_t i = 0; i < given->count; i++)
        if (!copse_nulls_add(nulls, given->words[i]))
            return cli_usage_error(command, "--null takes at most %d words in all", COPSE_NULLS);
    return CLI_OK;
}

size_t cli_rows_list_options(cli_rows_args *args, cli_option *out)
{
    const cli_option options[CLI_ROWS_OPTIONS] = {
        {"key", 'k', CLI_ONCE, "COLUMN", "key column: its name, or '#N' in quotes for the N-th\n(default: '#1')",
         &args->key},
        {"value", 'v', CLI_ONCE, "COLUMN",
         "value column, or 'row' for row numbers from 0 (default:\nthe next column; row numbers where there is none)",
         &args->value},
        {"key-type", 0, CLI_ONCE, "TYPE", "type of the keys (default: guess)", &args->key_type_name},
        {"value-type", 0, CLI_ONCE, "TYPE", "type of the values, none: keys alone (default: guess)",
         &args->value_type_name},
        {"delimiter", 'd', CLI_ONCE, "C",
         "between cells: a character or 'tab' (default: guess\namong , ; | and tab; tab for .tsv files)",
         &args->delimiter},
        {"decimal", 0, CLI_ONCE, "C", "decimal point or comma: . or , (default: guess)", &args->decimal},
        {"date-format", 0, CLI_ONCE, "FORMAT",
         "how keys are written that are dates or times, such as\n'%d.%m.%Y %H:%M'; or s, ms, us, ns: numbers since "
         "1970",
         &args->date_format},
        {"null", 0, CLI_WORDS, "TEXT",
         "cells that stand for no value, besides empty ones, with\ncommas between (default: NA, N/A, n/a, #N/A, <NA>,\n"
         "NULL, null, None)",
         &args->nulls},
        {"on-bad", 0, CLI_ONCE, "WHAT",
         "rows with a bad key or value, or the wrong number of\ncells: fail, or skip (default: fail)", &args->on_bad},
        {"no-header", 0, CLI_FLAG, NULL, "the first line is data", &args->no_header},
    };
    memcpy(out, options, sizeof options);
    return CLI_ROWS_OPTIONS;
}

static int parse_type(const char *command, const char *option, const char *name, bool for_values, copse_type *out)
{
    if (!name || cli_type_parse(name, for_values, out)) return CLI_OK;
    return cli_usage_error(command, "--%s takes %s, not '%s'", option, cli_type_names(for_values), name);
}

static int check_delimiter(const char *command, const char *text)
{
    if (!text || strcmp(text, "tab") == 0 || strcmp(text, "\\t") == 0) return CLI_OK;
    if (text[0] != '\0' && text[1] == '\0' && !strchr("\"\r\n", text[0])) return CLI_OK;
    return cli_usage_error(command, "--delimiter takes one character, or 'tab'; it cannot be a quote or a line end");
}

static int check_date_format(const char *command, cli_rows_args *args)
{
    char problem[256];
    bool has_time = false;
    if (!args->date_format) return CLI_OK;
    if (!copse_date_format_check(args->date_format, &has_time, problem, sizeof problem))
        return cli_usage_error(command, "--date-format '%s': %s", args->date_format, problem);
    if (!args->key_type) args->key_type = has_time ? COPSE_TIMESTAMP : COPSE_DATE;
    if (args->key_type == COPSE_TIMESTAMP || (args->key_type == COPSE_DATE && !has_time)) return CLI_OK;
    return cli_usage_error(command, "--date-format '%s' gives keys of type %s, not %s", args->date_format,
                           has_time ? "timestamp" : "date or timestamp", cli_type_name(args->key_type));
}

int cli_rows_check(const char *command, cli_rows_args *args)
{
    static const char *const decimals[] = {".", "point", ",", "comma"};
    bool known = !args->decimal;
    for (size_t i = 0; !known && i < 4; i++) known = strcmp(args->decimal, decimals[i]) == 0;
    if (!known) return cli_usage_error(command, "--decimal takes . or , (or point, comma), not '%s'", args->decimal);
    args->skip_bad = args->on_bad && strcmp(args->on_bad, "skip") == 0;
    if (args->on_bad && !args->skip_bad && strcmp(args->on_bad, "fail") != 0)
        return cli_usage_error(command, "--on-bad takes fail or skip, not '%s'", args->on_bad);
    int code = check_delimiter(command, args->delimiter);
    if (code == CLI_OK) code = parse_type(command, "key-type", args->key_type_name, false, &args->key_type);
    if (code == CLI_OK) code = parse_type(command, "value-type", args->value_type_name, true, &args->value_type);
    if (code == CLI_OK && args->value && args->value_type == COPSE_NONE)
        return cli_usage_error(command, "--value '%s' names a column, but keys of a set have no values", args->value);
    return code == CLI_OK ? check_date_format(command, args) : code;
}

/* ---- remarks ---- */

static void name_column(const copse_csv *csv, const cli_column *c, char *out, size_t size)
{
    const char *name = c->type == COPSE_NONE ? "none" : copse_csv_column_name(csv, c->index);
    if (c->row_number)
        snprintf(out, size, "row number");
    else if (*name)
        snprintf(out, size, "%s", name);
    else
        snprintf(out, size, "#%zu", c->index + 1);
}

static void remark_form(const cli_rows *r)
{
    const cli_layout *l = &r->layout;
    char delimiter[32] = "";
    bool comma = l->guessed_decimal && l->key.form.decimal == ',';
    if (l->guessed_delimiter && l->csv.delimiter == '\t')
        snprintf(delimiter, sizeof delimiter, "the delimiter is a tab");
    else if (l->guessed_delimiter && l->csv.delimiter != ',')
        snprintf(delimiter, sizeof delimiter, "the delimiter is '%c'", l->csv.delimiter);
    if (!*delimiter && !comma) return;
    cli_note(r->session->command, "%s%s%s, guessed", delimiter, *delimiter && comma ? ", " : "",
             comma ? "decimals have a comma" : "");
}

static void remark_guess(const cli_rows *r)
{
    const cli_layout *l = &r->layout;
    char key[128] = "", value[128] = "", rows[CLI_NUMBER_SIZE];
    if (r->args->quiet) return;
    remark_form(r);
    if (!l->key.guessed && !l->value.guessed) return;
    if (l->key.guessed) snprintf(key, sizeof key, "key %s is %s", r->key_name, cli_type_name(l->key.type));
    if (l->value.guessed) snprintf(value, sizeof value, "value %s is %s", r->value_name, cli_type_name(l->value.type));
    cli_note(r->session->command, "%s%s%s, guessed from %s%s row%s", key, *key && *value ? ", " : "", value,
             l->sampled == CLI_SAMPLE_ROWS ? "the first " : "", cli_group(l->sampled, rows),
             l->sampled == 1 ? "" : "s");
    if (l->date_format)
        cli_note(r->session->command, "key %s looks like dates; --date-format '%s'%s%s%s takes them as such",
                 r->key_name, l->date_format, l->other_date_format ? " or '" : "",
                 l->other_date_format ? l->other_date_format : "", l->other_date_format ? "'" : "");
}

/* ---- bad rows ---- */

/* What ends the reading whatever was asked for. */
static int fail(cli_rows *r)
{
    const char *problem = cli_input_problem(&r->input);
    /* An interrupted read looks like a failed one. */
    if (cli_interrupted()) return cli_session_fail(r->session, COPSE_ERR_CANCELLED);
    cli_progress_clear(&r->session->progress);
    return cli_fail(r->session->command, "%s: %s", r->input.name, *problem ? problem : copse_csv_error(r->csv));
}

/* The sentence about the current row is in `problem`, what could be done about it in `advice`. */
static int refuse(cli_rows *r, const char *problem, const char *advice)
{
    if (cli_interrupted()) return cli_session_fail(r->session, COPSE_ERR_CANCELLED);
    if (!r->args->skip_bad || (r->bad < NAMED_BAD && !r->args->quiet)) cli_progress_clear(&r->session->progress);
    if (!r->args->skip_bad) {
        cli_fail(r->session->command, "%s: %s%s", r->input.name, problem, advice);
        if (!r->args->quiet) cli_note(r->session->command, "--on-bad skip leaves bad rows out and counts them");
        return CLI_FAILED;
    }
    if (r->bad++ < NAMED_BAD && !r->args->quiet)
        cli_note(r->session->command, "left out: %s: %s", r->input.name, problem);
    return CLI_OK;
}

static int refuse_record(cli_rows *r)
{
    char problem[640];
    snprintf(problem, sizeof problem, "%s", copse_csv_error(r->csv));
    if (!copse_csv_skip(r->csv)) return fail(r);
    r->seen++;
    return refuse(r, problem, "");
}

static int refuse_cell(cli_rows *r, const cli_column *c, const char *problem, const char *advice)
{
    copse_csv_bad_cell(r->csv, c->index, problem);
    return refuse(r, copse_csv_error(r->csv), advice);
}

static int refuse_text(cli_rows *r, const cli_column *c, const char *option, const copse_csv_cell *cell,
                       copse_cell_error error)
{
    char problem[256], advice[224] = "";
    size_t at = 0;
    bool is_float = c->type == COPSE_F32 || c->type == COPSE_F64;
    if (error == COPSE_CELL_FORM && c->form.date_format)
        snprintf(problem, sizeof problem, "is not a date as --date-format '%.100s' has it", c->form.date_format);
    else if (error == COPSE_CELL_FORM && is_float && c->form.decimal == ',')
        snprintf(problem, sizeof problem, "is not a number with a decimal comma");
    else
        snprintf(problem, sizeof problem, "%s", copse_cell_problem(c->type, error));
    if (c->guessed && c->type != COPSE_BYTES)
        at = (size_t)snprintf(advice, sizeof advice, "; type %s was guessed from the first %llu rows, --%s sets it",
                              cli_type_name(c->type), (unsigned long long)r->layout.sampled, option);
    if (r->layout.guessed_decimal && c->form.decimal == '.' && strchr(cell->text, ','))
        snprintf(advice + at, sizeof advice - at, "; --decimal , reads decimal commas");
    return refuse_cell(r, c, problem, advice);
}

static int refuse_null(cli_rows *r, const cli_column *c, const copse_csv_cell *cell)
{
    bool empty = strspn(cell->text, " \t") == cell->length;
    return refuse_cell(r, c, empty ? "is empty" : "stands for no value",
                       !empty && c->type == COPSE_BYTES ? "; with --null '' it is text like any other" : "");
}

/* ---- rows ---- */

static int no_memory(const cli_rows *r)
{
    return cli_fail(r->session->command, "out of memory after %llu rows", (unsigned long long)r->seen);
}

/* What reading a cell came to. *taken: whether there is something to go on with. */
static int check_cell(cli_rows *r, const cli_column *c, const char *option, const copse_csv_cell *cell,
                      copse_cell_error error, bool *taken)
{
    *taken = error == COPSE_CELL_OK || error == COPSE_CELL_FINE;
    if (error == COPSE_CELL_MEMORY) return no_memory(r);
    if (!*taken) return refuse_text(r, c, option, cell, error);
    r->cut += error == COPSE_CELL_FINE;
    return CLI_OK;
}

static int take_key(cli_rows *r, const copse_csv_cell *cells, cli_keys *keys, bool *taken)
{
    const cli_column *c = &r->layout.key;
    const copse_csv_cell *cell = &cells[c->index];
    *taken = false;
    if (copse_nulls_has(&r->nulls, cell->text, cell->length)) return refuse_null(r, c, cell);
    int code = check_cell(r, c, "key-type", cell, cli_keys_parse(keys, &c->form, cell->text, cell->length), taken);
    if (code != CLI_OK || !*taken) return code;
    if (!copse_cell_is_nan(c->type, cli_keys_at(keys, keys->count - 1).start)) return CLI_OK;
    *taken = false;
    return refuse_cell(r, c, "cannot be a key: NaN has no place in an order", "");
}

static int take_value(cli_rows *r, const copse_csv_cell *cells, uint64_t number, void *out, bool *taken)
{
    const cli_column *c = &r->layout.value;
    *taken = true;
    if (c->type == COPSE_NONE || (c->row_number && cli_pairs_number(c->type, number, out))) return CLI_OK;
    if (c->row_number)
        return cli_fail(r->session->command, "%s: row number %llu does not fit %s; --value-type sets another type",
                        r->input.name, (unsigned long long)number, cli_type_name(c->type));
    const copse_csv_cell *cell = &cells[c->index];
    *taken = false;
    if (copse_nulls_has(&r->nulls, cell->text, cell->length)) return refuse_null(r, c, cell);
    return check_cell(r, c, "value-type", cell, copse_cell_parse_as(&c->form, c->type, cell->text, cell->length, out),
                      taken);
}

static int take_row(cli_rows *r, const copse_csv_cell *cells, cli_pairs *pairs)
{
    const uint64_t row = pairs->keys.count, number = r->seen++;
    bool taken = false;
    if (!cli_pairs_reserve(pairs, row + 1)) return no_memory(r);
    void *value = pairs->values ? (char *)pairs->values + row * copse_type_size(pairs->value_type) : NULL;
    int code = take_key(r, cells, &pairs->keys, &taken);
    if (code == CLI_OK && taken) code = take_value(r, cells, number, value, &taken);
    if (!taken) pairs->keys.count = row;
    return code;
}

static int show_progress(cli_rows *r)
{
    if (r->seen % STEP_ROWS != 0) return CLI_OK;
    if (cli_interrupted()) return cli_session_fail(r->session, COPSE_ERR_CANCELLED);
    cli_progress_show(&r->session->progress, r->input.size ? "reading" : "rows read",
                      r->input.size ? r->input.taken : r->seen, r->input.size);
    return CLI_OK;
}

static void describe(const cli_rows *r, cli_pairs *pairs)
{
    if (!pairs->keys.type) cli_keys_start(&pairs->keys, r->layout.key.type);
    pairs->value_type = r->layout.value.type;
    snprintf(pairs->key_name, sizeof pairs->key_name, "%s", r->key_name);
    snprintf(pairs->value_name, sizeof pairs->value_name, "%s", r->value_name);
}

int cli_rows_next(cli_rows *rows, uint64_t most, cli_pairs *pairs)
{
    describe(rows, pairs);
    const uint64_t before = pairs->keys.count;
    while (pairs->keys.count - before < most) {
        copse_csv_cell *cells = NULL;
        size_t count = 0;
        int code = show_progress(rows);
        if (code != CLI_OK) return code;
        bool good = copse_csv_next(rows->csv, &cells, &count) == COPSE_OK;
        if (good && count == 0) break;
        code = good ? take_row(rows, cells, pairs) : refuse_record(rows);
        if (code != CLI_OK) return code;
    }
    pairs->bytes = copse_csv_position(rows->csv);
    pairs->skipped = rows->bad;
    return CLI_OK;
}

/* ---- the beginning and the end ---- */

static int open_reader(cli_rows *r)
{
    char message[512];
    if (copse_csv_open(cli_input_read, &r->input, &r->layout.csv, &r->csv, message, sizeof message) != COPSE_OK)
        return cli_fail(r->session->command, "%s: %s", r->input.name, message);
    name_column(r->csv, &r->layout.key, r->key_name, sizeof r->key_name);
    name_column(r->csv, &r->layout.value, r->value_name, sizeof r->value_name);
    remark_guess(r);
    return CLI_OK;
}

int cli_rows_open(cli_session *session, const cli_rows_args *args, cli_rows **out)
{
    cli_rows *r = calloc(1, sizeof *r);
    *out = NULL;
    if (!r) return cli_fail(session->command, "out of memory");
    r->session = session;
    r->args = args;
    int code = cli_nulls_start(&r->nulls, session->command, &args->nulls);
    if (code == CLI_OK) code = cli_input_open(&r->input, session, args->input);
    if (code == CLI_OK) code = cli_layout_find(&r->layout, session, args, &r->input, &r->nulls);
    if (code == CLI_OK) code = open_reader(r);
    if (code == CLI_OK)
        *out = r;
    else
        cli_rows_close(r);
    return code;
}

copse_type cli_rows_key_type(const cli_rows *rows)
{
    return rows->layout.key.type;
}

int cli_rows_finish(cli_rows *rows)
{
    const char *command = rows->session->command;
    char bad[CLI_NUMBER_SIZE], seen[CLI_NUMBER_SIZE];
    cli_group(rows->bad, bad);
    cli_group(rows->seen, seen);
    cli_progress_clear(&rows->session->progress);
    if (rows->bad > 0 && rows->bad == rows->seen)
        return cli_fail(command, "%s: not one of %s row%s is good", rows->input.name, seen, rows->seen == 1 ? "" : "s");
    if (rows->args->quiet) return CLI_OK;
    if (rows->bad > 0)
        cli_note(command, "%s of %s rows %s bad and left out%s", bad, seen, rows->bad == 1 ? "was" : "were",
                 rows->bad > NAMED_BAD ? "; the first are named above" : "");
    if (rows->cut > 0)
        cli_note(command, "%s key%s had digits below a microsecond, which were cut off", cli_group(rows->cut, bad),
                 rows->cut == 1 ? "" : "s");
    return CLI_OK;
}

void cli_rows_close(cli_rows *rows)
{
    if (!rows) return;
    copse_csv_close(rows->csv);
    cli_input_close(&rows->input);
    free(rows);
}

/* CSV input of `copse build`: finds the columns, guesses their types from the first rows, reads all rows. */
#define _POSIX_C_SOURCE 200809L
#include "cli/cli.h"
#include "io/csv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define HEAD_SIZE   ((size_t)1 << 20)
#define SAMPLE_ROWS 1000
#define STEP_ROWS   4096 /* between two looks at the progress bar */

/* The first bytes of the input are looked at twice: for the types, and then as part of the whole. */
typedef struct source {
    FILE *file;
    char *head;
    size_t head_size;
    size_t head_used;
} source;

typedef struct column {
    size_t index;
    copse_type type;
    size_t size;
    bool guessed;
    bool row_number;
    char problem[256];
} column;

typedef struct job {
    cli_session *session;
    const cli_build_args *args;
    const char *name; /* of the input, in sentences */
    source input;
    copse_csv_options options;
    uint64_t input_size; /* 0: not known */
    uint64_t sampled;
    column key;
    column value;
    cli_pairs *pairs;
} job;

/* ---- the input ---- */

static size_t read_source(void *user, void *buffer, size_t size, int *out_error)
{
    source *s = user;
    size_t left = s->head_size - s->head_used;
    if (left > 0) {
        size_t n = left < size ? left : size;
        memcpy(buffer, s->head + s->head_used, n);
        s->head_used += n;
        return n;
    }
    size_t n = fread(buffer, 1, size, s->file);
    if (n == 0 && ferror(s->file)) *out_error = errno ? errno : EIO;
    return n;
}

uint64_t cli_stream_size(FILE *file)
{
    struct stat about;
    return fstat(fileno(file), &about) == 0 && S_ISREG(about.st_mode) ? (uint64_t)about.st_size : 0;
}

static int open_input(job *j)
{
    bool is_stdin = strcmp(j->args->input, "-") == 0;
    j->name = is_stdin ? "standard input" : j->args->input;
    j->input.file = is_stdin ? stdin : fopen(j->args->input, "rb");
    if (!j->input.file) return cli_fail("build", "cannot open '%s': %s", j->name, strerror(errno));
    j->input_size = cli_stream_size(j->input.file);
    j->input.head = malloc(HEAD_SIZE);
    if (!j->input.head) return cli_fail("build", "out of memory");
    errno = 0;
    j->input.head_size = fread(j->input.head, 1, HEAD_SIZE, j->input.file);
    if (cli_interrupted()) return cli_session_fail(j->session, COPSE_ERR_CANCELLED);
    if (ferror(j->input.file)) return cli_fail("build", "cannot read '%s': %s", j->name, strerror(errno));
    return CLI_OK;
}

static void close_input(job *j)
{
    if (j->input.file && j->input.file != stdin) fclose(j->input.file);
    free(j->input.head);
}

/* ---- columns and types, from the first rows ---- */

static int fail_csv(const job *j, const copse_csv *csv)
{
    /* An interrupted read looks like a failed one. */
    if (cli_interrupted()) return cli_session_fail(j->session, COPSE_ERR_CANCELLED);
    return cli_fail("build", "%s: %s", j->name, copse_csv_error(csv));
}

/* Without a request: the first column is the key, the first other column the value; a lone column gets row numbers. */
static int choose_columns(job *j, copse_csv *csv)
{
    const cli_build_args *args = j->args;
    size_t columns = copse_csv_columns(csv);
    if (args->key && copse_csv_find_column(csv, args->key, &j->key.index) != COPSE_OK) return fail_csv(j, csv);
    bool asks_for_row = args->value && strcmp(args->value, "row") == 0;
    if (!args->value) {
        j->value.row_number = columns < 2;
        j->value.index = j->key.index == 0 ? 1 : 0;
    } else if (copse_csv_find_column(csv, args->value, &j->value.index) != COPSE_OK) {
        if (!asks_for_row) return fail_csv(j, csv);
        j->value.row_number = true;
    }
    return CLI_OK;
}

static int unfit_sample(const job *j, copse_csv *csv, const column *c, bool is_value)
{
    char problem[256];
    if (is_value)
        snprintf(problem, sizeof problem,
                 "is not a number; --value chooses another column, --value row stores row numbers");
    else
        snprintf(problem, sizeof problem, "is not a number, date or timestamp%s; --key chooses another column",
                 j->sampled > 1 ? " like those before it" : "");
    copse_csv_bad_cell(csv, c->index, problem);
    return fail_csv(j, csv);
}

/* Bad records end the sample and are reported when all rows are read. */
static int guess_types(job *j, copse_csv *csv, copse_csv_cell *cells, size_t count)
{
    cli_guess key, value;
    cli_guess_start(&key, false);
    cli_guess_start(&value, true);
    while (count > 0 && j->sampled < SAMPLE_ROWS) {
        j->sampled++;
        if (j->key.guessed && !cli_guess_add(&key, cells[j->key.index].text, cells[j->key.index].length))
            return unfit_sample(j, csv, &j->key, false);
        if (j->value.guessed && !cli_guess_add(&value, cells[j->value.index].text, cells[j->value.index].length))
            return unfit_sample(j, csv, &j->value, true);
        if (copse_csv_next(csv, &cells, &count) != COPSE_OK) break;
    }
    if (j->key.guessed) j->key.type = cli_guess_result(&key);
    if (j->value.guessed) j->value.type = cli_guess_result(&value);
    return CLI_OK;
}

static void remark_on_header(const job *j, const copse_csv *csv)
{
    const char *key = copse_csv_column_name(csv, j->key.index);
    double number = 0;
    if (j->args->no_header || j->args->quiet) return;
    if (copse_csv_columns(csv) == 1 && key[strcspn(key, ";|\t")] != '\0')
        cli_note("build", "%s has one column, named '%.40s'; --delimiter sets another delimiter than '%c'", j->name,
                 key, j->options.delimiter ? j->options.delimiter : ',');
    else if (cli_cell_parse(COPSE_F64, key, strlen(key), &number) == CLI_CELL_OK)
        cli_note("build",
                 "the first line was taken as the header though it starts with a number; --no-header makes it a row");
}

static int look_at_head(job *j)
{
    char message[512];
    copse_csv *csv = NULL;
    copse_csv_cell *cells = NULL;
    size_t size = j->input.head_size, count = 0;
    /* A record that the end of the sample cuts in two must not count. */
    if (size == HEAD_SIZE)
        while (size > 0 && j->input.head[size - 1] != '\n' && j->input.head[size - 1] != '\r') size--;
    if (size == 0) size = j->input.head_size;
    if (copse_csv_open_memory(j->input.head, size, &j->options, &csv, message, sizeof message) != COPSE_OK)
        return cli_fail("build", "%s: %s", j->name, message);
    int code = copse_csv_next(csv, &cells, &count) == COPSE_OK ? CLI_OK : fail_csv(j, csv);
    if (code == CLI_OK && copse_csv_columns(csv) == 0)
        code = cli_fail("build", "%s: the input is empty: there is not one row", j->name);
    if (code == CLI_OK) code = choose_columns(j, csv);
    j->key.guessed = j->key.type == 0;
    j->value.guessed = j->value.type == 0 && !j->value.row_number;
    if (j->value.row_number && j->value.type == 0) j->value.type = COPSE_U64;
    if (code == CLI_OK) remark_on_header(j, csv);
    if (code == CLI_OK) code = guess_types(j, csv, cells, count);
    copse_csv_close(csv);
    return code;
}

/* ---- names and remarks ---- */

static void name_column(const copse_csv *csv, const column *c, char *out, size_t size)
{
    const char *name = copse_csv_column_name(csv, c->index);
    if (c->row_number)
        snprintf(out, size, "row number");
    else if (*name)
        snprintf(out, size, "%s", name);
    else
        snprintf(out, size, "#%zu", c->index + 1);
}

static void tell_guess(const job *j)
{
    char key[128] = "", value[128] = "", rows[CLI_NUMBER_SIZE];
    if (j->args->quiet || (!j->key.guessed && !j->value.guessed)) return;
    if (j->key.guessed) snprintf(key, sizeof key, "key %s is %s", j->pairs->key_name, copse_type_name(j->key.type));
    if (j->value.guessed)
        snprintf(value, sizeof value, "value %s is %s", j->pairs->value_name, copse_type_name(j->value.type));
    cli_note("build", "%s%s%s, guessed from %s%s row%s", key, *key && *value ? ", " : "", value,
             j->sampled == SAMPLE_ROWS ? "the first " : "", cli_group(j->sampled, rows), j->sampled == 1 ? "" : "s");
}

/* ---- all rows ---- */

static void explain(column *c, const char *option, const char *problem, uint64_t sampled)
{
    if (c->guessed)
        snprintf(c->problem, sizeof c->problem, "%s; type %s was guessed from the first %llu rows, --%s sets it",
                 problem, copse_type_name(c->type), (unsigned long long)sampled, option);
    else
        snprintf(c->problem, sizeof c->problem, "%s", problem);
}

static int refuse_cell(job *j, copse_csv *csv, column *c, const char *option, cli_cell_error error)
{
    explain(c, option, cli_cell_problem(c->type, error), error == CLI_CELL_EMPTY ? 0 : j->sampled);
    copse_csv_bad_cell(csv, c->index, error == CLI_CELL_EMPTY ? "is empty" : c->problem);
    return fail_csv(j, csv);
}

static int take_row(job *j, copse_csv *csv, const copse_csv_cell *cells)
{
    cli_pairs *p = j->pairs;
    char *key = (char *)p->keys + p->count * j->key.size;
    const copse_csv_cell *cell = &cells[j->key.index];
    cli_cell_error error = cli_cell_parse(j->key.type, cell->text, cell->length, key);
    if (error != CLI_CELL_OK) return refuse_cell(j, csv, &j->key, "key-type", error);
    if (cli_cell_is_nan(j->key.type, key)) {
        copse_csv_bad_cell(csv, j->key.index, "cannot be a key: NaN has no place in an order");
        return fail_csv(j, csv);
    }
    if (!j->value.row_number) {
        cell = &cells[j->value.index];
        error = cli_cell_parse(j->value.type, cell->text, cell->length, (char *)p->values + p->count * j->value.size);
        if (error != CLI_CELL_OK) return refuse_cell(j, csv, &j->value, "value-type", error);
    }
    p->count++;
    return CLI_OK;
}

static int read_rows(job *j, copse_csv *csv)
{
    cli_pairs *p = j->pairs;
    for (;;) {
        copse_csv_cell *cells = NULL;
        size_t count = 0;
        if (p->count % STEP_ROWS == 0) {
            uint64_t position = copse_csv_position(csv);
            if (cli_interrupted()) return cli_session_fail(j->session, COPSE_ERR_CANCELLED);
            cli_progress_show(&j->session->progress, j->input_size ? "reading" : "rows read",
                              j->input_size ? position : p->count, j->input_size);
        }
        if (copse_csv_next(csv, &cells, &count) != COPSE_OK) return fail_csv(j, csv);
        if (count == 0) break;
        if (p->count == p->capacity && !cli_pairs_reserve(p, p->count + 1, !j->value.row_number))
            return cli_fail("build", "out of memory after %llu rows", (unsigned long long)p->count);
        int code = take_row(j, csv, cells);
        if (code != CLI_OK) return code;
    }
    p->bytes = copse_csv_position(csv);
    return CLI_OK;
}

static int read_all(job *j)
{
    char message[512];
    copse_csv *csv = NULL;
    if (copse_csv_open(read_source, &j->input, &j->options, &csv, message, sizeof message) != COPSE_OK)
        return cli_fail("build", "%s: %s", j->name, message);
    name_column(csv, &j->key, j->pairs->key_name, sizeof j->pairs->key_name);
    name_column(csv, &j->value, j->pairs->value_name, sizeof j->pairs->value_name);
    tell_guess(j);
    int code = read_rows(j, csv);
    copse_csv_close(csv);
    cli_progress_clear(&j->session->progress);
    return code;
}

static int parse_delimiter(const cli_build_args *args, char *out)
{
    const char *text = args->delimiter, *dot = strrchr(args->input, '.');
    *out = !text && dot && strcmp(dot, ".tsv") == 0 ? '\t' : ',';
    if (!text) return CLI_OK;
    *out = strcmp(text, "tab") == 0 || strcmp(text, "\\t") == 0 ? '\t' : text[0];
    if (*out == '\t' || (text[0] != '\0' && text[1] == '\0' && !strchr("\"\r\n", text[0]))) return CLI_OK;
    return cli_usage_error("build", "--delimiter takes one character, or 'tab'; it cannot be a quote or a line end");
}

int cli_read_csv(cli_session *session, const cli_build_args *args, cli_pairs *out_pairs)
{
    job j = {.session = session, .args = args, .pairs = out_pairs};
    int code = parse_delimiter(args, &j.options.delimiter);
    if (code != CLI_OK) return code;
    j.options.no_header = args->no_header;
    j.key.type = args->key_type;
    j.value.type = args->value_type;
    code = open_input(&j);
    if (code == CLI_OK) code = look_at_head(&j);
    if (code == CLI_OK) {
        out_pairs->key_type = j.key.type;
        out_pairs->value_type = j.value.type;
        j.key.size = copse_type_size(j.key.type);
        j.value.size = copse_type_size(j.value.type);
        code = read_all(&j);
    }
    close_input(&j);
    return code;
}

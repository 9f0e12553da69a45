/*
 * Rows of a CSV file as pairs of a key and a value, in batches: what `build` reads, and what other commands that take rows can
 * read. The bytes come from a file or standard input, plain or gzip. Delimiter, decimal comma and types are guessed from the
 * first rows unless they are given; a bad row ends the reading with a sentence, or is left out and counted.
 *
 *     cli_rows_args args = {0};                   options of the command line, see cli_rows_list_options
 *     cli_rows *rows = NULL;
 *     cli_pairs pairs = {0};
 *     int code = cli_rows_check(command, &args);
 *     if (code == CLI_OK) code = cli_rows_open(&session, &args, &rows);
 *     while (code == CLI_OK && (code = cli_rows_next(rows, 65536, &pairs)) == CLI_OK && pairs.keys.count > 0) {
 *         ...
 *         pairs.keys.count = 0;
 *     }
 *     if (code == CLI_OK) code = cli_rows_finish(rows);
 *     cli_rows_close(rows);
 *     cli_pairs_free(&pairs);
 */
#pragma once

#include "cli/cli.h"

#include "io/csv.h"
#include "io/gzip.h"

/* ---- input.c: the bytes of a file or of standard input, decompressed where they are gzip data ---- */

typedef struct cli_input {
    const char *name; /* in sentences */
    FILE *file;
    copse_gzip *gzip;       /* NULL: plain */
    uint64_t size;          /* of the file, 0: not known */
    uint64_t taken;         /* bytes of the file so far */
    unsigned char start[2]; /* the first bytes, which identify gzip data */
    size_t start_size;
    size_t start_used;
    char *head; /* the first bytes of the text, looked at for the layout and then read again */
    size_t head_size;
    size_t head_used;
} cli_input;

#define CLI_INPUT_HEAD ((size_t)1 << 20)

/* Opens it and reads the head. Returns CLI_OK or a code, having said why. */
int cli_input_open(cli_input *input, cli_session *session, const char *path);
void cli_input_close(cli_input *input);
/* A copse_csv_read_fn; user is the cli_input. */
size_t cli_input_read(void *user, void *buffer, size_t size, int *out_error);
/* A sentence where reading failed for what is in the file, else "". */
const char *cli_input_problem(const cli_input *input);

/* ---- rows.c: pairs ---- */

typedef struct cli_rows_args {
    const char *input; /* a path, or - */
    const char *key;   /* a column; NULL: the first */
    const char *value; /* a column or "row"; NULL: the first that is not the key */
    const char *key_type_name;
    const char *value_type_name;
    const char *delimiter;
    const char *decimal;
    const char *date_format;
    const char *on_bad;
    cli_words nulls; /* as given with --null */
    bool no_header;
    bool quiet;
    copse_type key_type;   /* 0: guess; cli_rows_check sets it from the name, others may set it themselves */
    copse_type value_type; /* 0: guess */
    bool skip_bad;         /* set by cli_rows_check */
} cli_rows_args;

#define CLI_ROWS_OPTIONS 10

/* Writes the options of the rows into a table of options, and returns how many: CLI_ROWS_OPTIONS. */
size_t cli_rows_list_options(cli_rows_args *args, cli_option *out);

/* Makes sense of what was given. Returns CLI_OK, or CLI_USAGE having said why. */
int cli_rows_check(const char *command, cli_rows_args *args);

typedef struct cli_rows cli_rows;

/* Finds columns and types, and says what was guessed. args must outlive the rows. */
int cli_rows_open(cli_session *session, const cli_rows_args *args, cli_rows **out);
copse_type cli_rows_key_type(const cli_rows *rows);
/* Appends up to `most` pairs; none at the end. Fills in types and names of the pairs, and counts rows that were left out. */
int cli_rows_next(cli_rows *rows, uint64_t most, cli_pairs *pairs);
/* Says what was left out. Returns CLI_FAILED where that was every row. */
int cli_rows_finish(cli_rows *rows);
void cli_rows_close(cli_rows *rows);

/* ---- layout.c: what the first bytes of a table show ---- */

#define CLI_SAMPLE_ROWS 1000

typedef struct cli_column {
    size_t index;
    copse_type type; /* a value's COPSE_NONE: not a column, there are no values */
    copse_cell_form form;
    bool guessed;
    bool row_number; /* not a column: the value is the number of the row */
} cli_column;

typedef struct cli_layout {
    copse_csv_options csv;
    cli_column key;
    cli_column value;
    uint64_t sampled; /* rows that were looked at */
    bool guessed_delimiter;
    bool guessed_decimal;
    /* Of keys that are text: the --date-format that all of them have, and a second one; NULL: none. */
    const char *date_format, *other_date_format;
} cli_layout;

/* The words of --null, or those that people use. Returns CLI_OK, or CLI_USAGE having said why: rows.c. */
int cli_nulls_start(copse_nulls *nulls, const char *command, const cli_words *given);

/* Finds delimiter, columns, decimal comma and types. Returns CLI_OK or a code, having said why. */
int cli_layout_find(cli_layout *out, cli_session *session, const cli_rows_args *args, const cli_input *input,
                    const copse_nulls *nulls);

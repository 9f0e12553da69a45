/* What the files of `copse query`, `copse shell` and `copse import` share. */
#pragma once

#include "copse_query.h"

#include "cli/cli.h"

#include <sys/types.h>
#include <time.h>

typedef enum cli_query_format { CLI_FORMAT_TABLE, CLI_FORMAT_CSV, CLI_FORMAT_JSON } cli_query_format;

/* Files that were joined, as they were read. */
#define CLI_KEPT_FILES 8
typedef struct cli_kept_file {
    char *path, *types;
    struct timespec changed; /* the file, last, */
    off_t size;              /* and how large it was */
    copse_table *table;
} cli_kept_file;

typedef struct cli_kept_files {
    cli_kept_file files[CLI_KEPT_FILES];
    size_t next; /* the place that is the next one's */
} cli_kept_files;

typedef struct cli_table_query {
    const char *input;
    cli_words where, select, sum, min, max, avg, distinct, group_by, order_by, join, asof, index, nulls;
    bool count, json, explain, no_header, quiet;
    const char *types, *delimiter, *decimal, *date_format, *on_bad, *format_name;
    uint64_t limit, offset, threads;
    cli_query_format format;
    cli_placement place;
    cli_kept_files *kept; /* of a shell, else NULL: joined files are read for this question alone */
} cli_table_query;

/* ---- options.c ---- */

#define CLI_TABLE_OPTIONS 40
#define CLI_INDEX_COLUMNS 4

/* What is asked, and how files are read. Each fills `out`, and returns how many. */
size_t cli_question_options(cli_table_query *args, cli_option *out);
size_t cli_reading_options(cli_table_query *args, cli_option *out);
/* Where tables are asked. */
size_t cli_place_options(cli_table_query *args, cli_option *out);
/* Each returns CLI_OK or a code, having said why. */
int cli_format_check(const char *command, cli_table_query *args);
int cli_reading_check(const char *command, const cli_table_query *args);

/* ---- ask.c ---- */

/* Runs the query of the arguments and prints its answer. */
int cli_table_ask(cli_session *session, const cli_table_query *args, const copse_table *table);

/* Cuts the first name off a list with commas between, in place: NAME, or "NAME" where it has commas. What is behind a name in quotes,
 * "NAME" desc, goes to *out_rest, else it is part of the name. Returns the name, and *list is the rest of the list, NULL at its end. */
char *cli_next_name(char **list, char **out_rest);

/* ---- where.c ---- */

/* Adds all conditions of --where to a query. Returns CLI_OK or a code, having said why. */
int cli_where_add(cli_session *session, copse_query *query, const cli_words *given);
/* Those of them that are joined to the others by AND and ask only columns for which name_of gives a name, by that name. */
typedef const char *(*cli_name_fn)(void *user, const char *column, copse_comparison comparison);
int cli_where_add_some(cli_session *session, copse_query *query, const cli_words *given, cli_name_fn name_of,
                       void *user, bool *out_any);

/* ---- tokens.c ---- */

static inline bool cli_is_operator(char byte)
{
    return byte == '=' || byte == '<' || byte == '>' || byte == '!';
}
/* A word, an operator, one of ( ) and comma, or a text without its quotes. */
typedef struct cli_token {
    char *text;
    bool quoted;
} cli_token;
/* Cuts text into tokens, in `room`, which has twice its length and two bytes. Returns how many, or SIZE_MAX where a quote is not closed
 * or there are more than `most`. */
size_t cli_tokens(const char *text, char *room, cli_token *out, size_t most);
bool cli_token_is(const cli_token *token, const char *word);

/* ---- tables.c ---- */

/* A CSV file, or a saved table, which opens at once. */
int cli_table_read(cli_session *session, const cli_table_query *args, const char *path, const char *types,
                   copse_table **out);
bool cli_table_is_saved(const char *path);
/* Puts a table where --placement says: auto goes on without a card. */
int cli_table_place(cli_session *session, copse_table *table);
/* An index on "a", or on "a,b"; and one on each of the words. */
int cli_table_index_on(cli_session *session, copse_table *table, const char *columns,
                       const copse_table_index_options *options);
int cli_table_index(cli_session *session, copse_table *table, const cli_words *columns);

/* ---- joins.c ---- */

void cli_kept_forget(cli_kept_file *file);
/* All joins of the arguments, one after the other, as a new table; NULL where there are none. */
int cli_table_join(cli_session *session, const cli_table_query *args, const copse_table *table, copse_table **out);

/* ---- describe.c ---- */

/* Rows, columns with their types, indexes. */
void cli_table_describe(const copse_table *table);
int cli_table_info(cli_session *session, const char *path, bool as_json);
int cli_table_verify(cli_session *session, const char *path, bool as_json);

/* ---- line.c: a line of the shell as the words of a command line ---- */

#define CLI_LINE_WORDS 128

typedef struct cli_line {
    char *room;
    char *words[CLI_LINE_WORDS]; /* "shell", "--where", "a = 5", ... */
    int count;
} cli_line;

/* `options` are those whose names a word may be. Returns CLI_OK or a code, having said why. */
int cli_line_split(const char *text, const cli_option *options, size_t option_count, cli_line *out);

/* ---- edit.c: lines that people type, with libedit where the machine has it ---- */

/* Words that the tab key completes; they outlive the calls below. */
void cli_edit_words(const char *const *words, size_t count);
/* The next line without its end, from the terminal (prompt) or a pipe; NULL at the end. The caller frees it. */
char *cli_edit_line(const char *prompt, bool terminal);
/* Remembers lines in a file of the home folder. */
void cli_edit_start(void);
void cli_edit_stop(void);

/* ---- print.c ---- */

int cli_table_print(cli_session *session, const copse_table *table, cli_query_format format);

/* What the files of `copse query` share. */
#pragma once

#include "copse_query.h"

#include "cli/cli.h"

typedef enum cli_query_format { CLI_FORMAT_TABLE, CLI_FORMAT_CSV, CLI_FORMAT_JSON } cli_query_format;

typedef struct cli_table_query {
    const char *input;
    cli_words where, select, sum, min, max, avg, distinct, group_by, order_by, join, asof, index, nulls;
    bool count, json, explain, no_header, quiet;
    const char *types, *delimiter, *decimal, *date_format, *on_bad, *format_name;
    uint64_t limit, offset, threads;
    cli_query_format format;
} cli_table_query;

/* ---- where.c ---- */

/* Adds all conditions of --where to a query. Returns CLI_OK or a code, having said why. */
int cli_where_add(cli_session *session, copse_query *query, const cli_words *given);
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

/* Reads the file and joins the others to it. */
int cli_tables_load(cli_session *session, const cli_table_query *args, copse_table **out);

/* ---- print.c ---- */

int cli_table_print(cli_session *session, const copse_table *table, cli_query_format format);

/* One question to a table: the words of the command line as a query, and its answer. */
#define _POSIX_C_SOURCE 200809L
#include "cli/query/query.h"

#include <stdlib.h>
#include <string.h>

/* ---- lists of columns: "a,b" or given several times ---- */

typedef copse_status (*add_fn)(copse_query *query, const char *column, int argument);

/* Calls add for each name of a list; "NAME desc" where directions are allowed. */
static copse_status add_list(copse_query *query, const char *list, add_fn add, int argument, bool directed)
{
    char *names = strdup(list);
    copse_status status = names ? COPSE_OK : COPSE_ERR_MEMORY;
    for (char *at = names, *next = NULL; status == COPSE_OK && at; at = next) {
        char *comma = strchr(at, ',');
        next = comma ? comma + 1 : NULL;
        if (comma) *comma = '\0';
        at += strspn(at, " \t");
        size_t length = strlen(at);
        while (length > 0 && (at[length - 1] == ' ' || at[length - 1] == '\t')) at[--length] = '\0';
        bool down = directed && length > 5 && strcmp(at + length - 5, " desc") == 0;
        bool up = directed && length > 4 && strcmp(at + length - 4, " asc") == 0;
        if (down || up) at[length - (down ? 5 : 4)] = '\0';
        status = add(query, at, directed ? down : argument);
    }
    free(names);
    return status;
}

static copse_status add_words(copse_query *query, const cli_words *words, add_fn add, int argument, bool directed)
{
    copse_status status = COPSE_OK;
    for (size_t i = 0; status == COPSE_OK && i < words->count; i++)
        status = add_list(query, words->words[i], add, argument, directed);
    return status;
}

static copse_status add_select(copse_query *query, const char *column, int argument)
{
    (void)argument;
    return copse_query_select(query, column);
}

static copse_status add_group(copse_query *query, const char *column, int argument)
{
    (void)argument;
    return copse_query_group_by(query, column);
}

static copse_status add_aggregate(copse_query *query, const char *column, int what)
{
    return copse_query_aggregate(query, (copse_aggregate)what, column);
}

/* ---- the query ---- */

static copse_status build(copse_query *query, const cli_table_query *args)
{
    copse_status status = add_words(query, &args->select, add_select, 0, false);
    if (status == COPSE_OK) status = add_words(query, &args->group_by, add_group, 0, false);
    if (status == COPSE_OK && args->count) status = copse_query_aggregate(query, COPSE_AGGREGATE_COUNT, NULL);
    const struct {
        const cli_words *words;
        copse_aggregate what;
    } aggregates[] = {{&args->sum, COPSE_AGGREGATE_SUM},
                      {&args->min, COPSE_AGGREGATE_MIN},
                      {&args->max, COPSE_AGGREGATE_MAX},
                      {&args->avg, COPSE_AGGREGATE_AVG},
                      {&args->distinct, COPSE_AGGREGATE_COUNT_DISTINCT}};
    for (size_t i = 0; status == COPSE_OK && i < sizeof aggregates / sizeof *aggregates; i++)
        status = add_words(query, aggregates[i].words, add_aggregate, (int)aggregates[i].what, false);
    if (status == COPSE_OK) status = add_words(query, &args->order_by, copse_query_order_by, 0, true);
    if (status == COPSE_OK) status = copse_query_limit(query, args->limit, args->offset);
    return status;
}

static int answer(cli_session *session, const cli_table_query *args, copse_query *query)
{
    copse_table *result = NULL;
    const char *text = NULL;
    if (args->explain) {
        copse_status status = copse_query_explain(query, &text);
        if (status != COPSE_OK) return cli_session_fail(session, status);
        fputs(text, stdout);
        return CLI_OK;
    }
    copse_status status = copse_query_run(query, &result);
    cli_progress_clear(&session->progress);
    int code = status == COPSE_OK ? cli_table_print(session, result, args->format) : cli_session_fail(session, status);
    copse_table_free(result);
    return code;
}

int cli_table_ask(cli_session *session, const cli_table_query *args, const copse_table *table)
{
    copse_query *query = NULL;
    copse_status status = copse_query_create(table, &query);
    if (status == COPSE_OK) status = build(query, args);
    int code = status == COPSE_OK ? CLI_OK : cli_session_fail(session, status);
    if (code == CLI_OK) code = cli_where_add(session, query, &args->where);
    if (code == CLI_OK) code = answer(session, args, query);
    copse_query_free(query);
    return code;
}

/* One question to a table: the words of the command line as a query, and its answer. */
#define _POSIX_C_SOURCE 200809L
#include "cli/query/query.h"

#include <stdlib.h>
#include <string.h>

/* ---- lists of columns: "a,b" or given several times ---- */

static void trim(char **text)
{
    *text += strspn(*text, " \t");
    size_t length = strlen(*text);
    while (length > 0 && strchr(" \t", (*text)[length - 1])) (*text)[--length] = '\0';
}

/* The end of a name in quotes, in which a doubled quote stands for one; NULL: it has none. */
static char *take_quoted(char *text)
{
    char *to = text, *from = text + 1;
    for (; *from; *to++ = *from++) {
        if (*from != '"') continue;
        if (from[1] != '"') break;
        from++;
    }
    if (*from != '"') return NULL;
    *to = '\0';
    return from + 1;
}

char *cli_next_name(char **list, char **out_rest)
{
    static char nothing[] = "";
    char *name = *list + strspn(*list, " \t"),
         *behind = *name == '"' && strchr(name + 1, '"') ? take_quoted(name) : NULL;
    char *comma = strchr(behind ? behind : name, ',');
    if (comma) *comma = '\0';
    *list = comma ? comma + 1 : NULL;
    *out_rest = behind ? behind : nothing;
    if (behind)
        trim(out_rest);
    else
        trim(&name);
    return name;
}

typedef struct question {
    copse_query *query;
    const copse_table *table;
} question;

typedef copse_status (*add_fn)(const question *q, const char *column, int argument);

/* Takes "desc" or "asc" from the end of a name, or from what is behind one in quotes. false: the latter is something else. */
static bool take_direction(char *name, char *rest, int *down)
{
    size_t length = strlen(name);
    bool quoted = *rest != '\0';
    *down = quoted ? strcmp(rest, "desc") == 0 : length > 5 && strcmp(name + length - 5, " desc") == 0;
    if (quoted) return *down || strcmp(rest, "asc") == 0;
    if (*down)
        name[length - 5] = '\0';
    else if (length > 4 && strcmp(name + length - 4, " asc") == 0)
        name[length - 4] = '\0';
    return true;
}

/* Calls add for each name of a list; "NAME desc" where directions are allowed. */
static copse_status add_list(const question *q, const char *list, add_fn add, int argument, bool directed)
{
    char *names = strdup(list);
    copse_status status = names ? COPSE_OK : COPSE_ERR_MEMORY;
    for (char *at = names; status == COPSE_OK && at;) {
        char *rest = NULL, *name = cli_next_name(&at, &rest);
        bool good = directed ? take_direction(name, rest, &argument) : *rest == '\0';
        /* What is wrong behind the quotes makes a name that is not there. */
        status = add(q, good ? name : rest, argument);
    }
    free(names);
    return status;
}

static copse_status add_words(const question *q, const cli_words *words, add_fn add, int argument, bool directed)
{
    copse_status status = COPSE_OK;
    for (size_t i = 0; status == COPSE_OK && i < words->count; i++)
        status = add_list(q, words->words[i], add, argument, directed);
    return status;
}

/* *: all columns, as in SQL. */
static copse_status add_select(const question *q, const char *column, int argument)
{
    (void)argument;
    copse_status status = COPSE_OK;
    if (strcmp(column, "*") != 0) return copse_query_select(q->query, column);
    for (uint32_t i = 0; status == COPSE_OK && i < copse_table_columns(q->table); i++)
        status = copse_query_select(q->query, copse_table_column_name(q->table, i));
    return status;
}

static copse_status add_group(const question *q, const char *column, int argument)
{
    (void)argument;
    return copse_query_group_by(q->query, column);
}

static copse_status add_aggregate(const question *q, const char *column, int what)
{
    return copse_query_aggregate(q->query, (copse_aggregate)what, column);
}

static copse_status add_order(const question *q, const char *column, int down)
{
    return copse_query_order_by(q->query, column, down);
}

/* ---- the query ---- */

static copse_status build(const question *q, const cli_table_query *args)
{
    copse_status status = add_words(q, &args->select, add_select, 0, false);
    if (status == COPSE_OK) status = add_words(q, &args->group_by, add_group, 0, false);
    if (status == COPSE_OK && args->count) status = copse_query_aggregate(q->query, COPSE_AGGREGATE_COUNT, NULL);
    const struct {
        const cli_words *words;
        copse_aggregate what;
    } aggregates[] = {{&args->sum, COPSE_AGGREGATE_SUM},
                      {&args->min, COPSE_AGGREGATE_MIN},
                      {&args->max, COPSE_AGGREGATE_MAX},
                      {&args->avg, COPSE_AGGREGATE_AVG},
                      {&args->distinct, COPSE_AGGREGATE_COUNT_DISTINCT}};
    for (size_t i = 0; status == COPSE_OK && i < sizeof aggregates / sizeof *aggregates; i++)
        status = add_words(q, aggregates[i].words, add_aggregate, (int)aggregates[i].what, false);
    if (status == COPSE_OK) status = add_words(q, &args->order_by, add_order, 0, true);
    if (status == COPSE_OK) status = copse_query_limit(q->query, args->limit, args->offset);
    return status;
}

static int answer(cli_session *session, const cli_table_query *args, copse_query *query)
{
    copse_table *result = NULL;
    const char *text = NULL;
    if (args->explain) {
        copse_status status = copse_query_explain(query, &text);
        cli_progress_clear(&session->progress);
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
    if (status == COPSE_OK) status = build(&(question){query, table}, args);
    int code = status == COPSE_OK ? CLI_OK : cli_session_fail(session, status);
    if (code == CLI_OK) code = cli_where_add(session, query, &args->where);
    if (code == CLI_OK) code = answer(session, args, query);
    copse_query_free(query);
    return code;
}

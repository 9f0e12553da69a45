/* copse query: questions to a CSV file. */
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

static copse_status make_indexes(copse_table *table, const cli_words *columns)
{
    copse_status status = COPSE_OK;
    for (size_t i = 0; status == COPSE_OK && i < columns->count; i++)
        status = copse_table_index(table, columns->words[i], NULL);
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

static int run(cli_session *session, const cli_table_query *args)
{
    copse_table *table = NULL;
    copse_query *query = NULL;
    int code = cli_tables_load(session, args, &table);
    if (code == CLI_OK) {
        copse_status status = make_indexes(table, &args->index);
        if (status == COPSE_OK) status = copse_query_create(table, &query);
        if (status == COPSE_OK) status = build(query, args);
        if (status != COPSE_OK) code = cli_session_fail(session, status);
    }
    if (code == CLI_OK) code = cli_where_add(session, query, &args->where);
    if (code == CLI_OK) code = answer(session, args, query);
    copse_query_free(query);
    copse_table_free(table);
    return code;
}

/* ---- the command line ---- */

static int check(cli_table_query *args, int count, char **positional)
{
    static const char *const formats[] = {"table", "csv", "json"};
    if (count != 1)
        return cli_usage_error("query",
                               count == 0 ? "which file?" : "one FILE is asked at a time; --join joins others");
    args->input = positional[0];
    if (args->json && args->format_name && strcmp(args->format_name, "json") != 0)
        return cli_usage_error("query", "--json and --format %s exclude each other", args->format_name);
    if (args->json) args->format_name = "json";
    for (int i = 0; args->format_name && i < 3; i++)
        if (strcmp(args->format_name, formats[i]) == 0) {
            args->format = (cli_query_format)i;
            return CLI_OK;
        }
    if (args->format_name)
        return cli_usage_error("query", "--format takes table, csv or json, not '%s'", args->format_name);
    if (args->nulls.count > 1) return cli_usage_error("query", "--null is given once, with commas between the words");
    return CLI_OK;
}

#define EXAMPLES                                                                                                       \
    "  copse query orders.csv --where 'date between 2025-03-01 and 2025-03-31' --count --sum amount\n"                 \
    "  copse query orders.csv --group-by customer --sum amount --order-by 'sum(amount) desc' --limit 5\n"              \
    "  copse query orders.csv --join 'customers.csv on customer=id' --where 'city = Oslo' --format csv\n"              \
    "  copse query trades.csv --asof 'quotes.csv on time by symbol' --select time,price,bid"

static int parse_and_run(int argc, char **argv, char **positional)
{
    cli_table_query args = {.limit = UINT64_MAX};
    const cli_option options[] = {
        {"where", 'w', CLI_WORDS, "CONDITION",
         "rows that meet it: = <> < <= > >=, between A and B,\nin (A, B), like 'A%', is [not] null, joined by and, "
         "or;\n"
         "several --where are joined by and",
         &args.where},
        {"select", 's', CLI_WORDS, "COLUMNS", "these columns, with commas between (default: all)", &args.select},
        {"count", 'c', CLI_FLAG, NULL, "the number of rows", &args.count},
        {"sum", 0, CLI_WORDS, "COLUMNS", "sums; whole numbers are exact", &args.sum},
        {"min", 0, CLI_WORDS, "COLUMNS", "smallest values", &args.min},
        {"max", 0, CLI_WORDS, "COLUMNS", "largest values", &args.max},
        {"avg", 0, CLI_WORDS, "COLUMNS", "means", &args.avg},
        {"count-distinct", 0, CLI_WORDS, "COLUMNS", "numbers of different values", &args.distinct},
        {"group-by", 'g', CLI_WORDS, "COLUMNS", "the above for each value of one or two columns", &args.group_by},
        {"order-by", 'o', CLI_WORDS, "COLUMNS", "columns of the result, each with 'desc' for the largest\nfirst",
         &args.order_by},
        {"limit", 'n', CLI_COUNT, "N", "at most N rows", &args.limit},
        {"offset", 0, CLI_COUNT, "N", "without the first N rows", &args.offset},
        {"join", 0, CLI_WORDS, "JOIN",
         "'[inner|left|semi|anti] FILE on A[=B]': with the rows of\nanother file whose B is A; columns of both that "
         "have\n"
         "the same name: right.NAME",
         &args.join},
        {"asof", 0, CLI_WORDS, "JOIN",
         "'FILE on A[=B] [by G[=H]] [tolerance N]': each row with\nthe last row of another file whose B is not above A",
         &args.asof},
        {"index", 'i', CLI_WORDS, "COLUMN", "make an index on this column first", &args.index},
        {"explain", 0, CLI_FLAG, NULL, "say how the query ran, with rows expected and found", &args.explain},
        {"format", 'f', CLI_ONCE, "FORMAT", "table, csv or json (default: table)", &args.format_name},
        {"json", 'j', CLI_FLAG, NULL, "as --format json: one object per line", &args.json},
        {"types", 0, CLI_ONCE, "TYPES",
         "'COLUMN=TYPE,...': i32, i64, u32, u64, f32, f64, bool,\ndate, timestamp or string (default: guess)",
         &args.types},
        {"delimiter", 'd', CLI_ONCE, "C", "between cells: a character or 'tab' (default: guess)", &args.delimiter},
        {"decimal", 0, CLI_ONCE, "C", "decimal point or comma: . or , (default: guess)", &args.decimal},
        {"date-format", 0, CLI_ONCE, "FORMAT", "how dates are written, such as '%d.%m.%Y'; or s, ms, us, ns",
         &args.date_format},
        {"null", 0, CLI_WORDS, "TEXT",
         "cells that stand for NULL, besides empty ones, with\ncommas between (default: NA, N/A, n/a, #N/A, <NA>,\n"
         "NULL, null, None)",
         &args.nulls},
        {"on-bad", 0, CLI_ONCE, "WHAT", "rows with a bad cell: fail, or skip (default: fail)", &args.on_bad},
        {"no-header", 0, CLI_FLAG, NULL, "the first line is data; columns are '#1', '#2', ...", &args.no_header},
        {"threads", 't', CLI_COUNT, "N", "use N threads", &args.threads},
        {"quiet", 'q', CLI_FLAG, NULL, "no remarks and no progress bar", &args.quiet},
    };
    const cli_command command = {
        .name = "query",
        .usage = "FILE [OPTIONS]",
        .description =
            "Reads a CSV file (plain or gzip; - for standard input) as a table and answers one question: rows\n"
            "that meet conditions, in an order, or counts, sums and other aggregates of them, for each group.\n"
            "\n"
            "A value is written as in the file: 42, 1.5, 2025-03-31, Oslo, 'New York'. NULL is no value: it\n"
            "meets 'is null' only, and comes first in ascending order.",
        .examples = EXAMPLES,
        .options = options,
        .option_count = sizeof options / sizeof *options,
    };
    int count = 0, code = CLI_OK;
    cli_session session;
    if (!cli_parse(&command, argc, argv, positional, &count, &code)) return code;
    code = check(&args, count, positional);
    if (code != CLI_OK) return code;
    code = cli_session_open(&session, "query", args.threads, args.quiet, NULL);
    if (code == CLI_OK) code = run(&session, &args);
    cli_session_close(&session);
    return cli_finish("query", code);
}

int copse_cli_query(int argc, char **argv)
{
    char **positional = malloc((size_t)argc * sizeof *positional);
    if (!positional) return cli_fail("query", "out of memory");
    int code = parse_and_run(argc, argv, positional);
    free(positional);
    return code;
}

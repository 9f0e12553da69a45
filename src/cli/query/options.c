/* The options that query, shell and import share. */
#include "cli/query/query.h"

#include <string.h>

static size_t copy(const cli_option *options, size_t count, cli_option *out)
{
    memcpy(out, options, count * sizeof *options);
    return count;
}

size_t cli_question_options(cli_table_query *args, cli_option *out)
{
    const cli_option options[] = {
        {"where", 'w', CLI_WORDS, "CONDITION",
         "rows that meet it: = <> < <= > >=, between A and B,\nin (A, B), like 'A%', is null, joined by and, or, not,\n"
         "( and ); several --where are joined by and",
         &args->where},
        {"select", 's', CLI_WORDS, "COLUMNS", "these columns, with commas between (default: all)", &args->select},
        {"count", 'c', CLI_FLAG, NULL, "the number of rows", &args->count},
        {"sum", 0, CLI_WORDS, "COLUMNS", "sums; whole numbers are exact", &args->sum},
        {"min", 0, CLI_WORDS, "COLUMNS", "smallest values", &args->min},
        {"max", 0, CLI_WORDS, "COLUMNS", "largest values", &args->max},
        {"avg", 0, CLI_WORDS, "COLUMNS", "means", &args->avg},
        {"count-distinct", 0, CLI_WORDS, "COLUMNS", "numbers of different values", &args->distinct},
        {"group-by", 'g', CLI_WORDS, "COLUMNS", "the above for each value of one or two columns", &args->group_by},
        {"order-by", 'o', CLI_WORDS, "COLUMNS", "columns of the result, each with 'desc' for the largest\nfirst",
         &args->order_by},
        {"limit", 'n', CLI_COUNT, "N", "at most N rows", &args->limit},
        {"offset", 0, CLI_COUNT, "N", "without the first N rows", &args->offset},
        {"join", 0, CLI_WORDS, "JOIN",
         "'[inner|left|semi|anti] FILE on A[=B] [types TYPES]': with\nthe rows of another file whose B is A, read with "
         "TYPES as\nin --types; columns of both that have the same name:\nright.NAME",
         &args->join},
        {"asof", 0, CLI_WORDS, "JOIN",
         "'FILE on A[=B] [by G[=H]] [tolerance N] [types TYPES]':\neach row with the last row of another file whose B "
         "is "
         "not\nabove A, and by N at most below it: of times 30s, 5m, 2h\nor 1d, else microseconds; of dates days",
         &args->asof},
        {"explain", 0, CLI_FLAG, NULL, "say how the query ran, with rows expected and found", &args->explain},
        {"format", 'f', CLI_ONCE, "FORMAT", "table, csv or json (default: table)", &args->format_name},
        {"json", 'j', CLI_FLAG, NULL, "as --format json: one object per line", &args->json},
    };
    return copy(options, sizeof options / sizeof *options, out);
}

size_t cli_reading_options(cli_table_query *args, cli_option *out)
{
    const cli_option options[] = {
        {"types", 0, CLI_ONCE, "TYPES",
         "'COLUMN=TYPE,...': i32, i64, u32, u64, f32, f64, bool,\ndate, timestamp or string (default: guess)",
         &args->types},
        {"delimiter", 'd', CLI_ONCE, "C", "between cells: a character or 'tab' (default: guess)", &args->delimiter},
        {"decimal", 0, CLI_ONCE, "C", "decimal point or comma: . or , (default: guess)", &args->decimal},
        {"date-format", 0, CLI_ONCE, "FORMAT", "how dates are written, such as '%d.%m.%Y'; or s, ms, us, ns",
         &args->date_format},
        {"null", 0, CLI_WORDS, "TEXT",
         "cells that stand for NULL, besides empty ones, with\ncommas between (default: NA, N/A, n/a, #N/A, <NA>,\n"
         "NULL, null, None)",
         &args->nulls},
        {"on-bad", 0, CLI_ONCE, "WHAT", "rows with a bad cell: fail, or skip (default: fail)", &args->on_bad},
        {"no-header", 0, CLI_FLAG, NULL, "the first line is data; columns are '#1', '#2', ...", &args->no_header},
        {"threads", 't', CLI_COUNT, "N", "use N threads", &args->threads},
        {"quiet", 'q', CLI_FLAG, NULL, "no remarks and no progress bar", &args->quiet},
    };
    return copy(options, sizeof options / sizeof *options, out);
}

size_t cli_place_options(cli_table_query *args, cli_option *out)
{
    const cli_option options[] = {
        {"placement", 0, CLI_ONCE, "NAME",
         "where the query runs: cpu, gpu, auto (a GPU where one\ncan be used) or emulated (a GPU's kernels run by the\n"
         "CPU, for tests); default: cpu",
         &args->place.name},
        {"device", 0, CLI_COUNT, "N", CLI_DEVICE_HELP, &args->place.device},
    };
    return copy(options, sizeof options / sizeof *options, out);
}

int cli_format_check(const char *command, cli_table_query *args)
{
    static const char *const formats[] = {"table", "csv", "json"};
    if (args->json && args->format_name && strcmp(args->format_name, "json") != 0)
        return cli_usage_error(command, "--json and --format %s exclude each other", args->format_name);
    if (args->json) args->format_name = "json";
    for (int i = 0; args->format_name && i < 3; i++)
        if (strcmp(args->format_name, formats[i]) == 0) {
            args->format = (cli_query_format)i;
            return CLI_OK;
        }
    if (args->format_name)
        return cli_usage_error(command, "--format takes table, csv or json, not '%s'", args->format_name);
    return CLI_OK;
}

int cli_reading_check(const char *command, const cli_table_query *args)
{
    if (args->nulls.count > 1) return cli_usage_error(command, "--null is given once, with commas between the words");
    return CLI_OK;
}

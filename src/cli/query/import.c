/* copse import: a CSV file as a saved table, with its indexes. */
#define _POSIX_C_SOURCE 200809L
#include "cli/query/query.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct import_args {
    cli_table_query reading;
    const char *output;
    const char *primary;
    cli_words sums;
    bool json;
} import_args;

/* "day:amount": sums of amount over ranges of day. */
static int index_sums(cli_session *session, copse_table *table, const char *given)
{
    copse_table_index_options options = COPSE_TABLE_INDEX_OPTIONS_INIT;
    const char *colon = strrchr(given, ':');
    char *column = strdup(given);
    if (!column) return cli_fail(session->command, "out of memory");
    if (!colon || colon == given || colon[1] == '\0') {
        free(column);
        return cli_usage_error(session->command, "--sums takes INDEXED:COLUMN, as in 'day:amount', not '%s'", given);
    }
    column[colon - given] = '\0';
    options.sums = colon + 1;
    copse_status status = copse_table_index(table, column, &options);
    free(column);
    return status == COPSE_OK ? CLI_OK : cli_session_fail(session, status);
}

static int make_indexes(cli_session *session, const import_args *args, copse_table *table)
{
    copse_table_index_options unique = COPSE_TABLE_INDEX_OPTIONS_INIT;
    unique.unique = 1;
    int code = args->primary ? cli_table_index_on(session, table, args->primary, &unique) : CLI_OK;
    if (code == CLI_OK) code = cli_table_index(session, table, &args->reading.index);
    for (size_t i = 0; code == CLI_OK && i < args->sums.count; i++)
        code = index_sums(session, table, args->sums.words[i]);
    return code;
}

static void report(const import_args *args, const copse_table *table, double seconds)
{
    char number[CLI_NUMBER_SIZE];
    struct stat about;
    cli_json json;
    uint64_t size = stat(args->output, &about) == 0 ? (uint64_t)about.st_size : 0;
    if (args->json) {
        cli_json_begin(&json, stdout);
        cli_json_text(&json, "file", args->output);
        cli_json_u64(&json, "file_bytes", size);
        cli_json_u64(&json, "rows", copse_table_rows(table));
        cli_json_u64(&json, "columns", copse_table_columns(table));
        cli_json_u64(&json, "indexes", copse_table_indexes(table));
        cli_json_double(&json, "seconds", seconds);
        cli_json_end(&json);
        return;
    }
    printf("%s\n", args->output);
    cli_table_describe(table);
    cli_fact("file", "%s", cli_bytes(size, number));
}

static int run(cli_session *session, const import_args *args)
{
    copse_table *table = NULL;
    double begun = cli_clock();
    int code = cli_table_read(session, &args->reading, args->reading.input, args->reading.types, &table);
    if (code == CLI_OK) code = make_indexes(session, args, table);
    if (code == CLI_OK) {
        copse_status status = copse_table_save_and_free(table, args->output);
        const double seconds = cli_clock() - begun;
        table = NULL;
        if (status == COPSE_OK) status = copse_table_open(session->ctx, args->output, &table);
        cli_progress_clear(&session->progress);
        if (status == COPSE_OK)
            report(args, table, seconds);
        else
            code = cli_session_fail(session, status);
    }
    copse_table_free(table);
    return code;
}

/* ---- the command line ---- */

static int check(import_args *args, int count, char **positional)
{
    if (count != 1)
        return cli_usage_error("import", count == 0 ? "which file?" : "one file at a time: '%s' is left over",
                               count == 0 ? "" : positional[1]);
    if (!args->output) return cli_usage_error("import", "where to? -o names the table to write");
    if (strcmp(args->output, "-") == 0)
        return cli_usage_error("import", "-o takes a file: a table cannot go to standard output, its beginning is "
                                         "written last");
    args->reading.input = positional[0];
    return cli_reading_check("import", &args->reading);
}

static int parse_and_run(int argc, char **argv, char **positional)
{
    import_args args = {.reading = {.limit = UINT64_MAX}};
    cli_option options[CLI_TABLE_OPTIONS] = {
        {"output", 'o', CLI_ONCE, "TABLE", "the file to write; an old one is replaced once the new\none is complete",
         &args.output},
        {"primary", 'p', CLI_ONCE, "COLUMNS", "the key: no two rows have the same, and none is NULL", &args.primary},
        {"index", 'i', CLI_WORDS, "COLUMNS", "an index on this column, or one on several with commas\nbetween",
         &args.reading.index},
        {"sums", 0, CLI_WORDS, "INDEXED:COLUMN",
         "keep sums of a column over ranges of an indexed one, so\nthat they cost no more than a lookup", &args.sums},
        {"json", 'j', CLI_FLAG, NULL, "print one JSON object", &args.json},
    };
    size_t option_count = 5 + cli_reading_options(&args.reading, options + 5);
    const cli_command command = {
        .name = "import",
        .usage = "FILE -o TABLE [OPTIONS]",
        .description = "Reads a CSV file (plain or gzip; - for standard input), or a saved table, makes indexes, and "
                       "saves all of\n"
                       "it as one file, which 'copse query' and 'copse shell' open at once, whatever its size. Nothing "
                       "is written\n"
                       "when a row is bad or a key comes twice: the row is named.",
        .examples = "  copse import orders.csv -o orders.table --primary id --index day --sums day:amount\n"
                    "  copse import lines.csv.gz -o lines.table --primary order,line --index product\n"
                    "  copse query orders.table --where 'id = 4711'",
        .options = options,
        .option_count = option_count,
    };
    int count = 0, code = CLI_OK;
    cli_session session;
    if (!cli_parse(&command, argc, argv, positional, &count, &code)) return code;
    code = check(&args, count, positional);
    if (code != CLI_OK) return code;
    code = cli_session_open_once(&session, "import", args.reading.threads, args.reading.quiet);
    if (code == CLI_OK) code = run(&session, &args);
    cli_session_close(&session);
    return cli_finish("import", code);
}

int copse_cli_import(int argc, char **argv)
{
    char **positional = malloc((size_t)argc * sizeof *positional);
    if (!positional) return cli_fail("import", "out of memory");
    int code = parse_and_run(argc, argv, positional);
    free(positional);
    return code;
}

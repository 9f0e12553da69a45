/* Files as tables, and their indexes. */
#define _POSIX_C_SOURCE 200809L
#include "cli/query/query.h"
#include "cli/rows.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int csv_options(cli_session *session, const cli_table_query *args, copse_table_csv_options *out)
{
    const char *delimiter = args->delimiter, *decimal = args->decimal;
    *out = (copse_table_csv_options)COPSE_TABLE_CSV_OPTIONS_INIT;
    if (delimiter) {
        bool tab = strcmp(delimiter, "tab") == 0 || strcmp(delimiter, "\\t") == 0;
        if (!tab && (strlen(delimiter) != 1 || strchr("\"\r\n", *delimiter)))
            return cli_usage_error(session->command,
                                   "--delimiter takes one character, or 'tab'; it cannot be a quote or a line end");
        out->delimiter = tab ? '\t' : (unsigned char)*delimiter;
    }
    if (decimal && strcmp(decimal, ".") != 0 && strcmp(decimal, ",") != 0)
        return cli_usage_error(session->command, "--decimal takes . or , not '%s'", decimal);
    if (decimal) out->decimal = (unsigned char)*decimal;
    if (args->on_bad && strcmp(args->on_bad, "fail") != 0 && strcmp(args->on_bad, "skip") != 0)
        return cli_usage_error(session->command, "--on-bad takes fail or skip, not '%s'", args->on_bad);
    if (args->on_bad && *args->on_bad == 's') out->flags |= COPSE_CSV_SKIP_BAD;
    if (args->no_header) out->flags |= COPSE_CSV_NO_HEADER;
    out->date_format = args->date_format;
    out->nulls = args->nulls.count > 0 ? args->nulls.words[0] : NULL;
    return CLI_OK;
}

/* What the library has to say about a file that it reads all the same. */
static void remark(void *user, const char *sentence)
{
    const cli_session *session = user;
    const char *option = strstr(sentence, "date format") ? "--date-format" : "--null or --on-bad skip";
    cli_note(session->command, "%s; %s can help", sentence, option);
}

static int read_csv(cli_session *session, const cli_table_query *args, const char *path, const char *types,
                    copse_table **out)
{
    copse_table_csv_options options;
    cli_input input;
    uint64_t skipped = 0;
    int code = csv_options(session, args, &options);
    if (code != CLI_OK) return code;
    code = cli_input_open(&input, session, path);
    if (code == CLI_OK) {
        options.types = types;
        /* A plain file is left to the library, which reads it on all threads. */
        if (input.gzip || input.file == stdin || input.size == 0) {
            options.read = cli_input_read;
            options.read_user = &input;
        }
        if (!args->quiet) options.remark = remark;
        options.remark_user = session;
        copse_status status = copse_table_read_csv(session->ctx, input.name, &options, out, &skipped);
        const char *problem = cli_input_problem(&input);
        cli_progress_clear(&session->progress);
        if (status != COPSE_OK && *problem)
            code = cli_fail(session->command, "%s: %s", input.name, problem);
        else if (status != COPSE_OK)
            code = cli_session_fail(session, status);
    }
    if (code == CLI_OK && skipped > 0 && !args->quiet)
        cli_note(session->command, "%s: left out %llu bad row%s", input.name, (unsigned long long)skipped,
                 skipped == 1 ? "" : "s");
    cli_input_close(&input);
    return code;
}

bool cli_table_is_saved(const char *path)
{
    static const char magic[] = "\211CPT\r\n\032\n";
    char start[sizeof magic - 1];
    struct stat about;
    /* What is read from a pipe is gone. */
    if (strcmp(path, "-") == 0 || stat(path, &about) != 0 || !S_ISREG(about.st_mode)) return false;
    FILE *file = fopen(path, "rb");
    bool is = file && fread(start, 1, sizeof start, file) == sizeof start && memcmp(start, magic, sizeof start) == 0;
    if (file) fclose(file);
    return is;
}

static int open_saved(cli_session *session, const char *path, const char *types, copse_table **out)
{
    if (types)
        return cli_usage_error(session->command, "--types is for CSV: '%s' is a saved table, which has its types",
                               path);
    copse_status status = copse_table_open(session->ctx, path, out);
    return status == COPSE_OK ? CLI_OK : cli_session_fail(session, status);
}

int cli_table_place(cli_session *session, copse_table *table)
{
    const bool any = session->placement == COPSE_PLACEMENT_AUTO;
    if (session->placement == COPSE_PLACEMENT_CPU) return CLI_OK;
    copse_status status = copse_table_place(table, any ? COPSE_PLACEMENT_GPU : session->placement);
    return status == COPSE_OK || any ? CLI_OK : cli_session_fail(session, status);
}

int cli_table_read(cli_session *session, const cli_table_query *args, const char *path, const char *types,
                   copse_table **out)
{
    int code =
        cli_table_is_saved(path) ? open_saved(session, path, types, out) : read_csv(session, args, path, types, out);
    return code == CLI_OK ? cli_table_place(session, *out) : code;
}

/* "a" or "a,b". */
int cli_table_index_on(cli_session *session, copse_table *table, const char *columns,
                       const copse_table_index_options *options)
{
    char *names = strdup(columns), *list[CLI_INDEX_COLUMNS + 1];
    uint32_t count = 0;
    if (!names) return cli_fail(session->command, "out of memory");
    for (char *at = names; at && count <= CLI_INDEX_COLUMNS;) {
        char *rest = NULL, *name = cli_next_name(&at, &rest);
        list[count++] = *rest ? rest : name;
    }
    copse_status status = copse_table_index_columns(table, (const char *const *)list, count, options);
    cli_progress_clear(&session->progress);
    free(names);
    return status == COPSE_OK ? CLI_OK : cli_session_fail(session, status);
}

int cli_table_index(cli_session *session, copse_table *table, const cli_words *columns)
{
    int code = CLI_OK;
    for (size_t i = 0; code == CLI_OK && i < columns->count; i++)
        code = cli_table_index_on(session, table, columns->words[i], NULL);
    return code;
}

/* What a table is: for people, for programs, and whether a saved one is sound. */
#define _POSIX_C_SOURCE 200809L
#include "cli/query/query.h"

#include <string.h>
#include <sys/stat.h>

static const char *type_name(uint32_t type)
{
    if (type == COPSE_BOOL) return "bool";
    return type == COPSE_STRING ? "string" : copse_type_name((copse_type)type);
}

/* "city, day", and what else there is to say about an index. */
static void index_text(const copse_table *table, const copse_table_index_info *info, char *out, size_t size)
{
    size_t at = 0;
    for (uint32_t i = 0; i < info->column_count && at < size; i++)
        at += (size_t)snprintf(out + at, size - at, "%s%s", i ? ", " : "",
                               copse_table_column_name(table, info->columns[i]));
    if (at < size && info->unique) at += (size_t)snprintf(out + at, size - at, " (primary key)");
    if (at < size && info->sums != UINT32_MAX)
        (void)snprintf(out + at, size - at, ", sums of %s", copse_table_column_name(table, info->sums));
}

void cli_table_describe(const copse_table *table)
{
    char number[CLI_NUMBER_SIZE], text[512];
    cli_fact("rows", "%s", cli_group(copse_table_rows(table), number));
    if (copse_table_placement(table) != COPSE_PLACEMENT_CPU)
        cli_fact("placement", "%s", copse_placement_name(copse_table_placement(table)));
    for (uint32_t i = 0; i < copse_table_columns(table); i++)
        cli_fact(i ? "" : "columns", "%s %s", copse_table_column_name(table, i),
                 type_name(copse_table_column_type(table, i)));
    for (uint32_t i = 0; i < copse_table_indexes(table); i++) {
        copse_table_index_info info = {.struct_size = sizeof info};
        if (copse_table_index_describe(table, i, &info) != COPSE_OK) continue;
        index_text(table, &info, text, sizeof text);
        cli_fact(i ? "" : "indexes", "%s", text);
    }
}

static void describe_json(const copse_table *table, const char *path, uint64_t size)
{
    char text[512];
    cli_json json;
    cli_json_begin(&json, stdout);
    cli_json_text(&json, "file", path);
    cli_json_u64(&json, "file_bytes", size);
    cli_json_u64(&json, "rows", copse_table_rows(table));
    cli_json_open(&json, "columns");
    for (uint32_t i = 0; i < copse_table_columns(table); i++)
        cli_json_text(&json, copse_table_column_name(table, i), type_name(copse_table_column_type(table, i)));
    cli_json_close(&json);
    cli_json_open(&json, "indexes");
    for (uint32_t i = 0; i < copse_table_indexes(table); i++) {
        copse_table_index_info info = {.struct_size = sizeof info};
        if (copse_table_index_describe(table, i, &info) != COPSE_OK) continue;
        index_text(table, &info, text, sizeof text);
        cli_json_u64(&json, text, info.entries);
    }
    cli_json_close(&json);
    cli_json_end(&json);
}

int cli_table_info(cli_session *session, const char *path, bool as_json)
{
    copse_table *table = NULL;
    struct stat about;
    char number[CLI_NUMBER_SIZE];
    uint64_t size = stat(path, &about) == 0 ? (uint64_t)about.st_size : 0;
    copse_status status = copse_table_open(session->ctx, path, &table);
    if (status != COPSE_OK) return cli_session_fail(session, status);
    if (as_json) {
        describe_json(table, path, size);
    } else {
        printf("%s\n", path);
        cli_table_describe(table);
        cli_fact("file", "%s", cli_bytes(size, number));
    }
    copse_table_free(table);
    return cli_finish(session->command, CLI_OK);
}

int cli_table_verify(cli_session *session, const char *path, bool as_json)
{
    copse_table *table = NULL;
    cli_json json;
    char number[CLI_NUMBER_SIZE];
    copse_status status = copse_table_open(session->ctx, path, &table);
    if (status == COPSE_OK) status = copse_table_verify(table);
    cli_progress_clear(&session->progress);
    if (as_json && !(status == COPSE_ERR_CANCELLED && cli_interrupted())) {
        cli_json_begin(&json, stdout);
        cli_json_text(&json, "file", path);
        if (status == COPSE_ERR_MEMORY)
            cli_json_null(&json, "sound"); /* that says nothing about the file */
        else
            cli_json_bool(&json, "sound", status == COPSE_OK);
        if (status == COPSE_OK) cli_json_u64(&json, "rows", copse_table_rows(table));
        if (status != COPSE_OK) cli_json_text(&json, "status", copse_status_name(status));
        if (status != COPSE_OK) cli_json_text(&json, "problem", copse_last_error(session->ctx));
        cli_json_end(&json);
    } else if (status == COPSE_OK) {
        printf("%s is sound\n", path);
        cli_fact("file", "signature, version, header, size, checksum of every block");
        cli_fact("table", "%s rows; each index has an entry for every key, and no other",
                 cli_group(copse_table_rows(table), number));
    }
    copse_table_free(table);
    return status == COPSE_OK ? CLI_OK : cli_session_fail(session, status);
}

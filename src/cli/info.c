/* copse info: what is in a snapshot. */
#define _POSIX_C_SOURCE 200809L
#include "cli/key_text.h"
#include "cli/query/query.h"

#include <stdlib.h>
#include <sys/stat.h>

/* The smallest key and the largest, or nothing where there are no entries. */
static copse_status find_extremes(const cli_session *session, cli_keys *out)
{
    copse_status status = COPSE_OK;
    cli_keys largest;
    uint64_t n = 0;
    cli_keys_start(out, session->stats.key_type);
    cli_keys_start(&largest, session->stats.key_type);
    if (!cli_keys_reserve(out, 1, COPSE_LONGEST_KEY) || !cli_keys_reserve(&largest, 1, COPSE_LONGEST_KEY))
        status = COPSE_ERR_MEMORY;
    if (status == COPSE_OK) status = copse_first(session->index, 1, cli_keys_out(out), NULL, &n);
    if (status == COPSE_OK) status = copse_last(session->index, 1, cli_keys_out(&largest), NULL, &n);
    if (status == COPSE_OK) out->count = n;
    if (out->count > 0 && !cli_keys_add(out, cli_keys_at(&largest, 0))) status = COPSE_ERR_MEMORY;
    cli_keys_free(&largest);
    return status;
}

static uint64_t file_size(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 ? (uint64_t)about.st_size : 0;
}

static void print_json(const cli_session *session, const char *path, const cli_keys *keys)
{
    const copse_stats *s = &session->stats;
    cli_json json;
    cli_json_begin(&json, stdout);
    cli_json_text(&json, "file", path);
    cli_json_u64(&json, "file_bytes", file_size(path));
    cli_json_u64(&json, "entries", s->entries);
    cli_json_text(&json, "key", cli_type_name(s->key_type));
    cli_json_text(&json, "value", cli_type_name(s->value_type));
    cli_json_bool(&json, "duplicates", s->duplicates != 0);
    cli_json_text(&json, "structure", copse_structure_name(s->structure));
    if (cli_session_is_open_file(session))
        cli_json_text(&json, "saved_structure", copse_structure_name(s->saved_structure));
    cli_json_text(&json, "placement", copse_placement_name(s->placement));
    cli_json_text(&json, "placement_why", s->placement_why);
    cli_json_u64(&json, "height", s->height);
    cli_json_double(&json, "fill", s->fill);
    cli_json_u64(&json, "bytes", s->bytes);
    cli_json_double(&json, "bytes_per_key", s->entries ? (double)s->bytes / (double)s->entries : 0);
    if (keys->count > 0) {
        cli_json_key(&json, "smallest", cli_keys_at(keys, 0));
        cli_json_key(&json, "largest", cli_keys_at(keys, 1));
    } else {
        cli_json_null(&json, "smallest");
        cli_json_null(&json, "largest");
    }
    cli_json_end(&json);
}

static void print_text(const cli_session *session, const char *path, const cli_keys *keys)
{
    const copse_stats *s = &session->stats;
    char number[CLI_NUMBER_SIZE], text[CLI_KEY_SHOWN];
    printf("%s\n", path);
    cli_fact("entries", "%s", cli_group(s->entries, number));
    cli_fact("keys", "%s%s", cli_type_name(s->key_type), s->duplicates ? ", duplicates kept" : "");
    cli_fact("values", "%s", cli_type_name(s->value_type));
    if (keys->count > 0) {
        cli_fact("smallest key", "%s", cli_key_show(cli_keys_at(keys, 0), text));
        cli_fact("largest key", "%s", cli_key_show(cli_keys_at(keys, 1), text));
    }
    if (cli_session_is_open_file(session))
        cli_fact("structure", "%s in the file, read on %s as %s", copse_structure_name(s->saved_structure),
                 copse_placement_name(s->placement), copse_structure_name(s->structure));
    else
        cli_fact("structure", "%s on %s", copse_structure_name(s->structure), copse_placement_name(s->placement));
    if (session->placement == COPSE_PLACEMENT_AUTO)
        cli_fact("placement", "%s: %s", copse_placement_name(s->placement), s->placement_why);
    cli_fact("height", "%u level%s", s->height, s->height == 1 ? "" : "s");
    cli_fact("fill", "%.1f%%", s->fill * 100);
    cli_fact("in memory", "%s", cli_bytes(s->bytes, number));
    if (s->entries) cli_fact("bytes per key", "%.1f", (double)s->bytes / (double)s->entries);
    cli_fact("file", "%s", cli_bytes(file_size(path), number));
}

static int describe(cli_session *session, const char *path, bool as_json)
{
    cli_keys keys;
    if (cli_table_is_saved(path)) return cli_table_info(session, path, as_json);
    int code = cli_session_load(session, path);
    if (code != CLI_OK) return code;
    copse_status status = find_extremes(session, &keys);
    if (status == COPSE_OK && as_json)
        print_json(session, path, &keys);
    else if (status == COPSE_OK)
        print_text(session, path, &keys);
    cli_keys_free(&keys);
    return status == COPSE_OK ? cli_finish(session->command, CLI_OK) : cli_session_fail(session, status);
}

int copse_cli_info(int argc, char **argv)
{
    bool as_json = false, quiet = false;
    uint64_t threads = 0;
    cli_placement where = CLI_PLACEMENT_INIT;
    const cli_option options[] = {
        {"json", 'j', CLI_FLAG, NULL, "print one JSON object", &as_json},
        {"threads", 't', CLI_COUNT, "N", "use N threads (default: COPSE_THREADS, else all cores)", &threads},
        {"quiet", 'q', CLI_FLAG, NULL, "no progress bar", &quiet},
        {"placement", 0, CLI_TEXT, "NAME", CLI_PLACEMENT_HELP, &where.name},
        {"device", 0, CLI_COUNT, "N", CLI_DEVICE_HELP, &where.device},
    };
    const cli_command command = {
        "info",
        "SNAPSHOT [OPTIONS]",
        "Describes a saved index or table: entries, types, structure, height, fill, memory, file size, smallest and "
        "largest\n"
        "key. Only what is looked at is read and checked; 'copse verify' reads all of the file. With --placement auto "
        "it\n"
        "also says why the index is where it is.",
        "  copse info orders.copse\n"
        "  copse info orders.copse --json | jq .bytes_per_key",
        options,
        sizeof options / sizeof options[0],
    };
    char **words = malloc((size_t)(argc + 1) * sizeof *words);
    int count = 0, code = CLI_FAILED;
    cli_session session = {0};
    if (!words) return cli_fail("info", "out of memory");
    if (cli_parse(&command, argc, argv, words, &count, &code)) {
        if (count == 0)
            code = cli_usage_error("info", "which snapshot? The argument is its file");
        else if (count > 1)
            code = cli_usage_error("info", "one snapshot at a time: '%s' is left over", words[1]);
        else
            code = cli_placement_read("info", &where);
        if (code == CLI_OK) code = cli_session_open(&session, "info", threads, quiet, &where);
        if (code == CLI_OK) code = describe(&session, words[0], as_json);
    }
    cli_session_close(&session);
    free(words);
    return code;
}

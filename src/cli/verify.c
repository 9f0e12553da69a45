/* copse verify: a snapshot, checked from the bytes of the file to the last node of the index. */
#include "cli/query/query.h"

#include <stdlib.h>
#include <string.h>

static int report_bad(cli_session *session, const char *path, bool as_json, copse_status status)
{
    cli_json json;
    if (as_json && !(status == COPSE_ERR_CANCELLED && cli_interrupted())) {
        cli_json_begin(&json, stdout);
        cli_json_text(&json, "file", path);
        if (status == COPSE_ERR_DEVICE || status == COPSE_ERR_MEMORY)
            cli_json_null(&json, "sound"); /* that says nothing about the file */
        else
            cli_json_bool(&json, "sound", false);
        cli_json_text(&json, "status", copse_status_name(status));
        cli_json_text(&json, "problem", copse_last_error(session->ctx));
        cli_json_end(&json);
    }
    return cli_session_fail(session, status);
}

static void report_sound(const cli_session *session, const char *path, bool as_json)
{
    const copse_stats *s = &session->stats;
    char number[CLI_NUMBER_SIZE];
    cli_json json;
    if (as_json) {
        cli_json_begin(&json, stdout);
        cli_json_text(&json, "file", path);
        cli_json_bool(&json, "sound", true);
        cli_json_u64(&json, "entries", s->entries);
        cli_json_text(&json, "structure", copse_structure_name(s->structure));
        cli_json_text(&json, "placement", copse_placement_name(s->placement));
        cli_json_end(&json);
        return;
    }
    printf("%s is sound\n", path);
    cli_fact("file", "signature, version, header, size, checksum of every block");
    cli_fact("keys", "%s in %s order%s", cli_group(s->entries, number), cli_type_name(s->key_type),
             s->duplicates ? ", duplicates allowed" : ", none twice");
    if (cli_session_is_open_file(session))
        cli_fact("index", "the file itself: fences, padding");
    else
        cli_fact("index", "%s on %s: order, node bounds, separators, counts, padding, aggregates",
                 copse_structure_name(s->structure), copse_placement_name(s->placement));
}

static int check(cli_session *session, const char *path, bool as_json)
{
    if (cli_table_is_saved(path)) return cli_table_verify(session, path, as_json);
    copse_status status = cli_session_try_load(session, path);
    if (status == COPSE_OK) status = copse_verify(session->index);
    cli_progress_clear(&session->progress);
    if (status != COPSE_OK) return report_bad(session, path, as_json, status);
    report_sound(session, path, as_json);
    return CLI_OK;
}

typedef struct verify_args {
    bool json;
    bool quiet;
    uint64_t threads;
    cli_placement where;
} verify_args;

/* Every file is checked, also after a bad one. */
static int check_all(const verify_args *args, char **paths, int count)
{
    int worst = CLI_OK;
    for (int i = 0; i < count && worst != CLI_INTERRUPTED; i++) {
        cli_session session = {0};
        int code = cli_session_open(&session, "verify", args->threads, args->quiet, &args->where);
        if (code == CLI_OK) code = check(&session, paths[i], args->json);
        cli_session_close(&session);
        if (code > worst) worst = code;
    }
    return cli_finish("verify", worst);
}

int copse_cli_verify(int argc, char **argv)
{
    verify_args args = {.where = CLI_PLACEMENT_INIT};
    const cli_option options[] = {
        {"json", 'j', CLI_FLAG, NULL, "print one JSON object per file", &args.json},
        {"threads", 't', CLI_COUNT, "N", "use N threads (default: COPSE_THREADS, else all cores)", &args.threads},
        {"quiet", 'q', CLI_FLAG, NULL, "no progress bar", &args.quiet},
        {"placement", 0, CLI_TEXT, "NAME", CLI_PLACEMENT_HELP, &args.where.name},
        {"device", 0, CLI_COUNT, "N", CLI_DEVICE_HELP, &args.where.device},
    };
    const cli_command command = {
        "verify",
        "SNAPSHOT... [OPTIONS]",
        "Checks saved indexes and tables: reads all of each file and finds out whether it is whole and unchanged since "
        "it was\n"
        "written, and whether its keys are in order. Says what was checked; exits with 1 and says what is wrong if\n"
        "anything is. With --placement gpu the tree that is made of the file on the card is checked, by the card.",
        "  copse verify orders.copse\n"
        "  copse verify backup/*.copse --json",
        options,
        sizeof options / sizeof options[0],
    };
    char **words = malloc((size_t)(argc + 1) * sizeof *words);
    int count = 0, code = CLI_FAILED;
    if (!words) return cli_fail("verify", "out of memory");
    if (cli_parse(&command, argc, argv, words, &count, &code)) {
        if (count == 0)
            code = cli_usage_error("verify", "which snapshot? Name at least one file");
        else
            code = cli_placement_read("verify", &args.where);
        if (code == CLI_OK) code = check_all(&args, words, count);
    }
    free(words);
    return code;
}

/* copse erase: takes keys, or all keys of ranges, out of a snapshot. */
#include "cli/key_text.h"
#include "cli/update.h"

#include <stdlib.h>

typedef struct eraser {
    cli_update update;
    cli_keys keys;   /* what is to go                         */
    uint64_t erased; /* entries of ranges, which went already */
} eraser;

/* ---- which keys ---- */

static bool add_keys(eraser *e, const cli_keys *keys)
{
    for (uint64_t i = 0; i < keys->count; i++)
        if (!cli_keys_add(&e->keys, cli_keys_at(keys, i))) return false;
    return true;
}

/* Keys are collected, since with --strict all of them have to be there; ranges go from the index in memory at once. */
static int answer(cli_session *session, const cli_query_args *args, const cli_query_batch *batch)
{
    eraser *e = args->user;
    uint64_t erased = 0;
    if (batch->keys) return add_keys(e, batch->keys) ? CLI_OK : cli_fail(session->command, "out of memory");
    copse_status status = copse_erase_range(session->index, &batch->ranges, &erased);
    e->erased += erased;
    return status == COPSE_OK ? CLI_OK : cli_session_fail(session, status);
}

/* ---- away with them ---- */

/* Keys that are not there, and the place of the first of them. */
static copse_status count_missing(const cli_session *session, const cli_keys *keys, uint64_t *out_missing,
                                  uint64_t *out_first)
{
    uint8_t *found = malloc((size_t)keys->count + 1);
    *out_missing = 0;
    if (!found) return COPSE_ERR_MEMORY;
    copse_status status = copse_contains(session->index, cli_keys_in(keys), keys->count, found);
    for (uint64_t i = keys->count; status == COPSE_OK && i > 0; i--) {
        if (found[i - 1]) continue;
        *out_first = i - 1;
        ++*out_missing;
    }
    free(found);
    return status;
}

static int refuse_missing(const cli_session *session, const cli_keys *keys, uint64_t missing, uint64_t first)
{
    char key[CLI_KEY_SHOWN], number[CLI_NUMBER_SIZE];
    return cli_fail(session->command, "%s key%s not there, for instance %s; nothing is written",
                    cli_group(missing, number), missing == 1 ? " is" : "s are",
                    cli_key_show(cli_keys_at(keys, first), key));
}

static int erase(cli_session *session, const cli_query_args *args)
{
    eraser *e = args->user;
    uint64_t missing = 0, first = 0, erased = 0;
    copse_status status = count_missing(session, &e->keys, &missing, &first);
    if (status == COPSE_OK && args->strict && missing > 0) return refuse_missing(session, &e->keys, missing, first);
    if (status == COPSE_OK) status = copse_erase(session->index, cli_keys_in(&e->keys), e->keys.count, &erased);
    cli_progress_clear(&session->progress);
    if (status != COPSE_OK) return cli_session_fail(session, status);
    erased += e->erased;
    int code = cli_update_save(session, &e->update, erased > 0);
    const cli_update_count counts[] = {{"erased", erased, true}, {"not_found", missing, false}};
    if (code == CLI_OK) cli_update_report(session, &e->update, counts, 2);
    return code;
}

static int check(const cli_query_args *args)
{
    eraser *e = args->user;
    e->update.path = args->path;
    e->update.json = args->json;
    e->update.quiet = args->quiet;
    return cli_update_check("erase", &e->update);
}

static int load(cli_session *session, const cli_query_args *args)
{
    eraser *e = args->user;
    int code = cli_update_load(session, &e->update, false);
    cli_keys_start(&e->keys, session->stats.key_type);
    return code;
}

static int finish(cli_session *session, const cli_query_args *args, int code)
{
    eraser *e = args->user;
    if (code == CLI_OK) code = erase(session, args);
    cli_update_end(&e->update);
    cli_keys_free(&e->keys);
    return code;
}

int copse_cli_erase(int argc, char **argv)
{
    eraser e = {.update = CLI_UPDATE_INIT};
    const cli_option more[] = {
        {"output", 'o', CLI_ONCE, "FILE", CLI_UPDATE_OUTPUT_HELP, &e.update.output},
        {"dry-run", 'n', CLI_FLAG, NULL, CLI_UPDATE_DRY_RUN_HELP, &e.update.dry_run},
    };
    const cli_query_command command = {
        .name = "erase",
        .usage = "SNAPSHOT KEY... [OPTIONS]\n       copse erase SNAPSHOT --range LOW HIGH... [OPTIONS]",
        .description =
            "Takes every entry with one of the keys out of a saved index, or with --range all entries with\n"
            "LOW <= key <= HIGH. A key that is not there is counted in the report; with --strict it is an error, and\n"
            "nothing is written. The snapshot is replaced only once the new one is complete.\n"
            "\n"
            "With - keys or ranges are read from standard input, one per line. An end of a range given as - is no\n"
            "end. Where keys are timestamps, a date as HIGH stands for its last moment.",
        .examples = "  copse erase orders.copse 1017 1018\n"
                    "  copse erase visits.copse --range - 2025-12-31 --dry-run\n"
                    "  cut -d, -f1 cancelled.csv | copse erase orders.copse - --strict -o kept.copse",
        .width = 1,
        .offers = CLI_QUERY_STRICT | CLI_QUERY_BY_RANGE,
        .answer = answer,
        .more = more,
        .more_count = sizeof more / sizeof more[0],
        .user = &e,
        .check = check,
        .load = load,
        .finish = finish,
    };
    return cli_query_run(&command, argc, argv);
}

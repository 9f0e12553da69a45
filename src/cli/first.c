/* copse first and last: the entries with the smallest and the largest keys. */
#include "cli/entries.h"

#include <stdlib.h>

typedef struct ends_args {
    const char *path;
    uint64_t count;
    uint64_t threads;
    cli_placement where;
    bool reverse;
    bool bare;
    bool json;
    bool quiet;
} ends_args;

typedef copse_status (*ends_fn)(const copse_index *index, uint64_t max, void *out_keys, void *out_values,
                                uint64_t *out_n);

/* Room for `max` keys and their values; of text it is asked first how much that takes. */
static copse_status make_room(const cli_session *session, ends_fn ends, uint64_t max, cli_keys *keys, char **values)
{
    copse_bytes sizing = COPSE_BYTES_INIT(NULL, 0, NULL, 64);
    copse_status status = COPSE_OK;
    uint64_t n = 0;
    cli_keys_start(keys, session->stats.key_type);
    if (keys->type == COPSE_BYTES) status = ends(session->index, max, &sizing, NULL, &n);
    if (status != COPSE_OK) return status;
    *values = malloc((size_t)(max + 1) * COPSE_CELL_SIZE);
    return *values && cli_keys_reserve(keys, max, sizing.needed) ? COPSE_OK : COPSE_ERR_MEMORY;
}

static int print_ends(cli_session *session, const ends_args *args, ends_fn ends)
{
    const cli_entry_style style = {.out = stdout, .json = args->json, .bare = args->bare};
    uint64_t max = args->count < copse_size(session->index) ? args->count : copse_size(session->index), n = 0;
    cli_keys keys;
    char *values = NULL;
    copse_status status = make_room(session, ends, max, &keys, &values);
    const bool no_room = status == COPSE_ERR_MEMORY;
    if (status == COPSE_OK)
        status = ends(session->index, max, cli_keys_out(&keys), cli_session_is_set(session) ? NULL : values, &n);
    keys.count = n;
    for (uint64_t i = 0; i < n && status == COPSE_OK; i++)
        cli_entry_print(session, &style, &keys, values, args->reverse ? n - 1 - i : i);
    cli_keys_free(&keys);
    free(values);
    if (no_room) return cli_fail(session->command, "out of memory");
    return status == COPSE_OK ? CLI_OK : cli_session_fail(session, status);
}

static int check_words(const char *command, ends_args *args, char **words, int count)
{
    if (count == 0) return cli_usage_error(command, "which snapshot? The first argument is its file");
    if (count > 2) return cli_usage_error(command, "a snapshot and a number are enough: '%s' is left over", words[2]);
    args->path = words[0];
    if (count == 2 && !cli_parse_count(words[1], &args->count))
        return cli_usage_error(command, "how many entries? '%s' is not a number such as 10 or 2K", words[1]);
    return cli_placement_read(command, &args->where);
}

static int run(const char *name, const char *description, const char *examples, ends_fn ends, int argc, char **argv)
{
    ends_args args = {.count = 1, .where = CLI_PLACEMENT_INIT};
    const cli_option options[] = {
        {"reverse", 'r', CLI_FLAG, NULL, "print the same entries in the opposite order", &args.reverse},
        {"bare", 'b', CLI_FLAG, NULL, "print values only", &args.bare},
        {"json", 'j', CLI_FLAG, NULL, "print one JSON object per line", &args.json},
        {"threads", 't', CLI_COUNT, "N", "use N threads (default: COPSE_THREADS, else all cores)", &args.threads},
        {"quiet", 'q', CLI_FLAG, NULL, "no progress bar, no remarks", &args.quiet},
        {"placement", 0, CLI_TEXT, "NAME", CLI_PLACEMENT_HELP, &args.where.name},
        {"device", 0, CLI_COUNT, "N", CLI_DEVICE_HELP, &args.where.device},
    };
    const cli_command command = {name,    "SNAPSHOT [N] [OPTIONS]",          description, examples,
                                 options, sizeof options / sizeof options[0]};
    char **words = malloc((size_t)(argc + 1) * sizeof *words);
    int count = 0, code = CLI_FAILED;
    cli_session session = {0};
    if (!words) return cli_fail(name, "out of memory");
    if (cli_parse(&command, argc, argv, words, &count, &code)) {
        code = check_words(name, &args, words, count);
        if (code == CLI_OK) code = cli_session_open(&session, name, args.threads, args.quiet, &args.where);
        if (code == CLI_OK) code = cli_session_load(&session, args.path);
        if (code == CLI_OK) code = cli_finish(name, print_ends(&session, &args, ends));
    }
    cli_session_close(&session);
    free(words);
    return code;
}

int copse_cli_first(int argc, char **argv)
{
    return run("first",
               "Prints the N entries with the smallest keys (default: 1), smallest first, one per line with its "
               "value.\n" CLI_KEY_HELP,
               "  copse first orders.copse\n"
               "  copse first orders.copse 10 --json",
               copse_first, argc, argv);
}

int copse_cli_last(int argc, char **argv)
{
    return run("last",
               "Prints the N entries with the largest keys (default: 1), largest first, one per line with its value;\n"
               "with --reverse the largest comes last. The last entries of a range are what 'copse range SNAPSHOT LOW\n"
               "HIGH --reverse --limit N' prints.\n" CLI_KEY_HELP,
               "  copse last visits.copse\n"
               "  copse last visits.copse 10 --reverse",
               copse_last, argc, argv);
}

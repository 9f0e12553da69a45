/* copse range: list the entries of ranges. */
#include "cli/entries.h"

typedef struct lister {
    const cli_session *session;
    cli_entry_style style;
} lister;

static bool print_entries(void *user, const cli_keys *keys, const char *values)
{
    const lister *l = user;
    for (uint64_t i = 0; i < keys->count; i++) cli_entry_print(l->session, &l->style, keys, values, i);
    return true;
}

static int answer(cli_session *session, const cli_query_args *args, const cli_query_batch *batch)
{
    lister l = {.session = session, .style = {.out = stdout, .json = args->json, .bare = args->bare, .numbered = true}};
    copse_status status = COPSE_OK;
    for (uint64_t i = 0; status == COPSE_OK && i < batch->count; i++) {
        l.style.range = batch->first + i;
        if (l.style.range > 0 && !args->json) putchar('\n');
        status = cli_entries_walk(session, batch, i, args->limit, print_entries, &l);
    }
    return status == COPSE_OK ? CLI_OK : cli_session_fail(session, status);
}

int copse_cli_range(int argc, char **argv)
{
    static const cli_query_command command = {
        .name = "range",
        .usage = "SNAPSHOT [LOW HIGH]... [OPTIONS]",
        .description =
            "Lists the entries with LOW <= key <= HIGH in the order of their keys, one per line with its value;\n"
            "without a range, all entries. Between the entries of two ranges is an empty line; with --json each\n"
            "entry has the number of its range, from 0.\n" CLI_KEY_HELP "\n"
            "\n" CLI_RANGES_HELP,
        .examples = "  copse range orders.copse 1000 1999 --limit 10\n"
                    "  copse range visits.copse 2026-11-15T08:00 2026-11-15T09:00 --open-high --json\n"
                    "  copse range orders.copse 1000 - --reverse --limit 3\n"
                    "  copse range people.copse anna annb --open-high     (all that begin with anna)",
        .width = 2,
        .offers = CLI_QUERY_BARE | CLI_QUERY_LIMIT | CLI_QUERY_REVERSE | CLI_QUERY_PLACEMENT,
        .answer = answer,
    };
    return cli_query_run(&command, argc, argv);
}

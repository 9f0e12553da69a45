/* copse count: how many entries lie in a range. */
#include "cli/cli.h"

#include <stdlib.h>

static int answer(cli_session *session, const cli_query_args *args, const cli_query_batch *batch)
{
    uint64_t *counts = malloc((size_t)batch->count * sizeof *counts);
    if (!counts) return cli_fail(session->command, "out of memory");
    copse_status status = copse_count(session->index, &batch->ranges, counts);
    int code = status == COPSE_OK ? CLI_OK : cli_session_fail(session, status);
    for (uint64_t i = 0; status == COPSE_OK && i < batch->count; i++) {
        cli_json json;
        if (args->json) {
            cli_query_echo_json(args, batch, i, &json);
            cli_json_u64(&json, "count", counts[i]);
            cli_json_end(&json);
        } else {
            cli_query_echo(session, args, batch, i);
            printf("%llu\n", (unsigned long long)counts[i]);
        }
    }
    free(counts);
    return code;
}

int copse_cli_count(int argc, char **argv)
{
    static const cli_query_command command = {
        .name = "count",
        .usage = "SNAPSHOT [LOW HIGH]... [OPTIONS]",
        .description =
            "Counts the entries with LOW <= key <= HIGH, for each range given; without a range, all entries. The\n"
            "width of a range does not matter for the speed.\n"
            "\n" CLI_RANGES_HELP,
        .examples = "  copse count orders.copse 1000 1999\n"
                    "  copse count visits.copse 2026-11-01 - --bare",
        .width = 2,
        .offers = CLI_QUERY_BARE | CLI_QUERY_PLACEMENT,
        .answer = answer,
    };
    return cli_query_run(&command, argc, argv);
}

/* copse sum: the exact sum of the values in a range. */
#include "cli/cli.h"

#include <stdlib.h>

static bool is_float(copse_type type)
{
    return type == COPSE_F32 || type == COPSE_F64;
}

static void print_answer(cli_session *session, const cli_query_args *args, const cli_query_batch *batch, uint64_t i,
                         const void *sums)
{
    bool floats = is_float(session->stats.value_type);
    char text[CLI_NUMBER_SIZE];
    cli_json json;
    if (args->json) {
        cli_query_echo_json(args, batch, i, &json);
        if (floats)
            cli_json_double(&json, "sum", ((const double *)sums)[i]);
        else
            cli_json_int128(&json, "sum", ((const copse_int128 *)sums)[i]);
        cli_json_end(&json);
        return;
    }
    cli_query_echo(session, args, batch, i);
    puts(floats ? copse_double(((const double *)sums)[i], 0, text) : cli_int128(((const copse_int128 *)sums)[i], text));
}

static int answer(cli_session *session, const cli_query_args *args, const cli_query_batch *batch)
{
    void *sums = malloc((size_t)batch->count * sizeof(copse_int128));
    if (!sums) return cli_fail(session->command, "out of memory");
    copse_status status = is_float(session->stats.value_type) ? copse_sum(session->index, &batch->ranges, sums)
                                                              : copse_sum128(session->index, &batch->ranges, sums);
    int code = status == COPSE_OK ? CLI_OK : cli_session_fail(session, status);
    for (uint64_t i = 0; status == COPSE_OK && i < batch->count; i++) print_answer(session, args, batch, i, sums);
    free(sums);
    return code;
}

int copse_cli_sum(int argc, char **argv)
{
    static const cli_query_command command = {
        .name = "sum",
        .usage = "SNAPSHOT [LOW HIGH]... [OPTIONS]",
        .description =
            "Adds up the values of the entries with LOW <= key <= HIGH, for each range given; without a range,\n"
            "of all entries. Sums of whole numbers are exact, however large; that of an empty range is 0.\n"
            "\n" CLI_RANGES_HELP,
        .examples = "  copse sum orders.copse 1000 1999\n"
                    "  printf '1 10\\n11 20\\n' | copse sum orders.copse - --json",
        .width = 2,
        .offers = CLI_QUERY_VALUES | CLI_QUERY_BARE | CLI_QUERY_PLACEMENT,
        .answer = answer,
    };
    return cli_query_run(&command, argc, argv);
}

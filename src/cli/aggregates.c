/* copse min, max and avg: what the values of a range come to. */
#include "cli/cli.h"

#include <stdlib.h>

#define NOTHING "none"

static void begin_answer(const cli_session *session, const cli_query_args *args, const cli_query_batch *batch,
                         uint64_t i, cli_json *json)
{
    if (args->json)
        cli_query_echo_json(args, batch, i, json);
    else
        cli_query_echo(session, args, batch, i);
}

/* ---- min and max ---- */

typedef copse_status (*extreme_fn)(const copse_index *index, const copse_ranges *ranges, void *out_values,
                                   uint8_t *out_found);

static void print_extreme(const cli_session *session, const cli_query_args *args, const cli_query_batch *batch,
                          uint64_t i, const void *value)
{
    char text[COPSE_CELL_TEXT] = NOTHING;
    copse_type type = session->stats.value_type;
    cli_json json;
    begin_answer(session, args, batch, i, &json);
    if (!args->json) {
        if (value) copse_cell_format(type, value, text);
        puts(text);
        return;
    }
    if (value)
        cli_json_cell(&json, session->command, type, value);
    else
        cli_json_null(&json, session->command);
    cli_json_end(&json);
}

static int answer_extreme(cli_session *session, const cli_query_args *args, const cli_query_batch *batch,
                          extreme_fn extreme)
{
    size_t size = copse_type_size(session->stats.value_type);
    char *values = malloc((size_t)batch->count * size);
    uint8_t *found = malloc((size_t)batch->count);
    int code = CLI_OK;
    if (!values || !found) {
        code = cli_fail(session->command, "out of memory");
    } else {
        copse_status status = extreme(session->index, &batch->ranges, values, found);
        if (status != COPSE_OK) code = cli_session_fail(session, status);
        for (uint64_t i = 0; status == COPSE_OK && i < batch->count; i++)
            print_extreme(session, args, batch, i, found[i] ? values + i * size : NULL);
    }
    free(values);
    free(found);
    return code;
}

static int answer_min(cli_session *session, const cli_query_args *args, const cli_query_batch *batch)
{
    return answer_extreme(session, args, batch, copse_min);
}

static int answer_max(cli_session *session, const cli_query_args *args, const cli_query_batch *batch)
{
    return answer_extreme(session, args, batch, copse_max);
}

/* ---- avg ---- */

static void print_mean(const cli_session *session, const cli_query_args *args, const cli_query_batch *batch, uint64_t i,
                       double mean, bool empty)
{
    char text[CLI_NUMBER_SIZE];
    cli_json json;
    begin_answer(session, args, batch, i, &json);
    if (!args->json) {
        puts(empty ? NOTHING : copse_double(mean, 0, text));
        return;
    }
    if (empty)
        cli_json_null(&json, "avg");
    else
        cli_json_double(&json, "avg", mean);
    cli_json_end(&json);
}

static int answer_avg(cli_session *session, const cli_query_args *args, const cli_query_batch *batch)
{
    double *means = malloc((size_t)batch->count * sizeof *means);
    uint64_t *counts = malloc((size_t)batch->count * sizeof *counts);
    int code = CLI_OK;
    if (!means || !counts) {
        code = cli_fail(session->command, "out of memory");
    } else {
        copse_status status = copse_avg(session->index, &batch->ranges, means);
        /* NaN can also be the mean of values among which there is one. */
        if (status == COPSE_OK) status = copse_count(session->index, &batch->ranges, counts);
        if (status != COPSE_OK) code = cli_session_fail(session, status);
        for (uint64_t i = 0; status == COPSE_OK && i < batch->count; i++)
            print_mean(session, args, batch, i, means[i], counts[i] == 0);
    }
    free(means);
    free(counts);
    return code;
}

/* ---- the commands ---- */

#define USAGE "SNAPSHOT [LOW HIGH]... [OPTIONS]"
#define EMPTY                                                                                                          \
    "For a range without entries it prints '" NOTHING "', and null with --json.\n"                                     \
    "\n" CLI_RANGES_HELP

int copse_cli_min(int argc, char **argv)
{
    static const cli_query_command command = {
        .name = "min",
        .usage = USAGE,
        .description =
            "Finds the smallest value of the entries with LOW <= key <= HIGH, for each range given; without a\n"
            "range, of all entries. Values that are NaN are passed over. The smallest key is what 'copse\n"
            "first' prints. " EMPTY,
        .examples = "  copse min prices.copse 2026-11-01 2026-11-30\n"
                    "  copse min prices.copse 2026-11-15 - --json",
        .width = 2,
        .offers = CLI_QUERY_VALUES | CLI_QUERY_BARE | CLI_QUERY_PLACEMENT,
        .answer = answer_min,
    };
    return cli_query_run(&command, argc, argv);
}

int copse_cli_max(int argc, char **argv)
{
    static const cli_query_command command = {
        .name = "max",
        .usage = USAGE,
        .description =
            "Finds the largest value of the entries with LOW <= key <= HIGH, for each range given; without a\n"
            "range, of all entries. Values that are NaN are passed over. The largest key is what 'copse\n"
            "last' prints. " EMPTY,
        .examples = "  copse max prices.copse 2026-11-01 2026-11-30\n"
                    "  copse max prices.copse - 2026-11-15 --open-high --json",
        .width = 2,
        .offers = CLI_QUERY_VALUES | CLI_QUERY_BARE | CLI_QUERY_PLACEMENT,
        .answer = answer_max,
    };
    return cli_query_run(&command, argc, argv);
}

int copse_cli_avg(int argc, char **argv)
{
    static const cli_query_command command = {
        .name = "avg",
        .usage = USAGE,
        .description =
            "Finds the mean of the values of the entries with LOW <= key <= HIGH, for each range given; without\n"
            "a range, of all entries. " EMPTY,
        .examples = "  copse avg prices.copse 2026-11-01 2026-11-30\n"
                    "  printf '1 10\\n11 20\\n' | copse avg orders.copse - --json",
        .width = 2,
        .offers = CLI_QUERY_VALUES | CLI_QUERY_BARE | CLI_QUERY_PLACEMENT,
        .answer = answer_avg,
    };
    return cli_query_run(&command, argc, argv);
}

/* copse range: list the entries of a range. They pass through a cursor, so that memory does not grow with the range. */
#include "cli/cli.h"

#include <stdlib.h>

#define STEP ((uint64_t)4096)

typedef struct lister {
    cli_session *session;
    const cli_query_args *args;
    copse_cursor *cursor;
    char *keys;
    char *values;
    size_t key_size;
    size_t value_size;
} lister;

static void print_entry(const lister *l, uint64_t range, const void *key, const void *value)
{
    copse_type key_type = l->session->stats.key_type, value_type = l->session->stats.value_type;
    char text[2 * CLI_CELL_TEXT];
    size_t at = 0;
    cli_json json;
    if (l->args->json) {
        cli_json_begin(&json, stdout);
        cli_json_u64(&json, "range", range);
        cli_json_cell(&json, "key", key_type, key);
        cli_json_cell(&json, "value", value_type, value);
        cli_json_end(&json);
        return;
    }
    if (!l->args->bare) {
        at = cli_cell_format(key_type, key, text);
        text[at++] = '\t';
    }
    at += cli_cell_format(value_type, value, text + at);
    text[at++] = '\n';
    fwrite(text, 1, at, stdout);
}

static copse_status list_range(lister *l, uint64_t range, const void *low, uint64_t count)
{
    copse_status status = copse_cursor_seek(l->cursor, low);
    while (status == COPSE_OK && count > 0) {
        uint64_t got = 0;
        if (cli_interrupted()) return COPSE_ERR_CANCELLED;
        status = copse_cursor_next(l->cursor, l->keys, l->values, count < STEP ? count : STEP, &got);
        if (status != COPSE_OK || got == 0) break;
        for (uint64_t i = 0; i < got; i++)
            print_entry(l, range, l->keys + i * l->key_size, l->values + i * l->value_size);
        count -= got;
    }
    return status;
}

static copse_status list_ranges(lister *l, const cli_query_batch *batch, uint64_t *counts)
{
    copse_status status =
        copse_count(l->session->index, &(copse_ranges)COPSE_BETWEEN(batch->lows, batch->highs, batch->count), counts);
    for (uint64_t i = 0; status == COPSE_OK && i < batch->count; i++) {
        uint64_t range = batch->first + i;
        uint64_t count = l->args->limit > 0 && counts[i] > l->args->limit ? l->args->limit : counts[i];
        if (range > 0 && !l->args->json) putchar('\n');
        status = list_range(l, range, (const char *)batch->lows + i * l->key_size, count);
    }
    return status;
}

static int answer(cli_session *session, const cli_query_args *args, const cli_query_batch *batch)
{
    lister l = {.session = session, .args = args};
    uint64_t *counts = malloc((size_t)batch->count * sizeof *counts);
    int code = CLI_OK;
    l.key_size = copse_type_size(session->stats.key_type);
    l.value_size = copse_type_size(session->stats.value_type);
    l.keys = malloc(STEP * l.key_size);
    l.values = malloc(STEP * l.value_size);
    if (!counts || !l.keys || !l.values) {
        code = cli_fail(session->command, "out of memory");
    } else {
        copse_status status = copse_cursor_open(session->index, NULL, &l.cursor);
        if (status == COPSE_OK) status = list_ranges(&l, batch, counts);
        if (status != COPSE_OK) code = cli_session_fail(session, status);
    }
    copse_cursor_free(l.cursor);
    free(counts);
    free(l.keys);
    free(l.values);
    return code;
}

int copse_cli_range(int argc, char **argv)
{
    static const cli_query_command command = {
        .name = "range",
        .usage = "SNAPSHOT [LOW HIGH]... [OPTIONS]",
        .description =
            "Lists the entries with LOW <= key <= HIGH in the order of their keys, one per line with its value;\n"
            "without a range, all entries. A range with LOW above HIGH is empty. Between the entries of two\n"
            "ranges is an empty line; with --json each entry has the number of its range, from 0.\n"
            "\n"
            "'min' and 'max' stand for the smallest and largest key there can be. Where keys are timestamps, a date\n"
            "stands for its first moment as LOW and for its last as HIGH. With - ranges are read from standard\n"
            "input, one per line: LOW and HIGH with a blank, tab or comma between.",
        .examples = "  copse range orders.copse 1000 1999 --limit 10\n"
                    "  copse range visits.copse 2026-11-15T08:00 2026-11-15T09:00 --json",
        .width = 2,
        .has_own_option = true,
        .answer = answer,
    };
    return cli_query_run(&command, argc, argv);
}

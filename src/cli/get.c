/* copse get: look up keys. */
#include "cli/cli.h"

#include <stdlib.h>

static void print_answer(cli_session *session, const cli_query_args *args, const cli_query_batch *batch, uint64_t i,
                         const void *value, bool found)
{
    cli_json json;
    char text[COPSE_CELL_TEXT] = "not found";
    copse_type type = session->stats.value_type;
    if (args->json) {
        cli_query_echo_json(args, batch, i, &json);
        cli_json_bool(&json, "found", found);
        if (found && type != COPSE_NONE) cli_json_cell(&json, "value", type, value);
        cli_json_end(&json);
        return;
    }
    cli_query_echo(session, args, batch, i);
    if (found && type != COPSE_NONE) copse_cell_format(type, value, text);
    puts(found && type == COPSE_NONE ? "found" : text);
}

static int answer(cli_session *session, const cli_query_args *args, const cli_query_batch *batch)
{
    size_t size = copse_type_size(session->stats.value_type);
    char *values = malloc((size_t)batch->count * size + 1);
    uint8_t *found = malloc((size_t)batch->count);
    int code = CLI_OK;
    if (!values || !found) {
        code = cli_fail(session->command, "out of memory");
    } else {
        copse_status status = copse_find(session->index, cli_keys_in(batch->keys), batch->count,
                                         cli_session_is_set(session) ? NULL : values, found);
        if (status != COPSE_OK) code = cli_session_fail(session, status);
        for (uint64_t i = 0; status == COPSE_OK && i < batch->count; i++) {
            print_answer(session, args, batch, i, values + i * size, found[i] != 0);
            session->missing += !found[i];
        }
    }
    free(values);
    free(found);
    return code;
}

int copse_cli_get(int argc, char **argv)
{
    static const cli_query_command command = {
        .name = "get",
        .usage = "SNAPSHOT KEY... [OPTIONS]",
        .description =
            "Looks up keys in a saved index and prints each with its value, in the order asked; with 'found'\n"
            "where keys have no values. A key that is not there is an answer too: it says 'not found'.\n"
            "\n"
            "Keys are written as the index has them: 42, -1.5, inf, 2026-11-15, 2026-11-15T12:34:56.5Z, or text,\n"
            "byte by byte; behind -- a key may begin with a dash. With - keys are read from standard input, one per\n"
            "line, and answered as they come; lines without anything but blanks are passed over. Where an index\n"
            "keeps several entries of one key, this prints the first of them; 'copse range SNAPSHOT KEY KEY' prints\n"
            "all.\n" CLI_KEY_HELP,
        .examples = "  copse get orders.copse 1017 1018\n"
                    "  cut -d, -f1 new.csv | copse get orders.copse - --json",
        .width = 1,
        .offers = CLI_QUERY_BARE | CLI_QUERY_STRICT | CLI_QUERY_PLACEMENT,
        .answer = answer,
    };
    return cli_query_run(&command, argc, argv);
}

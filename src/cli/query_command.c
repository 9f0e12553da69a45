/* What the commands that take keys or ranges share: their options, the way from the command line to the exit code, and how an
 * answer repeats its question. */
#include "cli/key_text.h"

#include <stdlib.h>
#include <string.h>

/* ---- options ---- */

#define MOST_OPTIONS 24

typedef struct option_list {
    cli_option option[MOST_OPTIONS];
    size_t count;
} option_list;

static void add(option_list *list, bool offered, cli_option option)
{
    if (offered && list->count < MOST_OPTIONS) list->option[list->count++] = option;
}

static void list_options(const cli_query_command *command, cli_query_args *args, option_list *out)
{
    const uint32_t offers = command->offers;
    const bool ranges = command->width == 2 || offers & CLI_QUERY_BY_RANGE;
    for (size_t i = 0; i < command->more_count; i++) add(out, true, command->more[i]);
    add(out, offers & CLI_QUERY_BY_RANGE,
        (cli_option){"range", 0, CLI_FLAG, NULL, "queries are ranges: LOW HIGH in place of each KEY", &args->by_range});
    add(out, true,
        (cli_option){"file", 'f', CLI_TEXT, "FILE", "read the queries from FILE, one per line (-: standard input)",
                     &args->file});
    add(out, ranges, (cli_option){"open-low", 0, CLI_FLAG, NULL, "ranges without LOW itself", &args->open_low});
    add(out, ranges, (cli_option){"open-high", 0, CLI_FLAG, NULL, "ranges without HIGH itself", &args->open_high});
    add(out, offers & CLI_QUERY_LIMIT,
        (cli_option){"limit", 'l', CLI_COUNT, "N", "list at most N entries of each range", &args->limit});
    add(out, offers & CLI_QUERY_REVERSE,
        (cli_option){"reverse", 'r', CLI_FLAG, NULL, "largest key first", &args->reverse});
    add(out, offers & CLI_QUERY_STRICT,
        (cli_option){"strict", 's', CLI_FLAG, NULL, "exit with 1 when a key is not found", &args->strict});
    add(out, offers & CLI_QUERY_BARE,
        (cli_option){"bare", 'b', CLI_FLAG, NULL, "print answers only, without the keys asked for", &args->bare});
    add(out, true, (cli_option){"json", 'j', CLI_FLAG, NULL, "print one JSON object per line", &args->json});
    add(out, true,
        (cli_option){"threads", 't', CLI_COUNT, "N", "use N threads (default: COPSE_THREADS, else all cores)",
                     &args->threads});
    add(out, true, (cli_option){"quiet", 'q', CLI_FLAG, NULL, "no progress bar, no remarks", &args->quiet});
    add(out, offers & CLI_QUERY_PLACEMENT,
        (cli_option){"placement", 0, CLI_TEXT, "NAME", CLI_PLACEMENT_HELP, &args->where.name});
    add(out, offers & CLI_QUERY_PLACEMENT,
        (cli_option){"device", 0, CLI_COUNT, "N", CLI_DEVICE_HELP, &args->where.device});
}

/* *count: words on the way in, those that are keys on the way out. */
static int check_words(const cli_query_command *command, cli_query_args *args, char **words, int *count)
{
    const bool ranges = command->width == 2 || args->by_range;
    if (*count == 0) return cli_usage_error(command->name, "which snapshot? The first argument is its file");
    args->path = words[0];
    int keys = *count - 1;
    if (keys == 1 && strcmp(words[1], "-") == 0 && !args->file) {
        args->file = "-";
        keys = 0;
    }
    *count = keys;
    args->whole = keys == 0 && !args->file;
    if (args->file && keys > 0)
        return cli_usage_error(command->name, "queries come from the command line or from a file, not from both");
    if (command->width == 1 && args->whole)
        return cli_usage_error(command->name, "which %s? Name some, or - to read them from standard input",
                               ranges ? "ranges" : "keys");
    if (ranges && keys % 2 != 0)
        return cli_usage_error(command->name, "ranges are pairs of keys, LOW and HIGH; '%s' is left over", words[keys]);
    if (!ranges && (args->open_low || args->open_high))
        return cli_usage_error(command->name, "--open-low and --open-high are for ranges: add --range");
    return command->check ? command->check(args) : CLI_OK;
}

/* ---- the subcommand ---- */

static int answer(cli_session *session, const cli_query_args *args, const cli_query_command *command, char **words,
                  int count)
{
    int code = command->load ? command->load(session, args) : cli_session_load(session, args->path);
    if (code == CLI_OK && command->offers & CLI_QUERY_VALUES && cli_session_is_set(session))
        code = cli_fail(command->name, "'%s' is a set: its keys have no values", args->path);
    if (code == CLI_OK) code = cli_query_answer_all(session, args, command, words + 1, count);
    if (command->finish) code = command->finish(session, args, code);
    code = cli_finish(command->name, code);
    return code == CLI_OK && args->strict && session->missing > 0 ? CLI_FAILED : code;
}

int cli_query_run(const cli_query_command *command, int argc, char **argv)
{
    cli_query_args args = {.where = CLI_PLACEMENT_INIT, .user = command->user};
    option_list options = {.count = 0};
    list_options(command, &args, &options);
    const cli_command shape = {command->name,     command->usage, command->description,
                               command->examples, options.option, options.count};
    char **words = malloc((size_t)(argc + 1) * sizeof *words);
    int count = 0, code = CLI_FAILED;
    if (!words) return cli_fail(command->name, "out of memory");
    cli_session session = {0};
    if (cli_parse(&shape, argc, argv, words, &count, &code)) {
        code = check_words(command, &args, words, &count);
        if (code == CLI_OK) code = cli_placement_read(command->name, &args.where);
        if (code == CLI_OK) code = cli_session_open(&session, command->name, args.threads, args.quiet, &args.where);
        if (code == CLI_OK) code = answer(&session, &args, command, words, count);
    }
    cli_session_close(&session);
    free(words);
    return code;
}

/* ---- the question, repeated in front of its answer ---- */

static void echo_end(const cli_session *session, const cli_keys *ends, uint64_t i)
{
    if (ends)
        cli_key_write(stdout, session->key_style, cli_keys_at(ends, i));
    else
        putchar('-');
    putchar('\t');
}

void cli_query_echo(const cli_session *session, const cli_query_args *args, const cli_query_batch *batch, uint64_t i)
{
    if (args->bare || args->whole) return;
    if (batch->keys) {
        echo_end(session, batch->keys, i);
        return;
    }
    echo_end(session, batch->lows, i);
    echo_end(session, batch->highs, i);
}

static void echo_end_json(cli_json *json, const char *name, const cli_keys *ends, uint64_t i)
{
    if (ends)
        cli_json_key(json, name, cli_keys_at(ends, i));
    else
        cli_json_null(json, name);
}

void cli_query_echo_json(const cli_query_args *args, const cli_query_batch *batch, uint64_t i, cli_json *json)
{
    cli_json_begin(json, stdout);
    if (args->whole) return;
    if (batch->keys) {
        echo_end_json(json, "key", batch->keys, i);
        return;
    }
    echo_end_json(json, "low", batch->lows, i);
    echo_end_json(json, "high", batch->highs, i);
}

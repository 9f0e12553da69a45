/* copse dump: all entries, or those of ranges, as CSV that `copse build` reads back. */
#include "cli/entries.h"
#include "cli/files.h"

typedef struct dump {
    const char *output;
    bool no_header;
    cli_text_file file;
    const cli_session *session;
    cli_entry_style style;
} dump;

static int load(cli_session *session, const cli_query_args *args)
{
    dump *d = args->user;
    int code = cli_session_load(session, args->path);
    if (code == CLI_OK) code = cli_text_file_open(&d->file, session->command, d->output);
    if (code != CLI_OK) return code;
    d->session = session;
    d->style = (cli_entry_style){.out = d->file.out, .json = args->json, .csv = true};
    if (!args->json && !d->no_header) fputs(cli_session_is_set(session) ? "key\n" : "key,value\n", d->file.out);
    return CLI_OK;
}

static bool print_entries(void *user, const cli_keys *keys, const char *values)
{
    const dump *d = user;
    for (uint64_t i = 0; i < keys->count; i++) cli_entry_print(d->session, &d->style, keys, values, i);
    return !ferror(d->file.out); /* a full disk need not be written to the end */
}

static int answer(cli_session *session, const cli_query_args *args, const cli_query_batch *batch)
{
    dump *d = args->user;
    for (uint64_t i = 0; i < batch->count; i++) {
        copse_status status = cli_entries_walk(session, batch, i, args->limit, print_entries, d);
        if (ferror(d->file.out)) return CLI_OK; /* who closes the file says so */
        if (status != COPSE_OK) return cli_session_fail(session, status);
    }
    return CLI_OK;
}

static int finish(cli_session *session, const cli_query_args *args, int code)
{
    dump *d = args->user;
    (void)session;
    return d->file.command ? cli_text_file_close(&d->file, code) : code;
}

int copse_cli_dump(int argc, char **argv)
{
    dump d = {0};
    const cli_option more[] = {
        {"output", 'o', CLI_ONCE, "FILE", "write to FILE (default: -, which is standard output)", &d.output},
        {"no-header", 0, CLI_FLAG, NULL, "leave out the first line, key,value (a set: key)", &d.no_header},
    };
    const cli_query_command command = {
        .name = "dump",
        .usage = "SNAPSHOT [LOW HIGH]... [OPTIONS]",
        .description =
            "Writes the entries of an index as CSV, in the order of their keys: all of them, or those with\n"
            "LOW <= key <= HIGH of each range given. 'copse build' makes the same index of it again: where keys are\n"
            "text, with --key-type text and --null '', where they have no values, with --value-type none. Text has\n"
            "all of its bytes; with --json each line is an object, and U+FFFD stands for bytes that are not UTF-8.\n"
            "A FILE is there only once it is complete.\n"
            "\n" CLI_RANGES_HELP,
        .examples = "  copse dump orders.copse -o orders.csv\n"
                    "  copse dump visits.copse 2026-11-15 - --no-header | gzip > recent.csv.gz",
        .width = 2,
        .offers = CLI_QUERY_LIMIT | CLI_QUERY_REVERSE | CLI_QUERY_PLACEMENT,
        .answer = answer,
        .more = more,
        .more_count = sizeof more / sizeof more[0],
        .user = &d,
        .load = load,
        .finish = finish,
    };
    return cli_query_run(&command, argc, argv);
}

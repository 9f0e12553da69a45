/* copse shell: one table, many questions. */
#define _POSIX_C_SOURCE 200809L
#include "cli/query/query.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST_COMPLETIONS 512

typedef struct shell {
    cli_session *session;
    const cli_table_query *reading; /* the command line of the shell */
    copse_table *table;
    cli_kept_files kept;
    bool terminal;
    bool failed; /* some line did */
} shell;

static void print_help(void)
{
    puts("A line is a question, in the words of the options of 'copse query', with or without dashes:\n"
         "\n"
         "  where city = 'New York' and day >= 2025-03-01 select id, amount order-by amount desc limit 5\n"
         "  where day between 2025-03-01 and 2025-03-31 count sum amount\n"
         "  group-by city, product avg amount count-distinct customer format csv\n"
         "  join customers.csv on customer=id where country = Norway count\n"
         "\n"
         "where select count sum min max avg count-distinct group-by order-by limit offset join asof explain format "
         "json;\n"
         "'copse query --help' explains each. A word in quotes is never one of them.\n"
         "\n"
         "  columns              rows, columns with their types, indexes\n"
         "  index COLUMNS        make an index on a column, or on several with commas between\n"
         "  save TABLE           write the table with its indexes, for 'copse query' and 'copse shell'\n"
         "  help                 this text\n"
         "  quit                 leave; so does the end of the input");
}

/* ---- lines that are no questions ---- */

static bool starts_with(const char *line, const char *word, const char **rest)
{
    size_t length = strlen(word);
    if (strncmp(line, word, length) != 0 || (line[length] != '\0' && line[length] != ' ' && line[length] != '\t'))
        return false;
    *rest = line + length + strspn(line + length, " \t");
    return true;
}

static int save(shell *s, const char *path)
{
    copse_status status = copse_table_save(s->table, path);
    cli_progress_clear(&s->session->progress);
    if (status != COPSE_OK) return cli_session_fail(s->session, status);
    if (s->terminal) printf("saved as %s\n", path);
    return CLI_OK;
}

static bool run_command(shell *s, const char *line, int *code)
{
    const char *rest = NULL;
    if (starts_with(line, "help", &rest))
        print_help();
    else if (starts_with(line, "columns", &rest))
        cli_table_describe(s->table);
    else if (starts_with(line, "index", &rest) && *rest)
        *code = cli_table_index_on(s->session, s->table, rest, NULL);
    else if (starts_with(line, "save", &rest) && *rest)
        *code = save(s, rest);
    else
        return false;
    return true;
}

/* ---- questions ---- */

static int ask(shell *s, const char *line)
{
    cli_table_query args = *s->reading;
    cli_option options[CLI_TABLE_OPTIONS];
    cli_line split = {0};
    char *positional[CLI_LINE_WORDS];
    copse_table *joined = NULL;
    args.limit = UINT64_MAX;
    args.kept = &s->kept;
    const size_t option_count = cli_question_options(&args, options);
    const cli_command command = {.name = "shell", .options = options, .option_count = option_count};
    int count = 0, code = cli_line_split(line, options, option_count, &split);
    if (code == CLI_OK && cli_parse(&command, split.count, split.words, positional, &count, &code)) {
        code = cli_format_check("shell", &args);
        if (code == CLI_OK) code = cli_table_join(s->session, &args, s->table, &joined);
        if (code == CLI_OK) code = cli_table_ask(s->session, &args, joined ? joined : s->table);
        copse_table_free(joined);
    }
    free(split.room);
    return code;
}

static void run_line(shell *s, char *line)
{
    int code = CLI_OK;
    line += strspn(line, " \t");
    size_t length = strlen(line);
    while (length > 0 && strchr(" \t;", line[length - 1])) line[--length] = '\0';
    if (*line == '\0' || *line == '#') return;
    if (!run_command(s, line, &code)) code = ask(s, line);
    (void)fflush(stdout);
    s->failed |= code != CLI_OK;
}

static bool is_end(const char *line)
{
    const char *rest = NULL;
    line += strspn(line, " \t");
    return (starts_with(line, "quit", &rest) || starts_with(line, "exit", &rest)) && *rest == '\0';
}

/* After Ctrl-C a terminal gets a new prompt; a pipe ends. */
static int loop(shell *s)
{
    for (;;) {
        char *line = cli_edit_line("copse> ", s->terminal);
        bool stopped = cli_interrupted();
        if (line && !stopped && is_end(line)) {
            free(line);
            return CLI_OK;
        }
        if (line && !stopped) run_line(s, line);
        bool ended = !line && !stopped;
        free(line);
        if (ended) return CLI_OK;
        if (!cli_interrupted()) continue;
        if (!s->terminal) return CLI_INTERRUPTED;
        putchar('\n');
        cli_interrupts_forget();
    }
}

/* ---- completion ---- */

static void list_words(const shell *s, const char **out, size_t *count)
{
    static const char *const own[] = {"help", "columns", "index", "save", "quit", "between", "like", "desc"};
    cli_table_query args = {0};
    cli_option options[CLI_TABLE_OPTIONS];
    const size_t option_count = cli_question_options(&args, options);
    *count = 0;
    for (size_t i = 0; i < option_count; i++) out[(*count)++] = options[i].name;
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) out[(*count)++] = own[i];
    for (uint32_t i = 0; i < copse_table_columns(s->table) && *count < MOST_COMPLETIONS; i++)
        out[(*count)++] = copse_table_column_name(s->table, i);
}

static int run(cli_session *session, const cli_table_query *reading)
{
    const char *words[MOST_COMPLETIONS];
    size_t word_count = 0;
    char number[CLI_NUMBER_SIZE];
    shell s = {
        .session = session, .reading = reading, .terminal = isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1};
    int code = cli_table_read(session, reading, reading->input, reading->types, &s.table);
    if (code == CLI_OK) code = cli_table_index(session, s.table, &reading->index);
    if (code == CLI_OK) {
        list_words(&s, words, &word_count);
        cli_edit_words(words, word_count);
        if (s.terminal) cli_edit_start();
        if (s.terminal && !reading->quiet)
            printf("%s: %s rows; 'help' explains, 'quit' leaves\n", reading->input,
                   cli_group(copse_table_rows(s.table), number));
        code = loop(&s);
        if (s.terminal) cli_edit_stop();
    }
    for (size_t i = 0; i < CLI_KEPT_FILES; i++) cli_kept_forget(&s.kept.files[i]);
    copse_table_free(s.table);
    return code == CLI_OK && s.failed && !s.terminal ? CLI_FAILED : code;
}

/* ---- the command line ---- */

static int parse_and_run(int argc, char **argv, char **positional)
{
    cli_table_query args = {.limit = UINT64_MAX, .place = CLI_PLACEMENT_INIT};
    cli_option options[CLI_TABLE_OPTIONS] = {
        {"index", 'i', CLI_WORDS, "COLUMNS", "make an index on this column first, or one on several", &args.index},
        {"format", 'f', CLI_ONCE, "FORMAT", "table, csv or json, unless a line says another\n(default: table)",
         &args.format_name},
    };
    size_t option_count = 2 + cli_place_options(&args, options + 2);
    option_count += cli_reading_options(&args, options + option_count);
    const cli_command command = {
        .name = "shell",
        .usage = "FILE [OPTIONS]",
        .description =
            "Reads a CSV file, or opens a saved table, once, and answers each line as it comes: from the terminal, "
            "with\n"
            "history and completion by the tab key where libedit is installed, or from a pipe. A line has the words "
            "of\n"
            "the options of 'copse query'; Ctrl-C stops an answer. The exit code of a pipe is 1 where a line failed.",
        .examples = "  copse shell orders.csv --index day\n"
                    "  copse> where day between 2025-03-01 and 2025-03-31 count sum amount\n"
                    "  echo \"where city = 'New York' count\" | copse shell orders.table --format csv",
        .options = options,
        .option_count = option_count,
    };
    int count = 0, code = CLI_OK;
    cli_session session;
    if (!cli_parse(&command, argc, argv, positional, &count, &code)) return code;
    if (count != 1) return cli_usage_error("shell", count == 0 ? "which file?" : "one FILE is asked at a time");
    args.input = positional[0];
    if (strcmp(args.input, "-") == 0)
        return cli_usage_error("shell", "standard input has the questions; the table comes from a file");
    code = cli_format_check("shell", &args);
    if (code == CLI_OK) code = cli_reading_check("shell", &args);
    if (code == CLI_OK) code = cli_placement_read("shell", &args.place);
    if (code != CLI_OK) return code;
    args.format_name = NULL; /* a line may have another */
    code = cli_session_open(&session, "shell", args.threads, args.quiet, &args.place);
    if (code == CLI_OK) code = run(&session, &args);
    cli_session_close(&session);
    return cli_finish("shell", code);
}

int copse_cli_shell(int argc, char **argv)
{
    char **positional = malloc((size_t)argc * sizeof *positional);
    if (!positional) return cli_fail("shell", "out of memory");
    int code = parse_and_run(argc, argv, positional);
    free(positional);
    return code;
}

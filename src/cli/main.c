/* The `copse` command: finds the subcommand and hands over. */
#include "cli/cli.h"

#include <string.h>

typedef struct subcommand {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *summary;
} subcommand;

static const subcommand subcommands[] = {
    {"demo", copse_cli_demo, "make a table, index it, ask it questions, check the answers"},
    {"devices", copse_cli_devices, "show what this machine offers and what copse uses"},
    {"query", copse_cli_query, "ask a CSV file or a saved table: conditions, sums, groups, joins"},
    {"shell", copse_cli_shell, "ask one question after the other"},
    {"import", copse_cli_import, "save a CSV file as a table with indexes, which opens at once"},
    {"build", copse_cli_build, "build an index from CSV or binary input and save it"},
    {"append", copse_cli_append, "add the rows of a CSV file to a saved index"},
    {"upsert", copse_cli_upsert, "add rows, or new values for keys that are there"},
    {"erase", copse_cli_erase, "take keys, or all keys between two, out of a saved index"},
    {"get", copse_cli_get, "look up keys"},
    {"first", copse_cli_first, "print the entries with the smallest keys"},
    {"last", copse_cli_last, "print the entries with the largest keys"},
    {"range", copse_cli_range, "list the entries between two keys"},
    {"count", copse_cli_count, "count the entries between two keys"},
    {"sum", copse_cli_sum, "add up the values between two keys"},
    {"min", copse_cli_min, "find the smallest value between two keys"},
    {"max", copse_cli_max, "find the largest value between two keys"},
    {"avg", copse_cli_avg, "find the mean of the values between two keys"},
    {"dump", copse_cli_dump, "write the entries as CSV"},
    {"info", copse_cli_info, "describe a saved index"},
    {"verify", copse_cli_verify, "check all of a saved index"},
    {"bench", copse_cli_bench, "measure speed on this machine, also against other libraries"},
};
#define SUBCOMMANDS (sizeof subcommands / sizeof subcommands[0])

static void print_help(void)
{
    puts("copse: an ordered index in memory, for batches of lookups, ranges, counts and sums.\n"
         "\n"
         "Usage: copse COMMAND [ARGUMENTS]\n"
         "\n"
         "Commands:");
    for (size_t i = 0; i < SUBCOMMANDS; i++) printf("  %-10s %s\n", subcommands[i].name, subcommands[i].summary);
    puts("  help       explain a command, as in 'copse help build'\n"
         "\n"
         "Options:\n"
         "  -h, --help     show this text\n"
         "      --version  show the version\n"
         "\n"
         "Examples:\n"
         "  copse demo\n"
         "  copse build orders.csv --key id --value amount -o orders.copse\n"
         "  copse sum orders.copse 1000 1999\n"
         "\n"
         "Results go to standard output, messages to standard error. The exit code is 0 when the job was done, 1 when\n"
         "it failed, 2 when the command line was wrong. COPSE_THREADS, COPSE_ISA and COPSE_DEVICE choose threads,\n"
         "instruction set and card.");
}

static const subcommand *find_subcommand(const char *name)
{
    for (size_t i = 0; i < SUBCOMMANDS; i++)
        if (strcmp(subcommands[i].name, name) == 0) return &subcommands[i];
    return NULL;
}

static int unknown_subcommand(const char *name)
{
    const char *names[SUBCOMMANDS + 1];
    for (size_t i = 0; i < SUBCOMMANDS; i++) names[i] = subcommands[i].name;
    names[SUBCOMMANDS] = "help";
    const char *nearest = copse_nearest(name, names, SUBCOMMANDS + 1);
    if (nearest) return cli_usage_error(NULL, "there is no command '%s'; did you mean '%s'?", name, nearest);
    return cli_usage_error(NULL, "there is no command '%s'", name);
}

static int help_on(int argc, char **argv)
{
    if (argc < 2 || strcmp(argv[1], "help") == 0 || argv[1][0] == '-') {
        print_help();
        return cli_finish(NULL, CLI_OK);
    }
    if (argc > 2) return cli_usage_error(NULL, "help explains one command at a time");
    const subcommand *found = find_subcommand(argv[1]);
    char option[] = "--help";
    char *arguments[] = {argv[1], option, NULL};
    return found ? found->run(2, arguments) : unknown_subcommand(argv[1]);
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        cli_usage_error(NULL, "a command is needed, such as 'copse demo'");
        return CLI_USAGE;
    }
    const char *name = argv[1];
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) return help_on(1, argv);
    if (strcmp(name, "help") == 0) return help_on(argc - 1, argv + 1);
    if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0 || strcmp(name, "version") == 0) {
        printf("copse %s\n", copse_version());
        return cli_finish(NULL, CLI_OK);
    }
    if (name[0] == '-') return cli_usage_error(NULL, "'%s' is not an option; a command comes first", name);
    const subcommand *found = find_subcommand(name);
    if (!found) return unknown_subcommand(name);
    cli_catch_interrupts();
    return found->run(argc - 1, argv + 1);
}

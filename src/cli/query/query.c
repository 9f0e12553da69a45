/* copse query: one question to a CSV file or a saved table. */
#include "cli/query/query.h"

#include <stdlib.h>
#include <string.h>

static int run(cli_session *session, const cli_table_query *args)
{
    copse_table *table = NULL, *joined = NULL;
    int code = cli_table_read(session, args, args->input, args->types, &table);
    bool joins = args->join.count > 0 || args->asof.count > 0;
    if (code == CLI_OK && joins) code = cli_table_join(session, args, table, &joined);
    if (code == CLI_OK && joins) code = cli_table_place(session, joined);
    if (code == CLI_OK) code = cli_table_index(session, joins ? joined : table, &args->index);
    if (code == CLI_OK) code = cli_table_ask(session, args, joins ? joined : table);
    copse_table_free(joined);
    copse_table_free(table);
    return code;
}

/* ---- the command line ---- */

/* ---- joins without quotes: --join FILE on A=B ---- */

/* How many of the words behind --join or --asof belong to it: 1 where they are quoted. */
static int words_of_join(char **words, int count)
{
    static const char *const kinds[] = {"inner", "left", "semi", "anti"};
    int at = 1;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds && count > 1; i++)
        if (strcmp(words[0], kinds[i]) == 0) at = 2;
    if (strchr(words[0], ' ') || at + 1 >= count || strcmp(words[at], "on") != 0) return 1;
    at += 2;
    while (at + 1 < count &&
           (strcmp(words[at], "by") == 0 || strcmp(words[at], "tolerance") == 0 || strcmp(words[at], "types") == 0))
        at += 2;
    return at;
}

/* The command line with such words as one, in room that the caller frees; all zero where there is no memory. */
typedef struct joined_words {
    char **words;
    char *text;
    int count;
} joined_words;

/* Writes a word behind `to` and returns the end. */
static char *put_word(char *to, const char *word, bool first)
{
    size_t length = strlen(word);
    if (!first) *to++ = ' ';
    memcpy(to, word, length + 1);
    return to + length;
}

static joined_words join_words(int argc, char **argv)
{
    size_t size = 1;
    for (int i = 0; i < argc; i++) size += strlen(argv[i]) + 2;
    joined_words j = {malloc((size_t)(argc + 1) * sizeof *j.words), malloc(size), 0};
    char *room = j.text;
    for (int i = 0; j.words && j.text && i < argc; i++) {
        bool join = i > 0 && (strcmp(argv[i - 1], "--join") == 0 || strcmp(argv[i - 1], "--asof") == 0);
        int n = join ? words_of_join(argv + i, argc - i) : 1;
        j.words[j.count++] = n > 1 ? room : argv[i];
        if (n == 1) continue;
        for (int k = 0; k < n; k++) room = put_word(room, argv[i + k], k == 0);
        room++;
        i += n - 1;
    }
    if (j.words) j.words[j.count] = NULL;
    return j;
}

static int check(cli_table_query *args, int count, char **positional)
{
    if (count != 1)
        return cli_usage_error("query",
                               count == 0 ? "which file?" : "one FILE is asked at a time; --join joins others");
    args->input = positional[0];
    int code = cli_format_check("query", args);
    return code == CLI_OK ? cli_reading_check("query", args) : code;
}

#define EXAMPLES                                                                                                       \
    "  copse query orders.csv --where 'date between 2025-03-01 and 2025-03-31' --count --sum amount\n"                 \
    "  copse query orders.csv --group-by customer --sum amount --order-by 'sum(amount) desc' --limit 5\n"              \
    "  copse query orders.csv --join 'customers.csv on customer=id' --where 'city = Oslo' --format csv\n"              \
    "  copse query trades.csv --asof 'quotes.csv on time by symbol' --select time,price,bid\n"                         \
    "  copse query orders.table --where 'id = 4711'"

static int parse_and_run(int argc, char **argv, char **positional)
{
    cli_table_query args = {.limit = UINT64_MAX, .place = CLI_PLACEMENT_INIT};
    cli_option options[CLI_TABLE_OPTIONS];
    size_t option_count = cli_question_options(&args, options);
    options[option_count++] = (cli_option){
        "index", 'i', CLI_WORDS, "COLUMNS", "make an index on this column first, or one on several", &args.index};
    option_count += cli_place_options(&args, options + option_count);
    option_count += cli_reading_options(&args, options + option_count);
    const cli_command command = {
        .name = "query",
        .usage = "FILE [OPTIONS]",
        .description =
            "Reads a CSV file (plain or gzip; - for standard input) as a table and answers one question: rows\n"
            "that meet conditions, in an order, or counts, sums and other aggregates of them, for each group.\n"
            "A table that 'copse import' saved opens at once, whatever its size; 'copse shell' takes many questions.\n"
            "\n"
            "A value is written as 42, 1.5, 2025-03-31 (whatever dates look like in the file), Oslo, 'New York', a\n"
            "column as day or \"order day\". NULL is no value: it meets 'is null' only, and comes first in ascending\n"
            "order.",
        .examples = EXAMPLES,
        .options = options,
        .option_count = option_count,
    };
    int count = 0, code = CLI_OK;
    cli_session session;
    if (!cli_parse(&command, argc, argv, positional, &count, &code)) return code;
    code = check(&args, count, positional);
    if (code == CLI_OK) code = cli_placement_read("query", &args.place);
    if (code != CLI_OK) return code;
    code = cli_session_open(&session, "query", args.threads, args.quiet, &args.place);
    if (code == CLI_OK) code = run(&session, &args);
    cli_session_close(&session);
    return cli_finish("query", code);
}

int copse_cli_query(int argc, char **argv)
{
    char **positional = malloc((size_t)argc * sizeof *positional);
    joined_words line = join_words(argc, argv);
    int code = positional && line.words && line.text ? parse_and_run(line.count, line.words, positional)
                                                     : cli_fail("query", "out of memory");
    free(line.words);
    free(line.text);
    free(positional);
    return code;
}

/* Keys and ranges from the command line, a file or standard input, for get, range, count and sum. */
#define _POSIX_C_SOURCE 200809L
#include "cli/cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BATCH ((uint64_t)65536)

typedef struct reader {
    cli_session *session;
    const cli_query_args *args;
    const cli_query_command *command;
    char *lows;
    char *highs;
    size_t key_size;
    cli_query_batch batch;
} reader;

/* ---- one word ---- */

/* On failure the sentence is in problem. */
static bool parse_key(const reader *r, const char *word, size_t length, bool ends_range, void *out, char *problem,
                      size_t problem_size)
{
    copse_type type = r->session->stats.key_type;
    bool open_end = r->command->width == 2;
    int shown = length < 60 ? (int)length : 60;
    if (open_end && length == 3 && strncmp(word, "min", 3) == 0) {
        cli_cell_smallest(type, out);
        return true;
    }
    if (open_end && length == 3 && strncmp(word, "max", 3) == 0) {
        cli_cell_largest(type, out);
        return true;
    }
    cli_cell_error error =
        ends_range ? cli_cell_parse_end(type, word, length, out) : cli_cell_parse(type, word, length, out);
    if (error == CLI_CELL_EMPTY)
        snprintf(problem, problem_size, "a key is empty");
    else if (error != CLI_CELL_OK)
        snprintf(problem, problem_size, "'%.*s' %s; the keys of %s are of type %s", shown, word,
                 cli_cell_problem(type, error), r->args->path, copse_type_name(type));
    else if (cli_cell_is_nan(type, out))
        snprintf(problem, problem_size, "NaN cannot be a key: nothing is equal to it");
    else
        return true;
    return false;
}

/* ---- batches ---- */

static int answer_batch(reader *r)
{
    if (r->batch.count == 0) return CLI_OK;
    if (cli_interrupted()) return cli_session_fail(r->session, COPSE_ERR_CANCELLED);
    r->batch.lows = r->lows;
    r->batch.highs = r->command->width == 2 ? r->highs : r->lows;
    int code = r->command->answer(r->session, r->args, &r->batch);
    r->batch.first += r->batch.count;
    r->batch.count = 0;
    return code;
}

static void *place(const reader *r, char *array)
{
    return array + r->batch.count * r->key_size;
}

static int answer_words(reader *r, char **words, int count)
{
    char problem[256];
    for (int i = 0; i < count; i += r->command->width) {
        if (!parse_key(r, words[i], strlen(words[i]), false, place(r, r->lows), problem, sizeof problem) ||
            (r->command->width == 2 &&
             !parse_key(r, words[i + 1], strlen(words[i + 1]), true, place(r, r->highs), problem, sizeof problem)))
            return cli_usage_error(r->command->name, "%s", problem);
        int code = ++r->batch.count < BATCH ? CLI_OK : answer_batch(r);
        if (code != CLI_OK) return code;
    }
    return answer_batch(r);
}

/* ---- lines ---- */

/* Cuts "LOW HIGH" (blanks, a tab or a comma between) into two words. Timestamps may hold a blank themselves when the
 * separator is a tab or comma. */
static bool cut_line(char *line, size_t length, size_t *out_first, size_t *out_second)
{
    size_t cut = strcspn(line, ",\t");
    bool by_blank = cut == length;
    if (by_blank) cut = strcspn(line, " ");
    if (cut == length) return false;
    *out_first = cut;
    line[cut] = '\0';
    for (cut++; by_blank && line[cut] == ' ';) cut++;
    *out_second = cut;
    return cut < length;
}

static bool parse_line(const reader *r, char *line, size_t length, char *problem, size_t problem_size)
{
    size_t first = length, second = 0;
    if (r->command->width == 1) return parse_key(r, line, length, false, place(r, r->lows), problem, problem_size);
    if (!cut_line(line, length, &first, &second)) {
        snprintf(problem, problem_size, "a range is two keys, LOW and HIGH, with a blank, tab or comma between");
        return false;
    }
    return parse_key(r, line, first, false, place(r, r->lows), problem, problem_size) &&
           parse_key(r, line + second, length - second, true, place(r, r->highs), problem, problem_size);
}

/* Takes blanks and the line end off the end. */
static size_t trimmed_length(char *line, size_t length)
{
    while (length > 0 && strchr(" \t\r\n", line[length - 1])) line[--length] = '\0';
    return length;
}

static int answer_lines(reader *r, FILE *file, const char *name)
{
    char *line = NULL, problem[256];
    size_t capacity = 0;
    uint64_t number = 0, batch_size = isatty(fileno(file)) == 1 ? 1 : BATCH;
    int code = CLI_OK;
    ssize_t got = 0;
    errno = 0;
    while (code == CLI_OK && !cli_interrupted() && (got = getline(&line, &capacity, file)) >= 0) {
        size_t skip = strspn(line, " \t"), length = trimmed_length(line, (size_t)got);
        number++;
        if (skip >= length) continue;
        if (!parse_line(r, line + skip, length - skip, problem, sizeof problem)) {
            answer_batch(r);
            code = cli_fail(r->command->name, "%s, line %llu: %s", name, (unsigned long long)number, problem);
        } else if (++r->batch.count >= batch_size) {
            code = answer_batch(r);
            if (batch_size == 1) fflush(stdout);
        }
    }
    free(line);
    if (code == CLI_OK && cli_interrupted()) return cli_session_fail(r->session, COPSE_ERR_CANCELLED);
    if (code == CLI_OK && ferror(file))
        code = cli_fail(r->command->name, "%s could not be read: %s", name, strerror(errno));
    return code == CLI_OK ? answer_batch(r) : code;
}

static int answer_file(reader *r, const char *path)
{
    if (strcmp(path, "-") == 0) return answer_lines(r, stdin, "standard input");
    FILE *file = fopen(path, "r");
    if (!file) return cli_fail(r->command->name, "cannot open '%s': %s", path, strerror(errno));
    int code = answer_lines(r, file, path);
    fclose(file);
    return code;
}

/* ---- the subcommand ---- */

static int answer_all(reader *r, char **words, int count)
{
    char smallest[] = "min", largest[] = "max";
    char *everything[] = {smallest, largest};
    r->key_size = copse_type_size(r->session->stats.key_type);
    r->lows = malloc(BATCH * r->key_size);
    r->highs = malloc(BATCH * r->key_size);
    int code = CLI_OK;
    if (!r->lows || !r->highs)
        code = cli_fail(r->command->name, "out of memory");
    else if (r->args->file)
        code = answer_file(r, r->args->file);
    else if (r->args->whole)
        code = answer_words(r, everything, 2);
    else
        code = answer_words(r, words, count);
    free(r->lows);
    free(r->highs);
    return code;
}

static int check_words(const cli_query_command *command, cli_query_args *args, char **words, int *count)
{
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
        return cli_usage_error(command->name, "which keys? Name some, or - to read them from standard input");
    if (keys % command->width != 0)
        return cli_usage_error(command->name, "ranges are pairs of keys, LOW and HIGH; '%s' is left over",
                               words[*count]);
    return CLI_OK;
}

#define COMMON_OPTIONS 7

/* Every query has the common options; get and range have one of their own. */
static size_t list_options(const cli_query_command *command, cli_query_args *args,
                           cli_option options[COMMON_OPTIONS + 1])
{
    const cli_option common[COMMON_OPTIONS] = {
        {"file", 'f', CLI_TEXT, "FILE", "read the queries from FILE, one per line (-: standard input)", &args->file},
        {"bare", 'b', CLI_FLAG, NULL, "print answers only, without the keys asked for", &args->bare},
        {"json", 'j', CLI_FLAG, NULL, "print one JSON object per line", &args->json},
        {"threads", 't', CLI_COUNT, "N", "use N threads (default: COPSE_THREADS, else all cores)", &args->threads},
        {"quiet", 'q', CLI_FLAG, NULL, "no progress bar", &args->quiet},
        {"placement", 0, CLI_TEXT, "NAME", CLI_PLACEMENT_HELP, &args->where.name},
        {"device", 0, CLI_COUNT, "N", CLI_DEVICE_HELP, &args->where.device},
    };
    memcpy(options, common, sizeof common);
    options[COMMON_OPTIONS] =
        command->width == 1
            ? (cli_option){"strict", 's', CLI_FLAG, NULL, "exit with 1 when a key is not found", &args->strict}
            : (cli_option){"limit", 'l', CLI_COUNT, "N", "list at most N entries of each range", &args->limit};
    return COMMON_OPTIONS + command->has_own_option;
}

int cli_query_run(const cli_query_command *command, int argc, char **argv)
{
    cli_query_args args = {.where = CLI_PLACEMENT_INIT};
    cli_option options[COMMON_OPTIONS + 1];
    size_t option_count = list_options(command, &args, options);
    const cli_command shape = {command->name,     command->usage, command->description,
                               command->examples, options,        option_count};
    char **words = malloc((size_t)(argc + 1) * sizeof *words);
    int count = 0, code = CLI_FAILED;
    if (!words) return cli_fail(command->name, "out of memory");
    cli_session session = {0};
    reader r = {.session = &session, .args = &args, .command = command};
    if (cli_parse(&shape, argc, argv, words, &count, &code)) {
        code = check_words(command, &args, words, &count);
        if (code == CLI_OK) code = cli_placement_read(command->name, &args.where);
        if (code == CLI_OK) code = cli_session_open(&session, command->name, args.threads, args.quiet, &args.where);
        if (code == CLI_OK) code = cli_session_load(&session, args.path);
        if (code == CLI_OK) code = cli_finish(command->name, answer_all(&r, words + 1, count));
        if (code == CLI_OK && args.strict && session.missing > 0) code = CLI_FAILED;
    }
    cli_session_close(&session);
    free(words);
    return code;
}

void cli_query_echo(const cli_session *session, const cli_query_args *args, const cli_query_batch *batch, uint64_t i)
{
    copse_type type = session->stats.key_type;
    size_t at = (size_t)i * copse_type_size(type);
    char text[CLI_CELL_TEXT];
    if (args->bare || args->whole) return;
    cli_cell_format(type, (const char *)batch->lows + at, text);
    printf("%s\t", text);
    if (batch->highs == batch->lows) return;
    cli_cell_format(type, (const char *)batch->highs + at, text);
    printf("%s\t", text);
}

void cli_query_echo_json(const cli_session *session, const cli_query_args *args, const cli_query_batch *batch,
                         uint64_t i, cli_json *json)
{
    copse_type type = session->stats.key_type;
    size_t at = (size_t)i * copse_type_size(type);
    cli_json_begin(json, stdout);
    if (args->whole) return;
    if (batch->highs == batch->lows) {
        cli_json_cell(json, "key", type, (const char *)batch->lows + at);
    } else {
        cli_json_cell(json, "low", type, (const char *)batch->lows + at);
        cli_json_cell(json, "high", type, (const char *)batch->highs + at);
    }
}

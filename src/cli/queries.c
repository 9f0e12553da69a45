/* Keys and ranges from the command line, a file or standard input, in batches. Where they come through a pipe, what came so far
 * is answered before the command waits for more. */
#define _POSIX_C_SOURCE 200809L
#include "cli/cli.h"
#include "cli/lines.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BATCH ((uint64_t)65536)

typedef struct reader {
    cli_session *session;
    const cli_query_args *args;
    const cli_query_command *command;
    bool ranges; /* a query is a range, not a key */
    char *lows;
    char *highs;
    size_t key_size;
    cli_query_batch batch;
    bool no_low; /* what all ranges of the batch have in common */
    bool no_high;
    char problem[256]; /* a sentence about the query that could not be read */
} reader;

typedef struct word {
    const char *text;
    size_t length;
} word;

/* ---- one word ---- */

static bool is_word(word w, const char *text)
{
    return w.length == strlen(text) && strncmp(w.text, text, w.length) == 0;
}

static bool parse_key(reader *r, word w, bool ends_day, void *out)
{
    copse_type type = r->session->stats.key_type;
    int shown = w.length < 60 ? (int)w.length : 60;
    if (r->ranges && (is_word(w, "min") || is_word(w, "max"))) {
        if (w.text[1] == 'i')
            cli_cell_smallest(type, out);
        else
            cli_cell_largest(type, out);
        return true;
    }
    cli_cell_error error =
        ends_day ? cli_cell_parse_end(type, w.text, w.length, out) : cli_cell_parse(type, w.text, w.length, out);
    if (error == CLI_CELL_EMPTY)
        snprintf(r->problem, sizeof r->problem, "a key is empty");
    else if (error != CLI_CELL_OK)
        snprintf(r->problem, sizeof r->problem, "'%.*s' %s; the keys of %s are of type %s", shown, w.text,
                 cli_cell_problem(type, error), r->args->path, copse_type_name(type));
    else if (cli_cell_is_nan(type, out))
        snprintf(r->problem, sizeof r->problem, "NaN cannot be a key: nothing is equal to it");
    else
        return true;
    return false;
}

/* ---- batches ---- */

static int answer_batch(reader *r)
{
    cli_query_batch *batch = &r->batch;
    const uint32_t flags = (r->args->open_low ? COPSE_RANGE_LOW_OPEN : 0) |
                           (r->args->open_high ? COPSE_RANGE_HIGH_OPEN : 0) |
                           (r->args->reverse ? COPSE_RANGE_DESCENDING : 0);
    if (batch->count == 0) return CLI_OK;
    if (cli_interrupted()) return cli_session_fail(r->session, COPSE_ERR_CANCELLED);
    batch->keys = r->ranges ? NULL : r->lows;
    batch->ranges = (copse_ranges)COPSE_BETWEEN(r->no_low ? NULL : r->lows, r->no_high ? NULL : r->highs, batch->count);
    batch->ranges.flags = flags;
    int code = r->command->answer(r->session, r->args, batch);
    batch->first += batch->count;
    batch->count = 0;
    return code;
}

static void *place(const reader *r, char *array)
{
    return array + r->batch.count * r->key_size;
}

/* CLI_USAGE: the query cannot be read, and `problem` says why. */
static int add_key(reader *r, word key)
{
    if (!parse_key(r, key, false, place(r, r->lows))) return CLI_USAGE;
    return ++r->batch.count < BATCH ? CLI_OK : answer_batch(r);
}

static int add_range(reader *r, word low, word high)
{
    char low_cell[CLI_CELL_SIZE], high_cell[CLI_CELL_SIZE];
    bool no_low = is_word(low, "-"), no_high = is_word(high, "-");
    int code = CLI_OK;
    if (!no_low && !parse_key(r, low, r->args->open_low, low_cell)) return CLI_USAGE;
    if (!no_high && !parse_key(r, high, !r->args->open_high, high_cell)) return CLI_USAGE;
    if (r->batch.count == BATCH || no_low != r->no_low || no_high != r->no_high) code = answer_batch(r);
    r->no_low = no_low;
    r->no_high = no_high;
    if (!no_low) memcpy(place(r, r->lows), low_cell, r->key_size);
    if (!no_high) memcpy(place(r, r->highs), high_cell, r->key_size);
    r->batch.count++;
    return code;
}

static int answer_words(reader *r, char **words, int count)
{
    int code = CLI_OK;
    for (int i = 0; i < count && code == CLI_OK; i += r->ranges ? 2 : 1) {
        word first = {words[i], strlen(words[i])};
        if (r->ranges)
            code = add_range(r, first, (word){words[i + 1], strlen(words[i + 1])});
        else
            code = add_key(r, first);
    }
    if (code == CLI_USAGE) return cli_usage_error(r->command->name, "%s", r->problem);
    return code == CLI_OK ? answer_batch(r) : code;
}

/* ---- lines ---- */

/* Cuts "LOW HIGH" (blanks, a tab or a comma between) into two words. Timestamps may hold a blank themselves when the
 * separator is a tab or comma. */
static bool cut_line(word line, word *low, word *high)
{
    size_t cut = strcspn(line.text, ",\t");
    bool by_blank = cut == line.length;
    if (by_blank) cut = strcspn(line.text, " ");
    if (line.text[cut] == '\0') return false;
    *low = (word){line.text, cut};
    for (cut++; by_blank && line.text[cut] == ' ';) cut++;
    *high = (word){line.text + cut, line.length - cut};
    return cut < line.length;
}

static int add_line(reader *r, char *text, size_t length)
{
    word low, high;
    while (length > 0 && strchr(" \t\r", text[length - 1])) text[--length] = '\0';
    size_t skip = strspn(text, " \t");
    word line = {text + skip, length - skip};
    if (skip >= length) return CLI_OK;
    if (!r->ranges) return add_key(r, line);
    if (cut_line(line, &low, &high)) return add_range(r, low, high);
    snprintf(r->problem, sizeof r->problem, "a range is two keys, LOW and HIGH, with a blank, tab or comma between");
    return CLI_USAGE;
}

/* Answers what came so far, where the next line is not there yet. */
static int answer_before_waiting(reader *r, cli_lines *lines)
{
    if (r->batch.count == 0 || !cli_lines_would_wait(lines)) return CLI_OK;
    int code = answer_batch(r);
    fflush(stdout);
    return code;
}

static int answer_lines(reader *r, cli_lines *lines, const char *name)
{
    char *line = NULL;
    size_t length = 0;
    int code = CLI_OK, got = 0;
    while (code == CLI_OK && !cli_interrupted() && (got = cli_lines_next(lines, &line, &length)) > 0) {
        code = add_line(r, line, length);
        if (code == CLI_OK) code = answer_before_waiting(r, lines);
    }
    if (code == CLI_USAGE) {
        answer_batch(r);
        return cli_fail(r->command->name, "%s, line %llu: %s", name, (unsigned long long)lines->number, r->problem);
    }
    if (code == CLI_OK && cli_interrupted()) return cli_session_fail(r->session, COPSE_ERR_CANCELLED);
    if (code == CLI_OK && got < 0) return cli_fail(r->command->name, "%s could not be read: %s", name, strerror(errno));
    return code == CLI_OK ? answer_batch(r) : code;
}

static int answer_file(reader *r, const char *path)
{
    bool is_stdin = strcmp(path, "-") == 0;
    int file = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    cli_lines lines;
    if (file < 0) return cli_fail(r->command->name, "cannot open '%s': %s", path, strerror(errno));
    cli_lines_start(&lines, file);
    int code = answer_lines(r, &lines, is_stdin ? "standard input" : path);
    cli_lines_free(&lines);
    if (!is_stdin) close(file);
    return code;
}

/* ---- all of them ---- */

int cli_query_answer_all(cli_session *session, const cli_query_args *args, const cli_query_command *command,
                         char **words, int count)
{
    reader r = {.session = session, .args = args, .command = command};
    const word no_end = {"-", 1};
    int code = CLI_OK;
    r.ranges = command->width == 2 || args->by_range;
    r.key_size = copse_type_size(session->stats.key_type);
    r.lows = malloc(BATCH * r.key_size);
    r.highs = malloc(BATCH * r.key_size);
    if (!r.lows || !r.highs) {
        code = cli_fail(command->name, "out of memory");
    } else if (args->file) {
        code = answer_file(&r, args->file);
    } else if (args->whole) {
        add_range(&r, no_end, no_end);
        code = answer_batch(&r);
    } else {
        code = answer_words(&r, words, count);
    }
    free(r.lows);
    free(r.highs);
    return code;
}

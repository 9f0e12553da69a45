/* Keys and ranges from the command line, a file or standard input, in batches. Where they come through a pipe, what came so far
 * is answered before the command waits for more. */
#define _POSIX_C_SOURCE 200809L
#include "cli/key_text.h"
#include "cli/lines.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BATCH       ((uint64_t)65536)
#define BATCH_BYTES ((uint64_t)16 << 20) /* of text */

typedef struct reader {
    cli_session *session;
    const cli_query_args *args;
    const cli_query_command *command;
    bool ranges; /* a query is a range, not a key */
    bool text;   /* keys are text                 */
    cli_keys lows;
    cli_keys highs;
    cli_query_batch batch;
    bool no_low; /* what all ranges of the batch have in common */
    bool no_high;
    uint64_t swapped;  /* ranges with LOW above HIGH */
    bool told_words;   /* a remark on min or max was made */
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

/* Adds a key to those given. */
static bool parse_key(reader *r, word w, bool ends_day, cli_keys *keys)
{
    const copse_cell_form form = {NULL, '.'};
    char shown[CLI_KEY_SHOWN];
    copse_cell_error error = COPSE_CELL_OK;
    if (r->ranges && !r->text && (is_word(w, "min") || is_word(w, "max")))
        error = cli_keys_add_limit(keys, w.text[1] == 'a') ? COPSE_CELL_OK : COPSE_CELL_MEMORY;
    else
        error = ends_day ? cli_keys_parse_end(keys, w.text, w.length) : cli_keys_parse(keys, &form, w.text, w.length);
    if (error == COPSE_CELL_EMPTY)
        snprintf(r->problem, sizeof r->problem, "a key is empty");
    else if (error == COPSE_CELL_MEMORY)
        snprintf(r->problem, sizeof r->problem, "out of memory");
    else if (error != COPSE_CELL_OK)
        snprintf(r->problem, sizeof r->problem, "%s %s; the keys of %s are of type %s",
                 cli_key_show((cli_key){COPSE_BYTES, w.text, w.length}, shown), copse_cell_problem(keys->type, error),
                 r->args->path, cli_type_name(keys->type));
    else if (copse_cell_is_nan(keys->type, cli_keys_at(keys, keys->count - 1).start))
        snprintf(r->problem, sizeof r->problem, "NaN cannot be a key: nothing is equal to it");
    else
        return true;
    return false;
}

/* What is an end of all keys elsewhere is a word among text. */
static void remark_on_word(reader *r, word w)
{
    if (!r->text || r->told_words || r->args->quiet || !(is_word(w, "min") || is_word(w, "max"))) return;
    r->told_words = true;
    cli_note(r->command->name, "keys are text, and '%.3s' is a word like any other; - is no end", w.text);
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
    r->lows.count = r->no_low ? 0 : batch->count; /* without a query that could not be read */
    r->highs.count = r->no_high ? 0 : batch->count;
    batch->keys = r->ranges ? NULL : &r->lows;
    batch->lows = r->no_low ? NULL : &r->lows;
    batch->highs = r->no_high ? NULL : &r->highs;
    batch->ranges = (copse_ranges)COPSE_BETWEEN(r->no_low ? NULL : cli_keys_in(&r->lows),
                                                r->no_high ? NULL : cli_keys_in(&r->highs), batch->count);
    batch->ranges.flags = flags;
    int code = r->command->answer(r->session, r->args, batch);
    batch->first += batch->count;
    batch->count = r->lows.count = r->highs.count = 0;
    return code;
}

static bool is_full(const reader *r)
{
    return r->batch.count == BATCH || cli_keys_bytes(&r->lows) + cli_keys_bytes(&r->highs) >= BATCH_BYTES;
}

/* CLI_USAGE: the query cannot be read, and `problem` says why. */
static int add_key(reader *r, word key)
{
    if (!parse_key(r, key, false, &r->lows)) return CLI_USAGE;
    r->batch.count++;
    return is_full(r) ? answer_batch(r) : CLI_OK;
}

/* The rules are those of the library: such a range is empty. But whoever asks for one means another. */
static void remark_on_swapped(reader *r)
{
    char low[CLI_KEY_SHOWN], high[CLI_KEY_SHOWN];
    if (r->no_low || r->no_high) return;
    const cli_key from = cli_keys_at(&r->lows, r->batch.count), to = cli_keys_at(&r->highs, r->batch.count);
    if (cli_key_compare(from, to) <= 0 || r->swapped++ > 0 || r->args->quiet) return;
    cli_note(r->command->name, "the range from %s to %s is empty: LOW is above HIGH", cli_key_show(from, low),
             cli_key_show(to, high));
}

static int add_range(reader *r, word low, word high)
{
    bool no_low = is_word(low, "-"), no_high = is_word(high, "-");
    int code = CLI_OK;
    if (is_full(r) || no_low != r->no_low || no_high != r->no_high) code = answer_batch(r);
    if (code != CLI_OK) return code;
    r->no_low = no_low;
    r->no_high = no_high;
    if (!no_low && !parse_key(r, low, r->args->open_low, &r->lows)) return CLI_USAGE;
    if (!no_high && !parse_key(r, high, !r->args->open_high, &r->highs)) return CLI_USAGE;
    remark_on_swapped(r);
    remark_on_word(r, low);
    remark_on_word(r, high);
    r->batch.count++;
    return CLI_OK;
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

/* The same for text, which may hold blanks and commas itself: a tab, or else the only place where the line can be cut. */
static bool cut_text(word line, word *low, word *high)
{
    const char *cut = memchr(line.text, '\t', line.length);
    size_t places = cut != NULL;
    for (size_t i = 0; !places && i < line.length; i++) {
        if (line.text[i] != ' ' && line.text[i] != ',') continue;
        if (cut) return false;
        cut = line.text + i;
    }
    if (!cut) return false;
    *low = (word){line.text, (size_t)(cut - line.text)};
    *high = (word){cut + 1, line.length - low->length - 1};
    return true;
}

/* A line without blanks around it; of text only the other half of a line end is no part of it. */
static word trim_line(const reader *r, char *text, size_t length)
{
    size_t from = strspn(text, " \t"), to = length;
    while (to > from && strchr(" \t\r", text[to - 1])) to--;
    if (to <= from) return (word){text, 0};
    if (r->text) return (word){text, length - (text[length - 1] == '\r')};
    text[to] = '\0';
    return (word){text + from, to - from};
}

static int add_line(reader *r, char *text, size_t length)
{
    word low, high, line = trim_line(r, text, length);
    if (line.length == 0) return CLI_OK;
    if (!r->ranges) return add_key(r, line);
    if (r->text ? cut_text(line, &low, &high) : cut_line(line, &low, &high)) return add_range(r, low, high);
    snprintf(r->problem, sizeof r->problem, "a range is two keys, LOW and HIGH, with %s between",
             r->text ? "a tab, or the only blank or comma of the line," : "a blank, tab or comma");
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

static void remark_on_all_swapped(const reader *r)
{
    char number[CLI_NUMBER_SIZE];
    if (r->swapped > 1 && !r->args->quiet)
        cli_note(r->command->name, "%s ranges have LOW above HIGH and are empty", cli_group(r->swapped, number));
}

int cli_query_answer_all(cli_session *session, const cli_query_args *args, const cli_query_command *command,
                         char **words, int count)
{
    reader r = {.session = session, .args = args, .command = command};
    const word no_end = {"-", 1};
    int code = CLI_OK;
    r.ranges = command->width == 2 || args->by_range;
    r.no_high = !r.ranges;
    r.text = session->stats.key_type == COPSE_BYTES;
    cli_keys_start(&r.lows, session->stats.key_type);
    cli_keys_start(&r.highs, session->stats.key_type);
    if (args->file) {
        code = answer_file(&r, args->file);
    } else if (args->whole) {
        add_range(&r, no_end, no_end);
        code = answer_batch(&r);
    } else {
        code = answer_words(&r, words, count);
    }
    remark_on_all_swapped(&r);
    cli_keys_free(&r.lows);
    cli_keys_free(&r.highs);
    return code;
}

/* A line of the shell: words that are names of options begin one, and what follows up to the next is its argument, quoted or not.
 *
 *   where city = 'New York' and day > 2025-01-01 sum amount group-by product
 *   --where "city = 'New York' and day > 2025-01-01" --sum amount --group-by product */
#include "cli/query/query.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

typedef struct splitter {
    const cli_option *options;
    size_t option_count;
    cli_line *out;
    char *to; /* the end of what is in out->room */
} splitter;

/* The next word, with its quotes. NULL at the end; *closed is false where a quote is not. */
static const char *next_word(const char *at, size_t *length, bool *closed)
{
    while (isspace((unsigned char)*at)) at++;
    const char *end = at;
    char quote = 0;
    for (; *end && (quote || !isspace((unsigned char)*end)); end++) {
        if (quote && *end == quote)
            quote = 0;
        else if (!quote && (*end == '\'' || *end == '"'))
            quote = *end;
    }
    *closed = !quote;
    *length = (size_t)(end - at);
    return *length > 0 ? at : NULL;
}

static const cli_option *find(const splitter *s, const char *word, size_t length)
{
    if (length > 2 && word[0] == '-' && word[1] == '-') {
        word += 2;
        length -= 2;
    }
    for (size_t i = 0; i < s->option_count; i++)
        if (strlen(s->options[i].name) == length && memcmp(s->options[i].name, word, length) == 0)
            return &s->options[i];
    return NULL;
}

/* group by, order by: as people who know SQL write them. */
static const cli_option *find_by(const splitter *s, const char *word, size_t length, const char **rest)
{
    bool group = length == 5 && memcmp(word, "group", 5) == 0, order = length == 5 && memcmp(word, "order", 5) == 0;
    size_t next = 0;
    bool closed = true;
    const char *by = group || order ? next_word(word + length, &next, &closed) : NULL;
    if (!by || next != 2 || memcmp(by, "by", 2) != 0) return NULL;
    *rest = by + 2;
    return find(s, group ? "group-by" : "order-by", 8);
}

static bool start_word(splitter *s)
{
    if (s->out->count == CLI_LINE_WORDS) return false;
    s->out->words[s->out->count++] = s->to;
    return true;
}

static void put(splitter *s, const char *text, size_t length)
{
    memcpy(s->to, text, length);
    s->to += length;
    *s->to = '\0';
}

/* 'abc', as one word and nothing else, is abc. */
static void unquote(splitter *s, char *argument)
{
    size_t length = strlen(argument);
    if (length < 2 || (*argument != '\'' && *argument != '"') || argument[length - 1] != *argument) return;
    if (memchr(argument + 1, *argument, length - 2)) return;
    memmove(argument, argument + 1, length - 2);
    argument[length - 2] = '\0';
    s->to -= 2;
}

/* Whether the argument so far wants more: then even a word that is the name of an option belongs to it, such as a column "count". */
static bool wants_more(const char *argument)
{
    size_t length = strlen(argument);
    if (length == 0 || argument[length - 1] == ',') return true;
    const char *blank = strrchr(argument, ' '), *last = blank ? blank + 1 : argument;
    return strcmp(last, "and") == 0 || strcmp(last, "or") == 0;
}

/* The argument of an option: all words up to the next one. Returns where that is. */
static const char *take_argument(splitter *s, const char *at, bool *closed)
{
    char *argument = s->to;
    size_t length = 0;
    const char *word = NULL, *rest = NULL;
    bool first = true;
    *s->to = '\0';
    while (*closed && (word = next_word(at, &length, closed)) && *closed) {
        if (!wants_more(argument) && (find(s, word, length) || find_by(s, word, length, &rest))) break;
        if (!first) put(s, " ", 1);
        put(s, word, length);
        first = false;
        at = word + length;
    }
    unquote(s, argument);
    s->to++;
    return at;
}

static int unknown(const splitter *s, const char *word, size_t length)
{
    const char *names[CLI_TABLE_OPTIONS + 4];
    char copy[64];
    size_t count = 0;
    for (; count < s->option_count && count < CLI_TABLE_OPTIONS; count++) names[count] = s->options[count].name;
    names[count++] = "help";
    names[count++] = "columns";
    names[count++] = "quit";
    snprintf(copy, sizeof copy, "%.*s", (int)(length < 60 ? length : 60), word);
    const char *near = copse_nearest(copy, names, count);
    if (near) return cli_fail("shell", "'%s' is not a word of the shell; did you mean '%s'?", copy, near);
    return cli_fail("shell", "'%s' is not a word of the shell; 'help' shows those that are", copy);
}

static int split(splitter *s, const char *at)
{
    size_t length = 0;
    bool closed = true;
    const char *word = NULL;
    while ((word = next_word(at, &length, &closed)) && closed) {
        const cli_option *option = find(s, word, length);
        at = word + length;
        if (!option) option = find_by(s, word, length, &at);
        if (!option) return unknown(s, word, length);
        if (s->out->count + 2 > CLI_LINE_WORDS || !start_word(s))
            return cli_fail("shell", "the line has too many words");
        put(s, "--", 2);
        put(s, option->name, strlen(option->name));
        s->to++;
        if (option->kind == CLI_FLAG) continue;
        (void)start_word(s);
        at = take_argument(s, at, &closed);
        if (closed && !*s->out->words[s->out->count - 1])
            return cli_fail("shell", "'%s' needs an argument: %s", option->name, option->argument);
    }
    return closed ? CLI_OK : cli_fail("shell", "a quote is not closed");
}

int cli_line_split(const char *text, const cli_option *options, size_t option_count, cli_line *out)
{
    static char name[] = "shell";
    /* Each word becomes longer by no more than two dashes, and by the name of an option whose `by` was apart. */
    *out = (cli_line){.room = malloc(4 * strlen(text) + 16)};
    if (!out->room) return cli_fail("shell", "out of memory");
    splitter s = {options, option_count, out, out->room};
    out->words[out->count++] = name;
    return split(&s, text);
}

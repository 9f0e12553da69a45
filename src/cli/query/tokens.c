/* Conditions and joins as words, operators, and texts without their quotes. */
#define _POSIX_C_SOURCE 200809L
#include "cli/query/query.h"

#include <string.h>
#include <strings.h>

/* A quoted text, in which a doubled quote stands for one. Returns the bytes that it took, 0 where it does not end. */
static size_t take_quoted(const char *text, char *room)
{
    char quote = *text;
    for (size_t i = 1; text[i]; i++) {
        if (text[i] == quote && text[i + 1] != quote) {
            *room = '\0';
            return i + 1;
        }
        if (text[i] == quote) i++;
        *room++ = text[i];
    }
    return 0;
}

/* A word, an operator, or one of ( ) and comma. */
static size_t take_plain(const char *text, char *room)
{
    size_t length = 0;
    if (strchr("(),", *text))
        length = 1;
    else if (cli_is_operator(*text))
        while (cli_is_operator(text[length])) length++;
    else
        while (text[length] && !strchr(" \t\n(),", text[length]) && !cli_is_operator(text[length])) length++;
    memcpy(room, text, length);
    room[length] = '\0';
    return length;
}

size_t cli_tokens(const char *text, char *room, cli_token *out, size_t most)
{
    size_t n = 0;
    for (const char *at = text; *at;) {
        if (*at == ' ' || *at == '\t' || *at == '\n') {
            at++;
            continue;
        }
        bool quoted = *at == '\'' || *at == '"';
        size_t taken = quoted ? take_quoted(at, room) : take_plain(at, room);
        if (taken == 0 || n == most) return SIZE_MAX;
        out[n++] = (cli_token){room, quoted};
        room += strlen(room) + 1;
        at += taken;
    }
    return n;
}

bool cli_token_is(const cli_token *token, const char *word)
{
    return !token->quoted && strcasecmp(token->text, word) == 0;
}

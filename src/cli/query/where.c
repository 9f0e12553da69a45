/* Conditions as people write them: "amount >= 100 and city in (Oslo, 'New York') or note is null". AND binds tighter than OR; several
 * --where are joined by AND, which the query takes as OR of conjunctions. */
#define _POSIX_C_SOURCE 200809L
#include "cli/query/query.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define MOST_TOKENS     4096
#define MOST_CONDITIONS 256
#define MOST_GROUPS     64

/* ---- tokens ---- */

static bool is_operator(char byte)
{
    return byte == '=' || byte == '<' || byte == '>' || byte == '!';
}

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
    else if (is_operator(*text))
        while (is_operator(text[length])) length++;
    else
        while (text[length] && !strchr(" \t\n(),", text[length]) && !is_operator(text[length])) length++;
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

/* ---- conditions ---- */

typedef enum condition_kind { COMPARED, BETWEEN, IN } condition_kind;

typedef struct condition {
    condition_kind kind;
    copse_comparison comparison;
    const char *column;
    const cli_token *values;
    size_t count; /* of values, with the commas between in a list */
} condition;

typedef struct where {
    char *text;
    cli_token *tokens;
    size_t token_count;
    condition conditions[MOST_CONDITIONS];
    size_t condition_count;
    size_t group_ends[MOST_GROUPS]; /* conditions before the end of each group */
    size_t group_count;
} where;

typedef struct parser {
    cli_session *session;
    const char *whole;
    where *out;
    size_t at;
} parser;

static int wrong(const parser *p, const char *what)
{
    const char *near = p->at < p->out->token_count ? p->out->tokens[p->at].text : "the end";
    return cli_usage_error(p->session->command, "--where '%s': %s, at '%s'", p->whole, what, near);
}

static const cli_token *peek(const parser *p)
{
    static const cli_token none = {(char *)"", true};
    return p->at < p->out->token_count ? &p->out->tokens[p->at] : &none;
}

static bool take_word(parser *p, const char *word)
{
    if (!cli_token_is(peek(p), word)) return false;
    p->at++;
    return true;
}

static bool take_value(parser *p, const cli_token **out)
{
    const cli_token *token = peek(p);
    if (p->at >= p->out->token_count || (!token->quoted && (is_operator(*token->text) || strchr("(),", *token->text))))
        return false;
    *out = token;
    p->at++;
    return true;
}

static int parse_list(parser *p, condition *c)
{
    const cli_token *value = NULL;
    c->kind = IN;
    if (!take_word(p, "(")) return wrong(p, "'in' is followed by (VALUE, ...)");
    c->values = &p->out->tokens[p->at];
    do {
        if (!take_value(p, &value)) return wrong(p, "a value is missing");
    } while (take_word(p, ","));
    c->count = (size_t)(&p->out->tokens[p->at] - c->values);
    return take_word(p, ")") ? CLI_OK : wrong(p, "a ) is missing");
}

/* like 'abc%': a prefix is all that an order can find. */
static int parse_like(parser *p, condition *c)
{
    if (!take_value(p, &c->values)) return wrong(p, "a value is missing");
    char *percent = strchr(c->values->text, '%');
    if (!percent || percent[1] != '\0' || strchr(c->values->text, '_'))
        return wrong(p, "'like' takes a beginning with one % behind it, as in 'abc%'");
    *percent = '\0';
    c->comparison = COPSE_PREFIX;
    return CLI_OK;
}

static int parse_comparison(parser *p, condition *c)
{
    static const struct {
        const char *word;
        copse_comparison comparison;
    } known[] = {
        {"=", COPSE_EQUAL},          {"==", COPSE_EQUAL}, {"<>", COPSE_NOT_EQUAL},        {"!=", COPSE_NOT_EQUAL},
        {"<=", COPSE_LESS_OR_EQUAL}, {"<", COPSE_LESS},   {">=", COPSE_GREATER_OR_EQUAL}, {">", COPSE_GREATER},
        {"prefix", COPSE_PREFIX}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (!take_word(p, known[i].word)) continue;
        c->comparison = known[i].comparison;
        return take_value(p, &c->values) ? CLI_OK : wrong(p, "a value is missing");
    }
    return wrong(p, "a comparison is missing: = <> < <= > >= between in like prefix is");
}

static int parse_condition(parser *p)
{
    const cli_token *column = NULL;
    if (p->out->condition_count == MOST_CONDITIONS) return wrong(p, "there are too many conditions");
    condition *c = &p->out->conditions[p->out->condition_count++];
    *c = (condition){.kind = COMPARED};
    if (!take_value(p, &column)) return wrong(p, "a column is missing");
    c->column = column->text;
    if (take_word(p, "between")) {
        c->kind = BETWEEN;
        c->values = &p->out->tokens[p->at];
        const cli_token *value = NULL;
        if (!take_value(p, &value) || !take_word(p, "and") || !take_value(p, &value))
            return wrong(p, "'between' is followed by LOW and HIGH");
        return CLI_OK;
    }
    if (take_word(p, "in")) return parse_list(p, c);
    if (take_word(p, "like")) return parse_like(p, c);
    if (take_word(p, "is")) {
        c->comparison = take_word(p, "not") ? COPSE_IS_NOT_NULL : COPSE_IS_NULL;
        return take_word(p, "null") ? CLI_OK : wrong(p, "'is' is followed by null or not null");
    }
    return parse_comparison(p, c);
}

static int parse_where(parser *p)
{
    where *out = p->out;
    for (;;) {
        int code = parse_condition(p);
        if (code != CLI_OK) return code;
        if (take_word(p, "and")) continue;
        if (out->group_count == MOST_GROUPS) return wrong(p, "there are too many 'or'");
        out->group_ends[out->group_count++] = out->condition_count;
        if (p->at == out->token_count) return CLI_OK;
        if (!take_word(p, "or")) return wrong(p, "'and' or 'or' is missing");
    }
}

static int open_where(cli_session *session, const char *text, where *out)
{
    parser p = {session, text, out, 0};
    out->text = malloc(2 * strlen(text) + 2);
    out->tokens = malloc(MOST_TOKENS * sizeof *out->tokens);
    if (!out->text || !out->tokens) return cli_fail(session->command, "out of memory");
    out->token_count = cli_tokens(text, out->text, out->tokens, MOST_TOKENS);
    if (out->token_count == SIZE_MAX)
        return cli_usage_error(session->command, "--where '%s': a quote is not closed, or there are too many words",
                               text);
    return parse_where(&p);
}

/* ---- into a query ---- */

static copse_value value_of(const cli_token *token)
{
    return copse_value_text(token->text, (uint32_t)strlen(token->text));
}

static copse_status add_list(copse_query *query, const condition *c)
{
    copse_value *values = malloc((c->count + 1) * sizeof *values);
    uint64_t n = 0;
    if (!values) return COPSE_ERR_MEMORY;
    for (size_t i = 0; i < c->count; i += 2) values[n++] = value_of(&c->values[i]);
    copse_status status = copse_query_in(query, c->column, values, n);
    free(values);
    return status;
}

static copse_status add_condition(copse_query *query, const condition *c)
{
    if (c->kind == IN) return add_list(query, c);
    if (c->kind == BETWEEN)
        return copse_query_between(query, c->column, value_of(&c->values[0]), value_of(&c->values[2]));
    return copse_query_where(query, c->column, c->comparison, c->values ? value_of(c->values) : copse_value_null());
}

static copse_status add_group(copse_query *query, const where *w, size_t group)
{
    copse_status status = COPSE_OK;
    for (size_t i = group ? w->group_ends[group - 1] : 0; status == COPSE_OK && i < w->group_ends[group]; i++)
        status = add_condition(query, &w->conditions[i]);
    return status;
}

/* One group of each --where, in every combination. */
static copse_status add_combinations(copse_query *query, const where *wheres, size_t count)
{
    size_t chosen[CLI_WORDS_MOST] = {0};
    for (;;) {
        copse_status status = COPSE_OK;
        for (size_t i = 0; status == COPSE_OK && i < count; i++) status = add_group(query, &wheres[i], chosen[i]);
        size_t next = 0;
        while (next < count && ++chosen[next] == wheres[next].group_count) chosen[next++] = 0;
        if (status != COPSE_OK || next == count) return status;
        status = copse_query_or(query);
        if (status != COPSE_OK) return status;
    }
}

int cli_where_add(cli_session *session, copse_query *query, const cli_words *given)
{
    where *wheres = calloc(CLI_WORDS_MOST, sizeof *wheres);
    if (!wheres) return cli_fail(session->command, "out of memory");
    int code = CLI_OK;
    for (size_t i = 0; code == CLI_OK && i < given->count; i++) code = open_where(session, given->words[i], &wheres[i]);
    if (code == CLI_OK && given->count > 0) {
        copse_status status = add_combinations(query, wheres, given->count);
        if (status != COPSE_OK) code = cli_session_fail(session, status);
    }
    for (size_t i = 0; i < given->count; i++) {
        free(wheres[i].text);
        free(wheres[i].tokens);
    }
    free(wheres);
    return code;
}

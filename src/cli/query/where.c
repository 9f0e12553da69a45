/* Conditions as people write them: "amount >= 100 and not (city in (Oslo, 'New York') or note is null)". AND binds tighter than OR; several
 * --where are joined by AND.
 *
 * A tree of AND and OR over comparisons; NOT goes down to them while they are read. The query takes OR of conjunctions: of such a tree
 * each way to pick one side of every OR is one, so that they can be counted and made one by one. */
#define _POSIX_C_SOURCE 200809L
#include "cli/query/query.h"

#include <stdlib.h>
#include <string.h>

#define MOST_TOKENS 4096
#define MOST_WAYS   1024
#define MOST_DEPTH  100

typedef enum node_kind { COMPARED, BETWEEN, IN, AND, OR } node_kind;

typedef struct node {
    node_kind kind;
    copse_comparison comparison;
    const char *column;
    const cli_token *values;
    size_t count;            /* of values, with the commas between in a list */
    char *own;               /* a value that nobody wrote */
    struct node *low, *high; /* of AND and OR */
    uint64_t ways;           /* conjunctions that it stands for */
} node;

typedef struct where {
    char *text;
    cli_token *tokens;
    size_t token_count;
    node *nodes; /* each token makes one at most */
    size_t node_count;
} where;

typedef struct parser {
    cli_session *session;
    const char *whole;
    where *out;
    size_t at;
    unsigned depth;
    int code; /* why there is no tree */
} parser;

static node *wrong(parser *p, const char *what)
{
    const char *near = p->at < p->out->token_count ? p->out->tokens[p->at].text : "the end";
    p->code = cli_usage_error(p->session->command, "--where '%s': %s, at '%s'", p->whole, what, near);
    return NULL;
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
    if (p->at >= p->out->token_count ||
        (!token->quoted && (cli_is_operator(*token->text) || strchr("(),", *token->text))))
        return false;
    *out = token;
    p->at++;
    return true;
}

static node *new_node(parser *p, node n)
{
    node *made = &p->out->nodes[p->out->node_count++];
    *made = n;
    if (n.ways == 0) made->ways = 1;
    return made;
}

static node *compared(parser *p, const char *column, copse_comparison comparison, const cli_token *value)
{
    return new_node(p, (node){.kind = COMPARED, .comparison = comparison, .column = column, .values = value});
}

static node join(node_kind kind, node *low, node *high)
{
    node n = {.kind = kind, .low = low, .high = high};
    n.ways = kind == OR ? low->ways + high->ways : low->ways * high->ways;
    if (n.ways > MOST_WAYS) n.ways = MOST_WAYS + 1;
    return n;
}

static node *both(parser *p, node_kind kind, node *low, node *high)
{
    return new_node(p, join(kind, low, high));
}

static copse_comparison opposite(copse_comparison comparison)
{
    static const copse_comparison opposites[] = {
        [COPSE_EQUAL] = COPSE_NOT_EQUAL,       [COPSE_NOT_EQUAL] = COPSE_EQUAL,
        [COPSE_LESS] = COPSE_GREATER_OR_EQUAL, [COPSE_LESS_OR_EQUAL] = COPSE_GREATER,
        [COPSE_GREATER] = COPSE_LESS_OR_EQUAL, [COPSE_GREATER_OR_EQUAL] = COPSE_LESS,
    };
    return opposites[comparison];
}

static node *parse_list(parser *p, const char *column, bool negated)
{
    const cli_token *value = NULL, *values = NULL;
    node *list = NULL;
    if (!take_word(p, "(")) return wrong(p, "'in' is followed by (VALUE, ...)");
    values = peek(p);
    do {
        if (!take_value(p, &value)) return wrong(p, "a value is missing");
        if (!negated) continue;
        node *other = compared(p, column, COPSE_NOT_EQUAL, value);
        list = list ? both(p, AND, list, other) : other;
    } while (take_word(p, ","));
    size_t count = (size_t)(peek(p) - values);
    if (!take_word(p, ")")) return wrong(p, "a ) is missing");
    return list ? list : new_node(p, (node){.kind = IN, .column = column, .values = values, .count = count});
}

/* Texts that do not begin so are smaller than it, or not smaller than what comes behind all that do. */
static node *not_prefix(parser *p, const char *column, const cli_token *prefix)
{
    node *below = compared(p, column, COPSE_LESS, prefix);
    size_t length = strlen(prefix->text);
    while (length > 0 && (unsigned char)prefix->text[length - 1] == 0xFF) length--;
    if (length == 0) return below;
    node *above = compared(p, column, COPSE_GREATER_OR_EQUAL, NULL);
    above->own = strdup(prefix->text);
    if (!above->own) {
        p->code = cli_fail(p->session->command, "out of memory");
        return NULL;
    }
    above->own[length - 1]++;
    above->own[length] = '\0';
    return both(p, OR, below, above);
}

static node *make_prefix(parser *p, const char *column, const cli_token *prefix, bool negated)
{
    return negated ? not_prefix(p, column, prefix) : compared(p, column, COPSE_PREFIX, prefix);
}

/* like 'abc%': a prefix is all that an order can find. */
static node *parse_like(parser *p, const char *column, bool negated)
{
    const cli_token *pattern = NULL;
    if (!take_value(p, &pattern)) return wrong(p, "a value is missing");
    char *percent = strchr(pattern->text, '%');
    if (!percent || percent[1] != '\0' || strchr(pattern->text, '_'))
        return wrong(p, "'like' takes a beginning with one % behind it, as in 'abc%'");
    *percent = '\0';
    return make_prefix(p, column, pattern, negated);
}

static node *parse_between(parser *p, const char *column, bool negated)
{
    const cli_token *low = NULL, *high = NULL;
    if (!take_value(p, &low) || !take_word(p, "and") || !take_value(p, &high))
        return wrong(p, "'between' is followed by LOW and HIGH");
    if (!negated) return new_node(p, (node){.kind = BETWEEN, .column = column, .values = low});
    node *below = compared(p, column, COPSE_LESS, low);
    return both(p, OR, below, compared(p, column, COPSE_GREATER, high));
}

static node *parse_comparison(parser *p, const char *column, bool negated)
{
    static const struct {
        const char *word;
        copse_comparison comparison;
    } known[] = {
        {"=", COPSE_EQUAL},          {"==", COPSE_EQUAL}, {"<>", COPSE_NOT_EQUAL},        {"!=", COPSE_NOT_EQUAL},
        {"<=", COPSE_LESS_OR_EQUAL}, {"<", COPSE_LESS},   {">=", COPSE_GREATER_OR_EQUAL}, {">", COPSE_GREATER}};
    const cli_token *value = NULL;
    if (take_word(p, "prefix"))
        return take_value(p, &value) ? make_prefix(p, column, value, negated) : wrong(p, "a value is missing");
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (!take_word(p, known[i].word)) continue;
        if (cli_token_is(peek(p), "null")) return wrong(p, "nothing compares with NULL; 'is null' asks for it");
        if (!take_value(p, &value)) return wrong(p, "a value is missing");
        return compared(p, column, negated ? opposite(known[i].comparison) : known[i].comparison, value);
    }
    return wrong(p, "a comparison is missing: = <> < <= > >= between in like prefix is");
}

static node *parse_condition(parser *p, bool negated)
{
    const cli_token *column = NULL;
    if (!take_value(p, &column)) return wrong(p, "a column is missing");
    if (take_word(p, "is")) {
        negated ^= take_word(p, "not");
        if (!take_word(p, "null")) return wrong(p, "'is' is followed by null or not null");
        return compared(p, column->text, negated ? COPSE_IS_NOT_NULL : COPSE_IS_NULL, NULL);
    }
    const bool not_here = take_word(p, "not");
    negated ^= not_here;
    if (take_word(p, "between")) return parse_between(p, column->text, negated);
    if (take_word(p, "in")) return parse_list(p, column->text, negated);
    if (take_word(p, "like")) return parse_like(p, column->text, negated);
    if (not_here) return wrong(p, "'not' behind a column is followed by between, in or like");
    return parse_comparison(p, column->text, negated);
}

static node *parse_either(parser *p, bool negated);

static node *parse_factor(parser *p, bool negated)
{
    while (take_word(p, "not")) negated = !negated;
    if (!take_word(p, "(")) return parse_condition(p, negated);
    if (++p->depth > MOST_DEPTH) return wrong(p, "there are too many ( in each other");
    node *inner = parse_either(p, negated);
    p->depth--;
    return !inner || take_word(p, ")") ? inner : wrong(p, "'and', 'or' or ) is missing");
}

static node *parse_all(parser *p, bool negated)
{
    node *all = parse_factor(p, negated);
    while (all && take_word(p, "and")) {
        node *next = parse_factor(p, negated);
        all = next ? both(p, negated ? OR : AND, all, next) : NULL;
    }
    return all;
}

static node *parse_either(parser *p, bool negated)
{
    node *either = parse_all(p, negated);
    while (either && take_word(p, "or")) {
        node *next = parse_all(p, negated);
        either = next ? both(p, negated ? AND : OR, either, next) : NULL;
    }
    return either;
}

/* NULL: *code says why. */
static node *open_where(cli_session *session, const char *text, where *out, int *code)
{
    parser p = {.session = session, .whole = text, .out = out, .code = CLI_OK};
    out->text = malloc(2 * strlen(text) + 2);
    out->tokens = malloc(MOST_TOKENS * sizeof *out->tokens);
    out->token_count = out->text && out->tokens ? cli_tokens(text, out->text, out->tokens, MOST_TOKENS) : 0;
    if (out->token_count != SIZE_MAX) out->nodes = malloc((out->token_count + 1) * sizeof *out->nodes);
    node *root = NULL;
    if (out->token_count == SIZE_MAX)
        p.code =
            cli_usage_error(session->command, "--where '%s': a quote is not closed, or there are too many words", text);
    else if (!out->text || !out->tokens || !out->nodes)
        p.code = cli_fail(session->command, "out of memory");
    else
        root = parse_either(&p, false);
    if (root && p.at < out->token_count)
        root = wrong(&p, "'and' or 'or' is missing, or quotes around a value with blanks");
    *code = p.code;
    return root;
}

static void close_where(where *w)
{
    for (size_t i = 0; i < w->node_count; i++) free(w->nodes[i].own);
    free(w->nodes);
    free(w->tokens);
    free(w->text);
}

/* ---- into a query ---- */

static copse_value value_of(const cli_token *token)
{
    return copse_value_text(token->text, (uint32_t)strlen(token->text));
}

static copse_status add_list(copse_query *query, const node *n)
{
    copse_value *values = malloc((n->count + 1) * sizeof *values);
    uint64_t count = 0;
    if (!values) return COPSE_ERR_MEMORY;
    for (size_t i = 0; i < n->count; i += 2) values[count++] = value_of(&n->values[i]);
    copse_status status = copse_query_in(query, n->column, values, count);
    free(values);
    return status;
}

static copse_status add_condition(copse_query *query, const node *n)
{
    copse_value value = copse_value_null();
    if (n->kind == IN) return add_list(query, n);
    if (n->kind == BETWEEN)
        return copse_query_between(query, n->column, value_of(&n->values[0]), value_of(&n->values[2]));
    if (n->values) value = value_of(n->values);
    if (n->own) value = copse_value_text(n->own, (uint32_t)strlen(n->own));
    return copse_query_where(query, n->column, n->comparison, value);
}

/* Conjunction number `way` of those that the tree stands for. */
static copse_status add_way(copse_query *query, const node *n, uint64_t way)
{
    if (n->kind == AND) {
        copse_status status = add_way(query, n->low, way % n->low->ways);
        return status == COPSE_OK ? add_way(query, n->high, way / n->low->ways) : status;
    }
    if (n->kind != OR) return add_condition(query, n);
    return way < n->low->ways ? add_way(query, n->low, way) : add_way(query, n->high, way - n->low->ways);
}

static copse_status add_tree(copse_query *query, const node *root)
{
    copse_status status = COPSE_OK;
    for (uint64_t way = 0; status == COPSE_OK && way < root->ways; way++) {
        if (way > 0) status = copse_query_or(query);
        if (status == COPSE_OK) status = add_way(query, root, way);
    }
    return status;
}

/* All of them, with AND between. *out stays NULL where there are none. */
static int open_wheres(cli_session *session, const cli_words *given, where *wheres, node *joined, node **out)
{
    for (size_t i = 0; i < given->count; i++) {
        int code = CLI_OK;
        node *next = open_where(session, given->words[i], &wheres[i], &code);
        if (!next) return code;
        joined[i] = *out ? join(AND, *out, next) : *next;
        *out = &joined[i];
        if (joined[i].ways > MOST_WAYS)
            return cli_usage_error(session->command,
                                   "--where: without parentheses, as alternatives with 'or' between, these are more "
                                   "than %d",
                                   MOST_WAYS);
    }
    return CLI_OK;
}

/* What is left of a tree where only some columns are asked, with the names that these have there; NULL: nothing. An OR goes whole or not at
 * all: a row that meets the other side of it must not get lost. */
static node *some_of(node *n, cli_name_fn name_of, void *user)
{
    if (n->kind == AND || n->kind == OR) {
        node *low = some_of(n->low, name_of, user), *high = some_of(n->high, name_of, user);
        if (!low || !high) return n->kind == OR ? NULL : low ? low : high;
        *n = join(n->kind, low, high);
        return n;
    }
    n->column = name_of(user, n->column, n->kind == COMPARED ? n->comparison : COPSE_EQUAL);
    return n->column ? n : NULL;
}

int cli_where_add_some(cli_session *session, copse_query *query, const cli_words *given, cli_name_fn name_of,
                       void *user, bool *out_any)
{
    where *wheres = calloc(CLI_WORDS_MOST, sizeof *wheres);
    node joined[CLI_WORDS_MOST], *root = NULL;
    if (!wheres) return cli_fail(session->command, "out of memory");
    int code = open_wheres(session, given, wheres, joined, &root);
    if (code == CLI_OK && root && name_of) root = some_of(root, name_of, user);
    if (out_any) *out_any = root != NULL;
    if (code == CLI_OK && root) {
        copse_status status = add_tree(query, root);
        if (status != COPSE_OK) code = cli_session_fail(session, status);
    }
    for (size_t i = 0; i < given->count; i++) close_where(&wheres[i]);
    free(wheres);
    return code;
}

int cli_where_add(cli_session *session, copse_query *query, const cli_words *given)
{
    return cli_where_add_some(session, query, given, NULL, NULL, NULL);
}

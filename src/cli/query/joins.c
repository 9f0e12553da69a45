/* Joins with other files: which tables, which of their rows, and in what order. */
#define _POSIX_C_SOURCE 200809L
#include "cli/query/query.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MOST_TOKENS 64
#define FEW_LEFT    16u

/* ---- FILE on A[=B] [by G[=H]] [tolerance N] [types TYPES] ---- */

typedef struct join_text {
    char *room;
    cli_token tokens[MOST_TOKENS];
    size_t count;
    size_t at;
    const char *path;
    char *types; /* NULL: guessed */
    copse_join_options options;
} join_text;

static bool take_word(join_text *t, const char *word)
{
    if (t->at >= t->count || !cli_token_is(&t->tokens[t->at], word)) return false;
    t->at++;
    return true;
}

/* A = B, or one name that both have. */
static bool take_columns(join_text *t, const char **left, const char **right)
{
    if (t->at >= t->count) return false;
    *left = *right = t->tokens[t->at++].text;
    if (!take_word(t, "=")) return true;
    if (t->at >= t->count) return false;
    *right = t->tokens[t->at++].text;
    return true;
}

static uint32_t take_kind(join_text *t)
{
    static const char *const names[] = {"inner", "left", "semi", "anti"};
    for (uint32_t i = 0; i < 4; i++)
        if (take_word(t, names[i])) return i;
    return COPSE_JOIN_INNER;
}

/* In the units of a timestamp, or of a date; 0: there is no such unit. */
static int64_t unit_of(uint32_t type, const char *name)
{
    static const struct {
        const char *name;
        int64_t microseconds;
    } units[] = {{"us", 1},         {"ms", 1000},      {"s", 1000000},    {"m", 60000000},
                 {"min", 60000000}, {"h", 3600000000}, {"d", 86400000000}};
    if (type == COPSE_DATE) return strcmp(name, "d") == 0;
    for (size_t i = 0; type == COPSE_TIMESTAMP && i < sizeof units / sizeof *units; i++)
        if (strcmp(units[i].name, name) == 0) return units[i].microseconds;
    return 0;
}

/* 5 or 2.5 in the units of the key; of times also 30s. NULL: it is none. */
static copse_value distance_of(const copse_table *left, const char *column, const char *text)
{
    uint32_t at = 0;
    char *rest = NULL;
    copse_value value = copse_value_null();
    if (copse_table_find_column(left, column, &at) != COPSE_OK) return copse_value_i64(0); /* the join will say so */
    uint32_t type = copse_table_column_type(left, at);
    if (type == COPSE_F32 || type == COPSE_F64) {
        value = copse_value_f64(strtod(text, &rest));
        return *rest == '\0' && rest != text ? value : copse_value_null();
    }
    int64_t number = strtoll(text, &rest, 10), unit = *rest ? unit_of(type, rest) : 1;
    bool good = rest != text && unit != 0 && !__builtin_mul_overflow(number, unit, &number);
    return good ? copse_value_i64(number) : value;
}

/* types a=i32,b=date: the rest, as --types has it. */
static bool take_types(join_text *t)
{
    char *to = t->at < t->count ? t->tokens[t->at].text : NULL;
    t->types = to;
    for (; t->at < t->count; t->at++) {
        const size_t length = strlen(t->tokens[t->at].text);
        memmove(to, t->tokens[t->at].text, length + 1); /* tokens stand one behind the other */
        to += length;
    }
    return t->types != NULL;
}

static int parse_join(cli_session *session, const char *given, bool asof, const copse_table *left, join_text *t)
{
    const char *usage = asof ? "FILE on A[=B] [by G[=H]] [tolerance N] [types TYPES]"
                             : "[inner|left|semi|anti] FILE on A[=B] [types TYPES]";
    copse_join_options *out = &t->options;
    t->room = malloc(2 * strlen(given) + 2);
    if (!t->room) return cli_fail(session->command, "out of memory");
    t->count = cli_tokens(given, t->room, t->tokens, MOST_TOKENS);
    *out = (copse_join_options)COPSE_JOIN_OPTIONS_INIT;
    out->kind = asof ? COPSE_JOIN_ASOF : take_kind(t);
    bool good = t->count != SIZE_MAX && t->at < t->count;
    if (good) t->path = t->tokens[t->at++].text;
    good = good && take_word(t, "on") && take_columns(t, &out->left_on, &out->right_on);
    if (good && asof && take_word(t, "by")) good = take_columns(t, &out->left_by, &out->right_by);
    if (good && asof && take_word(t, "tolerance")) {
        good = t->at < t->count;
        if (good) out->tolerance = distance_of(left, out->left_on, t->tokens[t->at++].text);
        good = good && out->tolerance.type != 0;
    }
    if (good && take_word(t, "types")) good = take_types(t);
    if (good && t->at == t->count) return CLI_OK;
    return cli_usage_error(session->command, "--%s takes '%s', not '%s'", asof ? "asof" : "join", usage, given);
}

/* ---- conditions on one side go first: fewer rows to join ---- */

typedef struct side {
    const copse_table *left, *right; /* right: NULL where it is the left side that is asked */
    uint32_t kind;
    const char *on; /* a column of the right side */
    char *names;    /* of the columns of the right side in the result, one behind the other, each with its 0 */
} side;

static bool has_name(const side *s, const char *names_end, const char *name)
{
    uint32_t at = 0;
    for (const char *other = s->names; other < names_end; other += strlen(other) + 1)
        if (strcmp(other, name) == 0) return true;
    return copse_table_find_column(s->left, name, &at) == COPSE_OK;
}

/* As copse_pairs_table names them. false: no memory. */
static bool name_right(side *s)
{
    static const char prefix[] = "right.";
    const uint32_t count = copse_table_columns(s->right);
    size_t size = 1;
    for (uint32_t i = 0; i < count; i++)
        size +=
            strlen(copse_table_column_name(s->right, i)) + 1 + (count + copse_table_columns(s->left)) * strlen(prefix);
    char *to = s->names = malloc(size);
    for (uint32_t i = 0; to && i < count; i++) {
        const char *name = copse_table_column_name(s->right, i);
        memcpy(to, name, strlen(name) + 1);
        while (has_name(s, to, to)) {
            memmove(to + strlen(prefix), to, strlen(to) + 1);
            memcpy(to, prefix, strlen(prefix));
        }
        to += strlen(to) + 1;
    }
    return to != NULL;
}

/* For cli_where_add_some: the name that a column of the result has on a side, NULL: it is of the other one, or the join has to come first.
 * A left join makes NULLs of right cells, and an as-of join takes another row where one is not there. */
static const char *name_on_side(void *user, const char *column, copse_comparison comparison)
{
    const side *s = user;
    uint32_t at = 0;
    if (!s->right) return copse_table_find_column(s->left, column, &at) == COPSE_OK ? column : NULL;
    if (s->kind != COPSE_JOIN_INNER && (s->kind != COPSE_JOIN_LEFT || comparison == COPSE_IS_NULL)) return NULL;
    const char *name = s->names;
    for (; at < copse_table_columns(s->right); at++, name += strlen(name) + 1)
        if (strcmp(name, column) == 0) return copse_table_column_name(s->right, at);
    return NULL;
}

static bool has_index(const copse_table *table, const char *column)
{
    copse_table_index_info info = {.struct_size = sizeof info};
    for (uint32_t i = 0; i < copse_table_indexes(table); i++)
        if (copse_table_index_describe(table, i, &info) == COPSE_OK && info.column_count == 1 &&
            strcmp(copse_table_column_name(table, info.columns[0]), column) == 0)
            return true;
    return false;
}

/* Rows that are left are worth a table of their own where they are less than half, and the right side has no index in which the rows of a
 * small left side are looked up at once. */
static copse_status keep_rows(const cli_table_query *args, copse_query *query, const side *s, copse_table **out)
{
    const copse_table *all = s->right ? s->right : s->left;
    const char *text = NULL;
    uint64_t n = 0;
    if (s->right && copse_table_rows(s->left) < copse_table_rows(all) / FEW_LEFT && has_index(all, s->on))
        return COPSE_OK;
    copse_status status = copse_query_rows(query, NULL, 0, &n);
    if (status != COPSE_OK || n > copse_table_rows(all) / 2) return status;
    if (args->explain) status = copse_query_explain(query, &text);
    if (text) printf("before the join: %s", text);
    return status == COPSE_OK ? copse_query_run(query, out) : status;
}

/* *out: a new table of the rows that meet what --where asks of this side alone; it stays NULL where that is nothing, or not worth it. */
static int filter_side(cli_session *session, const cli_table_query *args, side *s, copse_table **out)
{
    const copse_table *all = s->right ? s->right : s->left;
    copse_query *query = NULL;
    bool any = false;
    if (args->where.count == 0) return CLI_OK;
    if (s->right && !name_right(s)) return cli_fail(session->command, "out of memory");
    copse_status status = copse_query_create(all, &query);
    int code = status == COPSE_OK ? cli_where_add_some(session, query, &args->where, name_on_side, s, &any)
                                  : cli_session_fail(session, status);
    if (code == CLI_OK && any) status = keep_rows(args, query, s, out);
    if (code == CLI_OK && status != COPSE_OK) code = cli_session_fail(session, status);
    if (code == CLI_OK && *out) code = cli_table_place(session, *out);
    copse_query_free(query);
    free(s->names);
    return code;
}

/* ---- files that a shell keeps ---- */

void cli_kept_forget(cli_kept_file *file)
{
    copse_table_free(file->table);
    free(file->path);
    free(file->types);
    *file = (cli_kept_file){0};
}

static bool is_kept(const cli_kept_file *file, const char *path, const char *types, const struct stat *about)
{
    return file->table && strcmp(file->path, path) == 0 && strcmp(file->types, types ? types : "") == 0 &&
           file->size == about->st_size && file->changed.tv_sec == about->st_mtim.tv_sec &&
           file->changed.tv_nsec == about->st_mtim.tv_nsec;
}

/* The table of a file, which a shell has from the last time where the file has not changed since. */
static int read_right(cli_session *session, const cli_table_query *args, const char *path, const char *types,
                      copse_table **out)
{
    struct stat about = {0};
    cli_kept_files *kept = args->kept;
    if (!path) return cli_fail(session->command, "which file is to be joined?"); /* parse_join has found one */
    const bool there = stat(path, &about) == 0;
    for (size_t i = 0; kept && there && i < CLI_KEPT_FILES; i++)
        if (is_kept(&kept->files[i], path, types, &about)) {
            *out = kept->files[i].table;
            return CLI_OK;
        }
    int code = cli_table_read(session, args, path, types, out);
    if (!kept || code != CLI_OK) return code;
    cli_kept_file *file = &kept->files[kept->next++ % CLI_KEPT_FILES];
    cli_kept_forget(file);
    *file = (cli_kept_file){strdup(path), strdup(types ? types : ""), about.st_mtim, about.st_size, *out};
    if (file->path && file->types) return CLI_OK;
    cli_kept_forget(file);
    return cli_fail(session->command, "out of memory");
}

/* ---- the join ---- */

static copse_status explain_join(const char *given, const copse_join_options *options, const copse_pairs *pairs,
                                 const copse_table *left, const copse_table *right)
{
    char numbers[4][CLI_NUMBER_SIZE];
    uint64_t expected = 0;
    copse_status status = copse_join_expected(left, right, options, &expected);
    if (status == COPSE_OK)
        printf("%s %s: by %s\n  rows: %s beside %s; pairs: expected %s, found %s\n",
               options->kind == COPSE_JOIN_ASOF ? "as-of join" : "join", given, copse_pairs_how(pairs),
               cli_group(copse_table_rows(left), numbers[0]), cli_group(copse_table_rows(right), numbers[1]),
               cli_group(expected, numbers[2]), cli_group(copse_pairs_count(pairs), numbers[3]));
    return status;
}

static int join_sides(cli_session *session, const cli_table_query *args, const char *given, const join_text *t,
                      const copse_table *left, const copse_table *right, copse_table **out)
{
    copse_pairs *pairs = NULL;
    copse_status status = copse_join(left, right, &t->options, &pairs);
    if (status == COPSE_OK) status = copse_pairs_table(pairs, left, right, out);
    cli_progress_clear(&session->progress);
    if (status == COPSE_OK && args->explain) status = explain_join(given, &t->options, pairs, left, right);
    copse_pairs_free(pairs);
    return status == COPSE_OK ? CLI_OK : cli_session_fail(session, status);
}

static int join_one(cli_session *session, const cli_table_query *args, const char *given, bool asof,
                    const copse_table *left, copse_table **out)
{
    join_text t = {0};
    copse_table *right = NULL, *some_left = NULL, *some_right = NULL;
    int code = parse_join(session, given, asof, left, &t);
    if (code == CLI_OK) code = read_right(session, args, t.path, t.types, &right);
    side from_left = {.left = left}, from_right = {.right = right, .kind = t.options.kind, .on = t.options.right_on};
    if (code == CLI_OK) code = filter_side(session, args, &from_left, &some_left);
    from_right.left = some_left ? some_left : left;
    if (code == CLI_OK) code = filter_side(session, args, &from_right, &some_right);
    if (code == CLI_OK)
        code = join_sides(session, args, given, &t, from_right.left, some_right ? some_right : right, out);
    copse_table_free(some_left);
    copse_table_free(some_right);
    if (!args->kept) copse_table_free(right);
    free(t.room);
    return code;
}

int cli_table_join(cli_session *session, const cli_table_query *args, const copse_table *table, copse_table **out)
{
    const size_t joins = args->join.count, all = joins + args->asof.count;
    int code = CLI_OK;
    *out = NULL;
    for (size_t i = 0; code == CLI_OK && i < all; i++) {
        copse_table *joined = NULL;
        bool asof = i >= joins;
        code = join_one(session, args, asof ? args->asof.words[i - joins] : args->join.words[i], asof,
                        *out ? *out : table, &joined);
        if (code != CLI_OK) break;
        copse_table_free(*out);
        *out = joined;
    }
    return code;
}

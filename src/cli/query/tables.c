/* Files as tables, and joins of them. */
#define _POSIX_C_SOURCE 200809L
#include "cli/query/query.h"
#include "cli/rows.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MOST_TOKENS 16

/* ---- files ---- */

static int csv_options(cli_session *session, const cli_table_query *args, copse_table_csv_options *out)
{
    const char *delimiter = args->delimiter, *decimal = args->decimal;
    *out = (copse_table_csv_options)COPSE_TABLE_CSV_OPTIONS_INIT;
    if (delimiter) {
        bool tab = strcmp(delimiter, "tab") == 0 || strcmp(delimiter, "\\t") == 0;
        if (!tab && (strlen(delimiter) != 1 || strchr("\"\r\n", *delimiter)))
            return cli_usage_error(session->command,
                                   "--delimiter takes one character, or 'tab'; it cannot be a quote or a line end");
        out->delimiter = tab ? '\t' : (unsigned char)*delimiter;
    }
    if (decimal && strcmp(decimal, ".") != 0 && strcmp(decimal, ",") != 0)
        return cli_usage_error(session->command, "--decimal takes . or , not '%s'", decimal);
    if (decimal) out->decimal = (unsigned char)*decimal;
    if (args->on_bad && strcmp(args->on_bad, "fail") != 0 && strcmp(args->on_bad, "skip") != 0)
        return cli_usage_error(session->command, "--on-bad takes fail or skip, not '%s'", args->on_bad);
    if (args->on_bad && *args->on_bad == 's') out->flags |= COPSE_CSV_SKIP_BAD;
    if (args->no_header) out->flags |= COPSE_CSV_NO_HEADER;
    out->date_format = args->date_format;
    out->nulls = args->nulls.count > 0 ? args->nulls.words[0] : NULL;
    return CLI_OK;
}

/* What the library has to say about a file that it reads all the same. */
static void remark(void *user, const char *sentence)
{
    const cli_session *session = user;
    const char *option = strstr(sentence, "date_format") ? "--date-format" : "--null or --on-bad skip";
    cli_note(session->command, "%s; %s can help", sentence, option);
}

static int read_csv(cli_session *session, const cli_table_query *args, const char *path, const char *types,
                    copse_table **out)
{
    copse_table_csv_options options;
    cli_input input;
    uint64_t skipped = 0;
    int code = csv_options(session, args, &options);
    if (code != CLI_OK) return code;
    code = cli_input_open(&input, session, path);
    if (code == CLI_OK) {
        options.types = types;
        /* A plain file is left to the library, which reads it on all threads. */
        if (input.gzip || input.file == stdin || input.size == 0) {
            options.read = cli_input_read;
            options.read_user = &input;
        }
        if (!args->quiet) options.remark = remark;
        options.remark_user = session;
        copse_status status = copse_table_read_csv(session->ctx, input.name, &options, out, &skipped);
        const char *problem = cli_input_problem(&input);
        cli_progress_clear(&session->progress);
        if (status != COPSE_OK && *problem)
            code = cli_fail(session->command, "%s: %s", input.name, problem);
        else if (status != COPSE_OK)
            code = cli_session_fail(session, status);
    }
    if (code == CLI_OK && skipped > 0 && !args->quiet)
        cli_note(session->command, "%s: left out %llu bad row%s", input.name, (unsigned long long)skipped,
                 skipped == 1 ? "" : "s");
    cli_input_close(&input);
    return code;
}

bool cli_table_is_saved(const char *path)
{
    static const char magic[] = "\211CPT\r\n\032\n";
    char start[sizeof magic - 1];
    struct stat about;
    /* What is read from a pipe is gone. */
    if (strcmp(path, "-") == 0 || stat(path, &about) != 0 || !S_ISREG(about.st_mode)) return false;
    FILE *file = fopen(path, "rb");
    bool is = file && fread(start, 1, sizeof start, file) == sizeof start && memcmp(start, magic, sizeof start) == 0;
    if (file) fclose(file);
    return is;
}

static int open_saved(cli_session *session, const char *path, const char *types, copse_table **out)
{
    if (types)
        return cli_usage_error(session->command, "--types is for CSV: '%s' is a saved table, which has its types",
                               path);
    copse_status status = copse_table_open(session->ctx, path, out);
    return status == COPSE_OK ? CLI_OK : cli_session_fail(session, status);
}

int cli_table_place(cli_session *session, copse_table *table)
{
    const bool any = session->placement == COPSE_PLACEMENT_AUTO;
    if (session->placement == COPSE_PLACEMENT_CPU) return CLI_OK;
    copse_status status = copse_table_place(table, any ? COPSE_PLACEMENT_GPU : session->placement);
    return status == COPSE_OK || any ? CLI_OK : cli_session_fail(session, status);
}

int cli_table_read(cli_session *session, const cli_table_query *args, const char *path, const char *types,
                   copse_table **out)
{
    int code =
        cli_table_is_saved(path) ? open_saved(session, path, types, out) : read_csv(session, args, path, types, out);
    return code == CLI_OK ? cli_table_place(session, *out) : code;
}

/* "a" or "a,b". */
int cli_table_index_on(cli_session *session, copse_table *table, const char *columns,
                       const copse_table_index_options *options)
{
    char *names = strdup(columns), *list[CLI_INDEX_COLUMNS + 1];
    uint32_t count = 0;
    if (!names) return cli_fail(session->command, "out of memory");
    for (char *at = names; at && count <= CLI_INDEX_COLUMNS;) {
        char *rest = NULL, *name = cli_next_name(&at, &rest);
        list[count++] = *rest ? rest : name;
    }
    copse_status status = copse_table_index_columns(table, (const char *const *)list, count, options);
    cli_progress_clear(&session->progress);
    free(names);
    return status == COPSE_OK ? CLI_OK : cli_session_fail(session, status);
}

int cli_table_index(cli_session *session, copse_table *table, const cli_words *columns)
{
    int code = CLI_OK;
    for (size_t i = 0; code == CLI_OK && i < columns->count; i++)
        code = cli_table_index_on(session, table, columns->words[i], NULL);
    return code;
}

/* ---- joins ---- */

typedef struct join_text {
    char *room;
    cli_token tokens[MOST_TOKENS];
    size_t count;
    size_t at;
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

static int parse_join(cli_session *session, const char *given, bool asof, const copse_table *left, join_text *t,
                      copse_join_options *out, const char **path)
{
    const char *usage = asof ? "FILE on A[=B] [by G[=H]] [tolerance N]" : "[inner|left|semi|anti] FILE on A[=B]";
    t->room = malloc(2 * strlen(given) + 2);
    if (!t->room) return cli_fail(session->command, "out of memory");
    t->count = cli_tokens(given, t->room, t->tokens, MOST_TOKENS);
    *out = (copse_join_options)COPSE_JOIN_OPTIONS_INIT;
    out->kind = asof ? COPSE_JOIN_ASOF : take_kind(t);
    bool good = t->count != SIZE_MAX && t->at < t->count;
    if (good) *path = t->tokens[t->at++].text;
    good = good && take_word(t, "on") && take_columns(t, &out->left_on, &out->right_on);
    if (good && asof && take_word(t, "by")) good = take_columns(t, &out->left_by, &out->right_by);
    if (good && asof && take_word(t, "tolerance")) {
        good = t->at < t->count;
        if (good) out->tolerance = distance_of(left, out->left_on, t->tokens[t->at++].text);
        good = good && out->tolerance.type != 0;
    }
    if (good && t->at == t->count) return CLI_OK;
    return cli_usage_error(session->command, "--%s takes '%s', not '%s'", asof ? "asof" : "join", usage, given);
}

static void explain_join(const char *given, bool asof, const copse_pairs *pairs, const copse_table *left,
                         const copse_table *right)
{
    char numbers[3][CLI_NUMBER_SIZE];
    printf("%s %s: by %s\n  rows: %s beside %s, pairs: %s\n", asof ? "as-of join" : "join", given,
           copse_pairs_how(pairs), cli_group(copse_table_rows(left), numbers[0]),
           cli_group(copse_table_rows(right), numbers[1]), cli_group(copse_pairs_count(pairs), numbers[2]));
}

static int join_one(cli_session *session, const cli_table_query *args, const char *given, bool asof,
                    const copse_table *left, copse_table **out)
{
    join_text t = {0};
    copse_join_options options;
    copse_table *right = NULL;
    copse_pairs *pairs = NULL;
    const char *path = "";
    int code = parse_join(session, given, asof, left, &t, &options, &path);
    if (code == CLI_OK) code = cli_table_read(session, args, path, NULL, &right);
    if (code == CLI_OK) {
        copse_status status = copse_join(left, right, &options, &pairs);
        if (status == COPSE_OK) status = copse_pairs_table(pairs, left, right, out);
        if (status == COPSE_OK && args->explain) explain_join(given, asof, pairs, left, right);
        if (status != COPSE_OK) code = cli_session_fail(session, status);
    }
    copse_pairs_free(pairs);
    copse_table_free(right);
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

/* copse append and upsert: rows of a CSV file into a snapshot that is there. */
#include "cli/key_text.h"
#include "cli/rows.h"
#include "cli/update.h"

#include <stdlib.h>
#include <string.h>

/* What becomes of a row whose key is there already. */
typedef enum conflict {
    CONFLICT_UNSAID, /* keep where the index keeps duplicates, else fail */
    CONFLICT_FAIL,
    CONFLICT_SKIP,
    CONFLICT_REPLACE,
    CONFLICT_KEEP,
} conflict;

typedef struct append_args {
    cli_rows_args rows;
    cli_update update;
    const char *conflict_name;
    conflict conflict;
    uint64_t threads;
} append_args;

typedef struct outcome {
    uint64_t added;
    uint64_t replaced;
    uint64_t skipped;
} outcome;

/* ---- rows whose keys are there ---- */

/* The place of the first row whose key is there already; behind the last where there is none. */
static copse_status find_conflict(const cli_session *session, const cli_pairs *pairs, uint64_t *out_at)
{
    uint8_t *found = malloc((size_t)pairs->keys.count);
    uint64_t at = 0;
    if (!found) return COPSE_ERR_MEMORY;
    copse_status status = copse_contains(session->index, cli_keys_in(&pairs->keys), pairs->keys.count, found);
    while (status == COPSE_OK && at < pairs->keys.count && !found[at]) at++;
    free(found);
    *out_at = at;
    return status;
}

static int refuse(const cli_session *session, const cli_pairs *pairs, uint64_t conflicts, uint64_t at)
{
    const bool one = conflicts == 1;
    char what[CLI_KEY_SHOWN + 64], key[CLI_KEY_SHOWN], number[CLI_NUMBER_SIZE], rows[CLI_NUMBER_SIZE];
    if (at == pairs->keys.count) {
        snprintf(what, sizeof what, "%s the key of an earlier row", one ? "repeats" : "repeat");
    } else {
        snprintf(what, sizeof what, "%s a key that is there already, for instance %s", one ? "has" : "have",
                 cli_key_show(cli_keys_at(&pairs->keys, at), key));
    }
    return cli_fail(session->command, "%s of %s rows %s; --on-conflict replace, skip or keep takes %s",
                    cli_group(conflicts, number), cli_group(pairs->keys.count, rows), what, one ? "it" : "them");
}

static int insert_absent(cli_session *session, const append_args *args, const cli_pairs *pairs, outcome *out)
{
    uint64_t at = 0;
    copse_status status = find_conflict(session, pairs, &at);
    if (status == COPSE_OK)
        status = copse_insert(session->index, cli_keys_in(&pairs->keys), pairs->values, pairs->keys.count,
                              COPSE_INSERT_IF_ABSENT, &out->added);
    cli_progress_clear(&session->progress);
    if (status != COPSE_OK) return cli_session_fail(session, status);
    out->skipped = pairs->keys.count - out->added;
    if (args->conflict == CONFLICT_SKIP || out->skipped == 0) return CLI_OK;
    return refuse(session, pairs, out->skipped, at);
}

/* ---- new values for keys that are there ---- */

/* All entries of an index, of which text is first asked how much it takes. */
static copse_status export_pairs(const copse_index *index, cli_pairs *out)
{
    const uint64_t n = copse_size(index);
    copse_bytes sizing = COPSE_BYTES_INIT(NULL, 0, NULL, 64);
    copse_status status = COPSE_OK;
    if (out->keys.type == COPSE_BYTES) status = copse_export(index, &sizing, NULL, n);
    if (status != COPSE_OK) return status;
    if (!cli_keys_reserve(&out->keys, n, sizing.needed) || !cli_pairs_reserve(out, n)) return COPSE_ERR_MEMORY;
    status = copse_export(index, cli_keys_out(&out->keys), out->values, n);
    if (status == COPSE_OK) out->keys.count = n;
    return status;
}

/* The last row of each key. */
static copse_status last_of_each(cli_session *session, const cli_pairs *pairs, cli_pairs *out)
{
    copse_index_options options = COPSE_INDEX_OPTIONS_INIT;
    copse_index *distinct = NULL;
    cli_keys_start(&out->keys, pairs->keys.type);
    options.key_type = pairs->keys.type;
    options.value_type = out->value_type = pairs->value_type;
    options.placement = COPSE_PLACEMENT_CPU;
    copse_status status = copse_index_create(session->ctx, &options, &distinct);
    if (status == COPSE_OK) status = copse_build(distinct, cli_keys_in(&pairs->keys), pairs->values, pairs->keys.count);
    if (status == COPSE_OK) status = export_pairs(distinct, out);
    copse_index_free(distinct);
    return status;
}

/* Among duplicates a new value stands for all that were there. */
static copse_status replace_all(cli_session *session, const cli_pairs *pairs, outcome *out)
{
    cli_pairs last = {0};
    copse_status status = last_of_each(session, pairs, &last);
    const void *keys = cli_keys_in(&last.keys);
    const uint64_t n = last.keys.count;
    uint8_t *found = status == COPSE_OK ? malloc((size_t)n) : NULL;
    if (status == COPSE_OK && !found) status = COPSE_ERR_MEMORY;
    if (status == COPSE_OK) status = copse_contains(session->index, keys, n, found);
    for (uint64_t i = 0; status == COPSE_OK && i < n; i++) out->added += !found[i];
    if (status == COPSE_OK) status = copse_erase(session->index, keys, n, NULL);
    if (status == COPSE_OK) status = copse_insert(session->index, keys, last.values, n, COPSE_INSERT_UPSERT, NULL);
    free(found);
    cli_pairs_free(&last);
    return status;
}

static int insert_pairs(cli_session *session, const append_args *args, const cli_pairs *pairs, outcome *out)
{
    copse_status status = COPSE_OK;
    if (pairs->keys.count == 0) return CLI_OK;
    if (args->conflict == CONFLICT_FAIL || args->conflict == CONFLICT_SKIP)
        return insert_absent(session, args, pairs, out);
    if (args->conflict == CONFLICT_REPLACE && session->stats.duplicates)
        status = replace_all(session, pairs, out);
    else
        status = copse_insert(session->index, cli_keys_in(&pairs->keys), pairs->values, pairs->keys.count,
                              COPSE_INSERT_UPSERT, &out->added);
    out->replaced = pairs->keys.count - out->added;
    cli_progress_clear(&session->progress);
    return status == COPSE_OK ? CLI_OK : cli_session_fail(session, status);
}

/* ---- the job ---- */

static int read_rows(cli_session *session, const cli_rows_args *args, cli_pairs *pairs)
{
    cli_rows *rows = NULL;
    int code = cli_rows_open(session, args, &rows);
    if (code == CLI_OK) code = cli_rows_next(rows, UINT64_MAX, pairs);
    if (code == CLI_OK) code = cli_rows_finish(rows);
    cli_rows_close(rows);
    return code;
}

static void report(const cli_session *session, const append_args *args, const cli_pairs *pairs, const outcome *out)
{
    const cli_update_count counts[] = {
        {"rows", pairs->keys.count, true}, {"added", out->added, true},         {"replaced", out->replaced, false},
        {"skipped", out->skipped, false},  {"left_out", pairs->skipped, false},
    };
    cli_update_report(session, &args->update, counts, sizeof counts / sizeof counts[0]);
}

static int change(cli_session *session, append_args *args, cli_pairs *pairs)
{
    outcome out = {0};
    int code = cli_update_load(session, &args->update, args->conflict == CONFLICT_KEEP);
    if (code != CLI_OK) return code;
    if (args->conflict == CONFLICT_UNSAID) args->conflict = session->stats.duplicates ? CONFLICT_KEEP : CONFLICT_FAIL;
    args->rows.key_type = session->stats.key_type;
    args->rows.value_type = session->stats.value_type;
    code = cli_rows_check(session->command, &args->rows);
    if (code == CLI_OK) code = read_rows(session, &args->rows, pairs);
    if (code == CLI_OK) code = insert_pairs(session, args, pairs, &out);
    if (code == CLI_OK) code = cli_update_save(session, &args->update, out.added + out.replaced > 0);
    if (code != CLI_OK) return code;
    report(session, args, pairs, &out);
    return cli_finish(session->command, CLI_OK);
}

static int run(const char *command, append_args *args)
{
    cli_session session;
    cli_pairs pairs = {0};
    int code = cli_session_open(&session, command, args->threads, args->update.quiet, NULL);
    if (code == CLI_OK) code = change(&session, args, &pairs);
    cli_pairs_free(&pairs);
    cli_session_close(&session);
    cli_update_end(&args->update);
    return code;
}

/* ---- the command line ---- */

static int read_conflict(const char *command, append_args *args)
{
    static const char *const names[] = {"", "fail", "skip", "replace", "keep"};
    if (!args->conflict_name) return CLI_OK;
    for (int i = CONFLICT_FAIL; i <= CONFLICT_KEEP; i++)
        if (strcmp(args->conflict_name, names[i]) == 0) args->conflict = (conflict)i;
    if (args->conflict != CONFLICT_UNSAID) return CLI_OK;
    return cli_usage_error(command, "--on-conflict takes fail, skip, replace or keep, not '%s'", args->conflict_name);
}

static int check_args(const char *command, append_args *args, char **words, int count)
{
    if (count == 0) return cli_usage_error(command, "which snapshot? The first argument is its file");
    if (count == 1) return cli_usage_error(command, "which rows? Name a CSV file, or - for standard input");
    if (count > 2) return cli_usage_error(command, "one input at a time: '%s' is left over", words[2]);
    args->update.path = words[0];
    args->rows.input = words[1];
    args->rows.quiet = args->update.quiet;
    int code = read_conflict(command, args);
    return code == CLI_OK ? cli_update_check(command, &args->update) : code;
}

#define OWN_OPTIONS 6

/* All options of rows but those for types, which the snapshot has. */
static size_t list_options(append_args *args, bool has_conflict, cli_option options[CLI_ROWS_OPTIONS + OWN_OPTIONS])
{
    cli_option rows[CLI_ROWS_OPTIONS];
    size_t row_options = cli_rows_list_options(&args->rows, rows), count = 0;
    options[count++] = (cli_option){"output", 'o', CLI_ONCE, "FILE", CLI_UPDATE_OUTPUT_HELP, &args->update.output};
    if (has_conflict)
        options[count++] = (cli_option){
            "on-conflict",
            0,
            CLI_ONCE,
            "WHAT",
            "rows whose key is there already: fail; skip them;\nreplace the value; or keep both, as an index with\n"
            "duplicates (default: keep where it has them, else fail)",
            &args->conflict_name};
    for (size_t i = 0; i < row_options; i++)
        if (strcmp(rows[i].name, "key-type") != 0 && strcmp(rows[i].name, "value-type") != 0)
            options[count++] = rows[i];
    const cli_option rest[] = {
        {"dry-run", 'n', CLI_FLAG, NULL, CLI_UPDATE_DRY_RUN_HELP, &args->update.dry_run},
        {"threads", 't', CLI_COUNT, "N", "use N threads (default: COPSE_THREADS, else all cores)", &args->threads},
        {"json", 'j', CLI_FLAG, NULL, "print the report as one JSON object", &args->update.json},
        {"quiet", 'q', CLI_FLAG, NULL, "no progress bar, no remarks", &args->update.quiet},
    };
    memcpy(options + count, rest, sizeof rest);
    return count + sizeof rest / sizeof rest[0];
}

static int run_command(const char *name, const char *description, const char *examples, conflict policy, int argc,
                       char **argv)
{
    append_args args = {.update = CLI_UPDATE_INIT, .conflict = policy};
    cli_option options[CLI_ROWS_OPTIONS + OWN_OPTIONS];
    size_t option_count = list_options(&args, policy == CONFLICT_UNSAID, options);
    const cli_command command = {name, "SNAPSHOT INPUT [OPTIONS]", description, examples, options, option_count};
    char **words = malloc((size_t)(argc + 1) * sizeof *words);
    int count = 0, code = CLI_FAILED;
    if (!words) return cli_fail(name, "out of memory");
    if (cli_parse(&command, argc, argv, words, &count, &code)) {
        code = check_args(name, &args, words, count);
        if (code == CLI_OK) code = run(name, &args);
    }
    free(words);
    return code;
}

#define ROWS_HELP                                                                                                      \
    "INPUT is CSV as 'copse build' reads it, or - for standard input; key and value are its first two columns\n"       \
    "unless --key and --value say otherwise, and have the types of the snapshot. The snapshot is replaced only once\n" \
    "the new one is complete; where anything fails, it stays as it was. Row numbers begin at 0 in every INPUT."

int copse_cli_append(int argc, char **argv)
{
    return run_command(
        "append",
        "Adds the rows of a table to a saved index. An index that keeps duplicates takes every row, behind those\n"
        "with the same key; in any other a row whose key is there already is a conflict, and nothing is\n"
        "written unless --on-conflict says what to do. A key that comes twice in INPUT is a conflict, too.\n"
        "\n" ROWS_HELP,
        "  copse append orders.copse new.csv --key id --value amount\n"
        "  copse append log.copse today.csv.gz --on-conflict skip -o merged.copse\n"
        "  tail -n 1000 log.csv | copse append log.copse - --no-header --json",
        CONFLICT_UNSAID, argc, argv);
}

int copse_cli_upsert(int argc, char **argv)
{
    return run_command(
        "upsert",
        "Gives keys new values: a key that is there gets the value of its row, one that is not is added. Of\n"
        "several rows with a key the last one counts. Where the index keeps several entries of the key, the\n"
        "row takes the place of all of them.\n"
        "\n" ROWS_HELP,
        "  copse upsert prices.copse corrections.csv --key date --value price\n"
        "  echo 1017,25 | copse upsert orders.copse - --no-header",
        CONFLICT_REPLACE, argc, argv);
}

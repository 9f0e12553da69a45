/* copse build: from CSV or binary input to a snapshot. */
#include "cli/build.h"
#include "cli/entries.h"
#include "cli/files.h"
#include "cli/key_text.h"

#include <stdlib.h>
#include <string.h>

typedef struct timings {
    double read;
    double build;
    double save;
} timings;

/* ---- the report ---- */

static double per_second(uint64_t amount, double seconds)
{
    return seconds > 0 ? (double)amount / seconds : 0;
}

static void print_json(const cli_session *session, const cli_build_args *args, const cli_pairs *pairs,
                       uint64_t file_bytes, const timings *t)
{
    const copse_stats *s = &session->stats;
    cli_json json;
    cli_json_begin(&json, stdout);
    cli_json_text(&json, "file", args->output);
    cli_json_u64(&json, "entries", s->entries);
    cli_json_u64(&json, "rows", pairs->keys.count);
    cli_json_u64(&json, "left_out", pairs->skipped);
    cli_json_open(&json, "key");
    cli_json_text(&json, "name", pairs->key_name);
    cli_json_text(&json, "type", cli_type_name(s->key_type));
    cli_json_close(&json);
    cli_json_open(&json, "value");
    cli_json_text(&json, "name", s->value_type == COPSE_NONE ? NULL : pairs->value_name);
    cli_json_text(&json, "type", cli_type_name(s->value_type));
    cli_json_close(&json);
    cli_json_bool(&json, "duplicates", s->duplicates != 0);
    cli_json_text(&json, "structure", copse_structure_name(s->structure));
    cli_json_text(&json, "placement", copse_placement_name(s->placement));
    cli_json_u64(&json, "bytes", s->bytes);
    cli_json_u64(&json, "file_bytes", file_bytes);
    if (!args->no_timing) {
        cli_json_double(&json, "read_seconds", t->read);
        cli_json_double(&json, "build_seconds", t->build);
        cli_json_double(&json, "save_seconds", t->save);
        cli_json_double(&json, "build_rate", per_second(pairs->keys.count, t->build));
    }
    cli_json_end(&json);
}

static void print_text(const cli_session *session, const cli_build_args *args, const cli_pairs *pairs,
                       uint64_t file_bytes, const timings *t)
{
    const copse_stats *s = &session->stats;
    char a[CLI_NUMBER_SIZE], b[CLI_NUMBER_SIZE];
    printf("%s\n", args->output);
    cli_fact("entries", "%s", cli_group(s->entries, a));
    if (pairs->keys.count > s->entries)
        cli_fact("rows", "%s; %s had a key that %s", cli_group(pairs->keys.count, a),
                 cli_group(pairs->keys.count - s->entries, b),
                 args->duplicates == CLI_DUPLICATES_FIRST ? "came before, and the first one counts"
                                                          : "comes again later, and the last one counts");
    if (pairs->skipped > 0)
        cli_fact("left out", "%s bad row%s", cli_group(pairs->skipped, a), pairs->skipped == 1 ? "" : "s");
    cli_fact("keys", "%s, %s%s", pairs->key_name, cli_type_name(s->key_type), s->duplicates ? ", duplicates kept" : "");
    if (s->value_type == COPSE_NONE)
        cli_fact("values", "none");
    else
        cli_fact("values", "%s, %s", pairs->value_name, cli_type_name(s->value_type));
    cli_fact("structure", "%s on %s", copse_structure_name(s->structure), copse_placement_name(s->placement));
    cli_fact("in memory", "%s", cli_bytes(s->bytes, a));
    if (s->entries) cli_fact("bytes per key", "%.1f", (double)s->bytes / (double)s->entries);
    cli_fact("file", "%s", cli_bytes(file_bytes, a));
    if (args->no_timing) return;
    cli_fact("read", "%s, %.0f MB/s", cli_seconds(t->read, a), per_second(pairs->bytes, t->read) / 1e6);
    cli_fact("build", "%s, %s", cli_seconds(t->build, a), cli_rate(per_second(pairs->keys.count, t->build), b));
    cli_fact("save", "%s", cli_seconds(t->save, a));
}

/* ---- the job ---- */

static int make_index(cli_session *session, const cli_pairs *pairs, copse_structure structure, bool duplicates)
{
    copse_index_options options = COPSE_INDEX_OPTIONS_INIT;
    options.key_type = pairs->keys.type;
    options.value_type = pairs->value_type;
    options.structure = structure;
    options.placement = session->placement;
    options.updates = COPSE_UPDATES_RARE;
    options.duplicates = duplicates;
    copse_status status = copse_index_create(session->ctx, &options, &session->index);
    if (status == COPSE_OK)
        status = copse_build(session->index, cli_keys_in(&pairs->keys), pairs->values, pairs->keys.count);
    session->stats.struct_size = sizeof session->stats;
    if (status == COPSE_OK) status = copse_index_stats(session->index, &session->stats);
    cli_progress_clear(&session->progress);
    return status == COPSE_OK ? CLI_OK : cli_session_fail(session, status);
}

/* A key that comes twice, as entries that keep all of them show it. */
typedef struct repeated {
    cli_keys before; /* the last key of the entries before */
    char text[CLI_KEY_SHOWN];
} repeated;

static bool find_repeated(void *user, const cli_keys *keys, const char *values)
{
    repeated *r = user;
    (void)values;
    for (uint64_t i = 0; i < keys->count; i++) {
        const cli_key key = cli_keys_at(keys, i);
        if (r->before.count > 0 && cli_key_compare(cli_keys_at(&r->before, 0), key) == 0) {
            cli_key_show(key, r->text);
            return false;
        }
        r->before.count = 0;
        if (!cli_keys_add(&r->before, key)) return false;
    }
    return true;
}

/* Writes a key that is there twice into text, as the end of a sentence; nothing where there is no memory to look. */
static void show_repeated_key(cli_session *session, const cli_pairs *pairs, char *text, size_t text_size)
{
    const cli_query_batch all = {.count = 1, .ranges = COPSE_BETWEEN(NULL, NULL, 1)};
    copse_index *distinct = session->index;
    repeated r = {.text = ""};
    cli_keys_start(&r.before, pairs->keys.type);
    session->index = NULL;
    if (make_index(session, pairs, COPSE_STRUCTURE_AUTO, true) == CLI_OK)
        cli_entries_walk(session, &all, 0, 0, find_repeated, &r);
    copse_index_free(distinct);
    cli_keys_free(&r.before);
    snprintf(text, text_size, "%s%s", *r.text ? ", for instance " : "", r.text);
}

#define REPEATING_SIZE (2 * CLI_NUMBER_SIZE + 64)

/* "2 of 4 rows repeat the key of an earlier row": an index without duplicates has fewer entries than there are rows. */
static const char *say_repeating(const cli_session *session, const cli_pairs *pairs, char text[REPEATING_SIZE])
{
    const uint64_t count = pairs->keys.count - session->stats.entries;
    char repeating[CLI_NUMBER_SIZE], rows[CLI_NUMBER_SIZE];
    snprintf(text, REPEATING_SIZE, "%s of %s rows repeat%s the key of an earlier row", cli_group(count, repeating),
             cli_group(pairs->keys.count, rows), count == 1 ? "s" : "");
    return text;
}

/* Nobody said what is to become of rows that share a key, so none of them is lost. That there are such rows is known once they
 * are counted: an index without duplicates has fewer entries than rows. */
static int keep_duplicates(cli_session *session, const cli_build_args *args, const cli_pairs *pairs,
                           copse_structure structure)
{
    char repeating[REPEATING_SIZE];
    if (!args->rows.quiet)
        cli_note("build", "%s; all rows are kept, and --duplicates last, first or fail does otherwise",
                 say_repeating(session, pairs, repeating));
    copse_index_free(session->index);
    session->index = NULL;
    return make_index(session, pairs, structure, true);
}

static int refuse_duplicates(cli_session *session, const cli_pairs *pairs)
{
    char repeating[REPEATING_SIZE], key[CLI_KEY_SHOWN + 32];
    say_repeating(session, pairs, repeating);
    show_repeated_key(session, pairs, key, sizeof key);
    return cli_fail("build", "%s%s; --duplicates keep, last or first takes them", repeating, key);
}

static int index_pairs(cli_session *session, const cli_build_args *args, cli_pairs *pairs, copse_structure structure)
{
    /* The last of equal keys wins. */
    if (args->duplicates == CLI_DUPLICATES_FIRST && !cli_pairs_reverse(pairs))
        return cli_fail("build", "out of memory");
    int code = make_index(session, pairs, structure, args->duplicates == CLI_DUPLICATES_KEEP);
    if (code != CLI_OK || session->stats.entries == pairs->keys.count) return code;
    if (args->duplicates == CLI_DUPLICATES_FAIL) return refuse_duplicates(session, pairs);
    return args->duplicates == CLI_DUPLICATES_UNSAID ? keep_duplicates(session, args, pairs, structure) : CLI_OK;
}

/* Not every tree takes text. Rows are only read where the one that was asked for does. */
static int check_structure(const cli_session *session, copse_type key_type, copse_structure structure)
{
    char names[CLI_STRUCTURES_SIZE];
    const copse_placement asked = session->placement;
    const copse_placement placement = asked == COPSE_PLACEMENT_AUTO ? COPSE_PLACEMENT_CPU : asked;
    if (key_type != COPSE_BYTES) return CLI_OK;
    cli_structures_for(key_type, placement, names);
    if (!*names)
        return cli_fail("build", "no structure takes text keys on --placement %s", copse_placement_name(placement));
    if (structure == COPSE_STRUCTURE_AUTO || copse_supports(structure, placement, key_type, COPSE_CAN_EXIST))
        return CLI_OK;
    return cli_fail("build", "--structure %s does not take text keys; those that do: %s",
                    copse_structure_name(structure), names);
}

/* All rows of a CSV file. */
static int read_csv(cli_session *session, const cli_build_args *args, copse_structure structure, cli_pairs *pairs)
{
    cli_rows *rows = NULL;
    int code = cli_rows_open(session, &args->rows, &rows);
    if (code == CLI_OK) code = check_structure(session, cli_rows_key_type(rows), structure);
    if (code == CLI_OK) code = cli_rows_next(rows, UINT64_MAX, pairs);
    if (code == CLI_OK) code = cli_rows_finish(rows);
    cli_rows_close(rows);
    return code;
}

static void report(const cli_session *session, const cli_build_args *args, const cli_pairs *pairs, uint64_t file_bytes,
                   const timings *t)
{
    char entries[CLI_NUMBER_SIZE];
    if (args->json)
        print_json(session, args, pairs, file_bytes, t);
    else if (!cli_is_stdout(args->output))
        print_text(session, args, pairs, file_bytes, t);
    else if (!args->rows.quiet)
        cli_note("build", "%s entries to standard output", cli_group(session->stats.entries, entries));
}

static int run(const cli_build_args *args, bool raw, copse_structure structure)
{
    cli_session session;
    cli_pairs pairs = {0};
    timings t = {0};
    uint64_t file_bytes = 0;
    int code = cli_session_open(&session, "build", args->threads, args->rows.quiet, &args->where);
    double start = cli_clock();
    if (code == CLI_OK) code = raw ? cli_read_raw(&session, args, &pairs) : read_csv(&session, args, structure, &pairs);
    t.read = cli_clock() - start;
    if (code == CLI_OK) code = index_pairs(&session, args, &pairs, structure);
    t.build = cli_clock() - start - t.read;
    cli_pairs_free(&pairs);
    if (code == CLI_OK) code = cli_snapshot_save(&session, args->output, &file_bytes);
    t.save = cli_clock() - start - t.read - t.build;
    if (code == CLI_OK) {
        report(&session, args, &pairs, file_bytes, &t);
        code = cli_finish("build", CLI_OK);
    }
    cli_session_close(&session);
    return code;
}

/* ---- the command line ---- */

static int parse_duplicates(cli_build_args *args)
{
    static const char *const names[] = {"", "keep", "last", "first", "fail"};
    if (!args->duplicates_name) return CLI_OK;
    for (int i = CLI_DUPLICATES_KEEP; i <= CLI_DUPLICATES_FAIL; i++)
        if (strcmp(args->duplicates_name, names[i]) == 0) args->duplicates = (cli_duplicates)i;
    if (args->duplicates != CLI_DUPLICATES_UNSAID) return CLI_OK;
    return cli_usage_error("build",
                           "--duplicates takes keep, last, first or fail, not '%s'; without it all rows are kept",
                           args->duplicates_name);
}

static int check_args(cli_build_args *args, char **words, int count, bool *raw, copse_structure *structure)
{
    char names[CLI_STRUCTURES_SIZE];
    if (count == 0) return cli_usage_error("build", "which input? Name a file, or - for standard input");
    if (count > 1) return cli_usage_error("build", "one input at a time: '%s' is left over", words[1]);
    if (!args->output) return cli_usage_error("build", "where to? -o FILE names the snapshot to write");
    args->rows.input = words[0];
    *raw = args->values_file || args->pairs;
    if (args->format && strcmp(args->format, "raw") == 0)
        *raw = true;
    else if (args->format && strcmp(args->format, "csv") != 0)
        return cli_usage_error("build", "--format takes csv or raw, not '%s'", args->format);
    else if (args->format && *raw)
        return cli_usage_error("build", "--values and --pairs are for --format raw");
    if (args->structure_name && copse_structure_parse(args->structure_name, structure) != COPSE_OK)
        return cli_usage_error("build", "--structure takes %s, not '%s'", cli_structure_list(names),
                               args->structure_name);
    int code = cli_snapshot_check("build", args->output, args->json);
    if (code == CLI_OK) code = cli_placement_read("build", &args->where);
    if (code == CLI_OK) code = parse_duplicates(args);
    return code == CLI_OK ? cli_rows_check("build", &args->rows) : code;
}

static const char description[] =
    "Reads keys and values, builds an index and saves it as a snapshot, which the other commands read and change. An\n"
    "existing snapshot is replaced only once the new one is complete.\n"
    "\n"
    "From CSV, plain or gzip, the key is the first column and the value the next, unless --key and --value say\n"
    "otherwise; delimiter, decimal comma and types are guessed from the first rows unless given. A bad row is named\n"
    "by line and column, and nothing is written, unless --on-bad skip leaves such rows out. Dates are 2026-11-15,\n"
    "timestamps 2026-11-15T12:34:56.123456Z or what --date-format says; digits below a microsecond are cut off, and\n"
    "a remark says so. From binary files, keys and values are little-endian arrays.\n"
    "\n"
    "Keys are text where most of them are neither number nor date, or with --key-type text: up to 65536 bytes,\n"
    "taken as they are, blanks and all, and ordered by their bytes, which for UTF-8 is the order of its characters.\n"
    "An empty cell is no key, nor is NA or another word of --null; with --null '' such words are text as well.\n"
    "--value-type none makes a set: keys without values.\n"
    "\n"
    "Where rows share a key, all of them are kept and a remark says so; --duplicates decides otherwise.\n"
    "\n"
    "A column by number is '#1', in quotes: the shell takes what follows a bare # for a comment. TYPE is one of\n"
    "u32 i32 f32 u64 i64 f64, for keys also date, timestamp and text, for values also none.";

static const char examples[] =
    "  copse build orders.csv --key id --value amount -o orders.copse\n"
    "  copse build people.csv --key email --value-type none -o people.copse\n"
    "  copse build log.csv.gz --key time --value row --on-bad skip -o log.copse\n"
    "  copse build table.csv -k '#3' -v '#5' --date-format '%d.%m.%Y' --decimal , -o table.copse\n"
    "  copse build keys.bin --values values.bin --key-type u64 --value-type f32 -o big.copse";

#define HELP_WIDTH 56

static const char *structure_help(char text[CLI_STRUCTURES_SIZE])
{
    cli_structure_places(text);
    size_t used = strlen(text);
    snprintf(text + used, CLI_STRUCTURES_SIZE - used, " (default: auto)");
    cli_wrap(text, HELP_WIDTH);
    return text;
}

#define OWN_OPTIONS 12

/* What is read from stands in front, how the snapshot is made behind it. */
static size_t list_options(cli_build_args *args, const char *structures,
                           cli_option options[CLI_ROWS_OPTIONS + OWN_OPTIONS])
{
    const cli_option own[OWN_OPTIONS] = {
        {"output", 'o', CLI_ONCE, "FILE", "the snapshot to write (-: to standard output)", &args->output},
        {"duplicates", 0, CLI_ONCE, "WHAT",
         "rows that share a key: keep all, in input order (the\ndefault, with a remark); only the last or first; fail",
         &args->duplicates_name},
        {"structure", 0, CLI_TEXT, "NAME", structures, &args->structure_name},
        {"format", 0, CLI_TEXT, "FORMAT", "csv or raw (default: csv)", &args->format},
        {"values", 0, CLI_ONCE, "FILE", "raw input: the array of values (default: row numbers)", &args->values_file},
        {"pairs", 0, CLI_FLAG, NULL, "raw input: INPUT holds key, value, key, value, ...", &args->pairs},
        {"threads", 't', CLI_COUNT, "N", "use N threads (default: COPSE_THREADS, else all cores)", &args->threads},
        {"placement", 0, CLI_TEXT, "NAME", "where it is built: cpu, gpu, hybrid, auto or emulated (default: cpu)",
         &args->where.name},
        {"device", 0, CLI_COUNT, "N", CLI_DEVICE_HELP, &args->where.device},
        {"json", 'j', CLI_FLAG, NULL, "print the report as one JSON object", &args->json},
        {"no-timing", 0, CLI_FLAG, NULL, "leave times out of the report, so that it can be compared", &args->no_timing},
        {"quiet", 'q', CLI_FLAG, NULL, "no progress bar, no remarks", &args->rows.quiet},
    };
    options[0] = own[0];
    size_t count = 1 + cli_rows_list_options(&args->rows, options + 1);
    memcpy(options + count, own + 1, sizeof own - sizeof own[0]);
    return count + OWN_OPTIONS - 1;
}

int copse_cli_build(int argc, char **argv)
{
    cli_build_args args = {.where = CLI_PLACEMENT_INIT};
    char structures[CLI_STRUCTURES_SIZE];
    cli_option options[CLI_ROWS_OPTIONS + OWN_OPTIONS];
    size_t option_count = list_options(&args, structure_help(structures), options);
    const cli_command command = {"build", "INPUT -o FILE [OPTIONS]", description, examples, options, option_count};
    copse_structure structure = COPSE_STRUCTURE_AUTO;
    char **words = malloc((size_t)(argc + 1) * sizeof *words);
    int count = 0, code = CLI_FAILED;
    bool raw = false;
    if (!words) return cli_fail("build", "out of memory");
    if (cli_parse(&command, argc, argv, words, &count, &code)) {
        code = check_args(&args, words, count, &raw, &structure);
        if (code == CLI_OK) code = run(&args, raw, structure);
    }
    free(words);
    return code;
}

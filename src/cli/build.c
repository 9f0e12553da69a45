/* copse build: from CSV or binary input to a snapshot. */
#define _POSIX_C_SOURCE 200809L
#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define FIRST_PAIRS ((uint64_t)65536)

typedef struct timings {
    double read;
    double build;
    double save;
} timings;

/* ---- arrays ---- */

bool cli_pairs_reserve(cli_pairs *pairs, uint64_t count, bool has_values)
{
    uint64_t capacity = pairs->capacity ? pairs->capacity : FIRST_PAIRS;
    if (count <= pairs->capacity) return true;
    while (capacity < count) capacity *= 2;
    void *keys = realloc(pairs->keys, (size_t)capacity * copse_type_size(pairs->key_type));
    if (!keys) return false;
    pairs->keys = keys;
    if (has_values) {
        void *values = realloc(pairs->values, (size_t)capacity * copse_type_size(pairs->value_type));
        if (!values) return false;
        pairs->values = values;
    }
    pairs->capacity = capacity;
    return true;
}

void cli_pairs_free(cli_pairs *pairs)
{
    free(pairs->keys);
    free(pairs->values);
    pairs->keys = pairs->values = NULL;
}

/* ---- the report ---- */

static uint64_t file_size(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 ? (uint64_t)about.st_size : 0;
}

static double per_second(uint64_t amount, double seconds)
{
    return seconds > 0 ? (double)amount / seconds : 0;
}

static void print_json(const cli_session *session, const cli_build_args *args, const cli_pairs *pairs, const timings *t)
{
    const copse_stats *s = &session->stats;
    cli_json json;
    cli_json_begin(&json, stdout);
    cli_json_text(&json, "file", args->output);
    cli_json_u64(&json, "entries", s->entries);
    cli_json_u64(&json, "rows", pairs->count);
    cli_json_open(&json, "key");
    cli_json_text(&json, "name", pairs->key_name);
    cli_json_text(&json, "type", copse_type_name(s->key_type));
    cli_json_close(&json);
    cli_json_open(&json, "value");
    cli_json_text(&json, "name", pairs->value_name);
    cli_json_text(&json, "type", copse_type_name(s->value_type));
    cli_json_close(&json);
    cli_json_bool(&json, "duplicates", s->duplicates != 0);
    cli_json_text(&json, "structure", copse_structure_name(s->structure));
    cli_json_text(&json, "placement", copse_placement_name(s->placement));
    cli_json_u64(&json, "bytes", s->bytes);
    cli_json_u64(&json, "file_bytes", file_size(args->output));
    if (!args->no_timing) {
        cli_json_double(&json, "read_seconds", t->read);
        cli_json_double(&json, "build_seconds", t->build);
        cli_json_double(&json, "save_seconds", t->save);
        cli_json_double(&json, "build_rate", per_second(pairs->count, t->build));
    }
    cli_json_end(&json);
}

static void print_text(const cli_session *session, const cli_build_args *args, const cli_pairs *pairs, const timings *t)
{
    const copse_stats *s = &session->stats;
    char a[CLI_NUMBER_SIZE], b[CLI_NUMBER_SIZE];
    printf("%s\n", args->output);
    cli_fact("entries", "%s", cli_group(s->entries, a));
    if (pairs->count > s->entries)
        cli_fact("rows", "%s; %s had a key that comes again later, and the last one counts", cli_group(pairs->count, a),
                 cli_group(pairs->count - s->entries, b));
    cli_fact("keys", "%s, %s%s", pairs->key_name, copse_type_name(s->key_type),
             s->duplicates ? ", duplicates kept" : "");
    cli_fact("values", "%s, %s", pairs->value_name, copse_type_name(s->value_type));
    cli_fact("structure", "%s on %s", copse_structure_name(s->structure), copse_placement_name(s->placement));
    cli_fact("in memory", "%s", cli_bytes(s->bytes, a));
    if (s->entries) cli_fact("bytes per key", "%.1f", (double)s->bytes / (double)s->entries);
    cli_fact("file", "%s", cli_bytes(file_size(args->output), a));
    if (args->no_timing) return;
    cli_fact("read", "%s, %.0f MB/s", cli_seconds(t->read, a), per_second(pairs->bytes, t->read) / 1e6);
    cli_fact("build", "%s, %s", cli_seconds(t->build, a), cli_rate(per_second(pairs->count, t->build), b));
    cli_fact("save", "%s", cli_seconds(t->save, a));
}

/* ---- the job ---- */

static int make_index(cli_session *session, const cli_build_args *args, const cli_pairs *pairs,
                      copse_structure structure)
{
    copse_index_options options = COPSE_INDEX_OPTIONS_INIT;
    options.key_type = pairs->key_type;
    options.value_type = pairs->value_type;
    options.structure = structure;
    options.placement = session->placement;
    options.updates = COPSE_UPDATES_RARE;
    options.duplicates = args->duplicates;
    copse_status status = copse_index_create(session->ctx, &options, &session->index);
    if (status == COPSE_OK) status = copse_build(session->index, pairs->keys, pairs->values, pairs->count);
    session->stats.struct_size = sizeof session->stats;
    if (status == COPSE_OK) status = copse_index_stats(session->index, &session->stats);
    cli_progress_clear(&session->progress);
    return status == COPSE_OK ? CLI_OK : cli_session_fail(session, status);
}

static int save_index(cli_session *session, const char *path)
{
    copse_status status = copse_save(session->index, path);
    cli_progress_clear(&session->progress);
    return status == COPSE_OK ? CLI_OK : cli_session_fail(session, status);
}

static int run(const cli_build_args *args, bool raw, copse_structure structure)
{
    cli_session session;
    cli_pairs pairs = {0};
    timings t = {0};
    int code = cli_session_open(&session, "build", args->threads, args->quiet, &args->where);
    double start = cli_clock();
    if (code == CLI_OK) code = raw ? cli_read_raw(&session, args, &pairs) : cli_read_csv(&session, args, &pairs);
    t.read = cli_clock() - start;
    if (code == CLI_OK) code = make_index(&session, args, &pairs, structure);
    t.build = cli_clock() - start - t.read;
    cli_pairs_free(&pairs);
    if (code == CLI_OK) code = save_index(&session, args->output);
    t.save = cli_clock() - start - t.read - t.build;
    if (code == CLI_OK) {
        if (args->json)
            print_json(&session, args, &pairs, &t);
        else
            print_text(&session, args, &pairs, &t);
        code = cli_finish("build", CLI_OK);
    }
    cli_session_close(&session);
    return code;
}

/* ---- the command line ---- */

static int parse_type(const char *option, const char *name, bool for_values, copse_type *out)
{
    if (!name) return CLI_OK;
    if (copse_type_parse(name, out) == COPSE_OK && (!for_values || cli_type_is_value(*out))) return CLI_OK;
    return cli_usage_error("build", "--%s takes %s, not '%s'", option, cli_type_names(for_values), name);
}

static int check_args(cli_build_args *args, char **words, int count, bool *raw, copse_structure *structure)
{
    char names[CLI_STRUCTURES_SIZE];
    if (count == 0) return cli_usage_error("build", "which input? Name a file, or - for standard input");
    if (count > 1) return cli_usage_error("build", "one input at a time: '%s' is left over", words[1]);
    if (!args->output) return cli_usage_error("build", "where to? -o FILE names the snapshot to write");
    args->input = words[0];
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
    int code = cli_placement_read("build", &args->where);
    if (code == CLI_OK) code = parse_type("key-type", args->key_type_name, false, &args->key_type);
    return code == CLI_OK ? parse_type("value-type", args->value_type_name, true, &args->value_type) : code;
}

static const char description[] =
    "Reads keys and values, builds an index and saves it as a snapshot that get, range, count, sum, info and verify\n"
    "read. An existing snapshot is replaced only once the new one is complete.\n"
    "\n"
    "From CSV, the key is the first column and the value the next, unless --key and --value say otherwise; types are\n"
    "guessed from the first rows unless given. A bad cell is named by line and column, and nothing is written. Dates\n"
    "are 2026-11-15, timestamps 2026-11-15T12:34:56.123456Z. From binary files, keys and values are little-endian\n"
    "arrays. Where a key comes twice, the last row counts; --duplicates keeps all.\n"
    "\n"
    "TYPE is one of u32 i32 f32 u64 i64 f64, for keys also date and timestamp.";

static const char examples[] =
    "  copse build orders.csv --key id --value amount -o orders.copse\n"
    "  copse build keys.bin --values values.bin --key-type u64 --value-type f32 -o big.copse\n"
    "  zcat log.csv.gz | copse build - --key time --value row --duplicates -o log.copse";

#define HELP_WIDTH 56

static const char *structure_help(char text[CLI_STRUCTURES_SIZE])
{
    cli_structure_places(text);
    size_t used = strlen(text);
    snprintf(text + used, CLI_STRUCTURES_SIZE - used, " (default: auto)");
    cli_wrap(text, HELP_WIDTH);
    return text;
}

int copse_cli_build(int argc, char **argv)
{
    cli_build_args args = {.where = CLI_PLACEMENT_INIT};
    char structures[CLI_STRUCTURES_SIZE];
    const cli_option options[] = {
        {"output", 'o', CLI_TEXT, "FILE", "the snapshot to write", &args.output},
        {"key", 'k', CLI_TEXT, "COLUMN", "key column: its name, or #N for the N-th (default: #1)", &args.key},
        {"value", 'v', CLI_TEXT, "COLUMN", "value column, or 'row' for row numbers from 0\n(default: the next column)",
         &args.value},
        {"key-type", 0, CLI_TEXT, "TYPE", "type of the keys (default: guess)", &args.key_type_name},
        {"value-type", 0, CLI_TEXT, "TYPE", "type of the values (default: guess)", &args.value_type_name},
        {"duplicates", 0, CLI_FLAG, NULL, "keep all entries of a key, in input order", &args.duplicates},
        {"structure", 0, CLI_TEXT, "NAME", structure_help(structures), &args.structure_name},
        {"delimiter", 'd', CLI_TEXT, "C", "between cells: a character or 'tab'\n(default: a comma; tab for .tsv files)",
         &args.delimiter},
        {"no-header", 0, CLI_FLAG, NULL, "the first line is data", &args.no_header},
        {"format", 0, CLI_TEXT, "FORMAT", "csv or raw (default: csv)", &args.format},
        {"values", 0, CLI_TEXT, "FILE", "raw input: the array of values (default: row numbers)", &args.values_file},
        {"pairs", 0, CLI_FLAG, NULL, "raw input: INPUT holds key, value, key, value, ...", &args.pairs},
        {"threads", 't', CLI_COUNT, "N", "use N threads (default: COPSE_THREADS, else all cores)", &args.threads},
        {"placement", 0, CLI_TEXT, "NAME", "where it is built: cpu, gpu, auto or emulated (default: cpu)",
         &args.where.name},
        {"device", 0, CLI_COUNT, "N", CLI_DEVICE_HELP, &args.where.device},
        {"json", 'j', CLI_FLAG, NULL, "print the report as one JSON object", &args.json},
        {"no-timing", 0, CLI_FLAG, NULL, "leave times out of the report, so that it can be compared", &args.no_timing},
        {"quiet", 'q', CLI_FLAG, NULL, "no progress bar, no remarks", &args.quiet},
    };
    const cli_command command = {"build", "INPUT -o FILE [OPTIONS]",         description, examples,
                                 options, sizeof options / sizeof options[0]};
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

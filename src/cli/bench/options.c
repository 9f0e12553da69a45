/* The command line of `copse bench`: lists, counts, names, and what is said when one of them is wrong. */
#include "cli/bench/bench.h"

#include "transfer/transfer.h"
#include "trees/registry.h"

#include <stdlib.h>
#include <string.h>

#define MAX_ENTRIES (UINT64_C(1) << 32)

/* ---- what options may be ---- */

typedef struct name_list {
    size_t count;
    const char *name[BENCH_LIST];
    uint64_t value[BENCH_LIST];
} name_list;

static void add_name(name_list *list, const char *name, uint64_t value)
{
    if (list->count == BENCH_LIST) return;
    list->name[list->count] = name;
    list->value[list->count++] = value;
}

static void structure_names(name_list *list)
{
    for (unsigned i = 0; i < 64; i++) {
        copse_structure read_back = COPSE_STRUCTURE_AUTO;
        const char *name = copse_structure_name((copse_structure)i);
        if (name && copse_structure_parse(name, &read_back) == COPSE_OK && (unsigned)read_back == i) {
            add_name(list, name, i);
        }
    }
}

static void placement_names(name_list *list)
{
    for (unsigned i = 0; i < 64; i++) {
        copse_placement read_back = COPSE_PLACEMENT_AUTO;
        const char *name = copse_placement_name((copse_placement)i);
        if (name && copse_placement_parse(name, &read_back) == COPSE_OK && (unsigned)read_back == i) {
            add_name(list, name, i);
        }
    }
}

static void type_names(name_list *list, bool values)
{
    for (unsigned i = COPSE_U32; i <= (values ? COPSE_F64 : COPSE_TIMESTAMP); i++) {
        add_name(list, copse_type_name((copse_type)i), i);
    }
}

static void dist_names(name_list *list)
{
    for (unsigned i = 0; i < WORKLOAD_DIST_COUNT; i++) add_name(list, workload_dist_name((workload_dist)i), i);
}

static void peer_names(name_list *list)
{
    const char *name;
    for (size_t i = 0; (name = bench_peer_at(i, NULL)) != NULL; i++) add_name(list, name, i);
}

const char *bench_isa_name(uint64_t i)
{
    static const char *const names[] = {"auto", "scalar", "avx2", "avx512"};
    return i < sizeof names / sizeof *names ? names[i] : NULL;
}

const char *bench_schedule_name(uint64_t i)
{
    static const char *const names[] = {"auto", "sequential", "pipelined", "double-buffered", "balanced"};
    return i < sizeof names / sizeof *names ? names[i] : NULL;
}

static void schedule_names(name_list *list)
{
    for (uint64_t i = 0; bench_schedule_name(i) != NULL; i++) add_name(list, bench_schedule_name(i), i);
}

const char *bench_refresh_name(uint64_t i)
{
    static const char *const names[] = {"auto", "synchronous", "asynchronous"};
    return i < sizeof names / sizeof *names ? names[i] : NULL;
}

static void refresh_names(name_list *list)
{
    for (uint64_t i = 0; bench_refresh_name(i) != NULL; i++) add_name(list, bench_refresh_name(i), i);
}

static void isa_names(name_list *list)
{
    for (uint64_t i = 0; bench_isa_name(i) != NULL; i++) add_name(list, bench_isa_name(i), i);
}

static const name_list page_names = {2, {"on", "off"}, {COPSE_HUGE_PAGES_AUTO, COPSE_HUGE_PAGES_OFF}};
static const name_list memory_names = {5,
                                       {"host", "pageable", "pinned", "device", "promised"},
                                       {BENCH_HOST, BENCH_HOST, BENCH_PINNED, BENCH_DEVICE, BENCH_PROMISED}};
static const name_list query_names = {
    6,
    {"uniform", "normal", "gamma", "zipf", "sorted", "arrival"},
    {WORKLOAD_UNIFORM, WORKLOAD_NORMAL, WORKLOAD_GAMMA, WORKLOAD_ZIPF, WORKLOAD_ASCENDING, BENCH_ARRIVAL},
};

const char *bench_memory_name(bench_memory_kind kind, bool on_device)
{
    switch (kind) {
    case BENCH_PINNED:
        return "pinned";
    case BENCH_DEVICE:
        return "device";
    case BENCH_PROMISED:
        return "promised";
    default:
        return on_device ? "pageable" : "host";
    }
}

/* ---- lists ---- */

static int refuse_name(const char *option, const char *word, const name_list *names)
{
    char accepted[512] = "";
    for (size_t i = 0; i < names->count; i++) {
        size_t used = strlen(accepted);
        snprintf(accepted + used, sizeof accepted - used, "%s%s", i ? ", " : "", names->name[i]);
    }
    const char *nearest = copse_nearest(word, names->name, names->count);
    if (nearest) {
        return cli_usage_error("bench", "--%s: '%s' is not known, did you mean '%s'? Accepted: %s", option, word,
                               nearest, accepted);
    }
    return cli_usage_error("bench", "--%s: '%s' is not known. Accepted: %s", option, word, accepted);
}

/* Cuts the next word off a list. False at the end. Words longer than the buffer are cut, and then match nothing. */
static bool next_word(const char **rest, char *word, size_t size)
{
    if (*rest == NULL) return false;
    size_t length = strcspn(*rest, ",");
    size_t copied = length < size - 1 ? length : size - 1;
    memcpy(word, *rest, copied);
    word[copied] = '\0';
    *rest = (*rest)[length] == ',' ? *rest + length + 1 : NULL;
    return true;
}

static int add_item(const char *option, bench_list *list, uint64_t item)
{
    if (list->count == BENCH_LIST) return cli_usage_error("bench", "--%s: at most %d items", option, BENCH_LIST);
    list->item[list->count++] = item;
    return CLI_OK;
}

/* auto stays out of `all`: it is one of the others. */
static int read_names(const char *option, const char *text, const name_list *names, bench_list *out)
{
    char word[48];
    int code = CLI_OK;
    while (code == CLI_OK && next_word(&text, word, sizeof word)) {
        bool all = strcmp(word, "all") == 0;
        bool known = false;
        for (size_t i = 0; i < names->count && code == CLI_OK; i++) {
            bool wanted = all ? strcmp(names->name[i], "auto") != 0 : strcmp(names->name[i], word) == 0;
            if (!wanted) continue;
            known = true;
            code = add_item(option, out, names->value[i]);
        }
        if (!known) return refuse_name(option, word, names);
    }
    return code;
}

/* host and pageable are one and the same memory: it is measured once. */
static int read_memories(const char *text, bench_list *out)
{
    bench_list asked = {0};
    bool seen[BENCH_PROMISED + 1] = {false};
    int code = read_names("memory", text, &memory_names, &asked);
    for (size_t i = 0; code == CLI_OK && i < asked.count; i++) {
        if (!seen[asked.item[i]]) code = add_item("memory", out, asked.item[i]);
        seen[asked.item[i]] = true;
    }
    return code;
}

static const name_list transfer_modes = {
    3,
    {"auto", "staged", "registered"},
    {COPSE_TRANSFER_AUTO, COPSE_TRANSFER_STAGED, COPSE_TRANSFER_REGISTERED},
};

/* MODE[:CHUNK[:SLOTS[:streaming]]] */
static bool parse_transfer(const char *text, bench_transfer *out)
{
    char mode[16] = "";
    char chunk[16] = "";
    char slots[16] = "";
    char last[16] = "";
    *out = (bench_transfer){.mode = UINT32_MAX};
    snprintf(out->text, sizeof out->text, "%s", text);
    int fields = sscanf(text, "%15[^:]:%15[^:]:%15[^:]:%15s", mode, chunk, slots, last);
    for (size_t i = 0; i < transfer_modes.count; i++) {
        if (strcmp(mode, transfer_modes.name[i]) == 0) out->mode = (unsigned)transfer_modes.value[i];
    }
    uint64_t number = 0;
    bool good = fields >= 1 && out->mode != UINT32_MAX;
    if (fields >= 2) good = good && cli_parse_count(chunk, &out->chunk_bytes) && out->chunk_bytes > 0;
    if (fields >= 3) good = good && cli_parse_count(slots, &number) && number <= COPSE_TRANSFER_SLOTS;
    if (fields >= 4) good = good && strcmp(last, "streaming") == 0;
    out->slots = (unsigned)number;
    out->streaming = fields >= 4;
    return good;
}

static int read_transfers(const char *text, bench_options *out)
{
    char word[48];
    int code = CLI_OK;
    while (code == CLI_OK && next_word(&text, word, sizeof word)) {
        size_t i = out->transfers.count;
        code = add_item("transfer", &out->transfers, i);
        if (code == CLI_OK && !parse_transfer(word, &out->transfer[i])) {
            return cli_usage_error("bench",
                                   "--transfer: '%s' is not accepted; it takes MODE[:CHUNK[:SLOTS[:streaming]]] with a "
                                   "mode of auto, staged or registered, such as staged:8M:3",
                                   word);
        }
    }
    return code;
}

/* `none` is a word for "no limit" or "the library's choice": all for --batch, auto for --threads and --pipeline. */
static int read_counts(const char *option, const char *text, const char *none, uint64_t least, uint64_t most,
                       bench_list *out)
{
    char word[48];
    int code = CLI_OK;
    while (code == CLI_OK && next_word(&text, word, sizeof word)) {
        uint64_t number = 0;
        bool is_none = none != NULL && strcmp(word, none) == 0;
        if (!is_none && (!cli_parse_count(word, &number) || number < least || number > most)) {
            return cli_usage_error(
                "bench", "--%s: '%s' is not accepted; it takes numbers from %llu to %llu, such as %s%s%s", option, word,
                (unsigned long long)least, (unsigned long long)most,
                most > UINT32_MAX ? "16777216, 16M or 2^24" : "1,2,4", none ? ", or " : "", none ? none : "");
        }
        code = add_item(option, out, number);
    }
    return code;
}

/* Cuts NAME:QUERIES:BATCH after the name and reads the rest, of which either number, or both, may be missing. */
static bool parse_op_size(char *word, bench_op_size *out)
{
    *out = (bench_op_size){0};
    char *queries = strchr(word, ':');
    if (queries == NULL) return true;
    *queries++ = '\0';
    char *batch = strchr(queries, ':');
    if (batch != NULL) *batch++ = '\0';
    if (*queries != '\0' && (!cli_parse_count(queries, &out->queries) || out->queries == 0)) return false;
    if (batch == NULL) return *queries != '\0';
    out->has_batch = true;
    if (strcmp(batch, "all") == 0) return true;
    return cli_parse_count(batch, &out->batch) && out->batch > 0 && out->batch <= MAX_ENTRIES;
}

static int read_ops(const char *text, bench_options *out)
{
    char word[48];
    while (next_word(&text, word, sizeof word)) {
        bench_op_size size;
        if (!parse_op_size(word, &size) || size.queries > MAX_ENTRIES) {
            return cli_usage_error("bench",
                                   "--op: what follows '%s:' is not accepted; it takes NAME[:QUERIES[:BATCH]], "
                                   "such as insert-new:2^25:2^20",
                                   word);
        }
        if (out->op_count == BENCH_LIST) return cli_usage_error("bench", "--op: at most %d items", BENCH_LIST);
        out->op_sizes[out->op_count] = size;
        if (strcmp(word, "all") == 0) {
            for (size_t i = 0; bench_op_name(i) != NULL && out->op_count < BENCH_LIST; i++) {
                out->op_sizes[out->op_count] = size;
                bench_op_parse(bench_op_name(i), &out->ops[out->op_count++]);
            }
        } else if (!bench_op_parse(word, &out->ops[out->op_count++])) {
            name_list names = {0};
            for (size_t i = 0; bench_op_name(i) != NULL; i++) add_name(&names, bench_op_name(i), i);
            return refuse_name("op", word, &names);
        }
    }
    return CLI_OK;
}

/* Names of peers that this build lacks get a remark and are passed over, so that one command line serves everywhere. */
static int read_peers(const char *text, bench_list *out)
{
    name_list names = {0};
    bench_list asked = {0};
    if (strcmp(text, "none") == 0) return CLI_OK;
    peer_names(&names);
    int code = read_names("peers", text, &names, &asked);
    for (size_t i = 0; code == CLI_OK && i < asked.count; i++) {
        bench_peer_fn peer = NULL;
        const char *name = bench_peer_at((size_t)asked.item[i], &peer);
        if (peer == NULL) {
            cli_note("bench", "%s is not built in: %s", name, bench_peer_needs((size_t)asked.item[i]));
        } else {
            code = add_item("peers", out, asked.item[i]);
        }
    }
    return code;
}

/* ---- the command ---- */

typedef struct raw_options {
    const char *structure, *placement, *key, *value, *n, *op, *batch, *threads, *dist, *memory, *query_dist, *isa,
        *huge_pages, *pipeline, *peers, *transfer, *grown, *schedule, *bucket, *leaf_memory, *slower, *refresh,
        *page_order;
} raw_options;

static int read_types_and_sizes(const raw_options *raw, bench_options *out)
{
    name_list names = {0};
    type_names(&names, false);
    int code = read_names("key", raw->key, &names, &out->keys);
    if (code != CLI_OK) return code;
    names.count = 0;
    type_names(&names, true);
    code = read_names("value", raw->value, &names, &out->values);
    if (code != CLI_OK) return code;
    code = read_counts("n", raw->n, NULL, 1, MAX_ENTRIES, &out->sizes);
    if (code != CLI_OK) return code;
    names.count = 0;
    dist_names(&names);
    code = read_names("dist", raw->dist, &names, &out->dists);
    if (code != CLI_OK) return code;
    bench_list one = {0};
    code = read_names("query-dist", raw->query_dist, &query_names, &one);
    if (code != CLI_OK) return code;
    if (one.count != 1) return cli_usage_error("bench", "--query-dist takes one name");
    out->query_dist = (workload_dist)one.item[0];
    out->query_dist_name = raw->query_dist;
    return CLI_OK;
}

/* A number of pairs, or all of them in one insert. */
static int read_grown(const char *text, uint64_t *out)
{
    bench_list one = {0};
    if (strcmp(text, "no") == 0) return CLI_OK;
    int code = read_counts("grown", text, "all", 1, MAX_ENTRIES, &one);
    if (code != CLI_OK) return code;
    if (one.count != 1) return cli_usage_error("bench", "--grown takes one number");
    *out = one.item[0] ? one.item[0] : BENCH_NONE;
    return CLI_OK;
}

/* How a hybrid tree works through a batch, and the pages of a paged one. */
static int read_hybrid(const raw_options *raw, bench_options *out)
{
    name_list schedules = {0};
    schedule_names(&schedules);
    int code = read_names("schedule", raw->schedule, &schedules, &out->schedules);
    if (code == CLI_OK) code = read_counts("bucket", raw->bucket, "auto", 1, UINT32_MAX, &out->buckets);
    if (code == CLI_OK)
        code = read_counts("leaf-memory", raw->leaf_memory, "none", 64, UINT64_MAX, &out->leaf_memories);
    if (code == CLI_OK) code = read_counts("page-order", raw->page_order, "auto", 1, UINT32_MAX, &out->page_orders);
    if (code == CLI_OK) code = read_counts("slower", raw->slower, "no", 1, 1000000, &out->slowers);
    name_list refreshes = {0};
    refresh_names(&refreshes);
    return code == CLI_OK ? read_names("refresh", raw->refresh, &refreshes, &out->refreshes) : code;
}

static int read_contestants(const raw_options *raw, bench_options *out)
{
    name_list structures = {0};
    name_list placements = {0};
    name_list isas = {0};
    structure_names(&structures);
    placement_names(&placements);
    isa_names(&isas);
    int code = CLI_OK;
    if (strcmp(raw->structure, "none") != 0) {
        code = read_names("structure", raw->structure, &structures, &out->structures);
    }
    if (code == CLI_OK) code = read_names("placement", raw->placement, &placements, &out->placements);
    if (code == CLI_OK) code = read_names("isa", raw->isa, &isas, &out->isas);
    out->isa_all = strcmp(raw->isa, "all") == 0;
    if (code == CLI_OK) code = read_names("huge-pages", raw->huge_pages, &page_names, &out->huge_pages);
    if (code == CLI_OK) code = read_counts("pipeline", raw->pipeline, "auto", 1, 256, &out->pipelines);
    if (code == CLI_OK) code = read_counts("threads", raw->threads, "auto", 1, 4096, &out->threads);
    if (code == CLI_OK) code = read_counts("batch", raw->batch, "all", 1, MAX_ENTRIES, &out->batches);
    if (code == CLI_OK) code = read_memories(raw->memory, &out->memories);
    if (code == CLI_OK) code = read_transfers(raw->transfer, out);
    if (code == CLI_OK) code = read_hybrid(raw, out);
    if (code == CLI_OK) code = read_ops(raw->op, out);
    if (code == CLI_OK) code = read_peers(raw->peers, &out->peers);
    if (code == CLI_OK) code = read_grown(raw->grown, &out->grown);
    return code;
}

static int check_rest(const bench_options *out, int words, char **positional)
{
    if (words > 0)
        return cli_usage_error("bench", "'%s' is not an option; everything is given by options", *positional);
    if (out->repeat < 1 || out->repeat > 1000)
        return cli_usage_error("bench", "--repeat takes a number from 1 to 1000");
    if (out->queries > MAX_ENTRIES) {
        return cli_usage_error("bench", "--queries takes a number up to %llu", (unsigned long long)MAX_ENTRIES);
    }
    for (size_t i = 0; i < out->op_count && out->duplicates; i++)
        if (!bench_op_inserts_new(&out->ops[i]))
            return cli_usage_error("bench",
                                   "--duplicates is for insert-new, the patterns of inserts and window, not for %s",
                                   out->ops[i].name);
    if (out->duplicates && out->peers.count > 0)
        return cli_usage_error("bench", "--duplicates leaves no place for --peers, which keep a key once");
    if (out->structures.count + out->peers.count == 0) {
        return cli_usage_error("bench", "--structure none leaves nothing to measure without --peers");
    }
    return CLI_OK;
}

static const char description[] =
    "Measures operations on indexes made for the purpose, and checks every answer. Options marked with a star take\n"
    "lists separated by commas, or all; every combination is run. Counts may be written 16777216, 16M (M is 2^20) or\n"
    "2^24. Exit code 1 means that an answer was wrong. Ctrl-C ends it after the call that is running, at\n"
    "most a second later, with a report of what was measured until then.\n\n"
    "Operations: build, build-sorted, fill (all pairs into an empty index), insert, insert-new (passing over keys "
    "that\n"
    "are there already), insert-append, insert-append-shuffled (within a call), insert-append-late (one key in 20 "
    "is),\n"
    "insert-prepend, insert-points1000 (behind so many entries, or any other number), insert-gap (all between two\n"
    "neighbours), insert-hot (among one hundredth of the entries), window (appends, and erases as many of the oldest "
    "by\n"
    "a range), update, update-hot10 (all on 10 keys, or any other number), erase, mixed (half finds, half\n"
    "inserts), mixed-update (half finds, half updates), mixed-update-hot10, find,\n"
    "find-hot10, miss, contains, lower-bound, rank,\n"
    "successor, predecessor, range10, range100, range1000 (or any other number), count, sum, count-narrow, sum-narrow\n"
    "(ranges of 100 entries; without -narrow of any width), min, max, avg, sum1000 (of so many, or any other number;\n"
    "count, min, max, too), visit, export, save, load, open (a file,\n"
    "with one lookup in it), visit-sum, visit-map (in place), visit-filter (one value in 100), visit-histogram (256 "
    "bins),\n"
    "visit-top (the 100 largest). Behind a name may stand how many operations it gets, and how many of them a call, as "
    "in\n"
    "insert-new:2^25:2^20.\n\n"
    "Distributions: uniform, normal, gamma, zipf, ascending, descending, almost-sorted, shuffled, gaussian,\n"
    "bursty-timestamps, clustered-cells, jittered-ids, heavy-tailed, partly-sorted.\n\n"
    "Structures:\n";

static const char examples[] =
    "  copse bench --n 2^20 --op find,range10 --structure implicit,regular --threads 1 --peers all\n"
    "  copse bench --op find --isa all --threads 1 --json\n"
    "  copse bench --n 2^26 --queries 2^26 --placement gpu --memory device,pinned --structure implicit\n"
    "  copse bench --n 2^26 --queries 2^26 --placement gpu,cpu --memory device --batch 2^10,2^16 --calls 4096\n"
    "  copse bench --n 2^24 --structure regular --op insert-new:2^22:2^18,update-hot10,find --grown 2^20";

#define HELP_WIDTH       66
#define DESCRIPTION_SIZE (sizeof description + CLI_STRUCTURES_SIZE)

static const char *structure_help(char text[CLI_STRUCTURES_SIZE])
{
    snprintf(text, CLI_STRUCTURES_SIZE, "* ");
    const copse_tree_description *tree;
    for (unsigned i = 0; (tree = copse_registry_tree(i)) != NULL; i++) {
        size_t used = strlen(text);
        snprintf(text + used, CLI_STRUCTURES_SIZE - used, "%s, ", tree->name);
    }
    size_t used = strlen(text);
    snprintf(text + used, CLI_STRUCTURES_SIZE - used, "auto; none: only the peers (those of the CPU)");
    cli_wrap(text, HELP_WIDTH);
    return text;
}

static const char *describe(char text[DESCRIPTION_SIZE])
{
    char summaries[CLI_STRUCTURES_SIZE];
    snprintf(text, DESCRIPTION_SIZE, "%s%s", description, cli_structure_summaries(summaries));
    return text;
}

bool bench_options_read(bench_options *options, int argc, char **argv, int *out_exit)
{
    char on_cpu[CLI_STRUCTURES_SIZE], structures[CLI_STRUCTURES_SIZE], described[DESCRIPTION_SIZE];
    raw_options raw = {"",        "auto", "u64",     "u64",  "2^20", "find", "all",  "auto",
                       "uniform", "host", "uniform", "auto", "on",   "auto", "none", "auto",
                       "no",      "auto", "auto",    "none", "no",   "auto", "auto"};
    raw.structure = cli_structures_at(COPSE_PLACEMENT_CPU, on_cpu);
    *options = (bench_options){.seed = 1, .repeat = 5};
    const cli_option table[] = {
        {"structure", 0, CLI_TEXT, "NAMES", structure_help(structures), &raw.structure},
        {"placement", 0, CLI_TEXT, "NAMES",
         "* where the index lives: auto, cpu, gpu, hybrid,\nemulated, hybrid-emulated (auto)", &raw.placement},
        {"key", 0, CLI_TEXT, "TYPES", "* u32 i32 f32 u64 i64 f64 date timestamp (u64)", &raw.key},
        {"value", 0, CLI_TEXT, "TYPES", "* u32 i32 f32 u64 i64 f64 (u64)", &raw.value},
        {"n", 0, CLI_TEXT, "COUNTS", "* pairs in the index (2^20)", &raw.n},
        {"op", 0, CLI_TEXT, "NAMES", "* operations, see above (find)", &raw.op},
        {"queries", 0, CLI_COUNT, "COUNT", "operations per measurement (2^20; fewer for long ranges)",
         &options->queries},
        {"batch", 0, CLI_TEXT, "COUNTS", "* operations per call (all)", &raw.batch},
        {"calls", 0, CLI_COUNT, "COUNT", "at most so many calls per measurement of reads; 0: no limit (0)",
         &options->calls},
        {"grown", 0, CLI_TEXT, "COUNT",
         "the index has grown by inserts of so many pairs a call, in their\norder of arrival, before it is measured; "
         "all: by one; no: it was\nbuilt (no)",
         &raw.grown},
        {"after", 0, CLI_COUNT, "COUNT",
         "so many random entries are upserted with what they have before each\ncall of reads, untimed: what reading "
         "costs right after an update (0)",
         &options->after},
        {"duplicates", 0, CLI_FLAG, NULL,
         "the index keeps equal keys, and each key that insert-new, a pattern\nor window inserts comes three times",
         &options->duplicates},
        {"threads", 0, CLI_TEXT, "COUNTS", "* threads per call (auto: COPSE_THREADS, else all cores)", &raw.threads},
        {"dist", 0, CLI_TEXT, "NAMES", "* distribution of the keys (uniform)", &raw.dist},
        {"query-dist", 0, CLI_TEXT, "NAME",
         "which entries are asked for: uniform, normal, gamma, zipf,\nsorted, arrival: all pairs as they came "
         "(uniform)",
         &raw.query_dist},
        {"memory", 0, CLI_TEXT, "NAMES",
         "* where the caller's arrays are, for an index on a GPU: host or\npageable, pinned, device, promised: device "
         "memory, and the library\nis told so (host)",
         &raw.memory},
        {"transfer", 0, CLI_TEXT, "MODES",
         "* how host arrays reach a GPU: auto, staged, registered; also with\nbytes of a chunk and chunks under way, "
         "as in "
         "staged:8M:3 (auto)",
         &raw.transfer},
        {"schedule", 0, CLI_TEXT, "NAMES",
         "* how buckets of queries follow each other in a hybrid tree:\nsequential, pipelined, double-buffered, "
         "balanced (auto)",
         &raw.schedule},
        {"bucket", 0, CLI_TEXT, "COUNTS", "* queries of such a bucket (auto)", &raw.bucket},
        {"leaf-memory", 0, CLI_TEXT, "COUNTS", "* bytes of the card for copies of a hybrid tree's leaves (none)",
         &raw.leaf_memory},
        {"slower", 0, CLI_TEXT, "COUNTS", "* a hybrid tree's card seems so many times slower (no)", &raw.slower},
        {"page-order", 0, CLI_TEXT, "COUNTS", "* slots of a page of the paged tree (auto)", &raw.page_order},
        {"refresh", 0, CLI_TEXT, "NAMES",
         "* how updates reach a hybrid tree's card: synchronous, only changed\ninner nodes; asynchronous, all of them "
         "(auto)",
         &raw.refresh},
        {"isa", 0, CLI_TEXT, "NAMES", "* auto, scalar, avx2, avx512; all: those of this machine", &raw.isa},
        {"huge-pages", 0, CLI_TEXT, "NAMES", "* on, off (on)", &raw.huge_pages},
        {"pipeline", 0, CLI_TEXT, "COUNTS", "* queries in flight per thread, 1 to 256 (auto)", &raw.pipeline},
        {"seed", 0, CLI_COUNT, "COUNT", "of keys, values and queries (1)", &options->seed},
        {"repeat", 0, CLI_COUNT, "COUNT", "measurements, of which the median counts (5)", &options->repeat},
        {"peers", 0, CLI_TEXT, "NAMES",
         "* std::map, sorted-array, absl::btree_map, stx::btree_map; on a\nGPU thrust::lower_bound, cub::sort; none "
         "(none)",
         &raw.peers},
        {"peer-queries", 0, CLI_COUNT, "COUNT",
         "at most so many reads per measurement of a peer, the first ones;\n0: no limit (0)", &options->peer_queries},
        {"json", 0, CLI_FLAG, NULL, "one JSON object per line", &options->json},
        {"progress", 0, CLI_FLAG, NULL, "tell how far it is, also where standard error is no terminal",
         &options->progress},
    };
    const cli_command command = {"bench",  "[OPTIONS]", describe(described),
                                 examples, table,       sizeof table / sizeof *table};
    char **positional = bench_memory((uint64_t)argc, sizeof *positional);
    int words = 0;
    bool go_on = cli_parse(&command, argc, argv, positional, &words, out_exit);
    if (go_on) {
        *out_exit = read_types_and_sizes(&raw, options);
        if (*out_exit == CLI_OK) *out_exit = read_contestants(&raw, options);
        if (*out_exit == CLI_OK) *out_exit = check_rest(options, words, positional);
        go_on = *out_exit == CLI_OK;
    }
    free(positional);
    return go_on;
}

/*
 * copse demo stream: measurements with time stamps arrive in batches, a little out of order; the index keeps the last of them.
 *
 *   time  ------[ expired )[ the window, `window` measurements ...........[ last 1/16 ]
 *                    erased                                                  aggregated: count, sum, min, max, mean
 *                                                                                         ^ a batch comes in here, shuffled
 *
 * The value of a measurement follows from its number, so that every answer can be checked without keeping anything.
 */
#include "cli/demo/stream.h"

#include <stdlib.h>
#include <string.h>

#define TICK          INT64_C(10) /* microseconds between two measurements */
#define SHARE         16u         /* of the window that aggregates look at */
#define MOST_SHUFFLED 4096u
#define MOST_SIZE     (UINT64_C(1) << 30)
#define VALUES        100000u

enum { STREAM_INSERT, STREAM_EXPIRE, STREAM_AGGREGATE, STREAM_STEPS };

typedef struct stream {
    const stream_args *args;
    cli_session session;
    copse_index *index;
    int64_t *times;
    uint32_t *values;
    uint64_t arrived, expired; /* measurements, from the first on */
    uint64_t batches, wrong;
    uint64_t operations[STREAM_STEPS];
    double seconds[STREAM_STEPS], slowest[STREAM_STEPS];
    uint64_t bytes, most_bytes;
    copse_reduction last; /* of the newest share of the window */
    double begun, shown;
} stream;

/* --- measurements --------------------------------------------------------------------------------------------------------- */

static uint32_t value_of(uint64_t number)
{
    uint64_t mixed = (number + 1) * UINT64_C(0x9e3779b97f4a7c15);
    mixed = (mixed ^ (mixed >> 29)) * UINT64_C(0xbf58476d1ce4e5b9);
    return (uint32_t)((mixed ^ (mixed >> 32)) % VALUES);
}

/* Measurements that come in another order than that of time: a power of two. */
static uint64_t block_of(const stream_args *args)
{
    uint64_t block = MOST_SHUFFLED;
    while (block > args->batch) block /= 2;
    return block;
}

/* The next batch: in each block of it measurements come in another order. Where it is no multiple of blocks, its last ones are in
 * order. */
static void batch_make(stream *s)
{
    const uint64_t n = s->args->batch, size = block_of(s->args), multiplier = 2 * value_of(s->batches) + 1;
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t block = i / size * size;
        const uint64_t at = n - block < size ? i : block + i * multiplier % size;
        s->times[i] = (int64_t)(s->arrived + at) * TICK;
        s->values[i] = value_of(s->arrived + at);
    }
}

/* --- steps ---------------------------------------------------------------------------------------------------------------- */

static void note(stream *s, unsigned step, uint64_t operations, double seconds)
{
    s->operations[step] += operations;
    s->seconds[step] += seconds;
    if (seconds > s->slowest[step]) s->slowest[step] = seconds;
}

static copse_status insert(stream *s)
{
    uint64_t inserted = 0;
    batch_make(s);
    const double begun = cli_clock();
    copse_status status = copse_insert(s->index, s->times, s->values, s->args->batch, COPSE_INSERT_UPSERT, &inserted);
    note(s, STREAM_INSERT, s->args->batch, cli_clock() - begun);
    s->wrong += status == COPSE_OK && inserted != s->args->batch;
    s->arrived += s->args->batch;
    s->batches++;
    return status;
}

static copse_status expire(stream *s)
{
    if (s->arrived - s->expired <= s->args->window) return COPSE_OK;
    const uint64_t until = s->arrived - s->args->window;
    const int64_t last = (int64_t)(until - 1) * TICK;
    uint64_t erased = 0;
    const double begun = cli_clock();
    copse_status status = copse_erase_range(s->index, &(copse_ranges)COPSE_BETWEEN(NULL, &last, 1), &erased);
    note(s, STREAM_EXPIRE, until - s->expired, cli_clock() - begun);
    s->wrong += status == COPSE_OK && erased != until - s->expired;
    s->expired = until;
    return status;
}

/* Is that what the measurements from `first` on, up to the last one, come to? */
static bool reduction_is_right(const stream *s, uint64_t first)
{
    uint64_t sum = 0;
    uint32_t least = UINT32_MAX, greatest = 0;
    for (uint64_t i = first; i < s->arrived; i++) {
        const uint32_t value = value_of(i);
        sum += value;
        least = value < least ? value : least;
        greatest = value > greatest ? value : greatest;
    }
    return s->last.count == s->arrived - first && s->last.sum.u64 == sum && s->last.min.u32 == least &&
           s->last.max.u32 == greatest;
}

static copse_status aggregate(stream *s)
{
    const uint64_t share = s->args->window / SHARE ? s->args->window / SHARE : 1;
    const uint64_t first = s->arrived - s->expired > share ? s->arrived - share : s->expired;
    const int64_t low = (int64_t)first * TICK;
    const copse_ranges newest = COPSE_BETWEEN(&low, NULL, 1);
    copse_visit_request request = COPSE_VISIT_INIT(COPSE_VISIT_REDUCE);
    request.range = &newest;
    request.wanted = COPSE_REDUCE_SUM | COPSE_REDUCE_MIN | COPSE_REDUCE_MAX | COPSE_REDUCE_MEAN;
    const double begun = cli_clock();
    copse_status status = copse_visit_values(s->index, &request);
    note(s, STREAM_AGGREGATE, request.n, cli_clock() - begun);
    s->last = request.reduction;
    s->wrong += status == COPSE_OK && !reduction_is_right(s, first);
    return status;
}

/* --- the live view ---------------------------------------------------------------------------------------------------------- */

static void look_at_memory(stream *s)
{
    copse_stats stats = {.struct_size = sizeof stats};
    if (copse_index_stats(s->index, &stats) != COPSE_OK) return;
    s->bytes = stats.bytes;
    if (stats.bytes > s->most_bytes) s->most_bytes = stats.bytes;
}

/* One line on the terminal that is drawn over, ten times a second. */
static void show(stream *s)
{
    const double now = cli_clock();
    char rate[CLI_NUMBER_SIZE], live[CLI_NUMBER_SIZE], memory[CLI_NUMBER_SIZE], count[CLI_NUMBER_SIZE];
    if (!s->session.progress.visible || now - s->shown < 0.1) return;
    s->shown = now;
    s->session.progress.drawn = true;
    fprintf(stderr, "\r\033[K%s in  %s live  %s  last %s: %u to %u, mean %.0f",
            cli_rate((double)s->arrived / (now - s->begun), rate), cli_group(s->arrived - s->expired, live),
            cli_bytes(s->bytes, memory), cli_group(s->last.count, count), s->last.min.u32, s->last.max.u32,
            s->last.mean);
    fflush(stderr);
}

/* --- the table ---------------------------------------------------------------------------------------------------------------- */

static const char *const step_names[STREAM_STEPS] = {"insert", "expire", "aggregate"};

static void print_table(const stream *s)
{
    char number[CLI_NUMBER_SIZE], text[CLI_NUMBER_SIZE];
    const bool timing = !s->args->no_timing;
    printf("%-12s %14s", "step", "measurements");
    if (timing) printf(" %14s %14s", "rate", "slowest call");
    putchar('\n');
    for (unsigned i = 0; i < STREAM_STEPS; i++) {
        printf("%-12s %14s", step_names[i], cli_group(s->operations[i], number));
        if (timing && s->seconds[i] > 0) {
            printf(" %14s", cli_rate((double)s->operations[i] / s->seconds[i], text));
            printf(" %14s", cli_seconds(s->slowest[i], text));
        }
        putchar('\n');
    }
    printf("\n%s batches of %s, out of order within %llu measurements.\n", cli_group(s->batches, number),
           cli_group(s->args->batch, text), (unsigned long long)block_of(s->args));
    printf("%s are in the window now", cli_group(s->arrived - s->expired, number));
    if (timing) printf(", in %s (at most: %s)", cli_bytes(s->bytes, number), cli_bytes(s->most_bytes, text));
    printf("; the newest %s: from %u to %u, mean %.1f.\n", cli_group(s->last.count, number), s->last.min.u32,
           s->last.max.u32, s->last.mean);
    puts("Every answer is what the measurements come to.");
}

static void print_json(const stream *s)
{
    copse_stats stats = {.struct_size = sizeof stats};
    cli_json json;
    (void)copse_index_stats(s->index, &stats);
    cli_json_begin(&json, stdout);
    cli_json_text(&json, "structure", copse_structure_name(stats.structure));
    cli_json_text(&json, "placement", copse_placement_name(stats.placement));
    cli_json_u64(&json, "batch", s->args->batch);
    cli_json_u64(&json, "batches", s->batches);
    cli_json_u64(&json, "window", s->args->window);
    for (unsigned i = 0; i < STREAM_STEPS; i++) {
        cli_json_open(&json, step_names[i]);
        cli_json_u64(&json, "measurements", s->operations[i]);
        if (!s->args->no_timing) cli_json_double(&json, "seconds", s->seconds[i]);
        if (!s->args->no_timing) cli_json_double(&json, "slowest_seconds", s->slowest[i]);
        cli_json_close(&json);
    }
    cli_json_u64(&json, "live", s->arrived - s->expired);
    if (!s->args->no_timing) cli_json_u64(&json, "bytes", s->bytes);
    if (!s->args->no_timing) cli_json_u64(&json, "most_bytes", s->most_bytes);
    cli_json_open(&json, "newest");
    cli_json_u64(&json, "count", s->last.count);
    cli_json_u64(&json, "sum", s->last.sum.u64);
    cli_json_u64(&json, "min", s->last.min.u32);
    cli_json_u64(&json, "max", s->last.max.u32);
    cli_json_double(&json, "mean", s->last.mean);
    cli_json_close(&json);
    cli_json_u64(&json, "wrong", s->wrong);
    cli_json_end(&json);
}

/* --- a run ------------------------------------------------------------------------------------------------------------------- */

static bool goes_on(const stream *s)
{
    if (cli_interrupted() || s->wrong) return false;
    if (s->args->steps) return s->batches < s->args->steps;
    return cli_clock() - s->begun < (double)s->args->seconds;
}

static int run_steps(stream *s)
{
    copse_status status = COPSE_OK;
    s->begun = cli_clock();
    while (status == COPSE_OK && goes_on(s)) {
        status = insert(s);
        if (status == COPSE_OK) status = expire(s);
        if (status == COPSE_OK) status = aggregate(s);
        look_at_memory(s);
        show(s);
    }
    cli_progress_clear(&s->session.progress);
    if (status != COPSE_OK) return cli_session_fail(&s->session, status);
    if (s->wrong)
        return cli_fail("demo", "a wrong answer in batch %llu: this is a bug in copse, please report it",
                        (unsigned long long)s->batches);
    if (s->args->json)
        print_json(s);
    else
        print_table(s);
    return cli_interrupted() ? CLI_INTERRUPTED : cli_finish("demo", CLI_OK);
}

/* The tree for streams where it is, else what updates take. */
static copse_status index_make(stream *s)
{
    copse_index_options options = COPSE_INDEX_OPTIONS_INIT;
    options.key_type = COPSE_TIMESTAMP;
    options.value_type = COPSE_U32;
    options.placement = s->args->where.placement;
    if (copse_supports(COPSE_STRUCTURE_PAGED, (copse_placement)options.placement, COPSE_TIMESTAMP, COPSE_CAN_EXIST))
        options.structure = COPSE_STRUCTURE_PAGED;
    return copse_index_create(s->session.ctx, &options, &s->index);
}

static int no_memory(void)
{
    return cli_fail("demo", "there is not enough memory; try a smaller --batch");
}

int demo_stream(stream_args *args)
{
    stream s = {.args = args};
    if (args->batch == 0) args->batch = UINT64_C(1) << 16;
    if (args->window == 0) args->window = UINT64_C(1) << 22;
    if (args->seconds == 0) args->seconds = 10;
    if (args->batch > MOST_SIZE || args->window > MOST_SIZE)
        return cli_usage_error("demo", "--batch and --window are at most 2^30");
    int code = cli_session_open(&s.session, "demo", args->threads, args->quiet, &args->where);
    if (code == CLI_OK) {
        s.times = malloc(args->batch * sizeof *s.times);
        s.values = malloc(args->batch * sizeof *s.values);
        copse_status status = index_make(&s);
        code = status != COPSE_OK    ? cli_session_fail(&s.session, status)
               : s.times && s.values ? run_steps(&s)
                                     : no_memory();
    }
    free(s.times);
    free(s.values);
    copse_index_free(s.index);
    cli_session_close(&s.session);
    return code;
}

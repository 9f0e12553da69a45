/* Queries and joins on a card, with everything in its memory: the build target bench_query_card.
 *
 *   bench_query_card [--placement gpu|emulated] [--rows N] [--range-rows N] [--ranges N] [--repeat N] [--case NAME]
 *
 * Each case prints a JSON line: the median of the turns on the clock. Before that its answer is compared, cell by cell, with that of plain loops or
 * of the same query on the CPU; a difference ends the program with 1. */
#define _POSIX_C_SOURCE 200809L
#include "copse_query.h"

#include "device/device.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifndef COPSE_COMMIT
#define COPSE_COMMIT "unknown"
#endif
#define MOST_TURNS 101
#define GROUPS     1000u
#define SPREAD     1000000u

static struct settings {
    copse_placement placement;
    uint64_t rows, range_rows, ranges;
    int repeat;
    const char *only;
} settings = {COPSE_PLACEMENT_GPU, 10000000, 1 << 24, 1 << 20, 21, NULL};

static copse_ctx *ctx;
static copse_device *device;
static char device_name[128];

static void need(copse_status status)
{
    if (status == COPSE_OK) return;
    (void)fprintf(stderr, "bench_query_card: %s\n", copse_last_error(ctx));
    exit(1);
}

static void check(bool same, const char *what, uint64_t at)
{
    if (same) return;
    (void)fprintf(stderr, "bench_query_card: %s: answer %llu is wrong\n", what, (unsigned long long)at);
    exit(1);
}

static uint64_t mix(uint64_t x)
{
    x += UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
    return x ^ (x >> 31);
}

static void *room(uint64_t n, size_t size)
{
    void *memory = malloc(n * size + 1);
    if (!memory) exit(1);
    return memory;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median of the turns; what a turn does has ended on the device when it ends. */
static double timed(void (*turn)(void))
{
    double seconds[MOST_TURNS] = {0};
    turn();
    for (int i = 0; i < settings.repeat; i++) {
        double begun = now();
        turn();
        need(copse_ctx_synchronize(ctx));
        seconds[i] = now() - begun;
    }
    qsort(seconds, (size_t)settings.repeat, sizeof *seconds, ascending);
    return seconds[settings.repeat / 2];
}

static void report(const char *name, const char *unit, uint64_t rows, uint64_t items, double seconds)
{
    printf(
        "{\"case\": \"%s\", \"who\": \"copse\", \"placement\": \"%s\", \"memory\": \"device\", \"rows\": %llu, "
        "\"items\": %llu, "
        "\"unit\": \"%s\", \"seconds\": %.9f, \"per_second\": %.6g, \"repeat\": %d, \"wrong\": 0, \"device\": \"%s\", "
        "\"commit\": \"%s\"}\n",
        name, copse_placement_name(settings.placement), (unsigned long long)rows, (unsigned long long)items, unit,
        seconds, (double)items / seconds, settings.repeat, device_name, COPSE_COMMIT);
    (void)fflush(stdout);
}

static bool wanted(const char *name)
{
    return !settings.only || strcmp(settings.only, name) == 0;
}

/* A copy in device memory. */
static void *there(const void *from, uint64_t bytes)
{
    void *memory = NULL;
    need(copse_device_alloc(device, device->main, bytes, "an array", &memory));
    if (from) need(copse_device_copy(device, device->main, memory, from, bytes));
    need(copse_device_wait(device, device->main));
    return memory;
}

static uint64_t shuffled(uint64_t i, uint64_t n)
{
    return (i * UINT64_C(2654435761)) % n;
}

/* ---- many ranges ---- */

static copse_query *range_query;
static copse_ranges many;
static void *range_results[1];

static void ask_ranges(void)
{
    need(copse_query_ranges_into(range_query, "id", &many, range_results));
}

static void run_ranges(void)
{
    const uint64_t n = settings.range_rows, m = settings.ranges;
    int64_t *id = room(n, 8), *amount = room(n, 8), *prefix = room(n + 1, 8);
    int64_t *lows = room(m, 8), *highs = room(m, 8), *sums = room(m, 8);
    copse_table *table = NULL;
    copse_table_index_options options = COPSE_TABLE_INDEX_OPTIONS_INIT;
    for (uint64_t i = 0; i < n; i++) {
        id[i] = (int64_t)shuffled(i, n);
        amount[i] = (int64_t)(mix(i) % 10000) - 2000; /* of id i */
    }
    prefix[0] = 0;
    for (uint64_t i = 0; i < n; i++) prefix[i + 1] = prefix[i] + amount[i];
    int64_t *by_row = room(n, 8);
    for (uint64_t i = 0; i < n; i++) by_row[i] = amount[id[i]];
    const copse_column columns[] = {{"id", COPSE_I64, 0, id, NULL}, {"amount", COPSE_I64, 0, by_row, NULL}};
    need(copse_table_create(ctx, columns, 2, n, &table));
    need(copse_table_place(table, settings.placement));
    options.unique = 1;
    options.sums = "amount";
    need(copse_table_index(table, "id", &options));
    for (uint64_t i = 0; i < m; i++) { /* of any width */
        uint64_t a = mix(i + n) % n, b = mix(i + 2 * n) % n;
        lows[i] = (int64_t)(a < b ? a : b);
        highs[i] = (int64_t)(a < b ? b : a);
    }
    need(copse_query_create(table, &range_query));
    need(copse_query_aggregate(range_query, COPSE_AGGREGATE_SUM, "amount"));
    many = (copse_ranges)COPSE_BETWEEN(there(lows, m * 8), there(highs, m * 8), m);
    range_results[0] = there(NULL, m * 8);
    double seconds = timed(ask_ranges);
    need(copse_device_read(device, device->main, sums, range_results[0], m * 8));
    for (uint64_t i = 0; i < m; i++) check(sums[i] == prefix[highs[i] + 1] - prefix[lows[i]], "ranges", i);
    report("range sums", "queries", n, m, seconds);
    copse_device_free(device, device->main, (void *)(uintptr_t)many.lows, m * 8);
    copse_device_free(device, device->main, (void *)(uintptr_t)many.highs, m * 8);
    copse_device_free(device, device->main, range_results[0], m * 8);
    copse_query_free(range_query);
    copse_table_free(table);
    free(id), free(amount), free(prefix), free(lows), free(highs), free(sums), free(by_row);
}

/* ---- joins ---- */

static copse_table *last_answer;

static void same_tables(const char *what, const copse_table *a, const copse_table *b)
{
    check(copse_table_rows(a) == copse_table_rows(b), what, 0);
    for (uint64_t i = 0; i < copse_table_rows(a); i++)
        for (uint32_t c = 0; c < copse_table_columns(a); c++) {
            copse_value x, y;
            need(copse_table_get(a, i, c, &x));
            need(copse_table_get(b, i, c, &y));
            check(x.type == y.type && x.as.u64 == y.as.u64, what, i); /* floats to the last bit */
        }
}

static const copse_table *left_table, *right_table;
static copse_join_options join_options;
static copse_pairs *last_pairs;

static void join_tables(void)
{
    copse_pairs_free(last_pairs);
    need(copse_join(left_table, right_table, &join_options, &last_pairs));
}

static copse_pairs *join_once(void)
{
    copse_pairs *pairs = NULL;
    need(copse_join(left_table, right_table, &join_options, &pairs));
    return pairs;
}

static void same_pairs(const char *what, const copse_pairs *a, const copse_pairs *b)
{
    const uint64_t n = copse_pairs_count(a), *const left[2] = {copse_pairs_left(a), copse_pairs_left(b)},
                   *const right[2] = {copse_pairs_right(a), copse_pairs_right(b)};
    check(n == copse_pairs_count(b) && left[0] && left[1], what, 0);
    check(copse_pairs_device_left(a) || settings.placement == COPSE_PLACEMENT_CPU, "the device did not join", 0);
    for (uint64_t i = 0; i < n; i++) check(left[0][i] == left[1][i] && right[0][i] == right[1][i], what, i);
}

static void add_up_join(void)
{
    static const copse_join_aggregate wanted[] = {
        {COPSE_AGGREGATE_COUNT, 0, NULL}, {COPSE_AGGREGATE_SUM, 0, "time"}, {COPSE_AGGREGATE_SUM, 1, "price"}};
    copse_table_free(last_answer);
    last_answer = NULL;
    need(copse_join_aggregates(left_table, right_table, &join_options, wanted, 3, &last_answer));
}

/* The same of aggregates over the pairs. */
static void time_totals(const char *name, copse_table *left, copse_table *right)
{
    left_table = left;
    right_table = right;
    need(copse_table_place(left, COPSE_PLACEMENT_CPU));
    need(copse_table_place(right, COPSE_PLACEMENT_CPU));
    add_up_join();
    copse_table *expected = last_answer;
    last_answer = NULL;
    need(copse_table_place(left, settings.placement));
    need(copse_table_place(right, settings.placement));
    double seconds = timed(add_up_join);
    same_tables(name, last_answer, expected);
    report(name, "probe rows", copse_table_rows(right), copse_table_rows(left), seconds);
    copse_table_free(expected);
}

static void gather_pairs(void)
{
    copse_table_free(last_answer);
    last_answer = NULL;
    need(copse_pairs_table(last_pairs, left_table, right_table, &last_answer));
}

/* The table of the last pairs, which comes to the host, and of those that the CPU made. */
static void time_table(const char *name, const copse_pairs *expected)
{
    copse_table *made = NULL;
    double seconds = timed(gather_pairs);
    need(copse_pairs_table(expected, left_table, right_table, &made));
    same_tables(name, last_answer, made);
    report(name, "pairs", copse_pairs_count(expected), copse_pairs_count(expected), seconds);
    copse_table_free(made);
}

/* Times a join of tables that are on the device, and compares the pairs with those of the CPU. */
static void time_join(const char *name, copse_table *left, copse_table *right)
{
    left_table = left;
    right_table = right;
    copse_pairs *expected = join_once();
    need(copse_table_place(left, settings.placement));
    need(copse_table_place(right, settings.placement));
    double seconds = timed(join_tables);
    same_pairs(name, last_pairs, expected);
    report(name, "probe rows", copse_table_rows(right), copse_table_rows(left), seconds);
    if (join_options.kind == COPSE_JOIN_ASOF) time_table("as-of join, its table", expected);
    copse_pairs_free(last_pairs);
    copse_pairs_free(expected);
    last_pairs = NULL;
}

static void run_equal(void)
{
    const uint64_t n = settings.rows, few = n / 10 ? n / 10 : 1;
    int32_t *a = room(n, 4), *id = room(few, 4);
    copse_table *left = NULL, *right = NULL;
    for (uint64_t i = 0; i < n; i++) a[i] = (int32_t)(mix(i) % (few + few / 10 + 1)); /* a tenth finds nobody */
    for (uint64_t i = 0; i < few; i++) id[i] = (int32_t)shuffled(i, few);
    const copse_column lefts[] = {{"a", COPSE_I32, 0, a, NULL}}, rights[] = {{"id", COPSE_I32, 0, id, NULL}};
    copse_table_index_options options = COPSE_TABLE_INDEX_OPTIONS_INIT;
    options.unique = 1;
    need(copse_table_create(ctx, lefts, 1, n, &left));
    need(copse_table_create(ctx, rights, 1, few, &right));
    need(copse_table_index(right, "id", &options));
    join_options = (copse_join_options)COPSE_JOIN_OPTIONS_INIT;
    join_options.left_on = "a";
    join_options.right_on = "id";
    time_join("equi-join", left, right);
    need(copse_table_place(left, COPSE_PLACEMENT_CPU));
    need(copse_table_place(right, COPSE_PLACEMENT_CPU));
    join_options.kind = COPSE_JOIN_LEFT;
    time_join("left join", left, right);
    copse_table_free(left);
    copse_table_free(right);
    free(a), free(id);
}

static copse_table *make_ticks(uint64_t seed)
{
    const uint64_t n = settings.rows;
    int64_t *time = room(n, 8), at = 0;
    int32_t *symbol = room(n, 4);
    double *price = room(n, 8);
    copse_table *made = NULL;
    for (uint64_t i = 0; i < n; i++) {
        time[i] = at += (int64_t)(mix(i + seed) % 20);
        symbol[i] = (int32_t)(mix(i + seed + n) % GROUPS);
        price[i] = (double)(mix(i + seed + 2 * n) % 1000000) / 7.0;
    }
    const copse_column columns[] = {{"time", COPSE_I64, 0, time, NULL},
                                    {"symbol", COPSE_I32, 0, symbol, NULL},
                                    {"price", COPSE_F64, 0, price, NULL}};
    need(copse_table_create(ctx, columns, 3, n, &made));
    free(time), free(symbol), free(price);
    return made;
}

static void run_asof(void)
{
    copse_table *trades = make_ticks(1), *quotes = make_ticks(2000000000);
    join_options = (copse_join_options)COPSE_JOIN_OPTIONS_INIT;
    join_options.kind = COPSE_JOIN_ASOF;
    join_options.left_on = join_options.right_on = "time";
    join_options.left_by = join_options.right_by = "symbol";
    time_join("as-of join by 1000 groups", trades, quotes);
    time_totals("as-of join, added up", trades, quotes);
    copse_table_free(trades);
    copse_table_free(quotes);
}

static void run_bands(void)
{
    copse_table *trades = make_ticks(1), *quotes = make_ticks(2000000000);
    join_options = (copse_join_options)COPSE_JOIN_OPTIONS_INIT;
    join_options.kind = COPSE_JOIN_BAND;
    join_options.left_on = join_options.right_on = "time";
    join_options.below = join_options.above = copse_value_i64(5);
    time_join("band join", trades, quotes);
    time_totals("band join, added up", trades, quotes);
    join_options.kind = COPSE_JOIN_INNER;
    time_totals("equi-join, added up", trades, quotes);
    copse_table_free(trades);
    copse_table_free(quotes);
}

/* ---- conditions, aggregates, groups ---- */

static copse_query *asked;

static void ask(void)
{
    copse_table_free(last_answer);
    last_answer = NULL;
    need(copse_query_run(asked, &last_answer));
}

static void time_query(const char *name, copse_table *table)
{
    copse_table *expected = NULL;
    need(copse_table_place(table, COPSE_PLACEMENT_CPU));
    need(copse_query_run(asked, &expected));
    need(copse_table_place(table, settings.placement));
    double seconds = timed(ask);
    same_tables(name, last_answer, expected);
    report(name, "rows", copse_table_rows(table), copse_table_rows(table), seconds);
    copse_table_free(expected);
    copse_table_free(last_answer);
    last_answer = NULL;
    copse_query_free(asked);
}

static void run_queries(void)
{
    const uint64_t n = settings.rows;
    int32_t *a = room(n, 4), *b = room(n, 4), *group = room(n, 4);
    double *price = room(n, 8);
    copse_table *table = NULL;
    for (uint64_t i = 0; i < n; i++) {
        a[i] = (int32_t)(mix(i) % SPREAD);
        b[i] = (int32_t)(mix(i + n) % SPREAD);
        group[i] = (int32_t)(mix(i + 2 * n) % GROUPS);
        price[i] = (double)(mix(i + 3 * n) % 1000000) / 7.0;
    }
    const copse_column columns[] = {{"a", COPSE_I32, 0, a, NULL},
                                    {"b", COPSE_I32, 0, b, NULL},
                                    {"group", COPSE_I32, 0, group, NULL},
                                    {"price", COPSE_F64, 0, price, NULL}};
    need(copse_table_create(ctx, columns, 4, n, &table));
    need(copse_query_create(table, &asked));
    need(copse_query_between(asked, "a", copse_value_i64(500000), copse_value_i64(509999)));
    need(copse_query_between(asked, "b", copse_value_i64(200000), copse_value_i64(209999)));
    need(copse_query_aggregate(asked, COPSE_AGGREGATE_COUNT, NULL));
    need(copse_query_aggregate(asked, COPSE_AGGREGATE_SUM, "price"));
    time_query("two ranges of 1 %, count and sum", table);
    need(copse_query_create(table, &asked));
    need(copse_query_group_by(asked, "group"));
    need(copse_query_aggregate(asked, COPSE_AGGREGATE_COUNT, NULL));
    need(copse_query_aggregate(asked, COPSE_AGGREGATE_SUM, "price"));
    need(copse_query_aggregate(asked, COPSE_AGGREGATE_COUNT_DISTINCT, "a"));
    time_query("group by, 1000 groups, sum and distinct", table);
    copse_table_free(table);
    free(a), free(b), free(group), free(price);
}

int main(int argc, char **argv)
{
    copse_device_info info = {.struct_size = sizeof info};
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--placement") == 0 && copse_placement_parse(argv[i + 1], &settings.placement) != COPSE_OK)
            return 2;
        if (strcmp(argv[i], "--rows") == 0) settings.rows = strtoull(argv[i + 1], NULL, 10);
        if (strcmp(argv[i], "--range-rows") == 0) settings.range_rows = strtoull(argv[i + 1], NULL, 10);
        if (strcmp(argv[i], "--ranges") == 0) settings.ranges = strtoull(argv[i + 1], NULL, 10);
        if (strcmp(argv[i], "--repeat") == 0) settings.repeat = atoi(argv[i + 1]);
        if (strcmp(argv[i], "--case") == 0) settings.only = argv[i + 1];
    }
    if (settings.repeat < 1 || settings.repeat > MOST_TURNS || settings.rows == 0 || settings.ranges == 0) return 2;
    if (copse_ctx_create(NULL, &ctx) != COPSE_OK) return 1;
    need(copse_device_get(ctx, settings.placement, &device));
    bool card = settings.placement == COPSE_PLACEMENT_GPU && copse_device_describe(device->number, &info) == COPSE_OK;
    (void)snprintf(device_name, sizeof device_name, "%s", card ? info.name : "emulated");
    if (wanted("ranges")) run_ranges();
    if (wanted("join")) run_equal();
    if (wanted("asof")) run_asof();
    if (wanted("band")) run_bands();
    if (wanted("query")) run_queries();
    copse_table_free(last_answer);
    copse_ctx_free(ctx);
    return 0;
}

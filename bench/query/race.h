/* What the query benchmarks share: contestants that take turns, their clocks, and answers that have to be the same. */
#ifndef BENCH_QUERY_RACE_H
#define BENCH_QUERY_RACE_H

#include "copse_query.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MOST_TURNS 15

static struct settings {
    uint64_t rows;
    const char *only;
    const char *csv;
    uint32_t threads;
    int repeat;
    bool alone; /* without SQLite */
    bool turns; /* somebody else says when a turn begins */
} settings = {10000000, NULL, NULL, 1, 3, false, false};

static copse_ctx *ctx;
static sqlite3 *db;
static const char *more = ""; /* fields of the JSON lines, with a comma behind each */

static inline void need(copse_status status)
{
    if (status == COPSE_OK) return;
    (void)fprintf(stderr, "bench_query: %s\n", copse_last_error(ctx));
    exit(1);
}

static inline void sql(const char *text)
{
    char *message = NULL;
    if (sqlite3_exec(db, text, NULL, NULL, &message) == SQLITE_OK) return;
    (void)fprintf(stderr, "bench_query: SQLite: %s: %s\n", text, message);
    exit(1);
}

/* Sums of floats may differ in their last digits: each adds in an order of its own. */
static inline void same(const char *what, double a, double b)
{
    double apart = a > b ? a - b : b - a, size = a > 0 ? a : -a;
    if (apart <= size * 1e-9) return;
    (void)fprintf(stderr, "bench_query: %s: copse says %.17g, SQLite %.17g\n", what, a, b);
    exit(1);
}

/* A number from a seed, the same as in bench/query/peers.py. */
static inline uint64_t mix(uint64_t x)
{
    x += UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
    return x ^ (x >> 31);
}

static inline void *room(uint64_t n, size_t size)
{
    void *memory = malloc(n * size + 1);
    if (!memory) exit(1);
    return memory;
}

/* ---- clocks ---- */

static inline double now(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

typedef struct contestant {
    const char *name;
    double (*run)(void); /* returns something that the others must return, too */
    double wall[MOST_TURNS], cpu[MOST_TURNS];
    double answer;
} contestant;

static inline int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static inline double median(double *values, int n)
{
    qsort(values, (size_t)n, sizeof *values, ascending);
    return values[n / 2];
}

/* Says which case is next, and waits for a line: bench/query/run lets other programs take turns with this one. */
static inline void await_turn(const char *name)
{
    if (!settings.turns) return;
    printf("{\"next\": \"%s\"}\n", name);
    (void)fflush(stdout);
    int c = 0;
    while (c != '\n')
        if ((c = getchar()) == EOF) exit(1);
}

static inline void race(const char *name, contestant *contestants, int count)
{
    if (settings.alone && strcmp(contestants[0].name, "sqlite") == 0) {
        contestants++;
        count--;
    }
    for (int turn = 0; turn < settings.repeat; turn++) {
        await_turn(name);
        for (int i = 0; i < count; i++) {
            contestant *c = &contestants[i];
            double wall = now(CLOCK_MONOTONIC), cpu = now(CLOCK_PROCESS_CPUTIME_ID);
            c->answer = c->run();
            c->wall[turn] = now(CLOCK_MONOTONIC) - wall;
            c->cpu[turn] = now(CLOCK_PROCESS_CPUTIME_ID) - cpu;
        }
    }
    for (int i = 0; i < count; i++) {
        contestant *c = &contestants[i];
        if (i > 0) same(name, contestants[0].answer, c->answer);
        printf("{\"case\": \"%s\", \"who\": \"%s\", %s\"rows\": %llu, \"threads\": %u, \"seconds\": %.6f, "
               "\"cpu_seconds\": %.6f, "
               "\"answer\": %.17g}\n",
               name, c->name, more, (unsigned long long)settings.rows,
               strncmp(c->name, "copse", 5) == 0 ? settings.threads : 1, median(c->wall, settings.repeat),
               median(c->cpu, settings.repeat), c->answer);
        (void)fflush(stdout);
    }
}

static inline double cell(const copse_table *result, uint64_t row, uint32_t column)
{
    copse_value value = copse_value_null();
    need(copse_table_get(result, row, column, &value));
    return value.type == COPSE_F64   ? value.as.f64
           : value.type == COPSE_U64 ? (double)value.as.u64
                                     : (double)value.as.i64;
}

/* One number from SQLite: the sum of all cells of all rows. */
static inline double sql_total(const char *text)
{
    sqlite3_stmt *statement = NULL;
    double total = 0;
    if (sqlite3_prepare_v2(db, text, -1, &statement, NULL) != SQLITE_OK) sql(text);
    while (sqlite3_step(statement) == SQLITE_ROW)
        for (int i = 0; i < sqlite3_column_count(statement); i++) total += sqlite3_column_double(statement, i);
    sqlite3_finalize(statement);
    return total;
}

static inline bool wanted(const char *name)
{
    return !settings.only || strcmp(settings.only, name) == 0;
}

/* Takes the options, and opens both engines. Returns 0, or what the program ends with. */
static inline int open_all(int argc, char **argv)
{
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--rows") == 0) settings.rows = strtoull(argv[i + 1], NULL, 10);
        if (strcmp(argv[i], "--case") == 0) settings.only = argv[i + 1];
        if (strcmp(argv[i], "--csv") == 0) settings.csv = argv[i + 1];
        if (strcmp(argv[i], "--threads") == 0) settings.threads = (uint32_t)strtoul(argv[i + 1], NULL, 10);
        if (strcmp(argv[i], "--alone") == 0) settings.alone = atoi(argv[i + 1]) != 0;
        if (strcmp(argv[i], "--turns") == 0) settings.turns = atoi(argv[i + 1]) != 0;
        if (strcmp(argv[i], "--repeat") == 0) settings.repeat = atoi(argv[i + 1]);
    }
    if (settings.repeat < 1 || settings.repeat > MOST_TURNS) return 2;
    copse_ctx_options options = COPSE_CTX_OPTIONS_INIT;
    options.threads = settings.threads;
    if (copse_ctx_create(&options, &ctx) != COPSE_OK || sqlite3_open(":memory:", &db) != SQLITE_OK) return 1;
    return 0;
}

#endif

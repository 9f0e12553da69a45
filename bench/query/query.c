/* Queries of copse beside SQLite, in one process and in memory: the build target bench_query. bench/query/run adds DuckDB, pandas and the
 * commands.
 *
 *   bench_query [--rows N] [--case NAME] [--threads N] [--repeat N] [--csv FILE] [--alone 1] [--turns 1]
 *
 * Each case prints a JSON line for each contestant: seconds on the clock and of the processor, the median of the turns, which alternate. Answers
 * are compared; a difference ends the program with 1. --alone 1: without SQLite. --turns 1: waits for a line of standard input before each turn. */
#define _POSIX_C_SOURCE 200809L
#include "race.h"

/* ---- a table of numbers: id shuffled, a and b random, amount ---- */

#define SPREAD  1000000u /* different values of a and b */
#define QUERIES 100000u
#define WIDTH   100u /* keys in a range */

static copse_table *table;
static int64_t *lows, *highs, *amounts;

/* A permutation of 0 .. n - 1: rows come in no order. */
static uint64_t shuffled(uint64_t i, uint64_t n)
{
    return (i * UINT64_C(2654435761)) % n;
}

static void fill_numbers(const int64_t *id, const int32_t *a, const int32_t *b, const int64_t *amount)
{
    sql("create table t(id integer, a integer, b integer, amount integer)");
    sql("begin");
    sqlite3_stmt *insert = NULL;
    sqlite3_prepare_v2(db, "insert into t values(?, ?, ?, ?)", -1, &insert, NULL);
    for (uint64_t i = 0; i < settings.rows; i++) {
        sqlite3_reset(insert);
        sqlite3_bind_int64(insert, 1, id[i]);
        sqlite3_bind_int64(insert, 2, a[i]);
        sqlite3_bind_int64(insert, 3, b[i]);
        sqlite3_bind_int64(insert, 4, amount[i]);
        sqlite3_step(insert);
    }
    sqlite3_finalize(insert);
    sql("commit");
    sql("create index by_id on t(id, amount)"); /* covers the question: the best that SQLite can have */
    sql("create index by_a on t(a)");
    sql("create index by_b on t(b)");
}

static void make_numbers(void)
{
    uint64_t n = settings.rows;
    int64_t *id = room(n, 8), *amount = room(n, 8);
    int32_t *a = room(n, 4), *b = room(n, 4);
    for (uint64_t i = 0; i < n; i++) {
        id[i] = (int64_t)shuffled(i, n);
        a[i] = (int32_t)(mix(i) % SPREAD);
        b[i] = (int32_t)(mix(i + n) % SPREAD);
        amount[i] = (int64_t)(mix(i + 2 * n) % 10000);
    }
    const copse_column columns[] = {{"id", COPSE_I64, 0, id, NULL},
                                    {"a", COPSE_I32, 0, a, NULL},
                                    {"b", COPSE_I32, 0, b, NULL},
                                    {"amount", COPSE_I64, 0, amount, NULL}};
    copse_table_index_options options = COPSE_TABLE_INDEX_OPTIONS_INIT;
    need(copse_table_create(ctx, columns, 4, n, &table));
    need(copse_table_index(table, "a", NULL));
    need(copse_table_index(table, "b", NULL));
    options.unique = 1;
    options.sums = "amount";
    need(copse_table_index(table, "id", &options));
    if (!settings.alone) fill_numbers(id, a, b, amount);
    lows = room(QUERIES, 8);
    highs = room(QUERIES, 8);
    for (uint64_t i = 0; i < QUERIES; i++) {
        lows[i] = (int64_t)(mix(i + 3 * n) % n);
        highs[i] = lows[i] + (int64_t)(mix(i + 4 * n) % (2 * WIDTH));
    }
    free(id);
    free(a);
    free(b);
    amounts = amount;
}

/* ---- many narrow ranges ---- */

static copse_query *count_and_sum(void)
{
    copse_query *query = NULL;
    need(copse_query_create(table, &query));
    need(copse_query_aggregate(query, COPSE_AGGREGATE_COUNT, NULL));
    need(copse_query_aggregate(query, COPSE_AGGREGATE_SUM, "amount"));
    return query;
}

static double ranges_as_batch(void)
{
    copse_query *query = count_and_sum();
    copse_table *result = NULL;
    double total = 0;
    copse_ranges ranges = COPSE_BETWEEN(lows, highs, QUERIES);
    need(copse_query_ranges(query, "id", &ranges, &result));
    for (uint64_t i = 0; i < QUERIES; i++) total += cell(result, i, 0) + cell(result, i, 1);
    copse_table_free(result);
    copse_query_free(query);
    return total;
}

static double ranges_one_by_one(void)
{
    double total = 0;
    for (uint64_t i = 0; i < QUERIES; i++) {
        copse_query *query = count_and_sum();
        copse_table *result = NULL;
        need(copse_query_between(query, "id", copse_value_i64(lows[i]), copse_value_i64(highs[i])));
        need(copse_query_run(query, &result));
        total += cell(result, 0, 0) + cell(result, 0, 1);
        copse_table_free(result);
        copse_query_free(query);
    }
    return total;
}

static double ranges_prepared(void)
{
    copse_query *query = count_and_sum();
    double total = 0;
    need(copse_query_between(query, "id", copse_value_i64(0), copse_value_i64(0)));
    for (uint64_t i = 0; i < QUERIES; i++) {
        copse_value values[2];
        need(copse_query_set_between(query, "id", copse_value_i64(lows[i]), copse_value_i64(highs[i])));
        need(copse_query_values(query, values, 2));
        total += (double)values[0].as.u64 + (double)values[1].as.i64;
    }
    copse_query_free(query);
    return total;
}

static double ranges_sqlite(void)
{
    sqlite3_stmt *statement = NULL;
    double total = 0;
    sqlite3_prepare_v2(db, "select count(*), sum(amount) from t where id between ? and ?", -1, &statement, NULL);
    for (uint64_t i = 0; i < QUERIES; i++) {
        sqlite3_reset(statement);
        sqlite3_bind_int64(statement, 1, lows[i]);
        sqlite3_bind_int64(statement, 2, highs[i]);
        sqlite3_step(statement);
        total += sqlite3_column_double(statement, 0) + sqlite3_column_double(statement, 1);
    }
    sqlite3_finalize(statement);
    return total;
}

/* ---- two ranges of 1 % ---- */

static double conjunction_copse(void)
{
    copse_query *query = count_and_sum();
    copse_table *result = NULL;
    need(copse_query_between(query, "a", copse_value_i64(500000), copse_value_i64(509999)));
    need(copse_query_between(query, "b", copse_value_i64(200000), copse_value_i64(209999)));
    need(copse_query_run(query, &result));
    double total = cell(result, 0, 0) + cell(result, 0, 1);
    copse_table_free(result);
    copse_query_free(query);
    return total;
}

static double conjunction_sqlite(void)
{
    sqlite3_stmt *statement = NULL;
    sqlite3_prepare_v2(db,
                       "select count(*), sum(amount) from t where a between 500000 and 509999 and b between 200000 and "
                       "209999",
                       -1, &statement, NULL);
    sqlite3_step(statement);
    double total = sqlite3_column_double(statement, 0) + sqlite3_column_double(statement, 1);
    sqlite3_finalize(statement);
    return total;
}

/* ---- one range, from 10 rows to all ---- */

static uint64_t flat_width;

static double flat_copse(void)
{
    double total = 0;
    for (int i = 0; i < 1000; i++) {
        copse_query *query = count_and_sum();
        copse_table *result = NULL;
        need(copse_query_between(query, "id", copse_value_i64(i), copse_value_i64((int64_t)(i + flat_width))));
        need(copse_query_run(query, &result));
        total += cell(result, 0, 0);
        copse_table_free(result);
        copse_query_free(query);
    }
    return total;
}

/* ---- joins: each row of the large table with the one row of a tenth as many that its `a` names ---- */

static copse_table *few;

static void fill_few(const int32_t *id, const int64_t *rank, uint64_t n)
{
    sql("create table few(id integer primary key, rank integer)");
    sql("begin");
    sqlite3_stmt *insert = NULL;
    sqlite3_prepare_v2(db, "insert into few values(?, ?)", -1, &insert, NULL);
    for (uint64_t i = 0; i < n; i++) {
        sqlite3_reset(insert);
        sqlite3_bind_int64(insert, 1, id[i]);
        sqlite3_bind_int64(insert, 2, rank[i]);
        sqlite3_step(insert);
    }
    sqlite3_finalize(insert);
    sql("commit");
}

static void make_join(void)
{
    uint64_t n = settings.rows / 10;
    int32_t *id = room(n, 4);
    int64_t *rank = room(n, 8);
    for (uint64_t i = 0; i < n; i++) {
        id[i] = (int32_t)shuffled(i, n);
        rank[i] = (int64_t)i;
    }
    const copse_column columns[] = {{"id", COPSE_I32, 0, id, NULL}, {"rank", COPSE_I64, 0, rank, NULL}};
    need(copse_table_create(ctx, columns, 2, n, &few));
    copse_table_index_options options = COPSE_TABLE_INDEX_OPTIONS_INIT;
    options.unique = 1;
    need(copse_table_index(few, "id", &options));
    if (!settings.alone) fill_few(id, rank, n);
    free(id);
    free(rank);
}

/* Sums of a column of each side over all pairs, so that nobody gets away with an index alone; rank is the row number. */
static double join_sums(const copse_table *left, const copse_table *right)
{
    copse_join_options options = COPSE_JOIN_OPTIONS_INIT;
    const copse_join_aggregate sums[] = {{COPSE_AGGREGATE_SUM, 1, "rank"}, {COPSE_AGGREGATE_SUM, 0, "amount"}};
    copse_table *result = NULL;
    options.left_on = "a";
    options.right_on = "id";
    need(copse_join_aggregates(left, right, &options, sums, 2, &result));
    double total = cell(result, 0, 0) + cell(result, 0, 1);
    copse_table_free(result);
    return total;
}

static double join_copse(void)
{
    return join_sums(table, few);
}

/* The same from an array of all pairs. */
static double join_pairs(void)
{
    copse_join_options options = COPSE_JOIN_OPTIONS_INIT;
    copse_pairs *pairs = NULL;
    uint64_t total = 0;
    options.left_on = "a";
    options.right_on = "id";
    need(copse_join(table, few, &options, &pairs));
    const uint64_t *right = copse_pairs_right(pairs);
    const uint64_t *left = copse_pairs_left(pairs);
    const uint64_t n = copse_pairs_count(pairs);
    for (uint64_t i = 0; i < n; i++) total += right[i] + (uint64_t)amounts[left[i]];
    copse_pairs_free(pairs);
    return (double)total;
}

static double join_sqlite(void)
{
    sqlite3_stmt *statement = NULL;
    double total = 0;
    sqlite3_prepare_v2(db, "select few.rank, t.amount from t cross join few on few.id = t.a", -1, &statement, NULL);
    while (sqlite3_step(statement) == SQLITE_ROW)
        total += sqlite3_column_double(statement, 0) + sqlite3_column_double(statement, 1);
    sqlite3_finalize(statement);
    return total;
}

/* ---- the same with keys that lie apart: no array of places, the index is asked ---- */

#define APART 977

static copse_table *apart, *few_apart;

static void make_apart(void)
{
    uint64_t n = settings.rows, few_rows = n / 10;
    int32_t *a = room(n, 4), *id = room(few_rows, 4);
    int64_t *amount = room(n, 8), *rank = room(few_rows, 8);
    for (uint64_t i = 0; i < n; i++) {
        a[i] = (int32_t)(mix(i) % SPREAD * APART);
        amount[i] = (int64_t)(mix(i + 2 * n) % 10000);
    }
    for (uint64_t i = 0; i < few_rows; i++) {
        id[i] = (int32_t)(shuffled(i, few_rows) * APART);
        rank[i] = (int64_t)i;
    }
    const copse_column left[] = {{"a", COPSE_I32, 0, a, NULL}, {"amount", COPSE_I64, 0, amount, NULL}};
    const copse_column right[] = {{"id", COPSE_I32, 0, id, NULL}, {"rank", COPSE_I64, 0, rank, NULL}};
    copse_table_index_options options = COPSE_TABLE_INDEX_OPTIONS_INIT;
    options.unique = 1;
    need(copse_table_create(ctx, left, 2, n, &apart));
    need(copse_table_create(ctx, right, 2, few_rows, &few_apart));
    need(copse_table_index(few_apart, "id", &options));
    free(a);
    free(id);
    free(amount);
    free(rank);
}

static double apart_copse(void)
{
    return join_sums(apart, few_apart);
}

/* ---- as-of joins: trades and quotes of 1,000 symbols, by time ---- */

#define SYMBOLS 1000u

typedef enum form {
    IN_ORDER,
    SHUFFLED,
    FLOATS,
    STRINGS
} form; /* rows by time; in no order; times are f64; symbols are strings */

static copse_table *trades, *quotes;

static int64_t *make_times(uint64_t seed, form how)
{
    uint64_t n = settings.rows;
    int64_t *time = room(n, 8), *moved = how == SHUFFLED ? room(n, 8) : NULL, at = 0;
    for (uint64_t i = 0; i < n; i++) time[i] = at += (int64_t)(mix(i + seed) % 20);
    for (uint64_t i = 0; moved && i < n; i++) moved[i] = time[shuffled(i, n)];
    if (moved) free(time);
    time = moved ? moved : time;
    for (uint64_t i = 0; how == FLOATS && i < n; i++) {
        double number = (double)time[i];
        memcpy(&time[i], &number, sizeof number);
    }
    return time;
}

static copse_table *make_ticks(uint64_t seed, form how)
{
    uint64_t n = settings.rows;
    int64_t *time = make_times(seed, how), *offsets = room(n + 1, 8);
    int32_t *symbol = room(n, 4);
    char *names = room(n, 5);
    copse_table *made = NULL;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t tick = how == SHUFFLED ? shuffled(i, n) : i;
        char name[8];
        symbol[i] = (int32_t)(mix(tick + seed + n) % SYMBOLS);
        offsets[i] = (int64_t)(5 * i);
        (void)snprintf(name, sizeof name, "S%04u", (unsigned)symbol[i] % 10000u);
        memcpy(names + 5 * i, name, 5);
    }
    offsets[n] = (int64_t)(5 * n);
    copse_bytes texts = COPSE_BYTES_INIT(names, 5 * n, offsets, 64);
    const copse_column columns[] = {
        {"time", how == FLOATS ? COPSE_F64 : COPSE_I64, 0, time, NULL},
        {"symbol", how == STRINGS ? COPSE_STRING : COPSE_I32, 0, how == STRINGS ? (const void *)&texts : symbol, NULL}};
    need(copse_table_create(ctx, columns, 2, n, &made));
    free(time);
    free(offsets);
    free(symbol);
    free(names);
    return made;
}

static double asof_copse(void)
{
    copse_join_options options = COPSE_JOIN_OPTIONS_INIT;
    copse_pairs *pairs = NULL;
    uint64_t total = 0; /* of whole numbers, as the peers add them */
    options.kind = COPSE_JOIN_ASOF;
    options.left_on = options.right_on = "time";
    options.left_by = options.right_by = "symbol";
    need(copse_join(trades, quotes, &options, &pairs));
    const uint64_t *right = copse_pairs_right(pairs);
    const uint64_t n = copse_pairs_count(pairs);
    for (uint64_t i = 0; i < n; i++) total += right[i] != COPSE_NO_ROW ? right[i] : 0;
    copse_pairs_free(pairs);
    return (double)total;
}

/* ---- CSV ---- */

static double csv_copse(void)
{
    copse_table *read = NULL;
    need(copse_table_read_csv(ctx, settings.csv, NULL, &read, NULL));
    double rows = (double)copse_table_rows(read);
    copse_table_free(read);
    return rows;
}

/* ---- all of it ---- */

static void run_numbers(void)
{
    make_numbers();
    contestant ranges[] = {{.name = "sqlite", .run = ranges_sqlite},
                           {.name = "copse", .run = ranges_as_batch},
                           {.name = "copse prepared", .run = ranges_prepared},
                           {.name = "copse one by one", .run = ranges_one_by_one}};
    contestant both[] = {{.name = "sqlite", .run = conjunction_sqlite}, {.name = "copse", .run = conjunction_copse}};
    contestant joined[] = {{.name = "sqlite", .run = join_sqlite},
                           {.name = "copse", .run = join_copse},
                           {.name = "copse pairs", .run = join_pairs}};
    if (wanted("ranges")) race("ranges", ranges, 4);
    if (wanted("conjunction")) race("conjunction", both, 2);
    for (flat_width = 10; wanted("flat") && flat_width <= settings.rows; flat_width *= 100) {
        contestant flat[] = {{.name = "copse", .run = flat_copse}};
        char name[48];
        (void)snprintf(name, sizeof name, "flat %llu", (unsigned long long)flat_width);
        race(name, flat, 1);
    }
    if (wanted("join")) {
        make_join();
        race("join", joined, 3);
        copse_table_free(few);
    }
    copse_table_free(table);
}

int main(int argc, char **argv)
{
    int code = open_all(argc, argv);
    if (code) return code;
    if (wanted("ranges") || wanted("conjunction") || wanted("flat") || wanted("join")) run_numbers();
    if (wanted("join apart")) {
        contestant joined[] = {{.name = "copse", .run = apart_copse}};
        make_apart();
        race("join apart", joined, 1);
        copse_table_free(apart);
        copse_table_free(few_apart);
    }
    static const char *const forms[] = {"asof", "asof shuffled", "asof floats", "asof strings"};
    for (int how = IN_ORDER; how <= STRINGS; how++) {
        contestant asof[] = {{.name = "copse", .run = asof_copse}};
        if (!wanted(forms[how])) continue;
        trades = make_ticks(1, (form)how);
        quotes = make_ticks(2000000000, (form)how);
        race(forms[how], asof, 1);
        copse_table_free(trades);
        copse_table_free(quotes);
    }
    if (settings.csv && wanted("csv")) {
        contestant csv[] = {{.name = "copse", .run = csv_copse}};
        race("csv", csv, 1);
    }
    sqlite3_close(db);
    copse_ctx_free(ctx);
    return 0;
}

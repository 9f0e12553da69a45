/* The queries of the paper on a B-tree query engine for GPUs (docs/QUERY.md), on the CPU and beside SQLite with a primary key: the build
 * target bench_paper.
 *
 *   bench_paper [--rows N] [--case NAME] [--threads N] [--repeat N]
 *
 * Two tables of N rows in no order: `identical` has two columns that are the same, `table` has a primary key and five more columns. Over a range
 * of 2^5 .. 2^20 keys: `range` gives key and value of each row, `count`, `sum`, and `rows` gives all columns of each row. A line is for
 * `queries` ranges, one query each. */
#define _POSIX_C_SOURCE 200809L
#include "race.h"

#define LEAST_POWER 5
#define MOST_POWER  20
#define ROWS_A_TURN (1u << 16) /* so many queries that they come to so many rows */
#define LEAST_QUERIES                                                                                                  \
    32 /* of counts and sums: one alone would mostly find what the other contestant left of the cache */
#define MOST_COLUMNS 6

static copse_table *table;
static copse_query *query;
static sqlite3_stmt *statement;
static uint64_t width, queries;
static int columns_wanted;

static uint64_t low_of(uint64_t i)
{
    return mix(i + width) % (settings.rows - width + 1);
}

/* ---- the data ---- */

static void fill_sqlite(const char *name, int64_t *const *cells, int columns)
{
    char text[256];
    sqlite3_stmt *insert = NULL;
    (void)snprintf(text, sizeof text, "create table %s_rows(k integer primary key%s)", name,
                   columns == 2 ? ", v integer"
                                : ", v integer, customer integer, day integer, quantity integer, price integer");
    sql(text);
    (void)snprintf(text, sizeof text, "insert into %s_rows values(?, ?%s)", name, columns == 2 ? "" : ", ?, ?, ?, ?");
    sql("begin");
    sqlite3_prepare_v2(db, text, -1, &insert, NULL);
    for (uint64_t i = 0; i < settings.rows; i++) {
        sqlite3_reset(insert);
        for (int c = 0; c < columns; c++) sqlite3_bind_int64(insert, c + 1, cells[c][i]);
        sqlite3_step(insert);
    }
    sqlite3_finalize(insert);
    sql("commit");
}

static void make_data(const char *name, int columns)
{
    static const char *const names[MOST_COLUMNS] = {"k", "v", "customer", "day", "quantity", "price"};
    uint64_t n = settings.rows;
    int64_t *cells[MOST_COLUMNS];
    copse_column given[MOST_COLUMNS];
    for (int c = 0; c < columns; c++) {
        cells[c] = room(n, 8);
        /* A permutation: rows come in no order. */
        for (uint64_t i = 0; i < n; i++)
            cells[c][i] = (int64_t)(c == 0 || columns == 2 ? i * UINT64_C(2654435761) % n
                                    : c == 1               ? i
                                                           : mix(i + (uint64_t)c * n) % 100000);
        given[c] = (copse_column){names[c], COPSE_I64, 0, cells[c], NULL};
    }
    copse_table_index_options options = COPSE_TABLE_INDEX_OPTIONS_INIT;
    options.unique = 1;
    options.sums = "v";
    need(copse_table_create(ctx, given, (uint32_t)columns, n, &table));
    need(copse_table_index(table, "k", &options));
    fill_sqlite(name, cells, columns);
    for (int c = 0; c < columns; c++) free(cells[c]);
}

/* ---- the questions ---- */

static void set_range(uint64_t i)
{
    uint64_t low = low_of(i);
    need(copse_query_set_between(query, "k", copse_value_i64((int64_t)low),
                                 copse_value_i64((int64_t)(low + width - 1))));
}

static double copse_values(void)
{
    double total = 0;
    for (uint64_t i = 0; i < queries; i++) {
        copse_value value;
        set_range(i);
        need(copse_query_values(query, &value, 1));
        total += value.type == COPSE_U64 ? (double)value.as.u64 : (double)value.as.i64;
    }
    return total;
}

static double copse_rows_of(void)
{
    double total = 0;
    for (uint64_t i = 0; i < queries; i++) {
        copse_table *result = NULL;
        set_range(i);
        need(copse_query_run(query, &result));
        for (uint64_t row = 0; row < copse_table_rows(result); row++)
            for (int c = 0; c < columns_wanted; c++) total += cell(result, row, (uint32_t)c);
        copse_table_free(result);
    }
    return total;
}

static double sqlite_rows(void)
{
    double total = 0;
    for (uint64_t i = 0; i < queries; i++) {
        sqlite3_reset(statement);
        sqlite3_bind_int64(statement, 1, (int64_t)low_of(i));
        sqlite3_bind_int64(statement, 2, (int64_t)(low_of(i) + width - 1));
        while (sqlite3_step(statement) == SQLITE_ROW)
            for (int c = 0; c < sqlite3_column_count(statement); c++) total += sqlite3_column_double(statement, c);
    }
    return total;
}

static void ask(const char *data, const char *operation, const char *what, int columns)
{
    char text[160], name[64], fields[96];
    contestant both[] = {{.name = "sqlite", .run = sqlite_rows},
                         {.name = "copse", .run = columns ? copse_rows_of : copse_values}};
    (void)snprintf(name, sizeof name, "%s %s", operation, data);
    if (!wanted(name)) return;
    (void)snprintf(text, sizeof text, "select %s from %s_rows where k between ? and ?", what, data);
    if (sqlite3_prepare_v2(db, text, -1, &statement, NULL) != SQLITE_OK) sql(text);
    need(copse_query_create(table, &query));
    need(copse_query_between(query, "k", copse_value_i64(0), copse_value_i64(0)));
    if (!columns)
        need(copse_query_aggregate(query, *operation == 'c' ? COPSE_AGGREGATE_COUNT : COPSE_AGGREGATE_SUM,
                                   *operation == 'c' ? NULL : "v"));
    if (columns == 2) {
        need(copse_query_select(query, "k"));
        need(copse_query_select(query, "v"));
    }
    columns_wanted = columns;
    for (int power = LEAST_POWER; power <= MOST_POWER && (UINT64_C(1) << power) <= settings.rows; power++) {
        width = UINT64_C(1) << power;
        queries = width < ROWS_A_TURN ? ROWS_A_TURN / width : 1;
        if (!columns && queries < LEAST_QUERIES) queries = LEAST_QUERIES;
        (void)snprintf(fields, sizeof fields, "\"keys\": %llu, \"queries\": %llu, ", (unsigned long long)width,
                       (unsigned long long)queries);
        more = fields;
        race(name, both, 2);
    }
    sqlite3_finalize(statement);
    copse_query_free(query);
}

static void run(const char *data, int columns)
{
    make_data(data, columns);
    ask(data, "range", "k, v", 2);
    ask(data, "count", "count(*)", 0);
    ask(data, "sum", "sum(v)", 0);
    if (columns > 2) ask(data, "rows", "*", columns);
    copse_table_free(table);
}

int main(int argc, char **argv)
{
    settings.rows = UINT64_C(1) << 21;
    int code = open_all(argc, argv);
    if (code) return code;
    run("identical", 2);
    run("table", MOST_COLUMNS);
    sqlite3_close(db);
    copse_ctx_free(ctx);
    return 0;
}

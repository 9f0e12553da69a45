/* Customers, orders and their lines, in the spirit of TPC-H, with six questions, on copse and on SQLite in memory: the build target
 * bench_orders.
 *
 *   bench_orders [--rows N] [--case NAME] [--threads N] [--repeat N] [--write FOLDER]
 *
 * N orders, a tenth as many customers, one to seven lines for each order; all from a fixed seed. --write puts the tables into a folder as CSV
 * files, for bench/query/peers_orders.py. The answer of a question is one number made of all cells of its result, so that all contestants can be
 * compared. */
#define _POSIX_C_SOURCE 200809L
#include "race.h"

#define FIRST_DAY 8035 /* 1992-01-01 */
#define DAYS      2405
#define MOST      8 /* columns of a table */

static const char *const segments[] = {"AUTOMOBILE", "BUILDING", "FURNITURE", "HOUSEHOLD", "MACHINERY"};
static const char *const priorities[] = {"1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW"};
static const char *const flags[] = {"A", "N", "R"};
static const char *const statuses[] = {"F", "O"};

/* ---- making tables ---- */

typedef struct words {
    copse_bytes bytes;
    char *text;
    int64_t *offsets;
} words;

/* n words, of which `choice` says which. */
static words make_words(const char *const *list, const uint8_t *choice, uint64_t n)
{
    words w = {.text = room(n, 16), .offsets = room(n + 1, 8)};
    w.offsets[0] = 0;
    for (uint64_t i = 0; i < n; i++) {
        size_t length = strlen(list[choice[i]]);
        memcpy(w.text + w.offsets[i], list[choice[i]], length);
        w.offsets[i + 1] = w.offsets[i] + (int64_t)length;
    }
    copse_bytes bytes = COPSE_BYTES_INIT(w.text, (uint64_t)w.offsets[n], w.offsets, 64);
    w.bytes = bytes;
    return w;
}

static uint64_t turn; /* of the generator */

static uint64_t any(uint64_t below)
{
    return mix(turn++) % below;
}

static copse_table *make(const copse_column *columns, uint32_t count, uint64_t rows)
{
    copse_table *made = NULL;
    need(copse_table_create(ctx, columns, count, rows, &made));
    return made;
}

static copse_table *customers, *orders, *lines;

static void make_customers(uint64_t n)
{
    int64_t *key = room(n, 8);
    double *balance = room(n, 8);
    uint8_t *segment = room(n, 1);
    for (uint64_t i = 0; i < n; i++) {
        key[i] = (int64_t)i + 1;
        balance[i] = ((double)any(1100000) - 100000) / 100;
        segment[i] = (uint8_t)any(5);
    }
    words w = make_words(segments, segment, n);
    const copse_column columns[] = {{"custkey", COPSE_I64, 0, key, NULL},
                                    {"segment", COPSE_STRING, 0, &w.bytes, NULL},
                                    {"balance", COPSE_F64, 0, balance, NULL}};
    customers = make(columns, 3, n);
    free(key);
    free(balance);
    free(segment);
}

static void make_orders(uint64_t n)
{
    int64_t *key = room(n, 8), *customer = room(n, 8);
    int32_t *day = room(n, 4);
    double *price = room(n, 8);
    uint8_t *priority = room(n, 1);
    for (uint64_t i = 0; i < n; i++) {
        key[i] = (int64_t)(i / 8 * 32 + i % 8 + 1); /* gaps, as there */
        customer[i] = (int64_t)any(n / 10) + 1;
        day[i] = FIRST_DAY + (int32_t)any(DAYS);
        price[i] = (double)(100000 + any(50000000)) / 100;
        priority[i] = (uint8_t)any(5);
    }
    words w = make_words(priorities, priority, n);
    const copse_column columns[] = {{"orderkey", COPSE_I64, 0, key, NULL},
                                    {"custkey", COPSE_I64, 0, customer, NULL},
                                    {"orderdate", COPSE_DATE, 0, day, NULL},
                                    {"priority", COPSE_STRING, 0, &w.bytes, NULL},
                                    {"totalprice", COPSE_F64, 0, price, NULL}};
    orders = make(columns, 5, n);
    free(key);
    free(customer);
    free(day);
    free(price);
    free(priority);
}

static void make_lines(void)
{
    uint64_t most = copse_table_rows(orders) * 7, n = 0;
    int64_t *order = room(most, 8);
    int32_t *quantity = room(most, 4), *ship = room(most, 4);
    double *price = room(most, 8), *discount = room(most, 8);
    uint8_t *flag = room(most, 1), *status = room(most, 1), *late = room(most, 1);
    for (uint64_t i = 0; i < copse_table_rows(orders); i++) {
        copse_value key, day;
        need(copse_table_get(orders, i, 0, &key));
        need(copse_table_get(orders, i, 2, &day));
        for (uint64_t k = any(7) + 1; k > 0; k--, n++) {
            order[n] = key.as.i64;
            quantity[n] = (int32_t)any(50) + 1;
            price[n] = (double)(90000 + any(10000000)) / 100;
            discount[n] = (double)any(11) / 100;
            ship[n] = (int32_t)day.as.i64 + 1 + (int32_t)any(121);
            status[n] = ship[n] > 9298; /* 1995-06-17 */
            flag[n] = status[n] ? 1 : (uint8_t)(any(2) * 2);
            late[n] = any(3) == 0;
        }
    }
    words f = make_words(flags, flag, n), s = make_words(statuses, status, n);
    const copse_column columns[] = {
        {"orderkey", COPSE_I64, 0, order, NULL},   {"quantity", COPSE_I32, 0, quantity, NULL},
        {"price", COPSE_F64, 0, price, NULL},      {"discount", COPSE_F64, 0, discount, NULL},
        {"flag", COPSE_STRING, 0, &f.bytes, NULL}, {"status", COPSE_STRING, 0, &s.bytes, NULL},
        {"shipdate", COPSE_DATE, 0, ship, NULL},   {"late", COPSE_BOOL, 0, late, NULL}};
    lines = make(columns, 8, n);
    free(order);
    free(quantity);
    free(ship);
    free(price);
    free(discount);
    free(flag);
    free(status);
    free(late);
}

static void make_tables(void)
{
    copse_table_index_options primary = COPSE_TABLE_INDEX_OPTIONS_INIT;
    primary.unique = 1;
    make_customers(settings.rows / 10);
    make_orders(settings.rows);
    make_lines();
    need(copse_table_index(customers, "custkey", &primary));
    need(copse_table_index(orders, "orderkey", &primary));
    need(copse_table_index(orders, "orderdate", NULL));
    need(copse_table_index(lines, "shipdate", NULL));
}

/* ---- the same elsewhere ---- */

static void bind(sqlite3_stmt *insert, int at, copse_value value)
{
    if (value.type == COPSE_F64)
        sqlite3_bind_double(insert, at, value.as.f64);
    else if (value.type == COPSE_STRING)
        sqlite3_bind_text(insert, at, value.as.text, (int)value.size, SQLITE_TRANSIENT);
    else
        sqlite3_bind_int64(insert, at, value.as.i64);
}

/* Dates are days there, as they are here. */
static void copy(const copse_table *table, const char *columns, const char *name)
{
    char text[256];
    sqlite3_stmt *insert = NULL;
    uint32_t count = copse_table_columns(table);
    (void)snprintf(text, sizeof text, "create table %s(%s)", name, columns);
    sql(text);
    (void)snprintf(text, sizeof text, "insert into %s values(?%.*s)", name, (int)(count - 1) * 3,
                   ", ?, ?, ?, ?, ?, ?, ?");
    sql("begin");
    sqlite3_prepare_v2(db, text, -1, &insert, NULL);
    for (uint64_t row = 0; row < copse_table_rows(table); row++) {
        sqlite3_reset(insert);
        for (uint32_t c = 0; c < count; c++) {
            copse_value value;
            need(copse_table_get(table, row, c, &value));
            bind(insert, (int)c + 1, value);
        }
        sqlite3_step(insert);
    }
    sqlite3_finalize(insert);
    sql("commit");
}

static void write_cell(FILE *file, const copse_table *table, uint64_t row, uint32_t column)
{
    copse_value value;
    need(copse_table_get(table, row, column, &value));
    if (value.type == COPSE_STRING) {
        (void)fprintf(file, "%.*s", (int)value.size, value.as.text);
    } else if (value.type == COPSE_F64) {
        (void)fprintf(file, "%.2f", value.as.f64);
    } else if (copse_table_column_type(table, column) == COPSE_DATE) {
        time_t seconds = (time_t)value.as.i64 * 86400;
        struct tm day;
        char text[16];
        if (strftime(text, sizeof text, "%Y-%m-%d", gmtime_r(&seconds, &day)) > 0) (void)fputs(text, file);
    } else {
        (void)fprintf(file, "%lld", (long long)value.as.i64);
    }
}

static void write_table(const copse_table *table, const char *folder, const char *name)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s/%s.csv", folder, name);
    FILE *file = fopen(path, "w");
    if (!file) exit(1);
    uint32_t count = copse_table_columns(table);
    for (uint32_t c = 0; c < count; c++) (void)fprintf(file, "%s%s", c ? "," : "", copse_table_column_name(table, c));
    for (uint64_t row = 0; row < copse_table_rows(table); row++)
        for (uint32_t c = 0; c < count; c++) {
            (void)fputc(c ? ',' : '\n', file);
            write_cell(file, table, row, c);
        }
    (void)fputc('\n', file);
    (void)fclose(file);
}

/* ---- answers ---- */

/* Each row counts as often as its number says: the order matters. */
static double weigh(copse_table *result)
{
    double total = 0;
    for (uint64_t row = 0; row < copse_table_rows(result); row++)
        for (uint32_t c = 0; c < copse_table_columns(result); c++)
            if (copse_table_column_type(result, c) != COPSE_STRING) total += (double)(row + 1) * cell(result, row, c);
    copse_table_free(result);
    return total;
}

static double weigh_sql(const char *text)
{
    sqlite3_stmt *statement = NULL;
    double total = 0, row = 0;
    if (sqlite3_prepare_v2(db, text, -1, &statement, NULL) != SQLITE_OK) sql(text);
    while (sqlite3_step(statement) == SQLITE_ROW) {
        row++;
        for (int i = 0; i < sqlite3_column_count(statement); i++) total += row * sqlite3_column_double(statement, i);
    }
    sqlite3_finalize(statement);
    return total;
}

static copse_query *ask(const copse_table *table)
{
    copse_query *query = NULL;
    need(copse_query_create(table, &query));
    return query;
}

static copse_value text(const char *given)
{
    return copse_value_text(given, (uint32_t)strlen(given));
}

static copse_table *answer(copse_query *query)
{
    copse_table *result = NULL;
    need(copse_query_run(query, &result));
    copse_query_free(query);
    return result;
}

/* ---- 1: lines by flag and status ---- */

static double summary_copse(void)
{
    copse_query *query = ask(lines);
    need(copse_query_where(query, "shipdate", COPSE_LESS_OR_EQUAL, text("1998-09-02")));
    need(copse_query_group_by(query, "flag"));
    need(copse_query_group_by(query, "status"));
    need(copse_query_aggregate(query, COPSE_AGGREGATE_COUNT, NULL));
    need(copse_query_aggregate(query, COPSE_AGGREGATE_SUM, "quantity"));
    need(copse_query_aggregate(query, COPSE_AGGREGATE_SUM, "price"));
    need(copse_query_aggregate(query, COPSE_AGGREGATE_AVG, "discount"));
    return weigh(answer(query));
}

static double summary_sqlite(void)
{
    return weigh_sql("select count(*), sum(quantity), sum(price), avg(discount) from lines where shipdate <= 10471 "
                     "group by flag, status order by flag, status");
}

/* ---- 2: three ranges ---- */

static double forecast_copse(void)
{
    copse_query *query = ask(lines);
    need(copse_query_between(query, "shipdate", text("1994-01-01"), text("1994-12-31")));
    need(copse_query_between(query, "discount", copse_value_f64(0.05), copse_value_f64(0.07)));
    need(copse_query_where(query, "quantity", COPSE_LESS, copse_value_i64(24)));
    need(copse_query_aggregate(query, COPSE_AGGREGATE_COUNT, NULL));
    need(copse_query_aggregate(query, COPSE_AGGREGATE_SUM, "price"));
    return weigh(answer(query));
}

static double forecast_sqlite(void)
{
    return weigh_sql("select count(*), sum(price) from lines where shipdate between 8766 and 9130 and discount between "
                     "0.05 and 0.07 and quantity < 24");
}

/* ---- 3: the ten largest orders of a quarter ---- */

static double largest_copse(void)
{
    copse_query *query = ask(orders);
    need(copse_query_between(query, "orderdate", text("1995-01-01"), text("1995-03-31")));
    need(copse_query_order_by(query, "totalprice", 1));
    need(copse_query_limit(query, 10, 0));
    need(copse_query_select(query, "orderkey"));
    need(copse_query_select(query, "totalprice"));
    return weigh(answer(query));
}

static double largest_sqlite(void)
{
    return weigh_sql(
        "select orderkey, totalprice from orders where orderdate between 9131 and 9220 order by totalprice "
        "desc limit 10");
}

/* ---- 4: orders of a quarter with a late line, by priority ---- */

static double late_copse(void)
{
    copse_query *some = ask(orders), *late = ask(lines);
    copse_join_options options = COPSE_JOIN_OPTIONS_INIT;
    copse_pairs *pairs = NULL;
    copse_table *joined = NULL;
    need(copse_query_between(some, "orderdate", text("1993-07-01"), text("1993-09-30")));
    need(copse_query_select(some, "orderkey"));
    need(copse_query_select(some, "priority"));
    need(copse_query_where(late, "late", COPSE_EQUAL, copse_value_i64(1)));
    need(copse_query_select(late, "orderkey"));
    copse_table *left = answer(some), *right = answer(late);
    options.kind = COPSE_JOIN_SEMI;
    options.left_on = options.right_on = "orderkey";
    need(copse_join(left, right, &options, &pairs));
    need(copse_pairs_table(pairs, left, right, &joined));
    copse_query *count = ask(joined);
    need(copse_query_group_by(count, "priority"));
    need(copse_query_aggregate(count, COPSE_AGGREGATE_COUNT, NULL));
    double total = weigh(answer(count));
    copse_pairs_free(pairs);
    copse_table_free(joined);
    copse_table_free(left);
    copse_table_free(right);
    return total;
}

static double late_sqlite(void)
{
    return weigh_sql(
        "select count(*) from orders where orderdate between 8582 and 8673 and exists (select 1 from lines "
        "where lines.orderkey = orders.orderkey and late) group by priority order by priority");
}

/* ---- 5: orders of a year by the segment of their customers ---- */

static double segments_copse(void)
{
    copse_query *some = ask(orders);
    copse_join_options options = COPSE_JOIN_OPTIONS_INIT;
    copse_pairs *pairs = NULL;
    copse_table *joined = NULL;
    need(copse_query_between(some, "orderdate", text("1996-01-01"), text("1996-12-31")));
    need(copse_query_select(some, "custkey"));
    need(copse_query_select(some, "totalprice"));
    copse_table *left = answer(some);
    options.left_on = options.right_on = "custkey";
    need(copse_join(left, customers, &options, &pairs));
    need(copse_pairs_table(pairs, left, customers, &joined));
    copse_query *sum = ask(joined);
    need(copse_query_group_by(sum, "segment"));
    need(copse_query_aggregate(sum, COPSE_AGGREGATE_COUNT, NULL));
    need(copse_query_aggregate(sum, COPSE_AGGREGATE_SUM, "totalprice"));
    double total = weigh(answer(sum));
    copse_pairs_free(pairs);
    copse_table_free(joined);
    copse_table_free(left);
    return total;
}

static double segments_sqlite(void)
{
    return weigh_sql(
        "select count(*), sum(totalprice) from orders join customers on customers.custkey = orders.custkey "
        "where orderdate between 9496 and 9861 group by segment order by segment");
}

/* ---- 6: all lines with their orders ---- */

static double pairs_copse(void)
{
    copse_join_options options = COPSE_JOIN_OPTIONS_INIT;
    const copse_join_aggregate wanted[] = {
        {COPSE_AGGREGATE_COUNT, 0, NULL}, {COPSE_AGGREGATE_SUM, 0, "price"}, {COPSE_AGGREGATE_SUM, 1, "totalprice"}};
    copse_table *result = NULL;
    options.left_on = options.right_on = "orderkey";
    need(copse_join_aggregates(lines, orders, &options, wanted, 3, &result));
    return weigh(result);
}

static double pairs_sqlite(void)
{
    return weigh_sql("select count(*), sum(price), sum(totalprice) from lines join orders on orders.orderkey = "
                     "lines.orderkey");
}

int main(int argc, char **argv)
{
    settings.rows = 300000;
    const char *folder = NULL;
    int code = open_all(argc, argv);
    if (code) return code;
    for (int i = 1; i + 1 < argc; i += 2)
        if (strcmp(argv[i], "--write") == 0) folder = argv[i + 1];
    make_tables();
    if (folder) {
        write_table(customers, folder, "customers");
        write_table(orders, folder, "orders");
        write_table(lines, folder, "lines");
    }
    copy(customers, "custkey integer primary key, segment text, balance real", "customers");
    copy(orders, "orderkey integer primary key, custkey integer, orderdate integer, priority text, totalprice real",
         "orders");
    copy(
        lines,
        "orderkey integer, quantity integer, price real, discount real, flag text, status text, shipdate integer, late "
        "integer",
        "lines");
    sql("create index by_date on orders(orderdate)");
    sql("create index by_ship on lines(shipdate)");
    sql("create index by_order on lines(orderkey)");
    const struct {
        const char *name;
        double (*sqlite)(void);
        double (*copse)(void);
    } questions[] = {{"summary", summary_sqlite, summary_copse},    {"forecast", forecast_sqlite, forecast_copse},
                     {"largest", largest_sqlite, largest_copse},    {"late", late_sqlite, late_copse},
                     {"segments", segments_sqlite, segments_copse}, {"all pairs", pairs_sqlite, pairs_copse}};
    for (size_t i = 0; i < sizeof questions / sizeof *questions; i++) {
        contestant both[] = {{.name = "sqlite", .run = questions[i].sqlite},
                             {.name = "copse", .run = questions[i].copse}};
        if (wanted(questions[i].name)) race(questions[i].name, both, 2);
    }
    copse_table_free(customers);
    copse_table_free(orders);
    copse_table_free(lines);
    sqlite3_close(db);
    copse_ctx_free(ctx);
    return 0;
}

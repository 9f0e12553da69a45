/* The orders as a table with columns: questions by the query engine, checked by loops over the arrays that the table is made of. */
#include "cli/demo/demo.h"

#include "copse_query.h"

#include <stdlib.h>
#include <string.h>

#define MOST_ROWS      (UINT64_C(1) << 20)
#define FIRST_DAY      20089 /* 2025-01-01 */
#define DAYS           365
#define CITIES         5
#define CUSTOMER_SHARE 16 /* orders of a customer, about */

static const char *const cities[CITIES] = {"Bergen", "Kyoto", "Lima", "Oslo", "Rome"};

typedef struct orders {
    demo *d;
    uint64_t rows, customers;
    int64_t *number, *customer, *amount, *discount; /* discount: of each customer */
    int32_t *day;
    uint8_t *city;
    char *text;
    int32_t *offsets;
    copse_table *table, *people;
} orders;

/* ---- the tables ---- */

static uint64_t pick(uint64_t i, uint64_t below)
{
    uint64_t x = (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
    return (x ^ x >> 32) % below;
}

static bool make_arrays(orders *o)
{
    uint64_t n = o->rows;
    o->number = malloc(n * sizeof *o->number);
    o->customer = malloc(n * sizeof *o->customer);
    o->amount = malloc(n * sizeof *o->amount);
    o->day = malloc(n * sizeof *o->day);
    o->city = malloc(n);
    o->text = malloc(n * 8);
    o->offsets = malloc((n + 1) * sizeof *o->offsets);
    o->discount = malloc(o->customers * 2 * sizeof *o->discount);
    if (!o->number || !o->customer || !o->amount || !o->day || !o->city || !o->text || !o->offsets || !o->discount)
        return false;
    o->offsets[0] = 0;
    for (uint64_t i = 0; i < n; i++) {
        o->number[i] = (int64_t)(1000 + i * 3);
        o->customer[i] = (int64_t)pick(i + n, o->customers);
        o->amount[i] = (int64_t)(100 + pick(i + 2 * n, 100000));
        o->day[i] = FIRST_DAY + (int32_t)(i * DAYS / n);
        o->city[i] = (uint8_t)pick(i + 3 * n, CITIES);
        size_t length = strlen(cities[o->city[i]]);
        memcpy(o->text + o->offsets[i], cities[o->city[i]], length);
        o->offsets[i + 1] = o->offsets[i] + (int32_t)length;
    }
    for (uint64_t i = 0; i < o->customers; i++) {
        o->discount[i] = (int64_t)pick(i + 4 * n, 20);
        o->discount[o->customers + i] = (int64_t)i; /* the keys */
    }
    return true;
}

static copse_status make_tables(orders *o)
{
    copse_ctx *ctx = o->d->session.ctx;
    copse_bytes names = COPSE_BYTES_INIT(o->text, (uint64_t)o->offsets[o->rows], o->offsets, 32);
    const copse_column columns[] = {{"number", COPSE_I64, 0, o->number, NULL},
                                    {"customer", COPSE_I64, 0, o->customer, NULL},
                                    {"day", COPSE_DATE, 0, o->day, NULL},
                                    {"city", COPSE_STRING, 0, &names, NULL},
                                    {"amount", COPSE_I64, 0, o->amount, NULL}};
    const copse_column of_people[] = {{"id", COPSE_I64, 0, o->discount + o->customers, NULL},
                                      {"discount", COPSE_I64, 0, o->discount, NULL}};
    copse_table_index_options primary = COPSE_TABLE_INDEX_OPTIONS_INIT;
    copse_table_index_options by_day = COPSE_TABLE_INDEX_OPTIONS_INIT;
    primary.unique = 1;
    by_day.sums = "amount";
    copse_status status = copse_table_create(ctx, columns, 5, o->rows, &o->table);
    if (status == COPSE_OK) status = copse_table_create(ctx, of_people, 2, o->customers, &o->people);
    if (status == COPSE_OK) status = copse_table_index(o->table, "number", &primary);
    if (status == COPSE_OK) status = copse_table_index(o->table, "day", &by_day);
    if (status == COPSE_OK) status = copse_table_index(o->people, "id", &primary);
    return status;
}

/* ---- questions: each runs a query, and fills in what the answer must be ---- */

#define MOST_CELLS 32

/* Numbers of the answer, row by row. */
typedef struct expected {
    uint64_t cells[MOST_CELLS];
    uint64_t n;
} expected;

static void expect(expected *e, int64_t number)
{
    e->cells[e->n++] = (uint64_t)number;
}

static copse_status of_march(const orders *o, copse_query *query, expected *e)
{
    int64_t count = 0, sum = 0;
    copse_status status =
        copse_query_between(query, "day", copse_value_text("2025-03-01", 10), copse_value_text("2025-03-31", 10));
    if (status == COPSE_OK) status = copse_query_aggregate(query, COPSE_AGGREGATE_COUNT, NULL);
    if (status == COPSE_OK) status = copse_query_aggregate(query, COPSE_AGGREGATE_SUM, "amount");
    for (uint64_t i = 0; i < o->rows; i++)
        if (o->day[i] >= FIRST_DAY + 59 && o->day[i] < FIRST_DAY + 90) {
            count++;
            sum += o->amount[i];
        }
    expect(e, count);
    expect(e, sum);
    return status;
}

static copse_status of_cities(const orders *o, copse_query *query, expected *e)
{
    int64_t count[CITIES] = {0}, sum[CITIES] = {0};
    copse_status status = copse_query_group_by(query, "city");
    if (status == COPSE_OK) status = copse_query_aggregate(query, COPSE_AGGREGATE_COUNT, NULL);
    if (status == COPSE_OK) status = copse_query_aggregate(query, COPSE_AGGREGATE_SUM, "amount");
    for (uint64_t i = 0; i < o->rows; i++) {
        count[o->city[i]]++;
        sum[o->city[i]] += o->amount[i];
    }
    for (unsigned c = 0; c < CITIES; c++) {
        if (count[c] == 0) continue;
        expect(e, count[c]);
        expect(e, sum[c]);
    }
    return status;
}

/* Of equal amounts the first order. */
static copse_status largest_of_oslo(const orders *o, copse_query *query, expected *e)
{
    int64_t best = -1, where = -1;
    copse_status status = copse_query_where(query, "city", COPSE_EQUAL, copse_value_text("Oslo", 4));
    if (status == COPSE_OK) status = copse_query_order_by(query, "amount", 1);
    if (status == COPSE_OK) status = copse_query_limit(query, 1, 0);
    if (status == COPSE_OK) status = copse_query_select(query, "number");
    if (status == COPSE_OK) status = copse_query_select(query, "amount");
    for (uint64_t i = 0; i < o->rows; i++)
        if (o->city[i] == 3 && o->amount[i] > best) {
            best = o->amount[i];
            where = o->number[i];
        }
    if (best >= 0) {
        expect(e, where);
        expect(e, best);
    }
    return status;
}

static copse_status join_customers(const orders *o, copse_table **out)
{
    copse_join_options options = COPSE_JOIN_OPTIONS_INIT;
    const copse_join_aggregate wanted[] = {
        {COPSE_AGGREGATE_COUNT, 0, NULL}, {COPSE_AGGREGATE_SUM, 0, "amount"}, {COPSE_AGGREGATE_SUM, 1, "discount"}};
    options.left_on = "customer";
    options.right_on = "id";
    return copse_join_aggregates(o->table, o->people, &options, wanted, 3, out);
}

static void expect_customers(const orders *o, expected *e)
{
    int64_t amount = 0, discount = 0;
    for (uint64_t i = 0; i < o->rows; i++) {
        amount += o->amount[i];
        discount += o->discount[o->customer[i]];
    }
    expect(e, (int64_t)o->rows);
    expect(e, amount);
    expect(e, discount);
}

/* ---- running them ---- */

typedef struct question {
    const char *name, *label;
    copse_status (*build)(const orders *o, copse_query *query, expected *e); /* NULL: the join */
} question;

static const question questions[] = {{"range", "orders of March: count and sum", of_march},
                                     {"group", "count and sum for each city", of_cities},
                                     {"largest", "the largest order of Oslo", largest_of_oslo},
                                     {"join", "orders joined with customers", NULL}};

/* Cells of the answer that are not as expected; texts are the columns of groups. */
static uint64_t differences(const copse_table *answer, const expected *e)
{
    uint64_t wrong = 0, at = 0;
    for (uint64_t row = 0; row < copse_table_rows(answer); row++)
        for (uint32_t c = 0; c < copse_table_columns(answer); c++) {
            copse_value value = copse_value_null();
            if (copse_table_get(answer, row, c, &value) != COPSE_OK || value.type == COPSE_STRING) continue;
            /* Of no rows a sum is NULL, whose number is 0. */
            wrong += at >= e->n || e->cells[at] != value.as.u64;
            at++;
        }
    return wrong + (at < e->n);
}

static void report(const orders *o, const question *q, double seconds, uint64_t wrong)
{
    char number[CLI_NUMBER_SIZE];
    if (o->d->args->json) {
        cli_json json;
        cli_json_begin(&json, stdout);
        cli_json_text(&json, "step", "query");
        cli_json_text(&json, "question", q->name);
        cli_json_u64(&json, "rows", o->rows);
        if (!o->d->args->no_timing) cli_json_double(&json, "seconds", seconds);
        cli_json_u64(&json, "wrong", wrong);
        cli_json_end(&json);
        return;
    }
    printf("%-36s %12s", q->label, cli_group(o->rows, number));
    if (!o->d->args->no_timing) printf(" %13.3f", seconds * 1000);
    puts(wrong ? "   differs" : "   equal");
}

static copse_status ask(const orders *o, const question *q)
{
    expected e = {.n = 0};
    copse_query *query = NULL;
    copse_table *answer = NULL;
    copse_status status = copse_query_create(o->table, &query);
    if (status == COPSE_OK && q->build) status = q->build(o, query, &e);
    if (!q->build) expect_customers(o, &e);
    double start = cli_clock();
    if (status == COPSE_OK) status = q->build ? copse_query_run(query, &answer) : join_customers(o, &answer);
    double seconds = cli_clock() - start;
    if (status == COPSE_OK) {
        uint64_t wrong = differences(answer, &e);
        o->d->wrong += wrong;
        report(o, q, seconds, wrong);
    }
    copse_table_free(answer);
    copse_query_free(query);
    return status;
}

static void report_begin(const orders *o)
{
    if (o->d->args->json) return;
    printf("\n%-36s %12s%s   answers\n", "question to a table of orders", "rows",
           o->d->args->no_timing ? "" : "  milliseconds");
}

copse_status demo_queries(demo *d)
{
    orders o = {.d = d, .rows = d->args->n < MOST_ROWS ? d->args->n : MOST_ROWS};
    o.customers = o.rows / CUSTOMER_SHARE + 1;
    copse_status status = COPSE_ERR_MEMORY;
    if (!make_arrays(&o))
        d->out_of_memory = true;
    else
        status = make_tables(&o);
    cli_progress_clear(&d->session.progress);
    if (status == COPSE_OK) report_begin(&o);
    for (size_t i = 0; status == COPSE_OK && i < sizeof questions / sizeof *questions; i++)
        status = ask(&o, &questions[i]);
    copse_table_free(o.table);
    copse_table_free(o.people);
    free(o.number);
    free(o.customer);
    free(o.amount);
    free(o.discount);
    free(o.day);
    free(o.city);
    free(o.text);
    free(o.offsets);
    return status;
}

/* Groups and sums over more rows than one thread takes, against plain loops: few groups go by their numbers, many by a sort. */
#include "unit.h"

#include "copse_query.h"
#include "query/run/float_sum.h"
#include "random.h"

#include <stdlib.h>

#define ROWS    150000u
#define TEXTS   8u /* the first is NULL */
#define NUMBERS 13u
#define MANY    5000u

/* In their order; some differ only behind what fits a word, or in their length. */
static const char *const texts[TEXTS] = {NULL, "", "a", "ab", "abcdefgh", "abcdefgh-1", "abcdefgh-2", "b"};

typedef struct rows {
    uint32_t text[ROWS];
    int32_t number[ROWS];
    int32_t many[ROWS]; /* few values at first */
    int64_t whole[ROWS];
    uint64_t natural[ROWS];
    double price[ROWS];
    uint8_t has_price[ROWS / 8 + 1];
    int64_t offsets[ROWS + 1];
    char bytes[ROWS * 10];
    uint8_t has_text[ROWS / 8 + 1];
} rows;

static void set(uint8_t *bits, uint64_t at)
{
    bits[at / 8] |= (uint8_t)(1u << (at % 8));
}

static rows *make_rows(void)
{
    struct random_source random = {17};
    rows *r = calloc(1, sizeof *r);
    assert_non_null(r);
    for (uint64_t i = 0; i < ROWS; i++) {
        r->text[i] = (uint32_t)random_below(&random, TEXTS);
        r->number[i] = (int32_t)random_below(&random, NUMBERS) - 6;
        r->many[i] = (int32_t)random_below(&random, i < ROWS / 2 ? 10 : MANY);
        r->whole[i] = (int64_t)(random_next(&random) >> 18) - (INT64_C(1) << 45);
        r->natural[i] = random_next(&random) >> 18;
        r->price[i] = (double)random_below(&random, 1000000) / 97;
        const char *text = texts[r->text[i]];
        const size_t length = text ? strlen(text) : 0;
        if (text) set(r->has_text, i);
        if (length > 0) memcpy(r->bytes + r->offsets[i], text, length);
        r->offsets[i + 1] = r->offsets[i] + (int64_t)length;
        if (random_below(&random, 10)) set(r->has_price, i);
    }
    return r;
}

static copse_table *table_of(copse_ctx *ctx, rows *r)
{
    copse_table *table = NULL;
    const copse_bytes strings = COPSE_BYTES_INIT(r->bytes, (uint64_t)r->offsets[ROWS], r->offsets, 64);
    const copse_column columns[] = {{"text", COPSE_STRING, 0, &strings, r->has_text},
                                    {"number", COPSE_I32, 0, r->number, NULL},
                                    {"many", COPSE_I32, 0, r->many, NULL},
                                    {"whole", COPSE_I64, 0, r->whole, NULL},
                                    {"natural", COPSE_U64, 0, r->natural, NULL},
                                    {"price", COPSE_F64, 0, r->price, r->has_price},
                                    {"full", COPSE_F64, 0, r->price, NULL}};
    assert_ok(ctx, copse_table_create(ctx, columns, 7, ROWS, &table));
    return table;
}

/* What a plain loop says of the rows of one group. */
typedef struct expected {
    uint64_t count, prices, natural;
    int64_t whole;
    copse_float_sum price, full;
} expected;

static void add(expected *e, const rows *r, uint64_t i)
{
    const bool has_price = r->has_price[i / 8] >> (i % 8) & 1;
    e->count++;
    e->prices += has_price;
    e->whole += r->whole[i];
    e->natural += r->natural[i];
    copse_float_sum_add(&e->price, 0, has_price ? r->price[i] : 0);
    copse_float_sum_add(&e->full, 0, r->price[i]);
}

static copse_value value_at(const copse_table *table, uint64_t row, uint32_t column)
{
    copse_value value = copse_value_null();
    assert_int_equal(copse_table_get(table, row, column, &value), COPSE_OK);
    return value;
}

/* Columns behind those of the groups. Floats to the last bit. */
static void expect_row(const copse_table *result, uint64_t row, uint32_t at, expected *e)
{
    assert_int_equal(value_at(result, row, at).as.u64, e->count);
    assert_int_equal(value_at(result, row, at + 1).as.u64, e->prices);
    assert_int_equal(value_at(result, row, at + 2).as.i64, e->whole);
    assert_int_equal(value_at(result, row, at + 3).as.u64, e->natural);
    assert_true(value_at(result, row, at + 4).as.f64 == copse_float_sum_end(&e->price));
    assert_true(value_at(result, row, at + 5).as.f64 == copse_float_sum_end(&e->full));
}

static copse_table *ask(copse_ctx *ctx, const copse_table *table, const char *first, const char *second)
{
    copse_query *query = NULL;
    copse_table *result = NULL;
    assert_ok(ctx, copse_query_create(table, &query));
    if (first) assert_ok(ctx, copse_query_group_by(query, first));
    if (second) assert_ok(ctx, copse_query_group_by(query, second));
    assert_ok(ctx, copse_query_aggregate(query, COPSE_AGGREGATE_COUNT, NULL));
    assert_ok(ctx, copse_query_aggregate(query, COPSE_AGGREGATE_COUNT, "price"));
    assert_ok(ctx, copse_query_aggregate(query, COPSE_AGGREGATE_SUM, "whole"));
    assert_ok(ctx, copse_query_aggregate(query, COPSE_AGGREGATE_SUM, "natural"));
    assert_ok(ctx, copse_query_aggregate(query, COPSE_AGGREGATE_SUM, "price"));
    assert_ok(ctx, copse_query_aggregate(query, COPSE_AGGREGATE_SUM, "full"));
    assert_ok(ctx, copse_query_run(query, &result));
    copse_query_free(query);
    return result;
}

/* `groups` different ones, and the group of each row. */
static void expect_groups(copse_ctx *ctx, const copse_table *table, const rows *r, const char *first,
                          const char *second, uint32_t groups, uint32_t (*group_of)(const rows *, uint64_t))
{
    expected *all = calloc(groups, sizeof *all);
    copse_table *result = ask(ctx, table, first, second);
    const uint32_t columns = (first != NULL) + (second != NULL);
    uint64_t row = 0;
    assert_non_null(all);
    for (uint64_t i = 0; i < ROWS; i++) add(&all[group_of(r, i)], r, i);
    for (uint32_t g = 0; g < groups; g++)
        if (all[g].count) expect_row(result, row++, columns, &all[g]);
    assert_int_equal(copse_table_rows(result), row);
    copse_table_free(result);
    free(all);
}

static uint32_t text_and_number(const rows *r, uint64_t i)
{
    return r->text[i] * NUMBERS + (uint32_t)(r->number[i] + 6);
}

static uint32_t only_text(const rows *r, uint64_t i)
{
    return r->text[i];
}

static uint32_t of_many(const rows *r, uint64_t i)
{
    return (uint32_t)r->many[i];
}

static uint32_t of_all(const rows *r, uint64_t i)
{
    (void)r;
    (void)i;
    return 0;
}

static void groups_of_many_rows(void **state)
{
    rows *r = make_rows();
    (void)state;
    for (uint32_t threads = 1; threads <= 4; threads += 3) {
        copse_ctx *ctx = unit_context(threads);
        copse_table *table = table_of(ctx, r);
        expect_groups(ctx, table, r, "text", NULL, TEXTS, only_text);
        expect_groups(ctx, table, r, "text", "number", TEXTS * NUMBERS, text_and_number);
        expect_groups(ctx, table, r, "many", NULL, MANY, of_many);
        expect_groups(ctx, table, r, NULL, NULL, 1, of_all);
        copse_table_free(table);
        copse_ctx_free(ctx);
    }
    free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(groups_of_many_rows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

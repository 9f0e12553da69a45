/* Queries and joins ask the progress callback whether to go on: whichever time it says no, the call ends as cancelled, gives nothing and
 * keeps nothing, and the next one answers as if nothing had been. */
#include "unit.h"

#include "copse_query.h"
#include "test_allocator.h"

#define ROWS 140000u /* more than two steps between two looks */
#define FEW  2000u

typedef struct tables {
    copse_table *large, *small; /* the same columns */
} tables;

/* ---- tables ---- */

typedef struct arrays {
    int64_t id[ROWS], code[ROWS];
    double price[ROWS];
    int32_t city[ROWS], offsets[ROWS + 1];
    uint8_t priced[ROWS / 8 + 1];
    char text[ROWS * 8];
} arrays;

static void fill(arrays *a)
{
    for (uint32_t i = 0; i < ROWS; i++) {
        a->id[i] = i * INT64_C(1000); /* ascending, not close together */
        a->code[i] = (int64_t)(i * UINT64_C(0x9E3779B97F4A7C15) >> 20);
        a->price[i] = (double)(i * 2654435761u % 1000) / 4;
        a->city[i] = (int32_t)(i * 2654435761u >> 26);
        if (i % 10 != 3) a->priced[i / 8] |= (uint8_t)(1u << i % 8);
        a->offsets[i] = (int32_t)i * 8;
        memcpy(a->text + i * 8, "name", 4); /* four more bytes: not all names differ in the first eight */
        for (int d = 0; d < 4; d++)
            a->text[i * 8 + 4 + (uint32_t)d] = (char)('a' + (i * 2654435761u >> (8 + 5 * d)) % 16);
    }
    a->offsets[ROWS] = ROWS * 8;
}

static copse_table *make_table(copse_ctx *ctx, arrays *a, uint64_t rows)
{
    copse_table *table = NULL;
    copse_bytes names = COPSE_BYTES_INIT(a->text, (uint64_t)ROWS * 8, a->offsets, 32);
    const copse_column columns[] = {{"id", COPSE_I64, 0, a->id, NULL},
                                    {"code", COPSE_I64, 0, a->code, NULL},
                                    {"price", COPSE_F64, 0, a->price, a->priced},
                                    {"city", COPSE_I32, 0, a->city, NULL},
                                    {"name", COPSE_STRING, 0, &names, NULL}};
    assert_ok(ctx, copse_table_create(ctx, columns, 5, rows, &table));
    return table;
}

/* ---- queries ---- */

typedef copse_status (*build_fn)(copse_query *query);

static copse_status build_scan(copse_query *q)
{
    copse_query_select(q, "name");
    return copse_query_between(q, "code", copse_value_i64(0), copse_value_i64(INT64_C(1) << 43));
}

static copse_status build_driven(copse_query *q)
{
    copse_query_where(q, "city", COPSE_NOT_EQUAL, copse_value_i64(5));
    return copse_query_where(q, "price", COPSE_LESS, copse_value_f64(30));
}

static copse_status build_either(copse_query *q)
{
    copse_query_where(q, "city", COPSE_EQUAL, copse_value_i64(5));
    copse_query_or(q);
    return copse_query_where(q, "price", COPSE_LESS, copse_value_f64(30));
}

static copse_status build_sorted(copse_query *q)
{
    copse_query_order_by(q, "name", 1);
    return copse_query_limit(q, 10, 0);
}

static copse_status build_walked(copse_query *q)
{
    copse_query_where(q, "city", COPSE_EQUAL,
                      copse_value_i64(1000)); /* no row has it, which nothing but looking tells */
    copse_query_order_by(q, "price", 0);
    return copse_query_limit(q, 10, 0);
}

static copse_status build_few_groups(copse_query *q)
{
    copse_query_group_by(q, "city");
    copse_query_aggregate(q, COPSE_AGGREGATE_SUM, "price");
    return copse_query_order_by(q, "sum(price)", 1);
}

static copse_status build_many_groups(copse_query *q)
{
    copse_query_group_by(q, "name");
    return copse_query_aggregate(q, COPSE_AGGREGATE_COUNT, NULL);
}

static copse_status build_aggregates(copse_query *q)
{
    copse_query_where(q, "city", COPSE_GREATER, copse_value_i64(2));
    copse_query_aggregate(q, COPSE_AGGREGATE_COUNT_DISTINCT, "name");
    copse_query_aggregate(q, COPSE_AGGREGATE_COUNT, "price");
    copse_query_aggregate(q, COPSE_AGGREGATE_AVG, "price");
    return copse_query_aggregate(q, COPSE_AGGREGATE_MAX, "name");
}

/* ---- joins ---- */

static const copse_join_options asof_names = {
    sizeof(copse_join_options), COPSE_JOIN_ASOF, "name", "name", "city", "city", {0, 0, {0}}, {0, 0, {0}}, {0, 0, {0}}};

static copse_join_options join_on(uint32_t kind, const char *column)
{
    copse_join_options options = COPSE_JOIN_OPTIONS_INIT;
    options.kind = kind;
    options.left_on = options.right_on = column;
    return options;
}

static copse_join_options asof_by(const char *column, const char *by)
{
    copse_join_options options = join_on(COPSE_JOIN_ASOF, column);
    options.left_by = options.right_by = by;
    return options;
}

/* ---- cases ---- */

typedef struct test_case {
    const char *name;
    build_fn build; /* NULL: a join */
    copse_join_options join;
    bool added; /* up, no pairs */
    int least;  /* looks; how many a loop needs at this size may change */
} test_case;

/* The result as a table. */
static copse_status run_query(const test_case *c, const tables *t, copse_table **out)
{
    copse_query *query = NULL;
    copse_status status = copse_query_create(t->large, &query);
    if (status == COPSE_OK) status = c->build(query);
    if (status == COPSE_OK) status = copse_query_run(query, out);
    copse_query_free(query);
    return status;
}

static copse_status run_join(const test_case *c, const tables *t, copse_table **out)
{
    static const copse_join_aggregate wanted[] = {{COPSE_AGGREGATE_COUNT, 0, NULL}, {COPSE_AGGREGATE_SUM, 0, "price"}};
    copse_pairs *pairs = NULL;
    if (c->added) return copse_join_aggregates(t->large, t->small, &c->join, wanted, 2, out);
    copse_status status = copse_join(t->large, t->small, &c->join, &pairs);
    if (status == COPSE_OK) status = copse_pairs_table(pairs, t->large, t->small, out);
    copse_pairs_free(pairs);
    return status;
}

static copse_status run_case(const test_case *c, const tables *t, copse_table **out)
{
    return c->build ? run_query(c, t, out) : run_join(c, t, out);
}

static int stop_when_none_are_left(void *user, const char *what, uint64_t done, uint64_t total)
{
    int *left = user;
    assert_non_null(what);
    assert_true(total == 0 || done <= total);
    return (*left)-- <= 0;
}

static void try_case(copse_ctx *ctx, struct test_allocator *allocator, const test_case *c, const tables *t)
{
    copse_table *expected = NULL, *result = NULL;
    assert_ok(ctx, run_case(c, t, &expected));
    const long long before = atomic_load(&allocator->live_blocks);
    int looks = 0;
    for (copse_status status = COPSE_ERR_CANCELLED; status != COPSE_OK; looks++) {
        int left = looks;
        assert_int_equal(copse_ctx_set_progress(ctx, stop_when_none_are_left, &left), COPSE_OK);
        status = run_case(c, t, &result);
        assert_int_equal(copse_ctx_set_progress(ctx, NULL, NULL), COPSE_OK);
        if (status == COPSE_OK) break;
        assert_fails_naming(ctx, COPSE_ERR_CANCELLED, "cancelled", status);
        assert_null(result);
        assert_int_equal(atomic_load(&allocator->live_blocks), before);
    }
    if (looks < c->least) fail_msg("%s: %d looks", c->name, looks);
    assert_int_equal(copse_table_rows(result), copse_table_rows(expected));
    copse_table_free(result);
    copse_table_free(expected);
}

static void delete_some(copse_ctx *ctx, copse_table *table)
{
    const int64_t gone[] = {3000, 5000};
    const copse_column keys = {"id", COPSE_I64, 0, gone, NULL};
    assert_ok(ctx, copse_table_index(table, "id", NULL));
    assert_ok(ctx, copse_table_delete(table, &keys, 2, NULL));
}

/* All cases on tables of so many rows, which may lie on a device. On one thread it is certain how often they look; on two some rows are gone. */
static void try_all(copse_placement placement, uint32_t threads, uint64_t rows, uint64_t few)
{
    const test_case cases[] = {
        {.name = "scan", .build = build_scan, .least = 4},
        {.name = "driven", .build = build_driven, .least = 1},
        {.name = "either", .build = build_either, .least = 3},
        {.name = "sorted", .build = build_sorted, .least = 13},
        {.name = "walked", .build = build_walked, .least = 130},
        {.name = "few groups", .build = build_few_groups, .least = 8},
        {.name = "many groups", .build = build_many_groups, .least = 16},
        {.name = "aggregates", .build = build_aggregates, .least = 18},
        {.name = "places", .join = join_on(COPSE_JOIN_LEFT, "city"), .added = true, .least = 100},
        {.name = "places, chains", .join = join_on(COPSE_JOIN_SEMI, "city"), .least = 14},
        {.name = "walk", .join = join_on(COPSE_JOIN_LEFT, "id"), .least = 24},
        {.name = "walk, added", .join = join_on(COPSE_JOIN_INNER, "id"), .added = true, .least = 2},
        {.name = "lookups", .join = join_on(COPSE_JOIN_INNER, "code"), .least = 4},
        {.name = "lookups of names", .join = join_on(COPSE_JOIN_ANTI, "name"), .added = true, .least = 4},
        {.name = "band", .join = join_on(COPSE_JOIN_BAND, "id"), .least = 2},
        {.name = "as of, cells", .join = asof_by("id", "city"), .least = 24},
        {.name = "as of, pairs", .join = asof_by("code", "name"), .added = true, .least = 16},
        {.name = "as of names", .join = asof_names, .least = 36},
    };
    struct test_allocator allocator;
    copse_ctx_options options = COPSE_CTX_OPTIONS_INIT;
    copse_ctx *ctx = NULL;
    test_allocator_init(&allocator);
    options.allocator = test_allocator_hooks(&allocator);
    options.threads = threads;
    assert_ok(NULL, copse_ctx_create(&options, &ctx));
    arrays *a = calloc(1, sizeof *a);
    assert_non_null(a);
    fill(a);
    tables t = {make_table(ctx, a, rows), make_table(ctx, a, few)};
    free(a);
    assert_ok(ctx, copse_table_index(t.large, "price", NULL));
    assert_ok(ctx, copse_table_place(t.large, placement));
    assert_ok(ctx, copse_table_place(t.small, placement));
    if (threads > 1) delete_some(ctx, t.large);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        test_case c = cases[i];
        if (c.join.kind == COPSE_JOIN_BAND) c.join.below = c.join.above = copse_value_i64(1500);
        if (placement != COPSE_PLACEMENT_CPU || threads > 1) c.least = 1;
        try_case(ctx, &allocator, &c, &t);
    }
    copse_table_free(t.large);
    copse_table_free(t.small);
    copse_ctx_free(ctx);
    assert_true(test_allocator_is_clean(&allocator));
}

static void every_look_may_say_no(void **state)
{
    (void)state;
    for (uint32_t threads = 1; threads <= 2; threads++) try_all(COPSE_PLACEMENT_CPU, threads, ROWS, FEW);
}

/* Indexes and changes, too: what was there before is there after. */
static void an_index_may_be_left(void **state)
{
    (void)state;
    static const char *const both[] = {"city", "name"};
    copse_ctx *ctx = unit_context(2);
    arrays *a = calloc(1, sizeof *a);
    assert_non_null(a);
    fill(a);
    copse_table *table = make_table(ctx, a, ROWS);
    free(a);
    for (uint32_t count = 1; count <= 2; count++) {
        int looks = 0;
        for (copse_status status = COPSE_ERR_CANCELLED; status != COPSE_OK; looks++) {
            int left = looks;
            assert_int_equal(copse_table_indexes(table), count - 1);
            assert_int_equal(copse_ctx_set_progress(ctx, stop_when_none_are_left, &left), COPSE_OK);
            status = copse_table_index_columns(table, both, count, NULL);
            assert_int_equal(copse_ctx_set_progress(ctx, NULL, NULL), COPSE_OK);
            assert_true(status == COPSE_OK || status == COPSE_ERR_CANCELLED);
        }
        assert_int_equal(copse_table_indexes(table), count);
        assert_true(looks > 2);
    }
    assert_ok(ctx, copse_table_verify(table));
    copse_table_free(table);
    copse_ctx_free(ctx);
}

static void so_it_may_on_a_device(void **state)
{
    (void)state;
    for (uint32_t threads = 1; threads <= 2; threads++) try_all(COPSE_PLACEMENT_EMULATED, threads, 3000, 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_look_may_say_no), cmocka_unit_test(an_index_may_be_left),
                                       cmocka_unit_test(so_it_may_on_a_device)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

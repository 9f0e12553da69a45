/* Tables on a device, here the emulated one: the same answers as on the CPU, to the last bit; what stays on the CPU, and that explain says so;
 * changes that follow; memory of host and device that runs out at every place. Random queries beside SQLite: tests/query. */
#include "unit.h"

#include "copse_query.h"
#include "device/device.h"
#include "test_allocator.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

#define ROWS 2500u

static copse_device *emulated(copse_ctx *ctx)
{
    copse_device *device = NULL;
    assert_ok(ctx, copse_device_get(ctx, COPSE_PLACEMENT_EMULATED, &device));
    return device;
}

/* Small and large ones, so that their sum depends on the order. */
static double third(uint64_t i)
{
    return (double)(i * 7919 % 10007) / 3.0 * (i % 5 ? 1e-3 : 1e7) - 100;
}

/* Columns of all kinds: k each once, shuffled; g of 7 groups with NULLs; f thirds, whose sums depend on the order; u near 2^64; n NULLs only. */
static copse_status make_rows(copse_ctx *ctx, uint64_t rows, copse_table **out)
{
    static int64_t k[ROWS];
    static int32_t g[ROWS];
    static double f[ROWS];
    static float h[ROWS];
    static uint64_t u[ROWS];
    static uint8_t b[ROWS], valid[ROWS / 8 + 1], none[ROWS / 8 + 1];
    static char text[4 * ROWS];
    static int32_t offsets[ROWS + 1];
    for (uint64_t i = 0; i < ROWS; i++) {
        k[i] = (int64_t)(i * 1009 % ROWS);
        g[i] = (int32_t)(i * i % 7) - 3;
        f[i] = third(i);
        h[i] = (float)(i % 41) / 3.0f;
        u[i] = UINT64_MAX - i % 5;
        b[i] = i % 3 == 0;
        text[i] = (char)('a' + i % 26);
        offsets[i + 1] = (int32_t)i + 1;
        if (i % 11) valid[i / 8] |= (uint8_t)(1u << (i % 8));
    }
    const copse_bytes bytes = COPSE_BYTES_INIT(text, rows, offsets, 32);
    const copse_column columns[] = {{"k", COPSE_I64, 0, k, NULL},  {"g", COPSE_I32, 0, g, valid},
                                    {"f", COPSE_F64, 0, f, valid}, {"h", COPSE_F32, 0, h, NULL},
                                    {"u", COPSE_U64, 0, u, NULL},  {"b", COPSE_BOOL, 0, b, valid},
                                    {"n", COPSE_I32, 0, g, none},  {"s", COPSE_STRING, 0, &bytes, NULL}};
    return copse_table_create(ctx, columns, 8, rows, out);
}

static copse_table *make(copse_ctx *ctx, uint64_t rows)
{
    copse_table *table = NULL;
    assert_ok(ctx, make_rows(ctx, rows, &table));
    return table;
}

static void same_tables(const copse_table *a, const copse_table *b)
{
    assert_int_equal(copse_table_rows(a), copse_table_rows(b));
    assert_int_equal(copse_table_columns(a), copse_table_columns(b));
    for (uint64_t i = 0; i < copse_table_rows(a); i++)
        for (uint32_t c = 0; c < copse_table_columns(a); c++) {
            copse_value x = copse_value_null(), y = x;
            assert_int_equal(copse_table_get(a, i, c, &x), COPSE_OK);
            assert_int_equal(copse_table_get(b, i, c, &y), COPSE_OK);
            assert_int_equal(x.type, y.type);
            if (x.type == COPSE_STRING)
                assert_memory_equal(x.as.text, y.as.text, x.size);
            else
                assert_int_equal(x.as.u64, y.as.u64);
        }
}

/* Questions on strings, of which "c" is one, "ca" and "nothing" are none. */
static bool ask_strings(copse_query *query, unsigned number)
{
    const copse_value list[] = {copse_value_text("c", 1), copse_value_text("nothing", 7), copse_value_text("x", 1)};
    const copse_value there = list[0], not_there = copse_value_text("ca", 2), last = copse_value_text("f", 1);
    switch (number) {
    case 0:
        return !copse_query_where(query, "s", COPSE_EQUAL, there);
    case 1:
        return !copse_query_where(query, "s", COPSE_EQUAL, not_there);
    case 2:
        return !copse_query_where(query, "s", COPSE_LESS, not_there) && !copse_query_order_by(query, "s", 0);
    case 3:
        return !copse_query_where(query, "s", COPSE_GREATER, there) && !copse_query_order_by(query, "s", 1) &&
               !copse_query_limit(query, 7, 3);
    case 4:
        return !copse_query_between(query, "s", there, last);
    case 5:
        return !copse_query_where(query, "s", COPSE_PREFIX, last);
    case 6:
        return !copse_query_in(query, "s", list, 3);
    case 7:
        return !copse_query_where(query, "s", COPSE_NOT_EQUAL, there) && !copse_query_or(query) &&
               !copse_query_where(query, "s", COPSE_IS_NULL, copse_value_null());
    case 8:
        return !copse_query_where(query, "s", COPSE_NOT_EQUAL, not_there);
    case 9:
        return !copse_query_group_by(query, "s") && !copse_query_group_by(query, "b") &&
               !copse_query_aggregate(query, COPSE_AGGREGATE_COUNT, "s") &&
               !copse_query_aggregate(query, COPSE_AGGREGATE_SUM, "f");
    case 10:
        return !copse_query_group_by(query, "g") && !copse_query_aggregate(query, COPSE_AGGREGATE_MIN, "s") &&
               !copse_query_aggregate(query, COPSE_AGGREGATE_MAX, "s") &&
               !copse_query_aggregate(query, COPSE_AGGREGATE_COUNT_DISTINCT, "s");
    default:
        return false;
    }
}

/* Questions of all kinds; a false end is beyond the last. */
static bool ask(copse_query *query, unsigned number)
{
    const copse_value list[] = {copse_value_i64(-3), copse_value_i64(2), copse_value_i64(90)};
    switch (number) {
    case 0: /* all rows */
        return true;
    case 1: /* a conjunction of ranges, with NULLs among the cells */
        return !copse_query_between(query, "k", copse_value_i64(100), copse_value_i64(900)) &&
               !copse_query_where(query, "f", COPSE_GREATER, copse_value_f64(-20.5));
    case 2: /* OR of a list and NULLs, in two orders, a part of it */
        return !copse_query_in(query, "g", list, 3) && !copse_query_or(query) &&
               !copse_query_where(query, "b", COPSE_IS_NULL, copse_value_null()) &&
               !copse_query_order_by(query, "g", 1) && !copse_query_order_by(query, "h", 0) &&
               !copse_query_limit(query, 50, 20);
    case 3:
        return !copse_query_where(query, "b", COPSE_NOT_EQUAL, copse_value_i64(1)) &&
               !copse_query_where(query, "s", COPSE_IS_NOT_NULL, copse_value_null()) &&
               !copse_query_select(query, "s") && !copse_query_select(query, "u");
    case 4: /* all aggregates of everything */
        return !copse_query_aggregate(query, COPSE_AGGREGATE_COUNT, NULL) &&
               !copse_query_aggregate(query, COPSE_AGGREGATE_COUNT, "s") &&
               !copse_query_aggregate(query, COPSE_AGGREGATE_SUM, "f") &&
               !copse_query_aggregate(query, COPSE_AGGREGATE_SUM, "h") &&
               !copse_query_aggregate(query, COPSE_AGGREGATE_AVG, "u") &&
               !copse_query_aggregate(query, COPSE_AGGREGATE_MIN, "g") &&
               !copse_query_aggregate(query, COPSE_AGGREGATE_MAX, "f") &&
               !copse_query_aggregate(query, COPSE_AGGREGATE_SUM, "b") &&
               !copse_query_aggregate(query, COPSE_AGGREGATE_COUNT_DISTINCT, "h") &&
               !copse_query_aggregate(query, COPSE_AGGREGATE_SUM, "n") &&
               !copse_query_aggregate(query, COPSE_AGGREGATE_COUNT_DISTINCT, "n");
    case 5: /* groups of one column, and the order of the result */
        return !copse_query_group_by(query, "g") && !copse_query_aggregate(query, COPSE_AGGREGATE_SUM, "f") &&
               !copse_query_aggregate(query, COPSE_AGGREGATE_COUNT_DISTINCT, "k") &&
               !copse_query_order_by(query, "sum(f)", 1);
    case 6: /* of two, under a condition */
        return !copse_query_where(query, "k", COPSE_LESS, copse_value_i64(1500)) && !copse_query_group_by(query, "b") &&
               !copse_query_group_by(query, "g") && !copse_query_aggregate(query, COPSE_AGGREGATE_AVG, "f") &&
               !copse_query_aggregate(query, COPSE_AGGREGATE_MIN, "u") &&
               !copse_query_aggregate(query, COPSE_AGGREGATE_COUNT, NULL);
    case 7: /* nothing fits */
        return !copse_query_between(query, "k", copse_value_i64(5), copse_value_i64(4)) &&
               !copse_query_group_by(query, "g") && !copse_query_aggregate(query, COPSE_AGGREGATE_SUM, "f");
    case 8: /* all rows from some row on */
        return !copse_query_limit(query, 7, 3) && !copse_query_select(query, "k");
    case 9: /* a group of NULLs alone */
        return !copse_query_group_by(query, "n") && !copse_query_aggregate(query, COPSE_AGGREGATE_MAX, "n");
    default:
        return ask_strings(query, number - 10);
    }
}

static copse_status answer(const copse_table *table, unsigned number, copse_table **out, const char *place)
{
    copse_query *query = NULL;
    const char *text = NULL;
    copse_status status = copse_query_create(table, &query);
    if (status == COPSE_OK) status = ask(query, number) ? copse_query_run(query, out) : COPSE_ERR_MEMORY;
    if (status == COPSE_OK && place) {
        assert_int_equal(copse_query_explain(query, &text), COPSE_OK);
        assert_non_null(strstr(text, place));
    }
    copse_query_free(query);
    return status;
}

static bool is_question(copse_ctx *ctx, unsigned number)
{
    copse_table *table = make(ctx, 1);
    copse_query *query = NULL;
    assert_ok(ctx, copse_query_create(table, &query));
    bool is = ask(query, number);
    copse_query_free(query);
    copse_table_free(table);
    return is;
}

static void compare_all(copse_ctx *ctx, copse_table *table, const char *place)
{
    for (unsigned i = 0; is_question(ctx, i); i++) {
        copse_table *there = NULL, *here = NULL;
        const copse_placement before = copse_table_placement(table);
        assert_ok(ctx, answer(table, i, &there, place));
        assert_ok(ctx, copse_table_place(table, COPSE_PLACEMENT_CPU));
        assert_ok(ctx, answer(table, i, &here, NULL));
        assert_ok(ctx, copse_table_place(table, before));
        same_tables(there, here);
        copse_table_free(there);
        copse_table_free(here);
    }
}

static void answers_are_those_of_the_cpu(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {0, 1, 2, 33, 1025, ROWS};
    copse_ctx *ctx = unit_context(2);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        copse_table *table = make(ctx, sizes[i]);
        assert_ok(ctx, copse_table_place(table, COPSE_PLACEMENT_EMULATED));
        assert_int_equal(copse_table_placement(table), COPSE_PLACEMENT_EMULATED);
        compare_all(ctx, table, "ran on: emulated\n");
        copse_table_free(table);
    }
    copse_ctx_free(ctx);
}

/* A sum that is the same in rows' order and in blocks would not tell which of them was taken. */
static void floats_are_added_in_blocks(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1);
    copse_table *table = make(ctx, ROWS), *result = NULL;
    copse_query *query = NULL;
    copse_value value;
    double plain = 0, blocks[(ROWS + 1023) / 1024] = {0}, expected = 0;
    for (uint32_t block = 0; block * 1024 < ROWS; block++) {
        double lanes[32] = {0};
        for (uint32_t i = block * 1024; i < ROWS && i < block * 1024 + 1024; i++) {
            double x = i % 11 ? third(i) : 0; /* a NULL adds nothing, but takes a place */
            lanes[i % 32] += x;
            plain += x;
        }
        for (uint32_t d = 16; d > 0; d /= 2)
            for (uint32_t l = 0; l < d; l++) lanes[l] += lanes[l + d];
        blocks[block] = lanes[0];
    }
    expected = blocks[0] + blocks[2] + blocks[1]; /* lanes 0, 1, 2: lane 0 takes 2 before it takes 1 */
    assert_true(plain != expected);
    assert_ok(ctx, copse_query_create(table, &query));
    assert_ok(ctx, copse_query_aggregate(query, COPSE_AGGREGATE_SUM, "f"));
    for (int there = 0; there < 2; there++) {
        assert_ok(ctx, copse_table_place(table, there ? COPSE_PLACEMENT_EMULATED : COPSE_PLACEMENT_CPU));
        assert_ok(ctx, copse_query_run(query, &result));
        assert_ok(ctx, copse_table_get(result, 0, 0, &value));
        assert_true(value.as.f64 == expected);
        copse_table_free(result);
    }
    copse_query_free(query);
    copse_table_free(table);
    copse_ctx_free(ctx);
}

static void values_come_without_a_table(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1);
    copse_table *table = make(ctx, 1100), *result = NULL;
    copse_query *query = NULL;
    copse_value values[11], cell;
    assert_ok(ctx, copse_table_place(table, COPSE_PLACEMENT_EMULATED));
    assert_ok(ctx, copse_query_create(table, &query));
    assert_ok(ctx, copse_query_between(query, "k", copse_value_i64(0), copse_value_i64(10)));
    assert_true(ask(query, 4));
    assert_ok(ctx, copse_query_set_between(query, "k", copse_value_i64(50), copse_value_i64(1500)));
    assert_ok(ctx, copse_query_values(query, values, 11));
    assert_ok(ctx, copse_table_place(table, COPSE_PLACEMENT_CPU));
    assert_ok(ctx, copse_query_run(query, &result));
    for (uint32_t i = 0; i < 11; i++) {
        assert_ok(ctx, copse_table_get(result, 0, i, &cell));
        assert_int_equal(cell.type, values[i].type);
        assert_int_equal(cell.as.u64, values[i].as.u64);
    }
    copse_table_free(result);
    copse_query_free(query);
    copse_table_free(table);
    copse_ctx_free(ctx);
}

static void a_sum_that_does_not_fit_has_its_digits(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1);
    copse_table *table = make(ctx, 4), *result = NULL;
    copse_query *query = NULL;
    assert_ok(ctx, copse_table_place(table, COPSE_PLACEMENT_EMULATED));
    assert_ok(ctx, copse_query_create(table, &query));
    assert_ok(ctx, copse_query_aggregate(query, COPSE_AGGREGATE_SUM, "u"));
    assert_fails_naming(ctx, COPSE_ERR_OVERFLOW, "73786976294838206454", copse_query_run(query, &result));
    copse_query_free(query);
    copse_table_free(table);
    copse_ctx_free(ctx);
}

/* ---- joins ---- */

static copse_join_options join_of(uint32_t kind, const char *on, copse_value tolerance)
{
    copse_join_options options = COPSE_JOIN_OPTIONS_INIT;
    options.kind = kind;
    options.left_on = options.right_on = on;
    if (kind == COPSE_JOIN_ASOF) options.left_by = options.right_by = "g";
    options.tolerance = tolerance;
    options.below = tolerance.type ? tolerance : copse_value_i64(0);
    options.above = copse_value_i64(1);
    return options;
}

static copse_status join(const copse_table *left, const copse_table *right, uint32_t kind, const char *on,
                         copse_value tolerance, copse_pairs **out)
{
    const copse_join_options options = join_of(kind, on, tolerance);
    return copse_join(left, right, &options, out);
}

/* All aggregates of both sides, those of floats in the order of the pairs. */
static copse_status join_totals(const copse_table *left, const copse_table *right, uint32_t kind, const char *on,
                                copse_value tolerance, copse_table **out)
{
    static const copse_join_aggregate wanted[] = {
        {COPSE_AGGREGATE_COUNT, 0, NULL}, {COPSE_AGGREGATE_COUNT, 0, "s"}, {COPSE_AGGREGATE_SUM, 0, "f"},
        {COPSE_AGGREGATE_SUM, 0, "k"},    {COPSE_AGGREGATE_AVG, 0, "u"},   {COPSE_AGGREGATE_MIN, 0, "g"},
        {COPSE_AGGREGATE_MAX, 0, "s"},    {COPSE_AGGREGATE_SUM, 0, "n"},   {COPSE_AGGREGATE_SUM, 1, "b"},
        {COPSE_AGGREGATE_MIN, 1, "s"},    {COPSE_AGGREGATE_MAX, 1, "f"},   {COPSE_AGGREGATE_COUNT, 1, "g"},
        {COPSE_AGGREGATE_SUM, 1, "k"},    {COPSE_AGGREGATE_AVG, 1, "u"},   {COPSE_AGGREGATE_SUM, 1, "f"},
        {COPSE_AGGREGATE_AVG, 1, "h"}};
    const copse_join_options options = join_of(kind, on, tolerance);
    const bool one_side = kind == COPSE_JOIN_SEMI || kind == COPSE_JOIN_ANTI;
    /* Bands that sum floats of the right side list their pairs first: half of them do. */
    const uint32_t count = one_side ? 8 : kind == COPSE_JOIN_BAND && copse_table_rows(left) % 2 ? 14 : 16;
    return copse_join_aggregates(left, right, &options, wanted, count, out);
}

static void compare_totals(copse_ctx *ctx, copse_table *left, copse_table *right, uint32_t kind, const char *on,
                           copse_value tolerance)
{
    copse_table *there = NULL, *here = NULL;
    assert_ok(ctx, copse_table_place(left, COPSE_PLACEMENT_EMULATED));
    assert_ok(ctx, copse_table_place(right, COPSE_PLACEMENT_EMULATED));
    assert_ok(ctx, join_totals(left, right, kind, on, tolerance, &there));
    assert_ok(ctx, copse_table_place(left, COPSE_PLACEMENT_CPU));
    assert_ok(ctx, join_totals(left, right, kind, on, tolerance, &here));
    same_tables(there, here);
    copse_table_free(there);
    copse_table_free(here);
}

static void same_pairs(const copse_pairs *a, const copse_pairs *b)
{
    const uint64_t n = copse_pairs_count(a);
    assert_int_equal(n, copse_pairs_count(b));
    assert_memory_equal(copse_pairs_left(a), copse_pairs_left(b), n * sizeof(uint64_t));
    assert_int_equal(copse_pairs_right(a) == NULL, copse_pairs_right(b) == NULL);
    if (copse_pairs_right(a)) assert_memory_equal(copse_pairs_right(a), copse_pairs_right(b), n * sizeof(uint64_t));
}

/* The table of pairs that are on a device, gathered there and, after one side has left, on the CPU. */
static void compare_pair_tables(copse_ctx *ctx, const copse_pairs *pairs, copse_table *left, copse_table *right)
{
    copse_table *there = NULL, *here = NULL, *few = make(ctx, 1);
    assert_ok(ctx, copse_pairs_table(pairs, left, right, &there));
    assert_ok(ctx, copse_table_place(left, COPSE_PLACEMENT_CPU));
    assert_ok(ctx, copse_table_place(right, COPSE_PLACEMENT_CPU));
    assert_ok(ctx, copse_pairs_table(pairs, left, right, &here));
    same_tables(there, here);
    copse_table_free(there);
    copse_table_free(here);
    assert_ok(ctx, copse_table_place(few, COPSE_PLACEMENT_EMULATED));
    if (copse_pairs_count(pairs) > 1 && copse_pairs_left(pairs)[copse_pairs_count(pairs) - 1] > 0)
        assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "left has no row", copse_pairs_table(pairs, few, right, &there));
    copse_table_free(few);
}

static void compare_joins(copse_ctx *ctx, copse_table *left, copse_table *right, const char *on, copse_value tolerance)
{
    const uint32_t last = strcmp(on, "b") == 0 ? COPSE_JOIN_ASOF : COPSE_JOIN_BAND; /* bools have no band */
    for (uint32_t kind = COPSE_JOIN_INNER; kind <= last; kind++) {
        copse_pairs *there = NULL, *here = NULL;
        assert_ok(ctx, copse_table_place(left, COPSE_PLACEMENT_EMULATED));
        assert_ok(ctx, copse_table_place(right, COPSE_PLACEMENT_EMULATED));
        assert_ok(ctx, join(left, right, kind, on, tolerance, &there));
        assert_non_null(copse_pairs_device_left(there));
        assert_non_null(strstr(copse_pairs_how(there), "on the device"));
        compare_pair_tables(ctx, there, left, right);
        assert_ok(ctx, copse_table_place(left, COPSE_PLACEMENT_CPU));
        assert_ok(ctx, join(left, right, kind, on, tolerance, &here));
        assert_null(copse_pairs_device_left(here));
        same_pairs(there, here);
        copse_pairs_free(there);
        copse_pairs_free(here);
        if (copse_table_columns(left) == 8) compare_totals(ctx, left, right, kind, on, tolerance);
    }
}

static void joins_are_those_of_the_cpu(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {0, 1, 700};
    copse_ctx *ctx = unit_context(1);
    copse_table_index_options unique = COPSE_TABLE_INDEX_OPTIONS_INIT;
    unique.unique = 1;
    for (size_t l = 0; l < 3; l++)
        for (size_t r = 0; r < 3; r++) {
            copse_table *left = make(ctx, sizes[l]), *right = make(ctx, sizes[r]);
            compare_joins(ctx, left, right, "k", copse_value_i64(3)); /* an index for the call */
            compare_joins(ctx, left, right, "n", copse_value_null()); /* NULLs only             */
            compare_joins(ctx, left, right, "h", copse_value_f64(0.4));
            if (sizes[l] < 700 || sizes[r] < 700) compare_joins(ctx, left, right, "b", copse_value_null());
            assert_ok(ctx, copse_table_index(right, "k", &unique));
            assert_ok(ctx, copse_table_index(right, "h", NULL));
            compare_joins(ctx, left, right, "k", copse_value_null());
            compare_joins(ctx, left, right, "h", copse_value_null());
            copse_table_free(left);
            copse_table_free(right);
        }
    copse_ctx_free(ctx);
}

/* Keys at the ends of their types, and distances that no key has: the band ends where the type does. */
static void bands_end_where_types_do(void **state)
{
    (void)state;
    static const int64_t whole[] = {INT64_MIN, INT64_MIN + 1, -1, 0, 2, INT64_MAX - 1, INT64_MAX};
    static const uint32_t small[] = {0, 1, 2, 3, UINT32_MAX - 2, UINT32_MAX - 1, UINT32_MAX};
    static const double wide[] = {-INFINITY, -1e300, -0.0, 1e-300, 1, 1e300, INFINITY};
    static const float single[] = {-INFINITY, -3e38f, -0.1f, 0.0f, 1e-45f, 0.1f, INFINITY};
    static const int32_t g[7] = {0};
    const copse_value distances[] = {copse_value_i64(0),        copse_value_i64(1),         copse_value_i64(INT64_MAX),
                                     copse_value_f64(1e-46),    copse_value_f64(0.1),       copse_value_f64(1e300),
                                     copse_value_f64(INFINITY), copse_value_u64(UINT64_MAX)};
    const copse_column columns[] = {{"w", COPSE_I64, 0, whole, NULL},
                                    {"u", COPSE_U32, 0, small, NULL},
                                    {"d", COPSE_F64, 0, wide, NULL},
                                    {"h", COPSE_F32, 0, single, NULL},
                                    {"g", COPSE_I32, 0, g, NULL}};
    copse_ctx *ctx = unit_context(1);
    copse_table *tables[2] = {NULL, NULL};
    for (int i = 0; i < 2; i++) assert_ok(ctx, copse_table_create(ctx, columns, 5, 7, &tables[i]));
    for (unsigned i = 0; i < 8; i++)
        for (unsigned c = 0; c < 4; c++)
            if (c > 1 || distances[i].type != COPSE_F64)
                compare_joins(ctx, tables[0], tables[1], columns[c].name, distances[i]);
    copse_table_free(tables[0]);
    copse_table_free(tables[1]);
    copse_ctx_free(ctx);
}

/* The cell of a NULL is 0, which is a key. */
static void nulls_find_nobody(void **state)
{
    (void)state;
    static const int64_t k[] = {0, 0, 5}, right_k[] = {5, 0};
    static const int32_t g[] = {1, 1, 1};
    static const uint8_t but_the_second[] = {0x05};
    const copse_column lefts[] = {{"k", COPSE_I64, 0, k, but_the_second}, {"g", COPSE_I32, 0, g, NULL}};
    const copse_column rights[] = {{"k", COPSE_I64, 0, right_k, NULL}, {"g", COPSE_I32, 0, g, NULL}};
    copse_ctx *ctx = unit_context(1);
    copse_table *left = NULL, *right = NULL;
    copse_table_index_options unique = COPSE_TABLE_INDEX_OPTIONS_INIT;
    copse_query *query = NULL;
    copse_table *groups = NULL;
    unique.unique = 1;
    assert_ok(ctx, copse_table_create(ctx, lefts, 2, 3, &left));
    assert_ok(ctx, copse_table_create(ctx, rights, 2, 2, &right));
    assert_ok(ctx, copse_table_index(right, "k", &unique));
    compare_joins(ctx, left, right, "k", copse_value_null());
    assert_ok(ctx, copse_table_place(left, COPSE_PLACEMENT_EMULATED));
    assert_ok(ctx, copse_query_create(left, &query));
    assert_ok(ctx, copse_query_group_by(query, "k"));
    assert_ok(ctx, copse_query_aggregate(query, COPSE_AGGREGATE_COUNT, NULL));
    assert_ok(ctx, copse_query_run(query, &groups));
    assert_int_equal(copse_table_rows(groups), 3); /* NULL, 0, 5 */
    copse_table_free(groups);
    copse_query_free(query);
    copse_table_free(left);
    copse_table_free(right);
    copse_ctx_free(ctx);
}

/* Two tables number the same strings differently. */
static void joins_of_strings_match_words(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1);
    copse_table *left = make(ctx, 300), *right = make(ctx, 9);
    for (uint32_t kind = COPSE_JOIN_INNER; kind <= COPSE_JOIN_ANTI; kind++) {
        copse_pairs *there = NULL, *here = NULL;
        assert_ok(ctx, copse_table_place(left, COPSE_PLACEMENT_EMULATED));
        assert_ok(ctx, copse_table_place(right, COPSE_PLACEMENT_EMULATED));
        assert_ok(ctx, join(left, right, kind, "s", copse_value_null(), &there));
        assert_non_null(copse_pairs_device_left(there));
        assert_ok(ctx, copse_table_place(left, COPSE_PLACEMENT_CPU));
        assert_ok(ctx, copse_table_place(right, COPSE_PLACEMENT_CPU));
        assert_ok(ctx, join(left, right, kind, "s", copse_value_null(), &here));
        same_pairs(there, here);
        copse_pairs_free(there);
        copse_pairs_free(here);
        compare_totals(ctx, left, right, kind, "s", copse_value_null());
    }
    copse_table_free(left);
    copse_table_free(right);
    copse_ctx_free(ctx);
}

static void asof_joins_take_groups_of_strings(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1);
    copse_table *left = make(ctx, 300), *right = make(ctx, 60);
    copse_join_options options = COPSE_JOIN_OPTIONS_INIT;
    copse_pairs *pairs[2] = {NULL, NULL};
    options.kind = COPSE_JOIN_ASOF;
    options.left_on = options.right_on = "k";
    options.left_by = options.right_by = "s";
    for (int i = 0; i < 2; i++) {
        copse_placement placement = i ? COPSE_PLACEMENT_EMULATED : COPSE_PLACEMENT_CPU;
        assert_ok(ctx, copse_table_place(left, placement));
        assert_ok(ctx, copse_table_place(right, placement));
        assert_ok(ctx, copse_join(left, right, &options, &pairs[i]));
    }
    assert_non_null(copse_pairs_device_left(pairs[1]));
    same_pairs(pairs[0], pairs[1]);
    copse_pairs_free(pairs[0]);
    copse_pairs_free(pairs[1]);
    copse_table_free(left);
    copse_table_free(right);
    copse_ctx_free(ctx);
}

/* Texts of the left side that the right one has not: before all of them, between them, behind them. */
static void asof_joins_take_keys_of_strings(void **state)
{
    (void)state;
    static char left_text[] = "abccczbbbc", right_text[] = "bxbcbbx";
    static int32_t left_offsets[] = {0, 1, 2, 2, 3, 5, 6, 8, 10}, right_offsets[] = {0, 1, 2, 3, 4, 6, 7};
    static const int32_t g[] = {1, 1, 2, 2, 1, 1, 2, 2};
    static const uint8_t but_the_fourth[] = {0xF7};
    static const uint64_t expected[2][8] = {{COPSE_NO_ROW, 2, COPSE_NO_ROW, COPSE_NO_ROW, 3, 5, 4, 4},
                                            {COPSE_NO_ROW, 0, COPSE_NO_ROW, COPSE_NO_ROW, 4, 5, 2, 2}};
    const copse_bytes lefts = COPSE_BYTES_INIT(left_text, 10, left_offsets, 32);
    const copse_bytes rights = COPSE_BYTES_INIT(right_text, 7, right_offsets, 32);
    const copse_column left_columns[] = {{"s", COPSE_STRING, 0, &lefts, but_the_fourth}, {"g", COPSE_I32, 0, g, NULL}};
    const copse_column right_columns[] = {{"s", COPSE_STRING, 0, &rights, NULL}, {"g", COPSE_I32, 0, g, NULL}};
    copse_ctx *ctx = unit_context(1);
    copse_table *left = NULL, *right = NULL;
    assert_ok(ctx, copse_table_create(ctx, left_columns, 2, 8, &left));
    assert_ok(ctx, copse_table_create(ctx, right_columns, 2, 6, &right));
    for (int turn = 0; turn < 4; turn++) {
        const copse_placement placement = turn > 1 ? COPSE_PLACEMENT_EMULATED : COPSE_PLACEMENT_CPU;
        copse_join_options options = join_of(COPSE_JOIN_ASOF, "s", copse_value_null());
        copse_pairs *pairs = NULL;
        if (turn % 2 == 0) options.left_by = options.right_by = NULL;
        assert_ok(ctx, copse_table_place(left, placement));
        assert_ok(ctx, copse_table_place(right, placement));
        assert_ok(ctx, copse_join(left, right, &options, &pairs));
        assert_int_equal(copse_pairs_device_left(pairs) != NULL, turn > 1);
        assert_memory_equal(copse_pairs_right(pairs), expected[turn % 2], sizeof expected[0]);
        copse_pairs_free(pairs);
        options.tolerance = copse_value_i64(1);
        assert_fails(ctx, COPSE_ERR_TYPE, copse_join(left, right, &options, &pairs));
    }
    copse_table_free(left);
    copse_table_free(right);
    copse_ctx_free(ctx);
}

/* ---- changes ---- */

static copse_status change(copse_table *table)
{
    static const int64_t new_k[] = {100000, 100001, 100002}, keys[] = {0, 5, 100001}, gone[] = {1, 100000};
    static const double f[] = {0.1, -1e9, 7};
    static const uint8_t but_one[] = {0x05};
    const copse_column added[] = {{"k", COPSE_I64, 0, new_k, NULL}, {"f", COPSE_F64, 0, f, but_one}};
    const copse_column key = {"k", COPSE_I64, 0, keys, NULL}, dead = {"k", COPSE_I64, 0, gone, NULL};
    const copse_column set[] = {{"f", COPSE_F64, 0, f, but_one}};
    copse_status status = copse_table_append(table, added, 2, 3);
    if (status == COPSE_OK) status = copse_table_update(table, &key, 3, set, 1, NULL);
    if (status == COPSE_OK) status = copse_table_delete(table, &dead, 2, NULL);
    return status;
}

static void changes_follow_to_the_device(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1);
    copse_table *table = make(ctx, 200);
    copse_table_index_options unique = COPSE_TABLE_INDEX_OPTIONS_INIT;
    unique.unique = 1;
    unique.sums = "f";
    assert_ok(ctx, copse_table_index(table, "k", &unique));
    assert_ok(ctx, copse_table_index(table, "s", NULL)); /* stays on the CPU */
    assert_ok(ctx, copse_table_place(table, COPSE_PLACEMENT_EMULATED));
    assert_ok(ctx, change(table));
    assert_ok(ctx, copse_table_verify(table));
    compare_all(ctx, table, "ran on: emulated");
    assert_ok(ctx, copse_table_compact(table));
    assert_int_equal(copse_table_placement(table), COPSE_PLACEMENT_EMULATED);
    compare_all(ctx, table, "ran on: emulated");
    copse_table_free(table);
    copse_ctx_free(ctx);
}

/* The change holds; queries run on the CPU until the next change. */
static void a_change_without_device_memory_holds(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1);
    copse_device *device = emulated(ctx);
    copse_table *table = make(ctx, 200), *result = NULL;
    static const int64_t k[] = {5000};
    const copse_column added = {"k", COPSE_I64, 0, k, NULL};
    assert_ok(ctx, copse_table_place(table, COPSE_PLACEMENT_EMULATED));
    device->allocations_left = 0;
    assert_ok(ctx, copse_table_append(table, &added, 1, 1));
    device->allocations_left = -1;
    assert_ok(ctx, answer(table, 0, &result, "no room on the device"));
    assert_int_equal(copse_table_rows(result), 201);
    copse_table_free(result);
    assert_ok(ctx, copse_table_append(table, &added, 1, 1));
    compare_all(ctx, table, "ran on: emulated");
    copse_table_free(table);
    copse_ctx_free(ctx);
}

/* ---- several threads, each with queries of its own ---- */

#define THREADS 4

static const copse_table *shared_table, *expected_answers[8];
static copse_pairs *shared_pairs;

static void *ask_beside_others(void *user)
{
    uint64_t wrong = 0;
    for (unsigned i = 0; i < 8; i++) {
        copse_table *result = NULL;
        copse_value x = copse_value_null(), y = x;
        if (answer(shared_table, i, &result, NULL) != COPSE_OK ||
            copse_table_rows(result) != copse_table_rows(expected_answers[i])) {
            wrong++;
        } else if (copse_table_rows(result) > 0) {
            (void)copse_table_get(result, copse_table_rows(result) - 1, 1, &x);
            (void)copse_table_get(expected_answers[i], copse_table_rows(result) - 1, 1, &y);
            wrong += x.type != y.type || x.as.u64 != y.as.u64;
        }
        copse_table_free(result);
        const uint64_t *left = copse_pairs_left(shared_pairs); /* the first who asks brings them */
        wrong += !left || left[copse_pairs_count(shared_pairs) - 1] != 299;
    }
    *(uint64_t *)user = wrong;
    return NULL;
}

static void threads_ask_at_the_same_time(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(2);
    copse_table *table = make(ctx, 300);
    pthread_t threads[THREADS];
    uint64_t wrong[THREADS] = {0};
    assert_ok(ctx, copse_table_place(table, COPSE_PLACEMENT_EMULATED));
    for (unsigned i = 0; i < 8; i++) {
        copse_table *result = NULL;
        assert_ok(ctx, answer(table, i, &result, NULL));
        expected_answers[i] = result;
    }
    assert_ok(ctx, join(table, table, COPSE_JOIN_INNER, "k", copse_value_null(), &shared_pairs));
    shared_table = table;
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, ask_beside_others, &wrong[i]), 0);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(wrong[i], 0);
    }
    for (unsigned i = 0; i < 8; i++) copse_table_free((copse_table *)(uintptr_t)expected_answers[i]);
    copse_pairs_free(shared_pairs);
    copse_table_free(table);
    copse_ctx_free(ctx);
}

/* ---- arrays in device memory ---- */

static void *to_device(copse_device *device, const void *from, uint64_t bytes)
{
    void *memory = NULL;
    assert_ok(device->ctx, copse_device_alloc(device, device->main, bytes, "a test", &memory));
    if (from) assert_ok(device->ctx, copse_device_copy(device, device->main, memory, from, bytes));
    return memory;
}

static void tables_come_from_device_memory(void **state)
{
    (void)state;
    static const int64_t k[] = {4, 2, 9};
    static const uint8_t valid[] = {0x03};
    copse_ctx *ctx = unit_context(1);
    copse_device *device = emulated(ctx);
    copse_table *table = NULL;
    copse_value value;
    void *cells = to_device(device, k, sizeof k), *bits = to_device(device, valid, 1);
    const copse_column column = {"k", COPSE_I64, 0, cells, bits};
    assert_ok(ctx, copse_table_create(ctx, &column, 1, 3, &table));
    assert_ok(ctx, copse_table_get(table, 1, 0, &value));
    assert_int_equal(value.as.i64, 2);
    assert_ok(ctx, copse_table_get(table, 2, 0, &value));
    assert_int_equal(value.type, 0);
    copse_device_free(device, device->main, cells, sizeof k);
    copse_device_free(device, device->main, bits, 1);
    copse_table_free(table);
    copse_ctx_free(ctx);
}

static void many_ranges_stay_on_the_device(void **state)
{
    (void)state;
    enum { RANGES = 100 };
    copse_ctx *ctx = unit_context(1);
    copse_device *device = emulated(ctx);
    copse_table *table = make(ctx, ROWS), *result = NULL;
    copse_table_index_options options = COPSE_TABLE_INDEX_OPTIONS_INIT;
    copse_query *query = NULL;
    int64_t lows[RANGES], highs[RANGES];
    uint64_t got[3][RANGES];
    for (int i = 0; i < RANGES; i++) {
        lows[i] = i * 37 % 2600 - 20;
        highs[i] = lows[i] + i * 19;
    }
    options.unique = 1;
    options.sums = "f";
    assert_ok(ctx, copse_table_index(table, "k", &options));
    assert_ok(ctx, copse_table_place(table, COPSE_PLACEMENT_EMULATED));
    assert_ok(ctx, copse_query_create(table, &query));
    assert_ok(ctx, copse_query_aggregate(query, COPSE_AGGREGATE_COUNT, NULL));
    assert_ok(ctx, copse_query_aggregate(query, COPSE_AGGREGATE_SUM, "f"));
    assert_ok(ctx, copse_query_aggregate(query, COPSE_AGGREGATE_MIN, "f"));
    void *arrays[5];
    for (int i = 0; i < 5; i++) arrays[i] = to_device(device, i == 0 ? lows : i == 1 ? highs : NULL, sizeof lows);
    const copse_ranges there = COPSE_BETWEEN(arrays[0], arrays[1], RANGES), here = COPSE_BETWEEN(lows, highs, RANGES);
    assert_ok(ctx, copse_query_ranges_into(query, "k", &there, arrays + 2));
    for (int i = 0; i < 3; i++)
        assert_ok(ctx, copse_device_read(device, device->main, got[i], arrays[2 + i], sizeof lows));
    assert_ok(ctx, copse_query_ranges(query, "k", &here, &result));
    for (uint64_t i = 0; i < RANGES; i++)
        for (uint32_t c = 0; c < 3; c++) {
            copse_value value;
            assert_ok(ctx, copse_table_get(result, i, c, &value));
            assert_int_equal(got[c][i], value.type ? value.as.u64 : 0);
        }
    copse_table_free(result);
    assert_ok(ctx, copse_query_ranges(query, "k", &there, &result)); /* device ends, a table in host memory */
    copse_table_free(result);
    assert_fails(ctx, COPSE_ERR_UNSUPPORTED, copse_query_ranges_into(query, "h", &there, arrays + 2));
    assert_fails(ctx, COPSE_ERR_ARGUMENT, copse_query_ranges_into(query, "k", &there, NULL));
    assert_ok(ctx, copse_query_aggregate(query, COPSE_AGGREGATE_MAX, "k"));
    assert_fails_naming(ctx, COPSE_ERR_UNSUPPORTED, "aggregate 3",
                        copse_query_ranges_into(query, "k", &there, arrays + 1));
    for (int i = 0; i < 5; i++) copse_device_free(device, device->main, arrays[i], sizeof lows);
    copse_query_free(query);
    copse_table_free(table);
    copse_ctx_free(ctx);
}

/* ---- arguments, and memory that runs out ---- */

static void wrong_places_are_refused(void **state)
{
    (void)state;
    copse_ctx_options options = COPSE_CTX_OPTIONS_INIT;
    copse_ctx *ctx = unit_context(1), *promised = NULL;
    copse_table *table = make(ctx, 3);
    assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "hybrid", copse_table_place(table, COPSE_PLACEMENT_HYBRID));
    assert_fails(NULL, COPSE_ERR_ARGUMENT, copse_table_place(NULL, COPSE_PLACEMENT_CPU));
    assert_int_equal(copse_table_placement(NULL), COPSE_PLACEMENT_AUTO);
    assert_int_equal(copse_table_placement(table), COPSE_PLACEMENT_CPU);
    copse_table_free(table);
    copse_ctx_free(ctx);
    options.flags = COPSE_CTX_DEVICE_ARRAYS;
    if (copse_ctx_create(&options, &promised) != COPSE_OK) return; /* without a card */
    table = make(promised, 3);
    assert_fails(promised, COPSE_ERR_UNSUPPORTED, copse_table_place(table, COPSE_PLACEMENT_EMULATED));
    copse_table_free(table);
    copse_ctx_free(promised);
}

static copse_status joins_of(const copse_table *table)
{
    copse_status status = COPSE_OK;
    for (uint32_t kind = COPSE_JOIN_INNER; status == COPSE_OK && kind <= COPSE_JOIN_BAND; kind++) {
        copse_pairs *pairs = NULL;
        copse_table *made = NULL;
        status = join(table, table, kind, kind % 2 ? "k" : "f", copse_value_null(), &pairs);
        if (status == COPSE_OK) status = copse_pairs_table(pairs, table, table, &made);
        copse_table_free(made);
        copse_pairs_free(pairs);
    }
    return status;
}

static copse_status totals_of(const copse_table *table)
{
    static const copse_join_aggregate wanted[] = {{COPSE_AGGREGATE_MIN, 1, "s"}, {COPSE_AGGREGATE_SUM, 1, "f"}};
    copse_status status = COPSE_OK;
    for (int band = 0; status == COPSE_OK && band < 2; band++) { /* spans, and pairs that are listed */
        const copse_join_options options =
            join_of(band ? COPSE_JOIN_BAND : COPSE_JOIN_INNER, band ? "k" : "s", copse_value_null());
        copse_table *made = NULL;
        status = copse_join_aggregates(table, table, &options, wanted, 2, &made);
        copse_table_free(made);
    }
    return status;
}

/* A table's life on a device: *out_asked: the place it had while it was asked. */
static copse_status live(copse_ctx *ctx)
{
    copse_table *table = NULL;
    copse_table_index_options options = COPSE_TABLE_INDEX_OPTIONS_INIT;
    options.unique = 1;
    copse_status status = make_rows(ctx, 60, &table);
    if (status == COPSE_OK) status = copse_table_index(table, "k", &options);
    if (status == COPSE_OK) status = copse_table_place(table, COPSE_PLACEMENT_EMULATED);
    if (table && status != COPSE_OK) assert_int_equal(copse_table_placement(table), COPSE_PLACEMENT_CPU);
    if (status == COPSE_OK) status = copse_table_index(table, "h", NULL);
    if (status == COPSE_OK) status = change(table);
    for (unsigned i = 2; status == COPSE_OK && i < 8; i++) {
        copse_table *result = NULL;
        status = answer(table, i, &result, NULL);
        copse_table_free(result);
    }
    if (status == COPSE_OK) status = joins_of(table);
    if (status == COPSE_OK) status = totals_of(table);
    copse_table_free(table);
    return status;
}

static void host_memory_runs_out_at_every_place(void **state)
{
    (void)state;
    struct test_allocator allocator;
    copse_ctx_options options = COPSE_CTX_OPTIONS_INIT;
    copse_ctx *ctx = NULL;
    bool failed = true;
    test_allocator_init(&allocator);
    options.allocator = test_allocator_hooks(&allocator);
    options.threads = 1;
    assert_ok(NULL, copse_ctx_create(&options, &ctx));
    assert_ok(ctx, live(ctx)); /* opens the device, which stays */
    const long long before = atomic_load(&allocator.live_blocks);
    for (int i = 0; failed; i++) {
        atomic_store(&allocator.failures, 0);
        test_allocator_fail_after(&allocator, i, true);
        copse_status status = live(ctx);
        test_allocator_never_fail(&allocator);
        failed = atomic_load(&allocator.failures) > 0;
        if (status != COPSE_OK) assert_fails(ctx, COPSE_ERR_MEMORY, status);
        if (!failed) assert_int_equal(status, COPSE_OK);
        assert_int_equal(atomic_load(&allocator.live_blocks), before);
    }
    copse_ctx_free(ctx);
    assert_true(test_allocator_is_clean(&allocator));
}

static void device_memory_runs_out_at_every_place(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1);
    copse_device *device = emulated(ctx);
    const uint64_t before = device->allocated;
    bool failed = true;
    for (int64_t i = 0; failed; i++) {
        device->allocations_left = i;
        copse_status status = live(ctx);
        failed = device->allocations_left < 0;
        device->allocations_left = -1;
        if (status != COPSE_OK) assert_fails(ctx, COPSE_ERR_MEMORY, status);
        if (!failed) assert_int_equal(status, COPSE_OK);
        assert_int_equal(device->allocated, before);
    }
    copse_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_are_those_of_the_cpu),
        cmocka_unit_test(floats_are_added_in_blocks),
        cmocka_unit_test(values_come_without_a_table),
        cmocka_unit_test(a_sum_that_does_not_fit_has_its_digits),
        cmocka_unit_test(joins_are_those_of_the_cpu),
        cmocka_unit_test(bands_end_where_types_do),
        cmocka_unit_test(nulls_find_nobody),
        cmocka_unit_test(joins_of_strings_match_words),
        cmocka_unit_test(asof_joins_take_groups_of_strings),
        cmocka_unit_test(asof_joins_take_keys_of_strings),
        cmocka_unit_test(changes_follow_to_the_device),
        cmocka_unit_test(a_change_without_device_memory_holds),
        cmocka_unit_test(threads_ask_at_the_same_time),
        cmocka_unit_test(tables_come_from_device_memory),
        cmocka_unit_test(many_ranges_stay_on_the_device),
        cmocka_unit_test(wrong_places_are_refused),
        cmocka_unit_test(host_memory_runs_out_at_every_place),
        cmocka_unit_test(device_memory_runs_out_at_every_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

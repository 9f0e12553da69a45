/* Plans of queries: whichever index drives, and whichever way a query goes, its answer is that of a table without indexes. */
#include "unit.h"

#include "copse_query.h"
#include "random.h"

#define ROWS 2000u

/* Few different values in each column, so that conditions on several columns leave rows, and NULLs in all. */
typedef struct columns {
    uint32_t a[ROWS], b[ROWS];
    int64_t number[ROWS], price[ROWS];
    char text[ROWS * 3];
    int32_t offsets[ROWS + 1];
    uint8_t valid[4][ROWS / 8];
    copse_bytes texts;
} columns;

static columns made;

static void columns_make(uint64_t seed)
{
    struct random_source random = {seed};
    int32_t used = 0;
    for (uint32_t i = 0; i < ROWS; i++) {
        made.a[i] = (uint32_t)random_below(&random, 12);
        made.b[i] = (uint32_t)random_below(&random, 12);
        made.number[i] = i;
        made.price[i] = (int64_t)random_below(&random, 1000) - 500;
        made.offsets[i] = used;
        for (uint64_t left = random_below(&random, 4); left; left--)
            made.text[used++] = (char)(random_one_in(&random, 4) ? 0 : 'a' + (char)random_below(&random, 2));
        for (unsigned c = 0; c < 4; c++) {
            const uint8_t bit = (uint8_t)(1u << i % 8);
            made.valid[c][i / 8] = (uint8_t)(made.valid[c][i / 8] & ~bit);
            if (!random_one_in(&random, 6)) made.valid[c][i / 8] |= bit;
        }
    }
    made.offsets[ROWS] = used;
    made.texts = (copse_bytes)COPSE_BYTES_INIT(made.text, (uint64_t)used, made.offsets, 32);
}

static copse_table *table_make(copse_ctx *ctx)
{
    const copse_column given[] = {{"a", COPSE_U32, 0, made.a, made.valid[0]},
                                  {"b", COPSE_U32, 0, made.b, made.valid[1]},
                                  {"text", COPSE_STRING, 0, &made.texts, made.valid[2]},
                                  {"price", COPSE_I64, 0, made.price, made.valid[3]},
                                  {"number", COPSE_I64, 0, made.number, NULL}};
    copse_table *table = NULL;
    assert_ok(ctx, copse_table_create(ctx, given, 5, ROWS, &table));
    return table;
}

/* The rows of a query, at most ROWS; returns how many. */
static uint64_t rows_of(copse_ctx *ctx, copse_query *query, uint64_t *rows)
{
    uint64_t n = 0;
    assert_ok(ctx, copse_query_rows(query, rows, ROWS, &n));
    return n;
}

/* ---- indexes of several columns ---- */

static copse_value small_text(struct random_source *random, char *room)
{
    uint32_t length = (uint32_t)random_below(random, 3);
    for (uint32_t i = 0; i < length; i++)
        room[i] = (char)(random_one_in(random, 4) ? 0 : 'a' + (char)random_below(random, 2));
    return copse_value_text(room, length);
}

/* Conditions on some of the columns: one value more often than a range. */
static void conditions_add(copse_ctx *ctx, struct random_source random, copse_query *query)
{
    static const char *const numbers[] = {"a", "b"};
    static const copse_comparison comparisons[] = {
        COPSE_EQUAL, COPSE_LESS, COPSE_LESS_OR_EQUAL, COPSE_GREATER, COPSE_GREATER_OR_EQUAL, COPSE_PREFIX};
    char low[4], high[4];
    for (unsigned i = 0; i < 2; i++) {
        const uint64_t first = random_below(&random, 12), kind = random_below(&random, 4);
        const copse_value value = copse_value_i64((int64_t)first);
        if (kind == 1)
            assert_ok(ctx, copse_query_between(query, numbers[i], value,
                                               copse_value_i64((int64_t)(first + random_below(&random, 4)))));
        else if (kind > 1)
            assert_ok(ctx, copse_query_where(query, numbers[i], COPSE_EQUAL, value));
    }
    const uint64_t kind = random_below(&random, 9);
    const copse_value value = small_text(&random, low);
    if (kind < 6)
        assert_ok(ctx, copse_query_where(query, "text", comparisons[kind], value));
    else if (kind == 6)
        assert_ok(ctx, copse_query_between(query, "text", value, small_text(&random, high)));
}

static void several_columns(void **state)
{
    (void)state;
    static const char *const orders[][3] = {
        {"a", "b", "text"}, {"text", "a", "b"}, {"b", "text", "a"}, {"a", "text", "b"}};
    static uint64_t expected[ROWS], rows[ROWS];
    copse_ctx *ctx = unit_context(1);
    uint64_t driven = 0;
    for (unsigned o = 0; o < 4; o++) {
        columns_make(5 + o);
        copse_table *plain = table_make(ctx), *indexed = table_make(ctx);
        assert_ok(ctx, copse_table_index_columns(indexed, orders[o], 3, NULL));
        for (uint64_t seed = 1; seed <= 400; seed++) {
            copse_query *scan = NULL, *query = NULL;
            const char *text = NULL;
            assert_ok(ctx, copse_query_create(plain, &scan));
            assert_ok(ctx, copse_query_create(indexed, &query));
            conditions_add(ctx, (struct random_source){seed}, scan);
            conditions_add(ctx, (struct random_source){seed}, query);
            const uint64_t n = rows_of(ctx, scan, expected);
            assert_int_equal(rows_of(ctx, query, rows), n);
            assert_memory_equal(rows, expected, n * sizeof *rows);
            assert_ok(ctx, copse_query_explain(query, &text));
            driven += strncmp(text, "index on ", 9) == 0;
            copse_query_free(scan);
            copse_query_free(query);
        }
        copse_table_free(plain);
        copse_table_free(indexed);
    }
    assert_true(driven > 400);
    copse_ctx_free(ctx);
}

/* ---- which index drives, and what it answers ---- */

/* The condition with the fewest rows, wherever it stands among the others. */
static void the_fewest_rows_drive(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1);
    columns_make(3);
    copse_table *table = table_make(ctx);
    assert_ok(ctx, copse_table_index(table, "a", NULL));
    assert_ok(ctx, copse_table_index(table, "number", NULL));
    for (unsigned turn = 0; turn < 2; turn++) {
        copse_query *query = NULL;
        const char *text = NULL;
        assert_ok(ctx, copse_query_create(table, &query));
        for (unsigned i = 0; i < 2; i++)
            assert_ok(ctx, i == turn ? copse_query_between(query, "number", copse_value_i64(3), copse_value_i64(9))
                                     : copse_query_where(query, "a", COPSE_EQUAL, copse_value_i64(7)));
        assert_ok(ctx, copse_query_explain(query, &text));
        assert_non_null(strstr(text, "index on number "));
        assert_non_null(strstr(text, "counted 7 of 2000 rows"));
        copse_query_free(query);
    }
    copse_table_free(table);
    copse_ctx_free(ctx);
}

static void expect_same_cells(const copse_table *a, const copse_table *b)
{
    assert_int_equal(copse_table_columns(a), copse_table_columns(b));
    for (uint32_t c = 0; c < copse_table_columns(a); c++) {
        copse_value x, y;
        assert_int_equal(copse_table_get(a, 0, c, &x), COPSE_OK);
        assert_int_equal(copse_table_get(b, 0, c, &y), COPSE_OK);
        assert_int_equal(x.type, y.type);
        assert_memory_equal(&x.as.u64, &y.as.u64, sizeof x.as.u64);
    }
}

/* Rows of a range, and the sum of a column that is NULL in some of them: the index of the one has other entries than that of the other. */
static void counts_and_sums_where_cells_are_null(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1);
    columns_make(9);
    copse_table *plain = table_make(ctx), *indexed = table_make(ctx);
    copse_table_index_options sums = COPSE_TABLE_INDEX_OPTIONS_INIT;
    sums.sums = "price";
    assert_ok(ctx, copse_table_index(indexed, "number", NULL));
    assert_ok(ctx, copse_table_index(indexed, "number", &sums));
    for (unsigned first = 0; first < 3; first++) { /* each of them is asked first */
        copse_table *tables[2] = {plain, indexed}, *answers[2] = {NULL, NULL};
        for (unsigned t = 0; t < 2; t++) {
            copse_query *query = NULL;
            assert_ok(ctx, copse_query_create(tables[t], &query));
            assert_ok(ctx, copse_query_between(query, "number", copse_value_i64(100), copse_value_i64(1500)));
            for (unsigned i = 0; i < 3; i++) {
                const unsigned what = (first + i) % 3;
                assert_ok(ctx, copse_query_aggregate(query,
                                                     what == 0   ? COPSE_AGGREGATE_COUNT
                                                     : what == 1 ? COPSE_AGGREGATE_SUM
                                                                 : COPSE_AGGREGATE_AVG,
                                                     what == 0 ? NULL : "price"));
            }
            assert_ok(ctx, copse_query_run(query, &answers[t]));
            copse_query_free(query);
        }
        expect_same_cells(answers[0], answers[1]);
        copse_table_free(answers[0]);
        copse_table_free(answers[1]);
    }
    copse_table_free(plain);
    copse_table_free(indexed);
    copse_ctx_free(ctx);
}

/* ---- a walk in the order of an index ---- */

/* Rows with equal keys come in the order of their numbers, also where the index has them in another one, and however many there are. */
static void a_limit_among_equal_keys(void **state)
{
    (void)state;
    static uint64_t rows[ROWS];
    copse_ctx *ctx = unit_context(1);
    columns_make(4);
    copse_table *table = table_make(ctx);
    assert_ok(ctx, copse_table_index(table, "a", NULL));
    assert_ok(ctx, copse_table_index(table, "number", NULL));
    /* All keys become 5, those of the first rows last. */
    for (int64_t from = ROWS - 200; from >= 0; from -= 200) {
        int64_t numbers[200];
        uint32_t fives[200];
        for (unsigned i = 0; i < 200; i++) numbers[i] = from + (int64_t)i;
        for (unsigned i = 0; i < 200; i++) fives[i] = 5;
        const copse_column key = {"number", COPSE_I64, 0, numbers, NULL}, cells = {"a", COPSE_U32, 0, fives, NULL};
        assert_ok(ctx, copse_table_update(table, &key, 200, &cells, 1, NULL));
    }
    for (uint64_t limit = 1; limit < 40; limit += 7) {
        copse_query *query = NULL;
        const char *text = NULL;
        assert_ok(ctx, copse_query_create(table, &query));
        assert_ok(ctx, copse_query_order_by(query, "a", 0));
        assert_ok(ctx, copse_query_limit(query, limit, 0));
        assert_int_equal(rows_of(ctx, query, rows), limit);
        for (uint64_t i = 0; i < limit; i++) assert_int_equal(rows[i], i);
        assert_ok(ctx, copse_query_explain(query, &text));
        assert_non_null(strstr(text, "walked from its beginning"));
        copse_query_free(query);
    }
    copse_table_free(table);
    copse_ctx_free(ctx);
}

/* NULLs come first, or last: of them no more are looked at than the limit wants, unless another column decides among them. */
static void a_limit_among_nulls(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1);
    columns_make(5);
    copse_table *plain = table_make(ctx), *table = table_make(ctx);
    assert_ok(ctx, copse_table_index(table, "price", NULL));
    for (unsigned way = 0; way < 4; way++) {
        copse_query *queries[2];
        uint64_t rows[2][9];
        const char *text = NULL;
        unsigned long long looked_at = 0;
        for (unsigned i = 0; i < 2; i++) {
            assert_ok(ctx, copse_query_create(i ? plain : table, &queries[i]));
            assert_ok(ctx, copse_query_order_by(queries[i], "price", way % 2));
            if (way > 1) assert_ok(ctx, copse_query_order_by(queries[i], "a", 1));
            assert_ok(ctx, copse_query_limit(queries[i], 9, 0));
            uint64_t n = 0;
            assert_ok(ctx, copse_query_rows(queries[i], rows[i], 9, &n));
            assert_int_equal(n, 9);
        }
        assert_memory_equal(rows[0], rows[1], sizeof rows[0]);
        assert_ok(ctx, copse_query_explain(queries[0], &text));
        assert_non_null(strstr(text, "walked from its"));
        assert_int_equal(sscanf(strstr(text, ", looked at "), ", looked at %llu", &looked_at), 1);
        if (way != 2) assert_in_range(looked_at, 9, 60);
        for (unsigned i = 0; i < 2; i++) copse_query_free(queries[i]);
    }
    copse_table_free(plain);
    copse_table_free(table);
    copse_ctx_free(ctx);
}

/* ---- structures by name ---- */

static copse_table *change_some(copse_ctx *ctx, copse_table *table)
{
    static int64_t changed[] = {5, 900, 5}, gone[] = {77, 1900, 12345}, added[] = {5000, 5001};
    static uint32_t news[] = {3, 4, 11};
    const copse_column keys = {"number", COPSE_I64, 0, changed, NULL}, rows = {"number", COPSE_I64, 0, gone, NULL};
    const copse_column cells = {"a", COPSE_U32, 0, news, NULL};
    const copse_column more[] = {{"number", COPSE_I64, 0, added, NULL}, {"a", COPSE_U32, 0, news, NULL}};
    assert_ok(ctx, copse_table_update(table, &keys, 3, &cells, 1, NULL));
    assert_ok(ctx, copse_table_delete(table, &rows, 3, NULL));
    assert_ok(ctx, copse_table_append(table, more, 2, 2));
    return table;
}

/* Indexes of every structure that can be named, unique or not, through changes and compacting: answers are those of the structures that AUTO
 * picks. */
static void structures_by_name(void **state)
{
    (void)state;
    static uint64_t expected[2 * ROWS], rows[2 * ROWS];
    copse_ctx *ctx = unit_context(1);
    columns_make(9);
    copse_table_index_options unique = COPSE_TABLE_INDEX_OPTIONS_INIT, named = unique;
    copse_table *plain = table_make(ctx);
    unsigned seen = 0;
    unique.unique = 1;
    assert_ok(ctx, copse_table_index(plain, "number", &unique));
    change_some(ctx, plain);
    FOR_EACH_TREE_THAT(tree, COPSE_PLACEMENT_CPU, COPSE_CAN_KEEP_DUPLICATES)
    {
        copse_table *table = table_make(ctx);
        unique.structure = named.structure = tree->structure;
        assert_ok(ctx, copse_table_index(table, "number", &unique));
        assert_ok(ctx, copse_table_index(table, "a", &named));
        change_some(ctx, table);
        for (unsigned compacted = 0; compacted < 2; compacted++) {
            for (uint32_t i = 0; i < 2; i++) {
                copse_table_index_info info = {.struct_size = sizeof info};
                assert_ok(ctx, copse_table_index_describe(table, i, &info));
                if (tree->structure != COPSE_STRUCTURE_AUTO) assert_int_equal(info.structure, tree->structure);
            }
            assert_ok(ctx, copse_table_verify(table));
            for (uint64_t seed = 1; seed <= 60 && !compacted; seed++) {
                copse_query *queries[2];
                for (unsigned q = 0; q < 2; q++) {
                    assert_ok(ctx, copse_query_create(q ? table : plain, &queries[q]));
                    conditions_add(ctx, (struct random_source){seed}, queries[q]);
                }
                const uint64_t n = rows_of(ctx, queries[0], expected);
                assert_int_equal(rows_of(ctx, queries[1], rows), n);
                assert_memory_equal(rows, expected, n * sizeof *rows);
                for (unsigned q = 0; q < 2; q++) copse_query_free(queries[q]);
            }
            if (!compacted) assert_ok(ctx, copse_table_compact(table));
        }
        copse_table_free(table);
        seen++;
    }
    assert_true(seen > 3);
    /* One that keeps no equal keys, or only takes byte strings. */
    named.structure = COPSE_STRUCTURE_RADIX;
    assert_int_not_equal(copse_table_index(plain, "a", &named), COPSE_OK);
    assert_int_equal(copse_table_indexes(plain), 1);
    copse_table_free(plain);
    copse_ctx_free(ctx);
}

/* ---- compacting ---- */

/* What indexes answered before they answer afterwards. */
static void compacting_keeps_indexes(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1);
    columns_make(6);
    copse_table *table = table_make(ctx);
    copse_table_index_options sums = COPSE_TABLE_INDEX_OPTIONS_INIT;
    const copse_column gone = {"number", COPSE_I64, 0, (int64_t[]){7, 8}, NULL};
    sums.sums = "price";
    assert_ok(ctx, copse_table_index(table, "number", &sums));
    assert_ok(ctx, copse_table_index(table, "a", NULL));
    assert_ok(ctx, copse_table_delete(table, &gone, 2, NULL));
    const uint32_t before = copse_table_indexes(table);
    assert_ok(ctx, copse_table_compact(table));
    assert_int_equal(copse_table_indexes(table), before);
    for (uint32_t i = 0, summed = 0; i < before; i++) {
        copse_table_index_info info = {.struct_size = sizeof info};
        assert_ok(ctx, copse_table_index_describe(table, i, &info));
        summed += info.sums == 3; /* price */
        assert_true(i + 1 < before || summed == 1);
    }
    assert_ok(ctx, copse_table_verify(table));
    copse_table_free(table);
    copse_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(several_columns),
        cmocka_unit_test(the_fewest_rows_drive),
        cmocka_unit_test(counts_and_sums_where_cells_are_null),
        cmocka_unit_test(a_limit_among_equal_keys),
        cmocka_unit_test(a_limit_among_nulls),
        cmocka_unit_test(structures_by_name),
        cmocka_unit_test(compacting_keeps_indexes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

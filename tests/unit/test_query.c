/* Tables and queries: what tests/query does not come to: arguments, CSV, Arrow, infinities, the sentences of errors, memory that runs out
 * at every place. Answers of queries are compared with SQLite's in tests/query. */
#include "unit.h"

#include "copse_query.h"
#include "test_allocator.h"

#include <math.h>
#include <unistd.h>

static const int64_t ids[] = {10, 11, 12, 13};
static const double prices[] = {1.5, -2.0, 0.0, 4.25};
static char names_text[] = "annbobbobzoe";
static int32_t names_offsets[] = {0, 3, 6, 9, 12};
static const int32_t days[] = {0, 1, 2, 3};
static const uint8_t flags[] = {1, 0, 1, 1};
static const uint8_t but_the_second[] = {0x0D};

static copse_bytes names = COPSE_BYTES_INIT(names_text, 12, names_offsets, 32);

static const copse_column columns[] = {{"id", COPSE_I64, 0, ids, NULL},
                                       {"price", COPSE_F64, 0, prices, but_the_second},
                                       {"name", COPSE_STRING, 0, &names, NULL},
                                       {"day", COPSE_DATE, 0, days, NULL},
                                       {"flag", COPSE_BOOL, 0, flags, NULL}};
#define COLUMNS 5u

static copse_table *make(copse_ctx *ctx)
{
    copse_table *table = NULL;
    assert_ok(ctx, copse_table_create(ctx, columns, COLUMNS, 4, &table));
    return table;
}

static copse_value cell(const copse_table *table, uint64_t row, const char *name)
{
    uint32_t column = 0;
    copse_value value = copse_value_null();
    assert_int_equal(copse_table_find_column(table, name, &column), COPSE_OK);
    assert_int_equal(copse_table_get(table, row, column, &value), COPSE_OK);
    return value;
}

static copse_value text(const char *given)
{
    return copse_value_text(given, (uint32_t)strlen(given));
}

static void make_unique(copse_ctx *ctx, copse_table *table)
{
    copse_table_index_options options = COPSE_TABLE_INDEX_OPTIONS_INIT;
    options.unique = 1;
    options.sums = "price";
    assert_ok(ctx, copse_table_index(table, "id", &options));
}

/* ---- tables ---- */

static void tables_hold_what_they_were_given(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1);
    copse_table *table = make(ctx);
    assert_int_equal(copse_table_rows(table), 4);
    assert_int_equal(copse_table_columns(table), COLUMNS);
    assert_string_equal(copse_table_column_name(table, 2), "name");
    assert_null(copse_table_column_name(table, COLUMNS));
    assert_int_equal(cell(table, 3, "id").as.i64, 13);
    assert_int_equal(cell(table, 1, "price").type, 0);
    assert_memory_equal(cell(table, 3, "name").as.text, "zoe", 3);
    assert_int_equal(cell(table, 1, "flag").as.i64, 0);
    copse_ctx_free(ctx); /* the table keeps it */
    copse_table_free(table);
    copse_table_free(NULL);
}

static void bad_columns_are_refused(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1);
    copse_table *table = NULL;
    const double nan[] = {1, NAN};
    const uint8_t two[] = {2};
    const copse_column twice[] = {columns[0], columns[0]};
    const copse_column unknown = {"x", 77, 0, ids, NULL}, nameless = {"", COPSE_I64, 0, ids, NULL};
    const copse_column nothing = {"x", COPSE_I64, 0, NULL, NULL}, no_number = {"x", COPSE_F64, 0, nan, NULL};
    const copse_column no_bool = {"x", COPSE_BOOL, 0, two, NULL};
    assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "id", copse_table_create(ctx, twice, 2, 4, &table));
    assert_fails_naming(ctx, COPSE_ERR_TYPE, "77", copse_table_create(ctx, &unknown, 1, 4, &table));
    assert_fails(ctx, COPSE_ERR_ARGUMENT, copse_table_create(ctx, &nameless, 1, 4, &table));
    assert_fails(ctx, COPSE_ERR_ARGUMENT, copse_table_create(ctx, &nothing, 1, 4, &table));
    assert_fails_naming(ctx, COPSE_ERR_NAN, "row 1", copse_table_create(ctx, &no_number, 1, 2, &table));
    assert_fails(ctx, COPSE_ERR_ARGUMENT, copse_table_create(ctx, &no_bool, 1, 1, &table));
    assert_fails(ctx, COPSE_ERR_ARGUMENT, copse_table_create(ctx, NULL, 0, 1, &table));
    assert_fails(ctx, COPSE_ERR_ARGUMENT, copse_table_create(ctx, columns, COLUMNS, UINT64_MAX, &table));
    assert_null(table);
    copse_ctx_free(ctx);
}

static void changes_name_what_is_wrong(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1);
    copse_table *table = make(ctx);
    const int64_t again[] = {20, 12}, same[] = {30, 30};
    const int32_t narrow[] = {1};
    const copse_column there = {"id", COPSE_I64, 0, again, NULL}, doubled = {"id", COPSE_I64, 0, same, NULL};
    const copse_column other_type = {"id", COPSE_I32, 0, narrow, NULL}, unknown = {"idd", COPSE_I64, 0, same, NULL};
    const copse_column null_key = {"id", COPSE_I64, 0, same, (const uint8_t *)"\x01"};
    assert_fails(ctx, COPSE_ERR_UNSUPPORTED, copse_table_delete(table, &there, 1, NULL));
    make_unique(ctx, table);
    assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "row 1 of the new rows: key 12",
                        copse_table_append(table, &there, 1, 2));
    assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "new row 1", copse_table_append(table, &doubled, 1, 2));
    assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "NULL", copse_table_append(table, &null_key, 1, 2));
    assert_fails_naming(ctx, COPSE_ERR_TYPE, "i64", copse_table_append(table, &other_type, 1, 1));
    assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "did you mean", copse_table_append(table, &unknown, 1, 1));
    assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "key", copse_table_append(table, &columns[1], 1, 1));
    assert_fails(ctx, COPSE_ERR_ARGUMENT, copse_table_update(table, &there, 1, &there, 1, NULL));
    copse_table_index_options unique = COPSE_TABLE_INDEX_OPTIONS_INIT;
    unique.unique = 1;
    assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "id", copse_table_index(table, "day", &unique));
    unique.unique = 0;
    unique.sums = "name";
    assert_fails_naming(ctx, COPSE_ERR_TYPE, "name", copse_table_index(table, "day", &unique));
    assert_int_equal(copse_table_rows(table), 4);
    assert_ok(ctx, copse_table_verify(table));
    copse_table_free(table);
    table = make(ctx);
    unique = (copse_table_index_options)COPSE_TABLE_INDEX_OPTIONS_INIT;
    unique.unique = 1;
    assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "rows 1 and 2", copse_table_index(table, "name", &unique));
    assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "row 1", copse_table_index(table, "price", &unique));
    copse_table_free(table);
    copse_ctx_free(ctx);
}

/* ---- queries ---- */

static uint64_t rows_where(copse_ctx *ctx, const copse_table *table, copse_comparison comparison, copse_value value)
{
    copse_query *query = NULL;
    uint64_t n = 0;
    assert_ok(ctx, copse_query_create(table, &query));
    assert_ok(ctx, copse_query_where(query, "id", comparison, value));
    assert_ok(ctx, copse_query_rows(query, NULL, 0, &n));
    copse_query_free(query);
    return n;
}

static void fractions_lie_between_whole_numbers(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1);
    copse_table *table = make(ctx); /* ids 10 to 13 */
    assert_int_equal(rows_where(ctx, table, COPSE_LESS, copse_value_f64(11.5)), 2);
    assert_int_equal(rows_where(ctx, table, COPSE_GREATER_OR_EQUAL, copse_value_f64(11.5)), 2);
    assert_int_equal(rows_where(ctx, table, COPSE_GREATER, copse_value_f64(11)), 2);
    assert_int_equal(rows_where(ctx, table, COPSE_EQUAL, copse_value_f64(11.5)), 0);
    assert_int_equal(rows_where(ctx, table, COPSE_NOT_EQUAL, copse_value_f64(11.5)), 4);
    assert_int_equal(rows_where(ctx, table, COPSE_EQUAL, text("11.0")), 1);
    assert_int_equal(rows_where(ctx, table, COPSE_LESS, text("1.15e1")), 2);
    assert_int_equal(rows_where(ctx, table, COPSE_LESS, copse_value_f64(INFINITY)), 4);
    assert_int_equal(rows_where(ctx, table, COPSE_LESS, copse_value_f64(-1e300)), 0);
    assert_int_equal(rows_where(ctx, table, COPSE_GREATER, text("-99999999999999999999")), 4);
    copse_ctx_free(ctx);
    copse_table_free(table);
}

static void conditions_that_do_not_fit(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1);
    copse_table *table = make(ctx);
    copse_query *query = NULL;
    uint64_t n = 0;
    assert_ok(ctx, copse_query_create(table, &query));
    assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "price",
                        copse_query_where(query, "prise", COPSE_EQUAL, copse_value_i64(1)));
    assert_fails_naming(ctx, COPSE_ERR_TYPE, "day", copse_query_where(query, "day", COPSE_EQUAL, copse_value_f64(1.5)));
    assert_fails_naming(ctx, COPSE_ERR_TYPE, "flag", copse_query_where(query, "flag", COPSE_EQUAL, copse_value_f64(0)));
    assert_fails_naming(ctx, COPSE_ERR_TYPE, "name", copse_query_where(query, "name", COPSE_EQUAL, copse_value_i64(1)));
    assert_fails_naming(ctx, COPSE_ERR_TYPE, "NULL", copse_query_where(query, "id", COPSE_LESS, copse_value_null()));
    assert_fails(ctx, COPSE_ERR_TYPE, copse_query_where(query, "id", COPSE_PREFIX, text("1")));
    assert_fails(ctx, COPSE_ERR_NAN, copse_query_where(query, "price", COPSE_LESS, copse_value_f64(NAN)));
    assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "2023-02-29",
                        copse_query_where(query, "day", COPSE_EQUAL, text("2023-02-29")));
    assert_fails(ctx, COPSE_ERR_ARGUMENT, copse_query_where(query, "flag", COPSE_EQUAL, text("maybe")));
    assert_fails(ctx, COPSE_ERR_ARGUMENT, copse_query_where(query, "id", (copse_comparison)99, copse_value_i64(1)));
    assert_fails(ctx, COPSE_ERR_ARGUMENT, copse_query_or(query));
    assert_fails(ctx, COPSE_ERR_TYPE, copse_query_aggregate(query, COPSE_AGGREGATE_SUM, "day"));
    assert_fails(ctx, COPSE_ERR_ARGUMENT, copse_query_aggregate(query, COPSE_AGGREGATE_SUM, NULL));
    assert_fails(ctx, COPSE_ERR_ARGUMENT, copse_query_aggregate(query, (copse_aggregate)17, "id"));
    /* None of them is in the query. */
    assert_ok(ctx, copse_query_rows(query, NULL, 0, &n));
    assert_int_equal(n, 4);
    uint64_t rows[2];
    assert_fails_naming(ctx, COPSE_ERR_TOO_SMALL, "4", copse_query_rows(query, rows, 2, &n));
    assert_ok(ctx, copse_query_where(query, "id", COPSE_GREATER, text("10")));
    assert_ok(ctx, copse_query_or(query));
    assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "OR", copse_query_rows(query, NULL, 0, &n));
    copse_query_free(query);
    copse_table_free(table);
    copse_ctx_free(ctx);
}

static uint64_t count_where(copse_table *table, const char *column, copse_comparison comparison, copse_value value)
{
    copse_query *query = NULL;
    uint64_t n = UINT64_MAX;
    assert_int_equal(copse_query_create(table, &query), COPSE_OK);
    assert_int_equal(copse_query_where(query, column, comparison, value), COPSE_OK);
    assert_int_equal(copse_query_rows(query, NULL, 0, &n), COPSE_OK);
    copse_query_free(query);
    return n;
}

static void infinities_and_days_of_timestamps(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1);
    copse_table *table = NULL;
    const double numbers[] = {-INFINITY, -0.0, 0.0, INFINITY};
    const float floats[] = {-INFINITY, 0.1f, 3.0f, INFINITY};
    const int64_t moments[] = {-1, 0, INT64_C(86399999999), INT64_C(86400000000)};
    const copse_column given[] = {{"x", COPSE_F64, 0, numbers, NULL},
                                  {"f", COPSE_F32, 0, floats, NULL},
                                  {"t", COPSE_TIMESTAMP, 0, moments, NULL}};
    assert_ok(ctx, copse_table_create(ctx, given, 3, 4, &table));
    for (int indexed = 0; indexed < 2; indexed++) {
        assert_int_equal(count_where(table, "x", COPSE_LESS, copse_value_i64(0)), 1);
        assert_int_equal(count_where(table, "x", COPSE_EQUAL, copse_value_f64(-0.0)), 2);
        assert_int_equal(count_where(table, "x", COPSE_GREATER, copse_value_f64(INFINITY)), 0);
        assert_int_equal(count_where(table, "x", COPSE_GREATER_OR_EQUAL, copse_value_f64(-INFINITY)), 4);
        assert_int_equal(count_where(table, "f", COPSE_GREATER, copse_value_f64(1e300)), 1);
        assert_int_equal(count_where(table, "f", COPSE_EQUAL, copse_value_f64(0.1)),
                         0); /* a float is not that double */
        assert_int_equal(count_where(table, "f", COPSE_EQUAL, text("0.1")), 1);
        assert_int_equal(count_where(table, "t", COPSE_LESS_OR_EQUAL, text("1970-01-01")), 3);
        assert_int_equal(count_where(table, "t", COPSE_LESS, text("1970-01-01")), 1);
        assert_int_equal(count_where(table, "t", COPSE_GREATER, text("1970-01-01")), 1);
        for (uint32_t i = 0; i < 3; i++) assert_ok(ctx, copse_table_index(table, given[i].name, NULL));
    }
    copse_table_free(table);
    copse_ctx_free(ctx);
}

static void sums_are_exact_or_an_error(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1);
    copse_table *table = NULL, *result = NULL;
    copse_query *query = NULL;
    const int64_t large[] = {INT64_MAX, INT64_MAX, INT64_MIN, INT64_MIN};
    const copse_column column = {"n", COPSE_I64, 0, large, NULL};
    copse_table_index_options options = COPSE_TABLE_INDEX_OPTIONS_INIT;
    options.sums = "n";
    assert_ok(ctx, copse_table_create(ctx, &column, 1, 4, &table));
    for (int indexed = 0; indexed < 2; indexed++) {
        assert_ok(ctx, copse_query_create(table, &query));
        assert_ok(ctx, copse_query_aggregate(query, COPSE_AGGREGATE_SUM, "n"));
        assert_ok(ctx, copse_query_run(query, &result));
        assert_int_equal(cell(result, 0, "sum(n)").as.i64, -2);
        copse_table_free(result);
        assert_ok(ctx, copse_query_where(query, "n", COPSE_GREATER, copse_value_i64(0)));
        assert_fails_naming(ctx, COPSE_ERR_OVERFLOW, "18446744073709551614", copse_query_run(query, &result));
        copse_query_free(query);
        assert_ok(ctx, copse_table_index(table, "n", &options));
    }
    copse_table_free(table);
    copse_ctx_free(ctx);
}

static void joins_that_do_not_fit(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1);
    copse_table *table = make(ctx);
    copse_pairs *pairs = NULL;
    copse_join_options options = COPSE_JOIN_OPTIONS_INIT;
    options.left_on = "id";
    options.right_on = "name";
    assert_fails_naming(ctx, COPSE_ERR_TYPE, "string", copse_join(table, table, &options, &pairs));
    options.right_on = "ids";
    assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "right", copse_join(table, table, &options, &pairs));
    options.right_on = "id";
    options.left_by = options.right_by = "name";
    assert_fails(ctx, COPSE_ERR_ARGUMENT, copse_join(table, table, &options, &pairs));
    options.left_by = options.right_by = NULL;
    options.kind = COPSE_JOIN_BAND;
    assert_fails_naming(ctx, COPSE_ERR_TYPE, "below", copse_join(table, table, &options, &pairs));
    options.below = copse_value_i64(-1);
    assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "negative", copse_join(table, table, &options, &pairs));
    options.kind = 17;
    assert_fails(ctx, COPSE_ERR_ARGUMENT, copse_join(table, table, &options, &pairs));
    assert_null(pairs);
    copse_table_free(table);
    copse_ctx_free(ctx);
}

/* ---- CSV ---- */

struct bytes {
    const char *text;
    size_t left;
};

static size_t read_bytes(void *user, void *buffer, size_t size, int *out_error)
{
    struct bytes *bytes = user;
    size_t n = bytes->left < size ? bytes->left : size;
    (void)out_error;
    memcpy(buffer, bytes->text, n);
    bytes->text += n;
    bytes->left -= n;
    return n;
}

static copse_status read_csv(copse_ctx *ctx, const char *csv, copse_table_csv_options options, copse_table **out,
                             uint64_t *skipped)
{
    struct bytes bytes = {csv, strlen(csv)};
    options.read = read_bytes;
    options.read_user = &bytes;
    return copse_table_read_csv(ctx, "test.csv", &options, out, skipped);
}

static void csv_finds_types_and_nulls(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1);
    copse_table *table = NULL;
    copse_table_csv_options options = COPSE_TABLE_CSV_OPTIONS_INIT;
    const char *csv = "a;b;c;d;e;f;a;\n1;1,5;x;2024-02-29;true;2024-01-01T10:00:00;7;\n"
                      "-2;;NA;;FALSE;NA;8;\n3;2;\"\";1970-01-01;true;1970-01-01T00:00:01;9;\n";
    static const uint32_t types[] = {COPSE_I64,  COPSE_F64,       COPSE_STRING, COPSE_DATE,
                                     COPSE_BOOL, COPSE_TIMESTAMP, COPSE_I64,    COPSE_STRING};
    assert_ok(ctx, read_csv(ctx, csv, options, &table, NULL));
    for (uint32_t i = 0; i < 8; i++) assert_int_equal(copse_table_column_type(table, i), types[i]);
    assert_true(cell(table, 0, "b").as.f64 == 1.5);
    assert_int_equal(cell(table, 1, "b").type, 0);
    assert_int_equal(cell(table, 1, "c").type, 0);
    assert_int_equal(cell(table, 2, "c").type, COPSE_STRING); /* quoted: a text of no bytes */
    assert_int_equal(cell(table, 1, "e").as.i64, 0);
    assert_int_equal(cell(table, 2, "f").as.i64, 1000000);
    assert_int_equal(cell(table, 1, "a#7").as.i64, 8);
    assert_int_equal(cell(table, 1, "#8").type, 0);
    copse_table_free(table);
    options.types = "a=u32,c=string";
    assert_fails_naming(ctx, COPSE_ERR_FORMAT, "line 3, column 1", read_csv(ctx, csv, options, &table, NULL));
    options.flags = COPSE_CSV_SKIP_BAD;
    uint64_t skipped = 0;
    assert_ok(ctx, read_csv(ctx, csv, options, &table, &skipped));
    assert_int_equal(skipped, 1);
    assert_int_equal(copse_table_rows(table), 2);
    assert_int_equal(cell(table, 1, "a").as.u64, 3);
    copse_table_free(table);
    copse_ctx_free(ctx);
}

static void csv_errors(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1);
    copse_table *table = NULL;
    copse_table_csv_options options = COPSE_TABLE_CSV_OPTIONS_INIT;
    assert_fails_naming(ctx, COPSE_ERR_IO, "nowhere.csv", copse_table_read_csv(ctx, "nowhere.csv", NULL, &table, NULL));
    assert_fails(ctx, COPSE_ERR_FORMAT, read_csv(ctx, "", options, &table, NULL));
    assert_fails_naming(ctx, COPSE_ERR_FORMAT, "line 3", read_csv(ctx, "a,b\n1,2\n3\n", options, &table, NULL));
    assert_fails(ctx, COPSE_ERR_UNSUPPORTED, read_csv(ctx, "\x1f\x8b\x08", options, &table, NULL));
    options.types = "b=u32";
    assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "b=u32", read_csv(ctx, "a\n1\n", options, &table, NULL));
    options.types = "a=u33";
    assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "u33", read_csv(ctx, "a\n1\n", options, &table, NULL));
    options.types = "a=f64";
    assert_fails_naming(ctx, COPSE_ERR_FORMAT, "nan", read_csv(ctx, "a\nnan\n", options, &table, NULL));
    options.flags = 8;
    assert_fails(ctx, COPSE_ERR_ARGUMENT, read_csv(ctx, "a\n1\n", options, &table, NULL));
    assert_null(table);
    copse_ctx_free(ctx);
}

/* ---- Arrow ---- */

/* An array for whole numbers, an index for what has none: made where it is missing. */
static void joins_say_how_they_went(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1);
    copse_table *table = make(ctx);
    for (int i = 0; i < 3; i++) {
        static const char *const expected[] = {"an array with a place for each key", "an index made for the join",
                                               "the index of the right side"};
        copse_join_options options = COPSE_JOIN_OPTIONS_INIT;
        copse_pairs *pairs = NULL;
        options.left_on = options.right_on = i == 0 ? "id" : "price";
        if (i == 2) assert_ok(ctx, copse_table_index(table, "price", NULL));
        assert_ok(ctx, copse_join(table, table, &options, &pairs));
        assert_string_equal(copse_pairs_how(pairs), expected[i]);
        copse_pairs_free(pairs);
    }
    assert_string_equal(copse_pairs_how(NULL), "");
    copse_table_free(table);
    copse_ctx_free(ctx);
}

/* Estimates of joins, on sides whose numbers of values are known: exact where a sample is all of a side, else within a factor. */
static void joins_expect_pairs(void **state)
{
    (void)state;
    enum { LEFT = 100000, RIGHT = 5000 };
    copse_ctx *ctx = unit_context(1);
    copse_table *left = NULL, *right = NULL, *few = make(ctx);
    int64_t *cells = calloc(LEFT, sizeof *cells);
    assert_non_null(cells);
    const copse_column given = {"k", COPSE_I64, 0, cells, NULL};
    for (int64_t i = 0; i < RIGHT; i++) cells[i] = i % 500 * 1000; /* ten of each */
    assert_ok(ctx, copse_table_create(ctx, &given, 1, RIGHT, &right));
    for (int64_t i = 0; i < LEFT; i++) cells[i] = i % 1000 * 1000; /* of which half have partners */
    assert_ok(ctx, copse_table_create(ctx, &given, 1, LEFT, &left));
    for (uint32_t kind = COPSE_JOIN_INNER; kind <= COPSE_JOIN_BAND; kind++) {
        copse_join_options options = COPSE_JOIN_OPTIONS_INIT;
        copse_pairs *pairs = NULL;
        uint64_t expected = 0;
        options.kind = kind;
        options.left_on = options.right_on = "k";
        if (kind == COPSE_JOIN_BAND) options.below = options.above = copse_value_i64(5000);
        assert_ok(ctx, copse_join_expected(left, right, &options, &expected));
        assert_ok(ctx, copse_join(left, right, &options, &pairs));
        assert_in_range(expected, copse_pairs_count(pairs) / 4, copse_pairs_count(pairs) * 4);
        copse_pairs_free(pairs);
        options.left_on = options.right_on = "id";
        if (kind == COPSE_JOIN_BAND) options.below = options.above = copse_value_i64(1);
        assert_ok(ctx, copse_join_expected(few, few, &options, &expected));
        assert_ok(ctx, copse_join(few, few, &options, &pairs));
        assert_int_equal(expected, copse_pairs_count(pairs));
        copse_pairs_free(pairs);
        options.right_on = "name";
        assert_fails(ctx, COPSE_ERR_TYPE, copse_join_expected(few, few, &options, &expected));
        options.left_on = "name";
        if (kind == COPSE_JOIN_BAND)
            assert_fails(ctx, COPSE_ERR_TYPE, copse_join_expected(few, few, &options, &expected));
        options.left_on = options.right_on = "id";
        assert_fails(ctx, COPSE_ERR_ARGUMENT, copse_join_expected(few, few, &options, NULL));
    }
    free(cells);
    copse_table_free(left);
    copse_table_free(right);
    copse_table_free(few);
    copse_ctx_free(ctx);
}

static void arrow_there_and_back(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1);
    copse_table *table = make(ctx), *back = NULL;
    struct ArrowSchema schema;
    struct ArrowArray array;
    make_unique(ctx, table);
    const copse_column gone = {"id", COPSE_I64, 0, &ids[1], NULL};
    assert_ok(ctx, copse_table_delete(table, &gone, 1, NULL));
    assert_ok(ctx, copse_table_to_arrow(table, &schema, &array));
    copse_table_free(table);
    assert_int_equal(array.length, 3);
    assert_string_equal(schema.children[2]->format, "U");
    assert_int_equal(array.children[1]->null_count, 0);
    /* A part of it: as a slice has it. */
    array.offset = 1;
    array.length = 2;
    assert_ok(ctx, copse_table_from_arrow(ctx, &schema, &array, &back));
    assert_null(schema.release);
    assert_null(array.release);
    assert_int_equal(copse_table_rows(back), 2);
    assert_int_equal(cell(back, 0, "id").as.i64, 12);
    assert_memory_equal(cell(back, 1, "name").as.text, "zoe", 3);
    assert_int_equal(cell(back, 1, "flag").as.i64, 1);
    assert_true(cell(back, 1, "price").as.f64 == 4.25);
    assert_int_equal(copse_table_column_type(back, 3), COPSE_DATE);
    copse_table_free(back);
    copse_ctx_free(ctx);
}

static void keep_arrow(struct ArrowArray *array)
{
    array->release = NULL;
}

static void arrow_in_nanoseconds(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1);
    const int64_t times[] = {1704067200123456000, -1704067200000001000, 5};
    const copse_column column = {"at", COPSE_I64, 0, times, NULL};
    copse_table *table = NULL, *back = NULL;
    struct ArrowSchema schema;
    struct ArrowArray array;
    assert_ok(ctx, copse_table_create(ctx, &column, 1, 3, &table));
    assert_ok(ctx, copse_table_to_arrow(table, &schema, &array));
    copse_table_free(table);
    schema.children[0]->format = "tsn:UTC";
    assert_fails_naming(ctx, COPSE_ERR_TYPE, "row 2", copse_table_from_arrow(ctx, &schema, &array, &back));
    array.length = 2;
    assert_ok(ctx, copse_table_from_arrow(ctx, &schema, &array, &back));
    assert_int_equal(copse_table_column_type(back, 0), COPSE_TIMESTAMP);
    assert_int_equal(cell(back, 0, "at").as.i64, 1704067200123456);
    assert_int_equal(cell(back, 1, "at").as.i64, -1704067200000001);
    copse_table_free(back);
    copse_ctx_free(ctx);
}

/* Nobody has counted the rows that are NULL as a whole; bits say which. */
static void arrow_rows_that_are_null(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1);
    copse_table *table = make(ctx), *back = NULL;
    struct ArrowSchema schema;
    struct ArrowArray array;
    const uint8_t bits = 0x0B;
    assert_ok(ctx, copse_table_to_arrow(table, &schema, &array));
    copse_table_free(table);
    const void **buffers = array.buffers, *own[] = {&bits};
    array.buffers = own;
    array.null_count = -1;
    assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "NULL", copse_table_from_arrow(ctx, &schema, &array, &back));
    array.length = 2; /* none of these */
    /* On success it is released with the buffers that it came with. */
    struct ArrowArray given = array;
    array.buffers = buffers;
    given.release = keep_arrow;
    assert_ok(ctx, copse_table_from_arrow(ctx, &schema, &given, &back));
    assert_int_equal(copse_table_rows(back), 2);
    array.release(&array);
    copse_table_free(back);
    copse_ctx_free(ctx);
}

static void arrow_children_may_be_taken_out(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1);
    copse_table *table = make(ctx), *back = NULL;
    struct ArrowSchema schema;
    struct ArrowArray array, taken;
    assert_ok(ctx, copse_table_to_arrow(table, &schema, &array));
    copse_table_free(table);
    taken = *array.children[0];
    array.children[0]->release = NULL;
    array.release(&array);
    assert_int_equal(((const int64_t *)taken.buffers[1])[3], 13);
    assert_fails(ctx, COPSE_ERR_ARGUMENT, copse_table_from_arrow(ctx, &schema, &array, &back));
    assert_fails(ctx, COPSE_ERR_ARGUMENT, copse_table_from_arrow(ctx, &schema, &taken, &back));
    schema.children[0]->format = "w:4";
    taken.release(&taken);
    schema.release(&schema);
    copse_ctx_free(ctx);
}

/* ---- memory ---- */

/* Joins by an array of places, kept and added up, and one of events. */
static copse_status close_keys(const copse_table *table)
{
    copse_table *sums = NULL;
    copse_pairs *pairs = NULL, *events = NULL;
    copse_join_options join = COPSE_JOIN_OPTIONS_INIT;
    const copse_join_aggregate wanted[] = {{COPSE_AGGREGATE_COUNT, 0, NULL}, {COPSE_AGGREGATE_MAX, 1, "day"}};
    join.left_on = join.right_on = "day";
    copse_status status = copse_join(table, table, &join, &pairs);
    if (!status) status = copse_join_aggregates(table, table, &join, wanted, 2, &sums);
    join.kind = COPSE_JOIN_ASOF;
    join.left_on = join.right_on = "id";
    if (!status) status = copse_join(table, table, &join, &events);
    copse_pairs_free(pairs);
    copse_pairs_free(events);
    copse_table_free(sums);
    return status;
}

/* All of a small life. Returns the first status that is not OK; what was made goes. */
static copse_status live(copse_ctx *ctx)
{
    copse_table *table = NULL, *result = NULL, *joined = NULL, *csv = NULL, *back = NULL;
    copse_query *query = NULL;
    copse_pairs *pairs = NULL;
    struct ArrowSchema schema = {0};
    struct ArrowArray array = {0};
    const char *explained = NULL;
    uint64_t expected = 0;
    copse_table_index_options options = COPSE_TABLE_INDEX_OPTIONS_INIT;
    copse_table_csv_options csv_options = COPSE_TABLE_CSV_OPTIONS_INIT;
    copse_join_options join = COPSE_JOIN_OPTIONS_INIT;
    const int64_t more[] = {50, 51, 52, 53};
    const copse_column new_rows[] = {{"id", COPSE_I64, 0, more, NULL}, columns[2]};
    const copse_column keys[] = {columns[2], columns[3]};
    const char *const key_names[] = {"day", "name"};
    options.unique = 1;
    options.sums = "price";
    join.kind = COPSE_JOIN_LEFT;
    join.left_on = join.right_on = "name";
    copse_status status = copse_table_create(ctx, columns, COLUMNS, 4, &table);
    if (!status) status = copse_table_index(table, "id", &options);
    if (!status) status = copse_table_index(table, "name", NULL);
    if (!status) status = copse_table_append(table, new_rows, 2, 4);
    if (!status) status = copse_table_update(table, new_rows, 2, &columns[2], 1, NULL);
    if (!status) status = copse_table_delete(table, new_rows, 1, NULL);
    if (!status) status = copse_table_index_columns(table, key_names, 2, NULL);
    if (!status) status = copse_table_update_by_columns(table, keys, 2, 4, &columns[1], 1, NULL);
    if (!status) status = copse_query_create(table, &query);
    if (!status) status = copse_query_where(query, "name", COPSE_PREFIX, text("b"));
    if (!status) status = copse_query_group_by(query, "name");
    if (!status) status = copse_query_aggregate(query, COPSE_AGGREGATE_COUNT_DISTINCT, "id");
    if (!status) status = copse_query_order_by(query, "name", 1);
    if (!status) status = copse_query_run(query, &result);
    if (!status) status = copse_query_explain(query, &explained);
    if (!status) status = copse_join(table, table, &join, &pairs);
    if (!status) status = copse_pairs_table(pairs, table, table, &joined);
    if (!status) status = copse_join_expected(table, table, &join, &expected);
    if (!status) status = close_keys(table);
    if (!status) status = read_csv(ctx, "a,b\n1,x\n,y\n", csv_options, &csv, NULL);
    if (!status) status = copse_table_to_arrow(table, &schema, &array);
    if (!status) status = copse_table_from_arrow(ctx, &schema, &array, &back);
    if (!status) status = copse_table_compact(table);
    if (table && copse_table_verify(table) == COPSE_ERR_CORRUPT) status = COPSE_ERR_CORRUPT;
    if (schema.release) schema.release(&schema);
    if (array.release) array.release(&array);
    copse_pairs_free(pairs);
    copse_query_free(query);
    copse_table_free(result);
    copse_table_free(joined);
    copse_table_free(csv);
    copse_table_free(back);
    copse_table_free(table);
    return status;
}

static void memory_runs_out_at_every_place(void **state)
{
    (void)state;
    struct test_allocator allocator;
    copse_ctx_options options = COPSE_CTX_OPTIONS_INIT;
    copse_ctx *ctx = NULL;
    test_allocator_init(&allocator);
    options.allocator = test_allocator_hooks(&allocator);
    options.threads = 1;
    assert_ok(NULL, copse_ctx_create(&options, &ctx));
    bool failed = true;
    long long before = atomic_load(&allocator.live_blocks);
    for (int i = 0; failed; i++)
        for (int once = 0; once < 2; once++) {
            atomic_store(&allocator.failures, 0);
            test_allocator_fail_after(&allocator, i, once);
            copse_status status = live(ctx);
            test_allocator_never_fail(&allocator);
            failed = atomic_load(&allocator.failures) > 0;
            /* Some calls do with less. */
            if (status != COPSE_OK) assert_fails(ctx, COPSE_ERR_MEMORY, status);
            if (!failed) assert_int_equal(status, COPSE_OK);
            assert_int_equal(atomic_load(&allocator.live_blocks), before);
        }
    copse_ctx_free(ctx);
    assert_true(test_allocator_is_clean(&allocator));
}

/* The largest block that is asked for. */
static void *note_largest(void *user, size_t size, size_t alignment)
{
    size_t *largest = user;
    *largest = size > *largest ? size : *largest;
    return aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}

static void give_back(void *user, void *memory, size_t size)
{
    (void)user;
    (void)size;
    free(memory);
}

/* A change of one row takes memory, and so time, for one row, however many there are. */
static void a_change_costs_what_it_changes(void **state)
{
    (void)state;
    enum { ROWS = 1 << 20 };
    size_t largest = 0;
    copse_ctx_options options = COPSE_CTX_OPTIONS_INIT;
    copse_ctx *ctx = NULL;
    copse_table *table = NULL;
    options.allocator = (copse_allocator){note_largest, give_back, &largest};
    assert_ok(NULL, copse_ctx_create(&options, &ctx));
    int32_t *cells = calloc(ROWS, sizeof *cells);
    assert_non_null(cells);
    for (int32_t i = 0; i < ROWS; i++) cells[i] = i;
    const copse_column given[] = {{"id", COPSE_I32, 0, cells, NULL}, {"n", COPSE_I32, 0, cells, NULL}};
    assert_ok(ctx, copse_table_create(ctx, given, 2, ROWS, &table));
    assert_ok(ctx, copse_table_index(table, "id", NULL));
    const int32_t twice[] = {5, 5}, other[] = {8, 9};
    const copse_column keys = {"id", COPSE_I32, 0, twice, NULL}, news = {"n", COPSE_I32, 0, other, NULL};
    uint64_t n = 0;
    largest = 0;
    assert_ok(ctx, copse_table_update(table, &keys, 2, &news, 1, &n));
    assert_int_equal(n, 1);
    assert_in_range(largest, 1, ROWS / 64);
    assert_int_equal(cell(table, 5, "n").as.i64, 9);
    free(cells);
    copse_table_free(table);
    copse_ctx_free(ctx);
}

/* ---- indexes of several columns, and many ranges ---- */

static copse_table *make_large(copse_ctx *ctx)
{
    enum { ROWS = 400 };
    int32_t a[ROWS], b[ROWS];
    int64_t c[ROWS];
    copse_table *table = NULL;
    for (int i = 0; i < ROWS; i++) {
        a[i] = i % 10;
        b[i] = i / 10;
        c[i] = i;
    }
    const copse_column given[] = {
        {"a", COPSE_I32, 0, a, NULL}, {"b", COPSE_I32, 0, b, NULL}, {"c", COPSE_I64, 0, c, NULL}};
    assert_ok(ctx, copse_table_create(ctx, given, 3, ROWS, &table));
    return table;
}

static void an_index_of_several_columns_drives(void **state)
{
    (void)state;
    static const char *const both[] = {"a", "b"}, *const wrong[] = {"a", "a"};
    copse_ctx *ctx = unit_context(1);
    copse_table *table = make_large(ctx);
    copse_table_index_options unique = COPSE_TABLE_INDEX_OPTIONS_INIT;
    copse_table_index_info info = {.struct_size = sizeof info};
    copse_query *query = NULL;
    const char *text = NULL;
    unique.unique = 1;
    assert_int_equal(copse_table_index_columns(table, wrong, 2, NULL), COPSE_ERR_ARGUMENT);
    assert_int_equal(copse_table_index_columns(table, both, 0, NULL), COPSE_ERR_ARGUMENT);
    assert_int_equal(copse_table_index_columns(table, NULL, 2, NULL), COPSE_ERR_ARGUMENT);
    assert_ok(ctx, copse_table_index_columns(table, both, 2, &unique));
    assert_int_equal(copse_table_indexes(table), 1);
    assert_ok(ctx, copse_table_index_describe(table, 0, &info));
    assert_int_equal(info.column_count, 2);
    assert_int_equal(info.unique, 1);
    assert_int_equal(copse_table_index_describe(table, 1, &info), COPSE_ERR_ARGUMENT);
    assert_ok(ctx, copse_query_create(table, &query));
    assert_ok(ctx, copse_query_where(query, "a", COPSE_EQUAL, copse_value_i64(3)));
    assert_ok(ctx, copse_query_between(query, "b", copse_value_i64(5), copse_value_i64(7)));
    assert_ok(ctx, copse_query_explain(query, &text));
    assert_non_null(strstr(text, "index on a, b "));
    assert_non_null(strstr(text, "a = 3 and b between 5 and 7; counted 3 of 400 rows"));
    assert_non_null(strstr(text, "looked at 3, found 3"));
    copse_query_free(query);
    /* The key of two columns comes once. */
    const int32_t one[] = {3, 3}, two[] = {100, 100};
    const copse_column twice[] = {{"a", COPSE_I32, 0, one, NULL}, {"b", COPSE_I32, 0, two, NULL}};
    assert_int_equal(copse_table_append(table, twice, 2, 2), COPSE_ERR_ARGUMENT);
    assert_non_null(strstr(copse_last_error(ctx), "key 3, 100 of column \"a, b\""));
    assert_ok(ctx, copse_table_append(table, twice, 2, 1));
    assert_ok(ctx, copse_table_verify(table));
    copse_table_free(table);
    copse_ctx_free(ctx);
}

/* Rows by a key of two columns, in another order than that of the index, some of them NULL; the key is unique, or not. */
static void changes_by_a_key_of_several_columns(void **state)
{
    (void)state;
    static const char *const both[] = {"a", "b"}, *const other[] = {"a", "c"};
    static const int32_t a[] = {3, 4, 3, 3, 99}, b[] = {7, 0, 8, 7, 1};
    static const int64_t c[] = {-1, -2, -3, -4, -5};
    static const uint8_t but_the_third[] = {0x1B};
    copse_table_index_options unique = COPSE_TABLE_INDEX_OPTIONS_INIT;
    const copse_column keys[] = {{"b", COPSE_I32, 0, b, NULL}, {"a", COPSE_I32, 0, a, but_the_third}};
    const copse_column cells = {"c", COPSE_I64, 0, c, NULL}, key = {"b", COPSE_I32, 0, b, NULL};
    copse_ctx *ctx = unit_context(1);
    unique.unique = 1;
    for (int once = 0; once < 2; once++) {
        copse_table *table = make_large(ctx);
        uint64_t n = 0;
        assert_fails_naming(ctx, COPSE_ERR_UNSUPPORTED, "with the other columns",
                            copse_table_update_by_columns(table, keys, 2, 5, &cells, 1, &n));
        assert_ok(ctx, copse_table_index_columns(table, other, 2, NULL));
        assert_fails(ctx, COPSE_ERR_UNSUPPORTED, copse_table_delete_by_columns(table, keys, 2, 5, &n));
        assert_ok(ctx, copse_table_index_columns(table, both, 2, once ? &unique : NULL));
        assert_fails(ctx, COPSE_ERR_ARGUMENT, copse_table_update_by_columns(table, NULL, 2, 5, &cells, 1, &n));
        assert_fails(ctx, COPSE_ERR_ARGUMENT, copse_table_update_by_columns(table, keys, 0, 5, &cells, 1, &n));
        if (once)
            assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "unique",
                                copse_table_update_by_columns(table, keys, 2, 5, &key, 1, &n));
        assert_ok(ctx, copse_table_update_by_columns(table, keys, 2, 5, &cells, 1, &n));
        assert_int_equal(n, 2);
        assert_int_equal(cell(table, 73, "c").as.i64, -4); /* a = 3, b = 7: the later one wins */
        assert_int_equal(cell(table, 4, "c").as.i64, -2);
        assert_int_equal(cell(table, 83, "c").as.i64, 83);
        assert_ok(ctx, copse_table_delete_by_columns(table, keys, 2, 5, &n));
        assert_int_equal(n, 2);
        assert_false(copse_table_has_row(table, 73));
        assert_true(copse_table_has_row(table, 83));
        assert_ok(ctx, copse_table_verify(table));
        copse_table_free(table);
    }
    copse_ctx_free(ctx);
}

/* A key of two columns that comes twice, or is NULL in part, is named, and there is no index; one that is unique stays so in a file. */
static void unique_keys_of_several_columns(void **state)
{
    (void)state;
    static const char *const both[] = {"a", "b"}, *const swapped[] = {"b", "a"};
    static const int32_t a[] = {1, 1, 2, 1}, b[] = {5, 6, 5, 5}, c[] = {1, 2, 3, 4};
    static const uint8_t but_the_last[] = {0x07};
    copse_ctx *ctx = unit_context(1);
    copse_table_index_options unique = COPSE_TABLE_INDEX_OPTIONS_INIT;
    unique.unique = 1;
    for (int null = 0; null < 2; null++) {
        const copse_column given[] = {{"a", COPSE_I32, 0, a, NULL},
                                      {"b", COPSE_I32, 0, b, null ? but_the_last : NULL},
                                      {"c", COPSE_I32, 0, c, NULL}};
        const copse_column key = {"c", COPSE_I32, 0, &c[3], NULL};
        copse_table *table = NULL;
        assert_ok(ctx, copse_table_create(ctx, given, 3, 4, &table));
        assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, null ? "row 3 of column \"b\" is NULL" : "rows 0 and 3",
                            copse_table_index_columns(table, both, 2, &unique));
        assert_int_equal(copse_table_indexes(table), 0);
        assert_ok(ctx, copse_table_index(table, "c", NULL));
        assert_ok(ctx, copse_table_delete(table, &key, 1, NULL));
        assert_ok(ctx, copse_table_index_columns(table, both, 2, &unique));
        assert_fails(ctx, COPSE_ERR_ARGUMENT, copse_table_index_columns(table, swapped, 2, &unique));
        char path[] = "/tmp/copse-unique-XXXXXX";
        assert_int_equal(close(mkstemp(path)), 0);
        assert_ok(ctx, copse_table_save(table, path));
        copse_table_free(table);
        assert_ok(ctx, copse_table_load(ctx, path, &table));
        (void)unlink(path);
        assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "1, 5", copse_table_append(table, given, 3, 1));
        assert_ok(ctx, copse_table_append(table, &given[0], 3, 0));
        assert_int_equal(copse_table_rows(table), 3);
        assert_ok(ctx, copse_table_verify(table));
        copse_table_free(table);
    }
    copse_ctx_free(ctx);
}

static void many_ranges_give_a_row_each(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1);
    copse_table *table = make_large(ctx), *result = NULL;
    copse_query *query = NULL;
    copse_table_index_options sums = COPSE_TABLE_INDEX_OPTIONS_INIT;
    const int32_t lows[] = {0, 5, 9}, highs[] = {39, 5, 3};
    copse_ranges ranges = COPSE_BETWEEN(lows, highs, 3);
    sums.sums = "c";
    assert_ok(ctx, copse_query_create(table, &query));
    assert_int_equal(copse_query_ranges(query, "b", &ranges, &result), COPSE_ERR_ARGUMENT);
    assert_ok(ctx, copse_query_aggregate(query, COPSE_AGGREGATE_SUM, "c"));
    for (int indexed = 0; indexed < 2; indexed++) {
        if (indexed) assert_ok(ctx, copse_table_index(table, "b", &sums));
        assert_ok(ctx, copse_query_ranges(query, "b", &ranges, &result));
        assert_int_equal(copse_table_rows(result), 3);
        assert_int_equal(cell(result, 0, "sum(c)").as.i64, 79800);
        assert_int_equal(cell(result, 1, "sum(c)").as.i64, 545);
        assert_int_equal(cell(result, 2, "sum(c)").type, 0);
        copse_table_free(result);
    }
    assert_int_equal(copse_query_ranges(query, "b", NULL, &result), COPSE_ERR_ARGUMENT);
    assert_int_equal(copse_query_ranges(query, "nothing", &ranges, &result), COPSE_ERR_ARGUMENT);
    copse_query_free(query);
    copse_table_free(table);
    copse_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_hold_what_they_were_given),
        cmocka_unit_test(bad_columns_are_refused),
        cmocka_unit_test(changes_name_what_is_wrong),
        cmocka_unit_test(fractions_lie_between_whole_numbers),
        cmocka_unit_test(conditions_that_do_not_fit),
        cmocka_unit_test(infinities_and_days_of_timestamps),
        cmocka_unit_test(sums_are_exact_or_an_error),
        cmocka_unit_test(joins_that_do_not_fit),
        cmocka_unit_test(csv_finds_types_and_nulls),
        cmocka_unit_test(csv_errors),
        cmocka_unit_test(joins_say_how_they_went),
        cmocka_unit_test(joins_expect_pairs),
        cmocka_unit_test(arrow_there_and_back),
        cmocka_unit_test(arrow_in_nanoseconds),
        cmocka_unit_test(arrow_rows_that_are_null),
        cmocka_unit_test(arrow_children_may_be_taken_out),
        cmocka_unit_test(an_index_of_several_columns_drives),
        cmocka_unit_test(changes_by_a_key_of_several_columns),
        cmocka_unit_test(unique_keys_of_several_columns),
        cmocka_unit_test(many_ranges_give_a_row_each),
        cmocka_unit_test(memory_runs_out_at_every_place),
        cmocka_unit_test(a_change_costs_what_it_changes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

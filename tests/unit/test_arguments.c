/* Bad input gets a status and a sentence that names the argument, and leaves the index as it was. */
#include "copse_query.h"
#include "unit.h"
#include "support/ranges.h"

#include <math.h>

struct arguments_fixture {
    copse_ctx *ctx;
    copse_index *index; /* u64 keys 0, 10, ... 990 with values key + 1 */
};

static struct arguments_fixture open_fixture(struct unit_tree tree)
{
    struct arguments_fixture fixture = {unit_context(2), NULL};
    fixture.index = unit_tens(fixture.ctx, tree, 100);
    return fixture;
}

static void close_fixture(struct arguments_fixture *fixture)
{
    copse_index_free(fixture->index);
    copse_ctx_free(fixture->ctx);
}

/* Room for the results of every call below. */
static uint64_t keys[4], values[4], more[4], numbers[8];
static uint8_t found[4];
static copse_int128 sums128[4];
static double means[4];

static int visit_nothing(void *user, const void *some_keys, const void *some_values, uint64_t n)
{
    (void)user;
    (void)some_keys;
    (void)some_values;
    (void)n;
    return 0;
}

static void null_index_is_refused(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1);
    copse_cursor *cursor = NULL;
    copse_stats stats = {.struct_size = sizeof stats};
    const char *path = "/tmp/copse-never-written";
#define REFUSED(call) assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "index", call)
    REFUSED(copse_build(NULL, keys, values, 1));
    REFUSED(copse_find(NULL, keys, 1, values, found));
    REFUSED(copse_contains(NULL, keys, 1, found));
    REFUSED(copse_insert(NULL, keys, values, 1, 0, NULL));
    REFUSED(copse_erase(NULL, keys, 1, NULL));
    REFUSED(copse_erase_pairs(NULL, keys, keys, 1, NULL));
    REFUSED(copse_erase_range(NULL, BETWEEN(keys, more, 1), NULL));
    REFUSED(copse_sum(NULL, BETWEEN(keys, more, 1), values));
    REFUSED(copse_sum128(NULL, BETWEEN(keys, more, 1), sums128));
    REFUSED(copse_lower_bound(NULL, keys, 1, values, values, found, numbers));
    REFUSED(copse_successor(NULL, keys, 1, values, values, found));
    REFUSED(copse_predecessor(NULL, keys, 1, values, values, found));
    REFUSED(copse_range(NULL, BETWEEN(keys, more, 1), ROWS(numbers, NULL, NULL, 0)));
    REFUSED(copse_count(NULL, BETWEEN(keys, more, 1), numbers));
    REFUSED(copse_min(NULL, BETWEEN(keys, more, 1), values, found));
    REFUSED(copse_max(NULL, BETWEEN(keys, more, 1), values, found));
    REFUSED(copse_avg(NULL, BETWEEN(keys, more, 1), means));
    REFUSED(copse_visit(NULL, visit_nothing, NULL));
    REFUSED(copse_export(NULL, keys, values, 4));
    REFUSED(copse_cursor_open(NULL, NULL, &cursor));
    REFUSED(copse_save(NULL, path));
    REFUSED(copse_index_stats(NULL, &stats));
    REFUSED(copse_verify(NULL));
#undef REFUSED
    assert_int_equal(copse_size(NULL), 0);
    copse_ctx_free(ctx);
}

static void null_arrays_are_refused(void **state)
{
    (void)state;
    FOR_EACH_TREE(tree)
    {
        struct arguments_fixture f = open_fixture(*tree);
        struct unit_content before = unit_content_of(f.index);
        copse_cursor *cursor = NULL;
        copse_index *loaded = NULL;
#define REFUSED(word, call) assert_fails_naming(f.ctx, COPSE_ERR_ARGUMENT, word, call)
        REFUSED("keys", copse_build(f.index, NULL, values, 1));
        REFUSED("keys", copse_find(f.index, NULL, 1, values, found));
        REFUSED("keys", copse_contains(f.index, NULL, 1, found));
        REFUSED("out_found", copse_contains(f.index, keys, 1, NULL));
        REFUSED("keys", copse_insert(f.index, NULL, values, 1, 0, NULL));
        REFUSED("keys", copse_erase(f.index, NULL, 1, NULL));
        REFUSED("out_sums", copse_sum(f.index, BETWEEN(keys, more, 1), NULL));
        REFUSED("out_sums", copse_sum128(f.index, BETWEEN(keys, more, 1), NULL));
        REFUSED("keys", copse_lower_bound(f.index, NULL, 1, values, values, found, numbers));
        REFUSED("keys", copse_successor(f.index, NULL, 1, values, values, found));
        REFUSED("keys", copse_predecessor(f.index, NULL, 1, values, values, found));
        REFUSED("out_rows->offsets", copse_range(f.index, BETWEEN(keys, more, 1), ROWS(NULL, NULL, NULL, 0)));
        REFUSED("out_rows", copse_range(f.index, BETWEEN(keys, more, 1), NULL));
        REFUSED("ranges is NULL", copse_range(f.index, NULL, ROWS(numbers, NULL, NULL, 0)));
        REFUSED("ranges is NULL", copse_count(f.index, NULL, numbers));
        REFUSED("ranges is NULL", copse_sum(f.index, NULL, values));
        REFUSED("ranks", copse_select(f.index, NULL, 1, values, values, found));
        REFUSED("keys", copse_upper_bound(f.index, NULL, 1, values, values, found, numbers));
        REFUSED("keys", copse_floor(f.index, NULL, 1, values, values, found));
        REFUSED("out_n", copse_first(f.index, 1, values, values, NULL));
        REFUSED("out_n", copse_last(f.index, 1, values, values, NULL));
        REFUSED("keys", copse_find_all(f.index, NULL, 1, ROWS(numbers, NULL, NULL, 0)));
        REFUSED("out_counts", copse_count(f.index, BETWEEN(keys, more, 1), NULL));
        REFUSED("out_values", copse_min(f.index, BETWEEN(keys, more, 1), NULL, found));
        REFUSED("out_values", copse_max(f.index, BETWEEN(keys, more, 1), NULL, found));
        REFUSED("out_means", copse_avg(f.index, BETWEEN(keys, more, 1), NULL));
        REFUSED("fn", copse_visit(f.index, NULL, NULL));
        REFUSED("out_cursor", copse_cursor_open(f.index, NULL, NULL));
        REFUSED("path", copse_save(f.index, NULL));
        REFUSED("path", copse_load(f.ctx, NULL, NULL, &loaded));
        REFUSED("out_index", copse_load(f.ctx, "/tmp/copse-no-such-file", NULL, NULL));
        REFUSED("ctx", copse_load(NULL, "/tmp/copse-no-such-file", NULL, &loaded));
        REFUSED("out_stats", copse_index_stats(f.index, NULL));
        REFUSED("out_info", copse_ctx_describe(f.ctx, NULL));
        REFUSED("cursor", copse_cursor_seek(NULL, keys));
        REFUSED("cursor", copse_cursor_next(NULL, keys, values, 1, numbers));
        assert_ok(f.ctx, copse_cursor_open(f.index, NULL, &cursor));
        REFUSED("out_n", copse_cursor_next(cursor, keys, values, 1, NULL));
#undef REFUSED
        copse_cursor_free(cursor);
        unit_assert_content(f.ctx, f.index, before);
        close_fixture(&f);
    }
}

static void nothing_is_done_for_no_elements(void **state)
{
    (void)state;
    FOR_EACH_TREE(tree)
    {
        struct arguments_fixture f = open_fixture(*tree);
        struct unit_content before = unit_content_of(f.index);
        copse_cursor *cursor = NULL;
        uint64_t change = 99, offset = 99;
        assert_ok(f.ctx, copse_find(f.index, NULL, 0, NULL, NULL));
        assert_ok(f.ctx, copse_contains(f.index, NULL, 0, NULL));
        assert_ok(f.ctx, copse_insert(f.index, NULL, NULL, 0, 0, &change));
        assert_int_equal(change, 0);
        change = 99;
        assert_ok(f.ctx, copse_erase(f.index, NULL, 0, &change));
        assert_int_equal(change, 0);
        assert_ok(f.ctx, copse_sum(f.index, BETWEEN(NULL, NULL, 0), NULL));
        assert_ok(f.ctx, copse_sum128(f.index, BETWEEN(NULL, NULL, 0), NULL));
        assert_ok(f.ctx, copse_lower_bound(f.index, NULL, 0, NULL, NULL, NULL, NULL));
        assert_ok(f.ctx, copse_successor(f.index, NULL, 0, NULL, NULL, NULL));
        assert_ok(f.ctx, copse_predecessor(f.index, NULL, 0, NULL, NULL, NULL));
        assert_ok(f.ctx, copse_upper_bound(f.index, NULL, 0, NULL, NULL, NULL, NULL));
        assert_ok(f.ctx, copse_floor(f.index, NULL, 0, NULL, NULL, NULL));
        assert_ok(f.ctx, copse_select(f.index, NULL, 0, NULL, NULL, NULL));
        assert_ok(f.ctx, copse_apply(f.index, NULL, NULL, NULL, 0, NULL, NULL));
        change = 99;
        assert_ok(f.ctx, copse_erase_pairs(f.index, NULL, NULL, 0, &change));
        assert_int_equal(change, 0);
        change = 99;
        assert_ok(f.ctx, copse_erase_range(f.index, BETWEEN(NULL, NULL, 0), &change));
        assert_int_equal(change, 0);
        assert_ok(f.ctx, copse_find_all(f.index, NULL, 0, ROWS(&offset, NULL, NULL, 0)));
        assert_int_equal(offset, 0);
        offset = 99;
        assert_ok(f.ctx, copse_first(f.index, 0, NULL, NULL, &offset));
        assert_int_equal(offset, 0);
        offset = 99;
        assert_ok(f.ctx, copse_last(f.index, 0, NULL, NULL, &offset));
        assert_int_equal(offset, 0);
        offset = 99;
        assert_ok(f.ctx, copse_range(f.index, BETWEEN(NULL, NULL, 0), ROWS(&offset, NULL, NULL, 0)));
        assert_int_equal(offset, 0);
        assert_ok(f.ctx, copse_count(f.index, BETWEEN(NULL, NULL, 0), NULL));
        assert_ok(f.ctx, copse_min(f.index, BETWEEN(NULL, NULL, 0), NULL, NULL));
        assert_ok(f.ctx, copse_max(f.index, BETWEEN(NULL, NULL, 0), NULL, NULL));
        assert_ok(f.ctx, copse_avg(f.index, BETWEEN(NULL, NULL, 0), NULL));
        assert_ok(f.ctx, copse_cursor_open(f.index, NULL, &cursor));
        assert_ok(f.ctx, copse_cursor_next(cursor, NULL, NULL, 0, &offset));
        assert_ok(f.ctx, copse_cursor_previous(cursor, NULL, NULL, 0, &offset));
        copse_cursor_free(cursor);
        unit_assert_content(f.ctx, f.index, before);
        /* a build of nothing replaces the content by nothing */
        assert_ok(f.ctx, copse_build(f.index, NULL, NULL, 0));
        assert_int_equal(copse_size(f.index), 0);
        assert_ok(f.ctx, copse_verify(f.index));
        assert_ok(f.ctx, copse_export(f.index, NULL, NULL, 0));
        close_fixture(&f);
    }
}

/* The same for byte strings, and what only they have. */
static void nothing_is_done_for_no_strings(void **state)
{
    (void)state;
    FOR_EACH_TREE_THAT(tree, COPSE_PLACEMENT_AUTO, COPSE_CAN_TAKE_BYTES)
    {
        copse_ctx *ctx = unit_context(1);
        copse_index *index = unit_index(ctx, *tree, COPSE_BYTES, COPSE_U64, 0);
        char text[] = "abc";
        int64_t offsets[] = {0, 1, 3};
        uint64_t number = 99;
        copse_bytes some = COPSE_BYTES_INIT(text, 3, offsets, 64);
        assert_ok(ctx, copse_build(index, &some, NULL, 2));
        assert_ok(ctx, copse_find(index, NULL, 0, NULL, NULL));
        assert_ok(ctx, copse_contains(index, NULL, 0, NULL));
        assert_ok(ctx, copse_insert(index, NULL, NULL, 0, 0, NULL));
        assert_ok(ctx, copse_apply(index, NULL, NULL, NULL, 0, NULL, NULL));
        assert_ok(ctx, copse_erase(index, NULL, 0, NULL));
        assert_ok(ctx, copse_erase_pairs(index, NULL, NULL, 0, NULL));
        assert_ok(ctx, copse_erase_range(index, BETWEEN(NULL, NULL, 0), NULL));
        assert_ok(ctx, copse_lower_bound(index, NULL, 0, NULL, NULL, NULL, NULL));
        assert_ok(ctx, copse_upper_bound(index, NULL, 0, NULL, NULL, NULL, NULL));
        assert_ok(ctx, copse_floor(index, NULL, 0, NULL, NULL, NULL));
        assert_ok(ctx, copse_successor(index, NULL, 0, NULL, NULL, NULL));
        assert_ok(ctx, copse_predecessor(index, NULL, 0, NULL, NULL, NULL));
        assert_ok(ctx, copse_longest_prefix(index, NULL, 0, NULL, NULL, NULL));
        assert_ok(ctx, copse_select(index, NULL, 0, NULL, NULL, NULL));
        assert_ok(ctx, copse_find_all(index, NULL, 0, ROWS(&number, NULL, NULL, 0)));
        assert_int_equal(number, 0);
        number = 99;
        assert_ok(ctx, copse_range(index, BETWEEN(NULL, NULL, 0), ROWS(&number, NULL, NULL, 0)));
        assert_int_equal(number, 0);
        assert_ok(ctx, copse_count(index, BETWEEN(NULL, NULL, 0), NULL));
        assert_ok(ctx, copse_sum(index, BETWEEN(NULL, NULL, 0), NULL));
        assert_ok(ctx, copse_sum128(index, BETWEEN(NULL, NULL, 0), NULL));
        assert_ok(ctx, copse_min(index, BETWEEN(NULL, NULL, 0), NULL, NULL));
        assert_ok(ctx, copse_avg(index, BETWEEN(NULL, NULL, 0), NULL));
        assert_ok(ctx, copse_first(index, 0, NULL, NULL, &number));
        assert_ok(ctx, copse_last(index, 0, NULL, NULL, &number));
        assert_int_equal(copse_size(index), 2);
        assert_ok(ctx, copse_build(index, NULL, NULL, 0));
        assert_int_equal(copse_size(index), 0);
        assert_ok(ctx, copse_export(index, NULL, NULL, 0));
        copse_index_free(index);
        copse_ctx_free(ctx);
    }
}

/* Tables: no rows, no keys, no values, no ranges. */
static void nothing_is_done_for_no_rows(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1);
    copse_table *table = NULL, *out = NULL;
    copse_query *query = NULL;
    copse_table_index_options options = COPSE_TABLE_INDEX_OPTIONS_INIT;
    const copse_column empty = {.name = "id", .type = COPSE_U64},
                       some = {.name = "id", .type = COPSE_U64, .data = keys};
    const copse_column other[2] = {empty, {.name = "text", .type = COPSE_STRING}};
    uint64_t number = 99;
    assert_ok(ctx, copse_table_create(ctx, other, 2, 0, &table));
    options.unique = 1;
    assert_ok(ctx, copse_table_index(table, "id", &options));
    assert_ok(ctx, copse_table_append(table, &some, 1, 1));
    assert_ok(ctx, copse_table_append(table, other, 2, 0));
    assert_ok(ctx, copse_table_update(table, &empty, 0, &other[1], 1, &number));
    assert_int_equal(number, 0);
    number = 99;
    assert_ok(ctx, copse_table_delete(table, &empty, 0, &number));
    assert_int_equal(number, 0);
    assert_int_equal(copse_table_rows(table), 1);
    assert_ok(ctx, copse_query_create(table, &query));
    assert_ok(ctx, copse_query_aggregate(query, COPSE_AGGREGATE_COUNT, NULL));
    assert_ok(ctx, copse_query_ranges(query, "id", BETWEEN(NULL, NULL, 0), &out));
    assert_int_equal(copse_table_rows(out), 0);
    copse_table_free(out);
    assert_ok(ctx, copse_query_ranges_into(query, "id", BETWEEN(NULL, NULL, 0), (void *const[]){NULL}));
    copse_query_free(query);
    assert_ok(ctx, copse_query_create(table, &query));
    assert_ok(ctx, copse_query_select(query, "id"));
    assert_ok(ctx, copse_query_in(query, "id", NULL, 0)); /* a list without values holds nothing */
    assert_ok(ctx, copse_query_run(query, &out));
    assert_int_equal(copse_table_rows(out), 0);
    copse_table_free(out);
    copse_query_free(query);
    copse_table_free(table);
    copse_ctx_free(ctx);
}

static void unknown_values_are_refused(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1);
    copse_index *index = NULL;
    const copse_index_options good = COPSE_INDEX_OPTIONS_INIT;
    copse_index_options options;
#define REFUSED(field, value)                                                                                          \
    options = good;                                                                                                    \
    options.field = value;                                                                                             \
    assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, #field, copse_index_create(ctx, &options, &index));                   \
    assert_null(index)
    REFUSED(struct_size, 0);
    REFUSED(key_type, (copse_type)0);
    REFUSED(key_type, (copse_type)99);
    REFUSED(value_type, (copse_type)0);
    REFUSED(value_type, (copse_type)-1);
    REFUSED(value_type, COPSE_DATE); /* a key type only */
    REFUSED(value_type, COPSE_TIMESTAMP);
    REFUSED(structure, (copse_structure)99);
    REFUSED(placement, (copse_placement)99);
    REFUSED(updates, (copse_updates)99);
    REFUSED(duplicates, 2);
#undef REFUSED
    assert_ok(ctx, copse_index_create(ctx, NULL, &index)); /* NULL stands for the defaults */
    copse_index_free(index);
    index = NULL;
    assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "out_index", copse_index_create(ctx, &good, NULL));
    assert_fails_naming(NULL, COPSE_ERR_ARGUMENT, "ctx", copse_index_create(NULL, &good, &index));
    FOR_EACH_TREE(tree)
    {
        index = unit_tens(ctx, *tree, 5);
        struct unit_content before = unit_content_of(index);
        assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "flags", copse_insert(index, keys, values, 1, 2, NULL));
        assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "flags", copse_insert(index, keys, values, 1, UINT32_MAX, NULL));
        unit_assert_content(ctx, index, before);
        copse_index_free(index);
    }
    copse_ctx_free(ctx);
}

/* Arrays of this many elements cannot exist, so they must not be looked at. */
static void impossible_sizes_are_refused(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {UINT64_MAX, UINT64_MAX / 2, UINT64_MAX / 4 + 2, (UINT64_C(1) << 61) + 1};
    FOR_EACH_TREE(tree)
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        struct arguments_fixture f = open_fixture(*tree);
        struct unit_content before = unit_content_of(f.index);
        uint64_t n = sizes[i];
#define REFUSED(call) assert_fails(f.ctx, COPSE_ERR_ARGUMENT, call)
        REFUSED(copse_build(f.index, keys, values, n));
        REFUSED(copse_build(f.index, keys, NULL, n));
        REFUSED(copse_insert(f.index, keys, values, n, 0, NULL));
        REFUSED(copse_erase(f.index, keys, n, NULL));
        REFUSED(copse_erase_pairs(f.index, keys, keys, n, NULL));
        REFUSED(copse_erase_range(f.index, BETWEEN(keys, more, n), NULL));
        REFUSED(copse_find(f.index, keys, n, values, found));
        REFUSED(copse_contains(f.index, keys, n, found));
        REFUSED(copse_sum(f.index, BETWEEN(keys, more, n), values));
        REFUSED(copse_sum128(f.index, BETWEEN(keys, more, n), sums128));
        REFUSED(copse_lower_bound(f.index, keys, n, NULL, NULL, NULL, numbers));
        REFUSED(copse_successor(f.index, keys, n, NULL, NULL, found));
        REFUSED(copse_predecessor(f.index, keys, n, NULL, NULL, found));
        REFUSED(copse_range(f.index, BETWEEN(keys, more, n), ROWS(numbers, NULL, NULL, 0)));
        REFUSED(copse_count(f.index, BETWEEN(keys, more, n), numbers));
        REFUSED(copse_min(f.index, BETWEEN(keys, more, n), values, found));
        REFUSED(copse_max(f.index, BETWEEN(keys, more, n), values, found));
        REFUSED(copse_avg(f.index, BETWEEN(keys, more, n), means));
#undef REFUSED
        unit_assert_content(f.ctx, f.index, before);
        close_fixture(&f);
    }
}

static void check_nan(copse_ctx *ctx, copse_index *index, copse_type type, uint64_t n, uint64_t at)
{
    void *some = typed_new(type, n), *fine = typed_new(type, n);
    uint8_t *flags = must_malloc(n);
    void *results = must_malloc((n + 1) * 16); /* for the widest kind of answer */
    char position[32];
    (void)snprintf(position, sizeof position, "%llu", (unsigned long long)at);
    typed_set_bits(type, some, at, typed_nan_bits(type));
    struct unit_content before = unit_content_of(index);
#define REFUSED(call) assert_fails_naming(ctx, COPSE_ERR_NAN, position, call)
    REFUSED(copse_build(index, some, NULL, n));
    REFUSED(copse_insert(index, some, NULL, n, 0, NULL));
    REFUSED(copse_insert(index, some, NULL, n, COPSE_INSERT_IF_ABSENT, NULL));
    REFUSED(copse_erase(index, some, n, NULL));
    REFUSED(copse_find(index, some, n, NULL, flags));
    REFUSED(copse_contains(index, some, n, flags));
    REFUSED(copse_lower_bound(index, some, n, NULL, NULL, NULL, results));
    REFUSED(copse_successor(index, some, n, NULL, NULL, flags));
    REFUSED(copse_predecessor(index, some, n, NULL, NULL, flags));
    REFUSED(copse_range(index, BETWEEN(some, fine, n), ROWS(results, NULL, NULL, 0)));
    REFUSED(copse_range(index, BETWEEN(fine, some, n), ROWS(results, NULL, NULL, 0)));
    REFUSED(copse_count(index, BETWEEN(some, fine, n), results));
    REFUSED(copse_count(index, BETWEEN(fine, some, n), results));
    REFUSED(copse_sum(index, BETWEEN(some, fine, n), results));
    REFUSED(copse_sum(index, BETWEEN(fine, some, n), results));
    REFUSED(copse_sum128(index, BETWEEN(some, fine, n), results));
    REFUSED(copse_min(index, BETWEEN(some, fine, n), results, flags));
    REFUSED(copse_max(index, BETWEEN(fine, some, n), results, flags));
    REFUSED(copse_avg(index, BETWEEN(some, fine, n), results));
#undef REFUSED
    unit_assert_content(ctx, index, before);
    free(some);
    free(fine);
    free(flags);
    free(results);
}

static void nan_keys_are_refused_by_position(void **state)
{
    (void)state;
    static const copse_type types[] = {COPSE_F32, COPSE_F64};
    static const struct {
        uint64_t n, at;
    } places[] = {{1, 0}, {7, 0}, {7, 6}, {100, 37}, {30000, 0}, {30000, 17171}, {30000, 29999}};
    FOR_EACH_TREE(tree)
    for (size_t t = 0; t < COUNT_OF(types); t++) {
        copse_ctx *ctx = unit_context(4);
        copse_index *index = unit_index(ctx, *tree, types[t], COPSE_I32, false);
        void *content = typed_new(types[t], 3);
        typed_set_code(types[t], content, 1, typed_highest_code(types[t]));
        typed_set_code(types[t], content, 2, typed_lowest_code(types[t]));
        assert_ok(ctx, copse_build(index, content, NULL, 3));
        for (size_t i = 0; i < COUNT_OF(places); i++) {
            uint64_t fewer = unit_fewer(*tree, 1, places[i].n > 100 ? 40 : 1);
            check_nan(ctx, index, types[t], places[i].n / fewer, places[i].at / fewer);
        }
        copse_cursor *cursor = NULL;
        typed_set_bits(types[t], content, 0, typed_nan_bits(types[t]));
        assert_ok(ctx, copse_cursor_open(index, NULL, &cursor));
        assert_fails(ctx, COPSE_ERR_NAN, copse_cursor_seek(cursor, content));
        copse_cursor_free(cursor);
        free(content);
        copse_index_free(index);
        copse_ctx_free(ctx);
    }
}

static void the_first_of_many_nans_is_named(void **state)
{
    (void)state;
    enum { n = 40000 };
    copse_ctx *ctx = unit_context(4);
    double *some = must_malloc(n * sizeof *some);
    for (int i = 0; i < n; i++) some[i] = i < 12345 ? i : NAN;
    FOR_EACH_TREE(tree)
    {
        copse_index *index = unit_index(ctx, *tree, COPSE_F64, COPSE_U64, false);
        uint8_t *flags = must_malloc(n);
        assert_fails_naming(ctx, COPSE_ERR_NAN, "12345", copse_build(index, some, NULL, n));
        assert_fails_naming(ctx, COPSE_ERR_NAN, "12345", copse_contains(index, some, n, flags));
        free(flags);
        copse_index_free(index);
    }
    free(some);
    copse_ctx_free(ctx);
}

static void crossed_bounds_are_an_empty_range(void **state)
{
    (void)state;
    static const uint64_t low[] = {500, UINT64_MAX, 31}, high[] = {490, 0, 30};
    FOR_EACH_TREE(tree)
    {
        struct arguments_fixture f = open_fixture(*tree);
        assert_ok(f.ctx, copse_count(f.index, BETWEEN(low, high, 3), numbers));
        assert_ok(f.ctx, copse_sum(f.index, BETWEEN(low, high, 3), values));
        assert_ok(f.ctx, copse_sum128(f.index, BETWEEN(low, high, 3), sums128));
        assert_ok(f.ctx, copse_avg(f.index, BETWEEN(low, high, 3), means));
        for (int i = 0; i < 3; i++) {
            assert_int_equal(numbers[i], 0);
            assert_int_equal(values[i], 0);
            assert_true(sums128[i].low == 0 && sums128[i].high == 0);
            assert_true(isnan(means[i]));
        }
        memset(found, 9, sizeof found);
        memset(values, 9, sizeof values);
        assert_ok(f.ctx, copse_min(f.index, BETWEEN(low, high, 3), values, found));
        for (int i = 0; i < 3; i++) assert_true(found[i] == 0 && values[i] == 0);
        assert_ok(f.ctx, copse_max(f.index, BETWEEN(low, high, 3), values, found));
        for (int i = 0; i < 3; i++) assert_true(found[i] == 0 && values[i] == 0);
        assert_ok(f.ctx, copse_range(f.index, BETWEEN(low, high, 3), ROWS(numbers, NULL, NULL, 0)));
        for (int i = 0; i <= 3; i++) assert_int_equal(numbers[i], 0);
        close_fixture(&f);
    }
}

static void small_buffers_are_told_the_size(void **state)
{
    (void)state;
    static const uint64_t low[] = {0, 500, 995}, high[] = {90, 5000, 2000};
    FOR_EACH_TREE(tree)
    {
        struct arguments_fixture f = open_fixture(*tree);
        uint64_t offsets[4], out[60];
        static const uint64_t expected[] = {0, 10, 60, 60};
        memset(offsets, 0xff, sizeof offsets);
        memset(out, 0x77, sizeof out);
        assert_fails_naming(f.ctx, COPSE_ERR_TOO_SMALL, "60",
                            copse_range(f.index, BETWEEN(low, high, 3), ROWS(offsets, out, NULL, 59)));
        assert_memory_equal(offsets, expected, sizeof expected);
        for (size_t i = 0; i < COUNT_OF(out); i++) assert_int_equal(out[i], UINT64_C(0x7777777777777777));
        assert_ok(f.ctx, copse_range(f.index, BETWEEN(low, high, 3), ROWS(offsets, NULL, out, 60)));
        for (size_t i = 0; i < 10; i++) assert_int_equal(out[i], i * 10 + 1);
        assert_ok(f.ctx, copse_range(f.index, AT_MOST(3, low, high, 3), ROWS(offsets, out, NULL, 6)));
        assert_int_equal(offsets[3], 6);
        assert_int_equal(out[3], 500);
        assert_fails_naming(f.ctx, COPSE_ERR_TOO_SMALL, "100", copse_export(f.index, out, NULL, 60));
        close_fixture(&f);
    }
}

static void sum128_wants_integers(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1);
    FOR_EACH_TREE(tree)
    {
        copse_index *index = unit_index(ctx, *tree, COPSE_U64, COPSE_F64, false);
        assert_fails(ctx, COPSE_ERR_TYPE, copse_sum128(index, BETWEEN(keys, more, 1), sums128));
        copse_index_free(index);
    }
    copse_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(null_index_is_refused),           cmocka_unit_test(null_arrays_are_refused),
        cmocka_unit_test(nothing_is_done_for_no_elements), cmocka_unit_test(nothing_is_done_for_no_strings),
        cmocka_unit_test(nothing_is_done_for_no_rows),     cmocka_unit_test(unknown_values_are_refused),
        cmocka_unit_test(impossible_sizes_are_refused),    cmocka_unit_test(nan_keys_are_refused_by_position),
        cmocka_unit_test(the_first_of_many_nans_is_named), cmocka_unit_test(crossed_bounds_are_an_empty_range),
        cmocka_unit_test(small_buffers_are_told_the_size), cmocka_unit_test(sum128_wants_integers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

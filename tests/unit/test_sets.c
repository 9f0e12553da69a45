/* Indexes without values: every call takes and gives keys only. */
#include "unit.h"
#include "support/ranges.h"

#include <unistd.h>

/* Keys 0, 10, 20, ... */
static copse_index *tens(copse_ctx *ctx, struct unit_tree tree, uint64_t n, bool duplicates)
{
    copse_index *index = unit_index(ctx, tree, COPSE_U64, COPSE_NONE, duplicates);
    uint64_t *keys = must_malloc(n * sizeof *keys);
    for (uint64_t i = 0; i < n; i++) keys[n - 1 - i] = i * 10;
    assert_ok(ctx, copse_build(index, keys, NULL, n));
    free(keys);
    return index;
}

static int look(void *user, const void *keys, const void *values, uint64_t n)
{
    (void)keys;
    assert_null(values);
    *(uint64_t *)user += n;
    return 0;
}

static void every_call(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1);
    FOR_EACH_TREE(tree)
    for (int duplicates = 0; duplicates <= unit_duplicates(*tree); duplicates++) {
        copse_index *index = tens(ctx, *tree, 300, duplicates);
        const uint64_t keys[] = {10, 15, 2990}, low = 100, high = 200;
        uint64_t got[300], n = 0, offsets[2];
        uint8_t found[3];
        copse_stats stats = {.struct_size = sizeof stats};
        assert_ok(ctx, copse_index_stats(index, &stats));
        assert_int_equal(stats.value_type, COPSE_NONE);
        assert_ok(ctx, copse_find(index, keys, 3, NULL, found));
        assert_true(found[0] && !found[1] && found[2]);
        assert_ok(ctx, copse_insert(index, keys, NULL, 3, COPSE_INSERT_IF_ABSENT, &n));
        assert_int_equal(n, 1);
        assert_ok(ctx, copse_insert(index, keys, NULL, 3, COPSE_INSERT_UPSERT, &n));
        assert_int_equal(n, duplicates ? 3 : 0);
        assert_ok(ctx, copse_erase_pairs(index, keys, NULL, 3, &n));
        assert_int_equal(n, 3);
        assert_int_equal(copse_size(index), duplicates ? 301 : 298);
        assert_ok(ctx, copse_count(index, BETWEEN(&low, &high, 1), &n));
        assert_int_equal(n, 11);
        assert_ok(ctx, copse_range(index, BETWEEN(&low, &high, 1), ROWS(offsets, got, NULL, 11)));
        assert_true(got[0] == 100 && got[10] == 200);
        assert_ok(ctx, copse_lower_bound(index, &low, 1, got, NULL, found, NULL));
        assert_int_equal(got[0], 100);
        assert_ok(ctx, copse_last(index, 1, got, NULL, &n));
        assert_int_equal(got[0], duplicates ? 2990 : 2980);
        n = 0;
        assert_ok(ctx, copse_visit(index, look, &n));
        assert_int_equal(n, copse_size(index));
        copse_cursor *cursor = NULL;
        assert_ok(ctx, copse_cursor_open(index, NULL, &cursor));
        assert_ok(ctx, copse_cursor_next(cursor, got, NULL, 300, &n));
        assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "out_values", copse_cursor_next(cursor, got, got, 1, &n));
        copse_cursor_free(cursor);
        assert_ok(ctx, copse_verify(index));
        copse_index *copy = NULL;
        assert_ok(ctx, copse_copy(index, ctx, &copy));
        assert_int_equal(copse_size(copy), copse_size(index));
        unit_assert_content(ctx, copy, unit_content_of(index));
        copse_index_free(copy);
        copse_index_free(index);
    }
    copse_ctx_free(ctx);
}

static void mixed_batches(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1);
    FOR_EACH_TREE(tree)
    for (int duplicates = 0; duplicates <= unit_duplicates(*tree); duplicates++) {
        copse_index *index = tens(ctx, *tree, 300, duplicates);
        const uint8_t operations[] = {COPSE_OP_UPSERT, COPSE_OP_UPSERT, COPSE_OP_INSERT_IF_ABSENT,
                                      COPSE_OP_ERASE,  COPSE_OP_FIND,   COPSE_OP_INSERT_IF_ABSENT};
        const uint64_t keys[] = {5, 5, 10, 10, 10, 10};
        const uint8_t there[] = {0, 1, 1, 1, 0, 0}, add = COPSE_OP_ADD;
        uint8_t found[6];
        assert_ok(ctx, copse_apply(index, operations, keys, NULL, 6, NULL, found));
        assert_memory_equal(found, there, sizeof found);
        assert_int_equal(copse_size(index), duplicates ? 302 : 301);
        assert_fails_naming(ctx, COPSE_ERR_TYPE, "copse_apply", copse_apply(index, &add, keys, NULL, 1, NULL, found));
        assert_ok(ctx, copse_verify(index));
        copse_index_free(index);
    }
    copse_ctx_free(ctx);
}

/* A set can be saved, loaded and mapped; the file has no values. */
static void saved_and_read_back(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1);
    char path[] = "/tmp/copse-set-XXXXXX";
    const int file = mkstemp(path);
    assert_true(file >= 0);
    (void)close(file);
    FOR_EACH_TREE(tree)
    for (int duplicates = 0; duplicates <= unit_duplicates(*tree); duplicates++)
        for (uint64_t n = 0; n <= 300; n += 300) {
            copse_index *index = tens(ctx, *tree, n, duplicates), *loaded = NULL, *other = NULL, *mapped = NULL;
            const uint64_t keys[] = {10, 15};
            uint8_t found[2];
            uint64_t size = 0;
            assert_ok(ctx, copse_save(index, path));
            assert_ok(ctx, copse_load(ctx, path, NULL, &loaded));
            unit_assert_content(ctx, loaded, unit_content_of(index));
            assert_ok(ctx, copse_open(ctx, path, NULL, &mapped));
            unit_assert_content(ctx, mapped, unit_content_of(index));
            assert_ok(ctx, copse_find(mapped, keys, 2, NULL, found));
            assert_true(found[0] == (n > 0) && !found[1]);
            assert_ok(ctx, copse_save_memory(index, NULL, 0, &size));
            char *bytes = must_malloc(size);
            assert_ok(ctx, copse_save_memory(index, bytes, size, &size));
            assert_ok(ctx, copse_load_memory(ctx, bytes, size, NULL, &other));
            unit_assert_content(ctx, other, unit_content_of(index));
            copse_stats stats = {.struct_size = sizeof stats};
            assert_ok(ctx, copse_index_stats(other, &stats));
            assert_int_equal(stats.value_type, COPSE_NONE);
            copse_index_options options = COPSE_INDEX_OPTIONS_INIT;
            copse_index *none = NULL;
            assert_fails(ctx, COPSE_ERR_TYPE, copse_load_memory(ctx, bytes, size, &options, &none));
            free(bytes);
            copse_index_free(mapped);
            copse_index_free(other);
            copse_index_free(loaded);
            copse_index_free(index);
        }
    (void)unlink(path);
    copse_ctx_free(ctx);
}

static void refused(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1);
    FOR_EACH_TREE(tree)
    {
        copse_index *index = tens(ctx, *tree, 100, false);
        struct unit_content before = unit_content_of(index);
        const uint64_t key = 10, high = 50;
        uint64_t values[2] = {0, 0}, offsets[2];
        double mean;
        const uint8_t operation = COPSE_OP_UPSERT;
        const copse_ranges *ranges = BETWEEN(&key, &high, 1);
        copse_int128 wide;
        assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "values", copse_build(index, &key, values, 1));
        assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "values", copse_insert(index, &key, values, 1, 0, NULL));
        assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "values", copse_erase_pairs(index, &key, values, 1, NULL));
        assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "values",
                            copse_apply(index, &operation, &key, values, 1, NULL, NULL));
        assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "out_values",
                            copse_apply(index, &operation, &key, NULL, 1, values, NULL));
        assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "out_values", copse_find(index, &key, 1, values, NULL));
        assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "out_values", copse_successor(index, &key, 1, NULL, values, NULL));
        assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "out_values", copse_export(index, NULL, values, 100));
        assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "out_rows",
                            copse_range(index, ranges, ROWS(offsets, NULL, values, 2)));
        assert_fails(ctx, COPSE_ERR_TYPE, copse_sum(index, ranges, values));
        assert_fails(ctx, COPSE_ERR_TYPE, copse_sum128(index, ranges, &wide));
        assert_fails(ctx, COPSE_ERR_TYPE, copse_min(index, ranges, values, NULL));
        assert_fails(ctx, COPSE_ERR_TYPE, copse_max(index, ranges, values, NULL));
        assert_fails(ctx, COPSE_ERR_TYPE, copse_avg(index, ranges, &mean));
        unit_assert_content(ctx, index, before);
        copse_index_free(index);
    }
    copse_index_options options = COPSE_INDEX_OPTIONS_INIT;
    copse_index *index = NULL;
    options.key_type = COPSE_NONE;
    assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "key_type", copse_index_create(ctx, &options, &index));
    copse_ctx_free(ctx);
}

static void names(void **state)
{
    (void)state;
    copse_type type = 0;
    assert_string_equal(copse_type_name(COPSE_NONE), "none");
    assert_int_equal(copse_type_size(COPSE_NONE), 0);
    assert_int_equal(copse_type_parse("none", &type), COPSE_OK);
    assert_int_equal(type, COPSE_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_call), cmocka_unit_test(mixed_batches), cmocka_unit_test(saved_and_read_back),
        cmocka_unit_test(refused),    cmocka_unit_test(names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

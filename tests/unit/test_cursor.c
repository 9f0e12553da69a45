/* The cursor: walks in order, seeks, and knows when the index changed under it. */
#include "unit.h"

static void walks_everything(void **state)
{
    (void)state;
    static const uint64_t steps[] = {1, 3, 64, 1000, 5000};
    static const uint64_t sizes[] = {0, 1, 1000, 3001};
    copse_ctx *ctx = unit_context(1);
    FOR_EACH_TREE(tree)
    for (size_t s = 0; s < COUNT_OF(steps) * COUNT_OF(sizes); s++) {
        uint64_t step = steps[s % COUNT_OF(steps)], size = sizes[s / COUNT_OF(steps)], seen = 0, got = 99;
        uint64_t *keys = must_malloc(step * sizeof *keys), *values = must_malloc(step * sizeof *values);
        copse_index *index = unit_tens(ctx, *tree, size);
        copse_cursor *cursor = NULL;
        assert_ok(ctx, copse_cursor_open(index, NULL, &cursor));
        while (got) {
            assert_ok(ctx, copse_cursor_next(cursor, keys, values, step, &got));
            assert_true(got <= step);
            for (uint64_t i = 0; i < got; i++, seen++) {
                assert_int_equal(keys[i], seen * 10);
                assert_int_equal(values[i], seen * 10 + 1);
            }
        }
        assert_int_equal(seen, size);
        assert_ok(ctx, copse_cursor_next(cursor, keys, values, step, &got)); /* the end stays the end */
        assert_int_equal(got, 0);
        copse_cursor_free(cursor);
        copse_index_free(index);
        free(keys);
        free(values);
    }
    copse_ctx_free(ctx);
}

static void seeks_to_the_first_not_smaller(void **state)
{
    (void)state;
    static const struct {
        uint64_t seek, expected;
    } cases[] = {{0, 0}, {1, 10}, {10, 10}, {5555, 5560}, {9990, 9990}, {3, 10}};
    static const uint64_t beyond = 9991;
    copse_ctx *ctx = unit_context(1);
    FOR_EACH_TREE(tree)
    {
        copse_index *index = unit_tens(ctx, *tree, 1000);
        copse_cursor *cursor = NULL;
        uint64_t key = 0, value = 0, got = 0;
        assert_ok(ctx, copse_cursor_open(index, NULL, &cursor));
        for (size_t i = 0; i < COUNT_OF(cases); i++) {
            assert_ok(ctx, copse_cursor_seek(cursor, &cases[i].seek));
            assert_ok(ctx, copse_cursor_next(cursor, &key, NULL, 1, &got));
            assert_true(got == 1 && key == cases[i].expected);
        }
        assert_ok(ctx, copse_cursor_next(cursor, NULL, &value, 1, &got)); /* goes on behind it */
        assert_true(got == 1 && value == 21);
        assert_ok(ctx, copse_cursor_seek(cursor, &beyond));
        assert_ok(ctx, copse_cursor_next(cursor, &key, &value, 1, &got));
        assert_int_equal(got, 0);
        assert_ok(ctx, copse_cursor_seek(cursor, NULL));
        assert_ok(ctx, copse_cursor_next(cursor, &key, &value, 1, &got));
        assert_true(got == 1 && key == 0);
        copse_cursor_free(cursor);
        copse_index_free(index);
    }
    copse_ctx_free(ctx);
}

static void an_update_makes_it_stale(void **state)
{
    (void)state;
    static const uint64_t key = 15, other = 500;
    copse_ctx *ctx = unit_context(1);
    FOR_EACH_TREE(tree)
    for (int update = 0; update < 3; update++) {
        copse_index *index = unit_tens(ctx, *tree, 1000);
        copse_cursor *cursor = NULL;
        uint64_t found = 0, got = 0;
        assert_ok(ctx, copse_cursor_open(index, NULL, &cursor));
        assert_ok(ctx, copse_cursor_next(cursor, &found, NULL, 1, &got));
        if (update == 0) assert_ok(ctx, copse_insert(index, &key, NULL, 1, 0, NULL));
        if (update == 1) assert_ok(ctx, copse_erase(index, &other, 1, NULL));
        if (update == 2) assert_ok(ctx, copse_build(index, &key, NULL, 1));
        assert_fails(ctx, COPSE_ERR_STALE, copse_cursor_next(cursor, &found, NULL, 1, &got));
        assert_fails(ctx, COPSE_ERR_STALE, copse_cursor_next(cursor, &found, NULL, 1, &got));
        assert_ok(ctx, copse_cursor_seek(cursor, &key));
        assert_ok(ctx, copse_cursor_next(cursor, &found, NULL, 1, &got));
        assert_true(got == 1 && found == (update == 1 ? 20 : 15));
        copse_cursor_free(cursor);
        copse_index_free(index);
    }
    copse_ctx_free(ctx);
}

static void cursors_are_independent(void **state)
{
    (void)state;
    static const uint64_t middle = 5000;
    copse_ctx *ctx = unit_context(1);
    FOR_EACH_TREE(tree)
    {
        copse_index *index = unit_tens(ctx, *tree, 1000);
        copse_cursor *one = NULL, *two = NULL;
        uint64_t key = 99, got = 0;
        assert_ok(ctx, copse_cursor_open(index, NULL, &one));
        assert_ok(ctx, copse_cursor_open(index, NULL, &two));
        assert_ok(ctx, copse_cursor_seek(two, &middle));
        assert_ok(ctx, copse_cursor_next(one, &key, NULL, 1, &got));
        assert_int_equal(key, 0);
        assert_ok(ctx, copse_cursor_next(two, &key, NULL, 1, &got));
        assert_int_equal(key, 5000);
        copse_cursor_free(one);
        assert_ok(ctx, copse_cursor_next(two, &key, NULL, 1, &got));
        assert_int_equal(key, 5010);
        copse_cursor_free(two);
        copse_index_free(index);
    }
    copse_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(walks_everything),
        cmocka_unit_test(seeks_to_the_first_not_smaller),
        cmocka_unit_test(an_update_makes_it_stale),
        cmocka_unit_test(cursors_are_independent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

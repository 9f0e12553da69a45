/* Visit and export: all entries, in order, on the calling thread, and no further than asked. */
#include "unit.h"

#include <pthread.h>

struct visited {
    uint64_t entries;
    uint64_t calls;
    uint64_t stop_after;
    pthread_t thread;
};

static int count_entries(void *user, const void *keys, const void *values, uint64_t n)
{
    struct visited *visited = user;
    assert_true(pthread_equal(visited->thread, pthread_self()));
    assert_true(n > 0);
    for (uint64_t i = 0; i < n; i++, visited->entries++) {
        assert_int_equal(((const uint64_t *)keys)[i], visited->entries * 10);
        assert_int_equal(((const uint64_t *)values)[i], visited->entries * 10 + 1);
    }
    visited->calls++;
    return visited->stop_after && visited->entries >= visited->stop_after ? -7 : 0;
}

static void visits_all_in_order(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {0, 1, 7, 64, 1000, 40000, 120001};
    copse_ctx *ctx = unit_context(4);
    FOR_EACH_TREE(tree)
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        struct visited visited = {0, 0, 0, pthread_self()};
        if (sizes[i] > unit_fewer(*tree, UINT64_MAX, 50000)) continue;
        copse_index *index = unit_tens(ctx, *tree, sizes[i]);
        assert_ok(ctx, copse_visit(index, count_entries, &visited));
        assert_int_equal(visited.entries, sizes[i]);
        assert_int_equal(visited.calls == 0, sizes[i] == 0);
        copse_index_free(index);
    }
    copse_ctx_free(ctx);
}

static void stops_when_told(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(2);
    FOR_EACH_TREE(tree)
    {
        struct visited visited = {0, 0, 1, pthread_self()};
        copse_index *index = unit_tens(ctx, *tree, 100000);
        assert_fails(ctx, COPSE_ERR_CANCELLED, copse_visit(index, count_entries, &visited));
        assert_int_equal(visited.calls, 1);
        /* a device hands out more at a time */
        if (tree->placement == COPSE_PLACEMENT_CPU) assert_true(visited.entries < 100000);
        assert_ok(ctx, copse_verify(index));
        copse_index_free(index);
    }
    copse_ctx_free(ctx);
}

static void export_takes_either_array(void **state)
{
    (void)state;
    enum { n = 50001 };
    copse_ctx *ctx = unit_context(4);
    uint64_t *out = must_malloc((n + 1) * sizeof *out);
    FOR_EACH_TREE(tree)
    {
        copse_index *index = unit_tens(ctx, *tree, n);
        memset(out, 0x33, (n + 1) * sizeof *out);
        assert_ok(ctx, copse_export(index, out, NULL, n + 1)); /* more room than needed stays as it is */
        for (uint64_t i = 0; i < n; i++) assert_int_equal(out[i], i * 10);
        assert_int_equal(out[n], UINT64_C(0x3333333333333333));
        assert_ok(ctx, copse_export(index, NULL, out, n));
        for (uint64_t i = 0; i < n; i++) assert_int_equal(out[i], i * 10 + 1);
        assert_ok(ctx, copse_export(index, NULL, NULL, n));
        assert_fails_naming(ctx, COPSE_ERR_TOO_SMALL, "50001", copse_export(index, out, out, n - 1));
        copse_index_free(index);
    }
    free(out);
    copse_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(visits_all_in_order),
        cmocka_unit_test(stops_when_told),
        cmocka_unit_test(export_takes_either_array),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

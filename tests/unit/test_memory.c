/* Memory of the regular tree: erasing gives it back, no leaf stays empty, churn does not grow it, random inserts keep leaves full. */
#include "unit.h"

#define N 200000u

static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/* N keys from `seed`, in random order. */
static uint64_t *random_keys(uint64_t seed)
{
    uint64_t *keys = malloc(N * sizeof *keys);
    assert_non_null(keys);
    for (uint64_t i = 0; i < N; i++) keys[i] = mix(seed * N + i + 1);
    return keys;
}

static copse_index *regular_index(copse_ctx **ctx)
{
    copse_index_options options = COPSE_INDEX_OPTIONS_INIT;
    copse_index *index = NULL;
    options.structure = COPSE_STRUCTURE_REGULAR;
    assert_int_equal(copse_ctx_create(NULL, ctx), COPSE_OK);
    assert_ok(*ctx, copse_index_create(*ctx, &options, &index));
    return index;
}

static copse_stats stats_of(copse_ctx *ctx, const copse_index *index)
{
    copse_stats stats = {.struct_size = sizeof stats};
    assert_ok(ctx, copse_index_stats(index, &stats));
    return stats;
}

static void test_erase_gives_memory_back(void **state)
{
    (void)state;
    copse_ctx *ctx = NULL;
    copse_index *index = regular_index(&ctx);
    uint64_t *keys = random_keys(1), erased = 0;
    assert_ok(ctx, copse_build(index, keys, NULL, N));
    uint64_t full = stats_of(ctx, index).bytes;
    for (uint32_t batch = 0; batch < 9; batch++) {
        assert_ok(ctx, copse_erase(index, keys + N / 10 * batch, N / 10, &erased));
        assert_int_equal(erased, N / 10);
        assert_ok(ctx, copse_verify(index));
    }
    copse_stats left = stats_of(ctx, index);
    assert_int_equal(left.entries, N / 10);
    assert_true(left.bytes < full / 4);
    assert_ok(ctx, copse_erase(index, keys, N, &erased));
    assert_int_equal(erased, N / 10);
    assert_true(stats_of(ctx, index).bytes < 4096);
    free(keys);
    copse_index_free(index);
    copse_ctx_free(ctx);
}

/* Erases runs of neighbouring keys, of every length up to a few leaves: some of them empty a leaf whose neighbours are too full to be
 * joined. copse_verify finds a leaf without entries. */
static void test_no_leaf_stays_empty(void **state)
{
    enum { KEYS = 600, LONGEST = 130 };
    (void)state;
    copse_ctx *ctx = NULL;
    copse_index *index = regular_index(&ctx);
    uint64_t keys[KEYS], erased = 0;
    for (uint64_t i = 0; i < KEYS; i++) keys[i] = i * 10;
    for (uint64_t n = 1; n <= LONGEST; n++)
        for (uint64_t first = 0; first <= 2 * n; first += n) {
            assert_ok(ctx, copse_build(index, keys, NULL, KEYS));
            assert_ok(ctx, copse_erase(index, keys + first, n, &erased));
            assert_int_equal(erased, n);
            assert_ok(ctx, copse_verify(index));
            assert_int_equal(copse_size(index), KEYS - n);
        }
    copse_index_free(index);
    copse_ctx_free(ctx);
}

static void test_churn_does_not_grow(void **state)
{
    (void)state;
    copse_ctx *ctx = NULL;
    copse_index *index = regular_index(&ctx);
    uint64_t *keys = random_keys(2), most = 0, first = 0;
    assert_ok(ctx, copse_build(index, keys, NULL, N));
    for (uint32_t round = 0; round < 40; round++) {
        uint64_t *more = random_keys(3 + round);
        assert_ok(ctx, copse_insert(index, more, NULL, N / 2, 0, NULL));
        assert_ok(ctx, copse_erase(index, more, N / 2, NULL));
        free(more);
        uint64_t bytes = stats_of(ctx, index).bytes;
        if (round == 0) first = bytes;
        if (bytes > most) most = bytes;
    }
    assert_ok(ctx, copse_verify(index));
    assert_int_equal(copse_size(index), N);
    assert_true(most < first + first / 2);
    free(keys);
    copse_index_free(index);
    copse_ctx_free(ctx);
}

static void test_random_inserts_keep_leaves_full(void **state)
{
    (void)state;
    copse_ctx *ctx = NULL;
    copse_index *index = regular_index(&ctx);
    for (uint64_t round = 0; round < 8; round++) {
        uint64_t *keys = random_keys(100 + round);
        assert_ok(ctx, copse_insert(index, keys, NULL, N, 0, NULL));
        free(keys);
        copse_stats stats = stats_of(ctx, index);
        assert_true(stats.fill > 0.68);
        assert_true((double)stats.bytes / (double)stats.entries < 26.0);
    }
    copse_index_free(index);
    copse_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_erase_gives_memory_back),
        cmocka_unit_test(test_no_leaf_stays_empty),
        cmocka_unit_test(test_churn_does_not_grow),
        cmocka_unit_test(test_random_inserts_keep_leaves_full),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

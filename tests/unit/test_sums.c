/* Sums are exact: in 128 bits, or the overflow is reported; floats add up to their rounding error. */
#include "unit.h"
#include "support/ranges.h"

#include <math.h>

static copse_index *index_of(copse_ctx *ctx, struct unit_tree tree, copse_type value_type, const void *values,
                             uint32_t n)
{
    copse_index *index = unit_index(ctx, tree, COPSE_U32, value_type, false);
    uint32_t *keys = must_malloc(n * sizeof *keys);
    for (uint32_t i = 0; i < n; i++) keys[i] = i;
    assert_ok(ctx, copse_build(index, keys, values, n));
    free(keys);
    return index;
}

static void unsigned_overflow_is_reported(void **state)
{
    (void)state;
    static const uint64_t values[] = {UINT64_MAX, 1, 5, UINT64_MAX, UINT64_MAX};
    static const uint32_t lows[] = {1, 0, 0, 2, 0}, highs[] = {2, 0, 1, 2, 4};
    copse_ctx *ctx = unit_context(1);
    FOR_EACH_TREE(tree)
    {
        copse_index *index = index_of(ctx, *tree, COPSE_U64, values, 5);
        uint64_t sums[5];
        copse_int128 wide[5];
        /* ranges 2 and 4 overflow; 2 is the first */
        assert_fails_naming(ctx, COPSE_ERR_OVERFLOW, "2", copse_sum(index, BETWEEN(lows, highs, 5), sums));
        assert_int_equal(sums[0], 6);
        assert_true(sums[1] == UINT64_MAX);
        assert_true(sums[2] == UINT64_MAX);
        assert_int_equal(sums[3], 5);
        assert_true(sums[4] == UINT64_MAX);
        assert_ok(ctx, copse_sum128(index, BETWEEN(lows, highs, 5), wide));
        assert_true(wide[2].high == 1 && wide[2].low == 0);
        assert_true(wide[4].high == 3 && wide[4].low == 3);
        copse_index_free(index);
    }
    copse_ctx_free(ctx);
}

static void signed_overflow_goes_both_ways(void **state)
{
    (void)state;
    static const int64_t values[] = {INT64_MAX, 1, -1, INT64_MIN, -1};
    static const uint32_t lows[] = {0, 3, 0, 0}, highs[] = {1, 4, 2, 4};
    copse_ctx *ctx = unit_context(1);
    FOR_EACH_TREE(tree)
    {
        copse_index *index = index_of(ctx, *tree, COPSE_I64, values, 5);
        int64_t sums[4];
        copse_int128 wide[4];
        assert_fails(ctx, COPSE_ERR_OVERFLOW, copse_sum(index, BETWEEN(lows, highs, 4), sums));
        assert_true(sums[0] == INT64_MAX);
        assert_true(sums[1] == INT64_MIN);
        assert_true(sums[2] == INT64_MAX); /* it fits though a part of it does not */
        assert_true(sums[3] == -2);
        assert_ok(ctx, copse_sum128(index, BETWEEN(lows, highs, 4), wide));
        assert_true(wide[0].high == 0 && wide[0].low == UINT64_C(1) << 63);
        assert_true(wide[1].high == -1 && wide[1].low == INT64_MAX);
        assert_true(wide[3].high == -1 && wide[3].low == UINT64_MAX - 1);
        assert_ok(ctx, copse_sum(index, BETWEEN(lows + 2, highs + 2, 2), sums));
        copse_index_free(index);
    }
    copse_ctx_free(ctx);
}

static void narrow_values_add_up_wide(void **state)
{
    (void)state;
    enum { most = 100000 };
    copse_ctx *ctx = unit_context(2);
    uint32_t *values = must_malloc(most * sizeof *values);
    for (int i = 0; i < most; i++) values[i] = UINT32_MAX;
    static const uint32_t low = 0, high = UINT32_MAX;
    FOR_EACH_TREE(tree)
    {
        uint64_t sum = 0;
        int64_t signed_sum = 0;
        uint32_t n = (uint32_t)unit_fewer(*tree, most, 5000);
        copse_index *index = index_of(ctx, *tree, COPSE_U32, values, n);
        assert_ok(ctx, copse_sum(index, BETWEEN(&low, &high, 1), &sum));
        assert_true(sum == (uint64_t)UINT32_MAX * n);
        copse_index_free(index);
        index = index_of(ctx, *tree, COPSE_I32, values, n); /* all -1 */
        assert_ok(ctx, copse_sum(index, BETWEEN(&low, &high, 1), &signed_sum));
        assert_int_equal(signed_sum, -(int64_t)n);
        copse_index_free(index);
    }
    free(values);
    copse_ctx_free(ctx);
}

/* All ranges of an index whose values would overflow 64 bits in most prefixes, but not in narrow ranges. */
static void every_range_is_exact(void **state)
{
    (void)state;
    enum { n = 150 };
    static int64_t values[n];
    static uint32_t lows[n * n], highs[n * n];
    static copse_int128 sums[n * n];
    for (int i = 0; i < n; i++) {
        values[i] = (i % 3 == 0 ? INT64_MIN : INT64_MAX) / (i % 7 + 2) + i;
        for (int j = 0; j < n; j++) {
            lows[i * n + j] = (uint32_t)i;
            highs[i * n + j] = (uint32_t)j;
        }
    }
    copse_ctx *ctx = unit_context(2);
    FOR_EACH_TREE(tree)
    {
        copse_index *index = index_of(ctx, *tree, COPSE_I64, values, n);
        assert_ok(ctx, copse_sum128(index, BETWEEN(lows, highs, n * n), sums));
        for (int i = 0; i < n; i++) {
            test_int128 sum = 0;
            for (int j = i; j < n; j++) {
                sum += values[j];
                assert_true(sums[i * n + j].low == (uint64_t)sum && sums[i * n + j].high == (int64_t)(sum >> 64));
            }
        }
        copse_index_free(index);
    }
    copse_ctx_free(ctx);
}

static void sums_follow_updates(void **state)
{
    (void)state;
    static const uint32_t low = 0, high = UINT32_MAX;
    static const uint64_t value = 1000000;
    copse_ctx *ctx = unit_context(1);
    uint64_t *values = must_malloc(60000 * sizeof *values);
    for (int i = 0; i < 60000; i++) values[i] = 2;
    FOR_EACH_TREE(tree)
    {
        uint32_t n = (uint32_t)unit_fewer(*tree, 60000, 6000), key = n / 6 * 5;
        copse_index *index = index_of(ctx, *tree, COPSE_U64, values, n);
        uint64_t sum = 0;
        assert_ok(ctx, copse_sum(index, BETWEEN(&low, &high, 1), &sum)); /* may make a cache */
        assert_int_equal(sum, 2 * n);
        assert_ok(ctx, copse_insert(index, &key, &value, 1, 0, NULL));
        assert_ok(ctx, copse_sum(index, BETWEEN(&low, &high, 1), &sum));
        assert_int_equal(sum, 2 * n - 2 + 1000000);
        assert_ok(ctx, copse_verify(index));
        assert_ok(ctx, copse_erase(index, &key, 1, NULL));
        assert_ok(ctx, copse_sum(index, BETWEEN(&low, &high, 1), &sum));
        assert_int_equal(sum, 2 * n - 2);
        assert_ok(ctx, copse_verify(index));
        copse_index_free(index);
    }
    free(values);
    copse_ctx_free(ctx);
}

/* One huge, infinite or undefined value must not spoil ranges that it is not in. */
static void floats_do_not_leak_into_other_ranges(void **state)
{
    (void)state;
    enum { n = 5000 };
    static double values[n];
    static const uint32_t lows[] = {0, 11, 1001, 2001, 0, 900, 1900}, highs[] = {9, 99, 1999, 4999, 100, 1100, 2100};
    for (int i = 0; i < n; i++) values[i] = 0.25;
    values[10] = 1e300;
    values[1000] = INFINITY;
    values[2000] = NAN;
    copse_ctx *ctx = unit_context(1);
    FOR_EACH_TREE(tree)
    {
        copse_index *index = index_of(ctx, *tree, COPSE_F64, values, n);
        double sums[7], means[7], least[7];
        assert_ok(ctx, copse_sum(index, BETWEEN(lows, highs, 7), sums));
        assert_ok(ctx, copse_avg(index, BETWEEN(lows, highs, 7), means));
        assert_ok(ctx, copse_min(index, BETWEEN(lows, highs, 7), least, NULL));
        assert_true(sums[0] == 2.5);
        assert_true(sums[1] == 89 * 0.25);
        assert_true(sums[2] == 999 * 0.25);
        assert_true(sums[3] == 2999 * 0.25);
        assert_true(fabs(sums[4] - 1e300) < 1e287);
        assert_true(isinf(sums[5]) && sums[5] > 0);
        assert_true(isnan(sums[6]));
        for (int i = 0; i < 4; i++) assert_true(means[i] == 0.25);
        assert_true(isnan(means[6]));
        for (int i = 0; i < 7; i++) assert_true(least[i] == 0.25);
        copse_index_free(index);
    }
    copse_ctx_free(ctx);
}

static void extremes_pass_over_nan(void **state)
{
    (void)state;
    static const float values[] = {NAN, NAN, 3.0f, NAN, -2.0f, INFINITY, NAN};
    static const uint32_t lows[] = {0, 0, 0, 3, 6, 0}, highs[] = {1, 2, 6, 4, 6, 100};
    static const uint8_t expected_found[] = {0, 1, 1, 1, 0, 1};
    static const float expected_least[] = {0, 3.0f, -2.0f, -2.0f, 0, -2.0f};
    static const float expected_most[] = {0, 3.0f, INFINITY, -2.0f, 0, INFINITY};
    copse_ctx *ctx = unit_context(1);
    FOR_EACH_TREE(tree)
    {
        copse_index *index = index_of(ctx, *tree, COPSE_F32, values, 7);
        float least[6], most[6];
        uint8_t found[6], also[6];
        assert_ok(ctx, copse_min(index, BETWEEN(lows, highs, 6), least, found));
        assert_ok(ctx, copse_max(index, BETWEEN(lows, highs, 6), most, also));
        assert_memory_equal(found, expected_found, 6);
        assert_memory_equal(also, expected_found, 6);
        assert_memory_equal(least, expected_least, sizeof least);
        assert_memory_equal(most, expected_most, sizeof most);
        copse_index_free(index);
    }
    copse_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unsigned_overflow_is_reported), cmocka_unit_test(signed_overflow_goes_both_ways),
        cmocka_unit_test(narrow_values_add_up_wide),     cmocka_unit_test(every_range_is_exact),
        cmocka_unit_test(sums_follow_updates),           cmocka_unit_test(floats_do_not_leak_into_other_ranges),
        cmocka_unit_test(extremes_pass_over_nan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

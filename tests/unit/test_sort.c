/* The sort behind copse_build, through the public API: key patterns that a radix sort may stumble over. */
#include "unit.h"

#include <copse.h>
#include <stdlib.h>
#include <string.h>

#define N 120000u

typedef struct entry {
    uint64_t key, position;
} entry;

static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static uint64_t key_random(uint64_t i)
{
    return mix(i + 1);
}
static uint64_t key_equal(uint64_t i)
{
    return i < N ? 42 : i;
}
static uint64_t key_outlier(uint64_t i)
{
    return i == 77 ? UINT64_MAX : mix(i + 1) >> 40;
}
static uint64_t key_two_crowds(uint64_t i)
{
    return (mix(i + 1) & 0xffff) | (i % 2 ? UINT64_C(1) << 63 : 0);
}
static uint64_t key_exponential(uint64_t i)
{
    return UINT64_C(1) << (mix(i + 1) % 64);
}
static uint64_t key_nested(uint64_t i)
{
    return mix(i + 1) >> (mix(i + 9) % 64);
}
static uint64_t key_descending(uint64_t i)
{
    return N - i;
}
static uint64_t key_low_bits(uint64_t i)
{
    return mix(i + 1) % 3;
}

static int entry_order(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return x->position < y->position ? -1 : x->position > y->position;
}

/* Builds with duplicates kept, so that stability shows, and compares with the C library's sort. */
static void check_pattern(uint64_t (*key_of)(uint64_t), uint32_t threads)
{
    uint64_t *keys = malloc(N * sizeof *keys), *out = malloc(N * sizeof *out), *values = malloc(N * sizeof *values);
    entry *want = malloc(N * sizeof *want);
    assert_true(keys && out && values && want);
    for (uint64_t i = 0; i < N; i++) {
        keys[i] = key_of(i);
        want[i] = (entry){keys[i], i};
    }
    qsort(want, N, sizeof *want, entry_order);
    copse_ctx_options options = COPSE_CTX_OPTIONS_INIT;
    options.threads = threads;
    copse_ctx *ctx = NULL;
    assert_int_equal(copse_ctx_create(&options, &ctx), COPSE_OK);
    copse_index_options index_options = COPSE_INDEX_OPTIONS_INIT;
    index_options.duplicates = 1;
    copse_index *index = NULL;
    assert_int_equal(copse_index_create(ctx, &index_options, &index), COPSE_OK);
    assert_int_equal(copse_build(index, keys, NULL, N), COPSE_OK);
    assert_int_equal(copse_verify(index), COPSE_OK);
    assert_int_equal(copse_export(index, out, values, N), COPSE_OK);
    for (uint64_t i = 0; i < N; i++)
        if (out[i] != want[i].key || values[i] != want[i].position)
            fail_msg("entry %llu differs", (unsigned long long)i);
    copse_index_free(index);
    copse_ctx_free(ctx);
    free(keys);
    free(out);
    free(values);
    free(want);
}

#define PATTERN_TEST(name)                                                                                             \
    static void test_##name(void **state)                                                                              \
    {                                                                                                                  \
        (void)state;                                                                                                   \
        for (uint32_t threads = 1; threads <= 3; threads++) check_pattern(key_##name, threads);                        \
    }

PATTERN_TEST(random)
PATTERN_TEST(equal)
PATTERN_TEST(outlier)
PATTERN_TEST(two_crowds)
PATTERN_TEST(exponential)
PATTERN_TEST(nested)
PATTERN_TEST(descending)
PATTERN_TEST(low_bits)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random),     cmocka_unit_test(test_equal),       cmocka_unit_test(test_outlier),
        cmocka_unit_test(test_two_crowds), cmocka_unit_test(test_exponential), cmocka_unit_test(test_nested),
        cmocka_unit_test(test_descending), cmocka_unit_test(test_low_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Every key type sorts as its numbers do, seen through the public API. */
#include "unit.h"
#include "support/ranges.h"

#include <float.h>
#include <math.h>

static const uint32_t u32_keys[] = {0, 1, 2, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff};
static const int32_t i32_keys[] = {INT32_MIN, INT32_MIN + 1, -2, -1, 0, 1, INT32_MAX - 1, INT32_MAX};
static const float f32_keys[] = {-INFINITY,    -FLT_MAX, -1.5f, -1.0f, -FLT_MIN, -FLT_TRUE_MIN, 0.0f,
                                 FLT_TRUE_MIN, FLT_MIN,  1.0f,  1.5f,  FLT_MAX,  INFINITY};
static const uint64_t u64_keys[] = {0,         1, 0xffffffff, 0x100000000, INT64_MAX, UINT64_C(1) << 63, UINT64_MAX - 1,
                                    UINT64_MAX};
static const int64_t i64_keys[] = {INT64_MIN, INT64_MIN + 1, -0x100000000,  -1,       0,
                                   1,         0x100000000,   INT64_MAX - 1, INT64_MAX};
static const double f64_keys[] = {-INFINITY,    -DBL_MAX, -1e10, -1.0, -DBL_MIN, -DBL_TRUE_MIN, 0.0,
                                  DBL_TRUE_MIN, DBL_MIN,  1.0,   1e10, DBL_MAX,  INFINITY};

static const struct ordered_keys {
    copse_type type;
    const void *keys;
    uint64_t n;
} all_keys[] = {
    {COPSE_U32, u32_keys, COUNT_OF(u32_keys)},  {COPSE_I32, i32_keys, COUNT_OF(i32_keys)},
    {COPSE_F32, f32_keys, COUNT_OF(f32_keys)},  {COPSE_U64, u64_keys, COUNT_OF(u64_keys)},
    {COPSE_I64, i64_keys, COUNT_OF(i64_keys)},  {COPSE_F64, f64_keys, COUNT_OF(f64_keys)},
    {COPSE_DATE, i32_keys, COUNT_OF(i32_keys)}, {COPSE_TIMESTAMP, i64_keys, COUNT_OF(i64_keys)},
};

/* Key i of the ascending list has value i, and comes in an order that is not sorted. */
static copse_index *insert_scrambled(copse_ctx *ctx, struct unit_tree tree, const struct ordered_keys *ordered)
{
    copse_index *index = unit_index(ctx, tree, ordered->type, COPSE_U32, false);
    size_t size = typed_size(ordered->type);
    char *keys = typed_new(ordered->type, ordered->n);
    uint32_t values[16];
    for (uint64_t i = 0; i < ordered->n; i++) {
        uint64_t from = (i * 5 + 3) % ordered->n;
        memcpy(keys + i * size, (const char *)ordered->keys + from * size, size);
        values[i] = (uint32_t)from;
    }
    assert_ok(ctx, copse_build(index, keys, values, ordered->n));
    free(keys);
    return index;
}

static void entries_come_out_in_order(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1);
    FOR_EACH_TREE(tree)
    for (size_t t = 0; t < COUNT_OF(all_keys); t++) {
        const struct ordered_keys *ordered = &all_keys[t];
        copse_index *index = insert_scrambled(ctx, *tree, ordered);
        struct unit_content content = unit_content_of(index);
        assert_int_equal(content.n, ordered->n);
        assert_memory_equal(content.keys, ordered->keys, ordered->n * typed_size(ordered->type));
        for (uint64_t i = 0; i < content.n; i++) assert_int_equal(((uint32_t *)content.values)[i], i);
        unit_assert_content(ctx, index, content);
        copse_index_free(index);
    }
    copse_ctx_free(ctx);
}

static void neighbours_and_ranks_follow_the_order(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1);
    FOR_EACH_TREE(tree)
    for (size_t t = 0; t < COUNT_OF(all_keys); t++) {
        const struct ordered_keys *ordered = &all_keys[t];
        uint64_t n = ordered->n, ranks[16], counts[16];
        uint32_t next[16], previous[16], exact[16];
        uint8_t has_next[16], has_previous[16], found[16];
        copse_index *index = insert_scrambled(ctx, *tree, ordered);
        char *lowest = typed_new(ordered->type, n);
        size_t size = typed_size(ordered->type);
        const bool ranked = unit_can(*tree, COPSE_CAN_RANK);
        for (uint64_t i = 0; i < n; i++) memcpy(lowest + i * size, ordered->keys, size);
        assert_ok(ctx, copse_find(index, ordered->keys, n, exact, found));
        assert_ok(ctx, copse_lower_bound(index, ordered->keys, n, NULL, NULL, NULL, ranked ? ranks : NULL));
        assert_ok(ctx, copse_successor(index, ordered->keys, n, NULL, next, has_next));
        assert_ok(ctx, copse_predecessor(index, ordered->keys, n, NULL, previous, has_previous));
        assert_ok(ctx, copse_count(index, BETWEEN(lowest, ordered->keys, n), counts));
        for (uint64_t i = 0; i < n; i++) {
            assert_int_equal(found[i], 1);
            assert_int_equal(exact[i], i);
            if (ranked) assert_int_equal(ranks[i], i);
            assert_int_equal(counts[i], i + 1);
            assert_int_equal(has_next[i], i + 1 < n);
            assert_int_equal(has_previous[i], i > 0);
            assert_int_equal(next[i], i + 1 < n ? i + 1 : 0);
            assert_int_equal(previous[i], i > 0 ? i - 1 : 0);
        }
        free(lowest);
        copse_index_free(index);
    }
    copse_ctx_free(ctx);
}

static void check_zeros(copse_ctx *ctx, copse_index *index, const void *minus_zero, const void *zero)
{
    static const uint32_t values[] = {7, 8};
    uint32_t value = 0;
    uint8_t found = 0;
    uint64_t change = 99, count = 99;
    assert_ok(ctx, copse_insert(index, minus_zero, &values[0], 1, 0, &change));
    assert_int_equal(change, 1);
    assert_ok(ctx, copse_find(index, zero, 1, &value, &found));
    assert_int_equal(found, 1);
    assert_int_equal(value, 7);
    assert_ok(ctx, copse_insert(index, zero, &values[1], 1, 0, &change));
    assert_int_equal(change, 0);
    assert_ok(ctx, copse_find(index, minus_zero, 1, &value, &found));
    assert_int_equal(value, 8);
    assert_ok(ctx, copse_count(index, BETWEEN(zero, minus_zero, 1), &count)); /* low > high only in the bits */
    assert_int_equal(count, 1);
    assert_ok(ctx, copse_successor(index, minus_zero, 1, NULL, NULL, &found));
    assert_int_equal(found, 0);
    assert_ok(ctx, copse_erase(index, minus_zero, 1, &change));
    assert_int_equal(change, 1);
    assert_int_equal(copse_size(index), 0);
}

static void minus_zero_is_zero(void **state)
{
    (void)state;
    static const float narrow[] = {-0.0f, 0.0f};
    static const double wide[] = {-0.0, 0.0};
    copse_ctx *ctx = unit_context(1);
    FOR_EACH_TREE(tree)
    {
        copse_index *index = unit_index(ctx, *tree, COPSE_F32, COPSE_U32, false);
        check_zeros(ctx, index, &narrow[0], &narrow[1]);
        copse_index_free(index);
        index = unit_index(ctx, *tree, COPSE_F64, COPSE_U32, false);
        check_zeros(ctx, index, &wide[0], &wide[1]);
        copse_index_free(index);
    }
    copse_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries_come_out_in_order),
        cmocka_unit_test(neighbours_and_ranks_follow_the_order),
        cmocka_unit_test(minus_zero_is_zero),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

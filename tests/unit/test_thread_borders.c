/*
 * Batches whose only peculiar place lies where the work of one thread ends and that of the next one begins: keys that fall only
 * there, equal keys on both sides, and keys whose operations are more than the share of a thread.
 */
#include "unit.h"

/* A multiple of every number of threads, so that shares are equal however they are cut; enough for each to have one. */
#define N (84u * 400u)

static const uint32_t thread_counts[] = {2, 3, 4, 7};
#define FOR_EACH_COUNT(name)                                                                                           \
    for (const uint32_t *name = thread_counts; name < thread_counts + COUNT_OF(thread_counts); name++)

static const struct unit_tree on_cpu[] = {{COPSE_STRUCTURE_IMPLICIT, COPSE_PLACEMENT_CPU},
                                          {COPSE_STRUCTURE_REGULAR, COPSE_PLACEMENT_CPU}};
#define FOR_EACH_CPU_TREE(name) for (const struct unit_tree *name = on_cpu; name < on_cpu + COUNT_OF(on_cpu); name++)

static uint64_t keys[N], values[N], got_keys[N], got_values[N];

static void fill_values(void)
{
    for (uint64_t i = 0; i < N; i++) values[i] = i + 1;
}

/* Sorted, but begun in the middle: the one place where keys fall is `border`. */
static void rotate(uint64_t border)
{
    fill_values();
    for (uint64_t i = 0; i < N; i++) keys[i] = i < border ? N - border + i : i - border;
}

/* The index holds keys 0 .. N - 1, each with the value that rotate gave it. */
static void assert_rotated(const copse_ctx *ctx, const copse_index *index, uint64_t border)
{
    assert_int_equal(copse_size(index), N);
    assert_ok(ctx, copse_verify(index));
    assert_ok(ctx, copse_export(index, got_keys, got_values, N));
    for (uint64_t key = 0; key < N; key++) {
        assert_int_equal(got_keys[key], key);
        assert_int_equal(got_values[key], (key + border) % N + 1);
    }
}

static void keys_that_fall_at_a_border(void **state)
{
    (void)state;
    FOR_EACH_COUNT(threads)
    {
        copse_ctx *ctx = unit_context(*threads);
        FOR_EACH_CPU_TREE(tree)
        for (uint32_t part = 1; part < *threads; part++) {
            const uint64_t border = (uint64_t)N / *threads * part;
            rotate(border);
            copse_index *built = unit_index(ctx, *tree, COPSE_U64, COPSE_U64, part % 2);
            assert_ok(ctx, copse_build(built, keys, values, N));
            assert_rotated(ctx, built, border);
            copse_index_free(built);
            copse_index *filled = unit_index(ctx, *tree, COPSE_U64, COPSE_U64, false);
            assert_ok(ctx, copse_insert(filled, keys, values, N, COPSE_INSERT_UPSERT, NULL));
            assert_rotated(ctx, filled, border);
            copse_index_free(filled);
        }
        copse_ctx_free(ctx);
    }
}

/* Ascending; the only equal keys are the one before the border and the one at it. */
static void equal_keys_at_a_border(void **state)
{
    (void)state;
    fill_values();
    FOR_EACH_COUNT(threads)
    {
        copse_ctx *ctx = unit_context(*threads);
        FOR_EACH_CPU_TREE(tree)
        for (uint32_t part = 1; part < *threads; part++) {
            const uint64_t border = (uint64_t)N / *threads * part;
            for (uint64_t i = 0; i < N; i++) keys[i] = i < border ? i : i - 1;
            copse_index *index = unit_index(ctx, *tree, COPSE_U64, COPSE_U64, false);
            assert_ok(ctx, copse_build(index, keys, values, N));
            assert_int_equal(copse_size(index), N - 1);
            assert_ok(ctx, copse_verify(index));
            assert_ok(ctx, copse_export(index, got_keys, got_values, N - 1));
            for (uint64_t key = 0; key < N - 1; key++) {
                assert_int_equal(got_keys[key], key);
                assert_int_equal(got_values[key], key + 1 < border ? key + 1 : key + 2); /* the last one stays */
            }
            copse_index_free(index);
        }
        copse_ctx_free(ctx);
    }
}

/* A NaN that is the last key of a share, where the next thread looks back at it. */
static void nan_in_front_of_a_border(void **state)
{
    (void)state;
    static double doubles[N];
    FOR_EACH_COUNT(threads)
    {
        copse_ctx *ctx = unit_context(*threads);
        const uint64_t border = N / *threads;
        for (uint64_t i = 0; i < N; i++) doubles[i] = (double)i;
        doubles[border - 1] = 0.0 / 0.0;
        FOR_EACH_CPU_TREE(tree)
        {
            char position[32];
            copse_index *index = unit_index(ctx, *tree, COPSE_F64, COPSE_U64, false);
            (void)snprintf(position, sizeof position, "keys[%llu]", (unsigned long long)(border - 1));
            assert_fails_naming(ctx, COPSE_ERR_NAN, position, copse_build(index, doubles, NULL, N));
            copse_index_free(index);
        }
        copse_ctx_free(ctx);
    }
}

/* All duplicates stay, in array order, though each key fills more than the share of a thread. */
static void duplicates_of_many_shares(void **state)
{
    (void)state;
    enum { different = 3 };
    fill_values();
    for (uint64_t i = 0; i < N; i++) keys[i] = i % different;
    FOR_EACH_COUNT(threads)
    {
        copse_ctx *ctx = unit_context(*threads);
        FOR_EACH_CPU_TREE(tree)
        {
            copse_index *index = unit_index(ctx, *tree, COPSE_U64, COPSE_U64, true);
            assert_ok(ctx, copse_insert(index, keys, values, N / 2, COPSE_INSERT_UPSERT, NULL));
            assert_ok(ctx, copse_insert(index, keys + N / 2, values + N / 2, N / 2, COPSE_INSERT_UPSERT, NULL));
            assert_ok(ctx, copse_verify(index));
            assert_ok(ctx, copse_export(index, got_keys, got_values, N));
            for (uint64_t i = 0; i < N; i++) {
                assert_int_equal(got_keys[i], i / (N / different));
                assert_int_equal(got_values[i], i % (N / different) * different + got_keys[i] + 1);
            }
            copse_index_free(index);
        }
        copse_ctx_free(ctx);
    }
}

/* --- mixed batches --------------------------------------------------------------------------------------------------------- */

/* What becomes of a key, one operation after the other. */
struct fate {
    uint64_t value;
    bool there;
};

static void follow(struct fate *fate, uint8_t operation, uint64_t value)
{
    if (operation == COPSE_OP_ERASE)
        *fate = (struct fate){0, false};
    else if (operation == COPSE_OP_UPSERT || (operation == COPSE_OP_INSERT_IF_ABSENT && !fate->there))
        *fate = (struct fate){value, true};
}

/* Operations on so few keys that every cut between threads would fall among operations on one key. */
static void mixed_operations_on_few_keys(void **state)
{
    (void)state;
    enum { most = 1000 };
    static const uint64_t key_counts[] = {1, 3, 50, most};
    static uint8_t operations[N], found[N];
    FOR_EACH_COUNT(threads)
    {
        copse_ctx *ctx = unit_context(*threads);
        FOR_EACH_CPU_TREE(tree)
        for (size_t c = 0; c < COUNT_OF(key_counts); c++) {
            static struct fate fates[most];
            uint64_t random = 88172645463325252u + c;
            memset(fates, 0, sizeof fates);
            copse_index *index = unit_index(ctx, *tree, COPSE_U64, COPSE_U64, false);
            fill_values();
            for (uint64_t i = 0; i < N; i++) {
                random ^= random << 13, random ^= random >> 7, random ^= random << 17;
                keys[i] = random % key_counts[c];
                operations[i] = (uint8_t)(random >> 32 & 3);
            }
            assert_ok(ctx, copse_apply(index, operations, keys, values, N, got_values, found));
            for (uint64_t i = 0; i < N; i++) {
                struct fate *fate = &fates[keys[i]];
                assert_int_equal(found[i], fate->there);
                assert_int_equal(got_values[i], fate->value);
                follow(fate, operations[i], values[i]);
            }
            uint64_t left = 0;
            for (uint64_t key = 0; key < key_counts[c]; key++) left += fates[key].there;
            assert_int_equal(copse_size(index), left);
            assert_ok(ctx, copse_verify(index));
            copse_index_free(index);
        }
        copse_ctx_free(ctx);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_that_fall_at_a_border),   cmocka_unit_test(equal_keys_at_a_border),
        cmocka_unit_test(nan_in_front_of_a_border),     cmocka_unit_test(duplicates_of_many_shares),
        cmocka_unit_test(mixed_operations_on_few_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

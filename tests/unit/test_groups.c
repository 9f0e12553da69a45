/* Keys that repeat: mixed batches on their groups, and pairs of key and value that are erased; and the latter where keys do not
 * repeat. */
#include "unit.h"

#include "random.h"

enum { FIND = COPSE_OP_FIND, UPSERT = COPSE_OP_UPSERT, ABSENT = COPSE_OP_INSERT_IF_ABSENT };
enum { ERASE = COPSE_OP_ERASE, ADD = COPSE_OP_ADD };

/* The index has just these values for the key, in this order. */
#define assert_group(ctx, index, key, ...)                                                                             \
    assert_values(ctx, index, key, (const uint64_t[]){0, __VA_ARGS__},                                                 \
                  sizeof(const uint64_t[]){0, __VA_ARGS__} / sizeof(uint64_t) - 1, __LINE__)

static void assert_values(copse_ctx *ctx, const copse_index *index, uint64_t key, const uint64_t *expected, size_t n,
                          int line)
{
    uint64_t offsets[2], values[64];
    copse_rows rows = COPSE_ROWS_INIT;
    rows.offsets = offsets;
    rows.values = values;
    rows.capacity = COUNT_OF(values);
    assert_ok(ctx, copse_find_all(index, &key, 1, &rows));
    bool right = offsets[1] == n;
    for (size_t i = 0; right && i < n; i++) right = values[i] == expected[i + 1];
    if (!right)
        fail_msg("line %d: key %llu has %llu entries, or others", line, (unsigned long long)key,
                 (unsigned long long)offsets[1]);
}

static uint64_t version_of(const copse_index *index)
{
    copse_stats stats = {.struct_size = sizeof stats};
    assert_int_equal(copse_index_stats(index, &stats), COPSE_OK);
    return stats.version;
}

/* Keys 10 (values 1 2 3), 20 (4) and 30 (5 5 6 5). */
static copse_index *some_groups(copse_ctx *ctx, struct unit_tree tree)
{
    static const uint64_t keys[] = {30, 10, 10, 20, 30, 10, 30, 30}, values[] = {5, 1, 2, 4, 5, 3, 6, 5};
    copse_index *index = unit_index(ctx, tree, COPSE_U64, COPSE_U64, true);
    assert_ok(ctx, copse_build(index, keys, values, COUNT_OF(keys)));
    return index;
}

static void every_operation(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1);
    FOR_EACH_TREE_THAT(tree, COPSE_PLACEMENT_AUTO, COPSE_CAN_KEEP_DUPLICATES)
    {
        copse_index *index = some_groups(ctx, *tree);
        static const uint8_t operations[] = {UPSERT, FIND,   ADD, FIND,   ABSENT, ERASE,
                                             FIND,   ABSENT, ADD, UPSERT, ADD,    ABSENT};
        static const uint64_t keys[] = {10, 10, 10, 10, 10, 20, 20, 20, 20, 20, 40, 40};
        static const uint64_t values[] = {9, 0, 100, 0, 7, 0, 0, 50, 1, 60, 8, 9};
        static const uint64_t seen[] = {1, 1, 1, 101, 101, 4, 0, 0, 50, 51, 0, 8};
        static const uint8_t there[] = {1, 1, 1, 1, 1, 1, 0, 0, 1, 1, 0, 1};
        uint64_t got[COUNT_OF(keys)];
        uint8_t found[COUNT_OF(keys)];
        uint64_t version = version_of(index);
        assert_ok(ctx, copse_apply(index, operations, keys, values, COUNT_OF(keys), got, found));
        assert_memory_equal(got, seen, sizeof got);
        assert_memory_equal(found, there, sizeof found);
        assert_group(ctx, index, 10, 101, 2, 3, 9);
        assert_group(ctx, index, 20, 51, 60);
        assert_group(ctx, index, 30, 5, 5, 6, 5);
        assert_group(ctx, index, 40, 8);
        assert_ok(ctx, copse_verify(index));
        assert_int_equal(version_of(index), version + 1);
        /* finds, erasing what is not there, adding nothing, and inserting where something is: no change */
        static const uint8_t nothing[] = {FIND, ERASE, ADD, ABSENT};
        static const uint64_t which[] = {10, 11, 20, 30}, zeros[] = {0, 0, 0, 0};
        assert_ok(ctx, copse_apply(index, nothing, which, zeros, 4, NULL, NULL));
        assert_int_equal(version_of(index), version + 1);
        /* all of it */
        static const uint8_t erases[] = {ERASE, ERASE, ERASE, ERASE, ERASE};
        static const uint64_t all[] = {40, 30, 20, 10, 30};
        assert_ok(ctx, copse_apply(index, erases, all, NULL, 5, got, found));
        assert_true(got[1] == 5 && found[1] == 1 && got[4] == 0 && found[4] == 0);
        assert_int_equal(copse_size(index), 0);
        assert_ok(ctx, copse_apply(index, operations, keys, values, COUNT_OF(keys), NULL, NULL));
        assert_group(ctx, index, 10, 109);
        copse_index_free(index);
    }
    copse_ctx_free(ctx);
}

static void pairs(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1);
    FOR_EACH_TREE_THAT(tree, COPSE_PLACEMENT_AUTO, COPSE_CAN_KEEP_DUPLICATES)
    {
        copse_index *index = some_groups(ctx, *tree);
        static const uint64_t keys[] = {30, 10, 30, 20, 25, 10}, values[] = {5, 2, 5, 5, 4, 99};
        uint64_t erased = 77, version = version_of(index);
        assert_ok(ctx, copse_erase_pairs(index, keys, values, COUNT_OF(keys), &erased));
        assert_int_equal(erased, 3);
        assert_group(ctx, index, 10, 1, 3);
        assert_group(ctx, index, 20, 4);
        assert_group(ctx, index, 30, 6, 5);
        assert_int_equal(version_of(index), version + 1);
        /* more pairs than there are entries */
        static const uint64_t many[] = {30, 30, 30, 30, 20, 20}, of[] = {5, 5, 6, 6, 4, 4};
        assert_ok(ctx, copse_erase_pairs(index, many, of, COUNT_OF(many), &erased));
        assert_int_equal(erased, 3);
        assert_group(ctx, index, 10, 1, 3);
        assert_int_equal(copse_size(index), 2);
        assert_ok(ctx, copse_verify(index));
        version = version_of(index);
        assert_ok(ctx, copse_erase_pairs(index, many, of, COUNT_OF(many), &erased));
        assert_int_equal(erased, 0);
        assert_int_equal(version_of(index), version);
        assert_ok(ctx, copse_erase_pairs(index, NULL, NULL, 0, NULL));
        assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "values", copse_erase_pairs(index, many, NULL, 1, NULL));
        assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "keys", copse_erase_pairs(index, NULL, of, 1, NULL));
        copse_index_free(index);
    }
    copse_ctx_free(ctx);
}

static void pairs_of_unique_keys(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1);
    FOR_EACH_TREE(tree)
    {
        copse_index *index = unit_tens(ctx, *tree, 300);
        /* there; another value; twice; not there; the right value second */
        static const uint64_t keys[] = {100, 200, 300, 300, 305, 400, 400},
                              values[] = {101, 200, 301, 301, 306, 1, 401};
        uint64_t erased = 77;
        assert_ok(ctx, copse_erase_pairs(index, keys, values, COUNT_OF(keys), &erased));
        assert_int_equal(erased, 3);
        assert_int_equal(copse_size(index), 297);
        uint8_t found[COUNT_OF(keys)];
        assert_ok(ctx, copse_contains(index, keys, COUNT_OF(keys), found));
        static const uint8_t left[] = {0, 1, 0, 0, 0, 0, 0};
        assert_memory_equal(found, left, sizeof left);
        assert_ok(ctx, copse_verify(index));
        copse_index_free(index);
    }
    copse_ctx_free(ctx);
}

/* Bits are compared: zeros differ, a NaN equals itself. A NaN key is refused. */
static void pairs_of_floats(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1);
    FOR_EACH_TREE(tree)
    for (int duplicates = 0; duplicates <= unit_duplicates(*tree); duplicates++) {
        copse_index *index = unit_index(ctx, *tree, COPSE_F64, COPSE_F32, duplicates);
        static const uint32_t values[] = {0x80000000u, 0x7fc00001u, 0x3f800000u},
                              others[] = {0, 0x7fc00000u, 0x3f800000u};
        double keys[] = {-0.0, 2, 3};
        const double zero = 0.0;
        uint64_t erased;
        assert_ok(ctx, copse_build(index, keys, values, 3));
        assert_ok(ctx, copse_erase_pairs(index, keys, others, 2, &erased));
        assert_int_equal(erased, 0);
        assert_ok(ctx, copse_erase_pairs(index, &zero, values, 1, &erased)); /* keys are equal where they compare so */
        assert_int_equal(erased, 1);
        const uint64_t nan = UINT64_C(0x7ff8000000000001);
        memcpy(&keys[2], &nan, sizeof nan);
        assert_fails_naming(ctx, COPSE_ERR_NAN, "keys[2]", copse_erase_pairs(index, keys, values, 3, &erased));
        assert_int_equal(copse_size(index), 2);
        assert_ok(ctx, copse_erase_pairs(index, keys, values, 2, &erased));
        assert_int_equal(erased, 1);
        assert_int_equal(copse_size(index), 1);
        copse_index_free(index);
    }
    copse_ctx_free(ctx);
}

/* Groups much larger than a leaf: entries go from all over them, come in front of what stays of nothing, and the first changes. */
static void large_groups(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(2);
    FOR_EACH_TREE_THAT(tree, COPSE_PLACEMENT_AUTO, COPSE_CAN_KEEP_DUPLICATES)
    for (uint64_t round = 0; round < 6; round++) {
        const uint64_t groups = 5, each = unit_fewer(*tree, 4000, 600), n = groups * each;
        copse_index *index = unit_index(ctx, *tree, COPSE_U32, COPSE_U64, true);
        uint32_t *keys = must_malloc(n * sizeof *keys);
        uint64_t *values = must_malloc(n * sizeof *values), erased;
        for (uint64_t i = 0; i < n; i++) {
            keys[i] = (uint32_t)(i / each);
            values[i] = i % each;
        }
        assert_ok(ctx, copse_build(index, keys, values, n));
        /* of group 2 all but the last entry, so that the leaves in front of that have none of it left */
        const uint64_t go = round % 2 ? each - 1 : each / 2;
        assert_ok(ctx, copse_erase_pairs(index, keys + 2 * each, values + 2 * each, go, &erased));
        assert_int_equal(erased, go);
        uint64_t first;
        uint32_t two = 2;
        assert_ok(ctx, copse_find(index, &two, 1, &first, NULL));
        assert_int_equal(first, go);
        assert_ok(ctx, copse_verify(index));
        const uint8_t operations[] = {ADD, UPSERT, ERASE, UPSERT, UPSERT, ADD, ADD, UPSERT};
        const uint32_t which[] = {2, 2, 3, 3, 3, 3, 1, 1};
        const uint64_t with[] = {5, 6, 0, 7, 8, 1, 9, 10};
        assert_ok(ctx, copse_apply(index, operations, which, with, COUNT_OF(which), NULL, NULL));
        assert_ok(ctx, copse_verify(index));
        assert_int_equal(copse_size(index), n - go - each + 4);
        assert_ok(ctx, copse_find(index, which, 1, &first, NULL));
        assert_int_equal(first, go + 5);
        assert_ok(ctx, copse_find(index, which + 3, 1, &first, NULL));
        assert_int_equal(first, 8);
        assert_ok(ctx, copse_find(index, which + 6, 1, &first, NULL));
        assert_int_equal(first, 9);
        /* the same keys again, behind their groups */
        assert_ok(ctx, copse_insert(index, which, with, COUNT_OF(which), COPSE_INSERT_UPSERT, NULL));
        assert_ok(ctx, copse_verify(index));
        free(keys);
        free(values);
        copse_index_free(index);
    }
    copse_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_operation), cmocka_unit_test(pairs),        cmocka_unit_test(pairs_of_unique_keys),
        cmocka_unit_test(pairs_of_floats), cmocka_unit_test(large_groups),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

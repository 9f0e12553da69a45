/* Equal keys: kept in insertion order where the option says so, else the last one wins. */
#include "unit.h"
#include "support/ranges.h"

static const uint32_t keys[] = {5, 3, 5, 5, 1, 3};
static const uint32_t values[] = {10, 11, 12, 13, 14, 15};

static void assert_entries(const copse_ctx *ctx, const copse_index *index, const uint32_t (*pairs)[2], uint64_t n)
{
    struct unit_content content = unit_content_of(index);
    assert_int_equal(content.n, n);
    for (uint64_t i = 0; i < n; i++) {
        assert_int_equal(((uint32_t *)content.keys)[i], pairs[i][0]);
        assert_int_equal(((uint32_t *)content.values)[i], pairs[i][1]);
    }
    unit_assert_content(ctx, index, content);
}

static void the_last_of_equal_keys_wins(void **state)
{
    (void)state;
    static const uint32_t built[][2] = {{1, 14}, {3, 15}, {5, 13}};
    static const uint32_t again[] = {3, 3, 7, 7}, new_values[] = {20, 21, 22, 23};
    static const uint32_t upserted[][2] = {{1, 14}, {3, 21}, {5, 13}, {7, 23}};
    static const uint32_t absent[] = {7, 8, 8}, absent_values[] = {30, 31, 32};
    static const uint32_t added[][2] = {{1, 14}, {3, 21}, {5, 13}, {7, 23}, {8, 31}};
    copse_ctx *ctx = unit_context(1);
    FOR_EACH_TREE(tree)
    {
        uint64_t change = 99;
        copse_index *index = unit_index(ctx, *tree, COPSE_U32, COPSE_U32, false);
        assert_ok(ctx, copse_build(index, keys, values, 6));
        assert_entries(ctx, index, built, 3);
        assert_ok(ctx, copse_insert(index, again, new_values, 4, COPSE_INSERT_UPSERT, &change));
        assert_int_equal(change, 1);
        assert_entries(ctx, index, upserted, 4);
        assert_ok(ctx, copse_insert(index, absent, absent_values, 3, COPSE_INSERT_IF_ABSENT, &change));
        assert_int_equal(change, 1);
        assert_entries(ctx, index, added, 5);
        copse_index_free(index);
    }
    copse_ctx_free(ctx);
}

/* A batch of one key only, the smallest or the largest of all: what a kernel takes for a pair behind the last one must not equal it. */
static void one_key_is_the_whole_batch(void **state)
{
    enum { most = 130 };
    static const uint32_t sizes[] = {2, 32, 33, 128, 129};
    (void)state;
    copse_ctx *ctx = unit_context(1);
    FOR_EACH_TREE(tree)
    for (uint32_t s = 0; s < 2 * COUNT_OF(sizes); s++) {
        const uint32_t n = sizes[s / 2], key = s % 2 ? UINT32_MAX : 0, built[][2] = {{key, n}},
                       updated[][2] = {{key, 2 * n}};
        uint32_t same[most], numbers[most];
        uint64_t change = 99;
        copse_index *index = unit_index(ctx, *tree, COPSE_U32, COPSE_U32, false);
        for (uint32_t i = 0; i < n; i++) same[i] = key;
        for (uint32_t i = 0; i < n; i++) numbers[i] = i + 1;
        assert_ok(ctx, copse_build(index, same, numbers, n));
        assert_entries(ctx, index, built, 1);
        for (uint32_t i = 0; i < n; i++) numbers[i] = n + i + 1;
        assert_ok(ctx, copse_insert(index, same, numbers, n, COPSE_INSERT_UPSERT, &change));
        assert_int_equal(change, 0);
        assert_entries(ctx, index, updated, 1);
        assert_ok(ctx, copse_erase(index, same, n, &change));
        assert_int_equal(change, 1);
        assert_int_equal(copse_size(index), 0);
        copse_index_free(index);
    }
    copse_ctx_free(ctx);
}

static void duplicates_keep_their_order(void **state)
{
    (void)state;
    static const uint32_t built[][2] = {{1, 14}, {3, 11}, {3, 15}, {5, 10}, {5, 12}, {5, 13}};
    static const uint32_t more[] = {3, 3, 7}, more_values[] = {20, 21, 22};
    static const uint32_t grown[][2] = {{1, 14}, {3, 11}, {3, 15}, {3, 20}, {3, 21},
                                        {5, 10}, {5, 12}, {5, 13}, {7, 22}};
    static const uint32_t absent[] = {3, 8, 8}, absent_values[] = {30, 31, 32}, gone[] = {3, 5, 4, 3};
    static const uint32_t left[][2] = {{1, 14}, {7, 22}, {8, 31}};
    copse_ctx *ctx = unit_context(1);
    FOR_EACH_TREE_THAT(tree, COPSE_PLACEMENT_AUTO, COPSE_CAN_KEEP_DUPLICATES)
    {
        uint64_t change = 99;
        copse_index *index = unit_index(ctx, *tree, COPSE_U32, COPSE_U32, true);
        assert_ok(ctx, copse_build(index, keys, values, 6));
        assert_entries(ctx, index, built, 6);
        assert_ok(ctx, copse_insert(index, more, more_values, 3, COPSE_INSERT_UPSERT, &change));
        assert_int_equal(change, 3);
        assert_entries(ctx, index, grown, 9);
        assert_ok(ctx, copse_insert(index, absent, absent_values, 3, COPSE_INSERT_IF_ABSENT, &change));
        assert_int_equal(change, 1);
        assert_ok(ctx, copse_erase(index, gone, 4, &change));
        assert_int_equal(change, 7);
        assert_entries(ctx, index, left, 3);
        copse_index_free(index);
    }
    copse_ctx_free(ctx);
}

static void queries_meet_the_right_end_of_a_run(void **state)
{
    (void)state;
    static const uint32_t asked[] = {3, 5, 4, 6};
    copse_ctx *ctx = unit_context(1);
    FOR_EACH_TREE_THAT(tree, COPSE_PLACEMENT_AUTO, COPSE_CAN_KEEP_DUPLICATES)
    {
        uint32_t found_values[4], out_keys[4];
        uint8_t found[4];
        uint64_t ranks[4], counts[4];
        copse_index *index = unit_index(ctx, *tree, COPSE_U32, COPSE_U32, true);
        assert_ok(ctx, copse_build(index, keys, values, 6));
        assert_ok(ctx, copse_find(index, asked, 4, found_values, found));
        assert_true(found[0] && found_values[0] == 11 && found[1] && found_values[1] == 10); /* the first of a run */
        assert_true(!found[2] && found_values[2] == 0 && !found[3]);
        assert_ok(ctx, copse_lower_bound(index, asked, 4, out_keys, found_values, found, ranks));
        assert_true(ranks[0] == 1 && ranks[1] == 3 && ranks[2] == 3 && ranks[3] == 6);
        assert_true(out_keys[2] == 5 && found_values[2] == 10 && !found[3]);
        assert_ok(ctx, copse_successor(index, asked, 4, out_keys, found_values, found));
        assert_true(out_keys[0] == 5 && found_values[0] == 10 && !found[1]);
        assert_ok(ctx, copse_predecessor(index, asked, 4, out_keys, found_values, found));
        assert_true(out_keys[0] == 1 && out_keys[1] == 3 && found_values[1] == 15); /* the last of a run */
        assert_true(out_keys[3] == 5 && found_values[3] == 13);
        assert_ok(ctx, copse_count(index, BETWEEN(asked, asked, 4), counts));
        assert_true(counts[0] == 2 && counts[1] == 3 && counts[2] == 0);
        copse_index_free(index);
    }
    copse_ctx_free(ctx);
}

/* One key in every slot of many nodes: no separator between them tells it apart. */
static void one_key_fills_many_nodes(void **state)
{
    (void)state;
    enum { most = 50000 };
    copse_ctx *ctx = unit_context(2);
    uint64_t *same = must_malloc(most * sizeof *same);
    for (int i = 0; i < most; i++) same[i] = 42;
    FOR_EACH_TREE_THAT(tree, COPSE_PLACEMENT_AUTO, COPSE_CAN_KEEP_DUPLICATES)
    {
        static const uint64_t others[] = {41, 43, 42}, key = 42, zero = 0, top = UINT64_MAX;
        uint64_t n = unit_fewer(*tree, most, 5000), change = 0, value = 0, count = 0, rank = 0;
        uint8_t found = 0;
        copse_index *index = unit_index(ctx, *tree, COPSE_U64, COPSE_U64, true);
        assert_ok(ctx, copse_insert(index, same, NULL, n, 0, &change));
        assert_int_equal(change, n);
        assert_ok(ctx, copse_insert(index, others, NULL, 3, 0, &change));
        assert_ok(ctx, copse_verify(index));
        assert_ok(ctx, copse_find(index, &key, 1, &value, &found));
        assert_true(found && value == 0);
        assert_ok(ctx, copse_predecessor(index, &others[1], 1, NULL, &value, &found));
        assert_true(found && value == 2); /* the one of the second batch came last */
        assert_ok(ctx, copse_count(index, BETWEEN(&key, &key, 1), &count));
        assert_int_equal(count, n + 1);
        assert_ok(ctx, copse_lower_bound(index, &others[1], 1, NULL, NULL, NULL, &rank));
        assert_int_equal(rank, n + 2);
        assert_ok(ctx, copse_erase(index, &key, 1, &change));
        assert_int_equal(change, n + 1);
        assert_ok(ctx, copse_count(index, BETWEEN(&zero, &top, 1), &count));
        assert_int_equal(count, 2);
        assert_ok(ctx, copse_verify(index));
        copse_index_free(index);
    }
    free(same);
    copse_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_of_equal_keys_wins), cmocka_unit_test(one_key_is_the_whole_batch),
        cmocka_unit_test(duplicates_keep_their_order), cmocka_unit_test(queries_meet_the_right_end_of_a_run),
        cmocka_unit_test(one_key_fills_many_nodes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

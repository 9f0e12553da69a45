/* Mixed batches: every pair of operations on one key, edges of the key range, bad input, one key over and over, and
 * updates that make a tree grow in one place and shrink in another. */
#include "unit.h"
#include "support/ranges.h"

#include "random.h"

enum {
    FIND = COPSE_OP_FIND,
    UPSERT = COPSE_OP_UPSERT,
    ABSENT = COPSE_OP_INSERT_IF_ABSENT,
    ERASE = COPSE_OP_ERASE,
    ADD = COPSE_OP_ADD
};

/* How a key stands; what an operation with this value does to it. */
struct standing {
    bool there;
    uint64_t value;
};

static struct standing after(struct standing key, uint8_t operation, uint64_t value)
{
    if (operation == UPSERT || (operation == ABSENT && !key.there)) return (struct standing){true, value};
    if (operation == ERASE) return (struct standing){false, 0};
    if (operation == ADD) return (struct standing){true, key.value + value};
    return key;
}

static void every_triple_on_one_key(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1);
    FOR_EACH_TREE(tree)
    for (unsigned triple = 0; triple < 125; triple++)
        for (unsigned start = 0; start < 2; start++) {
            copse_index *index = unit_tens(ctx, *tree, 300);
            uint64_t key = start ? 1230 : 1234, keys[] = {key, key, key}, values[] = {71, 72, 73}, got[3];
            uint8_t operations[] = {triple % 5, triple / 5 % 5, (uint8_t)(triple / 25)}, found[3];
            struct standing now = {start == 1, start ? 1231 : 0};
            assert_ok(ctx, copse_apply(index, operations, keys, values, 3, got, found));
            for (int i = 0; i < 3; i++) {
                assert_int_equal(found[i], now.there);
                assert_int_equal(got[i], now.value);
                now = after(now, operations[i], values[i]);
            }
            assert_ok(ctx, copse_find(index, &key, 1, got, found));
            assert_int_equal(found[0], now.there);
            assert_int_equal(got[0], now.value);
            assert_int_equal(copse_size(index), 300 - start + now.there);
            assert_ok(ctx, copse_verify(index));
            copse_index_free(index);
        }
    copse_ctx_free(ctx);
}

/* Keys and values at the limits of their type, and both zeros of a float. */
static void edges(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1);
    FOR_EACH_TREE(tree)
    {
        copse_index *index = unit_index(ctx, *tree, COPSE_U64, COPSE_U64, false);
        const uint64_t keys[] = {0, UINT64_MAX, 0, UINT64_MAX, 0}, values[] = {UINT64_MAX, 0, 5, 6, 7};
        uint64_t got[5];
        uint8_t found[5];
        const uint8_t operations[] = {UPSERT, UPSERT, FIND, ABSENT, ERASE};
        const uint8_t expected_found[] = {0, 0, 1, 1, 1};
        const uint64_t expected[] = {0, 0, UINT64_MAX, 0, UINT64_MAX};
        assert_ok(ctx, copse_apply(index, operations, keys, values, 5, got, found));
        assert_memory_equal(got, expected, sizeof got);
        assert_memory_equal(found, expected_found, sizeof found);
        assert_int_equal(copse_size(index), 1);
        assert_ok(ctx, copse_find(index, &keys[1], 1, got, found));
        assert_true(found[0] == 1 && got[0] == 0);
        copse_index_free(index);

        index = unit_index(ctx, *tree, COPSE_F32, COPSE_I32, false);
        const float zeros[] = {-0.0f, 0.0f};
        const int32_t ones[] = {-1, 1};
        int32_t seen[2];
        const uint8_t both[] = {UPSERT, ERASE};
        assert_ok(ctx, copse_apply(index, both, zeros, ones, 2, seen, found));
        assert_true(found[1] == 1 && seen[1] == -1);
        assert_int_equal(copse_size(index), 0);
        copse_index_free(index);
    }
    copse_ctx_free(ctx);
}

static uint64_t version_of(const copse_index *index)
{
    copse_stats stats = {.struct_size = sizeof stats};
    assert_int_equal(copse_index_stats(index, &stats), COPSE_OK);
    return stats.version;
}

static void nothing_to_do(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1);
    FOR_EACH_TREE(tree)
    for (int duplicates = 0; duplicates <= unit_duplicates(*tree); duplicates++) {
        copse_index *index = unit_index(ctx, *tree, COPSE_U64, COPSE_U64, duplicates);
        assert_ok(ctx, copse_apply(index, NULL, NULL, NULL, 0, NULL, NULL));
        copse_index_free(index);
    }
    FOR_EACH_TREE(tree)
    {
        copse_index *index = unit_tens(ctx, *tree, 1000);
        uint64_t version = version_of(index);
        const uint64_t keys[] = {10, 20, 30, 35, 40}, values[] = {0, 21, 99, 99, 99};
        /* finds what is there, writes what is there, adds what is there, erases what is not there, adds and erases */
        const uint8_t operations[] = {FIND, UPSERT, ABSENT, ERASE, FIND};
        struct unit_content before = unit_content_of(index);
        assert_ok(ctx, copse_apply(index, operations, keys, values, 5, NULL, NULL));
        assert_int_equal(version_of(index), version);
        const uint64_t twice[] = {77, 77};
        const uint8_t there_and_back[] = {UPSERT, ERASE};
        assert_ok(ctx, copse_apply(index, there_and_back, twice, values, 2, NULL, NULL));
        assert_int_equal(version_of(index), version);
        unit_assert_content(ctx, index, before);
        copse_index_free(index);
    }
    copse_ctx_free(ctx);
}

static void bad_input(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1);
    const uint64_t keys[] = {10, 20, 30}, values[] = {1, 2, 3};
    uint64_t got[3];
    uint8_t found[3];
    const uint8_t writes[] = {ERASE, UPSERT, FIND}, absent[] = {FIND, FIND, ABSENT}, reads[] = {ERASE, FIND, ERASE};
    assert_fails_naming(NULL, COPSE_ERR_ARGUMENT, "index", copse_apply(NULL, writes, keys, values, 3, got, found));
    FOR_EACH_TREE(tree)
    {
        copse_index *index = unit_tens(ctx, *tree, 100);
        struct unit_content before = unit_content_of(index);
        uint64_t version = version_of(index);
        assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "operations",
                            copse_apply(index, NULL, keys, values, 3, got, found));
        assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "keys", copse_apply(index, writes, NULL, values, 3, got, found));
        assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "operations[1]",
                            copse_apply(index, writes, keys, NULL, 3, got, found));
        assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "operations[2]",
                            copse_apply(index, absent, keys, NULL, 3, got, found));
        assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "n is",
                            copse_apply(index, writes, keys, values, UINT64_MAX, got, found));
        for (unsigned code = 5; code < 256; code++)
            for (unsigned at = 0; at < 3; at++) {
                uint8_t wrong[] = {ERASE, UPSERT, ABSENT};
                char name[32];
                wrong[at] = (uint8_t)code;
                (void)snprintf(name, sizeof name, "operations[%u] is %u,", at, code);
                assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, name,
                                    copse_apply(index, wrong, keys, values, 3, got, found));
            }
        assert_int_equal(version_of(index), version);
        unit_assert_content(ctx, index, before);
        assert_ok(ctx, copse_apply(index, reads, keys, NULL, 3, got, NULL));
        assert_ok(ctx, copse_apply(index, reads, keys, NULL, 3, NULL, found));
        assert_true(got[0] == 11 && got[1] == 21 && got[2] == 31);
        assert_true(found[0] == 0 && found[1] == 1 && found[2] == 0);
        copse_index_free(index);

        index = unit_index(ctx, *tree, COPSE_F64, COPSE_U64, false);
        double numbers[] = {1, 0, 3};
        uint64_t nan = UINT64_C(0x7ff8000000000001);
        memcpy(&numbers[1], &nan, sizeof nan);
        assert_fails_naming(ctx, COPSE_ERR_NAN, "keys[1]", copse_apply(index, writes, numbers, values, 3, got, found));
        assert_int_equal(copse_size(index), 0);
        copse_index_free(index);
    }
    copse_ctx_free(ctx);
}

/* Sums wrap, signed ones too; a batch that needs values says which operation does. */
static void adds_wrap(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1);
    FOR_EACH_TREE(tree)
    {
        copse_index *index = unit_index(ctx, *tree, COPSE_U64, COPSE_U32, false);
        const uint64_t keys[] = {7, 7, 7, 8, 8, 7};
        const uint32_t values[] = {UINT32_MAX, 2, 5, 3, UINT32_MAX, 0}, seen[] = {0, UINT32_MAX, 1, 0, 3, 6};
        const uint8_t adds[] = {ADD, ADD, ADD, ADD, ADD, FIND}, there[] = {0, 1, 1, 0, 1, 1};
        uint32_t got[6];
        uint8_t found[6];
        assert_ok(ctx, copse_apply(index, adds, keys, values, 6, got, found));
        assert_memory_equal(got, seen, sizeof got);
        assert_memory_equal(found, there, sizeof found);
        assert_ok(ctx, copse_find(index, keys + 3, 1, got, found));
        assert_int_equal(got[0], 2);
        assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "operations[0]",
                            copse_apply(index, adds, keys, NULL, 6, got, found));
        copse_index_free(index);

        index = unit_index(ctx, *tree, COPSE_I32, COPSE_I64, false);
        const int32_t key[] = {-5, -5, -5};
        const int64_t numbers[] = {INT64_MIN, -1, 1};
        int64_t last[3];
        assert_ok(ctx, copse_apply(index, adds, key, numbers, 3, last, NULL));
        assert_true(last[1] == INT64_MIN && last[2] == INT64_MAX);
        assert_ok(ctx, copse_find(index, key, 1, last, NULL));
        assert_true(last[0] == INT64_MIN);
        uint64_t version = version_of(index);
        const int64_t zero = 0;
        assert_ok(ctx, copse_apply(index, adds, key, &zero, 1, NULL, NULL));
        assert_int_equal(version_of(index), version); /* nothing was changed */
        copse_index_free(index);
    }
    copse_ctx_free(ctx);
}

/* Floats are added one after the other, wherever that is; no other order gives these results. A NaN has no payload. */
static void adds_in_order(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1);
    FOR_EACH_TREE(tree)
    {
        copse_index *index = unit_index(ctx, *tree, COPSE_U32, COPSE_F64, false);
        const double big = 9007199254740992.0 /* 2^53: one more is lost */;
        const uint32_t keys[] = {1, 2, 1, 2, 1, 2, 1};
        const double values[] = {big, 1, 1, 1, 1, big, -big}, seen[] = {0, 0, big, 1, big, 2, big};
        const uint8_t adds[] = {ADD, ADD, ADD, ADD, ADD, ADD, ADD};
        double got[7];
        assert_ok(ctx, copse_apply(index, adds, keys, values, 7, got, NULL));
        assert_memory_equal(got, seen, sizeof got);
        assert_ok(ctx, copse_find(index, keys, 2, got, NULL));
        assert_true(got[0] == 0 && got[1] == big + 2);
        copse_index_free(index);

        index = unit_index(ctx, *tree, COPSE_U32, COPSE_F32, false);
        const uint32_t bits[] = {0x7f800001u, 0x3f800000u, 0xffc12345u, 0x80000000u}; /* NaN, 1, -NaN, -0.0 */
        const uint32_t of[] = {1, 1, 2, 3}, more[] = {1, 2, 3};
        const float ones[] = {1, 1, -0.0f};
        uint32_t sums[3];
        assert_ok(ctx, copse_apply(index, adds, of, bits, 4, NULL, NULL));
        assert_ok(ctx, copse_find(index, more, 3, sums, NULL));
        assert_true(sums[0] == 0x7fc00000u && sums[1] == 0xffc12345u && sums[2] == 0x80000000u);
        assert_ok(ctx, copse_apply(index, adds, more, ones, 3, NULL, NULL));
        assert_ok(ctx, copse_find(index, more, 3, sums, NULL));
        assert_true(sums[0] == 0x7fc00000u && sums[1] == 0x7fc00000u && sums[2] == 0x80000000u);
        copse_index_free(index);
    }
    copse_ctx_free(ctx);
}

/* All operations on one key, on ten, on a thousand: each must see what the one before it on its key left. */
static void few_keys(void **state)
{
    (void)state;
    enum { most = 300000 };
    static const uint64_t domains[] = {1, 10, 1000};
    uint64_t *keys = must_malloc(most * sizeof *keys), *values = must_malloc(most * sizeof *values);
    uint64_t *got = must_malloc(most * sizeof *got);
    uint8_t *operations = must_malloc(most), *found = must_malloc(most);
    FOR_EACH_TREE(tree)
    for (size_t turn = 0; turn < 2 * COUNT_OF(domains); turn++) {
        const uint64_t domain = domains[turn / 2], n = unit_fewer(*tree, most, 70000);
        struct standing standing[1000] = {{false, 0}};
        struct random_source random = {turn};
        copse_ctx *ctx = unit_context(turn % 2 ? 4 : 1);
        copse_index *index = unit_tens(ctx, *tree, 5);
        for (uint64_t k = 0; k < 5 && k * 10 < domain; k++) standing[k * 10] = (struct standing){true, k * 10 + 1};
        for (uint64_t i = 0; i < n; i++) {
            keys[i] = random_below(&random, domain);
            values[i] = i;
            operations[i] = (uint8_t)random_below(&random, 4);
        }
        assert_ok(ctx, copse_apply(index, operations, keys, values, n, got, found));
        for (uint64_t i = 0; i < n; i++) {
            struct standing *key = &standing[keys[i]];
            if (found[i] != key->there || got[i] != key->value) fail_msg("operation %llu", (unsigned long long)i);
            *key = after(*key, operations[i], i);
        }
        assert_ok(ctx, copse_verify(index));
        copse_index_free(index);
        copse_ctx_free(ctx);
    }
    free(keys);
    free(values);
    free(got);
    free(operations);
    free(found);
}

/* One batch that empties stretches of the tree and fills others beyond what the leaves there hold, and then the other
 * way round: leaves come and go in the same update. */
static void growing_and_shrinking(void **state)
{
    (void)state;
    enum { stretch = 700, most = 400000 };
    uint64_t *keys = must_malloc(most * sizeof *keys), *values = must_malloc(most * sizeof *values);
    uint8_t *operations = must_malloc(most), *found = must_malloc(most);
    copse_ctx *ctx = unit_context(2);
    FOR_EACH_TREE(tree)
    /* of all stretches: with few, slots move in the table as it is */
    for (uint64_t part = 1; part <= unit_fewer(*tree, 64, 4); part *= 4) {
        const uint64_t entries = unit_fewer(*tree, most / 10, 4 * stretch);
        copse_index *index = unit_tens(ctx, *tree, entries);
        uint64_t sum = 0;
        assert_ok(ctx, copse_sum(index, BETWEEN(&(uint64_t){0}, &(uint64_t){UINT64_MAX}, 1),
                                 &sum)); /* keeps sums from now on */
        for (uint64_t turn = 0; turn < 6; turn++) {
            uint64_t n = 0, expected = 0, size = copse_size(index);
            for (uint64_t key = 0; key < entries * 10; key++) {
                uint64_t number = key / 10 / stretch;
                if (number % part || (key % 10 == 0) != (number / part % 2 == turn % 2)) continue;
                keys[n] = key;
                values[n] = key + 1;
                operations[n++] = key % 10 ? UPSERT : ERASE;
            }
            assert_ok(ctx, copse_apply(index, operations, keys, values, n, NULL, found));
            for (uint64_t i = 0; i < n; i++) size += operations[i] == UPSERT ? !found[i] : -(uint64_t)found[i];
            assert_int_equal(copse_size(index), size);
            assert_ok(ctx, copse_verify(index));
            assert_ok(ctx, copse_sum(index, BETWEEN(&(uint64_t){0}, &(uint64_t){UINT64_MAX}, 1), &sum));
            struct unit_content content = unit_content_of(index);
            for (uint64_t i = 0; i < content.n; i++) {
                assert_int_equal(((uint64_t *)content.values)[i], ((uint64_t *)content.keys)[i] + 1);
                expected += ((uint64_t *)content.values)[i];
            }
            assert_int_equal(sum, expected);
            free(content.keys);
            free(content.values);
            /* then all that was added goes again, and what went comes back */
            for (uint64_t i = 0; i < n; i++) operations[i] = operations[i] == UPSERT ? ERASE : UPSERT;
            assert_ok(ctx, copse_apply(index, operations, keys, values, n, NULL, found));
            assert_int_equal(copse_size(index), entries);
            assert_ok(ctx, copse_verify(index));
        }
        copse_index_free(index);
    }
    copse_ctx_free(ctx);
    free(keys);
    free(values);
    free(operations);
    free(found);
}

/* A batch may take everything away, or all and put something else there. */
static void emptying(void **state)
{
    (void)state;
    enum { n = 2000 };
    copse_ctx *ctx = unit_context(1);
    uint64_t keys[2 * n], values[2 * n];
    uint8_t operations[2 * n];
    for (uint64_t i = 0; i < n; i++) {
        keys[i] = i * 10;
        operations[i] = ERASE;
        keys[n + i] = i * 10 + 5;
        values[n + i] = i;
        operations[n + i] = UPSERT;
    }
    FOR_EACH_TREE(tree)
    {
        copse_index *index = unit_tens(ctx, *tree, n);
        assert_ok(ctx, copse_apply(index, operations, keys, NULL, n, NULL, NULL));
        assert_int_equal(copse_size(index), 0);
        assert_ok(ctx, copse_verify(index));
        assert_ok(ctx, copse_apply(index, operations, keys, values, 2 * n, NULL, NULL));
        assert_int_equal(copse_size(index), n);
        assert_ok(ctx, copse_verify(index));
        copse_index_free(index);
        index = unit_tens(ctx, *tree, n);
        assert_ok(ctx, copse_apply(index, operations, keys, values, 2 * n, NULL, NULL));
        assert_int_equal(copse_size(index), n);
        assert_ok(ctx, copse_verify(index));
        copse_index_free(index);
    }
    copse_ctx_free(ctx);
}

/* One batch in which some keys go, some get other values and some come, among many that nothing happens to. */
static void going_staying_and_coming(void **state)
{
    (void)state;
    enum { entries = 400, n = 90 };
    static uint64_t keys[n], values[n], found_values[n];
    static uint8_t operations[n], found[n];
    copse_ctx *ctx = unit_context(1);
    FOR_EACH_TREE(tree)
    {
        copse_index *index = unit_tens(ctx, *tree, entries);
        for (uint64_t i = 0; i < n; i++) {
            keys[i] = i % 3 == 2 ? i * 40 + 5 : i * 40; /* every third is not there */
            values[i] = 1000000 + i;
            operations[i] = i % 3 == 0 ? COPSE_OP_ERASE : COPSE_OP_UPSERT;
        }
        assert_ok(ctx, copse_apply(index, operations, keys, values, n, NULL, NULL));
        assert_int_equal(copse_size(index), entries);
        assert_ok(ctx, copse_find(index, keys, n, found_values, found));
        for (uint64_t i = 0; i < n; i++) {
            assert_int_equal(found[i], i % 3 != 0);
            if (found[i]) assert_int_equal(found_values[i], values[i]);
        }
        assert_ok(ctx, copse_verify(index));
        copse_index_free(index);
    }
    copse_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_triple_on_one_key),
        cmocka_unit_test(edges),
        cmocka_unit_test(nothing_to_do),
        cmocka_unit_test(bad_input),
        cmocka_unit_test(adds_wrap),
        cmocka_unit_test(adds_in_order),
        cmocka_unit_test(few_keys),
        cmocka_unit_test(growing_and_shrinking),
        cmocka_unit_test(emptying),
        cmocka_unit_test(going_staying_and_coming),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

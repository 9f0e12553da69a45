/* Packing the B-link and the B+ tree together with a batch: batches that spread evenly, which go tile by tile, and those
 * that do not; leaves with others behind them; batches larger than the tree; equal keys; nothing left. */
#include "unit.h"

#include "trees/blink/tree.h"
#include "trees/blink/update/strategies.h"
#include "placed.h"
#include "random.h"

#define KEYS 6000
/* Keys of this part come late, all at once. */
#define LATE_FIRST 2000
#define LATE_END   3500

static const struct unit_tree trees[] = {
    {COPSE_STRUCTURE_BLINK, COPSE_PLACEMENT_EMULATED},
    {COPSE_STRUCTURE_BPLUS, COPSE_PLACEMENT_EMULATED},
};
static const copse_type key_types[] = {COPSE_U32, COPSE_U64, COPSE_F32, COPSE_I64};
static const copse_type value_types[] = {COPSE_U32, COPSE_U64};

/* An index and what it should hold: of all keys that there may be, in order, which are there and with what value. */
struct subject {
    copse_ctx *ctx;
    copse_index *index;
    copse_type key_type, value_type;
    struct random_source random;
    uint64_t codes[KEYS];
    bool there[KEYS];
    uint64_t values[KEYS];
    uint64_t entries;
};

enum action { UPSERT, ABSENT, ERASE };

/* Keys all over the range of the type, both its ends among them. */
static struct subject *subject_new(struct unit_tree tree, copse_type key_type, copse_type value_type)
{
    struct subject *s = must_malloc(sizeof *s);
    const uint64_t low = typed_lowest_code(key_type), high = typed_highest_code(key_type);
    memset(s, 0, sizeof *s);
    s->ctx = unit_context(1);
    s->index = unit_index(s->ctx, tree, key_type, value_type, false);
    s->key_type = key_type;
    s->value_type = value_type;
    s->random.state = (uint64_t)key_type * 100 + (uint64_t)value_type;
    for (uint64_t i = 0; i < KEYS; i++) s->codes[i] = i == KEYS - 1 ? high : low + (high - low) / KEYS * i;
    return s;
}

static void subject_free(struct subject *s)
{
    copse_index_free(s->index);
    copse_ctx_free(s->ctx);
    free(s);
}

/* What one operation does to the content; returns how many entries come or go. */
static uint64_t subject_play(struct subject *s, uint64_t at, uint64_t value, enum action action)
{
    const bool was = s->there[at];
    if (action == ERASE ? !was : action == ABSENT && was) return 0;
    s->there[at] = action != ERASE;
    s->values[at] = action == ERASE ? 0 : value;
    if (was == s->there[at]) return 0;
    s->entries += s->there[at] ? 1 : UINT64_MAX;
    return 1;
}

static void subject_check(const struct subject *s)
{
    struct unit_content expected = {0, typed_size(s->key_type), typed_size(s->value_type), typed_new(s->key_type, KEYS),
                                    typed_new(s->value_type, KEYS)};
    for (uint64_t i = 0; i < KEYS; i++) {
        if (!s->there[i]) continue;
        typed_set_code(s->key_type, expected.keys, expected.n, s->codes[i]);
        typed_set_bits(s->value_type, expected.values, expected.n++, s->values[i]);
    }
    assert_int_equal(expected.n, s->entries);
    unit_assert_content(s->ctx, s->index, expected);
}

/* n operations on keys first .. end - 1, each `step` behind the one before; 0: drawn at random, so that some are equal. */
static void change(struct subject *s, enum action action, uint64_t n, uint64_t first, uint64_t end, uint64_t step)
{
    void *keys = typed_new(s->key_type, n), *values = typed_new(s->value_type, n);
    uint64_t expected = 0, changed = UINT64_MAX, at = first;
    for (uint64_t i = 0; i < n; i++, at += step) {
        if (step == 0) at = first + random_below(&s->random, end - first);
        const uint64_t value = random_next(&s->random) >> (64 - 8 * typed_size(s->value_type));
        typed_set_code(s->key_type, keys, i, s->codes[at]);
        typed_set_bits(s->value_type, values, i, value);
        expected += subject_play(s, at, value, action);
    }
    if (action == ERASE)
        assert_ok(s->ctx, copse_erase(s->index, keys, n, &changed));
    else
        assert_ok(s->ctx, copse_insert(s->index, keys, values, n,
                                       action == ABSENT ? COPSE_INSERT_IF_ABSENT : COPSE_INSERT_UPSERT, &changed));
    assert_int_equal(changed, expected);
    subject_check(s);
    free(keys);
    free(values);
}

/* --- what may come ------------------------------------------------------------------------------------------------------- */

/* Every third key but the late ones. */
static void start(struct subject *s)
{
    change(s, UPSERT, LATE_FIRST / 3, 0, LATE_FIRST, 3);
    change(s, UPSERT, (KEYS - LATE_END) / 3, LATE_END, KEYS, 3);
}

static void even_batches(struct subject *s)
{
    start(s);
    change(s, UPSERT, 1000, LATE_END, KEYS, 0);
    change(s, ABSENT, 1000, 0, LATE_FIRST, 0);
    change(s, ERASE, 1200, 0, KEYS, 0);
    change(s, ABSENT, 1500, 0, KEYS, 1);
    change(s, ERASE, KEYS / 2, 0, KEYS, 2);
    change(s, UPSERT, 3000, 0, KEYS, 0);
}

/* Splits first, so that base_leaves have several leaves each. */
static void leaves_behind_others(struct subject *s)
{
    start(s);
    for (unsigned i = 0; i < 4; i++) change(s, UPSERT, s->entries / 10, 0, LATE_FIRST, 0);
    change(s, UPSERT, 150, LATE_FIRST, LATE_FIRST + 150, 1);
    change(s, UPSERT, 150, LATE_FIRST + 150, LATE_FIRST + 300, 1);
    change(s, ERASE, s->entries / 2, 0, KEYS, 0);
    for (unsigned i = 0; i < 4; i++) change(s, ABSENT, s->entries / 10, LATE_END, KEYS, 0);
    change(s, UPSERT, s->entries, 0, KEYS, 0);
}

/* Splits and erasures in the same few base_leaves: more leaves than a tile may have, though few entries. */
static void many_leaves(struct subject *s)
{
    start(s);
    const uint64_t end = 16 * copse_blink_packed_two(s->index) / 2 * 3; /* keys of 16 base_leaves */
    for (unsigned i = 0; i < 10; i++) change(s, UPSERT, 120, 0, end, 0);
    for (unsigned i = 0; i < 5; i++) change(s, ERASE, 120, 0, end, 0);
    change(s, UPSERT, s->entries / 8 + 100, 0, KEYS, 0);
}

/* All in one place: too much for a tile of many base_leaves, then of few. */
static void crowds(struct subject *s)
{
    start(s);
    change(s, UPSERT, 700, LATE_FIRST, LATE_END, 1);
    change(s, ABSENT, LATE_END - LATE_FIRST, LATE_FIRST, LATE_END, 1);
    change(s, ERASE, LATE_END - LATE_FIRST, LATE_FIRST, LATE_END, 1);
    change(s, UPSERT, KEYS - LATE_FIRST, LATE_FIRST, KEYS, 1);
}

static void nothing_left(struct subject *s)
{
    change(s, UPSERT, 3, 0, KEYS, 0);
    change(s, ERASE, 3, 0, 3, 1);
    change(s, UPSERT, KEYS, 0, KEYS, 1);
    change(s, ERASE, KEYS, 0, KEYS, 1);
    change(s, ERASE, KEYS, 0, KEYS, 1);
    change(s, UPSERT, 200, KEYS - 200, KEYS, 1);
    change(s, UPSERT, KEYS, 0, KEYS, 0);
}

/* A frozen handle holds the old epoch, so that few operations rebuild a large tree. */
static void few_operations(struct subject *s)
{
    start(s);
    static const enum action actions[] = {UPSERT, ABSENT, ERASE};
    for (unsigned i = 0; i < 6; i++) {
        copse_index *frozen = NULL;
        struct unit_content before = unit_content_of(s->index);
        assert_ok(s->ctx, copse_freeze(s->index, s->ctx, &frozen));
        change(s, actions[i % 3], i < 3 ? 1 : 20, i == 0 ? KEYS - 1 : 0, KEYS, 0);
        unit_assert_content(s->ctx, frozen, before);
        copse_index_free(frozen);
    }
}

static void each_pair_of_widths(void (*play)(struct subject *s))
{
    for (size_t t = 0; t < COUNT_OF(trees); t++)
        for (size_t k = 0; k < COUNT_OF(key_types); k++) {
            struct subject *s = subject_new(trees[t], key_types[k], value_types[(k + k / 2) % 2]);
            play(s);
            subject_free(s);
        }
}

static void test_even_batches(void **state)
{
    (void)state;
    each_pair_of_widths(even_batches);
}

static void test_leaves_behind_others(void **state)
{
    (void)state;
    each_pair_of_widths(leaves_behind_others);
}

static void test_many_leaves(void **state)
{
    (void)state;
    each_pair_of_widths(many_leaves);
}

static void test_crowds(void **state)
{
    (void)state;
    each_pair_of_widths(crowds);
}

static void test_nothing_left(void **state)
{
    (void)state;
    each_pair_of_widths(nothing_left);
}

static void test_few_operations(void **state)
{
    (void)state;
    each_pair_of_widths(few_operations);
}

/* --- equal keys ------------------------------------------------------------------------------------------------------------- */

/* Sorted operations in device memory, in runs of up to four on one key; the first or the last of a run counts. */
static copse_blink_operations runs_make(struct subject *s, uint32_t last_wins, uint64_t n, uint64_t *expected)
{
    uint64_t *keys = must_malloc(n * sizeof *keys), *values = must_malloc(n * sizeof *values);
    uint8_t *gone = must_malloc(n);
    void *memory[3] = {NULL, NULL, NULL};
    copse_device *device = s->index->device;
    *expected = 0;
    for (uint64_t i = 0, at = 0; i < n; at += 1 + random_below(&s->random, 3)) {
        const uint64_t run = 1 + random_below(&s->random, 4), end = i + run < n ? i + run : n;
        const uint64_t counts = last_wins ? end - 1 : i;
        for (; i < end; i++) {
            keys[i] = s->codes[at % KEYS];
            values[i] = random_next(&s->random);
            gone[i] = (uint8_t)random_below(&s->random, 2);
            if (i == counts) *expected += subject_play(s, at, values[i], gone[i] ? ERASE : UPSERT);
        }
    }
    const void *from[3] = {keys, values, gone};
    for (unsigned i = 0; i < 3; i++) {
        const uint64_t bytes = i == 2 ? n : n * sizeof *keys;
        assert_ok(s->ctx, copse_device_alloc(device, device->main, bytes, "a test", &memory[i]));
        assert_ok(s->ctx, copse_device_copy(device, device->main, memory[i], from[i], bytes));
    }
    assert_ok(s->ctx, copse_device_wait(device, device->main));
    free(keys);
    free(values);
    free(gone);
    return (copse_blink_operations){
        .keys = memory[0], .values = memory[1], .gone = memory[2], .last_wins = last_wins, .n = n};
}

static void test_runs_of_equal_keys(void **state)
{
    (void)state;
    const uint64_t n = 2500;
    for (size_t t = 0; t < COUNT_OF(trees); t++)
        for (uint32_t last_wins = 0; last_wins < 2; last_wins++) {
            struct subject *s = subject_new(trees[t], COPSE_U64, COPSE_U64);
            copse_device *device = s->index->device;
            start(s);
            uint64_t expected, changed = UINT64_MAX;
            copse_blink_operations operations = runs_make(s, last_wins, n, &expected);
            assert_ok(s->ctx, copse_blink_run(s->index, &operations, 0, UINT64_MAX, &changed));
            assert_int_equal(changed, expected);
            subject_check(s);
            copse_device_free(device, device->main, (void *)operations.keys, n * sizeof(uint64_t));
            copse_device_free(device, device->main, (void *)operations.values, n * sizeof(uint64_t));
            copse_device_free(device, device->main, (void *)operations.gone, n);
            subject_free(s);
        }
}

/* --- ends and orders ---------------------------------------------------------------------------------------------------------- */

/* Whatever is left, the last leaf is right: full or not, of an even or an odd number. */
static void last_leaves(struct subject *s)
{
    const uint64_t two = copse_blink_packed_two(s->index), many = 20 * two;
    for (uint64_t left = 1; left <= 2 * two + 1; left++) {
        change(s, UPSERT, many, 0, many, 1);
        change(s, ERASE, many - left, 0, many - left, 1);
    }
}

static void test_last_leaves(void **state)
{
    (void)state;
    each_pair_of_widths(last_leaves);
}

/* Many tiles, some of them without entries, that learn their ranks in whatever order they come. The first has so many equal keys
 * that the others are through before it is, and have to look far back. */
static void ranks_in_some_order(copse_ctx *ctx, struct unit_tree tree, copse_type type, uint64_t n)
{
    enum { equals = 1500 };
    copse_index *index = unit_index(ctx, tree, type, type, false);
    struct unit_content all = {0, typed_size(type), typed_size(type), typed_new(type, 2 * n), typed_new(type, 2 * n)};
    void *keys = typed_new(type, 2 * n), *values = typed_new(type, 2 * n);
    const uint64_t come = (n + 3) / 4, go = n / 2 - n / 4;
    uint64_t changed;
    for (uint64_t i = 0; i < n; i++) {
        typed_set_bits(type, keys, i, 3 * i);
        typed_set_bits(type, values, i, i);
    }
    assert_ok(ctx, copse_build(index, keys, values, n));
    for (uint64_t i = 0; i < equals + come; i++) {
        typed_set_bits(type, keys, i, i < equals ? 1 : 12 * (i - equals) + 1);
        typed_set_bits(type, values, i, i);
    }
    assert_ok(ctx, copse_insert(index, keys, values, equals + come, COPSE_INSERT_UPSERT, &changed));
    assert_int_equal(changed, come);
    for (uint64_t i = 0; i < go; i++) typed_set_bits(type, keys, i, 3 * (n / 4 + i));
    assert_ok(ctx, copse_erase(index, keys, go, &changed));
    assert_int_equal(changed, go);
    for (uint64_t i = 0; i < n; i++) {
        const bool stays = i < n / 4 || i >= n / 2;
        if (stays) typed_set_bits(type, all.keys, all.n, 3 * i);
        if (stays) typed_set_bits(type, all.values, all.n++, i);
        if (i % 4 == 0) typed_set_bits(type, all.keys, all.n, 3 * i + 1);
        if (i % 4 == 0) typed_set_bits(type, all.values, all.n++, equals + i / 4);
    }
    unit_assert_content(ctx, index, all);
    free(keys);
    free(values);
    copse_index_free(index);
}

static void test_ranks_in_any_order(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(8); /* so that more than 32 tiles are on their way at a time */
    copse_device *device = placed_device(ctx, COPSE_PLACEMENT_EMULATED);
    const uint64_t kept = device->seed;
    device->seed = 0;
    ranks_in_some_order(ctx, trees[0], COPSE_U32, 30000);
    device->seed = 3;
    ranks_in_some_order(ctx, trees[0], COPSE_U64, 12000);
    device->seed = 4;
    ranks_in_some_order(ctx, trees[1], COPSE_U32, 24000);
    device->seed = kept;
    copse_ctx_free(ctx);
}

/* --- memory --------------------------------------------------------------------------------------------------------------------- */

/* A version with room for whatever a batch may bring need not fit where one for what it does bring does. */
static void test_room_for_what_comes(void **state)
{
    (void)state;
    enum { n = 2000 };
    copse_ctx *ctx = unit_context(1);
    copse_device *device = placed_device(ctx, COPSE_PLACEMENT_EMULATED);
    bool spared = false;
    for (int64_t left = 0; left < 100; left++) {
        copse_index *index = unit_tens(ctx, trees[left % 2], n);
        struct unit_content before = unit_content_of(index);
        uint64_t changed = UINT64_MAX;
        device->allocations_left = left;
        const copse_status status =
            copse_insert(index, before.keys, before.values, n / 2, COPSE_INSERT_UPSERT, &changed);
        const bool failed = device->allocations_left < 0;
        device->allocations_left = -1;
        assert_true(status == COPSE_OK || (failed && status == COPSE_ERR_MEMORY));
        if (status == COPSE_OK) assert_int_equal(changed, 0);
        spared |= failed && status == COPSE_OK;
        unit_assert_content(ctx, index, before);
        copse_index_free(index);
        if (!failed) break;
        assert_true(left < 99);
    }
    assert_true(spared);
    copse_ctx_free(ctx);
}

/* An index with duplicates: every pair stays, and an erased key takes all of its entries. */
static void test_duplicates(void **state)
{
    (void)state;
    enum { n = 2000, keys_of = 500 };
    for (size_t t = 0; t < COUNT_OF(trees); t++) {
        copse_ctx *ctx = unit_context(1);
        copse_index *index = unit_index(ctx, trees[t], COPSE_U32, COPSE_U32, true);
        uint32_t keys[n], values[n];
        uint64_t changed;
        struct unit_content expected = {2 * n, 4, 4, typed_new(COPSE_U32, 2 * n), typed_new(COPSE_U32, 2 * n)};
        for (uint32_t i = 0; i < n; i++) {
            keys[i] = i / 4;
            values[i] = i;
        }
        for (uint32_t i = 0; i < 2 * n; i++) {
            ((uint32_t *)expected.keys)[i] = i / 8;
            ((uint32_t *)expected.values)[i] = i / 8 * 4 + i % 4;
        }
        assert_ok(ctx, copse_insert(index, keys, values, n, COPSE_INSERT_UPSERT, &changed));
        assert_ok(ctx, copse_insert(index, keys, values, n, COPSE_INSERT_UPSERT, &changed));
        assert_int_equal(changed, n);
        unit_assert_content(ctx, index, expected);
        for (uint32_t i = 0; i < keys_of; i++) keys[i] = i;
        assert_ok(ctx, copse_erase(index, keys, keys_of - 1, &changed));
        assert_int_equal(changed, 2 * n - 8);
        assert_ok(ctx, copse_verify(index));
        copse_index_free(index);
        copse_ctx_free(ctx);
    }
}

/* Of `n` sorted pairs and `more` others the ones that are put in behind their equals. */
static void merge_behind(uint64_t *keys, uint64_t *values, uint64_t n, const uint64_t *more_keys,
                         const uint64_t *more_values, uint64_t more)
{
    for (uint64_t i = 0; i < more; i++, n++) {
        uint64_t at = n;
        for (; at > 0 && keys[at - 1] > more_keys[i]; at--) {
            keys[at] = keys[at - 1];
            values[at] = values[at - 1];
        }
        keys[at] = more_keys[i];
        values[at] = more_values[i];
    }
}

/* Keys that repeat so often that they fill whole tiles, 0 and the largest among them: batches go tile by tile, each entry behind its
 * equals. Those that are to be absent find theirs in the first of these tiles. */
static void test_equals_fill_tiles(void **state)
{
    (void)state;
    enum { first = 3000, batch = 250, rounds = 4, all = first + batch * rounds };
    static const uint64_t often[] = {0, 77, 1u << 20, (1u << 20) + 1, UINT64_MAX - 1, UINT64_MAX};
    assert_int_equal(setenv("COPSE_BLINK_STRATEGY", "lookback-rebuild", 1), 0); /* blink would take them in place */
    for (size_t t = 0; t < COUNT_OF(trees); t++) {
        struct random_source random = {t + 1};
        copse_ctx *ctx = unit_context(1);
        copse_index *index = unit_index(ctx, trees[t], COPSE_U64, COPSE_U64, true);
        struct unit_content expected = {0, 8, 8, typed_new(COPSE_U64, all), typed_new(COPSE_U64, all)};
        uint64_t *keys = typed_new(COPSE_U64, first), *values = typed_new(COPSE_U64, first), changed;
        for (unsigned round = 0; round <= rounds; round++) {
            const uint64_t n = round ? batch : first;
            for (uint64_t i = 0; i < n; i++) {
                keys[i] = random_below(&random, 2) ? often[random_below(&random, COUNT_OF(often))]
                                                   : random_below(&random, 1u << 21);
                values[i] = round * 10000 + i;
            }
            assert_ok(ctx, copse_insert(index, keys, values, n, COPSE_INSERT_UPSERT, &changed));
            assert_int_equal(changed, n);
            if (round) assert_string_equal(copse_blink_handle_of(index)->tree->last->name, "lookback-rebuild");
            merge_behind(expected.keys, expected.values, expected.n, keys, values, n);
            expected.n += n;
        }
        assert_ok(ctx, copse_insert(index, often, often, COUNT_OF(often), COPSE_INSERT_IF_ABSENT, &changed));
        assert_int_equal(changed, 0);
        unit_assert_content(ctx, index, expected);
        free(keys);
        free(values);
        copse_index_free(index);
        copse_ctx_free(ctx);
    }
    (void)unsetenv("COPSE_BLINK_STRATEGY");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_even_batches),        cmocka_unit_test(test_leaves_behind_others),
        cmocka_unit_test(test_many_leaves),         cmocka_unit_test(test_crowds),
        cmocka_unit_test(test_nothing_left),        cmocka_unit_test(test_few_operations),
        cmocka_unit_test(test_runs_of_equal_keys),  cmocka_unit_test(test_duplicates),
        cmocka_unit_test(test_last_leaves),         cmocka_unit_test(test_ranks_in_any_order),
        cmocka_unit_test(test_room_for_what_comes), cmocka_unit_test(test_equals_fill_tiles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

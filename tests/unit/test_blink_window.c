/*
 * Windows that slide over a B-link tree: entries come behind all others and the oldest go, by range. Memory stays flat, and the work of a
 * step follows its size, not what went before. And erasing by ranges in place: ranges that share leaves, chains, duplicates, views.
 */
#include "unit.h"

#include "blink_batches.h"
#include "simt/emulator.h"
#include "trees/blink/tree.h"

#include <stdlib.h>

static const struct unit_tree blink = {COPSE_STRUCTURE_BLINK, COPSE_PLACEMENT_EMULATED};

static const copse_blink_epoch *epoch_of(const copse_index *index)
{
    return copse_blink_handle_of(index)->tree->current;
}

static uint64_t bytes_of(const copse_index *index)
{
    copse_stats stats = {.struct_size = sizeof stats};
    assert_int_equal(copse_index_stats(index, &stats), COPSE_OK);
    return stats.bytes;
}

/* Keys first .. first + n - 1 come. */
static void come(copse_ctx *ctx, copse_index *index, uint64_t first, uint64_t n)
{
    uint64_t *keys = must_malloc(n * sizeof *keys), inserted = 0;
    for (uint64_t i = 0; i < n; i++) keys[i] = first + i;
    assert_ok(ctx, copse_insert(index, keys, keys, n, COPSE_INSERT_UPSERT, &inserted));
    assert_int_equal(inserted, n);
    free(keys);
}

/* All keys up to `last` go. */
static void go(copse_ctx *ctx, copse_index *index, uint64_t last, uint64_t n)
{
    uint64_t erased = 0;
    assert_ok(ctx, copse_erase_range(index, &(copse_ranges)COPSE_BETWEEN(NULL, &last, 1), &erased));
    assert_int_equal(erased, n);
}

static uint64_t turns;

static void count_turns(const copse_kernel *kernel)
{
    (void)kernel;
    turns++;
}

/* A thousand steps. Turns of lanes in the emulator are what its work is counted in. */
static void a_thousand_steps(void **state)
{
    (void)state;
    enum { all = 4000, step = 20, steps = 1000, settled = 100 };
    uint64_t early = 0, late = 0, most = 0, sum = 0, rebuilt = 0;
    assert_int_equal(setenv("COPSE_SIMT_SEED", "3", 1), 0);
    copse_ctx *ctx = unit_context(1);
    copse_index *index = unit_index(ctx, blink, COPSE_U64, COPSE_U64, false);
    assert_int_equal(unsetenv("COPSE_SIMT_SEED"), 0);
    come(ctx, index, 1, all);
    for (uint64_t i = 0; i < steps; i++) {
        const copse_blink_epoch *before = epoch_of(index);
        come(ctx, index, all + 1 + i * step, step);
        turns = 0;
        copse_emulator_between_turns = count_turns;
        go(ctx, index, (i + 1) * step, step);
        copse_emulator_between_turns = NULL;
        const bool other = epoch_of(index) != before;
        rebuilt += other;
        if (!other && turns > most) most = turns;
        if (!other) sum += turns;
        if (epoch_of(index)->view.entries != all) fail_msg("step %d", (int)i);
        assert_true(epoch_of(index)->low > i * step); /* the next step begins where this one ended */
        const uint64_t bytes = bytes_of(index);
        if (i < settled && bytes > early) early = bytes;
        if (i >= settled && bytes > late) late = bytes;
        if (i % 250 == 249) assert_ok(ctx, copse_verify(index));
    }
    assert_true(rebuilt > 2 && rebuilt < steps / 4 && sum > 0);
    if (late > early + early / 8)
        fail_msg("%llu bytes, then %llu", (unsigned long long)early, (unsigned long long)late);
    if (most > 4 * (sum / (steps - rebuilt)))
        fail_msg("%llu turns at most, %llu on average", (unsigned long long)most,
                 (unsigned long long)(sum / (steps - rebuilt)));
    copse_index_free(index);
    copse_ctx_free(ctx);
}

/* Everything goes, and new keys come, smaller and greater ones. */
static void until_nothing_is_left(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1);
    copse_index *index = unit_index(ctx, blink, COPSE_U64, COPSE_U64, false);
    for (uint64_t n = 10; n < 10000; n *= 9) {
        come(ctx, index, 1000000, n);
        go(ctx, index, UINT64_MAX, n);
        assert_int_equal(copse_size(index), 0);
        go(ctx, index, UINT64_MAX, 0);
        come(ctx, index, 5, n);
        come(ctx, index, 5000000, n);
        go(ctx, index, 5 + n / 2, n / 2 + 1);
        come(ctx, index, 1, 3); /* below what has gone */
        go(ctx, index, 2, 2);
        go(ctx, index, UINT64_MAX, 2 * n - n / 2);
        assert_ok(ctx, copse_verify(index));
    }
    copse_index_free(index);
    copse_ctx_free(ctx);
}

/* Ranges that begin and end anywhere in the leaves, several in one of them, with and without crowds, duplicates and a view. */
static void ranges_of_all_sizes(void **state)
{
    (void)state;
    enum { all = 3000, most = 40 };
    struct random_source random = {11};
    for (int turn = 0; turn < 24; turn++) {
        const bool duplicates = turn % 3 == 1, crowds = turn % 4 == 2 && !duplicates;
        copse_ctx *ctx = unit_context(1), *other = unit_context(1);
        copse_index *index = unit_index(ctx, blink, COPSE_U64, COPSE_U64, duplicates), *view = NULL;
        uint64_t lows[most], highs[most], keys[all], erased = 0, expected = 0, left = 0,
                                                     n = 1 + random_below(&random, most);
        for (uint64_t i = 0; i < all; i++)
            keys[i] = duplicates ? i / 5 * 40 : crowds && i > all / 2 ? 12001 + i - all / 2 : i * 8;
        assert_ok(ctx, copse_build(index, keys, NULL, all / 2));
        if (turn % 2) assert_ok(other, copse_index_view(index, other, &view));
        assert_ok(ctx, copse_insert(index, keys + all / 2, NULL, all - all / 2, COPSE_INSERT_UPSERT, NULL));
        const uint64_t before = copse_size(index), width = turn < 12 ? 30 : 900;
        for (uint64_t r = 0; r < n; r++) {
            lows[r] = random_below(&random, 24000);
            highs[r] = lows[r] + random_below(&random, width);
        }
        for (uint64_t i = 0; i < all; i++)
            for (uint64_t r = 0; r < n; r++)
                if (keys[i] >= lows[r] && keys[i] <= highs[r]) {
                    expected++;
                    break;
                }
        assert_int_equal(before, all);
        assert_ok(ctx, copse_erase_range(index, &(copse_ranges)COPSE_BETWEEN(lows, highs, n), &erased));
        assert_int_equal(erased, expected);
        assert_ok(ctx, copse_verify(index));
        uint64_t counts[most];
        assert_ok(ctx, copse_count(index, &(copse_ranges)COPSE_BETWEEN(lows, highs, n), counts));
        for (uint64_t r = 0; r < n; r++) left += counts[r];
        assert_int_equal(left, 0);
        if (view) assert_int_equal(copse_size(view), all - expected);
        copse_index_free(view);
        copse_index_free(index);
        copse_ctx_free(other);
        copse_ctx_free(ctx);
    }
}

/* Turns that a range takes which has `n` entries. */
static uint64_t turns_of_range(copse_ctx *ctx, copse_index *index, uint64_t low, uint64_t high, uint64_t n)
{
    uint64_t offsets[2], *keys = must_malloc(n * sizeof *keys);
    copse_rows rows = COPSE_ROWS_INIT;
    rows.offsets = offsets;
    rows.keys = keys;
    rows.capacity = n;
    turns = 0;
    copse_emulator_between_turns = count_turns;
    assert_ok(ctx, copse_range(index, &(copse_ranges)COPSE_BETWEEN(&low, &high, 1), &rows));
    copse_emulator_between_turns = NULL;
    assert_int_equal(offsets[1], n);
    assert_int_equal(keys[0], low);
    assert_int_equal(keys[n - 1], high);
    for (uint64_t i = 1; i < n; i++) assert_true(keys[i] > keys[i - 1]);
    free(keys);
    return turns;
}

/* A range over a stretch of leaves without entries does not pass along them. */
static void over_an_empty_stretch(void **state)
{
    (void)state;
    assert_int_equal(setenv("COPSE_SIMT_SEED", "5", 1), 0);
    copse_ctx *ctx = unit_context(1);
    copse_index *index = unit_index(ctx, blink, COPSE_U64, COPSE_U64, false);
    assert_int_equal(unsetenv("COPSE_SIMT_SEED"), 0);
    const uint64_t low = 4001, high = 11000;
    uint64_t erased = 0;
    come(ctx, index, 1, 20000);
    const copse_blink_epoch *built = epoch_of(index);
    assert_ok(ctx, copse_erase_range(index, &(copse_ranges)COPSE_BETWEEN(&low, &high, 1), &erased));
    assert_int_equal(erased, 7000);
    assert_ptr_equal(epoch_of(index), built);
    (void)turns_of_range(ctx, index, 1, 100, 100); /* makes running sums */
    const uint64_t usual = turns_of_range(ctx, index, 12901, 13100, 200);
    const uint64_t over = turns_of_range(ctx, index, 3901, 11100, 200);
    assert_true(usual > 0);
    if (over > 2 * usual) fail_msg("%llu turns, usually %llu", (unsigned long long)over, (unsigned long long)usual);
    copse_index_free(index);
    copse_ctx_free(ctx);
}

/* A frozen handle keeps what it shows. */
static void beside_a_frozen_handle(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1), *other = unit_context(1);
    copse_index *index = unit_index(ctx, blink, COPSE_U64, COPSE_U64, false), *frozen = NULL;
    come(ctx, index, 1, 1000);
    assert_ok(other, copse_freeze(index, other, &frozen));
    go(ctx, index, 400, 400);
    assert_int_equal(copse_size(frozen), 1000);
    assert_ok(other, copse_verify(frozen));
    copse_index_free(frozen);
    go(ctx, index, 500, 100);
    assert_ok(ctx, copse_verify(index));
    copse_index_free(index);
    copse_ctx_free(other);
    copse_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thousand_steps),       cmocka_unit_test(until_nothing_is_left),
        cmocka_unit_test(ranges_of_all_sizes),    cmocka_unit_test(over_an_empty_stretch),
        cmocka_unit_test(beside_a_frozen_handle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

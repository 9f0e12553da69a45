/* Erasing by ranges: what it takes and refuses, what is left, and windows that slide for long. The differential tester compares the
 * answers with the model's. */
#include "support/ranges.h"
#include "support/unit.h"

#include <math.h>

#include "random.h"

/* --- arguments -------------------------------------------------------------------------------------------------------- */

static void bad_arguments_change_nothing(void **state)
{
    (void)state;
    FOR_EACH_TREE(tree)
    {
        copse_ctx *ctx = unit_context(1);
        copse_index *index = unit_tens(ctx, *tree, 100);
        struct unit_content before = unit_content_of(index);
        uint64_t low = 10, high = 30, erased = 7;
        copse_ranges ranges = COPSE_BETWEEN(&low, &high, 1);
        assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "ranges", copse_erase_range(index, NULL, &erased));
        assert_int_equal(erased, 0);
        ranges.flags = 16;
        assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "flags", copse_erase_range(index, &ranges, NULL));
        ranges.flags = 0;
        ranges.limit = 2;
        assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "copse_erase_range: ranges->limit is 2",
                            copse_erase_range(index, &ranges, NULL));
        ranges.limit = 0;
        ranges.struct_size = 3;
        assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "struct_size", copse_erase_range(index, &ranges, NULL));
        unit_assert_content(ctx, index, before);
        copse_index_free(index);
        copse_ctx_free(ctx);
    }
}

static void nan_is_refused_by_its_place(void **state)
{
    (void)state;
    FOR_EACH_TREE(tree)
    for (int filled = 0; filled < 2; filled++) {
        copse_ctx *ctx = unit_context(1);
        copse_index *index = unit_index(ctx, *tree, COPSE_F64, COPSE_U32, false);
        const double keys[] = {-INFINITY, -1, 0, 1, INFINITY};
        double lows[] = {-1, 0, -2}, highs[] = {1, NAN, 2};
        uint64_t erased = 0;
        assert_ok(ctx, copse_build(index, keys, NULL, filled ? COUNT_OF(keys) : 0));
        struct unit_content before = unit_content_of(index);
        assert_fails_naming(ctx, COPSE_ERR_NAN, "highs[1]", copse_erase_range(index, BETWEEN(lows, highs, 3), &erased));
        assert_fails_naming(ctx, COPSE_ERR_NAN, "highs[1]", copse_erase_range(index, BETWEEN(NULL, highs, 3), &erased));
        lows[2] = NAN;
        assert_fails_naming(ctx, COPSE_ERR_NAN, "lows[2]", copse_erase_range(index, BETWEEN(lows, highs, 3), &erased));
        copse_ranges open = COPSE_BETWEEN(lows, NULL, 3);
        open.flags = COPSE_RANGE_LOW_OPEN;
        assert_fails_naming(ctx, COPSE_ERR_NAN, "lows[2]", copse_erase_range(index, &open, &erased));
        copse_error_info info = {.struct_size = sizeof info};
        assert_ok(ctx, copse_last_error_info(ctx, &info));
        assert_string_equal(info.argument, "lows");
        assert_int_equal(info.position, 2);
        unit_assert_content(ctx, index, before);
        lows[0] = -INFINITY; /* infinities are numbers */
        highs[0] = INFINITY;
        assert_ok(ctx, copse_erase_range(index, BETWEEN(lows, highs, 1), &erased));
        assert_int_equal(erased, filled ? COUNT_OF(keys) : 0);
        copse_index_free(index);
        copse_ctx_free(ctx);
    }
}

/* --- what goes -------------------------------------------------------------------------------------------------------- */

static uint64_t erase_one(copse_index *index, uint32_t flags, const uint64_t *low, const uint64_t *high)
{
    copse_ranges ranges = COPSE_BETWEEN(low, high, 1);
    uint64_t erased = 77;
    ranges.flags = flags;
    assert_int_equal(copse_erase_range(index, &ranges, &erased), COPSE_OK);
    return erased;
}

static void ends_mean_what_they_mean_to_reads(void **state)
{
    (void)state;
    FOR_EACH_TREE(tree)
    {
        copse_ctx *ctx = unit_context(1);
        copse_index *index = unit_tens(ctx, *tree, 100);
        const uint64_t ten = 10, thirty = 30, last = 990, lows[] = {500, 480, 700, 9}, highs[] = {520, 505, 690, 8};
        uint64_t version, erased;
        copse_stats stats = {.struct_size = sizeof stats};
        assert_ok(ctx, copse_index_stats(index, &stats));
        version = stats.version;
        assert_int_equal(erase_one(index, 0, &thirty, &ten), 0); /* low above high */
        assert_int_equal(erase_one(index, COPSE_RANGE_LOW_OPEN | COPSE_RANGE_HIGH_OPEN, &ten, &ten), 0);
        assert_ok(ctx, copse_erase_range(index, BETWEEN(NULL, NULL, 0), &erased)); /* no ranges at all */
        assert_int_equal(erased, 0);
        assert_ok(ctx, copse_index_stats(index, &stats));
        assert_int_equal(stats.version, version); /* nothing went */
        assert_int_equal(erase_one(index, COPSE_RANGE_LOW_OPEN | COPSE_RANGE_HIGH_OPEN, &ten, &thirty), 1);
        assert_int_equal(erase_one(index, COPSE_RANGE_DESCENDING, &ten, &thirty), 2); /* the order is without effect */
        assert_int_equal(erase_one(index, COPSE_RANGE_HIGH_OPEN, NULL, &ten), 1);
        assert_int_equal(erase_one(index, 0, &last, NULL), 1);
        assert_ok(ctx, copse_erase_range(index, BETWEEN(lows, highs, 4), &erased)); /* overlapping, and empty ones */
        assert_int_equal(erased, 5);
        assert_ok(ctx, copse_erase_range(index, BETWEEN(lows, highs, 4), NULL));
        assert_int_equal(copse_size(index), 100 - 10);
        assert_ok(ctx, copse_verify(index));
        copse_index_free(index);
        copse_ctx_free(ctx);
    }
}

/* An index that ranges have emptied is as one that was just made: it answers, and takes new keys. */
static void emptied_it_takes_new_keys(void **state)
{
    (void)state;
    FOR_EACH_TREE(tree)
    for (int turn = 0; turn < 2 + 2 * unit_duplicates(*tree); turn++) {
        const uint64_t n = unit_fewer(*tree, 20000, 700), zero = 0, most = UINT64_MAX;
        copse_ctx *ctx = unit_context(1);
        copse_index *index = unit_index(ctx, *tree, COPSE_U64, turn & 1 ? COPSE_NONE : COPSE_U64, turn >= 2);
        uint64_t *keys = must_malloc(n * sizeof *keys), inserted = 0, count = 0;
        for (int again = 0; again < 3; again++) {
            for (uint64_t i = 0; i < n; i++) keys[i] = turn >= 2 ? i / 3 : i * 7;
            if (n) keys[n - 1] = UINT64_MAX;
            assert_ok(ctx, copse_insert(index, keys, NULL, n, 0, &inserted));
            assert_int_equal(inserted, n);
            assert_int_equal(erase_one(index, 0, again ? &zero : NULL, again == 2 ? &most : NULL), n);
            assert_int_equal(copse_size(index), 0);
            assert_ok(ctx, copse_verify(index));
            assert_ok(ctx, copse_count(index, BETWEEN(NULL, NULL, 1), &count));
            assert_int_equal(count, 0);
            assert_int_equal(erase_one(index, 0, NULL, NULL), 0); /* an empty one, too */
        }
        free(keys);
        copse_index_free(index);
        copse_ctx_free(ctx);
    }
}

/* --- windows and retention -------------------------------------------------------------------------------------------- */

#define STEPS  1000
#define WINDOW 24 /* steps that are in it */

static uint64_t bytes_of(const copse_index *index)
{
    copse_stats stats = {.struct_size = sizeof stats};
    assert_int_equal(copse_index_stats(index, &stats), COPSE_OK);
    return stats.bytes;
}

/* Step by step new entries come behind all others (falling: in front of them), and those of the oldest step go. */
static void slide(struct unit_tree tree, bool duplicates, bool falling)
{
    const uint64_t each = unit_fewer(tree, 400, 12), origin = UINT64_C(1) << 40;
    copse_ctx *ctx = unit_context(1);
    copse_index *index = unit_index(ctx, tree, COPSE_U64, COPSE_U64, duplicates);
    uint64_t *keys = must_malloc(each * sizeof *keys), largest_early = 0, largest_late = 0, n, sum;
    for (uint64_t step = 0; step < STEPS; step++) {
        for (uint64_t i = 0; i < each; i++) {
            const uint64_t at = (step * each + i) / (duplicates ? 3 : 1);
            keys[i] = falling ? origin - at : origin + at;
        }
        assert_ok(ctx, copse_insert(index, keys, keys, each, 0, &n));
        assert_int_equal(n, each);
        if (step >= WINDOW) {
            /* With duplicates a key may lie on the border of two steps: all of it goes with the first. */
            const uint64_t out = ((step - WINDOW + 1) * each - 1) / (duplicates ? 3 : 1);
            const uint64_t border = falling ? origin - out : origin + out;
            n = erase_one(index, 0, falling ? &border : NULL, falling ? NULL : &border);
            assert_in_range(n, each - 3, each + 3);
        }
        const uint64_t bytes = bytes_of(index);
        if (step < STEPS / 4 && bytes > largest_early) largest_early = bytes;
        if (step >= STEPS / 4 && bytes > largest_late) largest_late = bytes;
        if (step % 100 == 99) assert_ok(ctx, copse_verify(index));
    }
    if (largest_late > largest_early + largest_early / 10)
        fail_msg("%s: %llu bytes early, %llu later", copse_structure_name(tree.structure),
                 (unsigned long long)largest_early, (unsigned long long)largest_late);
    assert_in_range(copse_size(index), each * WINDOW - 3, each * WINDOW);
    assert_ok(ctx, copse_find(index, keys, 1, &sum, NULL)); /* the last step is there */
    assert_int_equal(sum, keys[0]);
    free(keys);
    copse_index_free(index);
    copse_ctx_free(ctx);
}

static void memory_of_a_sliding_window_is_flat(void **state)
{
    (void)state;
    FOR_EACH_TREE(tree)
    for (int turn = 0; turn < 4; turn++)
        if (turn == 0 || turn == 3 || tree->placement == COPSE_PLACEMENT_CPU)
            slide(*tree, turn & unit_duplicates(*tree), turn & 2);
}

/* Many tenants, each with a few entries left: the leaves between them go. */
static void memory_goes_back_where_little_is_left(void **state)
{
    (void)state;
    enum { TENANTS = 500, EACH = 1000, KEPT = 5 };
    const struct unit_tree regular = {COPSE_STRUCTURE_REGULAR, COPSE_PLACEMENT_CPU};
    for (int at_once = 0; at_once < 2; at_once++) {
        copse_ctx *ctx = unit_context(1);
        copse_index *index = unit_index(ctx, regular, COPSE_U64, COPSE_U64, false);
        uint64_t *keys = must_malloc(sizeof *keys * TENANTS * EACH), lows[TENANTS], highs[TENANTS], erased, all = 0;
        for (uint64_t i = 0; i < TENANTS * EACH; i++) keys[i] = i / EACH << 32 | i % EACH;
        assert_ok(ctx, copse_build(index, keys, keys, TENANTS * EACH));
        const uint64_t before = bytes_of(index);
        for (uint64_t t = 0; t < TENANTS; t++) {
            lows[t] = t << 32;
            highs[t] = t << 32 | (EACH - KEPT - 1);
        }
        for (uint64_t t = 0; t < TENANTS; t += at_once ? TENANTS : 1) {
            assert_ok(ctx, copse_erase_range(index, BETWEEN(lows + t, highs + t, at_once ? TENANTS : 1), &erased));
            all += erased;
        }
        assert_int_equal(all, TENANTS * (EACH - KEPT));
        assert_ok(ctx, copse_verify(index));
        copse_stats stats = {.struct_size = sizeof stats};
        assert_ok(ctx, copse_index_stats(index, &stats));
        assert_true(stats.bytes < before / 5); /* leaves are given back by slabs */
        free(keys);
        copse_index_free(index);
        copse_ctx_free(ctx);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_arguments_change_nothing),       cmocka_unit_test(nan_is_refused_by_its_place),
        cmocka_unit_test(ends_mean_what_they_mean_to_reads),  cmocka_unit_test(emptied_it_takes_new_keys),
        cmocka_unit_test(memory_of_a_sliding_window_is_flat), cmocka_unit_test(memory_goes_back_where_little_is_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

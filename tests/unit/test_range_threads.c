/* Ranges on several threads, of which one does not run for a while: the others count what it has in hand, and the rows are right. */
#include "unit.h"

#include "core/internal.h"
#include "cpu/driver.h"

#include <math.h>
#include <stdatomic.h>
#include <unistd.h>

#define KEYS   50000u
#define RANGES 45000u /* many chunks, and a short one */

static double lows[RANGES], highs[RANGES];
static uint64_t offsets[RANGES + 1], values[RANGES * 4u];

/* The tree as it is, but that the first to size the chunk with range `slow` takes long. */
static copse_cpu_tree wrapped;
static const copse_cpu_tree *tree;
static uint64_t slow;
static atomic_uint visits;

/* For 30 milliseconds; in the first chunk, in front of all others, until another thread has counted it. */
static void be_slow(uint64_t first, uint64_t n)
{
    if (slow - first >= n || atomic_fetch_add(&visits, 1) > 0) return;
    for (int i = 0; i < (first == 0 ? 5000 : 30) && atomic_load(&visits) == 1; i++) (void)usleep(1000);
}

static uint64_t slow_count(const copse_index *index, const void *from, const void *to, uint64_t first, uint64_t n,
                           uint64_t *locations, uint64_t *counts)
{
    be_slow(first, n);
    return tree->count(index, from, to, first, n, locations, counts);
}

static uint64_t slow_locate(const copse_index *index, const void *keys, uint64_t first, uint64_t n, bool upper,
                            uint64_t *locations)
{
    if (!upper) be_slow(first, n);
    return tree->locate(index, keys, first, n, upper, locations);
}

static copse_index *slow_index(copse_ctx *ctx, struct unit_tree which)
{
    copse_index *index = unit_index(ctx, which, COPSE_F64, COPSE_U64, false);
    double *keys = must_malloc(KEYS * sizeof *keys);
    uint64_t *of_keys = must_malloc(KEYS * sizeof *of_keys);
    for (uint64_t i = 0; i < KEYS; i++) {
        keys[i] = (double)i;
        of_keys[i] = i * 3;
    }
    assert_ok(ctx, copse_build(index, keys, of_keys, KEYS));
    free(keys);
    free(of_keys);
    tree = index->by_width;
    wrapped = *tree;
    if (tree->count) wrapped.count = slow_count;
    wrapped.locate = slow_locate;
    index->by_width = &wrapped;
    return index;
}

/* Range i has i % 4 entries. */
static void fill_ranges(void)
{
    for (uint64_t i = 0; i < RANGES; i++) {
        lows[i] = (double)(i * 7919 % (KEYS - 4));
        highs[i] = lows[i] + (double)(i % 4) - 0.5;
    }
}

static copse_status run(const copse_index *index, uint64_t capacity)
{
    const copse_ranges ranges = COPSE_BETWEEN(lows, highs, RANGES);
    const copse_rows rows = {.struct_size = sizeof rows, .offsets = offsets, .values = values, .capacity = capacity};
    atomic_store(&visits, 0);
    memset(values, 0, sizeof values);
    return copse_range(index, &ranges, &rows);
}

static void check_rows(void)
{
    uint64_t at = 0;
    for (uint64_t i = 0; i < RANGES; i++) {
        assert_int_equal(offsets[i], at);
        for (uint64_t k = 0; k < i % 4; k++) assert_int_equal(values[at++], ((uint64_t)lows[i] + k) * 3);
    }
    assert_int_equal(offsets[RANGES], at);
}

static void nobody_waits_for_a_slow_thread(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(3);
    fill_ranges();
    FOR_EACH_TREE_THAT(which, COPSE_PLACEMENT_CPU, COPSE_CAN_KEEP_DUPLICATES)
    {
        static const uint64_t places[] = {0, 2047, 2048, 20000, RANGES - 1};
        copse_index *index = slow_index(ctx, *which);
        for (size_t i = 0; i < COUNT_OF(places); i++) {
            slow = places[i];
            assert_ok(ctx, run(index, COUNT_OF(values)));
            check_rows();
            assert_true(atomic_load(&visits) > 0);
            if (slow < 2048) assert_true(atomic_load(&visits) > 1); /* by another thread, which had its hands full */
        }
        copse_index_free(index);
    }
    copse_ctx_free(ctx);
}

static void errors_are_found_all_the_same(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(3);
    copse_index *index = slow_index(ctx, (struct unit_tree){COPSE_STRUCTURE_IMPLICIT, COPSE_PLACEMENT_CPU});
    fill_ranges();
    slow = 100;
    assert_fails(ctx, COPSE_ERR_TOO_SMALL, run(index, 1000));
    assert_int_equal(values[1000], 0);
    highs[40000] = NAN;
    assert_fails_naming(ctx, COPSE_ERR_NAN, "highs[40000]", run(index, COUNT_OF(values)));
    lows[30000] = lows[10] = NAN;
    assert_fails_naming(ctx, COPSE_ERR_NAN, "lows[10]", run(index, COUNT_OF(values)));
    copse_index_free(index);
    copse_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nobody_waits_for_a_slow_thread),
        cmocka_unit_test(errors_are_found_all_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

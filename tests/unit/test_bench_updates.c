/* Updates in `copse bench`: the keys that they draw, and that the checks of what they leave look keys up as well. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/bench/bench.h"

#define QUERIES 400u

static bool in_model(const bench_data *data, uint64_t code)
{
    for (uint64_t i = 0; i < data->entries; i++) {
        if (data->codes[i] == code) return true;
    }
    return false;
}

static void make(bench_queries *queries, bench_data *data, const char *name, workload_dist query_dist, uint64_t count)
{
    bench_op op;
    bench_options options = {.queries = count, .seed = 3, .query_dist = query_dist};
    assert_true(bench_op_parse(name, &op));
    assert_true(bench_queries_make(queries, data, &op, &options));
}

/* ---- patterns of new keys ---- */

/* The queries of a pattern, in batches of 100, on 5000 uniform keys. */
static void make_pattern(bench_queries *queries, bench_data *data, const char *name, bool duplicates)
{
    bench_op op;
    bench_options options = {.queries = QUERIES, .batch = 100, .seed = 3, .duplicates = duplicates};
    bench_data_make(data, COPSE_U64, COPSE_U64, 5000, WORKLOAD_UNIFORM, 7);
    data->duplicates = duplicates;
    assert_true(bench_op_parse(name, &op));
    assert_true(bench_queries_make(queries, data, &op, &options));
    assert_int_equal(queries->count, QUERIES);
}

/* How often key i comes before, and whether the index has it. */
static uint64_t times_before(const bench_queries *queries, uint64_t i)
{
    const uint64_t *keys = queries->keys;
    uint64_t times = 0;
    for (uint64_t k = 0; k < i; k++) times += keys[k] == keys[i];
    return times;
}

static bool pattern_fits(const char *name, const bench_data *data, const uint64_t *keys, uint64_t i)
{
    const uint64_t last = data->codes[data->entries - 1], rank = bench_data_rank(data, keys[i]);
    if (strcmp(name, "insert-append") == 0 || strcmp(name, "window") == 0)
        return keys[i] > last && (i == 0 || keys[i] >= keys[i - 1]);
    if (strcmp(name, "insert-append-shuffled") == 0) /* batches are in order, keys within them are not */
        return (i < 100 || keys[i] > keys[i / 100 * 100 - 1 - i % 100]) && keys[i] > last;
    if (strcmp(name, "insert-append-late") == 0) return keys[i] > last;
    if (strcmp(name, "insert-prepend") == 0) return keys[i] < data->codes[0] && (i == 0 || keys[i] <= keys[i - 1]);
    if (strcmp(name, "insert-gap") == 0) return rank == bench_data_rank(data, keys[0]) && rank > 0 && keys[i] < last;
    if (strcmp(name, "insert-hot") == 0) return rank >= 5000 * 99 / 200 && rank <= 5000 * 101 / 200 + 1;
    return rank > 0 && keys[i] - data->codes[rank - 1] <= QUERIES; /* insert-points */
}

static uint64_t falls_of(const uint64_t *keys)
{
    uint64_t falls = 0;
    for (uint64_t i = 1; i < QUERIES; i++) falls += keys[i] < keys[i - 1];
    return falls;
}

static void patterns_put_keys_where_they_say(void **state)
{
    (void)state;
    static const char *const names[] = {
        "insert-append",   "insert-append-shuffled", "insert-append-late", "insert-prepend",
        "insert-points10", "insert-points100000",    "insert-gap",         "insert-hot",
        "window"};
    for (size_t n = 0; n < sizeof names / sizeof *names; n++)
        for (int duplicates = 0; duplicates < 2; duplicates++) {
            const bool window = strcmp(names[n], "window") == 0;
            bench_data data;
            bench_queries queries;
            make_pattern(&queries, &data, names[n], duplicates);
            const uint64_t *keys = queries.keys, *after = queries.after_keys;
            for (uint64_t i = 0; i < QUERIES; i++) {
                assert_false(in_model(&data, keys[i]));
                assert_int_equal(times_before(&queries, i), duplicates ? i % 3 : 0);
                const bool shuffled = duplicates && strcmp(names[n], "insert-append-shuffled") == 0;
                if (!shuffled && !pattern_fits(names[n], &data, keys, i)) fail_msg("%s, key %u", names[n], (unsigned)i);
            }
            if (strcmp(names[n], "insert-append-late") == 0) assert_in_range(falls_of(keys), 1, QUERIES / 8);
            if (strcmp(names[n], "insert-append-shuffled") == 0) assert_true(falls_of(keys) > QUERIES / 10);
            assert_int_equal(queries.after_entries, data.entries + (window ? 0 : QUERIES));
            assert_int_equal(queries.after_changed, window ? 2 * QUERIES : QUERIES);
            if (window) assert_memory_equal(queries.highs, data.sorted_keys, QUERIES * sizeof *keys);
            if (window) assert_int_equal(after[0], data.codes[QUERIES]);
            for (uint64_t i = 1; i < queries.after_entries; i++) assert_true(after[i - 1] <= after[i]);
            bench_queries_free(&queries);
            bench_data_free(&data);
        }
}

/* The same seed gives the same keys, another one others where there is something to draw. */
static void patterns_come_from_the_seed(void **state)
{
    (void)state;
    uint64_t codes[300], one[100], two[100];
    for (uint64_t i = 0; i < 300; i++) codes[i] = (i + 1) << 40;
    for (unsigned p = 0; p < WORKLOAD_PATTERN_COUNT; p++) {
        workload_place place = {
            .pattern = (workload_pattern)p, .codes = codes, .entries = 300, .max = UINT64_MAX, .points = 10, .seed = 5};
        assert_non_null(workload_pattern_name(place.pattern));
        assert_true(workload_pattern_codes(&place, one, 100));
        assert_true(workload_pattern_codes(&place, two, 100));
        assert_memory_equal(one, two, sizeof one);
        place.seed = 6;
        assert_true(workload_pattern_codes(&place, two, 100));
        const bool fixed = p == WORKLOAD_APPEND || p == WORKLOAD_PREPEND;
        assert_true((memcmp(one, two, sizeof one) == 0) == fixed);
        place.max = codes[299]; /* no room behind the last one, and little between others */
        place.entries = 2;
        codes[1] = codes[0] + 50;
        place.max = codes[1];
        if (p != WORKLOAD_PREPEND && p != WORKLOAD_POINTS) assert_false(workload_pattern_codes(&place, two, 100));
        codes[1] = UINT64_C(2) << 40;
    }
    assert_null(workload_pattern_name(WORKLOAD_PATTERN_COUNT));
}

/* The stream goes on behind the data set; what is new in it, and nothing else, must come in its order. */
static void new_keys_are_new_and_in_order(void **state)
{
    (void)state;
    static const workload_dist dists[] = {WORKLOAD_UNIFORM, WORKLOAD_ASCENDING, WORKLOAD_GAUSSIAN, WORKLOAD_TIMESTAMPS};
    for (size_t d = 0; d < 4; d++) {
        bench_data data;
        bench_queries queries;
        uint64_t drawn[8 * QUERIES];
        bench_data_make(&data, COPSE_U32, COPSE_U64, 900, dists[d], 7);
        make(&queries, &data, "insert-new", WORKLOAD_UNIFORM, QUERIES);
        workload_stream stream = data.stream;
        workload_stream_codes(&stream, drawn, 8 * QUERIES);
        uint64_t taken = 0;
        for (uint64_t i = 0; i < 8 * QUERIES && taken < QUERIES; i++) {
            bool again = in_model(&data, drawn[i]);
            for (uint64_t k = 0; k < i && !again; k++) again = drawn[k] == drawn[i];
            if (!again) assert_int_equal(((uint32_t *)queries.keys)[taken++], drawn[i]);
        }
        assert_int_equal(taken, QUERIES);
        assert_int_equal(queries.after_changed, QUERIES);
        assert_int_equal(queries.after_entries, data.entries + QUERIES);
        for (uint64_t i = 1; i < queries.after_entries; i++) {
            assert_true(((uint32_t *)queries.after_keys)[i - 1] < ((uint32_t *)queries.after_keys)[i]);
        }
        bench_queries_free(&queries);
        bench_data_free(&data);
    }
}

static void hot_updates_are_about_a_few_keys(void **state)
{
    (void)state;
    static const char *const names[] = {"update-hot7", "mixed-update-hot7"};
    for (size_t o = 0; o < 2; o++) {
        bench_data data;
        bench_queries queries;
        uint64_t seen[7] = {0};
        size_t different = 0;
        bench_data_make(&data, COPSE_U64, COPSE_U32, 900, WORKLOAD_UNIFORM, 7);
        make(&queries, &data, names[o], WORKLOAD_UNIFORM, QUERIES);
        for (uint64_t i = 0; i < QUERIES; i++) {
            uint64_t key = ((uint64_t *)queries.keys)[i];
            size_t at = 0;
            while (at < different && seen[at] != key) at++;
            assert_true(at < 7);
            if (at == different) seen[different++] = key;
            assert_true(in_model(&data, key));
        }
        assert_int_equal(different, 7);
        assert_int_equal(queries.after_changed, 0);
        bench_queries_free(&queries);
        bench_data_free(&data);
    }
}

static void queries_of_arrival_are_the_pairs_as_they_came(void **state)
{
    (void)state;
    bench_data data;
    bench_queries queries;
    bench_data_make(&data, COPSE_U32, COPSE_U32, 500, WORKLOAD_GAUSSIAN, 7);
    make(&queries, &data, "find", BENCH_ARRIVAL, 0);
    assert_int_equal(queries.count, 500);
    assert_memory_equal(queries.keys, data.keys, 500 * sizeof(uint32_t));
    for (uint64_t i = 0; i < 500; i++) {
        assert_int_equal(data.codes[queries.positions[i]], ((uint32_t *)data.keys)[i]);
    }
    bench_queries_free(&queries);
    bench_data_free(&data);
}

static void partly_sorted_keys_are_a_permutation(void **state)
{
    (void)state;
    enum { COUNT = 5000 };
    static uint64_t codes[COUNT];
    static char seen[COUNT];
    workload_stream stream;
    uint64_t displaced = 0;
    workload_stream_init(&stream, WORKLOAD_PARTLY_SORTED, COPSE_U32, COUNT, 1);
    workload_stream_codes(&stream, codes, COUNT);
    for (uint64_t i = 0; i < COUNT; i++) {
        assert_true(codes[i] < COUNT);
        assert_int_equal(seen[codes[i]]++, 0);
        displaced += codes[i] != i;
    }
    assert_in_range(displaced, COUNT / 14, COUNT / 7);
}

/* ---- a container that tells the truth in order, and lies when it is asked for a key ---- */

static const bench_data *truth;
static uint64_t lie_at = BENCH_NONE;

static void lying_copy(const void *store, void *out_keys, void *out_values)
{
    (void)store;
    memcpy(out_keys, truth->sorted_keys, truth->entries * truth->key_size);
    memcpy(out_values, truth->sorted_values, truth->entries * truth->value_size);
}

static uint64_t lying_size(const void *store)
{
    (void)store;
    return truth->entries;
}

static void lying_find(const void *store, const void *keys, uint64_t n, void *out_values, uint8_t *out_found)
{
    (void)store;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t at = 0;
        while (at < truth->entries && truth->codes[at] != ((const uint64_t *)keys)[i]) at++;
        out_found[i] = at < truth->entries && at != lie_at;
        ((uint64_t *)out_values)[i] = out_found[i] ? ((uint64_t *)truth->sorted_values)[at] : 0;
    }
}

static void checks_look_keys_up(void **state)
{
    (void)state;
    static const bench_peer peer = {.copy = lying_copy, .size = lying_size, .find = lying_find};
    bench_target target = {.name = "test", .peer = &peer};
    bench_data data;
    bench_data_make(&data, COPSE_U64, COPSE_U64, 300, WORKLOAD_UNIFORM, 7);
    truth = &data;
    assert_int_equal(bench_check_store(&target, NULL, &data, data.sorted_keys, data.sorted_values, data.entries), 0);
    assert_int_equal(bench_check_gone(&target, NULL, &data, data.sorted_keys, 5), 5);
    lie_at = 2;
    assert_int_equal(bench_check_store(&target, NULL, &data, data.sorted_keys, data.sorted_values, data.entries), 1);
    assert_int_equal(bench_check_gone(&target, NULL, &data, data.sorted_keys, 5), 4);
    bench_data_free(&data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(patterns_put_keys_where_they_say),
        cmocka_unit_test(patterns_come_from_the_seed),
        cmocka_unit_test(new_keys_are_new_and_in_order),
        cmocka_unit_test(hot_updates_are_about_a_few_keys),
        cmocka_unit_test(queries_of_arrival_are_the_pairs_as_they_came),
        cmocka_unit_test(partly_sorted_keys_are_a_permutation),
        cmocka_unit_test(checks_look_keys_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

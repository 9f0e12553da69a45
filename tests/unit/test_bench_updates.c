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
        cmocka_unit_test(new_keys_are_new_and_in_order),
        cmocka_unit_test(hot_updates_are_about_a_few_keys),
        cmocka_unit_test(queries_of_arrival_are_the_pairs_as_they_came),
        cmocka_unit_test(partly_sorted_keys_are_a_permutation),
        cmocka_unit_test(checks_look_keys_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

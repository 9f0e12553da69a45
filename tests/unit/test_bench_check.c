/* The checks of `copse bench` must bite: right answers give 0 wrong, and one spoilt answer gives at least 1.
 *
 * The answers come from a search that knows nothing of the positions from which the benchmark draws its queries, so this
 * also tests what the benchmark believes to be right. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/bench/bench.h"
#include "device/device.h"

#define QUERIES 300

static const copse_type key_types[] = {COPSE_U32, COPSE_I64, COPSE_F32, COPSE_F64, COPSE_DATE};
static const copse_type value_types[] = {COPSE_U64, COPSE_I32, COPSE_F64, COPSE_F32, COPSE_I64};
static const workload_dist dists[] = {WORKLOAD_UNIFORM, WORKLOAD_ASCENDING, WORKLOAD_TIMESTAMPS, WORKLOAD_ZIPF};
static const char *const read_ops[] = {"find",      "miss",        "contains", "lower-bound", "rank",
                                       "successor", "predecessor", "range7",   "count",       "count-narrow",
                                       "sum",       "min",         "max",      "avg"};

/* ---- answers by plain search ---- */

typedef struct answers {
    bench_data *data;
    const bench_op *op;
    bench_outputs out;
} answers;

static uint64_t rank_of(const bench_data *data, uint64_t code)
{
    uint64_t rank = 0;
    while (rank < data->entries && data->codes[rank] < code) rank++;
    return rank;
}

static void put_entry(answers *a, uint64_t i, uint64_t position)
{
    const bench_data *data = a->data;
    bool found = position < data->entries;
    char *key = (char *)a->out.keys + i * data->key_size;
    char *value = (char *)a->out.values + i * data->value_size;
    a->out.found[i] = found;
    memset(key, 0, data->key_size);
    memset(value, 0, data->value_size);
    if (!found) return;
    memcpy(key, (char *)data->sorted_keys + position * data->key_size, data->key_size);
    memcpy(value, (char *)data->sorted_values + position * data->value_size, data->value_size);
}

static void answer_point(answers *a, uint64_t i, uint64_t code)
{
    const bench_data *data = a->data;
    uint64_t rank = rank_of(data, code);
    bool hit = rank < data->entries && data->codes[rank] == code;
    switch (a->op->code) {
    case BENCH_RANK:
        a->out.words[i] = rank;
        break;
    case BENCH_LOWER_BOUND:
        put_entry(a, i, rank);
        break;
    case BENCH_SUCCESSOR:
        put_entry(a, i, rank + hit);
        break;
    case BENCH_PREDECESSOR:
        put_entry(a, i, rank - 1);
        break;
    default:
        put_entry(a, i, hit ? rank : UINT64_MAX);
        break;
    }
}

/* Sums, means and extremes entry by entry; *place is where the next row of a range goes. */
static void answer_range(answers *a, uint64_t i, uint64_t low, uint64_t high, uint64_t *place)
{
    const bench_data *data = a->data;
    uint64_t first = rank_of(data, low);
    uint64_t end = first;
    int64_t sum = 0;
    uint64_t best = first;
    double scale = (double)workload_value_scale(data->value_type);
    for (; end < data->entries && data->codes[end] <= high; end++) {
        int64_t value = workload_value_scaled(data->value_type, data->sorted_values, end);
        int64_t record = workload_value_scaled(data->value_type, data->sorted_values, best);
        sum += value;
        if (a->op->code == BENCH_MIN ? value < record : value > record) best = end;
        if (a->op->code == BENCH_RANGE) put_entry(a, (*place)++, end);
    }
    double mean = (double)sum / scale / (double)(end - first);
    double real = (double)sum / scale;
    switch (a->op->code) {
    case BENCH_RANGE:
        a->out.words[i + 1] = *place;
        break;
    case BENCH_COUNT:
        a->out.words[i] = end - first;
        break;
    case BENCH_AVG:
        memcpy(&a->out.words[i], &mean, sizeof mean);
        break;
    case BENCH_SUM:
        memcpy(&a->out.words[i], scale > 1 ? (void *)&real : (void *)&sum, sizeof real);
        break;
    default:
        put_entry(a, i, best);
        break;
    }
}

static void answer_all(answers *a, const bench_queries *queries)
{
    uint64_t place = 0;
    if (a->op->code == BENCH_RANGE) a->out.words[0] = 0;
    for (uint64_t i = 0; i < queries->count; i++) {
        uint64_t low = 0;
        uint64_t high = 0;
        workload_codes_from_keys(a->data->key_type, (char *)queries->keys + i * a->data->key_size, 1, &low);
        if (a->op->kind == BENCH_KIND_POINT) {
            answer_point(a, i, low);
            continue;
        }
        workload_codes_from_keys(a->data->key_type, (char *)queries->highs + i * a->data->key_size, 1, &high);
        answer_range(a, i, low, high, &place);
    }
}

/* ---- every read ---- */

static uint64_t wrong_answers(answers *a, const bench_queries *queries)
{
    return bench_check_answers(a->data, a->op, queries, &a->out, queries->count, queries->count);
}

/* The last byte of the last answer that the operation gives. */
static uint8_t *byte_to_spoil(answers *a, const bench_queries *queries)
{
    uint64_t last = queries->count - 1;
    switch (a->op->code) {
    case BENCH_CONTAINS:
        return &a->out.found[last];
    case BENCH_RANK:
    case BENCH_COUNT:
    case BENCH_SUM:
        return (uint8_t *)&a->out.words[last];
    case BENCH_AVG:
        return (uint8_t *)&a->out.words[last] + 4;
    case BENCH_RANGE:
        last = a->out.words[last + 1] - 1;
        break;
    default:
        break;
    }
    return (uint8_t *)a->out.values + last * a->data->value_size;
}

static void try_op(bench_data *data, const char *name, const bench_options *options)
{
    bench_op op;
    bench_queries queries;
    uint64_t words[QUERIES + 1];
    uint64_t keys[QUERIES * 8];
    uint64_t values[QUERIES * 8];
    uint8_t found[QUERIES * 8];
    assert_true(bench_op_parse(name, &op));
    assert_true(bench_queries_make(&queries, data, &op, options));
    assert_int_equal(queries.count, QUERIES);
    answers a = {data, &op, {keys, values, found, words, QUERIES * 8}};
    answer_all(&a, &queries);
    assert_int_equal(wrong_answers(&a, &queries), 0);
    uint8_t *spoilt = byte_to_spoil(&a, &queries);
    *spoilt ^= 1;
    assert_int_equal(wrong_answers(&a, &queries), 1);
    *spoilt ^= 1;
    if (op.code == BENCH_FIND || op.code == BENCH_MAX) {
        found[0] ^= 1;
        assert_int_equal(wrong_answers(&a, &queries), 1);
    }
    if (op.code == BENCH_RANGE) {
        words[1]++;
        assert_int_equal(wrong_answers(&a, &queries), 2); /* the end of one row and the start of the next */
    }
    bench_queries_free(&queries);
}

static void checks_of_reads_bite(void **state)
{
    (void)state;
    for (size_t t = 0; t < 5; t++) {
        for (size_t d = 0; d < 4; d++) {
            bench_data data;
            bench_data_make(&data, key_types[t], value_types[t], 900 + d, dists[d], t + 1);
            bench_options options = {.queries = QUERIES, .seed = d + 1, .query_dist = dists[d]};
            for (size_t o = 0; o < sizeof read_ops / sizeof *read_ops; o++) try_op(&data, read_ops[o], &options);
            bench_data_free(&data);
        }
    }
}

/* ---- what a change leaves behind ---- */

/* What operation q of a mixed batch meets is what the queries say, and a wrong answer is noticed. */
static void check_seen(const bench_data *data, const bench_queries *queries, uint64_t q, const void *value)
{
    static const uint64_t none = 0;
    assert_int_equal(queries->seen_found[q], value != NULL);
    assert_memory_equal((char *)queries->seen_values + q * data->value_size, value ? value : &none, data->value_size);
}

static void checks_of_mixed_batches_bite(bench_data *data, const bench_op *op, const bench_queries *queries)
{
    uint8_t found[QUERIES], values[QUERIES * 8], *spoilt[] = {found, values + data->value_size};
    bench_outputs out = {.values = values, .found = found};
    memcpy(found, queries->seen_found, QUERIES);
    memcpy(values, queries->seen_values, QUERIES * data->value_size);
    assert_int_equal(bench_check_answers(data, op, queries, &out, QUERIES, QUERIES), 0);
    for (int i = 0; i < 2; i++) {
        *spoilt[i] ^= 1;
        assert_int_equal(bench_check_answers(data, op, queries, &out, QUERIES, QUERIES), 1);
        *spoilt[i] ^= 1;
    }
}

/* Plays the batch on a table of all keys that occur, one operation after the other. */
static void play(const bench_data *data, const bench_op *op, const bench_queries *queries)
{
    uint64_t bound = data->entries + queries->count;
    uint64_t *codes = bench_memory(bound, sizeof *codes);
    const void **values = bench_memory(bound, sizeof *values);
    uint64_t used = data->entries;
    for (uint64_t i = 0; i < used; i++) {
        codes[i] = data->codes[i];
        values[i] = (const char *)data->sorted_values + i * data->value_size;
    }
    for (uint64_t q = 0; q < queries->count; q++) {
        uint64_t code = 0;
        uint64_t at = 0;
        workload_codes_from_keys(data->key_type, (char *)queries->keys + q * data->key_size, 1, &code);
        while (at < used && codes[at] != code) at++;
        if (queries->operations) check_seen(data, queries, q, at < used ? values[at] : NULL);
        if (queries->operations && queries->operations[q] == COPSE_OP_FIND) continue;
        if (at == used) codes[used++] = code;
        values[at] = op->code == BENCH_ERASE ? NULL : (const char *)queries->values + q * data->value_size;
    }
    uint64_t left = 0;
    for (uint64_t i = 0; i < used; i++) left += values[i] != NULL;
    assert_int_equal(left, queries->after_entries);
    for (uint64_t i = 0; i < left; i++) {
        uint64_t code = 0;
        uint64_t at = 0;
        workload_codes_from_keys(data->key_type, (char *)queries->after_keys + i * data->key_size, 1, &code);
        while (at < used && codes[at] != code) at++;
        assert_true(at < used && values[at] != NULL);
        assert_memory_equal((char *)queries->after_values + i * data->value_size, values[at], data->value_size);
    }
    free(codes);
    free(values);
}

static void changes_leave_what_they_should(void **state)
{
    (void)state;
    static const char *const names[] = {"insert", "update", "erase", "mixed", "mixed-update"};
    for (size_t d = 0; d < WORKLOAD_DIST_COUNT; d++) {
        bench_data data;
        bench_data_make(&data, COPSE_I32, COPSE_F64, 700, (workload_dist)d, 5);
        bench_options options = {.queries = QUERIES, .seed = 9, .query_dist = WORKLOAD_UNIFORM};
        for (size_t o = 0; o < sizeof names / sizeof *names; o++) {
            bench_op op;
            bench_queries queries;
            assert_true(bench_op_parse(names[o], &op));
            assert_true(bench_queries_make(&queries, &data, &op, &options));
            play(&data, &op, &queries);
            if (queries.operations) checks_of_mixed_batches_bite(&data, &op, &queries);
            uint64_t difference =
                op.code == BENCH_ERASE ? data.entries - queries.after_entries : queries.after_entries - data.entries;
            assert_int_equal(queries.after_changed, difference);
            bench_queries_free(&queries);
        }
        bench_data_free(&data);
    }
}

static void misses_are_not_there(void **state)
{
    (void)state;
    for (size_t d = 0; d < WORKLOAD_DIST_COUNT; d++) {
        bench_data data;
        bench_op op;
        bench_queries queries;
        bench_data_make(&data, COPSE_U32, COPSE_U32, 500, (workload_dist)d, 2);
        bench_options options = {.queries = QUERIES, .seed = 4, .query_dist = WORKLOAD_UNIFORM};
        assert_true(bench_op_parse("miss", &op));
        assert_true(bench_queries_make(&queries, &data, &op, &options));
        for (uint64_t i = 0; i < queries.count; i++) {
            uint32_t key = ((uint32_t *)queries.keys)[i];
            uint64_t rank = rank_of(&data, key);
            assert_true(rank == data.entries || data.codes[rank] != key);
        }
        bench_queries_free(&queries);
        bench_data_free(&data);
    }
}

/* ---- arrays in other memory ---- */

/* Plays the device: copies the queries, whose keys stand for answers, into the outputs. */
static void answer_with_keys(const bench_arrays *arrays)
{
    uint64_t bytes = arrays->layout->bytes[BENCH_OUT_VALUES];
    assert_int_equal(bytes, arrays->layout->bytes[BENCH_IN_KEYS]);
    if (arrays->memory != BENCH_DEVICE) {
        memcpy(arrays->at[BENCH_OUT_VALUES], arrays->at[BENCH_IN_KEYS], bytes);
        return;
    }
    copse_device *device = arrays->target->device;
    assert_int_equal(copse_device_kind(device, arrays->at[BENCH_IN_KEYS]), COPSE_MEMORY_DEVICE);
    assert_int_equal(
        copse_device_copy(device, device->main, arrays->at[BENCH_OUT_VALUES], arrays->at[BENCH_IN_KEYS], bytes),
        COPSE_OK);
}

/* Inputs arrive, outputs come back, and what was not written is the pattern and not an old answer. */
static void arrays_go_to_their_memory_and_back(void **state)
{
    (void)state;
    bench_data data;
    bench_op op;
    bench_queries queries;
    bench_layout layout;
    bench_options options = {.queries = QUERIES, .seed = 4, .query_dist = WORKLOAD_UNIFORM};
    bench_data_make(&data, COPSE_U64, COPSE_U64, 1000, WORKLOAD_UNIFORM, 2);
    assert_true(bench_op_parse("find", &op));
    assert_true(bench_queries_make(&queries, &data, &op, &options));
    bench_layout_make(&layout, &data, &op, &queries, QUERIES, QUERIES);
    bench_target target = {.placement = COPSE_PLACEMENT_EMULATED, .name = "test"};
    assert_int_equal(copse_ctx_create(NULL, &target.ctx), COPSE_OK);
    assert_int_equal(copse_device_get(target.ctx, COPSE_PLACEMENT_EMULATED, &target.device), COPSE_OK);
    for (int memory = BENCH_HOST; memory <= BENCH_DEVICE; memory++) {
        bench_arrays arrays;
        bench_outputs out;
        target.memory = (bench_memory_kind)memory;
        assert_true(bench_arrays_make(&arrays, &layout, &target, &op));
        for (int turn = 0; turn < 2; turn++) {
            assert_true(bench_arrays_poison(&arrays));
            if (turn == 0) answer_with_keys(&arrays);
            assert_true(bench_arrays_read(&arrays, &out));
            uint8_t expected[8];
            memset(expected, 0xA5, sizeof expected);
            for (uint64_t i = 0; i < QUERIES; i++) {
                const void *right = turn == 0 ? (char *)queries.keys + i * 8 : (void *)expected;
                assert_memory_equal((char *)out.values + i * 8, right, 8);
                assert_int_equal(out.found[i], 0xA5);
            }
        }
        bench_arrays_free(&arrays);
    }
    assert_int_equal(target.device->allocated, 0);
    bench_layout_free(&layout);
    bench_queries_free(&queries);
    bench_data_free(&data);
    copse_ctx_free(target.ctx);
}

/* The same queries, whatever the number of threads that make them. */
static void queries_do_not_depend_on_threads(void **state)
{
    (void)state;
    bench_data data;
    bench_op op;
    bench_queries one;
    bench_queries many;
    bench_options options = {.queries = 200000, .seed = 4, .query_dist = WORKLOAD_ZIPF};
    bench_data_make(&data, COPSE_U32, COPSE_U32, 100000, WORKLOAD_UNIFORM, 2);
    assert_true(bench_op_parse("contains", &op));
    workload_threads_limit(1);
    assert_true(bench_queries_make(&one, &data, &op, &options));
    workload_threads_limit(3);
    assert_true(bench_queries_make(&many, &data, &op, &options));
    assert_memory_equal(one.keys, many.keys, options.queries * data.key_size);
    assert_memory_equal(one.positions, many.positions, options.queries * sizeof *one.positions);
    bench_queries_free(&one);
    bench_queries_free(&many);
    bench_data_free(&data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(checks_of_reads_bite),
        cmocka_unit_test(changes_leave_what_they_should),
        cmocka_unit_test(misses_are_not_there),
        cmocka_unit_test(arrays_go_to_their_memory_and_back),
        cmocka_unit_test(queries_do_not_depend_on_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

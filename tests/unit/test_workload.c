/* The workload generators of the benchmark: same seed, same bytes; every key legal; sums and orders as promised. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/bench/bench.h"

#define COUNT 5000

static const copse_type all_types[] = {COPSE_U32, COPSE_I32, COPSE_F32,  COPSE_U64,
                                       COPSE_I64, COPSE_F64, COPSE_DATE, COPSE_TIMESTAMP};
#define TYPES (sizeof all_types / sizeof *all_types)

static void fill(workload_dist dist, copse_type type, uint64_t seed, uint64_t *codes, uint64_t count)
{
    workload_stream stream;
    workload_stream_init(&stream, dist, type, count, seed);
    workload_stream_codes(&stream, codes, count);
}

static void same_seed_same_codes(void **state)
{
    (void)state;
    static uint64_t a[COUNT];
    static uint64_t b[COUNT];
    for (unsigned dist = 0; dist < WORKLOAD_DIST_COUNT; dist++) {
        for (size_t t = 0; t < TYPES; t++) {
            fill((workload_dist)dist, all_types[t], 7, a, COUNT);
            fill((workload_dist)dist, all_types[t], 7, b, COUNT);
            assert_memory_equal(a, b, sizeof a);
        }
    }
}

static void another_seed_other_codes(void **state)
{
    (void)state;
    static uint64_t a[COUNT];
    static uint64_t b[COUNT];
    for (unsigned dist = 0; dist < WORKLOAD_DIST_COUNT; dist++) {
        if (dist == WORKLOAD_ASCENDING || dist == WORKLOAD_DESCENDING) continue;
        fill((workload_dist)dist, COPSE_U64, 1, a, COUNT);
        fill((workload_dist)dist, COPSE_U64, 2, b, COUNT);
        assert_memory_not_equal(a, b, sizeof a);
    }
}

/* Results published with one version stay comparable with the next only if the bytes never change. */
static void known_bytes(void **state)
{
    (void)state;
    uint64_t codes[3];
    fill(WORKLOAD_UNIFORM, COPSE_U64, 42, codes, 3);
    workload_random random;
    workload_random_init(&random, 42);
    for (int i = 0; i < 3; i++) assert_int_equal(codes[i], workload_random_next(&random));
    assert_int_equal(workload_hash(0), UINT64_C(0xE220A8397B1DCDAF));
    assert_int_equal(workload_hash(1), UINT64_C(0x910A2DEC89025CC1));
}

static void a_stream_cut_in_two_is_the_same_stream(void **state)
{
    (void)state;
    static uint64_t whole[COUNT];
    static uint64_t parts[COUNT];
    for (unsigned dist = 0; dist < WORKLOAD_DIST_COUNT; dist++) {
        if (dist == WORKLOAD_ALMOST_SORTED) continue; /* its exchanges stay inside one call */
        fill((workload_dist)dist, COPSE_U64, 3, whole, COUNT);
        workload_stream stream;
        workload_stream_init(&stream, (workload_dist)dist, COPSE_U64, COUNT, 3);
        workload_stream_codes(&stream, parts, 1234);
        workload_stream_codes(&stream, parts + 1234, COUNT - 1234);
        assert_memory_equal(whole, parts, sizeof whole);
    }
}

static void every_code_is_a_key(void **state)
{
    (void)state;
    static uint64_t codes[COUNT];
    static uint64_t back[COUNT];
    static uint64_t keys[COUNT];
    for (unsigned dist = 0; dist < WORKLOAD_DIST_COUNT; dist++) {
        for (size_t t = 0; t < TYPES; t++) {
            fill((workload_dist)dist, all_types[t], 11, codes, COUNT);
            for (int i = 0; i < COUNT; i++) assert_true(codes[i] <= workload_code_max(all_types[t]));
            workload_keys_from_codes(all_types[t], codes, COUNT, keys);
            workload_codes_from_keys(all_types[t], keys, COUNT, back);
            assert_memory_equal(codes, back, sizeof codes);
        }
    }
}

static void float_codes_sort_as_floats(void **state)
{
    (void)state;
    uint64_t codes[] = {0, 1, 0x7F7FFFFF, 0x7F800000, 0x7F800001, 2 * UINT64_C(0x7F800000)};
    float keys[6];
    workload_keys_from_codes(COPSE_F32, codes, 6, keys);
    assert_true(isinf(keys[0]) && keys[0] < 0);
    for (int i = 1; i < 6; i++) assert_true(keys[i - 1] < keys[i]);
    assert_true(keys[3] == 0.0F && !signbit(keys[3]));
    assert_true(isinf(keys[5]));
    uint64_t ends[] = {0, UINT64_C(0x7FF0000000000000), 2 * UINT64_C(0x7FF0000000000000)};
    double wide[3];
    workload_keys_from_codes(COPSE_F64, ends, 3, wide);
    assert_true(isinf(wide[0]) && wide[1] == 0.0 && isinf(wide[2]) && wide[0] < wide[2]);
}

static void permutation_hits_every_place_once(void **state)
{
    (void)state;
    for (uint64_t n = 1; n <= 1000; n += n < 40 ? 1 : 137) {
        char seen[1000] = {0};
        workload_permutation order;
        workload_permutation_init(&order, n, n * 31);
        for (uint64_t i = 0; i < n; i++) {
            uint64_t place = workload_permute(&order, i);
            assert_true(place < n);
            assert_int_equal(seen[place]++, 0);
        }
    }
}

static void ordered_distributions_have_their_order(void **state)
{
    (void)state;
    static uint64_t codes[COUNT];
    static char seen[COUNT];
    fill(WORKLOAD_ASCENDING, COPSE_U32, 1, codes, COUNT);
    for (uint64_t i = 0; i < COUNT; i++) assert_int_equal(codes[i], i);
    fill(WORKLOAD_DESCENDING, COPSE_U32, 1, codes, COUNT);
    for (uint64_t i = 1; i < COUNT; i++) assert_int_equal(codes[i], codes[0] - i);
    fill(WORKLOAD_SHUFFLED, COPSE_U32, 1, codes, COUNT);
    memset(seen, 0, sizeof seen);
    for (uint64_t i = 0; i < COUNT; i++) assert_int_equal(seen[codes[i]]++, 0);
    fill(WORKLOAD_ALMOST_SORTED, COPSE_U32, 1, codes, COUNT);
    uint64_t displaced = 0;
    for (uint64_t i = 0; i < COUNT; i++) displaced += codes[i] != i;
    assert_in_range(displaced, 2, 10);
    fill(WORKLOAD_TIMESTAMPS, COPSE_U64, 1, codes, COUNT);
    uint64_t repeats = 0;
    for (uint64_t i = 1; i < COUNT; i++) {
        assert_true(codes[i] >= codes[i - 1]);
        repeats += codes[i] == codes[i - 1];
    }
    assert_in_range(repeats, COUNT / 10, COUNT / 2);
}

static void moments_are_those_of_the_distribution(void **state)
{
    (void)state;
    static uint64_t codes[COUNT];
    double below_half[WORKLOAD_DIST_COUNT];
    for (unsigned dist = 0; dist < WORKLOAD_DIST_COUNT; dist++) {
        fill((workload_dist)dist, COPSE_U64, 5, codes, COUNT);
        uint64_t low = 0;
        for (int i = 0; i < COUNT; i++) low += codes[i] < UINT64_MAX / 2;
        below_half[dist] = (double)low / COUNT;
    }
    assert_true(fabs(below_half[WORKLOAD_UNIFORM] - 0.5) < 0.03);
    assert_true(fabs(below_half[WORKLOAD_NORMAL] - 0.5) < 0.03);
    assert_true(below_half[WORKLOAD_GAMMA] > 0.99);
    assert_true(below_half[WORKLOAD_ZIPF] > 0.96);
    assert_true(below_half[WORKLOAD_IDS] < 1.0 && below_half[WORKLOAD_IDS] > 0.99);
}

static void picks_stay_inside(void **state)
{
    (void)state;
    static const workload_dist dists[] = {WORKLOAD_UNIFORM, WORKLOAD_NORMAL, WORKLOAD_GAMMA, WORKLOAD_ZIPF};
    workload_random random;
    workload_random_init(&random, 9);
    for (size_t d = 0; d < 4; d++) {
        for (uint64_t n = 1; n < 70000; n = n * 3 + 1) {
            for (int i = 0; i < 200; i++) assert_true(workload_pick(&random, dists[d], n) < n);
        }
    }
}

static void values_add_up_exactly(void **state)
{
    (void)state;
    static uint64_t memory[COUNT];
    void *raw = memory;
    static const copse_type types[] = {COPSE_U32, COPSE_I32, COPSE_F32, COPSE_U64, COPSE_I64, COPSE_F64};
    for (size_t t = 0; t < 6; t++) {
        workload_values(types[t], 3, NULL, COUNT, raw);
        int64_t scaled = 0;
        double real = 0;
        int64_t largest = 0;
        for (uint64_t i = 0; i < COUNT; i++) {
            int64_t one = workload_value_scaled(types[t], raw, i);
            scaled += one;
            if (llabs(one) > largest) largest = llabs(one);
            if (types[t] == COPSE_F32) real += (double)((const float *)raw)[i];
            if (types[t] == COPSE_F64) real += ((const double *)raw)[i];
        }
        assert_true(largest <= UINT32_MAX);
        if (workload_value_scale(types[t]) == 4) assert_true(real == (double)scaled / 4.0);
    }
}

static void sort_is_a_stable_sort(void **state)
{
    (void)state;
    static uint64_t codes[COUNT];
    static uint64_t positions[COUNT];
    static uint64_t original[COUNT];
    static uint64_t scratch[2][COUNT];
    for (unsigned dist = 0; dist < WORKLOAD_DIST_COUNT; dist++) {
        fill((workload_dist)dist, dist % 2 ? COPSE_U32 : COPSE_F64, 21, codes, COUNT);
        for (uint64_t i = 0; i < COUNT; i += 3) codes[i] = codes[COUNT / 2]; /* equals on purpose */
        for (uint64_t i = 0; i < COUNT; i++) positions[i] = i;
        memcpy(original, codes, sizeof codes);
        workload_sort(codes, positions, COUNT, scratch[0], scratch[1]);
        for (uint64_t i = 0; i < COUNT; i++) {
            assert_int_equal(codes[i], original[positions[i]]);
            if (i == 0) continue;
            assert_true(codes[i - 1] < codes[i] || (codes[i - 1] == codes[i] && positions[i - 1] < positions[i]));
        }
    }
}

static void unique_keeps_the_last(void **state)
{
    (void)state;
    uint64_t codes[] = {1, 1, 2, 5, 5, 5, 9};
    uint64_t positions[] = {0, 4, 1, 2, 3, 6, 5};
    assert_int_equal(workload_unique_last(codes, positions, 7), 4);
    const uint64_t left[] = {1, 2, 5, 9};
    const uint64_t from[] = {4, 1, 6, 5};
    assert_memory_equal(codes, left, sizeof left);
    assert_memory_equal(positions, from, sizeof from);
    assert_int_equal(workload_unique_last(codes, positions, 0), 0);
}

/* ---- arrays so long that all threads work on them ---- */

#define LONG (3 * (UINT64_C(1) << 20) + 4321)

static void sequential_codes(workload_dist dist, uint64_t *codes, uint64_t count)
{
    workload_stream stream;
    workload_stream_init(&stream, dist, COPSE_F64, count, 8);
    for (uint64_t i = 0; i < count; i++) workload_stream_codes(&stream, &codes[i], 1);
}

static void long_streams_are_the_same_streams(void **state)
{
    (void)state;
    static const workload_dist dists[] = {WORKLOAD_UNIFORM, WORKLOAD_DESCENDING, WORKLOAD_SHUFFLED, WORKLOAD_ZIPF};
    uint64_t *a = malloc(LONG * sizeof *a);
    uint64_t *b = malloc(LONG * sizeof *b);
    assert_true(a && b);
    for (size_t d = 0; d < sizeof dists / sizeof *dists; d++) {
        workload_stream stream;
        workload_stream_init(&stream, dists[d], COPSE_F64, LONG, 8);
        workload_stream_codes(&stream, a, LONG - 10);
        workload_stream_codes(&stream, a + LONG - 10, 10); /* the generator stands where it should */
        sequential_codes(dists[d], b, LONG);
        assert_memory_equal(a, b, LONG * sizeof *a);
        workload_keys_from_codes(COPSE_F64, a, LONG, b);
        workload_codes_from_keys(COPSE_F64, b, LONG, b);
        assert_memory_equal(a, b, LONG * sizeof *a);
    }
    free(a);
    free(b);
}

static void long_values_are_the_same_values(void **state)
{
    (void)state;
    uint32_t *values = malloc(LONG * sizeof *values);
    assert_non_null(values);
    workload_values(COPSE_U32, 6, NULL, LONG, values);
    for (uint64_t i = 0; i < LONG; i += 997) {
        uint32_t one = 0;
        workload_values(COPSE_U32, 6, &i, 1, &one);
        assert_int_equal(values[i], one);
    }
    free(values);
}

/* Keys of few bits repeat, of many do not; both must come out in order, equals as they came. */
static void long_sorts_are_stable_sorts(void **state)
{
    (void)state;
    static const unsigned shifts[] = {0, 40, 58, 63};
    uint64_t *memory = malloc(5 * LONG * sizeof *memory);
    assert_non_null(memory);
    uint64_t *codes = memory;
    uint64_t *positions = memory + LONG;
    uint64_t *original = memory + 2 * LONG;
    for (size_t s = 0; s < sizeof shifts / sizeof *shifts; s++) {
        for (uint64_t i = 0; i < LONG; i++) {
            original[i] = codes[i] = workload_hash(i) >> shifts[s];
            positions[i] = i;
        }
        workload_sort(codes, positions, LONG, memory + 3 * LONG, memory + 4 * LONG);
        for (uint64_t i = 0; i < LONG; i++) {
            assert_true(positions[i] < LONG && codes[i] == original[positions[i]]);
            if (i == 0) continue;
            assert_true(codes[i - 1] < codes[i] || (codes[i - 1] == codes[i] && positions[i - 1] < positions[i]));
        }
        workload_sort(original, NULL, LONG, memory + 3 * LONG, NULL);
        assert_memory_equal(original, codes, LONG * sizeof *codes);
    }
    free(memory);
}

static void long_arrays_lose_their_duplicates(void **state)
{
    (void)state;
    static const uint64_t repeats[] = {1, 3, 700000, LONG}; /* the last two reach over whole stretches */
    uint64_t *codes = malloc(2 * LONG * sizeof *codes);
    assert_non_null(codes);
    uint64_t *positions = codes + LONG;
    for (size_t r = 0; r < sizeof repeats / sizeof *repeats; r++) {
        for (uint64_t i = 0; i < LONG; i++) {
            codes[i] = i / repeats[r];
            positions[i] = i;
        }
        uint64_t left = workload_unique_last(codes, positions, LONG);
        assert_int_equal(left, (LONG - 1) / repeats[r] + 1);
        for (uint64_t i = 0; i < left; i++) {
            uint64_t last = (i + 1) * repeats[r] - 1;
            assert_true(codes[i] == i && positions[i] == (last < LONG ? last : LONG - 1));
        }
    }
    free(codes);
}

static void names_read_back(void **state)
{
    (void)state;
    for (unsigned i = 0; i < WORKLOAD_DIST_COUNT; i++) {
        workload_dist dist = WORKLOAD_DIST_COUNT;
        assert_true(workload_dist_parse(workload_dist_name((workload_dist)i), &dist));
        assert_int_equal(dist, i);
    }
    workload_dist unused;
    assert_false(workload_dist_parse("unifrom", &unused));
    assert_null(workload_dist_name(WORKLOAD_DIST_COUNT));
}

static void sizes_read_as_people_write_them(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t count;
    } good[] = {{"16777216", 16777216}, {"16M", 16777216}, {"2^24", 16777216}, {"1", 1},
                {"10K", 10240},         {"2G", 1u << 31},  {"0", 0},           {"10^6", 1000000}};
    static const char *const bad[] = {"", "M", "16MB", "-1", "2^", "2^64", "1.5M", "1e6", "18446744073709551616", " 1"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        uint64_t count = 77;
        assert_true(cli_parse_count(good[i].text, &count));
        assert_int_equal(count, good[i].count);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        uint64_t count = 77;
        assert_false(cli_parse_count(bad[i], &count));
    }
}

static void operations_read_back(void **state)
{
    (void)state;
    bench_op op;
    size_t i = 0;
    for (; bench_op_name(i) != NULL; i++) {
        assert_true(bench_op_parse(bench_op_name(i), &op));
        assert_string_equal(op.name, bench_op_name(i));
    }
    assert_true(i > 20);
    assert_true(bench_op_parse("range25", &op));
    assert_int_equal(op.code, BENCH_RANGE);
    assert_int_equal(op.span, 25);
    assert_string_equal(op.name, "range25");
    assert_false(bench_op_parse("range", &op));
    assert_false(bench_op_parse("range0", &op));
    assert_false(bench_op_parse("range10x", &op));
    assert_false(bench_op_parse("fnd", &op));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_seed_same_codes),
        cmocka_unit_test(another_seed_other_codes),
        cmocka_unit_test(known_bytes),
        cmocka_unit_test(a_stream_cut_in_two_is_the_same_stream),
        cmocka_unit_test(every_code_is_a_key),
        cmocka_unit_test(float_codes_sort_as_floats),
        cmocka_unit_test(permutation_hits_every_place_once),
        cmocka_unit_test(ordered_distributions_have_their_order),
        cmocka_unit_test(moments_are_those_of_the_distribution),
        cmocka_unit_test(picks_stay_inside),
        cmocka_unit_test(values_add_up_exactly),
        cmocka_unit_test(sort_is_a_stable_sort),
        cmocka_unit_test(unique_keeps_the_last),
        cmocka_unit_test(long_streams_are_the_same_streams),
        cmocka_unit_test(long_values_are_the_same_values),
        cmocka_unit_test(long_sorts_are_stable_sorts),
        cmocka_unit_test(long_arrays_lose_their_duplicates),
        cmocka_unit_test(names_read_back),
        cmocka_unit_test(sizes_read_as_people_write_them),
        cmocka_unit_test(operations_read_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

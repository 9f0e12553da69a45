/* What the kernels of kernels.h must compute, by plain loops, and the comparison. Included by test programs. */
#include "kernels.h"
#include "random.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct simt_model {
    uint64_t n, block; /* threads of the launch, of a block */
    uint64_t *in;
    uint64_t *out, *expected;
    uint64_t counter[SIMT_TEST_COUNTERS], expected_counter[SIMT_TEST_COUNTERS];
};

/* Runs one kernel over in, out and counter. */
typedef bool (*simt_model_run)(void *user, enum simt_test_kernel which, uint64_t blocks, struct simt_model *model);

static uint64_t *simt_model_row(const struct simt_model *m, uint64_t i)
{
    return m->expected + i * SIMT_TEST_WORDS;
}

/* The first thread of the warp of thread i. */
static uint64_t simt_model_warp(const struct simt_model *m, uint64_t i)
{
    return i / m->block * m->block + i % m->block / 32 * 32;
}

static uint64_t simt_model_lane(const struct simt_model *m, uint64_t i)
{
    return i % m->block % 32;
}

static void expect_places(const struct simt_model *m, uint64_t i)
{
    uint64_t row[] = {i % m->block,          i / m->block,      m->block, m->n / m->block,
                      simt_model_lane(m, i), i % m->block / 32, 1};
    memcpy(simt_model_row(m, i), row, sizeof row);
}

static uint64_t lowest_set(uint64_t x)
{
    for (unsigned i = 0; i < 64; i++) {
        if (x >> i & 1u) return i + 1;
    }
    return 0;
}

static uint64_t zeros_above(uint64_t x, unsigned width)
{
    uint64_t zeros = 0;
    while (zeros < width && !(x >> (width - 1 - zeros) & 1u)) zeros++;
    return zeros;
}

static uint64_t ones(uint64_t x)
{
    uint64_t count = 0;
    for (unsigned i = 0; i < 64; i++) count += x >> i & 1u;
    return count;
}

static void expect_bits(const struct simt_model *m, uint64_t i)
{
    uint64_t wide = i % m->block == 0 ? 0 : m->in[i] >> (i % m->block), narrow = (uint32_t)wide;
    uint64_t row[] = {ones(narrow),         ones(wide), lowest_set(narrow), lowest_set(wide), zeros_above(narrow, 32),
                      zeros_above(wide, 64)};
    memcpy(simt_model_row(m, i), row, sizeof row);
}

static void expect_shuffles(const struct simt_model *m, uint64_t i)
{
    uint64_t base = simt_model_warp(m, i), lane = simt_model_lane(m, i), distance = i / m->block % 32;
    const uint64_t *in = m->in + base;
    uint64_t any = in[(uint32_t)(m->in[i] >> 40) % 32], other = in[lane ^ distance];
    uint64_t up = lane >= distance ? in[lane - distance] : in[lane];
    uint64_t down = lane + distance < 32 ? in[lane + distance] : in[lane];
    uint32_t sum = 0;
    for (unsigned j = 0; j < 32; j++) sum += (uint32_t)in[j];
    uint64_t row[] = {(uint32_t)any, any, (uint32_t)other, other, (uint32_t)up, up, (uint32_t)down, down, sum};
    memcpy(simt_model_row(m, i), row, sizeof row);
}

/* The lanes first .. last (not included) of a warp for which in & bits is not 0; or, with `modulo`, in % bits is. */
static uint64_t lanes_with(const uint64_t *in, unsigned first, unsigned last, uint64_t bits, bool modulo)
{
    uint64_t lanes = 0;
    for (unsigned j = first; j < last; j++) lanes |= (uint64_t)((modulo ? in[j] % bits : in[j] & bits) != 0) << j;
    return lanes;
}

static void expect_votes(const struct simt_model *m, uint64_t i)
{
    const uint64_t *in = m->in + simt_model_warp(m, i);
    unsigned half = simt_model_lane(m, i) < 16 ? 0 : 16;
    uint64_t mask = UINT64_C(0xffff) << half;
    uint64_t whole_rest = lanes_with(in, 0, 32, 61, true), half_rest = lanes_with(in, half, half + 16, 31, true);
    uint64_t row[] = {lanes_with(in, 0, 32, 6, false),           whole_rest != 0xffffffffu, whole_rest == 0xffffffffu,
                      lanes_with(in, half, half + 16, 1, false), half_rest != mask,         half_rest == mask};
    memcpy(simt_model_row(m, i), row, sizeof row);
}

/* What the lane `lane` of a warp sums up in its group of four. */
static uint64_t group_sum(const uint64_t *in, unsigned lane)
{
    const uint64_t *group = in + lane / 4 * 4;
    uint64_t sum[4] = {0}, rounds = group[0] % 7;
    bool done = false;
    for (uint64_t i = 0; i < rounds && !done; i++) {
        for (unsigned j = 0; j < 4; j++) {
            sum[j] += group[(j + i) % 4];
            done |= (sum[j] & 63u) == 63u;
        }
    }
    return sum[lane % 4];
}

static void expect_groups(const struct simt_model *m, uint64_t i)
{
    const uint64_t *in = m->in + simt_model_warp(m, i);
    unsigned lane = (unsigned)simt_model_lane(m, i);
    simt_model_row(m, i)[0] = group_sum(in, lane);
    simt_model_row(m, i)[1] = group_sum(in, 31 - lane);
}

static void expect_early_end(const struct simt_model *m, uint64_t i)
{
    const uint64_t *in = m->in + simt_model_warp(m, i);
    uint64_t stay = lanes_with(in, 0, 32, 1, false);
    if (!(m->in[i] & 1u)) return;
    simt_model_row(m, i)[0] = in[lowest_set(stay) - 1];
    simt_model_row(m, i)[1] = stay & lanes_with(in, 0, 32, 2, false);
}

/* The sum of in[first] to in[last], both included, each changed by `change` bits. */
static uint64_t sum_of(const struct simt_model *m, uint64_t first, uint64_t last, uint64_t change)
{
    uint64_t sum = 0;
    for (uint64_t j = first; j <= last; j++) sum += m->in[j] ^ change;
    return sum;
}

static void expect_warp_scan(const struct simt_model *m, uint64_t i)
{
    simt_model_row(m, i)[0] = sum_of(m, simt_model_warp(m, i), i, 0);
}

static void expect_block_scan(const struct simt_model *m, uint64_t i)
{
    uint64_t first = i / m->block * m->block, last = first + m->block - 1;
    uint64_t row[] = {sum_of(m, first, i, 0), sum_of(m, first, last, 0), sum_of(m, first, last, 1)};
    memcpy(simt_model_row(m, i), row, sizeof row);
}

static void expect_partial_warp(const struct simt_model *m, uint64_t i)
{
    uint64_t first = i / m->block * m->block, t = i % m->block;
    simt_model_row(m, i)[0] = lanes_with(m->in + simt_model_warp(m, i), 0, t >= 64 ? 6 : 32, 1, false);
    simt_model_row(m, i)[1] = (uint32_t)m->in[first + 69 - t];
}

static void expect_shared_limit(const struct simt_model *m, uint64_t i)
{
    uint64_t first = i / m->block * m->block, next = (i + 1) % m->block, sum = 0;
    for (uint64_t j = next; j < 5120; j += m->block) sum += m->in[first + next] + j;
    for (uint64_t j = next; j < 8192; j += m->block) sum += (uint8_t)(m->in[first + next] + j);
    simt_model_row(m, i)[0] = sum;
}

static void expect_last_block(const struct simt_model *m, uint64_t i)
{
    if (i % m->block == 0) simt_model_row(m, i)[0] = sum_of(m, i, i + m->block - 1, 0);
}

static void expect_message(const struct simt_model *m, uint64_t i)
{
    uint64_t *row = simt_model_row(m, i), message = m->in[i / m->block * m->block];
    if (i % m->block >= 32) row[0] = message;
    if (i % m->block == 0) {
        row[1] = message;
        row[2] = row[3] = 1;
    }
}

static void expect_accesses(const struct simt_model *m, uint64_t i)
{
    uint64_t first = m->in[i & ~UINT64_C(1)], second = m->in[i | 1u], own = m->in[i];
    uint64_t row[] = {first, second,       first,         second, (uint32_t)own,
                      own,   (uint8_t)own, (uint32_t)own, own,    i % m->block * 16 + 4,
                      0,     first,        second};
    memcpy(simt_model_row(m, i), row, sizeof row);
}

static void expect_counters(struct simt_model *m, enum simt_test_kernel which)
{
    uint64_t *c = m->expected_counter;
    if (which == SIMT_TEST_ATOMICS) {
        c[0] = m->n;
        for (uint64_t i = 0; i < m->n; i++) {
            uint64_t x = m->in[i], narrow = (uint32_t)x;
            c[1] = x > c[1] ? x : c[1];
            c[15] = x < c[15] ? x : c[15];
            c[2] |= x & 0xff00ff00ff00ff00u;
            c[14] &= x | 0xffffffffu;
            c[3] += x;
            if (narrow > c[7] >> 32) c[7] = narrow << 32;
            if (narrow < (uint32_t)c[13]) c[13] = 0xffffffff00000000u | narrow;
            c[8] = (c[8] & 0xffffffff00000000u) | (uint32_t)(c[8] | (narrow & 0xff00ff00u));
            c[12] &= 0xffffffff00000000u | narrow | 0xffffu;
            c[8] += narrow << 32;
        }
        c[7] |= m->n;
    } else if (which == SIMT_TEST_SPIN_LOCK) {
        c[1] = m->n;
        c[2] = sum_of(m, 0, m->n - 1, 0);
    } else if (which == SIMT_TEST_LAST_BLOCK) {
        c[0] = m->n / m->block;
        c[1] = sum_of(m, 0, m->n - 1, 0);
    } else if (which == SIMT_TEST_MESSAGE) {
        c[5] = 5;
        c[6] = 6;
    }
}

static int compare_u64(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* What atomics returned, which threads got in an order that nobody knows: each ticket once; and of the numbers handed on
 * each once, with a zero in place of the one left over. Then makes the rows equal. */
static bool atomics_are_right(struct simt_model *m)
{
    static const unsigned column[] = {0, 1, 2, 3};
    uint64_t *got = malloc(m->n * sizeof *got), *want = malloc(m->n * sizeof *want);
    bool right = got && want;
    for (unsigned c = 0; right && c < 4; c++) {
        uint64_t left = c == 1 ? m->counter[4] : (uint32_t)m->counter[9];
        bool found = false;
        for (uint64_t i = 0; i < m->n; i++) {
            uint64_t number = c == 1 ? m->in[i] : (uint32_t)m->in[i];
            got[i] = m->out[i * SIMT_TEST_WORDS + column[c]];
            want[i] = c % 2 == 0 ? i : number;
            if (c % 2 == 1 && number == left && !found) {
                found = true;
                want[i] = 0;
            }
            m->out[i * SIMT_TEST_WORDS + column[c]] = 0;
        }
        qsort(got, m->n, sizeof *got, compare_u64);
        qsort(want, m->n, sizeof *want, compare_u64);
        right = memcmp(got, want, m->n * sizeof *got) == 0 && (c % 2 == 0 || found);
    }
    m->counter[4] = m->counter[9] = 0;
    free(got);
    free(want);
    return right;
}

static const struct {
    const char *name;
    uint64_t blocks;
    void (*expect)(const struct simt_model *m, uint64_t i);
} simt_models[SIMT_TEST_KERNELS] = {
    [SIMT_TEST_PLACES] = {"places", 7, expect_places},
    [SIMT_TEST_BITS] = {"bits", 5, expect_bits},
    [SIMT_TEST_SHUFFLES] = {"shuffles", 40, expect_shuffles},
    [SIMT_TEST_VOTES] = {"votes", 50, expect_votes},
    [SIMT_TEST_GROUPS] = {"groups", 20, expect_groups},
    [SIMT_TEST_EARLY_END] = {"early_end", 20, expect_early_end},
    [SIMT_TEST_WARP_SCAN] = {"warp_scan", 10, expect_warp_scan},
    [SIMT_TEST_BLOCK_SCAN] = {"block_scan", 3, expect_block_scan},
    [SIMT_TEST_PARTIAL_WARP] = {"partial_warp", 9, expect_partial_warp},
    [SIMT_TEST_SHARED_LIMIT] = {"shared_limit", 5, expect_shared_limit},
    [SIMT_TEST_ATOMICS] = {"atomics", 20, NULL},
    [SIMT_TEST_SPIN_LOCK] = {"spin_lock", 6, NULL},
    [SIMT_TEST_LAST_BLOCK] = {"last_block", 30, expect_last_block},
    [SIMT_TEST_MESSAGE] = {"message", 8, expect_message},
    [SIMT_TEST_ACCESSES] = {"accesses", 11, expect_accesses},
};

static bool simt_model_create(struct simt_model *m)
{
    size_t words = (size_t)SIMT_TEST_MOST * SIMT_TEST_WORDS;
    m->in = aligned_alloc(64, SIMT_TEST_MOST * sizeof *m->in);
    m->out = aligned_alloc(64, words * sizeof *m->out);
    m->expected = malloc(words * sizeof *m->expected);
    return m->in && m->out && m->expected;
}

static void simt_model_free(struct simt_model *m)
{
    free(m->in);
    free(m->out);
    free(m->expected);
}

static void simt_model_fill(struct simt_model *m, enum simt_test_kernel which, uint32_t block, uint64_t seed)
{
    struct random_source random = {seed};
    m->block = block;
    m->n = simt_models[which].blocks * block;
    for (uint64_t i = 0; i < m->n; i++) m->in[i] = random_next(&random);
    memset(m->out, 0, m->n * SIMT_TEST_WORDS * sizeof *m->out);
    memset(m->expected, 0, m->n * SIMT_TEST_WORDS * sizeof *m->expected);
    for (unsigned i = 0; i < SIMT_TEST_COUNTERS; i++) {
        m->counter[i] = m->expected_counter[i] = i < SIMT_TEST_COUNTERS - 4 ? 0 : UINT64_MAX;
    }
    expect_counters(m, which);
    for (uint64_t i = 0; simt_models[which].expect && i < m->n; i++) simt_models[which].expect(m, i);
}

/* Runs one kernel and compares; false after a line about the first difference. */
static bool simt_model_check(struct simt_model *m, enum simt_test_kernel which, uint32_t block, uint64_t seed,
                             simt_model_run run, void *user)
{
    const char *name = simt_models[which].name;
    simt_model_fill(m, which, block, seed);
    if (!run(user, which, simt_models[which].blocks, m)) return false;
    if (which == SIMT_TEST_ATOMICS && !atomics_are_right(m)) {
        (void)printf("%s: what the operations returned is not what was there before\n", name);
        return false;
    }
    for (uint64_t i = 0; i < m->n * SIMT_TEST_WORDS; i++) {
        if (m->out[i] == m->expected[i]) continue;
        (void)printf("%s: word %" PRIu64 " of thread %" PRIu64 " is %" PRIu64 ", expected %" PRIu64 "\n", name,
                     i % SIMT_TEST_WORDS, i / SIMT_TEST_WORDS, m->out[i], m->expected[i]);
        return false;
    }
    for (unsigned i = 0; i < SIMT_TEST_COUNTERS; i++) {
        if (m->counter[i] == m->expected_counter[i]) continue;
        (void)printf("%s: counter %u is %" PRIx64 ", expected %" PRIx64 "\n", name, i, m->counter[i],
                     m->expected_counter[i]);
        return false;
    }
    return true;
}

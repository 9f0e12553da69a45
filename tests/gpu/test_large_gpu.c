/* Indexes of 2^31 and 2^32 entries and more, a card that is too small, memory that nobody may read, and a kernel that
 * faults: what only a card can show. With --emulated the same runs small on the emulator, as a test of the test.
 *
 * Entry i of an index has a key that is known from i and the value of value_of(i), so that every answer is arithmetic:
 *   wide      u64 keys 3 i + 1
 *   repeated  u32 keys i / 4, duplicates kept
 * Ends with "N passed, N failed"; exit status 77 and "no card" where there is none. */
#include <stdio.h>
#include "support/ranges.h"
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "copse.h"
#include "planted_kernels.h"
#include "random.h"
#include "typed.h"

#define NO_CARD   77
#define PLACES    40000 /* queries of a card */
#define FEWER     3900  /* of the emulator    */
#define ROW_LIMIT 20u
#define STEP      1000003u /* a prime that divides no n here */
#define NOWHERE   UINT64_MAX
#define TWO_TO_31 (UINT64_C(1) << 31)
#define TWO_TO_32 (UINT64_C(1) << 32)

static unsigned passed, failed;
static copse_placement placement = COPSE_PLACEMENT_GPU;

static void check(bool right, const char *what, const copse_ctx *ctx)
{
    if (right) {
        passed++;
        return;
    }
    failed++;
    (void)printf("FAILED %s; the last sentence is '%s'\n", what, copse_last_error(ctx));
}

static double now(void)
{
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static const struct planted_kernels *kernels(void)
{
    return placement == COPSE_PLACEMENT_GPU ? &planted_kernels_cuda : &planted_kernels_emulated;
}

static copse_ctx *context(void)
{
    copse_ctx *ctx = NULL;
    if (copse_ctx_create(NULL, &ctx) == COPSE_OK) return ctx;
    (void)fprintf(stderr, "test_large_gpu: %s\n", copse_last_error(NULL));
    exit(2);
}

static copse_device *device_of(copse_ctx *ctx)
{
    copse_device *device = NULL;
    (void)copse_device_get(ctx, placement, &device);
    if (device) return device;
    (void)fprintf(stderr, "test_large_gpu: %s\n", copse_last_error(ctx));
    exit(2);
}

static copse_index *new_index(copse_ctx *ctx, copse_structure structure, copse_type key, copse_type value,
                              bool duplicates)
{
    copse_index *index = NULL;
    copse_index_options options = COPSE_INDEX_OPTIONS_INIT;
    options.key_type = key;
    options.value_type = value;
    options.structure = structure;
    options.placement = placement;
    options.duplicates = duplicates;
    if (copse_index_create(ctx, &options, &index) == COPSE_OK) return index;
    (void)fprintf(stderr, "test_large_gpu: %s\n", copse_last_error(ctx));
    exit(2);
}

/* --- the truth -------------------------------------------------------------------------------------------------------- */

struct large {
    copse_ctx *ctx;
    copse_index *index;
    uint64_t n;
    bool wide; /* else repeated */
};

static uint32_t value_of(uint64_t i)
{
    return (uint32_t)(i + 77 * (i >> 32));
}

static uint64_t key_of(const struct large *large, uint64_t i)
{
    return large->wide ? 3 * i + 1 : i / 4;
}

/* Entries with a smaller key. */
static uint64_t rank_of(const struct large *large, uint64_t key)
{
    uint64_t rank = large->wide ? key / 3 + (key % 3 == 2) : 4 * key;
    return rank < large->n ? rank : large->n;
}

static uint64_t rank_after(const struct large *large, uint64_t key)
{
    return rank_of(large, key + 1);
}

/* value_of(0) + ... + value_of(i - 1), modulo 2^64 */
static uint64_t sum_before(uint64_t i)
{
    uint64_t plain = i < TWO_TO_32 ? i : TWO_TO_32, sum = plain / 2 * (plain - 1);
    if (plain % 2) sum = plain * ((plain - 1) / 2);
    for (uint64_t rest = plain; rest < i; rest++) sum += value_of(rest);
    return sum;
}

/* --- queries: keys at and around entries that matter ----------------------------------------------------------------- */

struct queries {
    uint64_t n;
    uint64_t lows[PLACES];
    uint64_t highs[PLACES];
    uint32_t narrow_lows[PLACES]; /* the same as u32 */
    uint32_t narrow_highs[PLACES];
};

static void add_query(struct queries *queries, uint64_t low, uint64_t high)
{
    if (queries->n == PLACES) return;
    queries->lows[queries->n] = low;
    queries->highs[queries->n] = high;
    queries->narrow_lows[queries->n] = (uint32_t)low;
    queries->narrow_highs[queries->n] = (uint32_t)high;
    queries->n++;
}

static struct queries *make_queries(const struct large *large)
{
    struct queries *queries = must_malloc(sizeof *queries);
    const uint64_t marks[] = {0, large->n, large->n / 2, TWO_TO_31, TWO_TO_32, TWO_TO_31 + TWO_TO_31 / 2};
    struct random_source random = {large->n};
    queries->n = 0;
    for (size_t mark = 0; mark < sizeof marks / sizeof *marks; mark++)
        for (uint64_t i = 0; i < 200; i++) {
            uint64_t at = marks[mark] + i < 100 ? 0 : marks[mark] + i - 100;
            uint64_t key = key_of(large, at < large->n ? at : large->n - 1) + i % 3;
            add_query(queries, key, key + i);
            add_query(queries, i, key);                       /* from the start */
            add_query(queries, key, key_of(large, large->n)); /* to the end and beyond */
        }
    while (queries->n < (placement == COPSE_PLACEMENT_EMULATED ? FEWER : PLACES)) {
        uint64_t key = key_of(large, random_below(&random, large->n)) + random_below(&random, 3);
        add_query(queries, key, key_of(large, random_below(&random, large->n)));
    }
    return queries;
}

static const void *lows_of(const struct large *large, const struct queries *queries)
{
    return large->wide ? (const void *)queries->lows : queries->narrow_lows;
}

static const void *highs_of(const struct large *large, const struct queries *queries)
{
    return large->wide ? (const void *)queries->highs : queries->narrow_highs;
}

static uint64_t count_of(const struct large *large, const struct queries *queries, uint64_t i)
{
    uint64_t first = rank_of(large, queries->lows[i]), last = rank_after(large, queries->highs[i]);
    return last > first ? last - first : 0;
}

/* --- checks ----------------------------------------------------------------------------------------------------------- */

/* Entry `at` (NOWHERE: none) is what the call gave. */
static bool is_entry(const struct large *large, uint64_t at, uint64_t key, uint32_t value, uint8_t found)
{
    if (at == NOWHERE) return !found && key == 0 && value == 0;
    return found && key == key_of(large, at) && value == value_of(at);
}

static uint64_t key_at(const struct large *large, const void *keys, uint64_t i)
{
    return large->wide ? ((const uint64_t *)keys)[i] : ((const uint32_t *)keys)[i];
}

static void check_points(const struct large *large, const struct queries *queries)
{
    const void *lows = lows_of(large, queries);
    const uint64_t n = queries->n;
    uint64_t *keys = must_malloc(n * 8), *ranks = must_malloc(n * 8), wrong[4] = {0};
    uint32_t *values = must_malloc(n * 4);
    uint8_t *found = must_malloc(n);
    check(copse_find(large->index, lows, n, values, found) == COPSE_OK, "find", large->ctx);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t at = rank_of(large, queries->lows[i]);
        bool there = at < large->n && key_of(large, at) == queries->lows[i];
        wrong[0] += found[i] != there || values[i] != (there ? value_of(at) : 0);
    }
    check(copse_lower_bound(large->index, lows, n, keys, values, found, ranks) == COPSE_OK, "lower_bound", large->ctx);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t at = rank_of(large, queries->lows[i]);
        wrong[1] += ranks[i] != at ||
                    !is_entry(large, at < large->n ? at : NOWHERE, key_at(large, keys, i), values[i], found[i]);
    }
    check(copse_successor(large->index, lows, n, keys, values, found) == COPSE_OK, "successor", large->ctx);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t at = rank_after(large, queries->lows[i]);
        wrong[2] += !is_entry(large, at < large->n ? at : NOWHERE, key_at(large, keys, i), values[i], found[i]);
    }
    check(copse_predecessor(large->index, lows, n, keys, values, found) == COPSE_OK, "predecessor", large->ctx);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t at = rank_of(large, queries->lows[i]);
        wrong[3] += !is_entry(large, at ? at - 1 : NOWHERE, key_at(large, keys, i), values[i], found[i]);
    }
    check(!wrong[0], "an answer of find", large->ctx);
    check(!wrong[1], "an answer of lower_bound", large->ctx);
    check(!wrong[2], "an answer of successor", large->ctx);
    check(!wrong[3], "an answer of predecessor", large->ctx);
    free(keys);
    free(ranks);
    free(values);
    free(found);
}

static void check_aggregates(const struct large *large, const struct queries *queries)
{
    const void *lows = lows_of(large, queries), *highs = highs_of(large, queries);
    const uint64_t n = queries->n;
    uint64_t *counts = must_malloc(n * 8), *sums = must_malloc(n * 8), wrong[3] = {0};
    uint32_t *least = must_malloc(n * 4), *most = must_malloc(n * 4);
    check(copse_count(large->index, BETWEEN(lows, highs, n), counts) == COPSE_OK, "count", large->ctx);
    check(copse_sum(large->index, BETWEEN(lows, highs, n), sums) == COPSE_OK, "sum", large->ctx);
    check(copse_min(large->index, BETWEEN(lows, highs, n), least, NULL) == COPSE_OK, "min", large->ctx);
    check(copse_max(large->index, BETWEEN(lows, highs, n), most, NULL) == COPSE_OK, "max", large->ctx);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t count = count_of(large, queries, i), first = rank_of(large, queries->lows[i]);
        wrong[0] += counts[i] != count;
        wrong[1] += sums[i] != (count ? sum_before(first + count) - sum_before(first) : 0);
        /* values grow with the position up to 2^32 */
        if (first + count <= TWO_TO_32)
            wrong[2] +=
                least[i] != (count ? value_of(first) : 0) || most[i] != (count ? value_of(first + count - 1) : 0);
    }
    check(!wrong[0], "an answer of count", large->ctx);
    check(!wrong[1], "an answer of sum", large->ctx);
    check(!wrong[2], "an answer of min or max", large->ctx);
    free(counts);
    free(sums);
    free(least);
    free(most);
}

static void check_ranges(const struct large *large, const struct queries *queries)
{
    const void *lows = lows_of(large, queries), *highs = highs_of(large, queries);
    const uint64_t n = queries->n;
    uint64_t *offsets = must_malloc((n + 1) * 8), *keys = must_malloc(n * ROW_LIMIT * 8), wrong = 0, at = 0;
    uint32_t *values = must_malloc(n * ROW_LIMIT * 4);
    check(copse_range(large->index, AT_MOST(ROW_LIMIT, lows, highs, n), ROWS(offsets, keys, values, n * ROW_LIMIT)) ==
              COPSE_OK,
          "range", large->ctx);
    for (uint64_t i = 0; i < n && !wrong; i++) {
        uint64_t count = count_of(large, queries, i), first = rank_of(large, queries->lows[i]);
        wrong += offsets[i] != at;
        for (uint64_t row = 0; row < count && row < ROW_LIMIT; row++, at++)
            wrong += !is_entry(large, first + row, key_at(large, keys, at), values[at], 1);
    }
    check(!wrong && offsets[n] == at, "an answer of range", large->ctx);
    /* without a limit the rows of one wide range cannot be fetched, but they are counted */
    check(copse_range(large->index, BETWEEN(lows, highs, n), ROWS(offsets, NULL, NULL, 0)) == COPSE_OK,
          "sizing a range", large->ctx);
    for (uint64_t i = at = wrong = 0; i < n; i++, at += count_of(large, queries, i - 1)) wrong += offsets[i] != at;
    check(!wrong && offsets[n] == at, "offsets beyond 2^32", large->ctx);
    free(offsets);
    free(keys);
    free(values);
}

static void check_cursor(const struct large *large)
{
    copse_cursor *cursor = NULL;
    uint64_t keys[4], got = 0, at = large->n > TWO_TO_31 + 8 ? TWO_TO_31 - 4 : large->n / 2 / 4 * 4;
    uint32_t values[4], narrow = (uint32_t)key_of(large, at);
    uint64_t wide = key_of(large, at);
    check(copse_cursor_open(large->index, NULL, &cursor) == COPSE_OK &&
              copse_cursor_seek(cursor, large->wide ? (const void *)&wide : &narrow) == COPSE_OK &&
              copse_cursor_next(cursor, keys, values, 4, &got) == COPSE_OK && got == 4,
          "cursor", large->ctx);
    bool right = true;
    for (uint64_t i = 0; i < got; i++) right &= is_entry(large, at + i, key_at(large, keys, i), values[i], 1);
    check(right, "an entry of the cursor", large->ctx);
    copse_cursor_free(cursor);
}

/* --- building -------------------------------------------------------------------------------------------------------- */

static bool build(struct large *large, uint64_t step)
{
    copse_device *device = device_of(large->ctx);
    size_t key_bytes = large->wide ? 8 : 4;
    void *keys = NULL, *values = NULL;
    bool made = copse_device_alloc(device, device->main, large->n * key_bytes, "keys", &keys) == COPSE_OK &&
                copse_device_alloc(device, device->main, large->n * 4, "values", &values) == COPSE_OK;
    fill_arguments arguments = {keys, values, large->n, step, (uint32_t)key_bytes};
    uint64_t blocks = (large->n + kernels()->fill.threads - 1) / kernels()->fill.threads;
    if (made)
        made = copse_device_launch(device, device->main, &kernels()->fill, blocks < 4096 ? blocks : 4096, &arguments) ==
               COPSE_OK;
    check(made, "making the data", large->ctx);
    double start = now();
    made = made && copse_build(large->index, keys, values, large->n) == COPSE_OK;
    check(made, "build", large->ctx);
    (void)printf("  build of %llu entries: %.2f s\n", (unsigned long long)large->n, now() - start);
    copse_device_free(device, device->main, keys, large->n * key_bytes);
    copse_device_free(device, device->main, values, large->n * 4);
    return made;
}

/* Keys between the others come and go: the implicit tree is rebuilt twice. */
static void check_updates(struct large *large)
{
    enum { n = 1000 };
    uint64_t keys[n], change = 0;
    uint32_t values[n], got[n];
    uint8_t found[n];
    for (uint64_t i = 0; i < n; i++) {
        keys[i] = 3 * (large->n - 1 - i * (large->n / n)) + 2;
        values[i] = (uint32_t)i;
    }
    check(copse_insert(large->index, keys, values, n, 0, &change) == COPSE_OK && change == n, "insert", large->ctx);
    check(copse_size(large->index) == large->n + n, "the size after insert", large->ctx);
    check(copse_find(large->index, keys, n, got, found) == COPSE_OK && memcmp(got, values, sizeof got) == 0,
          "find what was inserted", large->ctx);
    check(copse_erase(large->index, keys, n, &change) == COPSE_OK && change == n, "erase", large->ctx);
    check(copse_size(large->index) == large->n, "the size after erase", large->ctx);
}

static void run_large(copse_structure structure, uint64_t n, bool wide, uint64_t step)
{
    double start = now();
    struct large large = {context(), NULL, n, wide};
    large.index = new_index(large.ctx, structure, wide ? COPSE_U64 : COPSE_U32, COPSE_U32, !wide);
    if (build(&large, step)) {
        struct queries *queries = make_queries(&large);
        check(copse_size(large.index) == n, "the size", large.ctx);
        for (int round = 0; round < (wide ? 2 : 1); round++) {
            if (round) check_updates(&large);
            check_points(&large, queries);
            check_aggregates(&large, queries);
            check_ranges(&large, queries);
            check_cursor(&large);
        }
        check(copse_verify(large.index) == COPSE_OK, "verify", large.ctx);
        free(queries);
    }
    copse_index_free(large.index);
    copse_ctx_free(large.ctx);
    (void)printf("%s, %llu entries, %s: %.1f s\n", copse_structure_name(structure), (unsigned long long)n,
                 wide ? "u64 keys" : "u32 keys, duplicates", now() - start);
}

/* --- a card that is too small ---------------------------------------------------------------------------------------- */

/* The input alone takes half of what is free; the index does not fit beside it. */
static void run_failed_builds(void)
{
    copse_ctx *ctx = context();
    copse_device *device = device_of(ctx);
    copse_index *index =
        new_index(ctx, COPSE_STRUCTURE_IMPLICIT, COPSE_U64, COPSE_U64, true); /* or all of them are one entry */
    static const uint64_t few[] = {5, 7, 6};
    uint64_t available = 0, total = 0, held = 0, before = 0, value = 0;
    void *keys = NULL;
    uint8_t found = 0;
    check(copse_build(index, few, NULL, 3) == COPSE_OK, "a small build", ctx);
    if (placement == COPSE_PLACEMENT_EMULATED) device->memory = device->allocated + (4u << 20);
    device->backend->memory_info(device, &available, &total);
    uint64_t n = available / 16, bytes = n * 8;
    check(copse_device_alloc(device, device->main, bytes, "keys", &keys) == COPSE_OK, "half of the card", ctx);
    check(copse_device_fill(device, device->main, keys, 0x11, bytes) == COPSE_OK, "filling it", ctx);
    bool right = keys != NULL;
    for (int i = 0; i < 100 && right; i++) {
        right = copse_build(index, keys, NULL, n) == COPSE_ERR_MEMORY && strstr(copse_last_error(ctx), "free");
        device->backend->memory_info(device, &available, &total);
        if (i > 0) right = right && device->allocated == held && available + (64u << 20) >= before;
        held = device->allocated;
        if (i == 0) before = available;
    }
    check(right, "100 builds that do not fit", ctx);
    copse_device_free(device, device->main, keys, bytes);
    check(copse_size(index) == 3 && copse_find(index, &few[1], 1, &value, &found) == COPSE_OK && found && value == 1,
          "the index that was there before", ctx);
    copse_index_free(index);
    copse_ctx_free(ctx);
}

/* --- in a process of their own: these may end it --------------------------------------------------------------------- */

static void run_wild_pointers(void)
{
    copse_ctx *ctx = context();
    copse_index *index = new_index(ctx, COPSE_STRUCTURE_IMPLICIT, COPSE_U64, COPSE_U64, false);
    uint64_t keys[2] = {1, 2}, out[2];
    uint8_t found[2];
    void *wild = (void *)(uintptr_t)4096;
    check(copse_build(index, keys, NULL, 2) == COPSE_OK, "a small build", ctx);
    check(copse_build(index, wild, NULL, 2) == COPSE_ERR_ARGUMENT, "build from a wild pointer", ctx);
    check(copse_find(index, wild, 2, out, found) == COPSE_ERR_ARGUMENT, "find from a wild pointer", ctx);
    check(copse_find(index, keys, 2, wild, found) == COPSE_ERR_ARGUMENT, "find to a wild pointer", ctx);
    check(copse_find(index, keys, 2, out, found) == COPSE_OK && found[0] && found[1], "find after that", ctx);
    copse_index_free(index);
    copse_ctx_free(ctx);
}

static void run_fault(void)
{
    copse_ctx *ctx = context();
    copse_device *device = device_of(ctx);
    copse_index *index = new_index(ctx, COPSE_STRUCTURE_IMPLICIT, COPSE_U64, COPSE_U64, false);
    fault_arguments arguments = {placement == COPSE_PLACEMENT_GPU ? 4096 : 0};
    uint64_t keys[2] = {1, 2}, out[2];
    uint8_t found[2];
    char sentence[512];
    check(copse_build(index, keys, NULL, 2) == COPSE_OK, "a small build", ctx);
    copse_status status = copse_device_launch(device, device->main, &kernels()->fault, 1, &arguments);
    if (status == COPSE_OK) status = copse_find(index, keys, 2, out, found);
    check(status == COPSE_ERR_DEVICE, "the first call after a fault", ctx);
    (void)snprintf(sentence, sizeof sentence, "%s", copse_last_error(ctx));
    (void)printf("  the sentence: %s\n", sentence);
    for (int i = 0; i < 3; i++) {
        check(copse_find(index, keys, 2, out, found) == COPSE_ERR_DEVICE, "find after a fault", ctx);
        check(strcmp(sentence, copse_last_error(ctx)) == 0, "the same sentence again", ctx);
        check(copse_build(index, keys, NULL, 2) == COPSE_ERR_DEVICE, "build after a fault", ctx);
        check(strcmp(sentence, copse_last_error(ctx)) == 0, "the same sentence for build", ctx);
    }
    copse_index_free(index);
    copse_ctx_free(ctx);
}

static void run_in_process(const char *self, const char *which)
{
    int status = 0;
    (void)fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        (void)execl(self, self, which, placement == COPSE_PLACEMENT_EMULATED ? "--emulated" : (char *)NULL,
                    (char *)NULL);
        _exit(127);
    }
    bool ended = child > 0 && waitpid(child, &status, 0) == child;
    bool good = ended && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (!good) (void)printf("FAILED %s: the process ended with status %#x\n", which, (unsigned)status);
    if (good)
        passed++;
    else
        failed++;
}

static bool is_there(void)
{
    const char *why = "";
    if (placement == COPSE_PLACEMENT_EMULATED) return true;
    if (copse_device_count(&why) > 0 && &planted_kernels_cuda) return true;
    (void)printf("no card: %s\n", *why ? why : "the test was built without CUDA");
    return false;
}

int main(int argc, char **argv)
{
    const char *which = "";
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--emulated") == 0)
            placement = COPSE_PLACEMENT_EMULATED;
        else
            which = argv[i];
    }
    if (!is_there()) return NO_CARD;
    bool small = placement == COPSE_PLACEMENT_EMULATED;
    if (strcmp(which, "--wild") == 0) {
        run_wild_pointers();
    } else if (strcmp(which, "--fault") == 0) {
        run_fault();
    } else {
        static const copse_structure structures[] = {COPSE_STRUCTURE_IMPLICIT, COPSE_STRUCTURE_BLINK};
        for (size_t i = 0; i < sizeof structures / sizeof *structures; i++) {
            run_large(structures[i], small ? 3001 : TWO_TO_31 + 5, true, STEP);
            run_large(structures[i], small ? 5003 : TWO_TO_32 + 3, false, 1);
        }
        run_failed_builds();
        run_in_process("/proc/self/exe", "--wild");
        run_in_process("/proc/self/exe", "--fault");
        (void)printf("%u passed, %u failed\n", passed, failed);
    }
    return failed != 0;
}

/* The regular tree where leaves and pages begin and end: sizes one off a border, runs that fill leaves and pages of their own, leaves and
 * pages that join, stretches that are cut out, and all of it without memory at each place that asks for some. */
#include "support/ranges.h"
#include "support/test_allocator.h"
#include "support/unit.h"

/* Entries of a leaf as a build fills it, and at most; leaves of a page in the same way. */
struct shape {
    copse_type key, value;
    uint64_t leaf, leaf_most, page, page_most;
};

static const struct shape SHAPES[] = {
    {COPSE_U64, COPSE_U64, 56, 60, 70, 81},
    {COPSE_U64, COPSE_U32, 70, 75, 70, 81},
    {COPSE_U32, COPSE_U64, 70, 75, 252, 289},
    {COPSE_U32, COPSE_U32, 112, 120, 252, 289},
};

/* A tree, and the keys that it should have: has[key]. */
struct subject {
    const struct shape *shape;
    struct test_allocator allocator;
    copse_ctx *ctx;
    copse_index *index;
    uint8_t *has;
    uint64_t domain;
};

static uint64_t value_of(uint64_t key)
{
    return key * 2654435761u % 1000003;
}

/* n numbers as an array of this type. */
static void *packed(copse_type type, const uint64_t *numbers, uint64_t n)
{
    uint64_t *wide = must_malloc((n ? n : 1) * sizeof *wide);
    if (type == COPSE_U64)
        memcpy(wide, numbers, n * sizeof *wide);
    else
        for (uint64_t i = 0; i < n; i++) ((uint32_t *)wide)[i] = (uint32_t)numbers[i];
    return wide;
}

static void open_subject(struct subject *s, const struct shape *shape, uint64_t domain, uint32_t threads)
{
    copse_ctx_options options = COPSE_CTX_OPTIONS_INIT;
    copse_allocator hooks;
    *s = (struct subject){.shape = shape, .domain = domain};
    test_allocator_init(&s->allocator);
    hooks = test_allocator_hooks(&s->allocator);
    options.allocator = hooks;
    options.threads = threads;
    assert_ok(NULL, copse_ctx_create(&options, &s->ctx));
    s->index = unit_index(s->ctx, (struct unit_tree){COPSE_STRUCTURE_REGULAR, COPSE_PLACEMENT_CPU}, shape->key,
                          shape->value, false);
    s->has = calloc(domain, 1);
    assert_non_null(s->has);
}

static void close_subject(struct subject *s)
{
    copse_index_free(s->index);
    copse_ctx_free(s->ctx);
    assert_true(test_allocator_is_clean(&s->allocator));
    free(s->has);
}

static double fill_of(const struct subject *s)
{
    copse_stats stats = {.struct_size = sizeof stats};
    assert_ok(s->ctx, copse_index_stats(s->index, &stats));
    return stats.fill;
}

static void check(const struct subject *s)
{
    uint64_t *want = must_malloc(s->domain * sizeof *want), *values = must_malloc(s->domain * sizeof *values), n = 0;
    void *keys = must_malloc(s->domain * sizeof(uint64_t)), *got = must_malloc(s->domain * sizeof(uint64_t));
    for (uint64_t key = 0; key < s->domain; key++) {
        if (!s->has[key]) continue;
        values[n] = value_of(key);
        want[n++] = key;
    }
    assert_ok(s->ctx, copse_verify(s->index));
    assert_int_equal(copse_size(s->index), n);
    assert_ok(s->ctx, copse_export(s->index, keys, got, n));
    void *want_keys = packed(s->shape->key, want, n), *want_values = packed(s->shape->value, values, n);
    assert_memory_equal(keys, want_keys, n * typed_size(s->shape->key));
    assert_memory_equal(got, want_values, n * typed_size(s->shape->value));
    free(want);
    free(values);
    free(keys);
    free(got);
    free(want_keys);
    free(want_values);
}

static copse_status put(struct subject *s, const uint64_t *keys, uint64_t n)
{
    uint64_t *values = must_malloc((n ? n : 1) * sizeof *values);
    for (uint64_t i = 0; i < n; i++) values[i] = value_of(keys[i]);
    void *k = packed(s->shape->key, keys, n), *v = packed(s->shape->value, values, n);
    copse_status status = copse_insert(s->index, k, v, n, 0, NULL);
    for (uint64_t i = 0; status == COPSE_OK && i < n; i++) s->has[keys[i]] = 1;
    free(values);
    free(k);
    free(v);
    return status;
}

static copse_status take(struct subject *s, const uint64_t *keys, uint64_t n)
{
    void *k = packed(s->shape->key, keys, n);
    copse_status status = copse_erase(s->index, k, n, NULL);
    for (uint64_t i = 0; status == COPSE_OK && i < n; i++) s->has[keys[i]] = 0;
    free(k);
    return status;
}

static copse_status take_ranges(struct subject *s, const uint64_t *lows, const uint64_t *highs, uint64_t n)
{
    void *l = packed(s->shape->key, lows, n), *h = packed(s->shape->key, highs, n);
    copse_status status = copse_erase_range(s->index, BETWEEN(l, h, n), NULL);
    for (uint64_t i = 0; status == COPSE_OK && i < n; i++)
        for (uint64_t key = lows[i]; key <= highs[i] && key < s->domain; key++) s->has[key] = 0;
    free(l);
    free(h);
    return status;
}

/* n keys, first, first + step, ..., built, with a summary where asked for. */
static void build(struct subject *s, uint64_t first, uint64_t step, uint64_t n, bool summary)
{
    uint64_t *keys = must_malloc((n ? n : 1) * sizeof *keys), least = 0;
    for (uint64_t i = 0; i < n; i++) keys[i] = first + i * step;
    assert_ok(s->ctx, put(s, keys, n)); /* into an empty tree: a build */
    if (summary) assert_ok(s->ctx, copse_min(s->index, BETWEEN(NULL, NULL, 1), &least, NULL));
    free(keys);
}

/* --- borders -------------------------------------------------------------------------------------------------------------- */

static void sizes_one_off_a_border(void **state)
{
    (void)state;
    for (const struct shape *shape = SHAPES; shape < SHAPES + COUNT_OF(SHAPES); shape++) {
        const uint64_t borders[] = {1,
                                    shape->leaf,
                                    shape->leaf_most,
                                    shape->leaf * shape->page,
                                    shape->leaf * shape->page * 2,
                                    shape->leaf * shape->page_most};
        for (unsigned b = 0; b < COUNT_OF(borders); b++)
            for (int off = -1; off <= 1; off++) {
                struct subject s;
                const uint64_t n = borders[b] + (uint64_t)(int64_t)off;
                open_subject(&s, shape, n * 4 + 8, 1);
                build(&s, 4, 4, n, b % 2);
                check(&s);
                const uint64_t more[] = {0, 1, n * 2 + 1, n * 2 + 2, n * 2 + 3, n * 4 + 5, n * 4 + 6, n * 4 + 7};
                for (unsigned i = 0; i < COUNT_OF(more); i++) assert_ok(s.ctx, put(&s, more + i, 1));
                check(&s);
                assert_ok(s.ctx, take(&s, more, COUNT_OF(more)));
                check(&s);
                close_subject(&s);
            }
    }
}

/* --- runs ------------------------------------------------------------------------------------------------------------------ */

/* A batch that falls into one gap, at the front, within, or behind all, whole or key by key. */
static void runs_fill_leaves_and_pages(void **state)
{
    (void)state;
    for (const struct shape *shape = SHAPES; shape < SHAPES + COUNT_OF(SHAPES); shape++) {
        const uint64_t runs[] = {2, shape->leaf, shape->leaf_most, shape->leaf * shape->page,
                                 shape->leaf * shape->page_most};
        const uint64_t sizes[] = {1, shape->leaf_most, shape->leaf * shape->page + 1};
        for (unsigned r = 0; r < COUNT_OF(runs) * 3; r++)
            for (unsigned i = 0; i < COUNT_OF(sizes) * 3; i++) {
                struct subject s;
                const uint64_t run = runs[r / 3] + r % 3 - 1, n = sizes[i / 3];
                const uint64_t place = i % 3 * n / 2; /* entries in front of the gap */
                open_subject(&s, shape, n + run + 8, 1);
                build(&s, 0, 1, place, false);
                uint64_t *keys = must_malloc((n + run) * sizeof *keys);
                for (uint64_t k = place; k < n; k++) keys[k - place] = k + run;
                assert_ok(s.ctx, put(&s, keys, n - place));
                for (uint64_t k = 0; k < run; k++) keys[k] = place + k;
                assert_ok(s.ctx, put(&s, keys, run));
                check(&s);
                free(keys);
                close_subject(&s);
            }
    }
}

/* Keys in order, one way and the other, leave full leaves. */
static void keys_in_order_leave_full_leaves(void **state)
{
    (void)state;
    for (int descending = 0; descending < 2; descending++)
        for (uint64_t batch = 1; batch <= 1000; batch *= 10) {
            struct subject s;
            const uint64_t n = 30000;
            uint64_t keys[1000];
            open_subject(&s, SHAPES, n, 1);
            for (uint64_t i = 0; i < n; i += batch) {
                for (uint64_t k = 0; k < batch; k++) keys[k] = descending ? n - 1 - i - k : i + k;
                assert_ok(s.ctx, put(&s, keys, batch));
            }
            check(&s);
            assert_true(fill_of(&s) > 0.8);
            close_subject(&s);
        }
}

/* --- joins ----------------------------------------------------------------------------------------------------------------- */

/* What is left of every `step` keys is one, whether they go in one call, in many, or one by one from both ends to the middle. */
static void erases_leave_no_sparse_leaves(void **state)
{
    (void)state;
    for (const struct shape *shape = SHAPES; shape < SHAPES + COUNT_OF(SHAPES); shape++)
        for (uint64_t batch = 1; batch <= 100000; batch *= 10)
            for (uint64_t step = 7; step < 2000; step *= 6) {
                struct subject s;
                const uint64_t n = batch == 1 ? 20000 : 60000;
                uint64_t *gone = must_malloc(n * sizeof *gone), m = 0;
                open_subject(&s, shape, n, 1);
                build(&s, 0, 1, n, batch % 100 == 0);
                for (uint64_t k = 0; k < n; k++) {
                    const uint64_t key = k % 2 ? n - 1 - k / 2 : k / 2;
                    if (key % step) gone[m++] = key;
                }
                for (uint64_t i = 0; i < m; i += batch)
                    assert_ok(s.ctx, take(&s, gone + i, m - i < batch ? m - i : batch));
                check(&s);
                if (copse_size(s.index) > 100) assert_true(fill_of(&s) > 0.3);
                free(gone);
                close_subject(&s);
            }
}

/* --- stretches --------------------------------------------------------------------------------------------------------------- */

static void ranges_one_off_a_border(void **state)
{
    (void)state;
    for (const struct shape *shape = SHAPES; shape < SHAPES + COUNT_OF(SHAPES); shape++) {
        const uint64_t page = shape->leaf * shape->page, n = page * 4, edges[] = {0, shape->leaf, page, page * 2, n};
        for (unsigned from = 0; from < COUNT_OF(edges) * 3; from++)
            for (unsigned to = from; to < COUNT_OF(edges) * 3; to++) {
                struct subject s;
                const uint64_t low = edges[from / 3] + from % 3, high = edges[to / 3] + to % 3;
                open_subject(&s, shape, n + 4, 1 + from % 2);
                build(&s, 1, 1, n, to % 2);
                assert_ok(s.ctx, take_ranges(&s, &low, &high, 1));
                check(&s);
                close_subject(&s);
            }
    }
}

/* Many ranges at once, several in a leaf, some of them whole leaves and pages. */
static void many_ranges(void **state)
{
    (void)state;
    for (uint64_t width = 1; width < 20000; width = width * 3 + 1) {
        struct subject s;
        const uint64_t n = 100000, gap = width / 4 + 1, ranges = n / (width + gap);
        uint64_t *lows = must_malloc(ranges * sizeof *lows), *highs = must_malloc(ranges * sizeof *highs);
        open_subject(&s, &SHAPES[width % 4], n, 1 + width % 2);
        build(&s, 0, 1, n, width % 3 == 0);
        for (uint64_t i = 0; i < ranges; i++) {
            lows[i] = i * (width + gap) + gap;
            highs[i] = lows[i] + width - 1;
        }
        assert_ok(s.ctx, take_ranges(&s, lows, highs, ranges));
        check(&s);
        assert_true(fill_of(&s) > 0.3);
        free(lows);
        free(highs);
        close_subject(&s);
    }
}

/* --- aggregates -------------------------------------------------------------------------------------------------------------- */

static uint64_t number_at(copse_type type, const void *array, uint64_t i)
{
    return type == COPSE_U64 ? ((const uint64_t *)array)[i] : ((const uint32_t *)array)[i];
}

/* Sums, minima and maxima of ranges of every width, some of them to the end, against the keys that there should be. */
static void check_aggregates(const struct subject *s)
{
    enum { RANGES = 600 };
    const struct shape *shape = s->shape;
    uint64_t lows[RANGES], highs[RANGES], sums[RANGES], least[RANGES], most[RANGES], random = 88172645463325252u;
    uint8_t found[RANGES], found_most[RANGES];
    for (unsigned i = 0; i < RANGES; i++) {
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        lows[i] = random % s->domain;
        highs[i] = i % 8 == 7 ? s->domain : lows[i] + (random >> 32) % (UINT64_C(1) << i % 17) - (i % 16 == 0);
    }
    void *l = packed(shape->key, lows, RANGES), *h = packed(shape->key, highs, RANGES);
    assert_ok(s->ctx, copse_sum(s->index, BETWEEN(l, h, RANGES), sums));
    assert_ok(s->ctx, copse_min(s->index, BETWEEN(l, h, RANGES), least, found));
    assert_ok(s->ctx, copse_max(s->index, BETWEEN(l, h, RANGES), most, found_most));
    for (unsigned i = 0; i < RANGES; i++) {
        uint64_t sum = 0, low = UINT64_MAX, high = 0;
        for (uint64_t key = lows[i]; key <= highs[i] && key < s->domain; key++) {
            const uint64_t value = value_of(key);
            if (!s->has[key]) continue;
            sum += value;
            low = value < low ? value : low;
            high = value > high ? value : high;
        }
        assert_int_equal(sums[i], sum);
        assert_int_equal(found[i], low <= high);
        assert_int_equal(found_most[i], low <= high);
        assert_int_equal(number_at(shape->value, least, i), low <= high ? low : 0);
        assert_int_equal(number_at(shape->value, most, i), high);
    }
    free(l);
    free(h);
}

static void put_in_calls(struct subject *s, uint64_t first, int64_t step, uint64_t n, uint64_t calls)
{
    uint64_t *keys = must_malloc(n * sizeof *keys);
    for (uint64_t c = 0; c < calls; c++) {
        for (uint64_t i = 0; i < n; i++) keys[i] = first + (uint64_t)step * (c * n + i);
        assert_ok(s->ctx, put(s, keys, n));
    }
    free(keys);
}

/* The summary follows pages that come and go at either end, one by one and many at once, and those whose last neighbours went. */
static void aggregates_follow_pages(void **state)
{
    (void)state;
    for (const struct shape *shape = SHAPES; shape < SHAPES + COUNT_OF(SHAPES); shape++) {
        struct subject s;
        const uint64_t page = shape->leaf * shape->page, first = page * 3, n = page * 20, end = first + n + page * 5;
        open_subject(&s, shape, end, 1);
        build(&s, first, 1, n, true);
        check_aggregates(&s);
        for (uint64_t left = 19; left > 15; left--) { /* exactly the last page */
            const uint64_t low = first + left * page;
            assert_ok(s.ctx, take_ranges(&s, &low, &end, 1));
            check_aggregates(&s);
        }
        put_in_calls(&s, first + 15 * page, 1, page / 7, 60); /* a page now and then, at the end, */
        check_aggregates(&s);
        put_in_calls(&s, first - 1, -1, page / 7, 14); /* and in front */
        check_aggregates(&s);
        check(&s);
        for (uint64_t low = first, high; low < first + 10 * page; low += page * 5 / 2) {
            high = low + page;
            assert_ok(s.ctx, take_ranges(&s, &low, &high, 1));
        }
        check_aggregates(&s);
        check(&s);
        close_subject(&s);
    }
}

/* --- no memory --------------------------------------------------------------------------------------------------------------- */

enum way { RUN, SCATTERED, JOIN, CUT, WAYS };

/* The change of a way: many new leaves and pages in one place, or everywhere, or most of them gone. */
static copse_status change(struct subject *s, enum way way, uint64_t n)
{
    uint64_t *keys = must_malloc(n * sizeof *keys), *highs = must_malloc(n * sizeof *highs), m = 0;
    copse_status status;
    for (uint64_t i = 0; way == RUN && i < n / 2; i++) keys[m++] = n + i;
    for (uint64_t i = 0; way == SCATTERED && i < n / 2; i++) keys[m++] = i * 4 + 1;
    for (uint64_t i = 0; way == JOIN && i < n / 2; i++)
        if (i % 100) keys[m++] = i * 2;
    if (way == CUT)
        for (uint64_t i = 0; i + 1000 < n; i += 1000) {
            highs[m] = i + 990;
            keys[m++] = i + 3;
        }
    if (way == CUT)
        status = take_ranges(s, keys, highs, m);
    else
        status = way == JOIN ? take(s, keys, m) : put(s, keys, m);
    free(keys);
    free(highs);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    const uint64_t n = 20000;
    for (int way = 0; way < WAYS; way++)
        for (int summary = 0; summary < 2; summary++)
            for (long long allowed = 0;; allowed++) {
                struct subject s;
                open_subject(&s, SHAPES, n * 2, 1);
                if (way == RUN) {
                    build(&s, 0, 1, n, summary);
                    const uint64_t last = n * 2 - 1; /* so that the run has a gap */
                    assert_ok(s.ctx, put(&s, &last, 1));
                } else {
                    build(&s, 0, 2, n / 2, summary);
                }
                test_allocator_fail_after(&s.allocator, allowed, allowed % 2);
                const copse_status status = change(&s, way, n);
                const bool failed = atomic_load(&s.allocator.failures) != 0;
                test_allocator_never_fail(&s.allocator);
                assert_true(status == COPSE_OK || status == COPSE_ERR_MEMORY);
                assert_true(failed || status == COPSE_OK);
                check(&s);
                close_subject(&s);
                if (!failed) {
                    assert_true(allowed > 2);
                    break;
                }
            }
}

/* Bytes of this process that lie in memory. */
static uint64_t resident(void)
{
    unsigned long ignored = 0, pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%lu %lu", &ignored, &pages), 2);
    assert_int_equal(fclose(file), 0);
    return pages * 4096;
}

/* A call of few keys does not wait until the system has cleared a huge page. */
static void small_calls_take_memory_in_steps(void **state)
{
    (void)state;
    enum { BATCH = 100, CALLS = 24000 };
    struct subject s = {.shape = &SHAPES[0]};
    uint64_t keys[BATCH], most = 0;
    assert_ok(NULL, copse_ctx_create(NULL, &s.ctx));
    s.index = unit_index(s.ctx, (struct unit_tree){COPSE_STRUCTURE_REGULAR, COPSE_PLACEMENT_CPU}, COPSE_U64, COPSE_U64,
                         false);
    for (uint64_t call = 0, before = resident(); call < CALLS; call++) {
        for (uint64_t i = 0; i < BATCH; i++) keys[i] = call * BATCH + i;
        assert_ok(s.ctx, copse_insert(s.index, keys, keys, BATCH, 0, NULL));
        const uint64_t now = resident();
        if (now > before && now - before > most) most = now - before;
        before = now;
    }
    assert_true(most < UINT64_C(1) << 20);
    assert_ok(s.ctx, copse_verify(s.index));
    copse_index_free(s.index);
    copse_ctx_free(s.ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_one_off_a_border),           cmocka_unit_test(runs_fill_leaves_and_pages),
        cmocka_unit_test(keys_in_order_leave_full_leaves),  cmocka_unit_test(erases_leave_no_sparse_leaves),
        cmocka_unit_test(ranges_one_off_a_border),          cmocka_unit_test(many_ranges),
        cmocka_unit_test(aggregates_follow_pages),          cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(small_calls_take_memory_in_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

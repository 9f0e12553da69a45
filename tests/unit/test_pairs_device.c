/* Batches of updates on their way into a tree on a device: sorted by speculation and without a wait, finished, mispredicted, sorted again;
 * against a plain stable sort. */
#include "unit.h"

#include "trees/blink/tree.h"
#include "random.h"

/* No shorter run is ever too long; no longer one is ever finished. */
#define RUN_FINE 24u
#define RUN_MOST 31u

static const struct unit_tree tree = {COPSE_STRUCTURE_BLINK, COPSE_PLACEMENT_EMULATED};
static const copse_type key_types[] = {COPSE_U32, COPSE_I32, COPSE_F32, COPSE_U64, COPSE_I64, COPSE_F64};
static const copse_type value_types[] = {COPSE_U32, COPSE_U64};

struct pair {
    uint64_t code, value;
};

/* A batch as the caller has it, on the device, and as it should come out. */
struct batch {
    copse_ctx *ctx;
    copse_index *index;
    copse_device *device;
    struct random_source random;
    uint64_t n;
    struct pair *pairs;
    void *keys, *values; /* device memory */
    uint64_t key_bytes, value_bytes;
    copse_predictor predictor;
};

static struct batch batch_new(copse_type key_type, copse_type value_type, uint64_t n, uint64_t seed)
{
    struct batch b = {.n = n, .random = {seed}, .pairs = must_malloc(n * sizeof(struct pair))};
    b.ctx = unit_context(1);
    b.index = unit_index(b.ctx, tree, key_type, value_type, false);
    b.device = b.index->device;
    b.device->seed = seed % 4; /* 0: everything in order */
    b.key_bytes = n * typed_size(key_type);
    b.value_bytes = n * typed_size(value_type);
    assert_ok(b.ctx, copse_device_alloc(b.device, b.device->main, b.key_bytes, "a test's keys", &b.keys));
    assert_ok(b.ctx, copse_device_alloc(b.device, b.device->main, b.value_bytes, "a test's values", &b.values));
    return b;
}

static void batch_free(struct batch *b)
{
    copse_device_free(b->device, b->device->main, b->keys, b->key_bytes);
    copse_device_free(b->device, b->device->main, b->values, b->value_bytes);
    copse_index_free(b->index);
    copse_ctx_free(b->ctx);
    free(b->pairs);
}

static void batch_shuffle(struct batch *b)
{
    for (uint64_t i = b->n; i-- > 1;) {
        const uint64_t j = random_below(&b->random, i + 1);
        const struct pair kept = b->pairs[i];
        b->pairs[i] = b->pairs[j];
        b->pairs[j] = kept;
    }
}

/* Puts the pairs on the device; values are positions. */
static void batch_put(struct batch *b)
{
    const copse_type key_type = b->index->key_type, value_type = b->index->value_type;
    void *keys = typed_new(key_type, b->n), *values = typed_new(value_type, b->n);
    for (uint64_t i = 0; i < b->n; i++) {
        b->pairs[i].value = i;
        typed_set_code(key_type, keys, i, b->pairs[i].code);
        typed_set_bits(value_type, values, i, i);
    }
    assert_ok(b->ctx, copse_device_copy(b->device, b->device->main, b->keys, keys, b->key_bytes));
    assert_ok(b->ctx, copse_device_copy(b->device, b->device->main, b->values, values, b->value_bytes));
    free(keys);
    free(values);
}

static int by_code(const void *a, const void *b)
{
    const struct pair *x = a, *y = b;
    if (x->code != y->code) return x->code < y->code ? -1 : 1;
    return x->value < y->value ? -1 : 1;
}

/* The pairs are the batch, sorted, equal keys in its order. */
static void batch_check(struct batch *b, const copse_device_pairs *made)
{
    const copse_type code_type = copse_device_pairs_type(b->index), value_type = b->index->value_type;
    struct pair *expected = must_malloc(b->n * sizeof *expected);
    void *keys = must_malloc(b->key_bytes), *values = must_malloc(b->value_bytes);
    memcpy(expected, b->pairs, b->n * sizeof *expected);
    qsort(expected, b->n, sizeof *expected, by_code);
    assert_int_equal(made->n, b->n);
    assert_int_equal(made->key_type, code_type);
    assert_ok(b->ctx, copse_device_read(b->device, b->device->main, keys, made->keys, b->key_bytes));
    assert_ok(b->ctx, copse_device_read(b->device, b->device->main, values, made->values, b->value_bytes));
    for (uint64_t i = 0; i < b->n; i++) {
        const uint64_t code = typed_bits(code_type, keys, i), value = typed_bits(value_type, values, i);
        if (code == expected[i].code && value == expected[i].value) continue;
        fail_msg("%s keys, %s values, n %llu: pair %llu is %llx from %llu, expected %llx from %llu",
                 typed_name(b->index->key_type), typed_name(value_type), (unsigned long long)b->n,
                 (unsigned long long)i, (unsigned long long)code, (unsigned long long)value,
                 (unsigned long long)expected[i].code, (unsigned long long)expected[i].value);
    }
    assert_true(made->low <= expected[0].code && made->high >= expected[b->n - 1].code);
    if (!made->speculation) {
        assert_int_equal(made->low, expected[0].code);
        assert_int_equal(made->high, expected[b->n - 1].code);
    }
    free(expected);
    free(keys);
    free(values);
}

/* Both steps of an update's batch. */
static copse_status make_quick(const copse_index *index, const void *keys, const void *values, uint64_t n,
                               const copse_pairs_hint *hint, const char *what, copse_device_pairs *out)
{
    copse_status status = copse_device_pairs_bring(index, keys, values, n, what, out);
    if (status != COPSE_OK) return status;
    status = copse_device_pairs_sort(index, hint, what, out);
    if (status != COPSE_OK) copse_device_pairs_free(index, out);
    return status;
}

enum outcome { FINE, WRONG, EITHER };

/* Sorts the batch by a hint; is the guess right, and is it sorted in any case? */
static void batch_run(struct batch *b, uint64_t low, uint64_t high, enum outcome expected)
{
    const copse_pairs_hint hint = {.there = true, .low = low, .high = high, .predictor = &b->predictor};
    const uint64_t before = b->device->allocated;
    copse_device_pairs made;
    copse_pairs_speculation seen;
    batch_put(b);
    b->predictor = (copse_predictor){0};
    assert_ok(b->ctx, make_quick(b->index, b->keys, b->values, b->n, &hint, "testing", &made));
    assert_non_null(made.speculation);
    assert_ok(b->ctx, copse_device_read(b->device, b->device->main, &seen, made.speculation, sizeof seen));
    if (expected != EITHER) assert_int_equal(seen.wrong != 0, expected == WRONG);
    if (!seen.wrong) batch_check(b, &made);
    assert_ok(b->ctx, copse_device_pairs_check(b->index, &made, &seen));
    assert_null(made.speculation);
    assert_int_equal(b->predictor.rest, seen.wrong ? 1 : 0);
    batch_check(b, &made);
    copse_device_pairs_free(b->index, &made);
    assert_int_equal(b->device->allocated, before);
}

#define FOR_EACH_TYPE(key, value)                                                                                      \
    for (const copse_type *key = key_types; key < key_types + COUNT_OF(key_types); key++)                              \
        for (const copse_type *value = value_types; value < value_types + COUNT_OF(value_types); value++)

/* All numbers of the type, with a little room at both ends. */
static void hint_of(copse_type type, uint64_t *low, uint64_t *high)
{
    *low = typed_lowest_code(type) + 1000;
    *high = typed_highest_code(type) - 1000;
}

static void batch_spread(struct batch *b, uint64_t low, uint64_t high)
{
    for (uint64_t i = 0; i < b->n; i++) b->pairs[i].code = low + random_below(&b->random, high - low) + 1;
}

static void test_spread(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {1,   2,   3,   25,  26,  27,  31,  32,  33,   63,   64,   65,
                                     127, 128, 129, 255, 256, 257, 513, 514, 1023, 1025, 4095, 4097};
    uint64_t low, high;
    FOR_EACH_TYPE(key, value)
    {
        for (unsigned s = 0; s < COUNT_OF(sizes); s++) {
            struct batch b = batch_new(*key, *value, sizes[s], s + *key * 100u);
            hint_of(*key, &low, &high);
            batch_spread(&b, low, high);
            batch_run(&b, low, high, FINE);
            batch_free(&b);
        }
    }
}

/* Runs of keys that share what the sort looks at, each of `least` .. `most` keys, as many as there is room for. Some keys of a
 * run are equal, some runs are shorter because there is no more room. */
static void batch_runs(struct batch *b, uint64_t low, uint64_t high, uint64_t least, uint64_t most)
{
    const unsigned first = copse_device_sort_left_out(b->n, low, high, false);
    assert_true(first > 0);
    const uint64_t steps = (high >> first) - (low >> first) - 1, lower = (UINT64_C(1) << first) - 1;
    const uint64_t stride = steps / (b->n / least + 1);
    assert_true(stride > 0);
    uint64_t at = 0;
    for (uint64_t run = 0; at < b->n; run++) {
        const uint64_t upper = ((low >> first) + 1 + run * stride) << first;
        const uint64_t distinct = random_one_in(&b->random, 3) ? 2 : lower;
        for (uint64_t left = least + random_below(&b->random, most - least + 1); left > 0 && at < b->n; left--)
            b->pairs[at++].code = upper | (random_below(&b->random, distinct + 1) & lower);
    }
    batch_shuffle(b);
}

static void test_runs(void **state)
{
    (void)state;
    static const struct {
        uint64_t least, most;
    } runs[] = {{1, 2}, {2, 2}, {1, 4}, {3, 7}, {5, 6}, {1, RUN_FINE}, {RUN_FINE - 1, RUN_FINE}};
    uint64_t low, high;
    FOR_EACH_TYPE(key, value)
    {
        for (unsigned r = 0; r < COUNT_OF(runs); r++) {
            struct batch b = batch_new(*key, *value, 700 + r * 13, r + *key * 100u);
            hint_of(*key, &low, &high);
            batch_runs(&b, low, high, runs[r].least, runs[r].most);
            batch_run(&b, low, high, FINE);
            batch_free(&b);
        }
    }
}

/* One run at each place of a window, of each length: the others are alone. */
static void test_run_everywhere(void **state)
{
    (void)state;
    const uint64_t low = 0, high = UINT32_MAX, n = 86;
    const unsigned first = copse_device_sort_left_out(n, low, high, false);
    assert_int_equal(first, 24);
    struct batch b = batch_new(COPSE_U32, COPSE_U64, n, 4);
    for (uint64_t length = 2; length <= 40; length++) {
        for (uint64_t at = 0; at + length <= n; at += length > RUN_FINE ? 5 : 1) {
            for (uint64_t i = 0; i < n; i++) {
                const bool in = i >= at && i < at + length;
                /* Descending, so that each pair of a run has to move. */
                b.pairs[i].code = (in ? at : i) << first | (in ? at + length - i : 7);
            }
            if (length % 2) batch_shuffle(&b);
            batch_run(&b, low, high, length <= RUN_FINE ? FINE : length <= RUN_MOST ? EITHER : WRONG);
        }
    }
    batch_free(&b);
}

/* Keys beside the bounds: fine where the bits that the bounds share are theirs, wrong elsewhere. */
static void test_outside(void **state)
{
    (void)state;
    FOR_EACH_TYPE(key, value)
    {
        const uint64_t one = UINT64_C(1) << (typed_size(*key) * 8 - 6), low = one * 40 + one / 8,
                       high = one * 40 + one / 2 + 5;
        for (uint64_t place = 0; place < 200; place += 23) {
            struct batch b = batch_new(*key, *value, 200, place + *key * 100u);
            batch_spread(&b, low, high);
            b.pairs[place].code = place % 2 ? low - 1 : high + 1; /* but within one * 40 .. one * 41 */
            batch_run(&b, low, high, FINE);
            b.pairs[place].code = one * 40 - 1;
            batch_run(&b, low, high, WRONG);
            b.pairs[place].code = one * 41;
            batch_run(&b, low, high, WRONG);
            b.pairs[place].code += one / 4 + 1;
            batch_run(&b, low, high, WRONG);
            for (uint64_t i = 0; i < b.n; i++) b.pairs[i].code += place % 2 ? one * 2 : UINT64_C(0) - one * 2;
            batch_run(&b, low, high, WRONG);
            batch_free(&b);
        }
    }
}

/* Keys that stick together, and equal ones: too many for the bits that were sorted by. */
static void test_clusters(void **state)
{
    (void)state;
    uint64_t low, high;
    FOR_EACH_TYPE(key, value)
    {
        hint_of(*key, &low, &high);
        const uint64_t middle = low + (high - low) / 3;
        struct batch b = batch_new(*key, *value, 600, *key * 100u);
        for (uint64_t i = 0; i < b.n; i++) b.pairs[i].code = middle + random_below(&b.random, 1000);
        batch_run(&b, low, high, WRONG);
        for (uint64_t i = 0; i < b.n; i++) b.pairs[i].code = middle;
        batch_run(&b, low, high, WRONG);
        batch_spread(&b, low, high);
        for (uint64_t i = 0; i < b.n; i++)
            if (i % 10 == 0) b.pairs[i].code = middle; /* one hot key */
        batch_run(&b, low, high, WRONG);
        batch_run(&b, middle - 1, middle + 1000, WRONG);
        /* Bounds so close that all bits are sorted by: nothing can be too long. */
        for (uint64_t i = 0; i < b.n; i++) b.pairs[i].code = (low & ~UINT64_C(255)) + random_below(&b.random, 256);
        batch_run(&b, low & ~UINT64_C(255), low | 255, FINE);
        for (uint64_t i = 0; i < b.n; i++) b.pairs[i].code = low;
        batch_run(&b, low, low, FINE);
        batch_free(&b);
    }
}

/* Which bits are left out. */
static void test_left_out(void **state)
{
    (void)state;
    const uint64_t million = UINT64_C(1) << 20;
    assert_int_equal(copse_device_sort_left_out(million, 0, UINT32_MAX, false), 8);
    assert_int_equal(copse_device_sort_left_out(4 * million, 5, UINT32_MAX - 5, false), 8);
    assert_int_equal(copse_device_sort_left_out(16 * million, 5, UINT32_MAX - 5, false), 0);
    assert_int_equal(copse_device_sort_left_out(64 * million, 0, UINT32_MAX, false), 0);
    assert_int_equal(copse_device_sort_left_out(million, 0, UINT64_MAX, false), 40);
    assert_int_equal(copse_device_sort_left_out(64 * million, 0, UINT64_MAX, false), 32);
    assert_int_equal(copse_device_sort_left_out(1 << 14, 0, UINT64_MAX, false), 48);
    assert_int_equal(copse_device_sort_left_out(1 << 16, 0, UINT64_MAX, false), 40);
    assert_int_equal(copse_device_sort_left_out(1, 0, UINT64_MAX, false), 56);
    assert_int_equal(copse_device_sort_left_out(1, 0, 0, false), 0);
    /* No pass is saved. */
    assert_int_equal(copse_device_sort_left_out(million, 0, (1 << 24) - 1, false), 0);
    assert_int_equal(copse_device_sort_left_out(million, 0, 1 << 24, false), 1);
    assert_int_equal(copse_device_sort_left_out(million, 7, 7, false), 0);
    /* Where the host waits: a pass more, and not for one pass of a few keys. */
    assert_int_equal(copse_device_sort_left_out(million, 0, UINT64_MAX, true), 32);
    assert_int_equal(copse_device_sort_left_out(million, 0, UINT32_MAX, true), 0);
    assert_int_equal(copse_device_sort_left_out(million, 0, (UINT64_C(1) << 40) - 1, true), 0);
    assert_int_equal(copse_device_sort_left_out(4 * million, 0, (UINT64_C(1) << 40) - 1, true), 8);
    /* All bits differ, but there are few values. */
    assert_int_equal(copse_device_sort_left_out(million, 0x7fffff00, 0x80000100, false), 0);
    assert_int_equal(copse_device_sort_left_out(million, UINT64_C(1) << 63, UINT64_C(1) << 63 | 0xffff, false), 0);
}

/* Everything that the host waits for. */
static unsigned waits;

static copse_status counted_wait(copse_device *device, copse_stream *stream)
{
    waits++;
    return copse_device_emulated.wait(device, stream);
}

/* A guess that is right needs no wait until somebody asks; a sorted batch makes the next one be looked at first. */
static void test_waits(void **state)
{
    (void)state;
    copse_device_backend backend = copse_device_emulated;
    backend.wait = counted_wait;
    FOR_EACH_TYPE(key, value)
    {
        struct batch b = batch_new(*key, *value, 500, *key);
        copse_pairs_hint hint = {.there = true, .predictor = &b.predictor};
        copse_device_pairs made;
        const copse_device_backend *before = b.device->backend;
        hint_of(*key, &hint.low, &hint.high);
        batch_spread(&b, hint.low, hint.high);
        for (unsigned turn = 0; turn < 5; turn++) {
            if (turn == 1) qsort(b.pairs, b.n, sizeof *b.pairs, by_code);
            if (turn == 3) batch_shuffle(&b);
            const bool looked_at = turn == 2 || turn == 3;
            batch_put(&b);
            b.device->backend = &backend;
            waits = 0;
            assert_ok(b.ctx, make_quick(b.index, b.keys, b.values, b.n, &hint, "testing", &made));
            assert_int_equal(waits != 0, looked_at);
            assert_int_equal(made.speculation == NULL, looked_at);
            assert_ok(b.ctx, copse_device_pairs_confirm(b.index, &made));
            b.device->backend = before;
            assert_int_equal(b.predictor.ascending, turn == 1 || turn == 2);
            batch_check(&b, &made);
            copse_device_pairs_free(b.index, &made);
        }
        batch_free(&b);
    }
}

/* After wrong guesses batches go without one, for longer each time; and they are sorted all the same. */
static void test_trust(void **state)
{
    (void)state;
    FOR_EACH_TYPE(key, value)
    {
        struct batch b = batch_new(*key, *value, 300, *key);
        copse_pairs_hint hint = {.there = true, .predictor = &b.predictor};
        copse_device_pairs made;
        unsigned tried[100] = {0}, tries = 0;
        hint_of(*key, &hint.low, &hint.high);
        for (unsigned turn = 0; turn < 100; turn++) {
            for (uint64_t i = 0; i < b.n; i++) b.pairs[i].code = hint.low + turn + random_below(&b.random, 500);
            batch_put(&b);
            assert_ok(b.ctx, make_quick(b.index, b.keys, b.values, b.n, &hint, "testing", &made));
            if (made.predictor) tried[tries++] = turn;
            assert_ok(b.ctx, copse_device_pairs_confirm(b.index, &made));
            batch_check(&b, &made);
            copse_device_pairs_free(b.index, &made);
        }
        static const unsigned expected[] = {0, 2, 5, 10, 19, 36, 69};
        assert_int_equal(tries, COUNT_OF(expected));
        assert_memory_equal(tried, expected, sizeof expected);
        hint.there = false; /* an empty tree */
        b.predictor = (copse_predictor){0};
        assert_ok(b.ctx, make_quick(b.index, b.keys, b.values, b.n, &hint, "testing", &made));
        assert_null(made.predictor);
        assert_ok(b.ctx, copse_device_pairs_confirm(b.index, &made));
        batch_check(&b, &made);
        copse_device_pairs_free(b.index, &made);
        batch_free(&b);
    }
}

/* The first NaN is found, whether the batch is looked at or not; it is no reason to lose predictor. */
static void test_nan(void **state)
{
    (void)state;
    static const copse_type floats[] = {COPSE_F32, COPSE_F64};
    for (unsigned f = 0; f < COUNT_OF(floats); f++) {
        struct batch b = batch_new(floats[f], COPSE_U32, 400, f);
        copse_pairs_hint hint = {.predictor = &b.predictor};
        copse_device_pairs made;
        hint_of(floats[f], &hint.low, &hint.high);
        batch_spread(&b, hint.low, hint.high);
        batch_put(&b);
        const size_t size = typed_size(floats[f]);
        const uint64_t nan = typed_nan_bits(floats[f]), negative = nan | UINT64_C(1) << (size * 8 - 1),
                       before = b.device->allocated;
        for (uint64_t at = 310; at > 200; at -= 100) {
            char *place = (char *)b.keys + at * size;
            assert_ok(b.ctx, copse_device_copy(b.device, b.device->main, place, at > 250 ? &nan : &negative, size));
            for (unsigned there = 0; there < 2; there++) {
                hint.there = there;
                copse_status status = make_quick(b.index, b.keys, b.values, b.n, &hint, "testing", &made);
                assert_int_equal(status, there ? COPSE_OK : COPSE_ERR_NAN);
                if (there) {
                    assert_fails(b.ctx, COPSE_ERR_NAN, copse_device_pairs_confirm(b.index, &made));
                    copse_device_pairs_free(b.index, &made);
                }
                assert_non_null(strstr(copse_last_error(b.ctx), at > 250 ? "keys[310]" : "keys[210]"));
                assert_int_equal(b.device->allocated, before);
                assert_int_equal(b.predictor.rest, 0);
            }
        }
        batch_free(&b);
    }
}

/* Memory that runs out anywhere is reported, and nothing is lost. */
static void test_memory_fails(void **state)
{
    (void)state;
    for (unsigned wrong = 0; wrong < 2; wrong++) {
        struct batch b = batch_new(COPSE_I64, COPSE_U32, 300, 0);
        copse_pairs_hint hint = {.there = true, .predictor = &b.predictor};
        copse_device_pairs made;
        hint_of(COPSE_I64, &hint.low, &hint.high);
        batch_spread(&b, hint.low, wrong ? hint.low + 500 : hint.high);
        batch_put(&b);
        const uint64_t before = b.device->allocated;
        copse_status status = COPSE_ERR_MEMORY;
        int64_t allowed = 0;
        for (; status == COPSE_ERR_MEMORY && allowed < 100; allowed++) {
            b.predictor = (copse_predictor){0};
            b.device->allocations_left = allowed;
            status = make_quick(b.index, b.keys, b.values, b.n, &hint, "testing", &made);
            if (status == COPSE_OK) status = copse_device_pairs_confirm(b.index, &made);
            b.device->allocations_left = -1;
            if (status == COPSE_OK) batch_check(&b, &made);
            copse_device_pairs_free(b.index, &made);
            assert_int_equal(b.device->allocated, before);
        }
        assert_ok(b.ctx, status);
        assert_true(allowed > (wrong ? 7 : 4));
        batch_free(&b);
    }
}

/* A sort that has to be right when it returns, between two pairs of arrays and from one to the other. */
static void test_sort_waiting(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {1, 2, 33, 300, 3000};
    for (unsigned turn = 0; turn < 60; turn++) {
        const bool wide = turn % 2, between = turn / 2 % 2;
        const copse_type key = wide ? COPSE_U64 : COPSE_U32;
        const uint64_t most = wide ? UINT64_MAX : UINT32_MAX;
        struct batch b = batch_new(key, COPSE_U64, sizes[turn / 4 % 5], turn);
        batch_spread(&b, 0, turn / 20 == 0 ? most : turn / 20 == 1 ? 1000 : most / 3);
        if (turn / 20 == 2)
            for (uint64_t i = 0; i < b.n / 2; i++) b.pairs[i].code = 5 + i % 50; /* too many for the upper bits */
        batch_put(&b);
        copse_device_pairs made = {.n = b.n, .key_type = key, .low = UINT64_MAX};
        copse_device_sorting sorting = {.pair = copse_device_pair(b.index),
                                        .keys[0] = b.keys,
                                        .values[0] = b.values,
                                        .n = b.n,
                                        .low = UINT64_MAX,
                                        .between = between};
        for (uint64_t i = 0; i < b.n; i++) {
            if (b.pairs[i].code < sorting.low) sorting.low = b.pairs[i].code;
            if (b.pairs[i].code > sorting.high) sorting.high = b.pairs[i].code;
        }
        assert_ok(b.ctx, copse_device_pairs_room(b.index, &made, b.n, &sorting.keys[1], &sorting.values[1]));
        assert_ok(b.ctx, copse_device_sort(b.device, &sorting));
        made.keys = sorting.keys[sorting.where];
        made.values = sorting.values[sorting.where];
        made.low = sorting.low;
        made.high = sorting.high;
        batch_check(&b, &made);
        copse_device_pairs_free(b.index, &made);
        batch_free(&b);
    }
}

/* --- through an index ------------------------------------------------------------------------------------------------------ */

#define KEYS 4000u
/* Of all keys that there may be these stick together, and these are greater than those that the tree begins with. */
#define CLUSTER_FIRST 1000u
#define CLUSTER_END   2000u
#define BEYOND_FIRST  3000u

struct content {
    uint64_t codes[KEYS];
    bool there[KEYS];
    uint64_t values[KEYS];
};

static void content_make(struct content *c, copse_type type)
{
    const uint64_t low = typed_lowest_code(type), share = (typed_highest_code(type) - low) / 8;
    memset(c, 0, sizeof *c);
    for (uint64_t i = 0; i < KEYS; i++) {
        const uint64_t part = i < CLUSTER_FIRST ? 0 : i < CLUSTER_END ? 1 : i < BEYOND_FIRST ? 2 : 3, at = i % 1000;
        c->codes[i] = low + part * share + (part == 1 ? at * 3 : part == 3 ? share * 2 + at * 9 : share / 1000 * at);
    }
}

static void content_check(const copse_ctx *ctx, const copse_index *index, const struct content *c)
{
    struct unit_content expected = {0, typed_size(index->key_type), typed_size(index->value_type),
                                    typed_new(index->key_type, KEYS), typed_new(index->value_type, KEYS)};
    for (uint64_t i = 0; i < KEYS; i++) {
        if (!c->there[i]) continue;
        typed_set_code(index->key_type, expected.keys, expected.n, c->codes[i]);
        typed_set_bits(index->value_type, expected.values, expected.n++, c->values[i]);
    }
    unit_assert_content(ctx, index, expected);
}

/* One batch of keys first .. end, some of them several times; ascending or in any order. */
static void content_change(copse_ctx *ctx, copse_index *index, struct content *c, struct random_source *random,
                           uint64_t first, uint64_t end, bool ascending)
{
    const uint64_t n = 300;
    const bool erase = random_one_in(random, 4);
    void *keys = typed_new(index->key_type, n), *values = typed_new(index->value_type, n);
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t at = first + (ascending ? i * (end - first) / n : random_below(random, end - first));
        const uint64_t value = random_below(random, 1000000);
        typed_set_code(index->key_type, keys, i, c->codes[at]);
        typed_set_bits(index->value_type, values, i, value);
        c->there[at] = !erase;
        c->values[at] = value;
    }
    uint64_t changed;
    if (erase)
        assert_ok(ctx, copse_erase(index, keys, n, &changed));
    else
        assert_ok(ctx, copse_insert(index, keys, values, n, 0, &changed));
    free(keys);
    free(values);
}

/* Batches that are as the tree's keys, and such that are not, in turns: right whatever was guessed. */
static void test_through_an_index(void **state)
{
    (void)state;
    static const struct {
        uint64_t first, end;
    } parts[] = {{0, 1000}, {0, 3000}, {CLUSTER_FIRST, CLUSTER_END}, {BEYOND_FIRST, KEYS}, {0, KEYS}};
    FOR_EACH_TYPE(key, value)
    {
        struct content *c = must_malloc(sizeof *c);
        struct random_source random = {*key * 10u + *value};
        copse_ctx *ctx = unit_context(1);
        copse_index *index = unit_index(ctx, tree, *key, *value, false);
        bool guessed_wrong = false;
        content_make(c, *key);
        copse_blink_handle_of(index)->tree->tuning.unsorted_most = 1; /* so that every batch is sorted */
        for (unsigned turn = 0; turn < 40; turn++) {
            const unsigned part = turn < 3 ? 0 : (unsigned)random_below(&random, COUNT_OF(parts));
            content_change(ctx, index, c, &random, parts[part].first, parts[part].end, random_one_in(&random, 4));
            guessed_wrong |= copse_blink_handle_of(index)->tree->predictor.rest > 0;
            if (turn % 4 == 3) content_check(ctx, index, c);
        }
        assert_true(guessed_wrong);
        copse_index_free(index);
        copse_ctx_free(ctx);
        free(c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spread),
        cmocka_unit_test(test_runs),
        cmocka_unit_test(test_run_everywhere),
        cmocka_unit_test(test_outside),
        cmocka_unit_test(test_clusters),
        cmocka_unit_test(test_left_out),
        cmocka_unit_test(test_waits),
        cmocka_unit_test(test_trust),
        cmocka_unit_test(test_nan),
        cmocka_unit_test(test_memory_fails),
        cmocka_unit_test(test_sort_waiting),
        cmocka_unit_test(test_through_an_index),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

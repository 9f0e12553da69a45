/*
 * Ranges of the B-link and the B+ tree whose output lies on the device: one pass over them, in which narrow ones are copied by the
 * way. Every length from none to several leaves, from every entry on, so that ranges end at every slot and at every border of
 * leaves; chains, branches and empty leaves; wide ranges among narrow ones.
 */
#include "unit.h"
#include "support/ranges.h"

#include "trees/blink/tree.h"
#include "placed.h"
#include "random.h"

#define ENTRIES 600u
#define MOST    1100u /* ranges of a call: tiles of 128, the last one not full */

static const struct unit_tree kinds[] = {{COPSE_STRUCTURE_BLINK, COPSE_PLACEMENT_EMULATED},
                                         {COPSE_STRUCTURE_BPLUS, COPSE_PLACEMENT_EMULATED}};
static const copse_type pairs[][2] = {{COPSE_U32, COPSE_U32}, {COPSE_I32, COPSE_U64}, {COPSE_F64, COPSE_F32},
                                      {COPSE_U64, COPSE_I64}, {COPSE_F32, COPSE_I32}, {COPSE_I64, COPSE_F64}};

/* An index with what is in it, and ranges. */
struct scene {
    copse_ctx *ctx;
    copse_device *device;
    copse_index *index;
    copse_type key_type, value_type;
    struct unit_content content;
    uint64_t n;
    void *lows, *highs;
    uint64_t first[MOST], last[MOST]; /* entries that each range should have: behind the last one */
    struct random_source random;
};

static void content_free(struct scene *s)
{
    free(s->content.keys);
    free(s->content.values);
    s->content.keys = s->content.values = NULL;
}

/* Keys all over the type, with some close together, which digests do not tell apart; or most of them so. The ends of the type's
 * range are among them. */
static uint64_t code_of(const struct scene *s, uint64_t i, bool spread)
{
    const uint64_t low = typed_lowest_code(s->key_type), span = typed_highest_code(s->key_type) - low;
    const uint64_t close = i % (spread ? 200 : 100);
    if (i == 0) return low;
    if (i == ENTRIES - 1) return low + span;
    return spread && close > 13 ? low + span / ENTRIES * i : low + span / ENTRIES * (i - close) + close * 3;
}

static struct scene scene_open(struct unit_tree kind, const copse_type *types, bool spread, bool duplicates)
{
    struct scene s = {.ctx = unit_context(1), .key_type = types[0], .value_type = types[1], .random = {7}};
    s.device = placed_device(s.ctx, kind.placement);
    s.index = unit_index(s.ctx, kind, s.key_type, s.value_type, duplicates);
    s.lows = typed_new(s.key_type, MOST);
    s.highs = typed_new(s.key_type, MOST);
    void *keys = typed_new(s.key_type, ENTRIES), *values = typed_new(s.value_type, ENTRIES);
    for (uint64_t i = 0; i < ENTRIES; i++) {
        const uint64_t of = duplicates ? i - i % 40 % 35 : i; /* some 35 times, more than a leaf holds, some once */
        typed_set_code(s.key_type, keys, i, code_of(&s, of, spread));
        typed_set_bits(s.value_type, values, i, typed_position_bits(s.value_type, i));
    }
    assert_ok(s.ctx, copse_build(s.index, keys, values, ENTRIES));
    free(keys);
    free(values);
    s.content = unit_content_of(s.index);
    const bool digest = copse_blink_handle_of(s.index)->tree->current->view.levels.digest;
    if (!duplicates)
        assert_int_equal(digest, typed_size(s.key_type) == 8 && spread); /* or a kernel would go untested */
    return s;
}

static void scene_close(struct scene *s)
{
    content_free(s);
    free(s->lows);
    free(s->highs);
    copse_index_free(s->index);
    copse_ctx_free(s->ctx);
}

/* Keys come into some base_leaves, so that they get chains or branches, and others lose all they have. */
static void scene_change(struct scene *s)
{
    const uint64_t n = s->content.n;
    void *keys = typed_new(s->key_type, n), *values = typed_new(s->value_type, n);
    uint64_t came = 0, gone = 0;
    for (uint64_t i = 100; i + 1 < n; i++) {
        const uint64_t code = typed_code(s->key_type, s->content.keys, i);
        if (i % 200 >= 50 || came >= n - 2 || code + 1 == typed_code(s->key_type, s->content.keys, i + 1)) continue;
        typed_set_code(s->key_type, keys, came, code + 1);
        typed_set_bits(s->value_type, values, came++, typed_position_bits(s->value_type, 5000 + i));
    }
    assert_ok(s->ctx, copse_insert(s->index, keys, values, came, COPSE_INSERT_UPSERT, NULL));
    for (uint64_t i = 0; i < n; i++)
        if (i % 200 >= 120 && i % 200 < 160)
            typed_set_code(s->key_type, keys, gone++, typed_code(s->key_type, s->content.keys, i));
    assert_ok(s->ctx, copse_erase(s->index, keys, gone, NULL));
    free(keys);
    free(values);
    content_free(s);
    s->content = unit_content_of(s->index);
}

/* --- ranges and what they should give ------------------------------------------------------------------------------------- */

static uint64_t code_at(const struct scene *s, uint64_t i)
{
    return typed_code(s->key_type, s->content.keys, i);
}

/* The first entry whose key is not less, or is greater. */
static uint64_t bound(const struct scene *s, uint64_t code, bool upper)
{
    uint64_t low = 0, high = s->content.n;
    while (low < high) {
        const uint64_t middle = (low + high) / 2, there = code_at(s, middle);
        if (there < code || (upper && there == code))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void range_add(struct scene *s, uint64_t low, uint64_t high)
{
    const uint64_t r = s->n++;
    assert_true(r < MOST);
    typed_set_code(s->key_type, s->lows, r, low);
    typed_set_code(s->key_type, s->highs, r, high);
    low = typed_code(s->key_type, s->lows, r);
    high = typed_code(s->key_type, s->highs, r);
    s->first[r] = bound(s, low, false);
    s->last[r] = low <= high ? bound(s, high, true) : s->first[r];
}

/* From entry i on, `length` entries, or none: the bounds are the wrong way round. */
static void range_of_entries(struct scene *s, uint64_t i, uint64_t length)
{
    const uint64_t last = i + length < s->content.n ? i + length : s->content.n;
    if (length)
        range_add(s, code_at(s, i), code_at(s, last - 1));
    else if (i + 1 < s->content.n)
        range_add(s, code_at(s, i) + 1, code_at(s, i));
}

static void assert_rows(const struct scene *s, uint64_t limit, const uint64_t *offsets, const void *keys,
                        const void *values)
{
    uint64_t at = 0;
    for (uint64_t r = 0; r < s->n; r++) {
        uint64_t count = s->last[r] - s->first[r];
        if (limit && count > limit) count = limit;
        assert_int_equal(offsets[r], at);
        for (uint64_t i = 0; i < count; i++, at++) {
            if (keys) assert_int_equal(typed_code(s->key_type, keys, at), code_at(s, s->first[r] + i));
            if (values)
                assert_int_equal(typed_bits(s->value_type, values, at),
                                 typed_bits(s->value_type, s->content.values, s->first[r] + i));
        }
    }
    assert_int_equal(offsets[s->n], at);
}

static uint64_t total_of(const struct scene *s, uint64_t limit)
{
    uint64_t total = 0;
    for (uint64_t r = 0; r < s->n; r++) {
        const uint64_t count = s->last[r] - s->first[r];
        total += limit && count > limit ? limit : count;
    }
    return total;
}

/* All arrays on the device, at odd places, with guards behind some. */
static copse_status run(struct scene *s, uint64_t limit, uint64_t *offsets, void *keys, void *values, uint64_t capacity)
{
    struct placed_call call = {.device = s->device,
                               .reachable = true,
                               .memory = PLACED_DEVICE,
                               .places = (uint32_t)random_next(&s->random) | 1u};
    const size_t key = typed_size(s->key_type), value = typed_size(s->value_type);
    const void *lows = placed_input(&call, s->lows, s->n, key), *highs = placed_input(&call, s->highs, s->n, key);
    uint64_t *out_offsets = placed_output(&call, offsets, s->n + 1, sizeof *offsets);
    void *out_keys = placed_output(&call, keys, capacity, key),
         *out_values = placed_output(&call, values, capacity, value);
    const copse_status status =
        copse_range(s->index, AT_MOST(limit, lows, highs, s->n), ROWS(out_offsets, out_keys, out_values, capacity));
    const char *wrong = placed_end(&call);
    if (wrong) print_error("%s\n", wrong);
    assert_null(wrong);
    return status;
}

static void check(struct scene *s, uint64_t limit)
{
    const uint64_t total = total_of(s, limit);
    uint64_t *offsets = must_malloc((s->n + 1) * sizeof *offsets);
    void *keys = typed_new(s->key_type, total + 1), *values = typed_new(s->value_type, total + 1);
    assert_ok(s->ctx, run(s, limit, offsets, keys, values, total));
    assert_rows(s, limit, offsets, keys, values);
    if (s->n % 2) {
        memset(offsets, 0xaa, (s->n + 1) * sizeof *offsets);
        assert_ok(s->ctx, run(s, limit, offsets, NULL, values, total + 1));
        assert_rows(s, limit, offsets, NULL, values);
    }
    if (total && s->n % 4 < 2) {
        memset(offsets, 0xaa, (s->n + 1) * sizeof *offsets);
        assert_fails_naming(s->ctx, COPSE_ERR_TOO_SMALL, "capacity", run(s, limit, offsets, keys, NULL, total - 1));
        assert_rows(s, limit, offsets, NULL, NULL);
    }
    free(offsets);
    free(keys);
    free(values);
}

/* --- tests ------------------------------------------------------------------------------------------------------------------ */

/* Ranges of one length from every other entry on: more than 248, so that a warp takes 32 where there is one processor. */
static void check_lengths(struct scene *s, uint64_t limit)
{
    static const uint64_t lengths[] = {0, 1, 2, 6, 7, 8, 10, 13, 14, 15, 20, 21, 22, 27, 28, 29, 60};
    for (unsigned l = 0; l < COUNT_OF(lengths); l++) {
        s->n = 0;
        for (uint64_t i = l % 2; i < s->content.n; i += 2) range_of_entries(s, i, lengths[l]);
        check(s, limit);
    }
}

/* Some of all lengths, in any order, with bounds that are keys or lie beside them, and now and then everything. */
static void check_mixed(struct scene *s, uint64_t n, uint64_t limit, bool huge)
{
    const uint64_t lowest = typed_lowest_code(s->key_type), highest = typed_highest_code(s->key_type);
    s->n = 0;
    while (s->n < n) {
        const uint64_t i = random_below(&s->random, s->content.n), length = random_below(&s->random, 16);
        const uint64_t last = i + length < s->content.n ? i + length : s->content.n - 1;
        uint64_t low = code_at(s, i), high = code_at(s, last);
        if (random_one_in(&s->random, 3) && low < highest) low++;
        if (random_one_in(&s->random, 3) && high > lowest) high--;
        if (huge && random_one_in(&s->random, 150))
            range_add(s, lowest, highest);
        else
            range_add(s, low, high);
    }
    check(s, limit);
}

static void check_all(struct scene *s)
{
    static const uint64_t sizes[] = {1, 8, 31, 33, 129, 500}, limits[] = {1, 5, 14, 15, 25, 100};
    check_lengths(s, 0);
    for (unsigned i = 0; i < COUNT_OF(sizes); i++) check_mixed(s, sizes[i], 0, i % 2);
    for (unsigned i = 0; i < COUNT_OF(limits); i++) check_mixed(s, 400, limits[i], true);
    check_mixed(s, MOST, 0, true);
}

/* With one processor a warp takes 32 ranges of most calls, with four of them 8. */
static void check_kind(struct unit_tree kind, const copse_type *types, bool spread, bool duplicates, bool few)
{
    struct scene s = scene_open(kind, types, spread, duplicates);
    s.device->multiprocessors = few ? 1 : 4;
    check_all(&s);
    scene_change(&s);
    check_all(&s);
    scene_close(&s);
}

static void ranges_end_anywhere(void **state)
{
    (void)state;
    for (unsigned p = 0; p < COUNT_OF(pairs); p++)
        for (unsigned k = 0; k < COUNT_OF(kinds); k++)
            check_kind(kinds[k], pairs[p], p % 2 == 0, false, (p / 2 + k) % 3);
}

static void keys_repeat(void **state)
{
    (void)state;
    for (unsigned p = 0; p < COUNT_OF(pairs); p++)
        for (unsigned k = 0; k < COUNT_OF(kinds); k++) check_kind(kinds[k], pairs[p], p % 2 == 1, true, (p + k) % 2);
}

static void trees_are_small(void **state)
{
    (void)state;
    for (unsigned k = 0; k < COUNT_OF(kinds); k++) {
        for (uint64_t n = 0; n <= 45; n += n < 16 ? 1 : 7) {
            struct scene s = scene_open(kinds[k], pairs[0], true, false);
            assert_ok(s.ctx, copse_build(s.index, s.content.keys, s.content.values, n));
            s.content.n = n;
            range_add(&s, 0, UINT32_MAX);
            range_add(&s, 1, UINT32_MAX - 1);
            range_add(&s, UINT32_MAX, 0);
            range_add(&s, UINT32_MAX, UINT32_MAX);
            for (uint64_t i = 0; i < n; i++) range_of_entries(&s, i, 10);
            check(&s, 0);
            check(&s, 4);
            scene_close(&s);
        }
    }
}

/* Six more keys behind each. */
static void scene_grow(struct scene *s)
{
    const uint64_t n = s->content.n;
    void *keys = typed_new(s->key_type, 6 * n), *values = typed_new(s->value_type, 6 * n);
    uint64_t came = 0;
    for (uint64_t i = 0; i + 1 < n; i++)
        for (uint64_t k = 1; k <= 6 && code_at(s, i) + k * 1000 < code_at(s, i + 1); k++) {
            typed_set_code(s->key_type, keys, came, code_at(s, i) + k * 1000);
            typed_set_bits(s->value_type, values, came, typed_position_bits(s->value_type, 9000 + came));
            came++;
        }
    assert_ok(s->ctx, copse_insert(s->index, keys, values, came, COPSE_INSERT_UPSERT, NULL));
    free(keys);
    free(values);
    content_free(s);
    s->content = unit_content_of(s->index);
    assert_true(s->content.n > 3000);
}

/* The same ranges through host memory. */
static void check_host(struct scene *s)
{
    const uint64_t total = total_of(s, 0);
    uint64_t *offsets = must_malloc((s->n + 1) * sizeof *offsets);
    void *keys = typed_new(s->key_type, total + 1), *values = typed_new(s->value_type, total + 1);
    assert_ok(s->ctx, copse_range(s->index, AT_MOST(0, s->lows, s->highs, s->n), ROWS(offsets, keys, values, total)));
    assert_rows(s, 0, offsets, keys, values);
    free(offsets);
    free(keys);
    free(values);
}

/* Ranges around the length from which on tiles of the output cut them, and of everything, among short ones. */
static void long_ranges_are_cut(void **state)
{
    (void)state;
    static const uint64_t lengths[] = {29, 100, 167, 168, 169, 1000, 1023, 1024, 1025, 1026, 2047, 2049, 100000};
    for (unsigned k = 0; k < COUNT_OF(kinds); k++) {
        for (unsigned p = k; p < COUNT_OF(pairs); p += 2) {
            struct scene s = scene_open(kinds[k], pairs[p], true, false);
            scene_grow(&s);
            for (unsigned round = 0; round < 2;
                 round++) { /* the second time with overflow chains, branches and empty leaves */
                s.n = 0;
                for (unsigned l = 0; l < COUNT_OF(lengths); l++) {
                    range_of_entries(&s, random_below(&s.random, 3000), lengths[l]);
                    range_of_entries(&s, l, l);
                }
                check(&s, 0);
                check(&s, 1500);
                check_host(&s);
                scene_change(&s);
            }
            assert_ok(s.ctx, copse_verify(s.index));
            scene_close(&s);
        }
    }
}

/* Memory of the device with this content. */
/* A window has slid: thousands of entries in front and in the middle are gone, their leaves are still there. */
static void empty_leaves_are_passed(void **state)
{
    (void)state;
    for (unsigned k = 0; k < COUNT_OF(kinds); k++) {
        for (unsigned p = k; p < COUNT_OF(pairs); p += 2) {
            struct scene s = scene_open(kinds[k], pairs[p], true, false);
            scene_grow(&s);
            const void *epoch = copse_blink_handle_of(s.index)->tree->current;
            bool stayed = false;
            for (unsigned round = 0; round < 5; round++) {
                const uint64_t n = s.content.n / 9, from = round % 2 ? s.content.n / 2 : 0;
                void *keys = typed_new(s.key_type, n);
                for (uint64_t i = 0; i < n; i++) typed_set_code(s.key_type, keys, i, code_at(&s, from + i));
                assert_ok(s.ctx, copse_erase(s.index, keys, n, NULL));
                free(keys);
                content_free(&s);
                s.content = unit_content_of(s.index);
                stayed = stayed || (round > 1 && copse_blink_handle_of(s.index)->tree->current == epoch);
                s.n = 0;
                range_add(&s, typed_lowest_code(s.key_type), typed_highest_code(s.key_type));
                range_of_entries(&s, 0, 50);
                range_of_entries(&s, s.content.n / 2 - 20, 200);
                check(&s, 0);
                check(&s, 40);
                check_host(&s);
            }
            assert_true(stayed); /* or no leaf would be empty */
            scene_close(&s);
        }
    }
}

static void *device_copy(const struct scene *s, const void *content, uint64_t bytes)
{
    void *memory = NULL;
    assert_ok(s->ctx, copse_device_alloc(s->device, s->device->main, bytes, "a test", &memory));
    assert_ok(s->ctx, copse_device_copy(s->device, s->device->main, memory, content, bytes));
    assert_ok(s->ctx, copse_device_wait(s->device, s->device->main));
    return memory;
}

/* A tile whose neighbours in front have all counted and not summed up: it adds up 39 words and the sum in front of them. */
static void a_tile_looks_far_back(void **state)
{
    (void)state;
    enum { TILES = 41, N = TILES * 128 };
    const uint64_t counted = UINT64_C(1) << 62, summed = UINT64_C(2) << 62;
    struct scene s = scene_open(kinds[0], pairs[0], true, false);
    const copse_blink_epoch *version = copse_blink_handle_of(s.index)->tree->current;
    const copse_short_range_state start = {.ticket = TILES - 1};
    static uint32_t lows[N], highs[N];
    static uint64_t zeros[N + 1], offsets[N + 1];
    uint64_t words[TILES] = {summed | 1000};
    for (uint64_t t = 1; t < TILES - 1; t++) words[t] = counted | t;
    for (uint64_t r = 0; r < N; r++) highs[r] = ((const uint32_t *)s.content.keys)[9];
    copse_blink_short_range_arguments a = {
        .ranges = {.tree = version->view,
                   .queries = {.lows = device_copy(&s, lows, sizeof lows),
                               .highs = device_copy(&s, highs, sizeof highs),
                               .n = N,
                               .per_warp = 32,
                               .locations = device_copy(&s, zeros, N * sizeof *zeros)}},
        .offsets = device_copy(&s, zeros, sizeof zeros),
        .state = device_copy(&s, &start, sizeof start),
        .words = device_copy(&s, words, sizeof words),
        .tiles = TILES};
    assert_ok(s.ctx, copse_device_launch(s.device, s.device->main,
                                         &copse_blink_ordered_kernels_of(s.index)->short_range[0], 2, &a));
    assert_ok(s.ctx, copse_device_read(s.device, s.device->main, offsets, a.offsets, sizeof offsets));
    assert_ok(s.ctx, copse_device_read(s.device, s.device->main, words, a.words, sizeof words));
    for (uint64_t r = 0; r < 128; r++) assert_int_equal(offsets[N - 128 + r + 1], 1000 + 39 * 40 / 2 + (r + 1) * 10);
    assert_int_equal(words[TILES - 1], summed | offsets[N]);
    copse_device_free(s.device, s.device->main, (void *)(uintptr_t)a.ranges.queries.lows, sizeof lows);
    copse_device_free(s.device, s.device->main, (void *)(uintptr_t)a.ranges.queries.highs, sizeof highs);
    copse_device_free(s.device, s.device->main, a.ranges.queries.locations, N * sizeof *zeros);
    copse_device_free(s.device, s.device->main, a.offsets, sizeof zeros);
    copse_device_free(s.device, s.device->main, a.state, sizeof start);
    copse_device_free(s.device, s.device->main, a.words, sizeof words);
    scene_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_end_anywhere),     cmocka_unit_test(keys_repeat),
        cmocka_unit_test(trees_are_small),         cmocka_unit_test(long_ranges_are_cut),
        cmocka_unit_test(empty_leaves_are_passed), cmocka_unit_test(a_tile_looks_far_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The scan of every tree, past the API: from a key, within bounds, so many entries at a time, and on from where it stopped. A
 * sorted array says what has to come. */
#include "unit.h"

#include "trees/tree.h"

#define NO_KEY UINT64_MAX /* as a code: no bound */

/* An index and what it holds. Keys are 3 apart, so that there are some below, between and above them. */
struct world {
    copse_ctx *ctx;
    copse_index *index;
    copse_type key_type, value_type;
    uint64_t n, equals; /* entries; entries of one key */
};

static uint64_t code_at(const struct world *w, uint64_t i)
{
    return typed_zero_code(w->key_type) + 10 + i / w->equals * 3;
}

/* In the order of the array: equal keys come out as they went in. */
static struct world world_open(struct unit_tree tree, copse_type key_type, copse_type value_type, uint64_t n,
                               uint64_t equals)
{
    struct world w = {unit_context(1), NULL, key_type, value_type, n, equals};
    void *keys = typed_new(key_type, n + 1), *values = typed_new(value_type, n + 1);
    w.index = unit_index(w.ctx, tree, key_type, value_type, equals > 1);
    for (uint64_t i = 0; i < n; i++) {
        typed_set_code(key_type, keys, i, code_at(&w, i));
        typed_set_bits(value_type, values, i, typed_position_bits(value_type, i + 1));
    }
    assert_ok(w.ctx, copse_build(w.index, keys, values, n));
    free(keys);
    free(values);
    return w;
}

static void world_close(struct world *w)
{
    copse_index_free(w->index);
    copse_ctx_free(w->ctx);
}

/* The first entry with a key of this code or above it; `after`: above it. */
static uint64_t bound(const struct world *w, uint64_t code, bool after)
{
    uint64_t i = 0;
    while (i < w->n && (code_at(w, i) < code || (after && code_at(w, i) == code))) i++;
    return i;
}

/* What the caller's arrays hold behind the last entry stays there. */
static void assert_entries(const struct world *w, const copse_scan *scan, uint64_t first, uint64_t room)
{
    for (uint64_t i = 0; i < room; i++) {
        const bool came = i < scan->n;
        const uint64_t key = came ? typed_bits_of_code(w->key_type, code_at(w, first + i)) : 0;
        const uint64_t value = came ? typed_position_bits(w->value_type, first + i + 1) : 0;
        if (scan->keys) assert_int_equal(typed_bits(w->key_type, scan->keys, i), key);
        if (scan->values) assert_int_equal(typed_bits(w->value_type, scan->values, i), value);
    }
}

/* One scan, from the key of a code or (NO_KEY) from the position at entry `at`; returns the entry at which it stopped. */
static uint64_t scan_once(const struct world *w, copse_scan *scan, uint64_t at, uint64_t from, uint64_t to,
                          uint64_t most)
{
    uint64_t from_key = 0, to_key = 0;
    typed_set_code(w->key_type, &from_key, 0, from == NO_KEY ? 0 : from);
    typed_set_code(w->key_type, &to_key, 0, to == NO_KEY ? 0 : to);
    void *keys = scan->keys = typed_new(w->key_type, most + 1);
    void *values = scan->values = typed_new(w->value_type, most + 1);
    if (most % 5 == 1) scan->keys = NULL; /* either may be missing, or both */
    if (most % 5 == 2 || most % 25 == 1) scan->values = NULL;
    scan->from = from == NO_KEY ? NULL : &from_key;
    scan->to = to == NO_KEY ? NULL : &to_key;
    scan->most = most;
    scan->n = 12345;
    if (from != NO_KEY) at = bound(w, from, false);
    const uint64_t end = to == NO_KEY ? w->n : bound(w, to, true);
    const uint64_t left = end > at ? end - at : 0;
    assert_ok(w->ctx, w->index->calls->scan(w->index, scan));
    assert_int_equal(scan->n, left < most ? left : most);
    assert_entries(w, scan, at, most + 1);
    free(keys);
    free(values);
    return at + scan->n;
}

/* From a key (or the first entry) to a bound, so many at a time, until fewer come; then once more. */
static void walk(const struct world *w, uint64_t from, uint64_t to, uint64_t most)
{
    copse_scan scan = {0};
    uint64_t at = scan_once(w, &scan, 0, from, to, most);
    while (scan.n == most) at = scan_once(w, &scan, at, NO_KEY, to, most);
    assert_true(scan.n < most);
    (void)scan_once(w, &scan, at, NO_KEY, to, most);
    assert_int_equal(scan.n, 0);
}

/* Around the sizes of nodes and leaves, and of all there is. */
static const uint64_t steps[] = {1, 2, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 127, 128, 129, 255, 257};

static void walk_in_all_steps(const struct world *w, bool slow)
{
    const uint64_t low = w->n ? code_at(w, 0) : 10, high = w->n ? code_at(w, w->n - 1) : 10;
    for (size_t i = slow ? 3 : 0; i < COUNT_OF(steps); i++) walk(w, NO_KEY, NO_KEY, steps[i]);
    for (uint64_t most = w->n ? w->n - 1 : 1; most <= w->n + 1; most++)
        if (most) walk(w, NO_KEY, NO_KEY, most);
    walk(w, low, high, 50);
    walk(w, low + 1, high - 1, 64);
}

/* --- tests ----------------------------------------------------------------------------------------------------------- */

static void whole_trees_in_steps(void **state)
{
    (void)state;
    static const copse_type keys[] = {COPSE_U64, COPSE_F32, COPSE_I64, COPSE_U32};
    static const copse_type values[] = {COPSE_U64, COPSE_U32, COPSE_I32, COPSE_F64};
    static const uint64_t sizes[] = {1, 8, 65, 700, 5000};
    FOR_EACH_TREE(tree)
    for (unsigned i = 0; i < COUNT_OF(keys); i++)
        for (unsigned size = 0; size < COUNT_OF(sizes); size++) {
            const bool slow = tree->placement == COPSE_PLACEMENT_EMULATED;
            if (slow && sizes[size] > 700) continue;
            struct world w = world_open(*tree, keys[i], values[i], sizes[size], 1);
            walk_in_all_steps(&w, slow);
            world_close(&w);
        }
}

/* Keys of which there are more than a leaf holds, and steps that end among them. */
static void equal_keys_across_steps(void **state)
{
    (void)state;
    static const uint64_t equals[] = {2, 3, 40, 700};
    FOR_EACH_TREE_THAT(tree, COPSE_PLACEMENT_AUTO, COPSE_CAN_KEEP_DUPLICATES)
    for (unsigned i = 0; i < COUNT_OF(equals); i++) {
        struct world w =
            world_open(*tree, i % 2 ? COPSE_U64 : COPSE_I32, i % 2 ? COPSE_U32 : COPSE_U64, 700, equals[i]);
        walk_in_all_steps(&w, tree->placement == COPSE_PLACEMENT_EMULATED);
        world_close(&w);
    }
}

/* Every pair of bounds at, below and above keys, also bounds that leave nothing. */
static void bounds_of_every_kind(void **state)
{
    (void)state;
    FOR_EACH_TREE(tree)
    for (uint64_t equals = 1; equals <= 3; equals += 2) {
        const copse_capability needed = equals > 1 ? COPSE_CAN_KEEP_DUPLICATES : COPSE_CAN_EXIST;
        if (!copse_supports(tree->structure, tree->placement, COPSE_F64, needed)) continue;
        struct world w = world_open(*tree, COPSE_F64, COPSE_U32, 300, equals);
        const uint64_t first = code_at(&w, 0), last = code_at(&w, w.n - 1), middle = code_at(&w, w.n / 2);
        const uint64_t lowest = typed_lowest_code(COPSE_F64), highest = typed_highest_code(COPSE_F64);
        const uint64_t codes[] = {NO_KEY, lowest,     first - 1, first, first + 1, middle - 1,
                                  middle, middle + 1, last - 1,  last,  last + 1,  highest};
        for (size_t from = 0; from < COUNT_OF(codes); from++)
            for (size_t to = 0; to < COUNT_OF(codes); to++) {
                copse_scan scan = {0};
                (void)scan_once(&w, &scan, 0, codes[from], codes[to], 10);
                if (unit_fewer(*tree, 1, (from + to) % 4) == 1) walk(&w, codes[from], codes[to], 100);
            }
        world_close(&w);
    }
}

/* A scan of no entries only finds the position, from which the next one goes on; and a bound may change on the way. */
static void positions_without_entries(void **state)
{
    (void)state;
    FOR_EACH_TREE(tree)
    {
        struct world w = world_open(*tree, COPSE_U64, COPSE_U64, 300, 1);
        for (uint64_t i = 0; i < w.n; i += 37)
            for (uint64_t below = 0; below < 3; below++) {
                copse_scan scan = {0};
                uint64_t at = scan_once(&w, &scan, 0, code_at(&w, i) - below, NO_KEY, 0);
                assert_int_equal(at, i);
                at = scan_once(&w, &scan, at, NO_KEY, NO_KEY, 0);
                at = scan_once(&w, &scan, at, NO_KEY, code_at(&w, i) - 3, 5); /* the bound lies behind: nothing */
                assert_int_equal(at, i);
                at = scan_once(&w, &scan, at, NO_KEY, code_at(&w, i) + 4, 5);
                at = scan_once(&w, &scan, at, NO_KEY, NO_KEY, 3);
                at = scan_once(&w, &scan, at, code_at(&w, 0), NO_KEY, 3); /* a key again: from there */
                assert_int_equal(at, 3);
            }
        copse_scan scan = {0};
        (void)scan_once(&w, &scan, 0, code_at(&w, w.n - 1) + 1, NO_KEY, 4);
        assert_int_equal(scan.n, 0);
        world_close(&w);
    }
}

static void empty_trees(void **state)
{
    (void)state;
    FOR_EACH_TREE(tree)
    for (int built = 0; built < 2; built++) {
        struct world w = world_open(*tree, COPSE_I64, COPSE_U32, built ? 20 : 0, 1);
        if (built) { /* and emptied */
            int64_t keys[20];
            uint64_t erased = 0;
            for (uint64_t i = 0; i < 20; i++) typed_set_code(COPSE_I64, keys, i, code_at(&w, i));
            assert_ok(w.ctx, copse_erase(w.index, keys, 20, &erased));
            assert_int_equal(erased, 20);
            w.n = 0;
        }
        const uint64_t zero = typed_zero_code(COPSE_I64);
        for (uint64_t most = 0; most < 3; most++) {
            copse_scan scan = {0};
            uint64_t at = scan_once(&w, &scan, 0, NO_KEY, NO_KEY, most);
            at = scan_once(&w, &scan, at, NO_KEY, zero, most);
            at = scan_once(&w, &scan, at, zero, NO_KEY, most);
            at = scan_once(&w, &scan, at, zero, zero + 9, most);
            (void)scan_once(&w, &scan, at, NO_KEY, NO_KEY, most);
        }
        world_close(&w);
    }
}

static void nan_is_refused(void **state)
{
    (void)state;
    static const copse_type types[] = {COPSE_F64, COPSE_F32};
    FOR_EACH_TREE(tree)
    for (size_t t = 0; t < COUNT_OF(types); t++) {
        struct world w = world_open(*tree, types[t], COPSE_U32, 100, 1);
        uint64_t nan = 0, key = 0, keys[4] = {0};
        typed_set_bits(types[t], &nan, 0, typed_nan_bits(types[t]));
        typed_set_code(types[t], &key, 0, code_at(&w, 3));
        copse_scan from = {.from = &nan, .most = 4, .keys = keys};
        assert_fails(w.ctx, COPSE_ERR_NAN, w.index->calls->scan(w.index, &from));
        copse_scan to = {.to = &nan, .most = 4, .keys = keys};
        assert_fails(w.ctx, COPSE_ERR_NAN, w.index->calls->scan(w.index, &to));
        copse_scan both = {.from = &key, .to = &nan, .most = 4, .keys = keys};
        assert_fails(w.ctx, COPSE_ERR_NAN, w.index->calls->scan(w.index, &both));
        assert_int_equal(keys[0] | keys[1] | keys[2] | keys[3], 0);
        walk(&w, NO_KEY, NO_KEY, 33);
        world_close(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_trees_in_steps), cmocka_unit_test(equal_keys_across_steps),
        cmocka_unit_test(bounds_of_every_kind), cmocka_unit_test(positions_without_entries),
        cmocka_unit_test(empty_trees),          cmocka_unit_test(nan_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * Sorted batches in place that are so large that the pool gets a leaf for every split that could happen, and only some warps ask how
 * many there will be: content, memory that goes back afterwards, and what happens where there is none for that.
 */
#include "unit.h"

#include "trees/blink/tree.h"
#include "placed.h"

enum { entries = 1 << 17, batch = 1 << 14 };

static const struct widths {
    copse_type key, value;
} widths[] = {{COPSE_U32, COPSE_U32}, {COPSE_U64, COPSE_U64}, {COPSE_I32, COPSE_U64}, {COPSE_I64, COPSE_U32}};

static const copse_blink_epoch *version_of(const copse_index *index)
{
    return copse_blink_handle_of(index)->tree->current;
}

/* Scrambles numbers below 2^31, each to another one: keys as if at random, none twice. */
static uint64_t scrambled(uint64_t i)
{
    for (int round = 0; round < 3; round++) {
        i = i * UINT64_C(2654435761) & INT32_MAX;
        i ^= i >> 15;
    }
    return i;
}

/* Keys scrambled(first), scrambled(first + step) ..., n of them. */
static void *keys_of(copse_type type, uint64_t first, uint64_t n, uint64_t step)
{
    void *keys = typed_new(type, n);
    for (uint64_t i = 0; i < n; i++) typed_set_bits(type, keys, i, scrambled(first + i * step));
    return keys;
}

static void *values_of(copse_type type, uint64_t first, uint64_t n)
{
    void *values = typed_new(type, n);
    for (uint64_t i = 0; i < n; i++) typed_set_bits(type, values, i, first + i);
    return values;
}

/* A tree of so many entries, whose updates go sorted. */
static copse_index *tree_of(copse_ctx *ctx, struct unit_tree tree, struct widths w)
{
    copse_index *index = unit_index(ctx, tree, w.key, w.value, false);
    void *keys = keys_of(w.key, 0, entries, 1), *values = values_of(w.value, 0, entries);
    assert_ok(ctx, copse_build(index, keys, values, entries));
    copse_blink_handle_of(index)->tree->tuning.unsorted_most = 1;
    free(keys);
    free(values);
    return index;
}

/* Keys first .. first + n - 1 are there, with values from `value` on; or none of them is. */
static void expect(copse_ctx *ctx, const copse_index *index, struct widths w, uint64_t first, uint64_t n,
                   uint64_t value, bool there)
{
    void *keys = keys_of(w.key, first, n, 1), *values = typed_new(w.value, n);
    uint8_t *found = must_malloc(n);
    assert_ok(ctx, copse_find(index, keys, n, values, found));
    for (uint64_t i = 0; i < n; i++) {
        assert_int_equal(found[i], there);
        if (there) assert_int_equal(typed_bits(w.value, values, i), value + i);
    }
    free(keys);
    free(values);
    free(found);
}

static void upsert(copse_ctx *ctx, copse_index *index, struct widths w, uint64_t first, uint64_t value, uint64_t come)
{
    void *keys = keys_of(w.key, first, batch, 1), *values = values_of(w.value, value, batch);
    uint64_t came = 0;
    assert_ok(ctx, copse_insert(index, keys, values, batch, COPSE_INSERT_UPSERT, &came));
    assert_int_equal(came, come);
    assert_ok(ctx, copse_verify(index));
    free(keys);
    free(values);
}

static void every_second_goes(copse_ctx *ctx, copse_index *index, struct widths w)
{
    void *keys = keys_of(w.key, 0, batch, 2);
    uint64_t went = 0;
    assert_ok(ctx, copse_erase(index, keys, batch, &went));
    assert_int_equal(went, batch);
    assert_ok(ctx, copse_verify(index));
    for (uint64_t i = 0; i < 100; i++) expect(ctx, index, w, i, 1, i, i % 2);
    free(keys);
}

static void batches(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(2);
    for (size_t i = 0; i < COUNT_OF(widths); i++) {
        const struct widths w = widths[i];
        for (int branches = 0; branches < 2; branches++) {
            const struct unit_tree kind = {branches ? COPSE_STRUCTURE_BPLUS : COPSE_STRUCTURE_BLINK,
                                           COPSE_PLACEMENT_EMULATED};
            copse_index *index = tree_of(ctx, kind, w);
            const copse_blink_epoch *built = version_of(index);
            upsert(ctx, index, w, entries, entries, batch);
            if (!branches) assert_ptr_equal(version_of(index), built);
            if (!branches) assert_true(built->pool_taken > 0);
            upsert(ctx, index, w, entries + batch / 2, 7, batch / 2); /* half of them are there */
            expect(ctx, index, w, 0, entries, 0, true);
            expect(ctx, index, w, entries, batch / 2, entries, true);
            expect(ctx, index, w, entries + batch / 2, batch, 7, true);
            expect(ctx, index, w, entries + batch / 2 * 3, 1000, 0, false);
            every_second_goes(ctx, index, w);
            assert_int_equal(copse_size(index), entries + batch / 2);
            copse_index_free(index);
        }
    }
    copse_ctx_free(ctx);
}

/* Two leaves of a packed tree have so many entries. */
static uint64_t packed_two(struct widths w)
{
    const size_t key = copse_type_size(w.key), value = copse_type_size(w.value);
    return key != value ? 15 : key == 4 ? 21 : 11;
}

/* Upserts keys that were not there, and finds them. */
static void upsert_new(copse_ctx *ctx, copse_index *index, struct widths w, const void *keys, uint64_t n)
{
    void *values = values_of(w.value, n, n), *out = typed_new(w.value, n);
    uint8_t *found = must_malloc(n);
    uint64_t came = 0;
    assert_ok(ctx, copse_insert(index, keys, values, n, COPSE_INSERT_UPSERT, &came));
    assert_int_equal(came, n);
    assert_ok(ctx, copse_verify(index));
    assert_ok(ctx, copse_find(index, keys, n, out, found));
    for (uint64_t i = 0; i < n; i++) {
        assert_true(found[i]);
        assert_int_equal(typed_bits(w.value, out, i), n + i);
    }
    free(values);
    free(out);
    free(found);
}

/* Keys as far behind 0, 1000 ... */
static void *keys_behind(copse_type type, uint64_t n, uint64_t distance)
{
    void *keys = typed_new(type, n);
    for (uint64_t i = 0; i < n; i++) typed_set_bits(type, keys, i, i * 1000 + distance);
    return keys;
}

/* The tree has keys 0, 1000 ...: each of the first n gets a neighbour. */
static void upsert_each(copse_ctx *ctx, copse_index *index, struct widths w, uint64_t n, uint64_t distance)
{
    void *keys = keys_behind(w.key, n, distance);
    upsert_new(ctx, index, w, keys, n);
    free(keys);
}

/* ... and loses it. */
static void erase_each(copse_ctx *ctx, copse_index *index, struct widths w, uint64_t n, uint64_t distance)
{
    void *keys = keys_behind(w.key, n, distance);
    uint64_t went = 0;
    assert_ok(ctx, copse_erase(index, keys, n, &went));
    assert_int_equal(went, n);
    assert_ok(ctx, copse_verify(index));
    free(keys);
}

/* The last key but one of each of these leaves, as they were at the start, gets a neighbour: what comes behind the last one is for the
 * next leaf. */
static void upsert_last(copse_ctx *ctx, copse_index *index, struct widths w, uint64_t leaves, uint64_t distance)
{
    const uint64_t two = packed_two(w);
    void *keys = typed_new(w.key, leaves);
    for (uint64_t i = 0; i < leaves; i++)
        typed_set_bits(w.key, keys, i, (i / 2 * two + (i % 2 ? two : two / 2) - 2) * 1000 + distance);
    upsert_new(ctx, index, w, keys, leaves);
    free(keys);
}

/*
 * A part of the tree gets so much that its base_leaves have chains of some leaves. Then come batches with an operation for each of these
 * base_leaves that belongs to the end of its chain: more than the lists of a block have room for take a step, then another.
 */
static void chains_of(copse_ctx *ctx, struct widths w, bool branches, bool watched)
{
    enum { base_leaves = 800 };
    /* Packed trees of 32 bits may get few leaves before they are packed again. */
    const uint64_t many = entries * (packed_two(w) > 15 ? 20 : 4);
    const struct unit_tree kind = {branches ? COPSE_STRUCTURE_BPLUS : COPSE_STRUCTURE_BLINK, COPSE_PLACEMENT_EMULATED};
    copse_index *index = unit_index(ctx, kind, w.key, w.value, false), *view = NULL;
    const uint64_t first = packed_two(w) * base_leaves / 2;
    void *keys = keys_behind(w.key, many, 0), *values = values_of(w.value, 0, many);
    assert_ok(ctx, copse_build(index, keys, values, many));
    copse_blink_handle_of(index)->tree->tuning.unsorted_most = 1;
    if (watched) assert_ok(ctx, copse_index_view(index, ctx, &view));
    const copse_blink_epoch *built = version_of(index);
    upsert_each(ctx, index, w, first, 300);
    if (!branches) upsert_each(ctx, index, w, first, 600); /* branches would get too much */
    assert_true(built->pool_taken >= 2 * base_leaves);
    for (uint64_t distance = 901; distance < 905; distance++) upsert_last(ctx, index, w, base_leaves, distance);
    erase_each(ctx, index, w, first, 300);
    assert_ptr_equal(version_of(index), built);
    assert_int_equal(copse_size(index), many + (branches ? 0 : first) + 4 * base_leaves);
    copse_index_free(view);
    copse_index_free(index);
    free(keys);
    free(values);
}

static void chains(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(2);
    for (size_t i = 0; i < COUNT_OF(widths) * 4; i++) chains_of(ctx, widths[i / 4], i / 2 % 2, i % 2);
    copse_ctx_free(ctx);
}

/* What was set aside for splits that did not happen goes back: a segment stays, at most, for the next batch. */
static void room_goes_back(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(2);
    const struct unit_tree kind = {COPSE_STRUCTURE_BLINK, COPSE_PLACEMENT_EMULATED};
    const struct widths w = widths[2]; /* of which so many leaves split that stripes can be compared */
    copse_index *index = tree_of(ctx, kind, w);
    upsert(ctx, index, w, entries, entries, batch);
    const copse_blink_epoch *version = version_of(index);
    const uint64_t segment = UINT64_C(1) << version->view.segment_shift;
    assert_true(version->view.pool_leaves < batch);
    assert_true(version->view.pool_leaves <= version->pool_used + 2 * segment);
    assert_true(version->pool_used < version->pool_taken * 3); /* stripes are used about evenly */
    copse_index_free(index);
    copse_ctx_free(ctx);
}

/* Wherever memory fails, the batch is done in another way, or not at all. */
static void without_memory(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1);
    const struct unit_tree kind = {COPSE_STRUCTURE_BLINK, COPSE_PLACEMENT_EMULATED};
    copse_index *index = tree_of(ctx, kind, widths[0]);
    void *keys = keys_of(COPSE_U32, entries, batch, 1), *values = values_of(COPSE_U32, entries, batch);
    bool refused = false, done = false;
    for (int left = 0; left < 40 && !done; left++) {
        index->device->allocations_left = left;
        const copse_status status = copse_insert(index, keys, values, batch, COPSE_INSERT_UPSERT, NULL);
        const bool was_short = index->device->allocations_left < 0;
        index->device->allocations_left = -1;
        done = status == COPSE_OK;
        refused |= status == COPSE_ERR_MEMORY;
        assert_true(done || status == COPSE_ERR_MEMORY);
        assert_int_equal(copse_size(index), entries + (done ? batch : 0));
        if (done) assert_true(was_short); /* it went on without the room that it wanted */
        if (left % 4 == 0 || done) assert_ok(ctx, copse_verify(index));
    }
    assert_true(refused && done);
    expect(ctx, index, widths[0], 0, entries + batch, 0, true);
    free(keys);
    free(values);
    copse_index_free(index);
    copse_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batches),
        cmocka_unit_test(chains),
        cmocka_unit_test(room_goes_back),
        cmocka_unit_test(without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

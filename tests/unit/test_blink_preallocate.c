/*
 * Memory that trees on a device take ahead of their next version: how far an update comes with it, that it is there when the tree
 * is packed, that nothing is held, and that calls go on as if nothing were where it is not to be had.
 */
#include "unit.h"

#include "trees/blink/tree.h"
#include "placed.h"

#include <limits.h>

enum { entries = 40000, batch = 1000 };

static const struct unit_tree kinds[] = {{COPSE_STRUCTURE_BLINK, COPSE_PLACEMENT_EMULATED},
                                         {COPSE_STRUCTURE_BPLUS, COPSE_PLACEMENT_EMULATED}};
#define FOR_EACH_KIND(kind) for (const struct unit_tree *kind = kinds; kind < kinds + COUNT_OF(kinds); kind++)

static copse_blink_epoch *version_of(const copse_index *index)
{
    return copse_blink_handle_of(index)->tree->current;
}

/* How long each update of a tree may take memory ahead, in nanoseconds, whatever its size; updates go sorted. */
static void ahead(const copse_index *index, uint64_t most)
{
    copse_blink_tuning *tuning = placed_tuning(index);
    tuning->unsorted_most = 1;
    tuning->preallocate_most = most;
    tuning->preallocate_always = true;
}

/* Scrambles numbers, each to another one: keys as if at random, none twice. */
static uint64_t key_of(uint64_t i)
{
    for (int round = 0; round < 3; round++) {
        i *= UINT64_C(0x9E3779B97F4A7C15);
        i ^= i >> 32;
    }
    return i;
}

/* Keys first .. first + n - 1, whose values are their numbers; from 0 on the tree is built of them. */
static copse_status put(copse_index *index, uint64_t first, uint64_t n)
{
    uint64_t *keys = must_malloc(n * sizeof *keys), *values = must_malloc(n * sizeof *values);
    for (uint64_t i = 0; i < n; i++) {
        keys[i] = key_of(first + i);
        values[i] = first + i;
    }
    copse_status status =
        first ? copse_insert(index, keys, values, n, COPSE_INSERT_UPSERT, NULL) : copse_build(index, keys, values, n);
    free(keys);
    free(values);
    return status;
}

/* A tree with the keys 0 .. entries - 1, which has nothing ahead. */
static copse_index *tree_of(copse_ctx *ctx, struct unit_tree kind, uint64_t most)
{
    copse_index *index = unit_index(ctx, kind, COPSE_U64, COPSE_U64, false);
    assert_ok(ctx, put(index, 0, entries));
    ahead(index, most);
    return index;
}

/* The keys 0 .. n - 1 are what is there. */
static void assert_keys(copse_ctx *ctx, const copse_index *index, uint64_t n)
{
    uint64_t *keys = must_malloc(n * sizeof *keys), *values = must_malloc(n * sizeof *values);
    uint8_t *found = must_malloc(n);
    for (uint64_t i = 0; i < n; i++) keys[i] = key_of(i);
    assert_ok(ctx, copse_verify(index));
    assert_int_equal(copse_size(index), n);
    assert_ok(ctx, copse_find(index, keys, n, values, found));
    for (uint64_t i = 0; i < n; i++) assert_true(found[i] && values[i] == i);
    free(keys);
    free(values);
    free(found);
}

/* Allocations of a call. */
#define MANY INT64_C(1000000)
static int64_t put_counted(copse_ctx *ctx, copse_index *index, uint64_t first, uint64_t n)
{
    index->device->allocations_left = MANY;
    assert_ok(ctx, put(index, first, n));
    const int64_t count = MANY - index->device->allocations_left;
    index->device->allocations_left = -1;
    return count;
}

/* Segments of the size of a version's that its base_leaves take when it has grown by a quarter. */
static unsigned segments_of_next(const copse_blink_epoch *version)
{
    const uint64_t base_leaves = version->view.base_leaves, segment = UINT64_C(1) << version->view.segment_shift;
    return (unsigned)((base_leaves + base_leaves / 4 + segment - 1) / segment);
}

/* --- how far it comes ----------------------------------------------------------------------------------------------------------- */

/* With no time to speak of an update takes one block more than the one before, until there are as many as the next version has
 * segments; updates after that take no more than they do without. */
static void one_block_a_call(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1);
    copse_device *device = placed_device(ctx, COPSE_PLACEMENT_EMULATED);
    FOR_EACH_KIND(kind)
    {
        copse_index *index = tree_of(ctx, *kind, 0);
        const copse_blink_epoch *version = version_of(index);
        const uint64_t held = device->allocated;
        const unsigned segments = segments_of_next(version);
        const int64_t without = put_counted(ctx, index, 1, 2);
        ahead(index, 1);
        for (unsigned call = 1; call <= segments + 1; call++) {
            assert_int_equal(put_counted(ctx, index, 1, 2), without + call); /* keys that are there: nothing splits */
            assert_int_equal(version->preallocated, call);
            assert_int_equal(device->allocated, held);
        }
        assert_int_equal(put_counted(ctx, index, 1, 2), without);
        assert_int_equal(version->preallocated, segments + 1);
        assert_ptr_equal(version_of(index), version);
        assert_keys(ctx, index, entries);
        copse_index_free(index);
    }
    copse_ctx_free(ctx);
}

/* With time enough one update takes all, and so does a build. A larger batch needs more segments. */
static void all_at_once(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1);
    FOR_EACH_KIND(kind)
    {
        copse_index *index = tree_of(ctx, *kind, UINT64_C(1) << 60);
        const copse_blink_epoch *version = version_of(index);
        const unsigned segments = segments_of_next(version),
                       more = 2 * batch / 11 / (1u << version->view.segment_shift);
        assert_int_equal(version->preallocated, 0);
        assert_ok(ctx, put(index, 1, 2));
        assert_int_equal(version->preallocated, segments + 1);
        assert_ok(ctx, put(index, 1, batch));
        assert_in_range(version->preallocated, segments + 1 + more, segments + 2 + more);
        assert_keys(ctx, index, entries);
        assert_ok(ctx, put(index, 0, entries));
        assert_int_equal(version_of(index)->preallocated, segments + 1);
        copse_index_free(index);
    }
    copse_ctx_free(ctx);
}

/* Leaves of the pool that are in use stay until the tree is packed: the segments that they have are wanted besides. */
static void besides_the_pool(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1);
    copse_index *index = tree_of(ctx, kinds[0], UINT64_C(1) << 60);
    const copse_blink_epoch *version = version_of(index);
    unsigned made, used;
    assert_ok(ctx, put(index, 1, batch));
    const unsigned before = version->preallocated;
    assert_ok(ctx, put(index, entries, batch));
    assert_ok(ctx, put(index, entries, batch));
    assert_ptr_equal(version_of(index), version);
    copse_blink_pool_segments(version, &made, &used);
    assert_true(used >= 1 && used <= made);
    assert_int_equal(version->preallocated, before + used);
    assert_keys(ctx, index, entries + batch);
    copse_index_free(index);
    copse_ctx_free(ctx);
}

/* A batch goes ahead where at least one segment comes from the system in the time that its kernels take, which is no longer than the
 * device allows. The version here is none but for its figures: one of 128 MiB in segments of 2 MiB. */
static void batches_that_are_long_enough(void **state)
{
    (void)state;
    enum { base_leaves = 1 << 20, segment_shift = 14, enough = 8 * 2 * (128 << segment_shift) / 1000 };
    copse_ctx *ctx = unit_context(1);
    copse_index *index = tree_of(ctx, kinds[0], 1000000);
    const copse_blink_tree view = {
        .base_leaves = base_leaves, .pool_first = base_leaves, .segment_shift = segment_shift};
    copse_blink_epoch version = {.view = view, .segments_made = base_leaves >> segment_shift};
    placed_tuning(index)->preallocate_always = false;
    copse_blink_preallocate(index, &version, enough / 4);
    assert_int_equal(version.preallocated, 0);
    placed_tuning(index)->preallocate_most = 1000;
    copse_blink_preallocate(index, &version, enough);
    assert_int_equal(version.preallocated, 0);
    placed_tuning(index)->preallocate_most = 1000000;
    copse_blink_preallocate(index, &version, enough);
    assert_in_range(version.preallocated, 1, 100);
    version.preallocated = 0;
    version.view.base_leaves = version.view.pool_first = base_leaves / 4; /* a small tree */
    version.segments_made = base_leaves / 4 >> segment_shift;
    copse_blink_preallocate(index, &version, enough);
    assert_int_equal(version.preallocated, 0);
    copse_index_free(index);
    copse_ctx_free(ctx);
}

/* Not without time, not in small trees, not where memory is scarce, and not for erasures. */
static void not_at_all(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1);
    copse_device *device = placed_device(ctx, COPSE_PLACEMENT_EMULATED);
    const uint64_t memory = device->memory, keys[2] = {key_of(1), key_of(2)};
    FOR_EACH_KIND(kind)
    {
        copse_index *index = tree_of(ctx, *kind, 0);
        const int64_t without = put_counted(ctx, index, 1, 2);
        assert_int_equal(version_of(index)->preallocated, 0);
        ahead(index, UINT64_C(1) << 60);
        placed_tuning(index)->preallocate_always = false;
        assert_int_equal(put_counted(ctx, index, 1, 2), without);
        assert_int_equal(version_of(index)->preallocated, 0);
        placed_tuning(index)->preallocate_always = true;
        assert_ok(ctx, copse_erase(index, keys, 2, NULL));
        assert_int_equal(version_of(index)->preallocated, 0);
        device->memory = device->allocated + 4 * (uint64_t)version_of(index)->view.base_leaves * COPSE_LEAF_BYTES;
        assert_int_equal(put_counted(ctx, index, 1, 2), without);
        device->memory = memory;
        assert_int_equal(put_counted(ctx, index, 1, 2), without); /* this version has given up */
        assert_int_equal(version_of(index)->preallocated, UINT_MAX);
        assert_keys(ctx, index, entries);
        copse_index_free(index);
    }
    copse_ctx_free(ctx);
}

/* --- that it is there --------------------------------------------------------------------------------------------------------------- */

/* A device that counts what it has not kept, of at least so many bytes. */
static copse_device_backend counting;
static uint64_t counted_least;
static unsigned counted;

static copse_status counting_alloc(copse_device *device, copse_stream *stream, uint64_t bytes, const char *what,
                                   void **out)
{
    if (bytes >= counted_least) counted++;
    return copse_device_emulated.alloc(device, stream, bytes, what, out);
}

/* What the packing takes from the system: with what was taken ahead none of its segments, else all those that are new. */
static void packings_find_it(void **state)
{
    (void)state;
    unsigned fresh[2];
    for (int on = 0; on < 2; on++) {
        copse_ctx *ctx = unit_context(1);
        copse_device *device = placed_device(ctx, COPSE_PLACEMENT_EMULATED);
        device->block_cache.most = 256u << 20;
        copse_index *index = tree_of(ctx, kinds[0], on ? UINT64_C(1) << 60 : 0);
        const copse_blink_epoch *version = version_of(index);
        const unsigned shift = version->view.segment_shift;
        assert_ok(ctx, put(index, 1, 2));
        counting = copse_device_emulated;
        counting.alloc = counting_alloc;
        counted_least = (uint64_t)COPSE_LEAF_BYTES << shift;
        counted = 0;
        device->backend = &counting;
        assert_ok(ctx, put(index, entries, entries / 5)); /* too many to go in place */
        fresh[on] = counted;
        device->backend = &copse_device_emulated;
        assert_ptr_not_equal(version_of(index), version);
        assert_int_equal(version_of(index)->view.segment_shift, shift);
        assert_keys(ctx, index, entries + entries / 5);
        copse_index_free(index);
        copse_ctx_free(ctx);
    }
    /* Besides segments there are the arrays of the batch, which nobody took ahead. */
    assert_true(fresh[0] > 50 && fresh[1] < 15);
}

/* --- nothing is held, and no memory ---------------------------------------------------------------------------------------------------- */

static void as_without(void **state)
{
    (void)state;
    FOR_EACH_KIND(kind)
    {
        copse_ctx *ctxs[2];
        copse_index *indexes[2];
        for (unsigned on = 0; on < 2; on++) {
            ctxs[on] = unit_context(1);
            indexes[on] = unit_index(ctxs[on], *kind, COPSE_U64, COPSE_U64, false);
            ahead(indexes[on], on ? UINT64_C(1) << 60 : 0);
            assert_ok(ctxs[on], put(indexes[on], 0, entries));
        }
        unsigned packed = 0;
        for (uint64_t n = entries; n < 2 * entries; n += 2 * batch) {
            copse_stats stats[2] = {{.struct_size = sizeof stats[0]}, {.struct_size = sizeof stats[0]}};
            const copse_blink_epoch *before = version_of(indexes[1]);
            for (unsigned on = 0; on < 2; on++) {
                assert_ok(ctxs[on], put(indexes[on], n, (uint64_t)2 * batch));
                assert_ok(ctxs[on], copse_index_stats(indexes[on], &stats[on]));
            }
            assert_int_equal(stats[0].bytes, stats[1].bytes);
            assert_int_equal(indexes[0]->device->allocated, indexes[1]->device->allocated);
            packed += version_of(indexes[1]) != before;
        }
        assert_in_range(packed, 2, 15); /* some updates went in place, and some did not */
        for (unsigned on = 0; on < 2; on++) {
            assert_keys(ctxs[on], indexes[on], (uint64_t)2 * entries);
            copse_index_free(indexes[on]);
            copse_ctx_free(ctxs[on]);
        }
    }
}

/* Every allocation of an update fails in turn. Where it was for the next version, the call goes on and leaves no sentence, and this
 * version does not try again. */
static void no_memory(void **state)
{
    (void)state;
    FOR_EACH_KIND(kind)
    for (unsigned kept = 0; kept < 2; kept++) {
        copse_ctx *ctx = unit_context(1);
        copse_device *device = placed_device(ctx, COPSE_PLACEMENT_EMULATED);
        device->block_cache.most = kept ? 256u << 20 : 0;
        copse_index *index = tree_of(ctx, *kind, UINT64_C(1) << 60);
        copse_blink_epoch *version = version_of(index);
        const unsigned segments = segments_of_next(version);
        const uint64_t held = device->allocated;
        unsigned dropped = 0;
        for (int64_t failed = 0;; failed++) {
            version->preallocated = 0;
            device->allocations_left = failed;
            const copse_status status = put(index, 1, 2);
            const bool all = device->allocations_left >= 0;
            device->allocations_left = -1;
            assert_true(status == COPSE_OK || status == COPSE_ERR_MEMORY);
            assert_int_equal(device->allocated, held);
            if (all) break;
            if (status != COPSE_OK) continue;
            assert_null(strstr(copse_last_error(ctx), "the next version"));
            assert_int_equal(version->preallocated, UINT_MAX);
            dropped++;
        }
        assert_int_equal(version->preallocated, segments + 1);
        assert_int_equal(dropped, segments + 1);
        assert_ptr_equal(version_of(index), version);
        assert_keys(ctx, index, entries);
        copse_index_free(index);
        copse_ctx_free(ctx);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_block_a_call), cmocka_unit_test(all_at_once),
        cmocka_unit_test(besides_the_pool), cmocka_unit_test(not_at_all),
        cmocka_unit_test(packings_find_it), cmocka_unit_test(as_without),
        cmocka_unit_test(no_memory),        cmocka_unit_test(batches_that_are_long_enough),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

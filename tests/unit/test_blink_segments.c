/*
 * The segments that the leaves of the B-link and the B+ tree lie in: where leaves are, what updates take and give back, versions
 * that turn out smaller than they were made for, and calls that find no memory for a segment.
 */
#include "unit.h"

#include "trees/blink/tree.h"
#include "placed.h"

#include <math.h>

static const struct unit_tree kinds[] = {{COPSE_STRUCTURE_BLINK, COPSE_PLACEMENT_EMULATED},
                                         {COPSE_STRUCTURE_BPLUS, COPSE_PLACEMENT_EMULATED}};
#define FOR_EACH_KIND(kind) for (const struct unit_tree *kind = kinds; kind < kinds + COUNT_OF(kinds); kind++)

static copse_blink_epoch *version_of(const copse_index *index)
{
    return copse_blink_handle_of(index)->tree->current;
}

static uint64_t bytes_of(const copse_index *index)
{
    copse_stats stats = {.struct_size = sizeof stats};
    assert_int_equal(copse_index_stats(index, &stats), COPSE_OK);
    return stats.bytes;
}

static uint64_t segment_of(const copse_blink_epoch *version)
{
    return UINT64_C(1) << version->view.segment_shift;
}

/* Keys i * 2654435761 mod 2^32: in no order, none twice. */
static void insert(copse_ctx *ctx, copse_index *index, copse_type type, uint64_t first, uint64_t n)
{
    void *keys = typed_new(type, n);
    uint64_t inserted = 0;
    for (uint64_t i = 0; i < n; i++) typed_set_bits(type, keys, i, (first + i) * UINT64_C(2654435761) & UINT32_MAX);
    assert_ok(ctx, copse_insert(index, keys, NULL, n, COPSE_INSERT_UPSERT, &inserted));
    assert_int_equal(inserted, n);
    free(keys);
}

/* Every segment but one has the same size, the table on the device is that of the host, and the pool is what lies behind the base_leaves. */
static void assert_segments(copse_ctx *ctx, const copse_index *index)
{
    copse_device *device = index->device;
    copse_blink_epoch *version = version_of(index);
    const copse_blink_tree *view = &version->view;
    const uint64_t segment = segment_of(version), base_leaves = view->base_leaves, made = version->segments_made;
    uint64_t *table = must_malloc(made * sizeof *table);
    assert_ok(ctx, copse_device_read(device, device->main, table, view->segments, made * sizeof *table));
    assert_memory_equal(table, version->segments, made * sizeof *table);
    assert_true(segment >= 64 && made * segment >= base_leaves && made <= version->segments_most);
    assert_true(segment == 64 || (base_leaves / segment >= 16 && base_leaves / segment <= 128));
    assert_true(view->pool_first == base_leaves || view->pool_first == (base_leaves + segment - 1) / segment * segment);
    assert_int_equal(view->pool_leaves % COPSE_POOL_STRIPES, 0);
    assert_in_range(made * segment - view->pool_first - view->pool_leaves, 0, COPSE_POOL_STRIPES - 1);
    free(table);
}

/* --- where leaves are ------------------------------------------------------------------------------------------------------------- */

/* A tree that was just built takes a line for each base_leaf, whatever the size of a segment. */
static void built_trees(void **state)
{
    (void)state;
    static const uint64_t base_leaves[] = {1,    2,    63,   64,   65,   127,  128,   129,
                                           2047, 2048, 2049, 4095, 4096, 4097, 16384, 16385};
    copse_ctx *ctx = unit_context(1);
    FOR_EACH_KIND(kind)
    for (size_t i = 0; i < COUNT_OF(base_leaves); i++) {
        const uint64_t n = base_leaves[i] / 2 * 11 + base_leaves[i] % 2 * 5;
        copse_index *index = unit_tens(ctx, *kind, n);
        const copse_blink_epoch *version = version_of(index);
        assert_int_equal(version->view.base_leaves, base_leaves[i]);
        assert_segments(ctx, index);
        const uint64_t besides = 2 * version->segments_most * sizeof(uint64_t) + sizeof *version +
                                 sizeof *version->counters + sizeof *version->view.directories + version->levels.bytes;
        assert_int_equal(copse_blink_epoch_bytes(version), base_leaves[i] * COPSE_LEAF_BYTES + besides);
        assert_ok(ctx, copse_verify(index));
        copse_index_free(index);
    }
    copse_ctx_free(ctx);
}

/* A tree that grows keeps the size of its segments until there are twice as many as one that is built has. */
static void grown_trees(void **state)
{
    (void)state;
    static const uint64_t base_leaves[] = {4096, 6000, 8000, 10000, 16000, 20000},
                          segments[] = {64, 64, 64, 256, 256, 256};
    copse_ctx *ctx = unit_context(1);
    FOR_EACH_KIND(kind)
    {
        copse_index *index = unit_index(ctx, *kind, COPSE_U64, COPSE_U64, false);
        for (size_t i = 0; i < COUNT_OF(base_leaves); i++) {
            const uint64_t before = copse_size(index);
            insert(ctx, index, COPSE_U64, before, base_leaves[i] / 2 * 11 - before);
            /* Where tiles do not wait for each other, shares of leaves are rounded. */
            assert_in_range(version_of(index)->view.base_leaves, base_leaves[i] - 8, base_leaves[i] + 8);
            assert_int_equal(segment_of(version_of(index)), segments[i]);
            assert_segments(ctx, index);
            assert_ok(ctx, copse_verify(index));
        }
        copse_index_free(index);
    }
    copse_ctx_free(ctx);
}

/* --- what updates take ------------------------------------------------------------------------------------------------------------ */

/* A batch in place sets room aside for as many leaves as it has keys, and gives back what it did not use. */
static void batches_give_room_back(void **state)
{
    (void)state;
    enum { first = 40000, last = 80000, batch = 5000 };
    static const copse_type types[] = {COPSE_U32, COPSE_U64};
    copse_ctx *ctx = unit_context(1);
    FOR_EACH_KIND(kind)
    for (size_t t = 0; t < COUNT_OF(types); t++) {
        copse_index *index = unit_index(ctx, *kind, types[t], types[t], false);
        insert(ctx, index, types[t], 0, first);
        for (uint64_t n = first; n < last; n += batch) {
            const copse_blink_epoch *before = version_of(index);
            insert(ctx, index, types[t], n, batch);
            const copse_blink_epoch *version = version_of(index);
            assert_segments(ctx, index);
            if (version == before) {
                assert_true(version->pool_taken <= version->pool_used);
                assert_true(version->pool_used <= version->view.pool_leaves);
                assert_true(version->view.pool_leaves < version->pool_used + 2 * segment_of(version));
            }
            if (bytes_of(index) >= (n + batch) * (t ? 30 : 15))
                fail_msg("%s, %s: %.2f bytes of a key at %llu entries", copse_structure_name(kind->structure),
                         typed_name(types[t]), (double)bytes_of(index) / (double)(n + batch),
                         (unsigned long long)(n + batch));
        }
        /* an erasure takes nothing, and leaves what the next insertion may want */
        insert(ctx, index, types[t], last, batch / 10);
        const uint32_t pool = version_of(index)->view.pool_leaves;
        const uint64_t zero = 0; /* the first key, of either width */
        assert_ok(ctx, copse_erase(index, &zero, 1, NULL));
        assert_int_equal(version_of(index)->view.pool_leaves, pool);
        assert_ok(ctx, copse_verify(index));
        copse_index_free(index);
    }
    copse_ctx_free(ctx);
}

/* What was set aside also goes back where the batch was none for this way: a NaN, and too many keys for one base_leaf. */
static void refused_batches_give_room_back(void **state)
{
    (void)state;
    enum { entries = 20000, batch = 1000 };
    double keys[batch];
    copse_ctx *ctx = unit_context(1);
    FOR_EACH_KIND(kind)
    {
        copse_index *index = unit_index(ctx, *kind, COPSE_F64, COPSE_U64, false);
        double *all = must_malloc(entries * sizeof *all);
        for (uint64_t i = 0; i < entries; i++) all[i] = (double)i * 10;
        assert_ok(ctx, copse_build(index, all, NULL, entries));
        free(all);
        const copse_blink_epoch *version = version_of(index);
        const uint64_t before = bytes_of(index), held = index->device->allocated;
        for (int i = 0; i < batch; i++) keys[i] = i == batch / 2 ? (double)NAN : i * 150.0 + 5;
        assert_fails(ctx, COPSE_ERR_NAN, copse_insert(index, keys, NULL, batch, COPSE_INSERT_UPSERT, NULL));
        assert_ptr_equal(version_of(index), version);
        assert_int_equal(bytes_of(index), before);
        assert_int_equal(index->device->allocated, held);
        for (int i = 0; i < batch; i++) keys[i] = 5 + i / 1000.0;
        assert_ok(ctx, copse_insert(index, keys, NULL, batch, COPSE_INSERT_UPSERT, NULL));
        assert_int_equal(copse_size(index), entries + batch);
        assert_segments(ctx, index);
        assert_ok(ctx, copse_verify(index));
        copse_index_free(index);
    }
    copse_ctx_free(ctx);
}

/* And where a sorted batch is a crowd, all of whose keys belong to the last base leaf: each might have needed a leaf. Without memory for
 * that the tree is packed; where there is none for the packing either, the tree has what it had. */
static void crowded_batches_give_room_back(void **state)
{
    (void)state;
    enum { entries = 1 << 17, batch = 1 << 14 };
    copse_ctx *ctx = unit_context(1);
    copse_device *device = placed_device(ctx, COPSE_PLACEMENT_EMULATED);
    copse_index *index = unit_tens(ctx, kinds[0], entries);
    uint64_t *keys = must_malloc(batch * sizeof *keys);
    for (uint64_t i = 0; i < batch; i++) keys[i] = entries * UINT64_C(10) + i;
    const copse_blink_epoch *version = version_of(index);
    copse_status status = COPSE_ERR_MEMORY;
    unsigned packings = 0;
    placed_tuning(index)->unsorted_most = 1;
    const uint64_t memory = device->memory;
    for (uint64_t room = 0; status == COPSE_ERR_MEMORY; room += 1u << 18) {
        device->memory = device->allocated + room;
        status = copse_insert(index, keys, keys, batch, COPSE_INSERT_UPSERT, NULL);
        device->memory = memory;
        if (status != COPSE_ERR_MEMORY) break;
        assert_ptr_equal(version_of(index), version);
        assert_true(version->view.pool_leaves < 2 * segment_of(version));
        packings += strstr(copse_last_error(ctx), "the leaves of the tree") != NULL;
    }
    assert_ok(ctx, status);
    assert_true(packings > 0);
    assert_int_equal(copse_size(index), entries + batch);
    assert_ok(ctx, copse_verify(index));
    free(keys);
    copse_index_free(index);
    copse_ctx_free(ctx);
}

/* On a device that keeps freed blocks, segments of the pool come back where they were, and the table need not be written again. Where
 * they lie elsewhere, or are not to be had, it is right all the same. */
static void segments_that_come_back(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1);
    copse_device *device = placed_device(ctx, COPSE_PLACEMENT_EMULATED);
    device->block_cache.most = 64u << 20;
    FOR_EACH_KIND(kind)
    {
        copse_index *index = unit_tens(ctx, *kind, 20000);
        copse_blink_epoch *version = version_of(index);
        const uint64_t segment = segment_of(version), bytes = segment * COPSE_LEAF_BYTES, all = 5 * segment;
        const unsigned base_leaves = version->segments_made;
        uint64_t *last = (uint64_t *)(uintptr_t)version->view.segments + base_leaves + 3, seen = 0;
        void *stolen = NULL;
        for (unsigned round = 0; round < 6; round++) {
            if (round == 2 || round == 4)
                assert_ok(ctx, copse_device_alloc(device, device->main, bytes, "a test", &stolen));
            if (round == 4) {
                device->allocations_left = 2; /* two are there, and where others were */
                assert_fails(ctx, COPSE_ERR_MEMORY, copse_blink_pool_reserve(index, version, all));
                device->allocations_left = -1;
                assert_ok(ctx, copse_blink_pool_reserve(index, version, segment)); /* one that nobody was told of */
                assert_segments(ctx, index);
            }
            if (round == 1) assert_ok(ctx, copse_device_fill(device, device->main, last, 0, sizeof *last));
            assert_ok(ctx, copse_blink_pool_reserve(index, version, all));
            assert_true(version->segments_made >= base_leaves + 4);
            if (round == 1) {
                assert_ok(ctx, copse_device_read(device, device->main, &seen, last, sizeof seen));
                assert_int_equal(seen, 0);
                seen = version->segments[base_leaves + 3];
                assert_ok(ctx, copse_device_copy(device, device->main, last, &seen, sizeof seen));
            }
            assert_segments(ctx, index);
            copse_device_free(device, device->main, stolen, bytes);
            stolen = NULL;
            version->pool_wanted = 0;
            copse_blink_pool_trim(index, version);
            assert_int_equal(version->segments_made, base_leaves);
        }
        assert_ok(ctx, copse_verify(index));
        copse_index_free(index);
    }
    assert_int_equal(device->allocated, 0);
    copse_ctx_free(ctx);
}

/* --- no memory ------------------------------------------------------------------------------------------------------------------- */

/* A version and an update that need many segments, of which each in turn is not to be had. */
static void no_memory_for_a_segment(void **state)
{
    (void)state;
    enum { entries = 20000, batch = 2000 };
    copse_ctx *ctx = unit_context(1);
    copse_device *device = placed_device(ctx, COPSE_PLACEMENT_EMULATED);
    FOR_EACH_KIND(kind)
    {
        copse_index *index = unit_tens(ctx, *kind, entries);
        uint64_t *keys = must_malloc(batch * sizeof *keys);
        for (uint64_t i = 0; i < batch; i++) keys[i] = i * 97 + i % 7;
        const uint64_t before = bytes_of(index), held = device->allocated;
        copse_status status = COPSE_ERR_MEMORY;
        unsigned leaves = 0, failed = 0;
        for (; status == COPSE_ERR_MEMORY; failed++) {
            device->allocations_left = failed;
            status = copse_insert(index, keys, keys, batch, COPSE_INSERT_UPSERT, NULL);
            device->allocations_left = -1;
            if (status != COPSE_ERR_MEMORY) break;
            if (strstr(copse_last_error(ctx), "more leaves")) leaves++;
            assert_int_equal(bytes_of(index), before);
            assert_int_equal(device->allocated, held);
        }
        assert_ok(ctx, status);
        assert_true(leaves >= batch / segment_of(version_of(index)) - 1);
        assert_ok(ctx, copse_verify(index));
        copse_blink_epoch *made = NULL, *version = version_of(index);
        const uint64_t now = device->allocated;
        const uint32_t pool = version->view.pool_leaves;
        for (unsigned segment = 0; segment < 10; segment++) {
            device->allocations_left = segment;
            assert_fails_naming(ctx, COPSE_ERR_MEMORY, "more leaves",
                                copse_blink_pool_reserve(index, version, pool + 12 * segment_of(version)));
            device->allocations_left = -1;
            assert_int_equal(device->allocated, now);
            assert_int_equal(version->view.pool_leaves, pool);
        }
        for (unsigned segment = 0; segment < 20; segment++) {
            device->allocations_left = segment + 1; /* counters and table come first */
            assert_fails_naming(ctx, COPSE_ERR_MEMORY, "the leaves of the tree",
                                copse_blink_epoch_make(index, 0, entries, 0, 1, &made));
            device->allocations_left = -1;
            assert_int_equal(device->allocated, now);
        }
        free(keys);
        copse_index_free(index);
    }
    copse_ctx_free(ctx);
}

/* --- versions that turn out smaller ---------------------------------------------------------------------------------------------- */

static void *leaf_of(const copse_blink_epoch *version, uint64_t number)
{
    return (char *)(uintptr_t)version->segments[number >> version->view.segment_shift] +
           number % segment_of(version) * COPSE_LEAF_BYTES;
}

/* Copies base_leaf leaves from one version to another. */
static void leaves_copy(copse_ctx *ctx, copse_device *device, const copse_blink_epoch *from,
                        const copse_blink_epoch *to, uint64_t leaves)
{
    for (uint64_t i = 0; i < leaves; i++)
        assert_ok(
            ctx, copse_device_copy(device, device->main, leaf_of(to, i), leaf_of(from, i), (uint64_t)COPSE_LEAF_BYTES));
    assert_ok(ctx, copse_device_wait(device, device->main));
}

static void leaves_alike(copse_ctx *ctx, copse_device *device, const copse_blink_epoch *one,
                         const copse_blink_epoch *other, uint64_t leaves)
{
    for (uint64_t i = 0; i < leaves; i++) {
        char a[COPSE_LEAF_BYTES], b[COPSE_LEAF_BYTES];
        assert_ok(ctx, copse_device_read(device, device->main, a, leaf_of(one, i), sizeof a));
        assert_ok(ctx, copse_device_read(device, device->main, b, leaf_of(other, i), sizeof b));
        assert_memory_equal(a, b, sizeof a);
    }
}

/* Puts the tree of an index into a version that was made for `room` entries: as a packing would that turns out smaller. */
static void move_to_shrunken(copse_ctx *ctx, copse_index *index, uint64_t room)
{
    copse_device *device = index->device;
    copse_blink_epoch *old = version_of(index), *made = NULL;
    const uint64_t base_leaves = old->view.base_leaves, held = device->allocated;
    assert_ok(ctx, copse_blink_epoch_make(index, 0, room, old->low, old->high, &made));
    leaves_copy(ctx, device, old, made, base_leaves);
    copse_blink_epoch_shrink(index, made, old->view.entries);
    assert_int_equal(made->view.base_leaves, base_leaves);
    assert_int_equal(made->view.entries, old->view.entries);
    leaves_alike(ctx, device, old, made, base_leaves);
    assert_true(segment_of(made) == 64 || base_leaves / segment_of(made) >= 8);
    assert_true(made->segments_made == (base_leaves + segment_of(made) - 1) / segment_of(made));
    assert_int_equal(device->allocated - held,
                     copse_blink_epoch_bytes(made) - sizeof *made - made->segments_most * sizeof(uint64_t));
    const copse_levels_memory none = {.memory = NULL};
    made->levels = old->levels;
    made->view.levels = old->view.levels;
    old->levels = none;
    assert_ok(ctx, copse_blink_replace(index, made, COPSE_OK));
}

static void shrunken_versions(void **state)
{
    (void)state;
    static const uint64_t entries[] = {1, 300, 1000, 13000};
    static const uint64_t rooms[] = {0, 5, 400, 1800, 20000, 100000};
    copse_ctx *ctx = unit_context(1);
    FOR_EACH_KIND(kind)
    for (size_t e = 0; e < COUNT_OF(entries); e++)
        for (size_t r = 0; r < COUNT_OF(rooms); r++) {
            copse_index *index = unit_tens(ctx, *kind, entries[e]);
            move_to_shrunken(ctx, index, entries[e] + rooms[r]);
            unit_assert_content(ctx, index, unit_content_of(index));
            /* splits, whose leaves may lie right behind the base_leaves, and a packing of them */
            for (uint64_t round = 0; round < 6; round++) {
                uint64_t keys[64];
                for (uint64_t i = 0; i < COUNT_OF(keys); i++) keys[i] = (i * 41 + round) * 5 + 3;
                assert_ok(ctx, copse_insert(index, keys, keys, COUNT_OF(keys), COPSE_INSERT_UPSERT, NULL));
                assert_ok(ctx, copse_verify(index));
            }
            assert_int_equal(copse_size(index), entries[e] + 6 * 64);
            copse_index_free(index);
        }
    copse_ctx_free(ctx);
}

/* Without memory for smaller segments the leaves stay in the large ones. */
static void shrunken_without_memory(void **state)
{
    (void)state;
    enum { entries = 1000, room = 200000 };
    copse_ctx *ctx = unit_context(1);
    copse_index *index = unit_tens(ctx, kinds[0], entries);
    copse_device *device = index->device;
    copse_blink_epoch *made = NULL;
    for (int failed = 0; failed < 4; failed++) {
        assert_ok(ctx, copse_blink_epoch_make(index, 0, room, 0, 1, &made));
        leaves_copy(ctx, device, version_of(index), made, version_of(index)->view.base_leaves);
        const uint32_t shift = made->view.segment_shift;
        device->allocations_left = failed;
        copse_blink_epoch_shrink(index, made, entries);
        device->allocations_left = -1;
        assert_string_equal(copse_last_error(ctx), "");
        if (failed < 3) assert_int_equal(made->view.segment_shift, shift);
        leaves_alike(ctx, device, version_of(index), made, made->view.base_leaves);
        const uint64_t words = made->segments_made * sizeof(uint64_t);
        uint64_t table[64];
        assert_true(made->segments_made <= COUNT_OF(table));
        assert_ok(ctx, copse_device_read(device, device->main, table, made->view.segments, words));
        assert_memory_equal(table, made->segments, words);
        copse_blink_epoch_free(index, made);
    }
    copse_index_free(index);
    copse_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(built_trees),
        cmocka_unit_test(batches_give_room_back),
        cmocka_unit_test(no_memory_for_a_segment),
        cmocka_unit_test(refused_batches_give_room_back),
        cmocka_unit_test(shrunken_versions),
        cmocka_unit_test(shrunken_without_memory),
        cmocka_unit_test(segments_that_come_back),
        cmocka_unit_test(grown_trees),
        cmocka_unit_test(crowded_batches_give_room_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

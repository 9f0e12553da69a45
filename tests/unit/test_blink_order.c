/* Ordered reads of the B-link and the B+ tree: what they keep beside the tree is checked by copse_verify, forgotten when the tree
 * changes, and outlives the handle through which it was made. */
#include "unit.h"
#include "support/ranges.h"

#include "trees/blink/tree.h"

#define ENTRIES 5000u

static const struct unit_tree kinds[] = {{COPSE_STRUCTURE_BLINK, COPSE_PLACEMENT_EMULATED},
                                         {COPSE_STRUCTURE_BPLUS, COPSE_PLACEMENT_EMULATED}};
#define FOR_EACH_KIND(kind) for (const struct unit_tree *kind = kinds; kind < kinds + COUNT_OF(kinds); kind++)

static copse_blink_epoch *version_of(const copse_index *index)
{
    return copse_blink_handle_of(index)->tree->current;
}

/* The sum of all values, which are keys + 1 (unit_tens), the rank behind the last key, and the largest value of all. */
static void read_all(copse_ctx *ctx, const copse_index *index, uint64_t *sum, uint64_t *rank, uint64_t *largest)
{
    static const uint64_t low = 0, high = UINT64_MAX - 1;
    uint8_t found = 0;
    assert_ok(ctx, copse_sum(index, BETWEEN(&low, &high, 1), sum));
    assert_ok(ctx, copse_lower_bound(index, &high, 1, NULL, NULL, NULL, rank));
    assert_ok(ctx, copse_max(index, BETWEEN(&low, &high, 1), largest, &found));
    assert_int_equal(found, 1);
}

static uint64_t sum_of_tens(uint64_t n)
{
    return n * (n - 1) / 2 * 10 + n;
}

static void flip(copse_ctx *ctx, const copse_index *index, void *memory)
{
    copse_device *device = index->device;
    unsigned char byte = 0;
    assert_ok(ctx, copse_device_read(device, device->main, &byte, memory, 1));
    byte ^= 1;
    assert_ok(ctx, copse_device_copy(device, device->main, memory, &byte, 1));
    assert_ok(ctx, copse_device_wait(device, device->main));
}

static void assert_noticed(copse_ctx *ctx, const copse_index *index, void *memory)
{
    flip(ctx, index, memory);
    assert_fails_naming(ctx, COPSE_ERR_CORRUPT, "aggregates", copse_verify(index));
    flip(ctx, index, memory);
    assert_ok(ctx, copse_verify(index));
}

static void verify_finds_damage(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1);
    FOR_EACH_KIND(kind)
    {
        uint64_t sum, rank, largest;
        copse_index *index = unit_tens(ctx, *kind, ENTRIES);
        assert_ok(ctx, copse_verify(index));
        read_all(ctx, index, &sum, &rank, &largest);
        copse_blink_ranks *ranks = &version_of(index)->ranks;
        const uint64_t base_leaves = version_of(index)->view.base_leaves, blocks = ranks->blocks;
        assert_true(base_leaves > COPSE_SUMS_BLOCK &&
                    blocks == (base_leaves + COPSE_SUMS_BLOCK - 1) / COPSE_SUMS_BLOCK);
        assert_true(ranks->sums_fit);
        assert_true(ranks->summary.summary.height >= 2);
        const void *const damaged[] = {&ranks->before.inside[0], &ranks->before.inside[base_leaves / 2],
                                       &ranks->before.blocks[0], &ranks->before.blocks[1],
                                       &ranks->sums.inside[0],   &ranks->sums.inside[base_leaves / 2],
                                       &ranks->sums.blocks[0],   &ranks->sums.blocks[1]};
        for (unsigned i = 0; i < COUNT_OF(damaged); i++) assert_noticed(ctx, index, (void *)(uintptr_t)damaged[i]);
        for (uint32_t level = 0; level < ranks->summary.summary.height; level++)
            assert_noticed(ctx, index, &ranks->summary.summary.level[level][0].largest);
        copse_index_free(index);
    }
    copse_ctx_free(ctx);
}

static void changes_are_seen(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1);
    FOR_EACH_KIND(kind)
    {
        uint64_t sum, rank, largest, expected = sum_of_tens(ENTRIES);
        copse_index *index = unit_tens(ctx, *kind, ENTRIES);
        read_all(ctx, index, &sum, &rank, &largest);
        assert_int_equal(sum, expected);
        for (uint64_t i = 0; i < 40; i++) { /* all into the same few leaves */
            const uint64_t key = 1001 + i, value = 1000000 + i;
            assert_ok(ctx, copse_insert(index, &key, &value, 1, COPSE_INSERT_UPSERT, NULL));
            read_all(ctx, index, &sum, &rank, &largest);
            expected += key % 10 ? value : value - (key + 1);
            assert_int_equal(sum, expected);
            assert_int_equal(largest, value);
            assert_int_equal(rank, ENTRIES + i + 1 - (i + 1) / 10);
            assert_ok(ctx, copse_verify(index));
        }
        copse_index_free(index);
    }
    copse_ctx_free(ctx);
}

static void frozen_handles_keep_theirs(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1), *other = unit_context(1);
    FOR_EACH_KIND(kind)
    {
        static const uint64_t key = 5, value = 7;
        uint64_t sum, rank, largest;
        copse_index *index = unit_tens(ctx, *kind, ENTRIES), *frozen = NULL;
        assert_ok(other, copse_freeze(index, other, &frozen));
        read_all(other, frozen, &sum, &rank, &largest);
        assert_ok(ctx, copse_insert(index, &key, &value, 1, COPSE_INSERT_UPSERT, NULL));
        read_all(ctx, index, &sum, &rank, &largest);
        assert_int_equal(sum, sum_of_tens(ENTRIES) + value);
        assert_int_equal(rank, ENTRIES + 1);
        copse_index_free(index);
        read_all(other, frozen, &sum, &rank, &largest);
        assert_int_equal(sum, sum_of_tens(ENTRIES));
        assert_int_equal(rank, ENTRIES);
        copse_index_free(frozen);
    }
    copse_ctx_free(other);
    copse_ctx_free(ctx);
}

/* A view asks for so many entries as there were; by then there are fewer. */
static void a_view_is_told_that_entries_went(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1), *other = unit_context(1);
    FOR_EACH_KIND(kind)
    {
        uint64_t keys[8];
        copse_index *index = unit_tens(ctx, *kind, ENTRIES), *view = NULL;
        assert_ok(other, copse_index_view(index, other, &view));
        assert_ok(other, copse_blink_entries(view, ENTRIES - 8, 8, keys, NULL));
        assert_int_equal(keys[7], (ENTRIES - 1) * 10);
        assert_ok(ctx, copse_erase(index, &keys[3], 1, NULL));
        assert_fails_naming(other, COPSE_ERR_STALE, "entries", copse_blink_entries(view, ENTRIES - 8, 8, keys, NULL));
        assert_ok(other, copse_blink_entries(view, ENTRIES - 9, 8, keys, NULL));
        assert_int_equal(keys[7], (ENTRIES - 1) * 10);
        assert_int_equal(keys[4], (ENTRIES - 4) * 10);
        copse_index_free(view);
        copse_index_free(index);
    }
    copse_ctx_free(other);
    copse_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(verify_finds_damage), cmocka_unit_test(changes_are_seen),
                                       cmocka_unit_test(frozen_handles_keep_theirs),
                                       cmocka_unit_test(a_view_is_told_that_entries_went)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* copse_verify on a device finds what was damaged: entries, padding, separators, running sums, summaries. */
#include "unit.h"
#include "support/ranges.h"

#include "trees/implicit/gpu/tree.h"

static const struct unit_tree tree_kind = {COPSE_STRUCTURE_IMPLICIT, COPSE_PLACEMENT_EMULATED};

struct damaged {
    copse_ctx *ctx;
    copse_index *index;
    copse_implicit_device *tree;
};

/* Keys 0, 10, 20, ...: 1003 of them leave free slots in the last unit, and there is more than one level. */
static struct damaged open_damaged(copse_type key, copse_type value)
{
    enum { n = 1003 };
    struct damaged d = {unit_context(1), NULL, NULL};
    void *keys = typed_new(key, n);
    d.index = unit_index(d.ctx, tree_kind, key, value, false);
    for (uint64_t i = 0; i < n; i++) typed_set_bits(key, keys, i, i * 10);
    assert_ok(d.ctx, copse_build(d.index, keys, NULL, n));
    d.tree = copse_implicit_device_of(d.index);
    assert_ok(d.ctx, copse_verify(d.index));
    free(keys);
    return d;
}

static void close_damaged(struct damaged *d)
{
    copse_index_free(d->index);
    copse_ctx_free(d->ctx);
}

static void flip(struct damaged *d, void *memory)
{
    copse_device *device = d->index->device;
    unsigned char byte = 0;
    assert_ok(d->ctx, copse_device_read(device, device->main, &byte, memory, 1));
    byte ^= 1;
    assert_ok(d->ctx, copse_device_copy(device, device->main, memory, &byte, 1));
    assert_ok(d->ctx, copse_device_wait(device, device->main));
}

/* With this byte changed verify says `word`; with the byte as it was all is well. */
static void assert_noticed(struct damaged *d, void *memory, const char *word)
{
    flip(d, memory);
    assert_fails_naming(d->ctx, COPSE_ERR_CORRUPT, word, copse_verify(d->index));
    flip(d, memory);
    assert_ok(d->ctx, copse_verify(d->index));
}

static const copse_type key_types[] = {COPSE_U32, COPSE_U64}, value_types[] = {COPSE_U32, COPSE_U64};
#define FOR_EACH_PAIR(pair) for (int pair = 0; pair < 4; pair++)

static void entries_out_of_order(void **state)
{
    (void)state;
    FOR_EACH_PAIR(pair)
    {
        struct damaged d = open_damaged(key_types[pair / 2], value_types[pair % 2]);
        char *unit = d.tree->view.unit + 7 * 64, *second = unit + typed_size(key_types[pair / 2]);
        assert_noticed(&d, second + 2, "entry"); /* 65536 more than its neighbours */
        close_damaged(&d);
    }
}

static void free_places(void **state)
{
    (void)state;
    FOR_EACH_PAIR(pair)
    {
        struct damaged d = open_damaged(key_types[pair / 2], value_types[pair % 2]);
        uint64_t size = typed_size(key_types[pair / 2]), slots = 64 / (size + typed_size(value_types[pair % 2]));
        assert_true(1003 % slots != 0);
        char *unit = d.tree->view.unit + (d.tree->view.units - 1) * UINT64_C(64);
        assert_noticed(&d, unit + (slots - 1) * size, "padded");
        close_damaged(&d);
    }
}

static void separators(void **state)
{
    (void)state;
    FOR_EACH_PAIR(pair)
    {
        struct damaged d = open_damaged(key_types[pair / 2], value_types[pair % 2]);
        assert_true(d.tree->view.levels.height >= 2);
        for (uint32_t level = 0; level < d.tree->view.levels.height; level++) {
            assert_noticed(&d, d.tree->view.levels.level[level], "separator");
            assert_noticed(&d, d.tree->view.levels.level[level] + d.tree->levels.nodes[level] * 64 - 1, "separator");
        }
        close_damaged(&d);
    }
}

static void running_sums(void **state)
{
    (void)state;
    static const uint64_t low = 0, high = UINT64_MAX;
    FOR_EACH_PAIR(pair)
    {
        struct damaged d = open_damaged(key_types[pair / 2], value_types[pair % 2]);
        uint64_t sum = 0;
        assert_ok(d.ctx, copse_sum(d.index, BETWEEN(&low, &high, 1), &sum));
        assert_int_equal(sum, 1002 * 1003 / 2);
        assert_true(d.tree->has_sums);
        assert_noticed(&d, &d.tree->before[0], "aggregates");
        assert_noticed(&d, &d.tree->before[500], "aggregates");
        assert_noticed(&d, &d.tree->before[1003], "aggregates");
        close_damaged(&d);
    }
}

static void summaries(void **state)
{
    (void)state;
    static const uint64_t low = 0, high = UINT64_MAX;
    FOR_EACH_PAIR(pair)
    {
        struct damaged d = open_damaged(key_types[pair / 2], value_types[pair % 2]);
        uint64_t most = 0;
        assert_ok(d.ctx, copse_max(d.index, BETWEEN(&low, &high, 1), &most, NULL));
        assert_true(d.tree->summary.summary.height >= 2);
        for (uint32_t level = 0; level < d.tree->summary.summary.height; level++) {
            copse_aggregate *last = &d.tree->summary.summary.level[level][d.tree->summary.summary.nodes[level] - 1];
            assert_noticed(&d, &d.tree->summary.summary.level[level][0].largest, "aggregates");
            assert_noticed(&d, &last->smallest, "aggregates");
            assert_noticed(&d, &last->sum, "aggregates");
        }
        close_damaged(&d);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries_out_of_order), cmocka_unit_test(free_places), cmocka_unit_test(separators),
        cmocka_unit_test(running_sums),         cmocka_unit_test(summaries),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

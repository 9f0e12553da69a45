/* The number that an index counts its changes with, and versions of a tree that come to nothing: what cancelled and failed updates leave behind. */
#include "unit.h"

#include "random.h"
#include "subject.h"

#define ENTRIES 600u

static uint64_t version_of(const copse_index *index)
{
    copse_stats stats = {.struct_size = sizeof stats};
    assert_int_equal(copse_index_stats(index, &stats), COPSE_OK);
    return stats.version;
}

static void apply_some(copse_ctx *ctx, copse_index *index, uint8_t operation, uint64_t first, uint64_t n)
{
    uint64_t keys[32], values[32];
    uint8_t operations[32];
    for (uint64_t i = 0; i < n; i++) {
        keys[i] = first + 10 * i;
        values[i] = 1000 + i;
        operations[i] = operation;
    }
    assert_ok(ctx, copse_apply(index, operations, keys, values, n, NULL, NULL));
}

/* Goes up by one with each mixed batch that changes something, and stays with one that only looks; cursors notice. */
static void mixed_batches_count(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1);
    FOR_EACH_TREE(tree)
    {
        static const uint8_t changing[] = {COPSE_OP_UPSERT, COPSE_OP_ERASE, COPSE_OP_INSERT_IF_ABSENT};
        copse_index *index = unit_tens(ctx, *tree, ENTRIES);
        uint64_t before = version_of(index), key;
        for (size_t i = 0; i < COUNT_OF(changing); i++) {
            copse_cursor *cursor = NULL;
            assert_ok(ctx, copse_cursor_open(index, NULL, &cursor));
            apply_some(ctx, index, changing[i], 100, 20);
            assert_int_equal(version_of(index), ++before);
            uint64_t got;
            assert_fails(ctx, COPSE_ERR_STALE, copse_cursor_next(cursor, &key, NULL, 1, &got));
            copse_cursor_free(cursor);
        }
        copse_cursor *cursor = NULL;
        uint64_t got = 0;
        assert_ok(ctx, copse_cursor_open(index, NULL, &cursor));
        apply_some(ctx, index, COPSE_OP_FIND, 100, 20);
        assert_int_equal(version_of(index), before);
        assert_ok(ctx, copse_cursor_next(cursor, &key, NULL, 1, &got));
        assert_int_equal(got, 1);
        copse_cursor_free(cursor);
        copse_index_free(index);
    }
    copse_ctx_free(ctx);
}

/* An index that moves to another placement has counted on, whatever its new tree counts: cursors notice. */
static void moves_count(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1);
    FOR_EACH_TREE(tree)
    {
        const bool device = tree->placement != COPSE_PLACEMENT_CPU;
        copse_index *index = unit_tens(ctx, *tree, ENTRIES);
        copse_cursor *cursor = NULL;
        uint64_t key, got;
        const uint64_t before = version_of(index);
        assert_ok(ctx, copse_cursor_open(index, NULL, &cursor));
        assert_ok(ctx, copse_move(index, tree->placement)); /* it is there */
        assert_int_equal(version_of(index), before);
        assert_ok(ctx, copse_move(index, device ? COPSE_PLACEMENT_CPU : COPSE_PLACEMENT_EMULATED));
        assert_int_equal(version_of(index), before + 1);
        assert_fails(ctx, COPSE_ERR_STALE, copse_cursor_next(cursor, &key, NULL, 1, &got));
        copse_cursor_free(cursor);
        copse_index_free(index);
    }
    copse_ctx_free(ctx);
}

/* A mixed batch that is refused changes neither the entries nor the number. */
static void refused_batches_do_not_count(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1);
    FOR_EACH_TREE(tree)
    {
        static const double keys[] = {1, 0.0 / 0.0, 3};
        static const uint64_t values[] = {1, 2, 3};
        static const uint8_t operations[] = {COPSE_OP_UPSERT, COPSE_OP_UPSERT, COPSE_OP_ERASE};
        copse_index *index = unit_index(ctx, *tree, COPSE_F64, COPSE_U64, false);
        assert_ok(ctx, copse_build(index, values, values, 3)); /* tiny numbers */
        const uint64_t before = version_of(index);
        assert_fails(ctx, COPSE_ERR_NAN, copse_apply(index, operations, keys, values, 3, NULL, NULL));
        assert_int_equal(version_of(index), before);
        assert_int_equal(copse_size(index), 3);
        copse_index_free(index);
    }
    copse_ctx_free(ctx);
}

/* --- updates that fail on their way --------------------------------------------------------------------------------------- */

static const enum operation_kind updates[] = {OPERATION_BUILD, OPERATION_INSERT, OPERATION_INSERT_IF_ABSENT,
                                              OPERATION_ERASE, OPERATION_APPLY};

static void fill(struct operation *operation, const struct subject *subject, struct random_source *random)
{
    for (uint64_t i = 0; i < operation->n; i++) {
        operation->first[i] = typed_lowest_code(subject->config.key_type) + random_below(random, 3 * ENTRIES);
        if (operation->second) operation->second[i] = random_below(random, 1000);
        if (operation->codes) operation->codes[i] = (uint8_t)random_below(random, 4);
    }
}

static void must(bool right, const struct subject *subject, const struct operation *operation, uint32_t ways)
{
    if (right) return;
    print_error("%s on %s, ways %u, cancel at %lld, fail at %lld: %s\n", operation_name(operation->kind),
                copse_structure_name(subject->config.structure), ways, (long long)operation->cancel_at,
                (long long)operation->fail_at, subject->why);
    fail();
}

/* One update with one fault, on a fresh tree; everything must be given back when the tree is gone. */
static bool run_once(struct unit_tree tree, enum operation_kind kind, uint32_t ways, bool cancelled, int64_t at)
{
    const struct subject_config config = {.structure = tree.structure,
                                          .placement = tree.placement,
                                          .key_type = COPSE_U64,
                                          .value_type = COPSE_U64,
                                          .ways = ways,
                                          .threads = 1,
                                          .own_allocator = true,
                                          .huge_pages = COPSE_HUGE_PAGES_OFF};
    struct random_source random = {kind + 100 * ways};
    struct subject subject;
    struct operation operation;
    if (!subject_open(&subject, &config)) fail_msg("%s", subject.why);
    operation_init(&operation, OPERATION_BUILD, ENTRIES);
    fill(&operation, &subject, &random);
    must(subject_run(&subject, &operation), &subject, &operation, ways);
    operation_free(&operation);
    operation_init(&operation, kind, ENTRIES);
    fill(&operation, &subject, &random);
    const long long before = atomic_load(&subject.allocator.failures) + subject.device_failures;
    if (cancelled) {
        operation.cancel_at = at;
    } else {
        operation.fail_at = at;
        operation.fail_device = tree.placement != COPSE_PLACEMENT_CPU;
    }
    must(subject_run(&subject, &operation), &subject, &operation, ways);
    const bool hit = cancelled || atomic_load(&subject.allocator.failures) + subject.device_failures > before;
    must(subject_close(&subject), &subject, &operation, ways);
    operation_free(&operation);
    return hit;
}

static void every_fault(bool cancelled)
{
    static const uint32_t ways[] = {0, 3, 7}; /* its own; in place as long as can be; a new version with every batch */
    const int64_t most = cancelled ? 5 : 12;  /* progress calls, allocations */
    FOR_EACH_TREE(tree)
    for (size_t w = 0; w < COUNT_OF(ways); w++) {
        if (tree->placement == COPSE_PLACEMENT_CPU && ways[w]) continue;
        for (size_t i = 0; i < COUNT_OF(updates); i++)
            for (int64_t at = 0; at < most; at++)
                if (!run_once(*tree, updates[i], ways[w], cancelled, at)) break;
    }
}

static void cancelled_updates_leave_nothing(void **state)
{
    (void)state;
    every_fault(true);
}

static void failed_updates_leave_nothing(void **state)
{
    (void)state;
    every_fault(false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mixed_batches_count),          cmocka_unit_test(moves_count),
        cmocka_unit_test(refused_batches_do_not_count), cmocka_unit_test(cancelled_updates_leave_nothing),
        cmocka_unit_test(failed_updates_leave_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * Views and frozen_indexes of an index: what they refuse, what they follow, what they keep, and in which order they may go. Trees that
 * can view and freeze share memory with them; of the others a frozen is a copy, and there are no views. What readers see beside
 * a writer is the stress program's.
 */
#include "unit.h"
#include "support/ranges.h"

#include "device/device.h"
#include "placed.h"
#include "test_allocator.h"

#define ENTRIES 900u

#define FOR_EACH_SHARED(tree) FOR_EACH_TREE_THAT(tree, COPSE_PLACEMENT_AUTO, COPSE_CAN_VIEW)

static bool is_shared(struct unit_tree tree)
{
    return copse_supports(tree.structure, tree.placement, COPSE_U64, COPSE_CAN_VIEW) != 0;
}

static struct unit_content content_copy(struct unit_content content)
{
    struct unit_content copy = content;
    copy.keys = must_malloc(content.n * content.key_bytes);
    copy.values = must_malloc(content.n * content.value_bytes);
    memcpy(copy.keys, content.keys, content.n * content.key_bytes);
    memcpy(copy.values, content.values, content.n * content.value_bytes);
    return copy;
}

static void content_free(struct unit_content content)
{
    free(content.keys);
    free(content.values);
}

/* The handle holds this, and its reads agree with it; the content is kept. */
static void assert_holds(const copse_ctx *ctx, const copse_index *index, struct unit_content content)
{
    static const uint64_t all[] = {0, UINT64_MAX};
    const uint64_t *keys = content.keys, *values = content.values;
    uint64_t count = 0, sum = 0, expected = 0;
    uint64_t *found_values = must_malloc(content.n * sizeof(uint64_t));
    uint8_t *found = must_malloc(content.n);
    unit_assert_content(ctx, index, content_copy(content));
    assert_int_equal(copse_size(index), content.n);
    assert_ok(ctx, copse_find(index, keys, content.n, found_values, found));
    assert_memory_equal(found_values, values, content.n * sizeof(uint64_t));
    for (uint64_t i = 0; i < content.n; i++) {
        assert_int_equal(found[i], 1);
        expected += values[i];
    }
    assert_ok(ctx, copse_count(index, BETWEEN(&all[0], &all[1], 1), &count));
    assert_ok(ctx, copse_sum(index, BETWEEN(&all[0], &all[1], 1), &sum));
    assert_int_equal(count, content.n);
    assert_int_equal(sum, expected);
    free(found_values);
    free(found);
}

/* Values of `n` keys from `first` on, in steps of 7, are changed; some of the keys are new. */
static void change(copse_ctx *ctx, copse_index *index, uint64_t first, uint64_t n)
{
    uint64_t *keys = must_malloc(n * sizeof *keys), *values = must_malloc(n * sizeof *values);
    for (uint64_t i = 0; i < n; i++) {
        keys[i] = first + i * 7;
        values[i] = first * 1000 + i;
    }
    assert_ok(ctx, copse_insert(index, keys, values, n, COPSE_INSERT_UPSERT, NULL));
    for (uint64_t i = 0; i < n; i++) keys[i] = first + i * 10;
    assert_ok(ctx, copse_erase(index, keys, n / 2, NULL));
    free(keys);
    free(values);
}

/* --- what is refused ---------------------------------------------------------------------------------------------------------- */

static void arguments_are_named(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1);
    FOR_EACH_TREE(tree)
    {
        copse_index *index = unit_tens(ctx, *tree, 10), *out = index;
        assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "copse_freeze: index", copse_freeze(NULL, ctx, &out));
        assert_null(out);
        out = index;
        assert_fails_naming(NULL, COPSE_ERR_ARGUMENT, "copse_freeze: ctx", copse_freeze(index, NULL, &out));
        assert_null(out);
        assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "copse_freeze: out_frozen", copse_freeze(index, ctx, NULL));
        out = index;
        assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "copse_index_view: index", copse_index_view(NULL, ctx, &out));
        assert_null(out);
        assert_fails_naming(NULL, COPSE_ERR_ARGUMENT, "copse_index_view: ctx", copse_index_view(index, NULL, &out));
        assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "copse_index_view: out_view", copse_index_view(index, ctx, NULL));
        if (!is_shared(*tree)) {
            out = index;
            assert_fails_naming(ctx, COPSE_ERR_UNSUPPORTED, copse_structure_name(tree->structure),
                                copse_index_view(index, ctx, &out));
            assert_null(out);
        }
        copse_index_free(index);
    }
    copse_ctx_free(ctx);
}

static void a_context_of_another_device(void **state)
{
    (void)state;
    copse_ctx_options options = COPSE_CTX_OPTIONS_INIT;
    copse_ctx *ctx = unit_context(1), *other = NULL;
    options.device = 1;
    assert_ok(NULL, copse_ctx_create(&options, &other));
    FOR_EACH_SHARED(tree)
    {
        copse_index *index = unit_tens(ctx, *tree, 10), *out = index;
        assert_fails_naming(other, COPSE_ERR_ARGUMENT, "device 1", copse_index_view(index, other, &out));
        assert_null(out);
        assert_fails_naming(other, COPSE_ERR_ARGUMENT, "device 1", copse_freeze(index, other, &out));
        assert_null(out);
        copse_index_free(index);
    }
    copse_ctx_free(other);
    copse_ctx_free(ctx);
}

/* Every call that changes an index, on one that may not be changed. */
static void assert_only_reads(const copse_ctx *ctx, copse_index *index, const char *what)
{
    static const uint64_t keys[] = {3, 10};
    static const uint8_t codes[] = {COPSE_OP_FIND, COPSE_OP_ERASE};
    struct unit_content before = unit_content_of(index);
    assert_fails_naming(ctx, COPSE_ERR_UNSUPPORTED, what, copse_build(index, keys, keys, 2));
    assert_fails_naming(ctx, COPSE_ERR_UNSUPPORTED, what, copse_build(index, NULL, NULL, 0));
    assert_fails_naming(ctx, COPSE_ERR_UNSUPPORTED, what, copse_insert(index, keys, keys, 2, 0, NULL));
    assert_fails_naming(ctx, COPSE_ERR_UNSUPPORTED, what, copse_insert(index, keys, keys, 2, 1, NULL));
    assert_fails_naming(ctx, COPSE_ERR_UNSUPPORTED, what, copse_erase(index, keys, 2, NULL));
    assert_fails_naming(ctx, COPSE_ERR_UNSUPPORTED, what, copse_erase_pairs(index, keys, keys, 2, NULL));
    assert_fails_naming(ctx, COPSE_ERR_UNSUPPORTED, what, copse_erase_range(index, BETWEEN(NULL, NULL, 1), NULL));
    assert_fails_naming(ctx, COPSE_ERR_UNSUPPORTED, what, copse_apply(index, codes, keys, NULL, 2, NULL, NULL));
    assert_fails_naming(ctx, COPSE_ERR_UNSUPPORTED, what, copse_move(index, COPSE_PLACEMENT_CPU));
    assert_fails_naming(ctx, COPSE_ERR_UNSUPPORTED, what, copse_move(index, COPSE_PLACEMENT_EMULATED));
    unit_assert_content(ctx, index, before);
}

static void updates_are_refused(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1), *other = unit_context(1);
    FOR_EACH_TREE(tree)
    {
        copse_index *index = unit_tens(ctx, *tree, 100), *frozen = NULL, *view = NULL;
        assert_ok(other, copse_freeze(index, other, &frozen));
        assert_only_reads(other, frozen, "frozen");
        if (is_shared(*tree)) {
            assert_ok(other, copse_index_view(index, other, &view));
            assert_only_reads(other, view, "view");
        }
        copse_index_free(view);
        copse_index_free(frozen);
        copse_index_free(index);
    }
    copse_ctx_free(other);
    copse_ctx_free(ctx);
}

/* --- what frozen_indexes keep -------------------------------------------------------------------------------------------------------- */

/* Small batches, large ones, builds: each may go another way, and none may reach the frozen. */
static void frozen_indexes_stay(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1), *other = unit_context(1);
    FOR_EACH_TREE(tree)
    {
        copse_index *index = unit_tens(ctx, *tree, ENTRIES), *frozen = NULL, *second = NULL;
        struct unit_content before = unit_content_of(index);
        assert_ok(other, copse_freeze(index, other, &frozen));
        for (uint64_t n = 1; n < 1000; n *= 5) change(ctx, index, 3 * n, n);
        assert_holds(other, frozen, before);
        struct unit_content between = unit_content_of(index);
        assert_ok(ctx, copse_freeze(index, ctx, &second));
        change(ctx, index, 5, 40);
        assert_ok(ctx, copse_build(index, before.keys, NULL, 5));
        assert_int_equal(copse_size(index), 5);
        assert_holds(other, frozen, before);
        assert_holds(ctx, second, between);
        copse_index_free(index);
        assert_holds(other, frozen, before);
        assert_holds(ctx, second, between);
        copse_index_free(frozen);
        assert_holds(ctx, second, between);
        copse_index_free(second);
        content_free(before);
        content_free(between);
    }
    copse_ctx_free(other);
    copse_ctx_free(ctx);
}

static void frozen_indexes_of_frozen_indexes(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1), *other = unit_context(1);
    FOR_EACH_TREE(tree)
    {
        copse_index *index = unit_tens(ctx, *tree, ENTRIES), *first = NULL, *second = NULL, *third = NULL;
        struct unit_content before = unit_content_of(index);
        assert_ok(other, copse_freeze(index, other, &first));
        change(ctx, index, 11, 60);
        assert_ok(ctx, copse_freeze(first, ctx, &second));
        copse_index_free(first);
        copse_index_free(index);
        assert_holds(ctx, second, before);
        assert_ok(other, copse_freeze(second, other, &third));
        assert_only_reads(other, third, "frozen");
        copse_index_free(second);
        assert_holds(other, third, before);
        copse_index_free(third);
        content_free(before);
    }
    copse_ctx_free(other);
    copse_ctx_free(ctx);
}

/* An empty index has frozen_indexes as well, and they stay empty. */
static void frozen_indexes_of_nothing(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1);
    FOR_EACH_TREE(tree)
    {
        copse_index *index = unit_index(ctx, *tree, COPSE_U64, COPSE_U64, false), *frozen = NULL;
        assert_ok(ctx, copse_freeze(index, ctx, &frozen));
        change(ctx, index, 1, 30);
        assert_int_equal(copse_size(frozen), 0);
        assert_ok(ctx, copse_verify(frozen));
        copse_index_free(frozen);
        copse_index_free(index);
    }
    copse_ctx_free(ctx);
}

/* What a frozen held goes with it: the memory of the device is as before. */
static void frozen_indexes_give_memory_back(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1);
    const copse_device *device = placed_device(ctx, COPSE_PLACEMENT_EMULATED);
    FOR_EACH_SHARED(tree)
    {
        copse_index *index = unit_tens(ctx, *tree, ENTRIES), *frozen_indexes[3] = {NULL};
        const uint64_t alone = device->allocated;
        for (size_t i = 0; i < COUNT_OF(frozen_indexes); i++) {
            assert_ok(ctx, copse_freeze(index, ctx, &frozen_indexes[i]));
            if (i == 0) assert_int_equal(device->allocated, alone); /* shared until the first update */
            change(ctx, index, 3, 3);
            assert_true(device->allocated > alone);
        }
        for (size_t i = 0; i < COUNT_OF(frozen_indexes); i++)
            copse_index_free(frozen_indexes[(i + 1) % COUNT_OF(frozen_indexes)]);
        assert_true(device->allocated <= alone + alone / 10);
        copse_index_free(index);
    }
    copse_ctx_free(ctx);
}

/* --- what views follow ---------------------------------------------------------------------------------------------------------- */

static void views_follow(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1), *other = unit_context(1);
    FOR_EACH_SHARED(tree)
    {
        copse_index *index = unit_tens(ctx, *tree, ENTRIES), *view = NULL, *second = NULL;
        assert_ok(other, copse_index_view(index, other, &view));
        for (uint64_t n = 1; n < 1000; n *= 5) {
            change(ctx, index, 3 * n, n);
            struct unit_content now = unit_content_of(index);
            assert_holds(other, view, now);
            content_free(now);
        }
        static const uint64_t few[] = {UINT64_MAX, 0, 5};
        assert_ok(ctx, copse_build(index, few, NULL, 3)); /* replaces everything */
        assert_int_equal(copse_size(view), 3);
        assert_ok(ctx, copse_index_view(view, ctx, &second)); /* a view of a view is one of the index */
        change(ctx, index, 20, 50);
        struct unit_content now = unit_content_of(index);
        assert_holds(other, view, now);
        assert_holds(ctx, second, now);
        copse_index_free(view);
        copse_index_free(index);
        assert_holds(ctx, second, now); /* it outlives the index */
        copse_index_free(second);
        content_free(now);
    }
    copse_ctx_free(other);
    copse_ctx_free(ctx);
}

/* A frozen through a view keeps what the index has then; a view of a frozen stays what the frozen is. */
static void views_and_frozen_indexes_of_each_other(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1), *other = unit_context(1);
    FOR_EACH_SHARED(tree)
    {
        copse_index *index = unit_tens(ctx, *tree, ENTRIES), *view = NULL, *frozen = NULL, *of_frozen = NULL;
        assert_ok(other, copse_index_view(index, other, &view));
        change(ctx, index, 7, 30);
        struct unit_content then = unit_content_of(index);
        assert_ok(other, copse_freeze(view, other, &frozen));
        assert_ok(other, copse_index_view(frozen, other, &of_frozen));
        change(ctx, index, 9, 30);
        assert_holds(other, frozen, then);
        assert_holds(other, of_frozen, then);
        copse_index_free(frozen);
        copse_index_free(view);
        copse_index_free(index);
        assert_holds(other, of_frozen, then);
        copse_index_free(of_frozen);
        content_free(then);
    }
    copse_ctx_free(other);
    copse_ctx_free(ctx);
}

/* A cursor of a view, and one of a frozen, while the index changes. */
static void cursors_of_handles(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1);
    FOR_EACH_SHARED(tree)
    {
        copse_index *index = unit_tens(ctx, *tree, ENTRIES), *frozen = NULL;
        copse_cursor *cursor = NULL;
        uint64_t keys[8], got = 0, seen = 0;
        assert_ok(ctx, copse_freeze(index, ctx, &frozen));
        assert_ok(ctx, copse_cursor_open(frozen, NULL, &cursor));
        for (;;) {
            assert_ok(ctx, copse_cursor_next(cursor, keys, NULL, COUNT_OF(keys), &got));
            for (uint64_t i = 0; i < got; i++) assert_int_equal(keys[i], (seen + i) * 10);
            seen += got;
            if (got == 0) break;
            if (seen % 64 == 0) change(ctx, index, seen, 3);
        }
        assert_int_equal(seen, ENTRIES);
        copse_cursor_free(cursor);
        copse_index_free(frozen);
        copse_index_free(index);
    }
    copse_ctx_free(ctx);
}

/* --- order of going, and memory that is not there ------------------------------------------------------------------------------ */

/* The index, a view and two frozen_indexes of different times go in every order. */
static void every_order_of_freeing(void **state)
{
    (void)state;
    enum { handles = 4 };
    FOR_EACH_SHARED(tree)
    for (unsigned order = 0; order < 24; order++) {
        copse_ctx *ctx = unit_context(1), *other = unit_context(1);
        copse_index *left[handles] = {unit_tens(ctx, *tree, 200)};
        unsigned rest = order;
        assert_ok(other, copse_freeze(left[0], other, &left[1]));
        change(ctx, left[0], 5, 20);
        assert_ok(other, copse_index_view(left[0], other, &left[2]));
        assert_ok(ctx, copse_freeze(left[0], ctx, &left[3]));
        if (order % 2) change(ctx, left[0], 9, 20);
        for (unsigned n = handles; n > 0; n--) {
            const unsigned taken = rest % n;
            rest /= n;
            copse_index_free(left[taken]);
            left[taken] = left[n - 1];
            for (unsigned i = 0; i + 1 < n; i++) assert_ok(NULL, copse_verify(left[i]));
        }
        assert_int_equal(placed_device(ctx, COPSE_PLACEMENT_EMULATED)->allocated, 0);
        assert_int_equal(placed_device(other, COPSE_PLACEMENT_EMULATED)->allocated, 0);
        copse_ctx_free(other);
        copse_ctx_free(ctx);
    }
}

static copse_status share(const copse_index *index, copse_ctx *ctx, bool view, copse_index **out)
{
    return view ? copse_index_view(index, ctx, out) : copse_freeze(index, ctx, out);
}

/* Every allocation of a view or a frozen fails once: nothing is left of the attempt. */
static void without_memory(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1);
    FOR_EACH_TREE(tree)
    for (int view = 0; view < (is_shared(*tree) ? 2 : 1); view++) {
        struct test_allocator allocator;
        copse_ctx_options options = COPSE_CTX_OPTIONS_INIT;
        copse_ctx *other = NULL;
        copse_index *index = unit_tens(ctx, *tree, 300), *out = NULL;
        copse_status status = COPSE_ERR_MEMORY;
        struct unit_content before = unit_content_of(index);
        test_allocator_init(&allocator);
        options.threads = 1;
        options.allocator = test_allocator_hooks(&allocator);
        assert_ok(NULL, copse_ctx_create(&options, &other));
        for (long long allowed = 0; status != COPSE_OK; allowed++) {
            assert_true(allowed < 1000);
            test_allocator_fail_after(&allocator, allowed, false);
            status = share(index, other, view, &out);
            test_allocator_never_fail(&allocator);
            if (status == COPSE_OK) break;
            assert_int_equal(status, COPSE_ERR_MEMORY);
            assert_null(out);
        }
        assert_holds(other, out, before);
        copse_index_free(out);
        change(ctx, index, 3, 20); /* no handle of a failed attempt is in the way */
        copse_index_free(index);
        copse_ctx_free(other);
        assert_true(test_allocator_is_clean(&allocator));
        content_free(before);
    }
    copse_ctx_free(ctx);
}

/* An update while a frozen is held needs memory for a new version. Without it both stay as they were. */
static void updates_beside_a_frozen_without_memory(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1);
    copse_device *device = placed_device(ctx, COPSE_PLACEMENT_EMULATED);
    FOR_EACH_SHARED(tree)
    for (int64_t left = 0; left < 100; left++) {
        static const uint64_t key = 3, value = 4;
        copse_index *index = unit_tens(ctx, *tree, 300), *frozen = NULL;
        struct unit_content before = unit_content_of(index);
        assert_ok(ctx, copse_freeze(index, ctx, &frozen));
        device->allocations_left = left;
        const copse_status status = copse_insert(index, &key, &value, 1, COPSE_INSERT_UPSERT, NULL);
        device->allocations_left = -1;
        assert_holds(ctx, frozen, before);
        if (status == COPSE_OK) {
            assert_int_equal(copse_size(index), 301);
            left = 100;
        } else {
            assert_int_equal(status, COPSE_ERR_MEMORY);
            assert_holds(ctx, index, before);
        }
        assert_true(left != 99);
        content_free(before);
        copse_index_free(index);
        copse_index_free(frozen);
    }
    copse_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arguments_are_named),
        cmocka_unit_test(a_context_of_another_device),
        cmocka_unit_test(updates_are_refused),
        cmocka_unit_test(frozen_indexes_stay),
        cmocka_unit_test(frozen_indexes_of_frozen_indexes),
        cmocka_unit_test(frozen_indexes_of_nothing),
        cmocka_unit_test(frozen_indexes_give_memory_back),
        cmocka_unit_test(views_follow),
        cmocka_unit_test(views_and_frozen_indexes_of_each_other),
        cmocka_unit_test(cursors_of_handles),
        cmocka_unit_test(every_order_of_freeing),
        cmocka_unit_test(without_memory),
        cmocka_unit_test(updates_beside_a_frozen_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* What calls are given and give back besides arrays: structs that may be older or newer than the library, flags, what is told of an
 * error, and how long handles live. */
#include "support/ranges.h"
#include "support/unit.h"

#include "device/device.h"

static const struct unit_tree REGULAR = {COPSE_STRUCTURE_REGULAR, COPSE_PLACEMENT_CPU};
static const struct unit_tree EMULATED = {COPSE_STRUCTURE_BLINK, COPSE_PLACEMENT_EMULATED};

/* --- structs -------------------------------------------------------------------------------------------------------- */

static void sizes_of_requests(void **state)
{
    (void)state;
    struct {
        copse_ranges ranges;
        uint64_t tail[2];
    } newer = {.ranges = COPSE_BETWEEN(NULL, NULL, 1)};
    copse_ctx *ctx = unit_context(1);
    copse_index *index = unit_tens(ctx, REGULAR, 100);
    uint64_t count = 0;
    newer.ranges.struct_size = sizeof newer;
    assert_ok(ctx, copse_count(index, &newer.ranges, &count)); /* it asks for nothing that the library does not have */
    assert_int_equal(count, 100);
    newer.tail[1] = 1;
    assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "struct_size", copse_count(index, &newer.ranges, &count));
    newer.tail[1] = 0;
    const uint32_t wrong[] = {0, 3, 7, offsetof(copse_ranges, n), UINT32_MAX}; /* there never was one without n */
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        newer.ranges.struct_size = wrong[i];
        assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "struct_size", copse_count(index, &newer.ranges, &count));
    }
    copse_index_free(index);
    copse_ctx_free(ctx);
}

static void sizes_of_results(void **state)
{
    (void)state;
    struct {
        copse_stats stats;
        uint64_t tail[2];
    } newer = {.stats = {.struct_size = sizeof newer}, .tail = {5, 5}};
    copse_stats older = {.struct_size = offsetof(copse_stats, bytes), .bytes = 77};
    copse_ctx *ctx = unit_context(1);
    copse_index *index = unit_tens(ctx, REGULAR, 100);
    assert_ok(ctx, copse_index_stats(index, &newer.stats));
    assert_int_equal(newer.stats.entries, 100);
    assert_int_equal(newer.stats.struct_size, sizeof newer);
    assert_int_equal(newer.tail[0], 0);
    assert_int_equal(newer.tail[1], 0);
    assert_ok(ctx, copse_index_stats(index, &older));
    assert_int_equal(older.entries, 100);
    assert_int_equal(older.bytes, 77); /* the caller's struct ends before it */
    older.struct_size = 0;
    assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "out_stats->struct_size", copse_index_stats(index, &older));
    copse_index_free(index);
    copse_ctx_free(ctx);
}

static void flags_and_limits(void **state)
{
    (void)state;
    FOR_EACH_TREE(tree)
    {
        copse_ctx *ctx = unit_context(1);
        copse_index *index = unit_tens(ctx, *tree, 100);
        uint64_t low = 10, high = 30, count[2] = {0};
        copse_ranges ranges = COPSE_BETWEEN(&low, &high, 1);
        ranges.flags = COPSE_RANGE_PREFIX; /* of byte strings only: test_bytes */
        assert_fails_naming(ctx, COPSE_ERR_TYPE, "flags", copse_count(index, &ranges, count));
        ranges.flags = 16;
        assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "flags", copse_count(index, &ranges, count));
        assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "flags", copse_range(index, &ranges, ROWS(count, NULL, NULL, 0)));
        ranges.flags = COPSE_RANGE_LOW_OPEN | COPSE_RANGE_DESCENDING;
        ranges.limit = 1;
        assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "limit", copse_count(index, &ranges, count));
        assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "limit", copse_sum(index, &ranges, count));
        ranges.limit = 0;
        assert_ok(ctx, copse_count(index, &ranges, count));
        assert_int_equal(count[0], 2);
        copse_rows rows = COPSE_ROWS_INIT;
        rows.offsets = count;
        rows.reserved = 1;
        assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "reserved", copse_range(index, &ranges, &rows));
        assert_ok(ctx, copse_range(index, BETWEEN(NULL, NULL, 0), ROWS(NULL, NULL, NULL, 0))); /* n is 0 */
        copse_index_free(index);
        copse_ctx_free(ctx);
    }
}

/* --- errors --------------------------------------------------------------------------------------------------------- */

static copse_error_info info_of(const copse_ctx *ctx)
{
    copse_error_info info = {.struct_size = sizeof info};
    assert_int_equal(copse_last_error_info(ctx, &info), COPSE_OK);
    return info;
}

static void errors_tell_more(void **state)
{
    (void)state;
    FOR_EACH_TREE(tree)
    {
        copse_ctx *ctx = unit_context(1);
        copse_index *index = unit_index(ctx, *tree, COPSE_F64, COPSE_U32, false);
        const double keys[] = {1, 2, 0.0 / 0.0};
        double out[2];
        uint64_t offsets[2];
        assert_int_equal(info_of(ctx).status, COPSE_OK);
        assert_fails(ctx, COPSE_ERR_NAN, copse_build(index, keys, NULL, 3));
        copse_error_info info = info_of(ctx);
        assert_int_equal(info.status, COPSE_ERR_NAN);
        assert_string_equal(info.argument, "keys");
        assert_int_equal(info.position, 2);
        assert_ok(ctx, copse_build(index, keys, NULL, 2));
        assert_fails(ctx, COPSE_ERR_NAN, copse_count(index, BETWEEN(keys, keys + 1, 2), offsets));
        info = info_of(ctx);
        assert_string_equal(info.argument, "highs");
        assert_int_equal(info.position, 1);
        assert_fails(ctx, COPSE_ERR_TOO_SMALL, copse_range(index, BETWEEN(NULL, NULL, 1), ROWS(offsets, out, NULL, 1)));
        assert_int_equal(info_of(ctx).needed, 2);
        assert_fails(ctx, COPSE_ERR_TOO_SMALL, copse_export(index, out, NULL, 1));
        assert_int_equal(info_of(ctx).needed, 2);
        assert_fails(ctx, COPSE_ERR_ARGUMENT, copse_find(index, NULL, 1, NULL, NULL));
        info = info_of(ctx);
        assert_int_equal(info.status, COPSE_ERR_ARGUMENT);
        assert_string_equal(info.argument, "keys");
        assert_int_equal(info.position, UINT64_MAX);
        assert_int_equal(info.needed, 0);
        const uint8_t operations[] = {COPSE_OP_FIND, 99, COPSE_OP_UPSERT};
        assert_fails(ctx, COPSE_ERR_ARGUMENT, copse_apply(index, operations, keys, NULL, 2, NULL, NULL));
        info = info_of(ctx);
        assert_string_equal(info.argument, "operations");
        assert_int_equal(info.position, 1);
        assert_fails(ctx, COPSE_ERR_ARGUMENT, copse_apply(index, operations + 2, keys, NULL, 1, NULL, NULL));
        info = info_of(ctx);
        assert_string_equal(info.argument, "values");
        assert_int_equal(info.position, 0);
        assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "out_info", copse_last_error_info(ctx, NULL));
        copse_index_free(index);
        copse_ctx_free(ctx);
    }
}

/* --- how long handles live ------------------------------------------------------------------------------------------ */

static void cursors_outlive_indexes(void **state)
{
    (void)state;
    FOR_EACH_TREE(tree)
    {
        copse_ctx *ctx = unit_context(1);
        copse_index *index = unit_tens(ctx, *tree, 100);
        copse_cursor *cursor = NULL, *other = NULL;
        uint64_t key, n;
        assert_ok(ctx, copse_cursor_open(index, NULL, &cursor));
        assert_ok(ctx, copse_cursor_open(index, NULL, &other));
        copse_index_free(index);
        copse_ctx_free(ctx); /* the cursors keep both */
        assert_int_equal(copse_cursor_next(cursor, &key, NULL, 1, &n), COPSE_ERR_STALE);
        assert_int_equal(n, 0);
        assert_int_equal(copse_cursor_previous(cursor, &key, NULL, 1, &n), COPSE_ERR_STALE);
        assert_int_equal(copse_cursor_seek(cursor, &key), COPSE_ERR_STALE);
        copse_cursor_free(cursor);
        assert_int_equal(copse_cursor_seek(other, NULL), COPSE_ERR_STALE);
        copse_cursor_free(other);
    }
}

static void indexes_outlive_contexts(void **state)
{
    (void)state;
    FOR_EACH_TREE(tree)
    {
        copse_ctx *ctx = unit_context(2), *other = unit_context(1);
        copse_index *index = unit_tens(ctx, *tree, 1000), *frozen = NULL;
        uint64_t key = 500, value = 0;
        uint8_t found = 0;
        assert_ok(other, copse_freeze(index, other, &frozen));
        copse_ctx_free(ctx);
        assert_int_equal(copse_find(index, &key, 1, &value, &found), COPSE_OK);
        assert_int_equal(value, 501);
        copse_index_free(index); /* and with it the context */
        copse_ctx_free(other);
        assert_int_equal(copse_find(frozen, &key, 1, &value, &found), COPSE_OK);
        assert_int_equal(found, 1);
        copse_index_free(frozen);
    }
}

static void versions_of_views(void **state)
{
    (void)state;
    FOR_EACH_TREE_THAT(tree, COPSE_PLACEMENT_AUTO, COPSE_CAN_VIEW)
    {
        copse_ctx *ctx = unit_context(1), *other = unit_context(1);
        copse_index *index = unit_tens(ctx, *tree, 100), *view = NULL, *frozen = NULL;
        copse_stats before = {.struct_size = sizeof before}, after = before, kept = before, follows = before;
        const uint64_t key = 3;
        assert_ok(other, copse_index_view(index, other, &view));
        assert_ok(other, copse_freeze(index, other, &frozen));
        assert_ok(ctx, copse_index_stats(index, &before));
        assert_ok(ctx, copse_insert(index, &key, &key, 1, 0, NULL));
        assert_ok(ctx, copse_index_stats(index, &after));
        assert_ok(other, copse_index_stats(view, &follows));
        assert_ok(other, copse_index_stats(frozen, &kept));
        assert_true(after.version > before.version);
        assert_int_equal(follows.version, after.version);
        assert_int_equal(kept.version, before.version);
        copse_cursor *cursor = NULL;
        uint64_t n;
        assert_ok(other, copse_cursor_open(view, NULL, &cursor));
        assert_ok(ctx, copse_erase(index, &key, 1, NULL));
        assert_fails(other, COPSE_ERR_STALE, copse_cursor_next(cursor, &n, NULL, 1, &n));
        copse_cursor_free(cursor);
        copse_index_free(index);
        assert_ok(other, copse_index_stats(view, &follows)); /* the version lives with the tree */
        assert_true(follows.version > after.version);
        copse_index_free(view);
        copse_index_free(frozen);
        copse_ctx_free(ctx);
        copse_ctx_free(other);
    }
}

/* --- devices -------------------------------------------------------------------------------------------------------- */

/* Every array of these calls is device memory, and the library does not look. */
static void device_arrays_as_promised(void **state)
{
    (void)state;
    copse_ctx_options options = COPSE_CTX_OPTIONS_INIT;
    copse_ctx *ctx = NULL;
    options.flags = COPSE_CTX_DEVICE_ARRAYS;
    assert_ok(NULL, copse_ctx_create(&options, &ctx));
    copse_index *index = unit_index(ctx, EMULATED, COPSE_U64, COPSE_U64, false);
    copse_device *device = NULL;
    assert_ok(ctx, copse_device_get(ctx, COPSE_PLACEMENT_EMULATED, &device));
    enum { N = 1000 };
    const uint64_t bytes = N * sizeof(uint64_t);
    void *keys = NULL, *out = NULL, *found = NULL;
    uint64_t host[N], seen[N], first, n;
    for (uint64_t i = 0; i < N; i++) host[i] = i * 3;
    assert_ok(ctx, copse_device_alloc(device, device->main, bytes, "keys", &keys));
    assert_ok(ctx, copse_device_alloc(device, device->main, bytes, "out", &out));
    assert_ok(ctx, copse_device_alloc(device, device->main, N, "found", &found));
    assert_ok(ctx, copse_device_copy(device, device->main, keys, host, bytes));
    assert_ok(ctx, copse_build(index, keys, keys, N));
    assert_ok(ctx, copse_find(index, keys, N, out, found));
    assert_ok(ctx, copse_device_read(device, device->main, seen, out, bytes));
    assert_memory_equal(seen, host, bytes);
    copse_ranges ranges = COPSE_BETWEEN(NULL, keys, 2);
    ranges.flags = COPSE_RANGE_HIGH_OPEN;
    assert_ok(ctx, copse_count(index, &ranges, out));
    assert_ok(ctx, copse_device_read(device, device->main, seen, out, 16));
    assert_int_equal(seen[0], 0);
    assert_int_equal(seen[1], 1);
    ranges.highs = NULL; /* no array at all */
    assert_ok(ctx, copse_count(index, &ranges, out));
    assert_ok(ctx, copse_device_read(device, device->main, seen, out, 16));
    assert_int_equal(seen[1], N);
    ranges = (copse_ranges)COPSE_BETWEEN((uint64_t *)keys + 10, (uint64_t *)keys + 19, 2); /* 10 .. 19, 11 .. 20 */
    assert_ok(ctx, copse_erase_range(index, &ranges, &n));
    assert_int_equal(n, 11);
    ranges = (copse_ranges)COPSE_BETWEEN((uint64_t *)keys + 900, NULL, 1);
    assert_ok(ctx, copse_erase_range(index, &ranges, &n));
    assert_int_equal(n, 100);
    assert_ok(ctx, copse_insert(index, keys, keys, N, 0, NULL));
    /* What the library itself reads into host memory is none of the caller's arrays. */
    assert_ok(ctx, copse_last(index, 1, NULL, NULL, &n));
    assert_int_equal(n, 1);
    copse_cursor *cursor = NULL;
    assert_ok(ctx, copse_cursor_open(index, NULL, &cursor));
    assert_ok(ctx, copse_cursor_next(cursor, &first, NULL, 1, &n));
    assert_int_equal(first, 0);
    copse_cursor_free(cursor);
    assert_ok(ctx, copse_move(index, COPSE_PLACEMENT_CPU));
    assert_ok(ctx, copse_find(index, host, N, seen, NULL)); /* on the CPU arrays are host memory */
    assert_memory_equal(seen, host, bytes);
    copse_device_free(device, device->main, keys, bytes);
    copse_device_free(device, device->main, out, bytes);
    copse_device_free(device, device->main, found, N);
    copse_index_free(index);
    copse_ctx_free(ctx);
    options.flags = 2;
    assert_fails_naming(NULL, COPSE_ERR_ARGUMENT, "flags", copse_ctx_create(&options, &ctx));
}

static void streams_are_changed(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1);
    int stream; /* the emulator takes any address for one */
    assert_fails_naming(NULL, COPSE_ERR_ARGUMENT, "ctx", copse_ctx_set_stream(NULL, NULL));
    assert_ok(ctx, copse_ctx_set_stream(ctx, &stream));
    assert_ok(ctx, copse_ctx_set_stream(ctx, NULL));
    copse_index *index = unit_tens(ctx, EMULATED, 100);
    copse_device *device = NULL;
    assert_ok(ctx, copse_device_get(ctx, COPSE_PLACEMENT_EMULATED, &device));
    assert_false(device->callers_stream);
    assert_ok(ctx, copse_ctx_set_stream(ctx, &stream));
    assert_true(device->callers_stream);
    uint64_t key = 50, value;
    assert_ok(ctx, copse_find(index, &key, 1, &value, NULL));
    assert_int_equal(value, 51);
    copse_index_free(index);
    copse_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_of_requests),       cmocka_unit_test(sizes_of_results),
        cmocka_unit_test(flags_and_limits),        cmocka_unit_test(errors_tell_more),
        cmocka_unit_test(cursors_outlive_indexes), cmocka_unit_test(indexes_outlive_contexts),
        cmocka_unit_test(versions_of_views),       cmocka_unit_test(device_arrays_as_promised),
        cmocka_unit_test(streams_are_changed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Visits with operations: what requests are refused, and the answers at the edges; random ones are the differential tester's. */
#include "unit.h"

#include "copse_device.cuh"
#include "subject.h"

#include <math.h>

static copse_visit_request request_of(copse_visit_operation operation)
{
    copse_visit_request request = COPSE_VISIT_INIT(operation);
    return request;
}

#define ALL_WANTED 63u

static void empty_range_is_defined(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(2);
    const uint64_t low = 1, high = 9;
    copse_ranges nothing = COPSE_BETWEEN(&low, &high, 1);
    FOR_EACH_TREE(tree)
    for (unsigned entries = 0; entries < 2; entries++) { /* an empty tree; then an empty range of ten entries */
        copse_index *index = unit_tens(ctx, *tree, entries * 10);
        copse_visit_request request = request_of(COPSE_VISIT_REDUCE);
        request.wanted = ALL_WANTED;
        request.range = entries ? &nothing : NULL;
        memset(&request.reduction, 0x55, sizeof request.reduction);
        assert_ok(ctx, copse_visit_values(index, &request));
        assert_int_equal(request.n, 0);
        assert_int_equal(request.reduction.count, 0);
        assert_int_equal(request.reduction.sum.u64, 0);
        assert_int_equal(request.reduction.sum128.low, 0);
        assert_int_equal(request.reduction.any, 0); /* min and max: none */
        assert_int_equal(request.reduction.min.u64, 0);
        assert_int_equal(request.reduction.max.u64, 0);
        assert_true(isnan(request.reduction.mean) && isnan(request.reduction.variance));
        uint64_t keys[2], values[2], counts[4 + 3];
        for (uint32_t operation = COPSE_VISIT_ADD; operation <= COPSE_VISIT_SMALLEST; operation++) {
            if (operation == COPSE_VISIT_REDUCE) continue;
            request = request_of(operation);
            request.range = entries ? &nothing : NULL;
            request.low = &low;
            request.high = &high;
            request.bins = 4;
            request.counts = counts;
            request.keys = keys;
            request.values = values;
            request.capacity = 2;
            request.n = 77;
            assert_ok(ctx, copse_visit_values(index, &request));
            assert_int_equal(request.n, 0);
        }
        for (unsigned i = 0; i < 4 + 3; i++) assert_int_equal(counts[i], 0);
        request = request_of(COPSE_VISIT_ADD);
        request.low = &low;
        request.range = entries ? &nothing : NULL;
        assert_ok(ctx, copse_visit_in_place(index, &request));
        assert_int_equal(request.n, 0);
        copse_index_free(index);
    }
    copse_ctx_free(ctx);
}

static void one_entry(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1);
    FOR_EACH_TREE(tree)
    {
        copse_index *index = unit_index(ctx, *tree, COPSE_I64, COPSE_I32, false);
        const int64_t key = INT64_MIN;
        const int32_t value = -5, by = -3;
        int64_t out_key = 0;
        int32_t out_value = 0;
        assert_ok(ctx, copse_build(index, &key, &value, 1));
        copse_visit_request request = request_of(COPSE_VISIT_REDUCE);
        request.wanted = ALL_WANTED;
        assert_ok(ctx, copse_visit_values(index, &request));
        assert_int_equal(request.reduction.count, 1);
        assert_int_equal(request.reduction.sum.i64, -5);
        assert_int_equal(request.reduction.sum128.high, -1);
        assert_int_equal(request.reduction.any, 1);
        assert_int_equal(request.reduction.min.i32, -5);
        assert_int_equal(request.reduction.max.i32, -5);
        assert_true(request.reduction.mean == -5.0 && request.reduction.variance == 0.0);
        request = request_of(COPSE_VISIT_MULTIPLY);
        request.low = &by;
        assert_ok(ctx, copse_visit_in_place(index, &request));
        assert_int_equal(request.n, 1);
        request = request_of(COPSE_VISIT_LARGEST);
        request.keys = &out_key;
        request.values = &out_value;
        request.capacity = 1;
        assert_ok(ctx, copse_visit_values(index, &request));
        assert_true(request.n == 1 && out_key == key && out_value == 15);
        assert_ok(ctx, copse_verify(index));
        copse_index_free(index);
    }
    copse_ctx_free(ctx);
}

/* Never wrapped: the limit, an error, and all of it in 128 bits. */
static void overflow_is_reported(void **state)
{
    (void)state;
    enum { n = 3000 };
    copse_ctx *ctx = unit_context(3);
    uint64_t keys[n];
    int64_t values[n];
    for (unsigned i = 0; i < n; i++) {
        keys[i] = i;
        values[i] = INT64_MIN;
    }
    FOR_EACH_TREE(tree)
    for (unsigned is_signed = 0; is_signed < 2; is_signed++) {
        copse_index *index = unit_index(ctx, *tree, COPSE_U64, is_signed ? COPSE_I64 : COPSE_U64, false);
        copse_visit_request request = request_of(COPSE_VISIT_REDUCE);
        assert_ok(ctx, copse_build(index, keys, values, n));
        request.wanted = COPSE_REDUCE_SUM | COPSE_REDUCE_SUM128 | COPSE_REDUCE_MAX;
        assert_fails_naming(ctx, COPSE_ERR_OVERFLOW, "sum", copse_visit_values(index, &request));
        assert_int_equal(request.reduction.count, n);
        assert_true(request.reduction.sum.u64 == (is_signed ? UINT64_C(1) << 63 : UINT64_MAX));
        assert_int_equal(request.reduction.sum128.low, 0);
        assert_int_equal(request.reduction.sum128.high, is_signed ? -n / 2 : n / 2);
        assert_true(request.reduction.max.u64 == UINT64_C(1) << 63);
        request.wanted &= ~COPSE_REDUCE_SUM; /* who does not ask for it, gets no error */
        assert_ok(ctx, copse_visit_values(index, &request));
        copse_index_free(index);
    }
    copse_ctx_free(ctx);
}

static void refuses(copse_ctx *ctx, copse_index *index)
{
    const double nan = NAN, one = 1, two = 2, infinite = INFINITY;
    const double falls[] = {1, 2, 1}, missing[] = {1, nan, 2};
    uint64_t counts[8];
    for (uint32_t bad = 0; bad < 2; bad++) {
        copse_visit_request request = request_of(bad ? COPSE_VISIT_SMALLEST + 1 : 0);
        assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "operation", copse_visit_values(index, &request));
        assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "operation", copse_visit_in_place(index, &request));
    }
    copse_visit_request request = request_of(COPSE_VISIT_REDUCE);
    assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "operation", copse_visit_in_place(index, &request)); /* no map */
    request.wanted = 64;
    assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "wanted", copse_visit_values(index, &request));
    request.wanted = COPSE_REDUCE_SUM128;
    assert_fails(ctx, COPSE_ERR_TYPE, copse_visit_values(index, &request));
    request.struct_size = 3;
    assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "request", copse_visit_values(index, &request));
    assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "request", copse_visit_values(index, NULL));
    assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "request", copse_visit_in_place(index, NULL));
    for (uint32_t operation = COPSE_VISIT_MIN; operation <= COPSE_VISIT_CLAMP; operation++) {
        request = request_of(operation);
        assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "NULL", copse_visit_values(index, &request));
        request.low = operation == COPSE_VISIT_MIN ? &one : &nan;
        request.high = operation == COPSE_VISIT_MAX ? &one : &nan;
        assert_fails_naming(ctx, COPSE_ERR_NAN, "NaN", copse_visit_in_place(index, &request));
    }
    request.low = &two;
    request.high = &one;
    assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "above", copse_visit_in_place(index, &request));
    request = request_of(COPSE_VISIT_ADD);
    request.low = &one;
    request.capacity = 5;
    assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "capacity", copse_visit_in_place(index, &request));
    request = request_of(COPSE_VISIT_FILTER);
    request.low = &nan;
    assert_fails(ctx, COPSE_ERR_NAN, copse_visit_values(index, &request));
    request = request_of(COPSE_VISIT_HISTOGRAM);
    request.low = &one;
    request.high = &two;
    request.counts = counts;
    assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "bins", copse_visit_values(index, &request));
    request.bins = COPSE_VISIT_MOST_BINS + 1;
    assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "bins", copse_visit_values(index, &request));
    request.bins = 2;
    request.high = &infinite;
    assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "infinite", copse_visit_values(index, &request));
    request.high = &one;
    assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "width", copse_visit_values(index, &request));
    request.edges = falls;
    assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "edges[2]", copse_visit_values(index, &request));
    request.edges = missing;
    assert_fails_naming(ctx, COPSE_ERR_NAN, "edges[1]", copse_visit_values(index, &request));
    request.counts = NULL;
    assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "counts", copse_visit_values(index, &request));
    copse_ranges range = COPSE_BETWEEN(&nan, NULL, 1);
    request = request_of(COPSE_VISIT_REDUCE);
    request.range = &range;
    assert_fails_naming(ctx, COPSE_ERR_NAN, "lows", copse_visit_values(index, &request));
    range.n = 2;
    assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "range", copse_visit_values(index, &request));
}

static void bad_requests_are_refused(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1);
    FOR_EACH_TREE(tree)
    {
        copse_index *index = unit_index(ctx, *tree, COPSE_F64, COPSE_F64, false);
        const double keys[] = {1, 2, 3}, values[] = {1.5, -2.5, 3.5};
        assert_ok(ctx, copse_build(index, keys, values, 3));
        struct unit_content before = unit_content_of(index);
        refuses(ctx, index);
        unit_assert_content(ctx, index, before);
        copse_index_free(index);
        index = unit_index(ctx, *tree, COPSE_U32, COPSE_NONE, false);
        copse_visit_request request = request_of(COPSE_VISIT_REDUCE);
        assert_fails(ctx, COPSE_ERR_TYPE, copse_visit_values(index, &request));
        request = request_of(COPSE_VISIT_ADD);
        assert_fails(ctx, COPSE_ERR_TYPE, copse_visit_in_place(index, &request));
        copse_index_free(index);
    }
    assert_fails_naming(NULL, COPSE_ERR_ARGUMENT, "index", copse_visit_values(NULL, NULL));
    assert_fails_naming(NULL, COPSE_ERR_ARGUMENT, "index", copse_visit_in_place(NULL, NULL));
    copse_ctx_free(ctx);
}

static void frozen_is_not_changed(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1);
    FOR_EACH_TREE(tree)
    {
        copse_index *index = unit_tens(ctx, *tree, 100), *frozen = NULL;
        const uint64_t by = 1;
        copse_visit_request request = request_of(COPSE_VISIT_ADD);
        request.low = &by;
        assert_ok(ctx, copse_freeze(index, ctx, &frozen));
        assert_fails(ctx, COPSE_ERR_UNSUPPORTED, copse_visit_in_place(frozen, &request));
        assert_ok(ctx, copse_visit_in_place(index, &request)); /* the frozen one keeps its values */
        request = request_of(COPSE_VISIT_REDUCE);
        request.wanted = COPSE_REDUCE_SUM;
        assert_ok(ctx, copse_visit_values(frozen, &request));
        assert_int_equal(request.reduction.sum.u64, 99 * 100 / 2 * 10 + 100);
        assert_ok(ctx, copse_visit_values(index, &request));
        assert_int_equal(request.reduction.sum.u64, 99 * 100 / 2 * 10 + 200);
        copse_index_free(frozen);
        copse_index_free(index);
    }
    copse_ctx_free(ctx);
}

/* Sums that the index keeps follow a map in place. */
static void kept_sums_follow(void **state)
{
    (void)state;
    enum { n = 20000 };
    copse_ctx *ctx = unit_context(2);
    FOR_EACH_TREE(tree)
    {
        copse_index *index = unit_tens(ctx, *tree, n);
        const uint64_t low = 30001, high = 90000, by = 5;
        copse_ranges some = COPSE_BETWEEN(&low, &high, 1), all = COPSE_BETWEEN(NULL, NULL, 1);
        uint64_t before = 0, after = 0;
        assert_ok(ctx, copse_sum(index, &all, &before));
        copse_visit_request request = request_of(COPSE_VISIT_ADD);
        request.low = &by;
        request.range = &some;
        assert_ok(ctx, copse_visit_in_place(index, &request));
        assert_int_equal(request.n, 6000);
        assert_ok(ctx, copse_sum(index, &all, &after));
        assert_int_equal(after, before + 6000 * by);
        assert_ok(ctx, copse_verify(index));
        copse_index_free(index);
    }
    copse_ctx_free(ctx);
}

/* Of equal values the first in key order, also where there are many of them. */
static void ties_go_by_key(void **state)
{
    (void)state;
    enum { n = 70000, k = 10 };
    copse_ctx *ctx = unit_context(2);
    uint32_t *values = must_malloc(n * sizeof *values);
    uint64_t *keys = must_malloc(n * sizeof *keys);
    for (uint64_t i = 0; i < n; i++) {
        keys[i] = i;
        values[i] = i == 500 ? 9 : i == 400 ? 7 : 8;
    }
    FOR_EACH_TREE(tree)
    {
        copse_index *index = unit_index(ctx, *tree, COPSE_U64, COPSE_U32, false);
        uint64_t top[k];
        copse_visit_request request = request_of(COPSE_VISIT_LARGEST);
        assert_ok(ctx, copse_build(index, keys, values, n));
        request.keys = top;
        request.capacity = k;
        assert_ok(ctx, copse_visit_values(index, &request));
        assert_int_equal(request.n, k);
        for (uint64_t i = 0; i < k; i++) assert_int_equal(top[i], i == 0 ? 500 : i - 1);
        request.operation = COPSE_VISIT_SMALLEST;
        assert_ok(ctx, copse_visit_values(index, &request));
        for (uint64_t i = 0; i < k; i++) assert_int_equal(top[i], i == 0 ? 400 : i - 1);
        copse_index_free(index);
    }
    free(keys);
    free(values);
    copse_ctx_free(ctx);
}

/* --- byte strings ----------------------------------------------------------------------------------------------------- */

static void byte_strings(copse_ctx *ctx, copse_structure structure, copse_placement placement)
{
    char data[] = "apeapplebeecat", out[32];
    int32_t offsets[] = {0, 3, 8, 11, 14}, out_offsets[8];
    const int64_t values[] = {4, -1, 7, 2}, zero = 0, by = 10;
    copse_bytes keys = COPSE_BYTES_INIT(data, 14, offsets, 32);
    copse_bytes found = COPSE_BYTES_INIT(out, sizeof out, out_offsets, 32);
    int64_t found_values[4];
    copse_index *index = unit_index(ctx, (struct unit_tree){structure, placement}, COPSE_BYTES, COPSE_I64, false);
    assert_ok(ctx, copse_build(index, &keys, values, 4));
    copse_visit_request request = request_of(COPSE_VISIT_FILTER);
    request.low = &zero;
    request.keys = &found;
    request.values = found_values;
    request.capacity = 4;
    assert_ok(ctx, copse_visit_values(index, &request));
    assert_int_equal(request.n, 3);
    assert_int_equal(found.needed, 9);
    assert_memory_equal(out, "apebeecat", 9);
    assert_true(found_values[0] == 4 && found_values[1] == 7 && found_values[2] == 2);
    int32_t prefix_offsets[] = {0, 2};
    copse_bytes prefix = COPSE_BYTES_INIT(data, 14, prefix_offsets, 32); /* "ap" */
    copse_ranges range = COPSE_BETWEEN(&prefix, NULL, 1);
    range.flags = COPSE_RANGE_PREFIX;
    request = request_of(COPSE_VISIT_ADD);
    request.low = &by;
    request.range = &range;
    assert_ok(ctx, copse_visit_in_place(index, &request));
    assert_int_equal(request.n, 2);
    request = request_of(COPSE_VISIT_REDUCE);
    request.wanted = COPSE_REDUCE_SUM | COPSE_REDUCE_MIN;
    request.range = &range;
    assert_ok(ctx, copse_visit_values(index, &request));
    assert_int_equal(request.reduction.sum.i64, 23);
    assert_int_equal(request.reduction.min.i64, 9);
    request.range = NULL;
    assert_ok(ctx, copse_visit_values(index, &request));
    assert_int_equal(request.reduction.sum.i64, 32);
    request = request_of(COPSE_VISIT_LARGEST);
    request.values = found_values;
    request.capacity = 2;
    assert_ok(ctx, copse_visit_values(index, &request));
    assert_true(request.n == 2 && found_values[0] == 14 && found_values[1] == 9);
    request.keys = &found;
    assert_fails(ctx, COPSE_ERR_UNSUPPORTED, copse_visit_values(index, &request));
    assert_ok(ctx, copse_verify(index));
    copse_index_free(index);
}

static void byte_strings_are_visited(void **state)
{
    (void)state;
    static const copse_placement placements[] = {COPSE_PLACEMENT_CPU, COPSE_PLACEMENT_EMULATED};
    copse_ctx *ctx = unit_context(1);
    unsigned tried = 0;
    for (int structure = 1; structure < 32; structure++)
        for (unsigned p = 0; p < COUNT_OF(placements); p++) {
            if (!copse_supports((copse_structure)structure, placements[p], COPSE_BYTES, COPSE_CAN_EXIST)) continue;
            byte_strings(ctx, (copse_structure)structure, placements[p]);
            tried++;
        }
    assert_true(tried > 1);
    copse_ctx_free(ctx);
}

/* --- pages for kernels of the caller's ---------------------------------------------------------------------------------- */

#if defined __has_feature
#if __has_feature(address_sanitizer)
#define HOST_MAY_NOT_READ                                                                                              \
    1 /* the memory of the emulated device: AddressSanitizer keeps the host from it, as a card would */
#endif
#endif

static void pages_hold_all_entries(void **state)
{
    (void)state;
#ifdef HOST_MAY_NOT_READ
    skip();
#endif
    enum { n = 5000 };
    static const copse_type types[] = {COPSE_U32, COPSE_I32, COPSE_F32, COPSE_U64, COPSE_I64, COPSE_F64};
    copse_ctx *ctx = unit_context(1);
    const struct unit_tree paged = {COPSE_STRUCTURE_PAGED, COPSE_PLACEMENT_EMULATED};
    for (unsigned t = 0; t < COUNT_OF(types); t++) {
        copse_index *index = unit_index(ctx, paged, types[t], COPSE_U32, false);
        void *keys = typed_new(types[t], n);
        for (uint64_t i = 0; i < n; i++)
            typed_set_code(types[t], keys, i, typed_zero_code(types[t]) + (i * 7919 % n) * 3 - (i % 2 ? 0 : 7));
        assert_ok(ctx, copse_insert(index, keys, NULL, n, 0, NULL));
        struct unit_content content = unit_content_of(index);
        copse_page_table table = {.struct_size = sizeof table};
        assert_ok(ctx, copse_pages(index, &table));
        assert_int_equal(table.entries, content.n);
        uint64_t at = 0;
        for (uint32_t p = 0; p < table.pages; p++) {
            const copse_page page = copse_page_at(&table, p);
            for (uint32_t slot = 0; slot < table.slots; slot++) {
                if (!copse_page_has(&table, &page, slot)) continue;
                assert_int_equal(copse_page_key(&table, &page, slot), typed_bits(types[t], content.keys, at));
                assert_int_equal(((const uint32_t *)page.values)[slot], typed_bits(COPSE_U32, content.values, at));
                at++;
            }
        }
        assert_int_equal(at, content.n);
        free(content.keys);
        free(content.values);
        free(keys);
        copse_index_free(index);
    }
    copse_index *other =
        unit_index(ctx, (struct unit_tree){COPSE_STRUCTURE_SORTED, COPSE_PLACEMENT_CPU}, COPSE_U64, COPSE_U64, false);
    copse_page_table table = {.struct_size = sizeof table};
    assert_fails_naming(ctx, COPSE_ERR_UNSUPPORTED, "pages", copse_pages(other, &table));
    assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "out_table", copse_pages(other, NULL));
    assert_fails_naming(NULL, COPSE_ERR_ARGUMENT, "index", copse_pages(NULL, &table));
    copse_index_free(other);
    copse_ctx_free(ctx);
}

/* An index that is seldom updated is built without free slots, which visits would read in vain; updates work all the same. */
static void rare_updates_fill_pages(void **state)
{
    (void)state;
    enum { n = 6400 };
    copse_ctx *ctx = unit_context(1);
    for (uint32_t updates = COPSE_UPDATES_EXPECTED; updates <= COPSE_UPDATES_RARE; updates++) {
        copse_index_options options = COPSE_INDEX_OPTIONS_INIT;
        options.structure = COPSE_STRUCTURE_PAGED;
        options.placement = COPSE_PLACEMENT_EMULATED;
        options.updates = updates;
        copse_index *index = NULL;
        copse_stats stats = {.struct_size = sizeof stats};
        uint64_t keys[n];
        assert_ok(ctx, copse_index_create(ctx, &options, &index));
        for (uint64_t i = 0; i < n; i++) keys[i] = i * 10;
        assert_ok(ctx, copse_build(index, keys, keys, n));
        assert_ok(ctx, copse_index_stats(index, &stats));
        assert_true(updates == COPSE_UPDATES_RARE ? stats.fill > 0.99 : stats.fill < 0.9);
        assert_ok(ctx, copse_verify(index));
        for (uint64_t i = 0; i < n; i++) keys[i] = i * 7919 % (2 * n) * 5 + 1;
        assert_ok(ctx, copse_insert(index, keys, NULL, n, 0, NULL));
        assert_ok(ctx, copse_verify(index));
        assert_int_equal(copse_size(index), 2 * n);
        copse_index_free(index);
    }
    copse_ctx_free(ctx);
}

/* --- every operation, every type ------------------------------------------------------------------------------------------ */

/* Thousands of random requests, checked by the model of the differential tester. */
static void every_operation_and_type(void **state)
{
    (void)state;
    FOR_EACH_TREE(tree)
    for (unsigned v = 0; v < TYPED_VALUE_TYPES; v++) {
        const struct subject_config config = {.structure = tree->structure,
                                              .placement = tree->placement,
                                              .key_type = typed_key_types[v % TYPED_KEY_TYPES],
                                              .value_type = typed_value_types[v],
                                              .threads = 2};
        struct subject subject;
        struct operation operation;
        assert_true(subject_open(&subject, &config));
        const uint64_t n = unit_fewer(*tree, 5000, 1500);
        operation_init(&operation, OPERATION_BUILD, n);
        for (uint64_t i = 0; i < n; i++) {
            operation.first[i] = typed_zero_code(config.key_type) + i * 3 - n;
            operation.second[i] =
                i % 50 == 0 ? typed_nan_bits(config.value_type) : typed_position_bits(config.value_type, i * i % 1000);
        }
        if (!subject_run(&subject, &operation)) fail_msg("%s", subject.why);
        operation_free(&operation);
        for (uint64_t round = 0; round < unit_fewer(*tree, 40, 15); round++) {
            operation_init(&operation, round % 4 == 3 ? OPERATION_MAP : OPERATION_VISIT, 0);
            operation.omit = (uint32_t)round;
            if (!subject_run(&subject, &operation))
                fail_msg("%s, %s values: %s", copse_structure_name(tree->structure), typed_name(config.value_type),
                         subject.why);
            operation_free(&operation);
        }
        if (!subject_close(&subject)) fail_msg("%s", subject.why);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(empty_range_is_defined),   cmocka_unit_test(one_entry),
        cmocka_unit_test(overflow_is_reported),     cmocka_unit_test(bad_requests_are_refused),
        cmocka_unit_test(frozen_is_not_changed),    cmocka_unit_test(kept_sums_follow),
        cmocka_unit_test(ties_go_by_key),           cmocka_unit_test(byte_strings_are_visited),
        cmocka_unit_test(pages_hold_all_entries),   cmocka_unit_test(rare_updates_fill_pages),
        cmocka_unit_test(every_operation_and_type),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

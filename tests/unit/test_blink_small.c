/*
 * Small batches of the strategy "unsorted" (blink/update/unsorted.c): the hash tables that a large tree keeps for them are empty between
 * updates, whatever the last batch was, and an update needs two kernels and one wait.
 */
#include "blink_batches.h"
#include "transfer/transfer.h"

#include <math.h>

enum { entries = 1 << 16, batch = 24 };

static const copse_device_backend *real;
static copse_device_backend counting;
static unsigned launches, fills, copies, waits;

static copse_status counted_launch(copse_device *device, copse_stream *stream, const copse_kernel *kernel,
                                   uint64_t blocks, const void *arguments)
{
    launches++;
    return real->launch(device, stream, kernel, blocks, arguments);
}

static copse_status counted_fill(copse_device *device, copse_stream *stream, void *memory, uint8_t byte, uint64_t bytes)
{
    fills++;
    return real->fill(device, stream, memory, byte, bytes);
}

static copse_status counted_copy(copse_device *device, copse_stream *stream, void *to, const void *from, uint64_t bytes)
{
    copies++;
    return real->copy(device, stream, to, from, bytes);
}

static copse_status counted_wait(copse_device *device, copse_stream *stream)
{
    waits++;
    return real->wait(device, stream);
}

static void count_from_here(copse_device *device)
{
    real = device->backend;
    counting = *real;
    counting.launch = counted_launch;
    counting.fill = counted_fill;
    counting.copy = counted_copy;
    counting.wait = counted_wait;
    device->backend = &counting;
    launches = fills = copies = waits = 0;
}

/* A tree with the keys 0, 10, 20 ... as doubles. */
static copse_index *tens(copse_ctx *ctx, copse_structure structure)
{
    const struct unit_tree kind = {structure, COPSE_PLACEMENT_EMULATED};
    copse_index *index = unit_index(ctx, kind, COPSE_F64, COPSE_U64, false);
    double *keys = must_malloc(entries * sizeof *keys);
    for (uint64_t i = 0; i < entries; i++) keys[i] = (double)i * 10;
    assert_ok(ctx, copse_build(index, keys, NULL, entries));
    free(keys);
    return index;
}

static copse_blink *blink_of(const copse_index *index)
{
    return copse_blink_handle_of(index)->tree;
}

static void assert_tables_empty(const copse_blink *tree)
{
    assert_non_null(tree->tables);
    assert_true(tree->table_slots > 0);
    const uint64_t bytes = tree->table_slots * sizeof(uint32_t);
    uint32_t *slots = must_malloc(bytes);
    assert_int_equal(copse_transfer_to_host(tree->owner.device, slots, tree->tables, bytes), COPSE_OK);
    for (uint64_t i = 0; i < tree->table_slots; i++) assert_int_equal(slots[i], 0);
    free(slots);
}

/* Keys of a batch, spread over the tree, every third one equal to the one before it. */
static void spread_keys(double *keys, unsigned n, double offset)
{
    for (unsigned i = 0; i < n; i++) keys[i] = (i % 3 == 2 ? i - 1 : i) * 9000.0 + offset;
}

static void tables_are_empty_between_batches(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1);
    for (unsigned s = 0; s < 2; s++) {
        copse_index *index = tens(ctx, s ? COPSE_STRUCTURE_BPLUS : COPSE_STRUCTURE_BLINK);
        uint64_t expected = entries;
        double keys[batch];
        for (unsigned n = 1; n <= batch; n++) {
            const uint64_t unique = n - n / 3;
            spread_keys(keys, n, n * 131.0 + 0.5); /* no leaf gets many */
            assert_ok(ctx, copse_insert(index, keys, NULL, n, COPSE_INSERT_UPSERT, NULL));
            assert_tables_empty(blink_of(index));
            assert_int_equal(copse_size(index), expected += unique);
            if (n % 2) continue;
            assert_ok(ctx, copse_erase(index, keys, n, NULL));
            assert_tables_empty(blink_of(index));
            assert_int_equal(copse_size(index), expected -= unique);
        }
        assert_ok(ctx, copse_verify(index));
        copse_index_free(index);
    }
    copse_ctx_free(ctx);
}

/* After a batch that the strategy declines the tables have to be emptied, and the next batch is right all the same. */
static void declined_batches(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1);
    copse_index *index = tens(ctx, COPSE_STRUCTURE_BLINK);
    double keys[batch];
    uint64_t came = 0;
    for (int round = 0; round < 3; round++) {
        spread_keys(keys, batch, 1 + round);
        keys[batch / 2] = (double)NAN;
        assert_fails(ctx, COPSE_ERR_NAN, copse_insert(index, keys, NULL, batch, COPSE_INSERT_UPSERT, NULL));
        assert_int_equal(blink_of(index)->table_slots, 0);
        spread_keys(keys, batch, 1 + round);
        assert_ok(ctx, copse_insert(index, keys, NULL, batch, COPSE_INSERT_UPSERT, &came));
        assert_int_equal(came, batch - batch / 3);
        assert_tables_empty(blink_of(index));
    }
    assert_ok(ctx, copse_verify(index));
    copse_index_free(index);
    copse_ctx_free(ctx);
}

static void two_kernels_and_one_wait(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1);
    copse_index *index = tens(ctx, COPSE_STRUCTURE_BLINK);
    copse_device *device = index->device;
    double host[batch], *keys = NULL;
    assert_ok(ctx, copse_device_alloc(device, device->main, sizeof host, "keys", (void **)&keys));
    spread_keys(host, batch, 1);
    assert_ok(ctx, copse_transfer_to_device(device, keys, host, sizeof host));
    assert_ok(ctx, copse_insert(index, keys, keys, batch, COPSE_INSERT_UPSERT, NULL));
    spread_keys(host, batch, 2);
    assert_ok(ctx, copse_transfer_to_device(device, keys, host, sizeof host));
    count_from_here(device);
    assert_ok(ctx, copse_insert(index, keys, keys, batch, COPSE_INSERT_UPSERT, NULL));
    device->backend = real;
    assert_int_equal(launches, 2);
    assert_int_equal(fills, 0);
    assert_int_equal(copies, 0);
    assert_int_equal(waits, 1);
    copse_device_free(device, device->main, keys, sizeof host);
    copse_index_free(index);
    copse_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(tables_are_empty_between_batches),
                                       cmocka_unit_test(declined_batches), cmocka_unit_test(two_kernels_and_one_wait)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

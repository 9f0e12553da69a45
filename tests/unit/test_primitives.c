/* The primitives of the emulated device against plain loops; tests/gpu/test_primitives_gpu.c does the same on a card. */
#include "unit.h"

#include "gpu/check_primitives.h"

static copse_device *open_device(copse_ctx *ctx)
{
    copse_device *device;
    assert_ok(ctx, copse_device_get(ctx, COPSE_PLACEMENT_EMULATED, &device));
    return device;
}

static void test_sizes(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {0, 1, 2, 3, 255, 256, 257, 4000};
    copse_ctx *ctx = unit_context(1);
    copse_device *device = open_device(ctx);
    uint64_t before = device->allocated;
    for (unsigned pair = 0; pair < COPSE_WIDTH_PAIRS; pair++) {
        struct check c = check_make(device, pair, pair + 1);
        for (unsigned i = 0; i < COUNT_OF(sizes); i++) {
            const char *wrong = check_all_of(&c, sizes[i]);
            if (wrong) fail_msg("pair %u, n %llu: %s", pair, (unsigned long long)sizes[i], wrong);
        }
    }
    assert_int_equal(device->allocated, before);
    copse_ctx_free(ctx);
}

/* Each primitive asks the device for scratch, so that code above it meets a failure here as it would on a card. */
static void test_scratch_fails(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1);
    copse_device *device = open_device(ctx);
    const copse_primitives *f = device->backend->primitives;
    copse_stream *s = device->main;
    void *memory;
    assert_ok(ctx, copse_device_alloc(device, s, 256, "a test's arrays", &memory));
    char *m = memory;
    void *keys[2] = {m, m + 32}, *values[2] = {m + 64, m + 96};
    unsigned where;
    uint64_t *count = (uint64_t *)(void *)(m + 128), before = device->allocated;
#define FAILS(call)                                                                                                    \
    do {                                                                                                               \
        device->allocations_left = 0;                                                                                  \
        assert_fails_naming(ctx, COPSE_ERR_MEMORY, "device memory", call);                                             \
        device->allocations_left = -1;                                                                                 \
        assert_int_equal(device->allocated, before);                                                                   \
    } while (0)
    FAILS(f->sort_pairs(device, s, 0, m, m + 32, m + 64, m + 96, 8, 0, 32));
    FAILS(f->sort_pairs_between(device, s, 0, keys, values, 8, 0, 32, &where));
    FAILS(f->scan_u64(device, s, count, count, 4));
    FAILS(f->scan_states(device, s, 0, m, m + 32, m + 64, 8));
    FAILS(f->unique_pairs(device, s, 0, m, m + 32, m + 64, m + 96, 8, COPSE_UNIQUE_LAST, count));
    FAILS(f->select_pairs(device, s, 0, m, m + 32, (uint8_t *)m + 136, m + 64, m + 96, 8, count));
    FAILS(f->select_flagged(device, s, (uint8_t *)m + 136, (uint32_t *)(void *)m, 8, count));
    FAILS(f->merge_pairs(device, s, 0, m, m + 16, 4, m + 32, m + 48, 4, m + 64, m + 96));
    FAILS(f->sum_u64(device, s, count, 4, count + 8));
    FAILS(f->min_u64(device, s, count, 4, count + 8));
    FAILS(f->max_u64(device, s, count, 4, count + 8));
#undef FAILS
    copse_device_free(device, s, memory, 256);
    copse_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_scratch_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

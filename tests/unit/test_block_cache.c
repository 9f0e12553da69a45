/* Blocks of device memory that are kept for the next call, on an emulated device that was told to keep some. */
#include "unit.h"

#include "device/device.h"
#include "test_allocator.h"

#include <pthread.h>

#define MOST (UINT64_C(16) << 20)

struct setting {
    struct test_allocator allocator;
    copse_ctx *ctx;
    copse_device *device;
};

static void begin(struct setting *s, uint64_t most)
{
    copse_ctx_options options = COPSE_CTX_OPTIONS_INIT;
    test_allocator_init(&s->allocator);
    options.threads = 1;
    options.allocator = test_allocator_hooks(&s->allocator);
    assert_ok(NULL, copse_ctx_create(&options, &s->ctx));
    assert_ok(s->ctx, copse_device_get(s->ctx, COPSE_PLACEMENT_EMULATED, &s->device));
    assert_int_equal(s->device->block_cache.most, 0);
    s->device->block_cache.most = most;
}

/* Closing gives everything back, each block with the size that it was allocated with. */
static void end(struct setting *s)
{
    assert_int_equal(s->device->allocated, 0);
    assert_int_equal(s->device->block_cache.exact_count, 0);
    copse_ctx_free(s->ctx);
    assert_true(test_allocator_is_clean(&s->allocator));
}

static copse_status try_on(struct setting *s, copse_stream *stream, uint64_t bytes, void **out)
{
    copse_status status = copse_device_alloc(s->device, stream, bytes, "a test's array", out);
    if (status == COPSE_OK) assert_ok(s->ctx, copse_device_fill(s->device, stream, *out, 0x5C, bytes)); /* all of it */
    return status;
}

static void *take(struct setting *s, uint64_t bytes)
{
    void *memory = NULL;
    assert_ok(s->ctx, try_on(s, s->device->main, bytes, &memory));
    return memory;
}

static void put(struct setting *s, void *memory, uint64_t bytes)
{
    copse_device_free(s->device, s->device->main, memory, bytes);
}

static long long calls(struct setting *s)
{
    return atomic_load(&s->allocator.calls);
}

static void nothing_is_kept_unless_asked_for(void **state)
{
    (void)state;
    struct setting s;
    begin(&s, 0);
    const long long live = atomic_load(&s.allocator.live_bytes);
    void *memory = take(&s, 1000);
    assert_int_equal(atomic_load(&s.allocator.live_bytes), live + 1000); /* and nothing is rounded up */
    put(&s, memory, 1000);
    assert_int_equal(s.device->block_cache.count, 0);
    assert_int_equal(atomic_load(&s.allocator.live_bytes), live);
    end(&s);
}

/* Blocks of which others are to have parts go back at once, with the size that they were allocated with. */
static void some_are_not_to_be_kept(void **state)
{
    (void)state;
    struct setting s;
    for (uint64_t most = 0; most <= MOST; most += MOST) {
        begin(&s, most);
        const long long live = atomic_load(&s.allocator.live_bytes);
        put(&s, take(&s, 1000), 1000);
        const unsigned kept = s.device->block_cache.count;
        for (uint64_t bytes = 1000; bytes < 100000; bytes *= 3) {
            void *memory = take(&s, bytes), *other = take(&s, bytes);
            put(&s, other, bytes);
            const unsigned before = s.device->block_cache.count;
            copse_device_free_unkept(s.device, s.device->main, memory, bytes);
            assert_int_equal(s.device->block_cache.count, before);
            assert_int_equal(s.device->allocated, 0);
        }
        copse_device_free_unkept(s.device, s.device->main, NULL, 1000);
        assert_true(s.device->block_cache.count > kept || most == 0);
        s.device->backend->trim(s.device);
        assert_int_equal(atomic_load(&s.allocator.live_bytes), live);
        end(&s);
    }
}

static void a_block_is_taken_again(void **state)
{
    (void)state;
    struct setting s;
    /* what is freed, what is asked for then, whether that is the same block */
    static const struct {
        uint64_t first, then;
        bool same;
    } cases[] = {{1, 512, true},
                 {512, 0, true},
                 {512, 513, false},
                 {65500, 65536, true},
                 {65536, 65537, false},
                 {65537, 65536 + 8192, true},
                 {1 << 20, (1 << 20) + 1, false},
                 {(1 << 20) + 1, (1 << 20) + (1 << 17), true},
                 {3 << 20, (3 << 20) + 1, false},
                 {(3 << 20) + (1 << 18), (3 << 20) + 1, true},
                 {MOST / 4, MOST / 4, true}};
    begin(&s, MOST);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        void *first = take(&s, cases[i].first);
        assert_int_equal(s.device->allocated, cases[i].first);
        put(&s, first, cases[i].first);
        assert_int_equal(s.device->allocated, 0);
        assert_int_equal(s.device->block_cache.count, 1);
        const long long before = calls(&s);
        void *then = take(&s, cases[i].then);
        assert_int_equal(calls(&s) == before, cases[i].same);
        assert_int_equal(then == first, cases[i].same);
        assert_int_equal(s.device->allocated, cases[i].then ? cases[i].then : 1);
        assert_int_equal(s.device->block_cache.count, cases[i].same ? 0 : 1);
        put(&s, then, cases[i].then);
        s.device->backend->trim(s.device);
        assert_int_equal(s.device->block_cache.count, 0);
        assert_int_equal(copse_block_cache_bytes(s.device), 0);
    }
    end(&s);
}

/* Above 16 MiB no more than 2 MiB are wasted, and what is too large to be kept is as large as was asked for. */
static void large_blocks_are_hardly_larger(void **state)
{
    (void)state;
    struct setting s;
    const uint64_t bytes = (UINT64_C(33) << 20) + 1;
    begin(&s, UINT64_C(256) << 20);
    const long long live = atomic_load(&s.allocator.live_bytes);
    void *memory = take(&s, bytes);
    assert_int_equal(atomic_load(&s.allocator.live_bytes), live + (INT64_C(34) << 20));
    put(&s, memory, bytes);
    assert_int_equal(s.device->block_cache.bytes, UINT64_C(34) << 20);
    s.device->backend->trim(s.device);
    memory = take(&s, 2 * bytes);
    assert_int_equal(atomic_load(&s.allocator.live_bytes), live + (long long)(2 * bytes));
    put(&s, memory, 2 * bytes);
    assert_int_equal(s.device->block_cache.count, 0);
    assert_int_equal(atomic_load(&s.allocator.live_bytes), live);
    end(&s);
}

static void the_youngest_is_taken_and_the_oldest_goes(void **state)
{
    (void)state;
    struct setting s;
    enum { N = COPSE_BLOCK_CACHE_BLOCKS + 10 };
    void *blocks[N];
    begin(&s, MOST);
    for (unsigned i = 0; i < N; i++) blocks[i] = take(&s, 100 + i % 2 * 1000);
    const long long live = atomic_load(&s.allocator.live_blocks);
    for (unsigned i = 0; i < N; i++) put(&s, blocks[i], 100 + i % 2 * 1000);
    assert_int_equal(s.device->block_cache.count, COPSE_BLOCK_CACHE_BLOCKS);
    assert_int_equal(atomic_load(&s.allocator.live_blocks), live - 10);
    for (unsigned i = N; i-- > 10;) assert_ptr_equal(take(&s, 100 + i % 2 * 1000), blocks[i]);
    assert_int_equal(s.device->block_cache.count, 0);
    assert_int_equal(s.device->block_cache.bytes, 0);
    for (unsigned i = 10; i < N; i++) put(&s, blocks[i], 100 + i % 2 * 1000);
    end(&s);
}

static void there_is_a_limit_to_the_bytes(void **state)
{
    (void)state;
    struct setting s;
    void *blocks[6], *large;
    begin(&s, MOST);
    for (unsigned i = 0; i < 6; i++) blocks[i] = take(&s, MOST / 4);
    large = take(&s, MOST / 4 + 1);
    for (unsigned i = 0; i < 6; i++) put(&s, blocks[i], MOST / 4);
    assert_int_equal(s.device->block_cache.bytes, MOST);
    put(&s, large, MOST / 4 + 1); /* does not push the others out */
    assert_int_equal(s.device->block_cache.count, 4);
    for (unsigned i = 6; i-- > 2;) assert_ptr_equal(take(&s, MOST / 4), blocks[i]);
    void *small = take(&s, 1);
    put(&s, small, 1);
    for (unsigned i = 2; i < 6; i++) put(&s, blocks[i], MOST / 4);
    assert_int_equal(s.device->block_cache.bytes, MOST);
    for (unsigned i = 6; i-- > 2;) assert_ptr_equal(take(&s, MOST / 4), blocks[i]);
    assert_int_equal(s.device->block_cache.count, 0); /* the small one was the oldest */
    for (unsigned i = 2; i < 6; i++) put(&s, blocks[i], MOST / 4);
    end(&s);
}

static void other_streams_are_not_served(void **state)
{
    (void)state;
    struct setting s;
    copse_stream *other = NULL;
    void *memory = NULL;
    begin(&s, MOST);
    assert_ok(s.ctx, s.device->backend->stream_create(s.device, &other));
    put(&s, take(&s, 700), 700);
    const long long before = calls(&s);
    assert_ok(s.ctx, try_on(&s, other, 700, &memory));
    assert_int_equal(calls(&s), before + 1);
    copse_device_free(s.device, other, memory, 700);
    assert_int_equal(s.device->block_cache.count, 1);
    /* A block may come from one and go on the other: it has the size of all of its request. */
    assert_ok(s.ctx, try_on(&s, other, 2000, &memory));
    put(&s, memory, 2000);
    assert_ptr_equal(take(&s, 2048), memory);
    copse_device_free(s.device, other, memory, 2048);
    s.device->backend->stream_free(s.device, other);
    end(&s);
}

static void kept_blocks_are_free_memory(void **state)
{
    (void)state;
    struct setting s;
    uint64_t before, available, total;
    begin(&s, MOST);
    s.device->memory = 1 << 20;
    s.device->backend->memory_info(s.device, &before, &total);
    put(&s, take(&s, 100000), 100000);
    assert_int_equal(s.device->block_cache.count, 1);
    s.device->backend->memory_info(s.device, &available, &total);
    assert_int_equal(available, before);
    put(&s, take(&s, available), available);
    end(&s);
}

/* A device with 5000 bytes has them, whatever sizes are rounded to, and says in numbers what was asked for. */
static void limits_are_those_of_requests(void **state)
{
    (void)state;
    struct setting s;
    void *kept, *memory = NULL;
    begin(&s, MOST);
    s.device->memory = 5000;
    kept = take(&s, 1000);
    assert_fails_naming(s.ctx, COPSE_ERR_MEMORY,
                        "out of device memory: 4001 bytes are needed for a test's array, 4000 of 5000 are free",
                        try_on(&s, s.device->main, 4001, &memory));
    assert_null(memory);
    assert_true(s.device->block_cache.closed);
    memory = take(&s, 4000); /* 4096 would not fit */
    assert_false(s.device->block_cache.closed);
    assert_int_equal(s.device->block_cache.exact_count, 1);
    assert_int_equal(s.device->allocated, 5000);
    put(&s, memory, 4000);
    assert_int_equal(s.device->block_cache.count, 0); /* smaller than others of 4000 bytes */
    put(&s, kept, 1000);
    assert_int_equal(s.device->block_cache.count, 1);
    end(&s);
}

static void blocks_that_fit_exactly_are_counted(void **state)
{
    (void)state;
    struct setting s;
    void *blocks[COPSE_BLOCK_CACHE_EXACT], *memory = NULL;
    begin(&s, MOST);
    for (unsigned i = 0; i < COPSE_BLOCK_CACHE_EXACT; i++) {
        s.device->memory = s.device->allocated + 100;
        blocks[i] = take(&s, 100);
    }
    s.device->memory += 100;
    assert_fails(s.ctx, COPSE_ERR_MEMORY, try_on(&s, s.device->main, 100, &memory));
    for (unsigned i = 0; i < COPSE_BLOCK_CACHE_EXACT; i += 2) put(&s, blocks[i], 100);
    put(&s, take(&s, 100), 100);
    for (unsigned i = 1; i < COPSE_BLOCK_CACHE_EXACT; i += 2) put(&s, blocks[i], 100);
    end(&s);
}

/* What is kept goes back before an allocation fails, and the error of the first attempt is not left behind. */
static void a_failure_empties_and_tries_again(void **state)
{
    (void)state;
    struct setting s;
    void *blocks[3], *memory = NULL;
    begin(&s, MOST);
    assert_fails_naming(s.ctx, COPSE_ERR_DEVICE, "before", copse_fail(s.ctx, COPSE_ERR_DEVICE, "before"));
    for (unsigned i = 0; i < 3; i++) blocks[i] = take(&s, 512);
    for (unsigned i = 0; i < 3; i++) put(&s, blocks[i], 512);
    assert_int_equal(s.device->block_cache.count, 3);
    test_allocator_fail_after(&s.allocator, 0, true);
    memory = take(&s, 1024);
    assert_string_equal(copse_last_error(s.ctx), "before");
    assert_int_equal(s.device->block_cache.count, 0);
    put(&s, memory, 1024);
    assert_int_equal(s.device->block_cache.count, 1);
    /* Where there is none: until one succeeds, what is freed goes back. */
    blocks[0] = take(&s, 512);
    blocks[1] = take(&s, 512);
    test_allocator_fail_after(&s.allocator, 0, false);
    assert_fails(s.ctx, COPSE_ERR_MEMORY, try_on(&s, s.device->main, 4096, &memory));
    assert_null(memory);
    assert_int_equal(s.device->block_cache.count, 0);
    test_allocator_never_fail(&s.allocator);
    put(&s, blocks[0], 512);
    assert_int_equal(s.device->block_cache.count, 0);
    blocks[0] = take(&s, 512);
    put(&s, blocks[1], 512);
    assert_int_equal(s.device->block_cache.count, 1);
    put(&s, blocks[0], 512);
    end(&s);
}

/* A planted failure comes also where a block would have been there. */
static void planted_failures_still_come(void **state)
{
    (void)state;
    struct setting s;
    void *memory = NULL;
    begin(&s, MOST);
    put(&s, take(&s, 512), 512);
    s.device->allocations_left = 0;
    assert_fails(s.ctx, COPSE_ERR_MEMORY, try_on(&s, s.device->main, 512, &memory));
    assert_null(memory);
    put(&s, take(&s, 512), 512);
    end(&s);
}

/* --- threads ------------------------------------------------------------------------------------------------------------------ */

struct worker {
    struct setting *s;
    unsigned number;
    bool right;
};

static bool has(copse_device *device, const uint8_t *at, unsigned byte)
{
    uint8_t seen = 0;
    return copse_device_copy(device, device->main, &seen, at, 1) == COPSE_OK && seen == byte;
}

/* Nobody else has the blocks that one holds: what it writes there stays. */
static void *work(void *user)
{
    struct worker *w = user;
    copse_device *device = w->s->device;
    uint8_t *held[8] = {0};
    uint64_t bytes[8] = {0}, seed = w->number + 1u;
    w->right = true;
    for (unsigned round = 0; round < 20000; round++) {
        seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        const unsigned i = (unsigned)(seed >> 33) % 8;
        void *memory = NULL;
        if (held[i]) {
            w->right &=
                has(device, held[i], w->number * 8 + i) && has(device, held[i] + bytes[i] - 1, w->number * 8 + i);
            copse_device_free(device, device->main, held[i], bytes[i]);
            held[i] = NULL;
            if (round % 1000 == 0) device->backend->trim(device);
            continue;
        }
        bytes[i] = 1 + (seed >> 40) % 3000;
        w->right &= copse_device_alloc(device, device->main, bytes[i], "a test", &memory) == COPSE_OK;
        if (!memory) break;
        held[i] = memory;
        w->right &= copse_device_fill(device, device->main, memory, (uint8_t)(w->number * 8 + i), bytes[i]) == COPSE_OK;
    }
    for (unsigned i = 0; i < 8; i++) copse_device_free(device, device->main, held[i], bytes[i]);
    return NULL;
}

static void threads_share_what_is_kept(void **state)
{
    (void)state;
    struct setting s;
    struct worker workers[4];
    pthread_t threads[4];
    begin(&s, 20000); /* so that old ones have to go all the time */
    for (unsigned i = 0; i < 4; i++) {
        workers[i] = (struct worker){.s = &s, .number = i};
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_true(workers[i].right);
    }
    assert_true(s.device->block_cache.count > 0 && s.device->block_cache.bytes <= 20000);
    end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_kept_unless_asked_for),
        cmocka_unit_test(some_are_not_to_be_kept),
        cmocka_unit_test(a_block_is_taken_again),
        cmocka_unit_test(large_blocks_are_hardly_larger),
        cmocka_unit_test(the_youngest_is_taken_and_the_oldest_goes),
        cmocka_unit_test(there_is_a_limit_to_the_bytes),
        cmocka_unit_test(other_streams_are_not_served),
        cmocka_unit_test(kept_blocks_are_free_memory),
        cmocka_unit_test(limits_are_those_of_requests),
        cmocka_unit_test(blocks_that_fit_exactly_are_counted),
        cmocka_unit_test(a_failure_empties_and_tries_again),
        cmocka_unit_test(planted_failures_still_come),
        cmocka_unit_test(threads_share_what_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

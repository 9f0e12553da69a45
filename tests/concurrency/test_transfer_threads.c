/* Several threads that use the transfer pipelines of two contexts at the same time and share one of their arrays, which
 * each of them may pin for a while: each must get its own answers. Meant for ThreadSanitizer. */
#include "unit.h"

#include "device/emulated_memory.h"
#include "transfer/transfer.h"

#include <pthread.h>

#define THREADS  4
#define CONTEXTS 2

struct user {
    copse_device *device;
    const uint64_t *shared; /* input of all threads */
    uint64_t n;
    unsigned number, rounds;
    const char *wrong;
};

static copse_status work(void *user, copse_stream *stream, uint64_t first, uint64_t n, void *const *memory)
{
    const struct user *u = user;
    (void)stream;
    const uint64_t *keys = memory[0], *more = memory[1];
    uint64_t *sums = memory[2];
    copse_emulated_begin();
    for (uint64_t i = 0; i < n; i++) sums[i] = keys[i] + more[i] + first + i + u->number;
    copse_emulated_end();
    return COPSE_OK;
}

static const char *run_round(struct user *u, unsigned round, uint64_t *more, uint64_t *sums)
{
    memset(sums, 0, u->n * sizeof *sums);
    for (uint64_t i = 0; i < u->n; i++) more[i] = i * 100 + round;
    copse_transfer_job job = {.device = u->device, .arrays = 3, .n = u->n, .work = work, .user = u};
    job.array[0] = (copse_transfer_array){(void *)(uintptr_t)u->shared, 8, false, NULL, NULL};
    job.array[1] = (copse_transfer_array){more, 8, false, NULL, NULL};
    job.array[2] = (copse_transfer_array){sums, 8, true, NULL, NULL};
    if (round % 3 == 1) job.chunk = u->n / 7; /* the pipeline also where the batch is small */
    if (copse_transfer_run(&job) != COPSE_OK) return "a job failed";
    for (uint64_t i = 0; i < u->n; i++) {
        if (sums[i] != u->shared[i] + more[i] + i + u->number) return "an answer is wrong";
    }
    return NULL;
}

static void *use(void *argument)
{
    struct user *u = argument;
    uint64_t *more = must_malloc(u->n * sizeof *more), *sums = must_malloc(u->n * sizeof *sums);
    for (unsigned round = 0; !u->wrong && round < u->rounds; round++)
        u->wrong = run_round(u, round + u->number, more, sums);
    free(more);
    free(sums);
    return NULL;
}

static copse_device *open_device(copse_ctx *ctx, copse_transfer_mode mode)
{
    copse_device *device;
    copse_transfer_settings settings;
    assert_ok(ctx, copse_device_get(ctx, COPSE_PLACEMENT_EMULATED, &device));
    assert_ok(ctx, copse_transfer_settings_get(device, &settings));
    settings.mode = mode;
    settings.chunk_bytes = 256 << 10;
    assert_ok(ctx, copse_transfer_settings_set(device, &settings));
    return device;
}

static void use_from_threads(copse_transfer_mode mode, uint64_t n, unsigned rounds)
{
    copse_ctx *ctx[CONTEXTS];
    copse_device *device[CONTEXTS];
    for (unsigned i = 0; i < CONTEXTS; i++) {
        ctx[i] = unit_context(2);
        device[i] = open_device(ctx[i], mode);
    }
    uint64_t *shared = must_malloc(n * sizeof *shared);
    for (uint64_t i = 0; i < n; i++) shared[i] = i * i;
    struct user users[THREADS];
    pthread_t threads[THREADS];
    for (unsigned i = 0; i < THREADS; i++) {
        users[i] = (struct user){device[i % CONTEXTS], shared, n, i, rounds, NULL};
        assert_int_equal(pthread_create(&threads[i], NULL, use, &users[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        if (users[i].wrong) fail_msg("thread %u: %s", i, users[i].wrong);
    }
    assert_int_equal(copse_device_kind(device[0], shared), COPSE_MEMORY_PAGEABLE);
    for (unsigned i = 0; i < CONTEXTS; i++) copse_ctx_free(ctx[i]);
    free(shared);
}

static void test_staged(void **state)
{
    (void)state;
    use_from_threads(COPSE_TRANSFER_STAGED, 2000, 12);
}

static void test_registered(void **state)
{
    (void)state;
    use_from_threads(COPSE_TRANSFER_REGISTERED, 140000, 6); /* large enough to be pinned */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_staged), cmocka_unit_test(test_registered)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The emulator computes what a card does: every construct of simt.h against a plain loop, in the fixed order and in random
 * ones, on one host thread and on several. */
#include "unit.h"

#include "simt/emulator.h"
#include "simt/kernels.inc.h"
#include "simt/model.inc.h"

static const copse_kernel kernels[] = SIMT_TEST_TABLE;
static copse_pool *pool;
#define HOST_THREADS 4u

static bool run_emulated(void *user, enum simt_test_kernel which, uint64_t blocks, struct simt_model *m)
{
    char sentence[200];
    copse_emulator_launch_options options = *(const copse_emulator_launch_options *)user;
    struct simt_test_arguments arguments = {m->in, m->out, m->counter, m->n};
    options.error = sentence;
    options.error_bytes = sizeof sentence;
    if (copse_emulator_launch(&options, &kernels[which], blocks, &arguments)) return true;
    print_error("%s\n", sentence);
    return false;
}

static void check_all(uint32_t threads, uint64_t first_seed, uint64_t last_seed)
{
    struct simt_model model;
    assert_true(simt_model_create(&model));
    for (uint64_t seed = first_seed; seed <= last_seed; seed++) {
        copse_emulator_launch_options options = {.threads = threads, .pool = pool, .seed = seed};
        for (int i = 0; i < SIMT_TEST_KERNELS; i++) {
            enum simt_test_kernel which = (enum simt_test_kernel)i;
            if (!simt_model_check(&model, which, kernels[i].threads, seed, run_emulated, &options)) {
                fail_msg("kernel %s, order %u, %u host threads", kernels[i].name, (unsigned)seed, (unsigned)threads);
            }
        }
    }
    simt_model_free(&model);
}

static void in_the_fixed_order(void **state)
{
    (void)state;
    check_all(1, 0, 0);
    check_all(0, 0, 0);
}

static void in_random_orders(void **state)
{
    (void)state;
    check_all(1, 1, 25);
}

static void on_several_host_threads(void **state)
{
    (void)state;
    check_all(4, 0, 12);
}

static void after_giving_memory_back(void **state)
{
    (void)state;
    copse_emulator_trim();
    check_all(2, 3, 3);
    copse_emulator_trim();
    copse_emulator_trim();
}

/* --- the order itself ------------------------------------------------------------------------------------------------- */

struct order_arguments {
    uint32_t *next;
    uint32_t *turn; /* of each thread */
};

SIMT_KERNEL(record_order, struct order_arguments, 64, 1)
{
    a.turn[blockIdx.x * blockDim.x + threadIdx.x] = simt_atomic_add_u32(a.next, 1);
    __syncthreads();
    (void)simt_atomic_add_u32(a.turn + blockIdx.x * blockDim.x + threadIdx.x, simt_atomic_add_u32(a.next, 1) << 16);
}

#define ORDER_THREADS 512u

static void record(uint64_t seed, uint32_t *turn)
{
    static const copse_kernel kernel = SIMT_KERNEL_ENTRY(record_order, 64);
    copse_emulator_launch_options options = {.threads = 1, .seed = seed};
    uint32_t next = 0;
    struct order_arguments arguments = {&next, turn};
    assert_true(copse_emulator_launch(&options, &kernel, ORDER_THREADS / 64, &arguments));
    assert_int_equal(next, 2 * ORDER_THREADS);
}

static void a_seed_repeats_its_order(void **state)
{
    (void)state;
    uint32_t first[ORDER_THREADS], again[ORDER_THREADS], other[ORDER_THREADS];
    for (uint64_t seed = 0; seed < 5; seed++) {
        record(seed, first);
        record(seed + 1, other);
        record(seed, again);
        assert_memory_equal(first, again, sizeof first);
        assert_memory_not_equal(first, other, sizeof first);
    }
}

/* --- a grid of many blocks -------------------------------------------------------------------------------------------- */

struct grid_arguments {
    uint8_t *seen; /* of each block */
};

SIMT_KERNEL(see_blocks, struct grid_arguments, 1, 1)
{
    a.seen[blockIdx.x]++;
}

static void each_block_once(void **state)
{
    (void)state;
    static const copse_kernel kernel = SIMT_KERNEL_ENTRY(see_blocks, 1);
    static const uint64_t sizes[] = {1, 2, 3, 1000, 65536, 100003};
    for (size_t i = 0; i < COUNT_OF(sizes) * 2; i++) {
        uint64_t n = sizes[i / 2];
        uint8_t *seen = must_malloc(n);
        struct grid_arguments arguments = {seen};
        copse_emulator_launch_options options = {.threads = 2, .pool = pool, .seed = i % 2 * 77};
        memset(seen, 0, n);
        assert_true(copse_emulator_launch(&options, &kernel, n, &arguments));
        for (uint64_t j = 0; j < n; j++) assert_int_equal(seen[j], 1);
        free(seen);
    }
}

static int open_pool(void **state)
{
    (void)state;
    pool = copse_pool_open(aligned_alloc(64, (copse_pool_bytes(HOST_THREADS) + 63) / 64 * 64), HOST_THREADS);
    return 0;
}

static int close_pool(void **state)
{
    (void)state;
    copse_pool_close(pool);
    free(pool);
    return 0;
}

/* --- warps that wait ------------------------------------------------------------------------------------------------------ */

struct chain_arguments {
    uint32_t *ticket, *done, *polls;
};

/* As a decoupled look-back: warps take numbers in order, work for a while, and wait for the one in front. */
SIMT_KERNEL(wait_in_a_chain, struct chain_arguments, 128, 1)
{
    uint32_t own = simt_lane() == 0 ? simt_atomic_add_u32(a.ticket, 1u) : 0;
    own = simt_shfl_u32(SIMT_FULL_MASK, own, 0);
    for (uint32_t i = 0; i < 20; i++) (void)simt_load_relaxed_u32(a.ticket);
    while (own > 0 && !simt_load_relaxed_u32(&a.done[own - 1u])) {
        if (simt_lane() == 0) (void)simt_atomic_add_u32(a.polls, 1u);
        simt_yield();
    }
    __syncwarp(SIMT_FULL_MASK);
    if (simt_lane() == 0) simt_store_relaxed_u32(&a.done[own], 1u);
}

/* A warp that waits leaves the turns to those that do not, in every order: it asks a few times, not thousands of times. */
static void who_waits_gives_way(void **state)
{
    enum { blocks = 24, warps = 4 * blocks };
    static const copse_kernel kernel = SIMT_KERNEL_ENTRY(wait_in_a_chain, 128);
    (void)state;
    uint32_t all = 0;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        uint32_t ticket = 0, polls = 0, done[warps] = {0};
        const struct chain_arguments arguments = {&ticket, done, &polls};
        const copse_emulator_launch_options options = {.threads = 1, .seed = seed};
        assert_true(copse_emulator_launch(&options, &kernel, blocks, &arguments));
        for (int i = 0; i < warps; i++) assert_int_equal(done[i], 1);
        all += polls;
    }
    if (all > 20u * warps * 2u) fail_msg("%u polls", (unsigned)all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_the_fixed_order),       cmocka_unit_test(in_random_orders),
        cmocka_unit_test(on_several_host_threads),  cmocka_unit_test(after_giving_memory_back),
        cmocka_unit_test(a_seed_repeats_its_order), cmocka_unit_test(each_block_once),
        cmocka_unit_test(who_waits_gives_way),
    };
    return cmocka_run_group_tests(tests, open_pool, close_pool);
}

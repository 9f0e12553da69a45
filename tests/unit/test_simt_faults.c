/* Kernels with a fault in them: the emulator says which, in a sentence, and works on afterwards; or, where the fault is one
 * of order, gives a wrong answer in one of a few random orders. What only the sanitizers see is in tests/simt/run. */
#include "unit.h"

#include "simt/emulator.h"
#include "simt/sanitizers.h"
#include "simt/broken.inc.h"

#define BLOCKS  5u
#define THREADS (BLOCKS * 64u)

static char sentence[256];
static copse_pool *pool;
#define HOST_THREADS 4u
static uint32_t out[THREADS + 16] __attribute__((aligned(16)));

static bool launch(copse_kernel kernel, uint32_t host_threads, uint64_t seed, uint32_t fixed)
{
    copse_emulator_launch_options options = {.threads = host_threads,
                                             .pool = pool,
                                             .seed = seed,
                                             .patience = 1,
                                             .error = sentence,
                                             .error_bytes = sizeof sentence};
    struct broken_arguments arguments = {out, THREADS, fixed};
    memset(out, 0, sizeof out);
    return copse_emulator_launch(&options, &kernel, BLOCKS, &arguments);
}

/* --- faults that end the launch ---------------------------------------------------------------------------------------- */

/* The sentence of a launch on one host thread in the fixed order. */
static void expect_sentence(copse_kernel kernel, const char *expected)
{
    assert_false(launch(kernel, 1, 0, 0));
    if (strcmp(sentence, expected) != 0) fail_msg("'%s', expected '%s'", sentence, expected);
}

/* The fault is found in any order, on any number of host threads; a right kernel runs in between. */
static void expect_always(copse_kernel kernel, const char *word)
{
    static const copse_kernel right = SIMT_KERNEL_ENTRY(broken_early_overwrite, 64);
    for (uint64_t seed = 0; seed < 12; seed++) {
        assert_false(launch(kernel, 1 + (uint32_t)seed % 3, seed, 0));
        if (!strstr(sentence, word)) fail_msg("'%s' has no '%s', order %u", sentence, word, (unsigned)seed);
        assert_non_null(strstr(sentence, kernel.name));
        assert_true(launch(right, 2, seed, 1));
        for (uint32_t i = 0; i < THREADS; i++) assert_int_equal(out[i], 63 - i % 64);
    }
}

#define KERNEL(name) ((copse_kernel)SIMT_KERNEL_ENTRY(broken_##name, 64))

static void masks(void **state)
{
    (void)state;
    expect_sentence(KERNEL(mask_without_self),
                    "kernel broken_mask_without_self, block 0, warp 0, lane 9: __ballot_sync "
                    "with mask 0x000000ff, which does not name the lane itself");
    expect_always(KERNEL(mask_without_self), "does not name the lane itself");
    expect_sentence(KERNEL(different_masks),
                    "kernel broken_different_masks, block 0, warp 0, lane 8: __ballot_sync with mask 0xffffffff waits "
                    "for lane 0, which waits for this one at __ballot_sync with mask 0x0000ffff");
    expect_always(KERNEL(different_masks), "which waits for this one at __ballot_sync");
    expect_always(KERNEL(different_collectives), "which waits for this one at __");
    expect_sentence(KERNEL(reads_outside_mask), "kernel broken_reads_outside_mask, block 0, warp 0, lane 0: "
                                                "simt_shfl_xor_u32 reads lane 4, which is not in the mask 0x0000000f");
    expect_always(KERNEL(reads_outside_mask), "which is not in the mask");
}

static void lanes_that_have_ended(void **state)
{
    (void)state;
    expect_sentence(KERNEL(lane_ended_before),
                    "kernel broken_lane_ended_before, block 0, warp 0, lane 4: simt_shfl_u32 "
                    "names lane 3, which has ended");
    expect_always(KERNEL(lane_ended_before), "simt_shfl_u32 ");
    expect_sentence(KERNEL(lane_ends_after),
                    "kernel broken_lane_ends_after, block 0, warp 1, lane 0: __syncwarp names lane 9, which has ended");
    expect_always(KERNEL(lane_ends_after), "__syncwarp names lane 9, which has ended");
    copse_kernel partial = KERNEL(different_masks);
    partial.threads = 12; /* of the warp's 32 */
    expect_sentence(partial,
                    "kernel broken_different_masks, block 0, warp 0, lane 0: __ballot_sync names lane 12, which "
                    "the block does not have");
}

static void circles(void **state)
{
    (void)state;
    expect_sentence(KERNEL(circle),
                    "kernel broken_circle, block 0, warp 0, lane 0: __syncwarp with mask 0x00000003 waits "
                    "for lane 1, which waits for others in a circle");
    expect_always(KERNEL(circle), "in a circle");
}

static void barriers(void **state)
{
    (void)state;
    expect_always(KERNEL(collective_and_barrier), "__syncwarp names lane 3, which waits at __syncthreads");
    expect_always(KERNEL(barrier_not_reached), "__syncthreads of line ");
    expect_always(KERNEL(barrier_after_end), "__syncthreads of line ");
    expect_always(KERNEL(two_barriers), "while other threads wait at that of line ");
    assert_false(launch(KERNEL(barrier_after_end), 1, 0, 0));
    assert_non_null(strstr(sentence, "is not reached by lane 0 of warp 0, which has ended"));
    assert_false(launch(KERNEL(barrier_not_reached), 1, 0, 0));
    assert_non_null(strstr(sentence, "warp 1, lane 8: ended while other threads wait at __syncthreads"));
}

static void waiting_in_vain(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 2; seed++) {
        assert_false(launch(KERNEL(waits_for_ever), 1, seed, 0));
        assert_non_null(strstr(sentence, "no thread has ended for 1 seconds"));
        assert_false(launch(KERNEL(votes_for_ever), 2, seed, 0));
        assert_non_null(strstr(sentence, "no thread has ended for 1 seconds"));
    }
}

/* Under AddressSanitizer these end the program: tests/simt/run expects that of them. */
static void beside_shared_arrays(void **state)
{
    (void)state;
    if (COPSE_ASAN) return;
    expect_sentence(KERNEL(behind_shared),
                    "kernel broken_behind_shared, block 0: wrote behind the end of its shared array words");
    expect_always(KERNEL(behind_shared), "wrote behind the end of its shared array words");
    expect_always(KERNEL(before_shared), "wrote before the start of its shared array words");
}

static void memory(void **state)
{
    (void)state;
    expect_sentence(KERNEL(too_much_shared),
                    "kernel broken_too_much_shared, block 0, warp 0, lane 0: array more makes it 49153 bytes of shared "
                    "memory in 2 arrays; there are 49152 bytes, and the emulator has room for 48 arrays");
    expect_always(KERNEL(too_much_shared), "bytes of shared memory");
    expect_always(KERNEL(misaligned), "which is not a multiple of 16");
    expect_always(KERNEL(wide_load_of_shared), "simt_load16_once at address");
    assert_true(launch(KERNEL(uninitialized), 1, 0, 1));
    assert_int_equal(out[0], 1);
    assert_true(launch(KERNEL(uninitialized), 1, 0, 0));
    assert_int_not_equal(out[0], 1);
}

static void bad_launches(void **state)
{
    (void)state;
    copse_emulator_launch_options options = {.error = sentence, .error_bytes = sizeof sentence};
    struct broken_arguments arguments = {out, THREADS, 1};
    copse_kernel kernel = KERNEL(plain_update);
    assert_false(copse_emulator_launch(&options, &kernel, 0, &arguments));
    assert_string_equal(sentence, "kernel broken_plain_update: a grid of 0 blocks; it has 1 to 2147483647");
    assert_false(copse_emulator_launch(&options, &kernel, UINT64_C(1) << 31, &arguments));
    kernel.threads = 0;
    assert_false(copse_emulator_launch(&options, &kernel, 1, &arguments));
    kernel.threads = 1025;
    assert_false(copse_emulator_launch(&options, &kernel, 1, &arguments));
    assert_string_equal(sentence, "kernel broken_plain_update: blocks of 1025 threads; they have 1 to 1024");
}

/* The sentence is cut to the room there is, and may be left out. */
static void room_for_the_sentence(void **state)
{
    (void)state;
    char room[24];
    copse_emulator_launch_options options = {.threads = 1, .error = room, .error_bytes = 10};
    struct broken_arguments arguments = {out, THREADS, 0};
    copse_kernel kernel = KERNEL(different_masks);
    memset(room, 'x', sizeof room);
    assert_false(copse_emulator_launch(&options, &kernel, 1, &arguments));
    assert_string_equal(room, "kernel br");
    assert_int_equal(room[10], 'x');
    options.error = NULL;
    options.error_bytes = 0;
    assert_false(copse_emulator_launch(&options, &kernel, 1, &arguments));
}

/* Mappings of the process, which is what stacks are made of. */
static unsigned mappings(void)
{
    FILE *file = fopen("/proc/self/maps", "r");
    unsigned lines = 0;
    for (int c; file && (c = getc(file)) != EOF;) lines += c == '\n';
    if (file) (void)fclose(file);
    return lines;
}

static void nothing_is_lost(void **state)
{
    (void)state;
    assert_false(launch(KERNEL(lane_ends_after), 1, 0, 0));
    copse_emulator_trim();
    unsigned before = mappings();
    for (uint64_t i = 0; i < 200; i++) assert_false(launch(KERNEL(lane_ends_after), 1, i, 0));
    copse_emulator_trim();
    unsigned after = mappings();
    /* AddressSanitizer's allocator maps more as it goes. */
    if (!COPSE_ASAN) assert_true(after <= before + 4);
}

/* --- faults of order: some order shows them, and none shows one where there is none ------------------------------------ */

static bool answer_is_right(copse_kernel kernel, uint64_t seed, uint32_t fixed,
                            uint32_t (*expected)(uint32_t block, uint32_t thread))
{
    assert_true(launch(kernel, 1, seed, fixed));
    for (uint32_t i = 0; i < THREADS; i++) {
        if (out[i] != expected(i / 64, i % 64)) return false;
    }
    return true;
}

static void expect_found(copse_kernel kernel, uint32_t (*expected)(uint32_t block, uint32_t thread))
{
    uint64_t wrong = 0;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        wrong += !answer_is_right(kernel, seed, 0, expected);
        assert_true(answer_is_right(kernel, seed, 1, expected));
    }
    if (wrong == 0) fail_msg("%s is right in all orders", kernel.name);
}

static uint32_t lane_before(uint32_t block, uint32_t thread)
{
    (void)block;
    return thread % 32 > 0 ? thread - 1 : UINT32_MAX;
}

static uint32_t warp_before(uint32_t block, uint32_t thread)
{
    (void)block;
    return thread >= 32 ? thread - 32 : 0;
}

static uint32_t mirrored(uint32_t block, uint32_t thread)
{
    (void)block;
    return 63 - thread;
}

static uint32_t all_added(uint32_t block, uint32_t thread)
{
    return block == 0 && thread == 0 ? THREADS : 0;
}

static uint32_t the_message(uint32_t block, uint32_t thread)
{
    (void)block;
    return thread == 0 || thread == 32 ? 7 : thread == 33 ? 1 : 0;
}

static void missing_barriers(void **state)
{
    (void)state;
    /* The fixed order does not see this one: that is what the random orders are for. */
    assert_true(answer_is_right(KERNEL(missing_syncwarp), 0, 0, lane_before));
    expect_found(KERNEL(missing_syncwarp), lane_before);
    assert_true(answer_is_right(KERNEL(missing_syncthreads), 0, 0, warp_before));
    expect_found(KERNEL(missing_syncthreads), warp_before);
    expect_found(KERNEL(early_overwrite), mirrored);
}

static void lost_updates(void **state)
{
    (void)state;
    expect_found(KERNEL(lost_update), all_added);
    expect_found(KERNEL(late_message), the_message);
}

/* The same between blocks of one thread each, on one host thread. */
static void lost_updates_between_blocks(void **state)
{
    (void)state;
    copse_kernel kernel = KERNEL(lost_update);
    uint64_t wrong = 0;
    kernel.threads = 1;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        assert_true(launch(kernel, 1, seed, 0));
        wrong += out[0] != BLOCKS;
        assert_true(launch(kernel, 1, seed, 1));
        assert_int_equal(out[0], BLOCKS);
    }
    assert_true(wrong > 0);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(masks),
        cmocka_unit_test(lanes_that_have_ended),
        cmocka_unit_test(circles),
        cmocka_unit_test(barriers),
        cmocka_unit_test(waiting_in_vain),
        cmocka_unit_test(beside_shared_arrays),
        cmocka_unit_test(memory),
        cmocka_unit_test(bad_launches),
        cmocka_unit_test(room_for_the_sentence),
        cmocka_unit_test(nothing_is_lost),
        cmocka_unit_test(missing_barriers),
        cmocka_unit_test(lost_updates),
        cmocka_unit_test(lost_updates_between_blocks),
    };
    return cmocka_run_group_tests(tests, open_pool, close_pool);
}

/* The kernels of kernels.h; included by the file that compiles them for the card and by those that do it for the host. */
#include "simt/simt.h"
#include "kernels.h"

#define SIMT_TEST(name, threads) SIMT_KERNEL(simt_test_##name, struct simt_test_arguments, threads, 1)

SIMT_DEVICE uint64_t simt_test_thread(void)
{
    return (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
}

SIMT_TEST(places, 96)
{
    uint64_t *out = a.out + simt_test_thread() * SIMT_TEST_WORDS;
    out[0] = threadIdx.x;
    out[1] = blockIdx.x;
    out[2] = blockDim.x;
    out[3] = gridDim.x;
    out[4] = simt_lane();
    out[5] = simt_warp();
    out[6] = __activemask() >> simt_lane() & 1u;
}

SIMT_TEST(bits, 64)
{
    uint64_t *out = a.out + simt_test_thread() * SIMT_TEST_WORDS;
    uint64_t wide = threadIdx.x == 0 ? 0 : a.in[simt_test_thread()] >> threadIdx.x;
    uint32_t narrow = (uint32_t)wide;
    out[0] = (uint64_t)__popc(narrow);
    out[1] = (uint64_t)__popcll(wide);
    out[2] = (uint64_t)__ffs(narrow);
    out[3] = (uint64_t)__ffsll(wide);
    out[4] = (uint64_t)__clz(narrow);
    out[5] = (uint64_t)__clzll(wide);
}

SIMT_TEST(shuffles, 128)
{
    uint64_t *out = a.out + simt_test_thread() * SIMT_TEST_WORDS;
    uint64_t wide = a.in[simt_test_thread()];
    uint32_t narrow = (uint32_t)wide, argument = (uint32_t)(wide >> 40) % SIMT_WARP;
    uint32_t uniform = blockIdx.x % SIMT_WARP; /* up and down by the same distance, as scans do */
    out[0] = simt_shfl_u32(SIMT_FULL_MASK, narrow, argument);
    out[1] = simt_shfl_u64(SIMT_FULL_MASK, wide, argument);
    out[2] = simt_shfl_xor_u32(SIMT_FULL_MASK, narrow, uniform);
    out[3] = simt_shfl_xor_u64(SIMT_FULL_MASK, wide, uniform);
    out[4] = simt_shfl_up_u32(SIMT_FULL_MASK, narrow, uniform);
    out[5] = simt_shfl_up_u64(SIMT_FULL_MASK, wide, uniform);
    out[6] = simt_shfl_down_u32(SIMT_FULL_MASK, narrow, uniform);
    out[7] = simt_shfl_down_u64(SIMT_FULL_MASK, wide, uniform);
    uint32_t sum = narrow;
    SIMT_UNROLL
    for (uint32_t distance = 1; distance < SIMT_WARP; distance *= 2) {
        sum += simt_shfl_xor_u32(SIMT_FULL_MASK, sum, distance);
    }
    out[8] = sum;
}

SIMT_TEST(votes, 64)
{
    uint64_t *out = a.out + simt_test_thread() * SIMT_TEST_WORDS;
    uint64_t number = a.in[simt_test_thread()];
    out[0] = __ballot_sync(SIMT_FULL_MASK, (int)(number & 6u));
    out[1] = (uint64_t)__any_sync(SIMT_FULL_MASK, number % 61 == 0);
    out[2] = (uint64_t)__all_sync(SIMT_FULL_MASK, number % 61 != 0);
    /* The lanes of a half vote by themselves. */
    uint32_t half = simt_lane() < 16 ? 0xffffu : 0xffff0000u;
    out[3] = __ballot_sync(half, (int)(number & 1u));
    out[4] = (uint64_t)__any_sync(half, number % 31 == 0);
    out[5] = (uint64_t)__all_sync(half, number % 31 != 0);
}

/* Four lanes work together; each group goes round as often as its own number says, then all meet. */
SIMT_TEST(groups, 64)
{
    uint64_t *out = a.out + simt_test_thread() * SIMT_TEST_WORDS;
    uint32_t first = simt_lane() & ~3u, mask = 0xfu << first;
    uint64_t number = a.in[simt_test_thread()];
    uint64_t rounds = simt_shfl_u64(mask, number, first) % 7, sum = 0;
    for (uint64_t i = 0; i < rounds; i++) {
        sum += simt_shfl_u64(mask, number, first + (simt_lane() + (uint32_t)i) % 4);
        if (__any_sync(mask, (sum & 63u) == 63u)) break;
    }
    out[0] = sum;
    out[1] = simt_shfl_u64(SIMT_FULL_MASK, sum, SIMT_WARP - 1 - simt_lane());
}

/* Lanes that have nothing to do end, the others go on without them. */
SIMT_TEST(early_end, 64)
{
    uint64_t number = a.in[simt_test_thread()];
    uint32_t stay = __ballot_sync(SIMT_FULL_MASK, (int)(number & 1u));
    if (!(number & 1u)) return;
    uint64_t *out = a.out + simt_test_thread() * SIMT_TEST_WORDS;
    out[0] = simt_shfl_u64(stay, number, (uint32_t)__ffs(stay) - 1);
    out[1] = __ballot_sync(stay, (int)(number & 2u));
}

/* Through shared memory, where each step needs two barriers. */
SIMT_TEST(warp_scan, 128)
{
    SIMT_SHARED(uint64_t, sums, 128);
    uint32_t t = threadIdx.x;
    sums[t] = a.in[simt_test_thread()];
    __syncwarp(SIMT_FULL_MASK);
    for (uint32_t distance = 1; distance < SIMT_WARP; distance *= 2) {
        uint64_t other = simt_lane() >= distance ? sums[t - distance] : 0;
        __syncwarp(SIMT_FULL_MASK);
        sums[t] += other;
        __syncwarp(SIMT_FULL_MASK);
    }
    a.out[simt_test_thread() * SIMT_TEST_WORDS] = sums[t];
}

/* In a function of its own: its array is one for all who call it. */
SIMT_DEVICE uint64_t simt_test_block_sum(uint64_t number)
{
    SIMT_SHARED(uint64_t, totals, SIMT_WARP);
    for (uint32_t distance = 1; distance < SIMT_WARP; distance *= 2) {
        number += simt_shfl_xor_u64(SIMT_FULL_MASK, number, distance);
    }
    if (simt_lane() == 0) totals[simt_warp()] = number;
    __syncthreads();
    uint64_t sum = 0;
    for (uint32_t i = 0; i < blockDim.x / SIMT_WARP; i++) sum += totals[i];
    __syncthreads();
    return sum;
}

SIMT_TEST(block_scan, 1024)
{
    SIMT_SHARED(uint64_t, sums, 1024);
    uint32_t t = threadIdx.x;
    uint64_t number = a.in[simt_test_thread()];
    uint64_t *out = a.out + simt_test_thread() * SIMT_TEST_WORDS;
    sums[t] = number;
    __syncthreads();
    for (uint32_t distance = 1; distance < blockDim.x; distance *= 2) {
        uint64_t other = t >= distance ? sums[t - distance] : 0;
        __syncthreads();
        sums[t] += other;
        __syncthreads();
    }
    out[0] = sums[t];
    out[1] = simt_test_block_sum(number);
    out[2] = simt_test_block_sum(number ^ 1u);
}

/* The last warp has 6 lanes. */
SIMT_TEST(partial_warp, 70)
{
    SIMT_SHARED(uint32_t, seen, 70);
    uint32_t mask = simt_warp() == 2 ? 0x3fu : SIMT_FULL_MASK;
    uint64_t number = a.in[simt_test_thread()];
    uint64_t *out = a.out + simt_test_thread() * SIMT_TEST_WORDS;
    out[0] = __ballot_sync(mask, (int)(number & 1u));
    seen[threadIdx.x] = (uint32_t)number;
    __syncthreads();
    out[1] = seen[69 - threadIdx.x];
}

/* All there is: 48 KiB in two arrays. */
SIMT_TEST(shared_limit, 256)
{
    SIMT_SHARED(uint64_t, large, 5120);
    SIMT_SHARED(uint8_t, small, 8192);
    uint32_t t = threadIdx.x;
    uint64_t number = a.in[simt_test_thread()], sum = 0;
    for (uint32_t i = t; i < 5120; i += blockDim.x) large[i] = number + i;
    for (uint32_t i = t; i < 8192; i += blockDim.x) small[i] = (uint8_t)(number + i);
    __syncthreads();
    for (uint32_t i = (t + 1) % blockDim.x; i < 5120; i += blockDim.x) sum += large[i];
    for (uint32_t i = (t + 1) % blockDim.x; i < 8192; i += blockDim.x) sum += small[i];
    a.out[simt_test_thread() * SIMT_TEST_WORDS] = sum;
}

/* Counters 0 to 4, and 14 and 15, which begin with all ones, as u64; the others as u32. */
SIMT_TEST(atomics, 128)
{
    uint64_t *out = a.out + simt_test_thread() * SIMT_TEST_WORDS;
    uint64_t number = a.in[simt_test_thread()];
    uint32_t narrow = (uint32_t)number;
    uint32_t *small = (uint32_t *)(a.counter + 7);
    out[0] = simt_atomic_add_u64(a.counter + 0, 1);
    (void)simt_atomic_max_u64(a.counter + 1, number);
    (void)simt_atomic_min_u64(a.counter + 15, number);
    (void)simt_atomic_or_u64(a.counter + 2, number & 0xff00ff00ff00ff00u);
    (void)simt_atomic_and_u64(a.counter + 14, number | 0xffffffffu);
    uint64_t seen = simt_load_relaxed_u64(a.counter + 3), before;
    while ((before = simt_atomic_cas_u64(a.counter + 3, seen, seen + number)) != seen) seen = before;
    /* Each thread hands its number on; what is left over is in the counter. */
    out[1] = simt_atomic_exchange_u64(a.counter + 4, number);

    out[2] = simt_atomic_add_u32(small + 0, 1);
    (void)simt_atomic_max_u32(small + 1, narrow);
    (void)simt_atomic_min_u32((uint32_t *)(a.counter + 13), narrow);
    (void)simt_atomic_or_u32(small + 2, narrow & 0xff00ff00u);
    (void)simt_atomic_and_u32((uint32_t *)(a.counter + 12), narrow | 0xffffu);
    uint32_t seen32 = simt_load_relaxed_u32(small + 3), before32;
    while ((before32 = simt_atomic_cas_u32(small + 3, seen32, seen32 + narrow)) != seen32) seen32 = before32;
    out[3] = simt_atomic_exchange_u32(small + 4, narrow);
}

/* One lock for all threads of the grid; what it guards is neither atomic nor ordered by anything else. */
SIMT_TEST(spin_lock, 64)
{
    uint32_t *lock = (uint32_t *)a.counter;
    bool done = false;
    while (!done) {
        if (simt_atomic_cas_u32(lock, 0, 1) == 0) {
            (void)simt_load_acquire_u32(lock);
            a.counter[1] += 1;
            a.counter[2] += a.in[simt_test_thread()];
            simt_store_release_u32(lock, 0);
            done = true;
        } else {
            simt_yield();
        }
    }
}

/* Each block leaves its sum; the one that comes last, whichever that is, adds them up. */
SIMT_TEST(last_block, 128)
{
    SIMT_SHARED(uint64_t, ticket, 1);
    uint64_t sum = simt_test_block_sum(a.in[simt_test_thread()]);
    if (threadIdx.x == 0) {
        a.out[(uint64_t)blockIdx.x * blockDim.x * SIMT_TEST_WORDS] = sum;
        __threadfence();
        ticket[0] = simt_atomic_add_u64(a.counter, 1);
    }
    __syncthreads();
    if (ticket[0] != gridDim.x - 1 || threadIdx.x != 0) return;
    __threadfence();
    for (uint64_t i = 0; i < gridDim.x; i++) a.counter[1] += a.out[i * blockDim.x * SIMT_TEST_WORDS];
}

/* Between warps of a block: the first writes and says so, the others wait for it. */
SIMT_TEST(message, 128)
{
    uint64_t *message = a.out + ((uint64_t)blockIdx.x * blockDim.x) * SIMT_TEST_WORDS + 1;
    uint64_t *ready = message + 1;
    uint32_t *ready32 = (uint32_t *)(message + 2);
    if (threadIdx.x == 0) {
        *message = a.in[simt_test_thread()];
        __threadfence_block();
        simt_store_release_u64(ready, 1);
    }
    if (simt_warp() == 1) {
        while (simt_load_acquire_u64(ready) == 0) simt_yield();
        if (simt_lane() == 0) simt_store_release_u32(ready32, 1);
    } else if (simt_warp() > 1) {
        while (simt_load_acquire_u32(ready32) == 0) simt_yield();
    }
    if (threadIdx.x >= SIMT_WARP) a.out[simt_test_thread() * SIMT_TEST_WORDS] = *message;
    if (threadIdx.x == 1) {
        simt_store_relaxed_u64(a.counter + 5, 5);
        simt_store_relaxed_u32((uint32_t *)(a.counter + 6), 6);
    }
}

SIMT_TEST(accesses, 64)
{
    uint64_t i = simt_test_thread();
    uint64_t *out = a.out + i * SIMT_TEST_WORDS;
    simt_u32x4 pair = simt_load16(a.in + (i & ~(uint64_t)1)), once = simt_load16_once(a.in + (i & ~(uint64_t)1));
    out[0] = (uint64_t)pair.y << 32 | pair.x;
    out[1] = (uint64_t)pair.w << 32 | pair.z;
    out[2] = (uint64_t)once.y << 32 | once.x;
    out[3] = (uint64_t)once.w << 32 | once.z;
    out[4] = simt_load_once_u32((const uint32_t *)(a.in + i));
    out[5] = simt_load_once_u64(a.in + i);
    simt_store_once_u8((uint8_t *)(out + 6), (uint8_t)a.in[i]);
    simt_store_once_u32((uint32_t *)(out + 7), (uint32_t)a.in[i]);
    simt_store_once_u64(out + 8, a.in[i]);
    SIMT_SHARED(simt_u32x4, fetched, 64);
    simt_fetch16(&fetched[threadIdx.x], a.in + (i & ~(uint64_t)1));
    simt_fetch_wait();
    __syncwarp(SIMT_FULL_MASK);
    const simt_u32x4 other = fetched[threadIdx.x ^ 1u]; /* of the same pair */
    out[11] = (uint64_t)other.y << 32 | other.x;
    out[12] = (uint64_t)other.w << 32 | other.z;
    out[9] = simt_shared_distance(fetched, &fetched[threadIdx.x].y);
}

/* In the order of enum simt_test_kernel. */
#define SIMT_TEST_TABLE                                                                                                \
    {                                                                                                                  \
        SIMT_KERNEL_ENTRY(simt_test_places, 96), SIMT_KERNEL_ENTRY(simt_test_bits, 64),                                \
            SIMT_KERNEL_ENTRY(simt_test_shuffles, 128), SIMT_KERNEL_ENTRY(simt_test_votes, 64),                        \
            SIMT_KERNEL_ENTRY(simt_test_groups, 64), SIMT_KERNEL_ENTRY(simt_test_early_end, 64),                       \
            SIMT_KERNEL_ENTRY(simt_test_warp_scan, 128), SIMT_KERNEL_ENTRY(simt_test_block_scan, 1024),                \
            SIMT_KERNEL_ENTRY(simt_test_partial_warp, 70), SIMT_KERNEL_ENTRY(simt_test_shared_limit, 256),             \
            SIMT_KERNEL_ENTRY(simt_test_atomics, 128), SIMT_KERNEL_ENTRY(simt_test_spin_lock, 64),                     \
            SIMT_KERNEL_ENTRY(simt_test_last_block, 128), SIMT_KERNEL_ENTRY(simt_test_message, 128),                   \
            SIMT_KERNEL_ENTRY(simt_test_accesses, 64)                                                                  \
    }

/* Kernels with a fault in each, for the emulator to find. All with one struct of arguments. */
#include "simt/simt.h"

struct broken_arguments {
    uint32_t *out; /* one word for each thread, 16-byte aligned */
    uint64_t n;
    uint32_t fixed; /* not 0: without the fault, where a kernel offers that */
};

#define BROKEN(name) SIMT_KERNEL(broken_##name, struct broken_arguments, 64, 1)

SIMT_DEVICE uint64_t broken_thread(void)
{
    return (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
}

/* --- order: the answer is right or wrong as the lanes happen to run -------------------------------------------------- */

/* Reads what the lane before it writes, which in ascending order of the lanes has been written. */
BROKEN(missing_syncwarp)
{
    SIMT_SHARED(uint32_t, words, 64);
    words[threadIdx.x] = threadIdx.x;
    if (a.fixed) __syncwarp(SIMT_FULL_MASK);
    a.out[broken_thread()] = simt_lane() > 0 ? words[threadIdx.x - 1] : SIMT_FULL_MASK;
}

/* A vote brings the lanes together, but orders none of their accesses. */
BROKEN(vote_for_barrier)
{
    SIMT_SHARED(uint32_t, words, 64);
    words[threadIdx.x] = threadIdx.x;
    if (a.fixed) {
        __syncwarp(SIMT_FULL_MASK);
    } else {
        (void)__ballot_sync(SIMT_FULL_MASK, 1);
    }
    a.out[broken_thread()] = simt_lane() > 0 ? words[threadIdx.x - 1] : SIMT_FULL_MASK;
}

/* The second warp reads what the first writes; only the barrier of each warp is there. */
BROKEN(missing_syncthreads)
{
    SIMT_SHARED(uint32_t, words, 64);
    words[threadIdx.x] = threadIdx.x;
    if (a.fixed) {
        __syncthreads();
    } else {
        __syncwarp(SIMT_FULL_MASK);
    }
    a.out[broken_thread()] = simt_warp() > 0 ? words[threadIdx.x - SIMT_WARP] : 0;
}

/* Writes again before all have read. */
BROKEN(early_overwrite)
{
    SIMT_SHARED(uint32_t, words, 64);
    words[threadIdx.x] = threadIdx.x;
    __syncthreads();
    uint32_t other = words[63 - threadIdx.x];
    if (a.fixed) __syncthreads();
    words[threadIdx.x] = 1000;
    a.out[broken_thread()] = other;
}

/* Adds to a word by a load and a store; all threads of the grid. */
BROKEN(lost_update)
{
    if (a.fixed) {
        (void)simt_atomic_add_u32(a.out, 1);
    } else {
        simt_store_relaxed_u32(a.out, simt_load_relaxed_u32(a.out) + 1);
    }
}

/* The same without even that: a race in the sense of the language. */
BROKEN(plain_update)
{
    if (a.fixed) {
        (void)simt_atomic_add_u32(a.out, 1);
    } else {
        a.out[0] += 1;
    }
}

/* Says that the message is there, then writes it. */
BROKEN(late_message)
{
    uint32_t *message = a.out + (uint64_t)blockIdx.x * blockDim.x + 32, *ready = message + 1;
    if (threadIdx.x == 0) {
        if (a.fixed) *message = 7;
        simt_store_release_u32(ready, 1);
        if (!a.fixed) *message = 7;
    } else if (threadIdx.x == 32) {
        while (simt_load_acquire_u32(ready) == 0) simt_yield();
        a.out[(uint64_t)blockIdx.x * blockDim.x] = *message;
    }
}

/* --- collectives and barriers ---------------------------------------------------------------------------------------- */

BROKEN(mask_without_self)
{
    a.out[broken_thread()] = __ballot_sync(simt_lane() == 9 ? 0xffu : SIMT_FULL_MASK, 1);
}

BROKEN(lane_ended_before)
{
    if (threadIdx.x == 3) return;
    a.out[broken_thread()] = simt_shfl_u32(threadIdx.x > 3 && threadIdx.x < 32 ? 0xfffffff8u : 0x7u, 1, 0);
}

BROKEN(lane_ends_after)
{
    if (threadIdx.x != 41) __syncwarp(SIMT_FULL_MASK);
    a.out[broken_thread()] = 1;
}

BROKEN(different_masks)
{
    a.out[broken_thread()] = __ballot_sync(simt_lane() < 8 ? 0xffffu : SIMT_FULL_MASK, 1);
}

BROKEN(different_collectives)
{
    if (simt_lane() < 16) {
        __syncwarp(SIMT_FULL_MASK);
    } else {
        a.out[broken_thread()] = __any_sync(SIMT_FULL_MASK, 1);
    }
}

/* Lanes 0, 1 and 2, each waits for the next. */
BROKEN(circle)
{
    uint32_t lane = simt_lane();
    if (lane < 3) __syncwarp(1u << lane | 1u << (lane + 1) % 3);
}

BROKEN(reads_outside_mask)
{
    uint32_t mask = simt_lane() < 4 ? 0xfu : 0xfffffff0u;
    a.out[broken_thread()] = simt_shfl_xor_u32(mask, 1, 4);
}

BROKEN(collective_and_barrier)
{
    if (threadIdx.x == 35) {
        __syncthreads();
    } else {
        __syncwarp(SIMT_FULL_MASK);
        __syncthreads();
    }
}

BROKEN(barrier_not_reached)
{
    if (threadIdx.x < 40) __syncthreads();
    a.out[broken_thread()] = 1;
}

BROKEN(barrier_after_end)
{
    if (threadIdx.x == 0) return;
    __syncthreads();
}

BROKEN(two_barriers)
{
    if (simt_warp() == 0) {
        __syncthreads();
    } else {
        a.out[broken_thread()] = 1;
        __syncthreads();
    }
}

/* Waits for a flag that nobody sets. */
BROKEN(waits_for_ever)
{
    while (simt_load_acquire_u32(a.out) == 0) simt_yield();
}

/* ... and as a warp does it. */
BROKEN(votes_for_ever)
{
    uint32_t done = 0;
    while (!__all_sync(SIMT_FULL_MASK, (int)done)) done = simt_atomic_or_u32(a.out, 0);
}

/* --- memory ---------------------------------------------------------------------------------------------------------- */

BROKEN(behind_shared)
{
    SIMT_SHARED(uint32_t, words, 64);
    SIMT_SHARED(uint32_t, others, 64);
    others[threadIdx.x] = 1;
    words[threadIdx.x + 1] = 5;
}

BROKEN(before_shared)
{
    SIMT_SHARED(uint64_t, words, 64);
    words[(int)threadIdx.x - 1] = 5;
}

BROKEN(reads_behind_shared)
{
    SIMT_SHARED(uint32_t, words, 64);
    words[threadIdx.x] = 1;
    a.out[broken_thread()] = words[threadIdx.x + 1];
}

BROKEN(behind_global)
{
    a.out[broken_thread() + 1] = 1;
}

BROKEN(too_much_shared)
{
    SIMT_SHARED(uint32_t, words, 12288);
    SIMT_SHARED(uint8_t, more, 1);
    words[threadIdx.x] = 1;
    more[0] = 1;
}

BROKEN(misaligned)
{
    a.out[broken_thread()] = simt_load16(a.out + 1).x;
}

BROKEN(wide_load_of_shared)
{
    SIMT_SHARED(simt_u32x4, words, 64);
    words[threadIdx.x].x = 1;
    a.out[broken_thread()] = simt_load16_once((const char *)words + (16 - (uintptr_t)words % 16) % 16).x;
}

/* Not a fault but a use of what is undefined: shared memory that nobody has written. */
BROKEN(uninitialized)
{
    SIMT_SHARED(uint32_t, words, 64);
    if (a.fixed) words[threadIdx.x] = 0;
    words[threadIdx.x] += 1;
    a.out[broken_thread()] = words[threadIdx.x];
}

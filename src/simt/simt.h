/*
 * SIMT: the language of kernels. It is what C11 and CUDA C++ have in common, so that nvcc compiles a kernel for a card
 * (simt_cuda.h) and the host's C compiler the same text for the emulator (simt_host.h).
 *
 *   typedef struct { const uint32_t *in; uint32_t *out; uint64_t n; } double_arguments;
 *
 *   SIMT_KERNEL(double_them, double_arguments, 256, 1)
 *   {
 *       uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
 *       if (i < a.n) a.out[i] = 2 * a.in[i];
 *   }
 *   static const copse_kernel kernel = SIMT_KERNEL_ENTRY(double_them, 256);
 *
 * SIMT_KERNEL(name, arguments_type, threads_per_block, min_blocks_per_multiprocessor)
 *                                      heads a kernel; its one argument is a struct, called `a`
 * SIMT_KERNEL_ENTRY(name, threads)     initializer of the copse_kernel (simt/kernel.h) of that kernel
 * SIMT_DEVICE                          heads a function that kernels call
 * SIMT_SHARED(type, name, count);      an array in the block's shared memory; not initialized; sizeof name is not its
 *                                      size. All of a kernel's: at most SIMT_SHARED_BYTES
 * simt_shared_distance(from, to)       bytes between two elements of one such array, in 32 bits: a difference of pointers
 *                                      makes the card's compiler keep both in 64, and whatever they were computed from
 * simt_shared_kept(pointer)            the same pointer: the card's compiler keeps its address, and does not compute it anew
 *                                      wherever it is used
 * simt_shared_put_if_u32(condition, array, at, v), _u64   array[at] = v in shared memory, or nothing, without a branch
 * SIMT_UNROLL SIMT_ROLLED              before a loop: the card's compiler should unroll it; should not
 * SIMT_FULL_MASK, SIMT_WARP            all lanes of a warp; their number, 32
 *
 * threadIdx.x blockIdx.x blockDim.x gridDim.x
 * simt_lane() simt_warp()              the thread's number in its warp; the warp's number in its block
 *
 * __syncthreads()                      every thread of the block, from the same line
 * __syncwarp(mask)                     the lanes in mask; orders their memory accesses
 * simt_shfl_u32(mask, v, lane)         v of that lane         all lanes in the mask call the same function with the
 * simt_shfl_xor_u32(mask, v, x)        v of lane ^ x          same mask; the mask names the caller and no lane that
 * simt_shfl_up_u32(mask, v, d)         v of lane - d, or own  has ended. These order no memory accesses: only
 * simt_shfl_down_u32(mask, v, d)       v of lane + d, or own  __syncwarp and __syncthreads do.
 *                                      ... and all four with _u64
 * __ballot_sync(mask, p) __any_sync(mask, p) __all_sync(mask, p)
 * __activemask()                       some lanes that are here now, among them the caller; never a mask to rely on
 * __popc __popcll __ffs __ffsll __clz __clzll
 *
 * simt_atomic_add_u32(p, v) ... min, max, or, and, exchange, cas(p, expected, v); also _u64. Device scope, relaxed;
 *                                      each returns what was there before
 * simt_load_relaxed_u32(p) simt_store_relaxed_u32(p, v), _u64     for words that others change at the same time
 * simt_load_acquire_u32(p) simt_store_release_u32(p, v), _u64
 * __threadfence() __threadfence_block()
 * simt_yield()                         in a loop that waits for another thread: let the others run
 *
 * In global memory only, aligned to their size:
 * simt_load16(p)                       16 bytes as a simt_u32x4 (x y z w) through the read-only cache
 * simt_load16_once(p) simt_load_once_u32(p) simt_load_once_u64(p)   the same without taking up L1
 *                                      all of these: from memory that nothing writes while the kernel runs
 * simt_store_once_u8(p, v), _u32, _u64                              written now, not read soon
 * simt_fetch16(shared, p)              16 bytes on their way to shared memory, aligned on both sides, while the thread goes on;
 * simt_fetch16_if(condition, shared, p)   the same, or nothing
 * simt_fetch_wait()                    all that this thread fetched is there, for itself: __syncwarp for the others
 * simt_prefetch(p, bytes)              will be read soon: brought as far as L2; both multiples of 16
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define SIMT_WARP         32u
#define SIMT_FULL_MASK    0xffffffffu
#define SIMT_SHARED_BYTES (48u << 10)
#define SIMT_MOST_THREADS 1024u /* of a block */

#ifdef __CUDACC__
#include "simt/simt_cuda.h"
#else
#include "simt/simt_host.h"
#endif

/* Through one more macro, so that the name may itself be one (kernels of several widths). */
#define SIMT_KERNEL(name, arguments_type, threads, min_blocks) SIMT_KERNEL_(name, arguments_type, threads, min_blocks)
#define SIMT_KERNEL_ENTRY(name, threads)                       SIMT_KERNEL_ENTRY_(name, threads)
#define SIMT_KERNEL_ENTRY_(name, threads)                                                                              \
    {                                                                                                                  \
        SIMT_TEXT_(name), (const void *)name, threads                                                                  \
    }
#define SIMT_TEXT_(name) #name

SIMT_DEVICE uint32_t simt_lane(void)
{
    return threadIdx.x & (SIMT_WARP - 1u);
}

SIMT_DEVICE uint32_t simt_warp(void)
{
    return threadIdx.x / SIMT_WARP;
}

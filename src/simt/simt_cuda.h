/* SIMT under nvcc: thin names over what CUDA has. Included by simt.h, which says what each of these is. */
#pragma once

#include <cuda_runtime.h>

#define SIMT_DEVICE                    static __device__ __forceinline__
#define SIMT_SHARED(type, name, count) __shared__ type name[count]
#define SIMT_UNROLL                    _Pragma("unroll")
#define SIMT_ROLLED                    _Pragma("unroll 1")

#define SIMT_KERNEL_(name, arguments_type, threads, min_blocks)                                                        \
    static __global__ void __launch_bounds__(threads, min_blocks) name(const __grid_constant__ arguments_type a)

typedef uint4 simt_u32x4;

SIMT_DEVICE uint32_t simt_shared_distance(const void *from, const void *to)
{
    return (uint32_t)__cvta_generic_to_shared(to) - (uint32_t)__cvta_generic_to_shared(from);
}

/* An address that comes out of asm cannot be computed again; that it is shared memory, the compiler still sees. */
SIMT_DEVICE void *simt_shared_kept(void *pointer)
{
    uint32_t address = (uint32_t)__cvta_generic_to_shared(pointer);
    asm volatile("" : "+r"(address));
    return __cvta_shared_to_generic(address);
}

#define SIMT_PUT_IF_(bits, type, letter)                                                                               \
    SIMT_DEVICE void simt_shared_put_if_u##bits(bool condition, type *array, uint32_t at, type value)                  \
    {                                                                                                                  \
        asm volatile("{ .reg .pred go; setp.ne.u32 go, %0, 0; @go st.shared.u" #bits                                   \
                     " [%1], %2; }" ::"r"((uint32_t)condition),                                                        \
                     "r"((uint32_t)__cvta_generic_to_shared(&array[at])), letter(value)                                \
                     : "memory");                                                                                      \
    }
SIMT_PUT_IF_(32, uint32_t, "r")
SIMT_PUT_IF_(64, uint64_t, "l")
#undef SIMT_PUT_IF_

/* --- shuffles ------------------------------------------------------------------------------------------------------- */

/* CUDA's 64-bit integer is unsigned long long, which is another type than uint64_t though of the same size. */
#define SIMT_SHUFFLE_(name, function, argument)                                                                        \
    SIMT_DEVICE uint32_t name##_u32(uint32_t mask, uint32_t value, uint32_t argument)                                  \
    {                                                                                                                  \
        return function(mask, value, argument);                                                                        \
    }                                                                                                                  \
    SIMT_DEVICE uint64_t name##_u64(uint32_t mask, uint64_t value, uint32_t argument)                                  \
    {                                                                                                                  \
        return function(mask, (unsigned long long)value, argument);                                                    \
    }

SIMT_SHUFFLE_(simt_shfl, __shfl_sync, lane)
SIMT_SHUFFLE_(simt_shfl_xor, __shfl_xor_sync, lanes)
SIMT_SHUFFLE_(simt_shfl_up, __shfl_up_sync, distance)
SIMT_SHUFFLE_(simt_shfl_down, __shfl_down_sync, distance)
#undef SIMT_SHUFFLE_

/* --- atomics -------------------------------------------------------------------------------------------------------- */

#define SIMT_ATOMIC_(name, function)                                                                                   \
    SIMT_DEVICE uint32_t name##_u32(uint32_t *p, uint32_t value)                                                       \
    {                                                                                                                  \
        return function(p, value);                                                                                     \
    }                                                                                                                  \
    SIMT_DEVICE uint64_t name##_u64(uint64_t *p, uint64_t value)                                                       \
    {                                                                                                                  \
        return function((unsigned long long *)p, (unsigned long long)value);                                           \
    }

SIMT_ATOMIC_(simt_atomic_add, atomicAdd)
SIMT_ATOMIC_(simt_atomic_min, atomicMin)
SIMT_ATOMIC_(simt_atomic_max, atomicMax)
SIMT_ATOMIC_(simt_atomic_or, atomicOr)
SIMT_ATOMIC_(simt_atomic_and, atomicAnd)
SIMT_ATOMIC_(simt_atomic_exchange, atomicExch)
#undef SIMT_ATOMIC_

SIMT_DEVICE uint32_t simt_atomic_cas_u32(uint32_t *p, uint32_t expected, uint32_t value)
{
    return atomicCAS(p, expected, value);
}

SIMT_DEVICE uint64_t simt_atomic_cas_u64(uint64_t *p, uint64_t expected, uint64_t value)
{
    return atomicCAS((unsigned long long *)p, (unsigned long long)expected, (unsigned long long)value);
}

/* Generic addresses: these work on shared memory as well. */
#define SIMT_ORDERED_(bits, type, letter)                                                                              \
    SIMT_DEVICE type simt_load_relaxed_u##bits(const type *p)                                                          \
    {                                                                                                                  \
        type value;                                                                                                    \
        asm volatile("ld.relaxed.gpu.u" #bits " %0, [%1];" : "=" letter(value) : "l"(p) : "memory");                   \
        return value;                                                                                                  \
    }                                                                                                                  \
    SIMT_DEVICE type simt_load_acquire_u##bits(const type *p)                                                          \
    {                                                                                                                  \
        type value;                                                                                                    \
        asm volatile("ld.acquire.gpu.u" #bits " %0, [%1];" : "=" letter(value) : "l"(p) : "memory");                   \
        return value;                                                                                                  \
    }                                                                                                                  \
    SIMT_DEVICE void simt_store_relaxed_u##bits(type *p, type value)                                                   \
    {                                                                                                                  \
        asm volatile("st.relaxed.gpu.u" #bits " [%0], %1;" ::"l"(p), letter(value) : "memory");                        \
    }                                                                                                                  \
    SIMT_DEVICE void simt_store_release_u##bits(type *p, type value)                                                   \
    {                                                                                                                  \
        asm volatile("st.release.gpu.u" #bits " [%0], %1;" ::"l"(p), letter(value) : "memory");                        \
    }

SIMT_ORDERED_(32, uint32_t, "r")
SIMT_ORDERED_(64, uint64_t, "l")
#undef SIMT_ORDERED_

SIMT_DEVICE void simt_yield(void)
{
    __nanosleep(32);
}

/* --- loads and stores that say how long they want to be remembered --------------------------------------------------- */

SIMT_DEVICE simt_u32x4 simt_load16(const void *p)
{
    return __ldg((const uint4 *)p);
}

/* The loads below are asm without `volatile`: what they read does not change while the kernel runs, so the compiler is
 * free to move them, join them and leave them out. */
SIMT_DEVICE simt_u32x4 simt_load16_once(const void *p)
{
    uint4 v;
    asm("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
        : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
        : "l"(__cvta_generic_to_global(p)));
    return v;
}

SIMT_DEVICE uint32_t simt_load_once_u32(const uint32_t *p)
{
    uint32_t value;
    asm("ld.global.nc.L1::no_allocate.u32 %0, [%1];" : "=r"(value) : "l"(__cvta_generic_to_global(p)));
    return value;
}

SIMT_DEVICE uint64_t simt_load_once_u64(const uint64_t *p)
{
    uint64_t value;
    asm("ld.global.nc.L1::no_allocate.u64 %0, [%1];" : "=l"(value) : "l"(__cvta_generic_to_global(p)));
    return value;
}

SIMT_DEVICE void simt_fetch16(void *shared, const void *p)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"((uint32_t)__cvta_generic_to_shared(shared)),
                 "l"(__cvta_generic_to_global(p))
                 : "memory");
}

/* Without a branch, so that the compiler does not move what the addresses are made of into it, and repeat it there. */
SIMT_DEVICE void simt_fetch16_if(bool condition, void *shared, const void *p)
{
    asm volatile("{ .reg .pred go; setp.ne.u32 go, %2, 0; @go cp.async.cg.shared.global [%0], [%1], 16; }" ::"r"(
                     (uint32_t)__cvta_generic_to_shared(shared)),
                 "l"(__cvta_generic_to_global(p)), "r"((uint32_t)condition)
                 : "memory");
}

SIMT_DEVICE void simt_fetch_wait(void)
{
    asm volatile("cp.async.wait_all;" ::: "memory");
}

/* Sector by sector: a bulk prefetch takes its address from a uniform register, so that lanes would take turns. */
SIMT_DEVICE void simt_prefetch(const void *p, uint32_t bytes)
{
    for (uint32_t at = 0; at < bytes; at += 32u)
        asm volatile("prefetch.global.L2 [%0];" ::"l"(__cvta_generic_to_global((const char *)p + at)));
}

SIMT_DEVICE void simt_store_once_u8(uint8_t *p, uint8_t value)
{
    __stcs(p, value);
}

SIMT_DEVICE void simt_store_once_u32(uint32_t *p, uint32_t value)
{
    __stcs(p, value);
}

SIMT_DEVICE void simt_store_once_u64(uint64_t *p, uint64_t value)
{
    __stcs((unsigned long long *)p, (unsigned long long)value);
}

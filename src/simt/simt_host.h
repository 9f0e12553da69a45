/* SIMT under the host's C compiler: what a kernel calls, over the emulator (emulator.c). Included by simt.h, which says
 * what each of these is. Code of the emulator's side begins with copse_simt_; kernels do not name it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define SIMT_DEVICE static inline
#define SIMT_UNROLL
#define SIMT_ROLLED

#define SIMT_KERNEL_(name, arguments_type, threads, min_blocks)                                                        \
    static void name##_body_(const arguments_type a);                                                                  \
    __attribute__((unused)) static void name(const void *arguments)                                                    \
    {                                                                                                                  \
        name##_body_(*(const arguments_type *)arguments);                                                              \
    }                                                                                                                  \
    static void name##_body_(const arguments_type a __attribute__((unused)))

/* The static object is what the lanes of a block agree on: each gets the address that the block's first one got. */
#define SIMT_SHARED(type, name, count)                                                                                 \
    static const copse_simt_array name##_array_ = {#name, sizeof(type) * (count), _Alignof(type)};                     \
    type *const name = (type *)copse_simt_shared(&name##_array_)

typedef struct simt_u32x4 {
    _Alignas(16) uint32_t x;
    uint32_t y, z, w;
} simt_u32x4;

SIMT_DEVICE uint32_t simt_shared_distance(const void *from, const void *to)
{
    return (uint32_t)((const char *)to - (const char *)from);
}

SIMT_DEVICE void simt_shared_put_if_u32(bool condition, uint32_t *array, uint32_t at, uint32_t value)
{
    if (condition) array[at] = value;
}

SIMT_DEVICE void simt_shared_put_if_u64(bool condition, uint64_t *array, uint32_t at, uint64_t value)
{
    if (condition) array[at] = value;
}

SIMT_DEVICE void *simt_shared_kept(void *pointer)
{
    return pointer;
}

/* --- the emulator's side -------------------------------------------------------------------------------------------- */

typedef struct copse_simt_index {
    uint32_t x;
} copse_simt_index;

/* What the code of a kernel reads about the thread that it runs as. */
typedef struct copse_simt_self {
    copse_simt_index thread, block, block_threads, blocks;
    uint32_t patience; /* operations on memory until another lane's turn */
    uintptr_t shared;  /* where the block's shared memory lies */
} copse_simt_self;

typedef struct copse_simt_array {
    const char *name;
    size_t bytes;
    size_t alignment;
} copse_simt_array;

typedef enum copse_simt_collective {
    COPSE_SIMT_SYNCWARP,
    COPSE_SIMT_BALLOT,
    COPSE_SIMT_ANY,
    COPSE_SIMT_ALL,
    COPSE_SIMT_SHFL_U32,
    COPSE_SIMT_SHFL_U64,
    COPSE_SIMT_SHFL_XOR_U32,
    COPSE_SIMT_SHFL_XOR_U64,
    COPSE_SIMT_SHFL_UP_U32,
    COPSE_SIMT_SHFL_UP_U64,
    COPSE_SIMT_SHFL_DOWN_U32,
    COPSE_SIMT_SHFL_DOWN_U64
} copse_simt_collective;

/* Set by the emulator whenever a lane gets its turn. A lane stays on one host thread for all its life. */
extern _Thread_local copse_simt_self *copse_simt_me;

void *copse_simt_shared(const copse_simt_array *array);
void copse_simt_barrier(unsigned line);
/* `argument` is the lane, the mask or the distance of a shuffle. */
uint64_t copse_simt_rendezvous(copse_simt_collective collective, uint32_t mask, uint64_t value, uint32_t argument);
void copse_simt_preempt(void);
/* The same in a loop that waits for another thread: the others come first. */
void copse_simt_wait(void);
void copse_simt_fence(void);
/* Ends the launch with a sentence about this access. */
void copse_simt_bad_access(const void *p, unsigned bytes, const char *function);

#define COPSE_SIMT_SHARED_SPAN (64u << 10) /* of the block's shared memory with what lies between its arrays */

/* Another lane may get its turn here. Before and after each operation that lanes talk through, since a fault may be in
 * what comes before or after. */
static inline void copse_simt_pause(void)
{
    if (--copse_simt_me->patience == 0) copse_simt_preempt();
}

static inline void copse_simt_check_global(const void *p, unsigned bytes, const char *function)
{
    if ((uintptr_t)p % bytes != 0 || (uintptr_t)p - copse_simt_me->shared < COPSE_SIMT_SHARED_SPAN) {
        copse_simt_bad_access(p, bytes, function);
    }
}

static inline void copse_simt_check_shared(const void *p, unsigned bytes, const char *function)
{
    if ((uintptr_t)p % bytes != 0 || (uintptr_t)p - copse_simt_me->shared >= COPSE_SIMT_SHARED_SPAN) {
        copse_simt_bad_access(p, bytes, function);
    }
}

/* --- thread numbers and collectives ------------------------------------------------------------------------------------------ */

#define threadIdx       (copse_simt_me->thread)
#define blockIdx        (copse_simt_me->block)
#define blockDim        (copse_simt_me->block_threads)
#define gridDim         (copse_simt_me->blocks)
#define __syncthreads() copse_simt_barrier(__LINE__)

static inline void __syncwarp(uint32_t mask)
{
    (void)copse_simt_rendezvous(COPSE_SIMT_SYNCWARP, mask, 0, 0);
}

static inline uint32_t __ballot_sync(uint32_t mask, int predicate)
{
    return (uint32_t)copse_simt_rendezvous(COPSE_SIMT_BALLOT, mask, predicate != 0, 0);
}

static inline int __any_sync(uint32_t mask, int predicate)
{
    return (int)copse_simt_rendezvous(COPSE_SIMT_ANY, mask, predicate != 0, 0);
}

static inline int __all_sync(uint32_t mask, int predicate)
{
    return (int)copse_simt_rendezvous(COPSE_SIMT_ALL, mask, predicate != 0, 0);
}

/* The caller alone is the one answer that is right in any order of the lanes, and code that relies on more is wrong. */
static inline uint32_t __activemask(void)
{
    return 1u << (copse_simt_me->thread.x & 31u);
}

#define SIMT_SHUFFLE_(name, collective, argument)                                                                      \
    static inline uint32_t name##_u32(uint32_t mask, uint32_t value, uint32_t argument)                                \
    {                                                                                                                  \
        return (uint32_t)copse_simt_rendezvous(collective##_U32, mask, value, argument);                               \
    }                                                                                                                  \
    static inline uint64_t name##_u64(uint32_t mask, uint64_t value, uint32_t argument)                                \
    {                                                                                                                  \
        return copse_simt_rendezvous(collective##_U64, mask, value, argument);                                         \
    }

SIMT_SHUFFLE_(simt_shfl, COPSE_SIMT_SHFL, lane)
SIMT_SHUFFLE_(simt_shfl_xor, COPSE_SIMT_SHFL_XOR, lanes)
SIMT_SHUFFLE_(simt_shfl_up, COPSE_SIMT_SHFL_UP, distance)
SIMT_SHUFFLE_(simt_shfl_down, COPSE_SIMT_SHFL_DOWN, distance)
#undef SIMT_SHUFFLE_

/* --- bits ------------------------------------------------------------------------------------------------------------ */

static inline int __popc(uint32_t x)
{
    return __builtin_popcount(x);
}

static inline int __popcll(uint64_t x)
{
    return __builtin_popcountll(x);
}

static inline int __ffs(uint32_t x)
{
    return __builtin_ffs((int)x);
}

static inline int __ffsll(uint64_t x)
{
    return __builtin_ffsll((long long)x);
}

static inline int __clz(uint32_t x)
{
    return x ? __builtin_clz(x) : 32;
}

static inline int __clzll(uint64_t x)
{
    return x ? __builtin_clzll(x) : 64;
}

/* --- atomics -------------------------------------------------------------------------------------------------------- */

#define SIMT_ATOMIC_(name, type, builtin)                                                                              \
    static inline type name(type *p, type value)                                                                       \
    {                                                                                                                  \
        copse_simt_pause();                                                                                            \
        type old = builtin(p, value, __ATOMIC_RELAXED);                                                                \
        copse_simt_pause();                                                                                            \
        return old;                                                                                                    \
    }

/* Minimum and maximum, which the compilers have no operation for. */
#define SIMT_ATOMIC_CHOICE_(name, type, is_better)                                                                     \
    static inline type name(type *p, type value)                                                                       \
    {                                                                                                                  \
        copse_simt_pause();                                                                                            \
        type old = __atomic_load_n(p, __ATOMIC_RELAXED);                                                               \
        while (value is_better old &&                                                                                  \
               !__atomic_compare_exchange_n(p, &old, value, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {               \
        }                                                                                                              \
        copse_simt_pause();                                                                                            \
        return old;                                                                                                    \
    }

#define SIMT_ATOMICS_(bits, type)                                                                                      \
    SIMT_ATOMIC_(simt_atomic_add_u##bits, type, __atomic_fetch_add)                                                    \
    SIMT_ATOMIC_(simt_atomic_or_u##bits, type, __atomic_fetch_or)                                                      \
    SIMT_ATOMIC_(simt_atomic_and_u##bits, type, __atomic_fetch_and)                                                    \
    SIMT_ATOMIC_(simt_atomic_exchange_u##bits, type, __atomic_exchange_n)                                              \
    SIMT_ATOMIC_CHOICE_(simt_atomic_min_u##bits, type, <)                                                              \
    SIMT_ATOMIC_CHOICE_(simt_atomic_max_u##bits, type, >)                                                              \
    static inline type simt_atomic_cas_u##bits(type *p, type expected, type value)                                     \
    {                                                                                                                  \
        copse_simt_pause();                                                                                            \
        (void)__atomic_compare_exchange_n(p, &expected, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);             \
        copse_simt_pause();                                                                                            \
        return expected;                                                                                               \
    }                                                                                                                  \
    static inline type copse_simt_load_u##bits(const type *p, int order)                                               \
    {                                                                                                                  \
        copse_simt_pause();                                                                                            \
        type value =                                                                                                   \
            order == __ATOMIC_ACQUIRE ? __atomic_load_n(p, __ATOMIC_ACQUIRE) : __atomic_load_n(p, __ATOMIC_RELAXED);   \
        copse_simt_pause();                                                                                            \
        return value;                                                                                                  \
    }                                                                                                                  \
    static inline type simt_load_relaxed_u##bits(const type *p)                                                        \
    {                                                                                                                  \
        return copse_simt_load_u##bits(p, __ATOMIC_RELAXED);                                                           \
    }                                                                                                                  \
    static inline type simt_load_acquire_u##bits(const type *p)                                                        \
    {                                                                                                                  \
        return copse_simt_load_u##bits(p, __ATOMIC_ACQUIRE);                                                           \
    }                                                                                                                  \
    static inline void simt_store_relaxed_u##bits(type *p, type value)                                                 \
    {                                                                                                                  \
        copse_simt_pause();                                                                                            \
        __atomic_store_n(p, value, __ATOMIC_RELAXED);                                                                  \
        copse_simt_pause();                                                                                            \
    }                                                                                                                  \
    static inline void simt_store_release_u##bits(type *p, type value)                                                 \
    {                                                                                                                  \
        copse_simt_pause();                                                                                            \
        __atomic_store_n(p, value, __ATOMIC_RELEASE);                                                                  \
        copse_simt_pause();                                                                                            \
    }

SIMT_ATOMICS_(32, uint32_t)
SIMT_ATOMICS_(64, uint64_t)
#undef SIMT_ATOMICS_
#undef SIMT_ATOMIC_CHOICE_
#undef SIMT_ATOMIC_

static inline void __threadfence(void)
{
    copse_simt_pause();
    copse_simt_fence();
    copse_simt_pause();
}

static inline void __threadfence_block(void)
{
    __threadfence();
}

static inline void simt_yield(void)
{
    copse_simt_wait();
}

/* --- loads and stores that say how long they want to be remembered --------------------------------------------------- */

static inline simt_u32x4 copse_simt_load16(const void *p, const char *function)
{
    simt_u32x4 value;
    copse_simt_check_global(p, 16, function);
    memcpy(&value, p, sizeof value);
    return value;
}

static inline simt_u32x4 simt_load16(const void *p)
{
    return copse_simt_load16(p, "simt_load16");
}

static inline simt_u32x4 simt_load16_once(const void *p)
{
    return copse_simt_load16(p, "simt_load16_once");
}

static inline uint32_t simt_load_once_u32(const uint32_t *p)
{
    copse_simt_check_global(p, 4, "simt_load_once_u32");
    return *p;
}

static inline uint64_t simt_load_once_u64(const uint64_t *p)
{
    copse_simt_check_global(p, 8, "simt_load_once_u64");
    return *p;
}

static inline void simt_fetch16(void *shared, const void *p)
{
    copse_simt_check_shared(shared, 16, "simt_fetch16");
    const simt_u32x4 value = copse_simt_load16(p, "simt_fetch16");
    memcpy(shared, &value, sizeof value);
}

SIMT_DEVICE void simt_fetch16_if(bool condition, void *shared, const void *p)
{
    if (condition) simt_fetch16(shared, p);
}

static inline void simt_fetch_wait(void) {}

static inline void simt_prefetch(const void *p, uint32_t bytes)
{
    copse_simt_check_global(p, 16, "simt_prefetch");
    (void)bytes;
}

static inline void simt_store_once_u8(uint8_t *p, uint8_t value)
{
    copse_simt_check_global(p, 1, "simt_store_once_u8");
    *p = value;
}

static inline void simt_store_once_u32(uint32_t *p, uint32_t value)
{
    copse_simt_check_global(p, 4, "simt_store_once_u32");
    *p = value;
}

static inline void simt_store_once_u64(uint64_t *p, uint64_t value)
{
    copse_simt_check_global(p, 8, "simt_store_once_u64");
    *p = value;
}

/*
 * Order between lanes as ThreadSanitizer sees it. To it every lane is a thread, and the switches between them order
 * nothing; so the emulator has to say what a barrier orders. Atomic operations say just that, and this file, unlike the rest of
 * the emulator, is instrumented; that is all that its functions are for.
 */
#include "simt/emulator_internal.h"

#if COPSE_TSAN

void copse_emulator_edge_begin(uint64_t *edge)
{
    __atomic_store_n(edge, 0, __ATOMIC_RELEASE);
}

void copse_emulator_edge_leave(uint64_t *edge)
{
    (void)__atomic_fetch_add(edge, 1, __ATOMIC_RELEASE);
}

void copse_emulator_edge_pass(uint64_t *edge)
{
    (void)__atomic_load_n(edge, __ATOMIC_ACQUIRE);
}

/* ThreadSanitizer knows no fences. Through one word that all of them change, a fence is ordered after every fence before
 * it: more than the memory model says, so a race may be missed, but none is reported that is none. */
void copse_simt_fence(void)
{
    static uint64_t all_fences;
    (void)__atomic_fetch_add(&all_fences, 1, __ATOMIC_ACQ_REL);
}

#else

void copse_simt_fence(void)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

#endif

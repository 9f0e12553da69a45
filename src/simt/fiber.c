/* Fibers: stacks with a guard page, a switch in a few instructions where there is one written, ucontext elsewhere. */
#if !defined(__x86_64__)
#define COPSE_FIBER_UCONTEXT 1
#endif
#define _GNU_SOURCE /* mmap's flags, ucontext */
#include "simt/fiber.h"

#include "simt/sanitizers.h"

#include <stdint.h>
#include <sys/mman.h>
#ifdef COPSE_FIBER_UCONTEXT
#include <ucontext.h>
#endif

/* Instrumented code needs several times the stack. */
#if COPSE_ASAN || COPSE_TSAN
#define STACK_BYTES ((size_t)256 << 10)
#else
#define STACK_BYTES ((size_t)64 << 10)
#endif
/* At the low end, where a stack that runs over ends up. The largest page of the systems that this runs on. */
#define GUARD_BYTES ((size_t)64 << 10)

/* Lies at the high end of its own stack. */
struct copse_fiber {
#ifdef COPSE_FIBER_UCONTEXT
    ucontext_t host, own;
#else
    void *host, *own; /* stack pointers; all else is on the stacks */
#endif
    void (*body)(void *);
    void *argument;
    bool ended;
    bool abandoned;
    char *mapping; /* guard and stack */
#if COPSE_ASAN
    void *host_fake_stack, *own_fake_stack;
    const void *host_stack;
    size_t host_stack_bytes;
#endif
#if COPSE_TSAN
    void *host_thread, *own_thread; /* what ThreadSanitizer takes them for */
#endif
};

/* --- the switch itself ------------------------------------------------------------------------------------------------ */

static void fiber_main(copse_fiber *fiber);

#ifdef COPSE_FIBER_UCONTEXT

static void swap_to_own(copse_fiber *fiber)
{
    (void)swapcontext(&fiber->host, &fiber->own);
}

static void swap_to_host(copse_fiber *fiber)
{
    (void)swapcontext(&fiber->own, &fiber->host);
}

/* makecontext passes nothing wider than int. */
static void fiber_entry(unsigned high, unsigned low)
{
    fiber_main((copse_fiber *)((uintptr_t)high << 16 << 16 | low));
}

static void prepare(copse_fiber *fiber)
{
    (void)getcontext(&fiber->own);
    fiber->own.uc_stack.ss_sp = fiber->mapping + GUARD_BYTES;
    fiber->own.uc_stack.ss_size = (size_t)((char *)fiber - (fiber->mapping + GUARD_BYTES));
    fiber->own.uc_link = NULL;
    makecontext(&fiber->own, (void (*)(void))fiber_entry, 2, (unsigned)((uintptr_t)fiber >> 16 >> 16),
                (unsigned)(uintptr_t)fiber);
}

#else

/* Keeps what a called function must keep, leaves by a jump: a return would be predicted to the last caller, which is
 * never right here. The floating point control words are not touched by anything here and stay as they are. */
__asm__(".text\n"
        ".p2align 4\n"
        ".hidden copse_fiber_swap\n"
        ".globl copse_fiber_swap\n"
        ".type copse_fiber_swap, @function\n"
        "copse_fiber_swap:\n"
        "    pushq %rbp\n"
        "    pushq %rbx\n"
        "    pushq %r12\n"
        "    pushq %r13\n"
        "    pushq %r14\n"
        "    pushq %r15\n"
        "    movq %rsp, (%rdi)\n"
        "    movq %rsi, %rsp\n"
        "    popq %r15\n"
        "    popq %r14\n"
        "    popq %r13\n"
        "    popq %r12\n"
        "    popq %rbx\n"
        "    popq %rbp\n"
        "    popq %rcx\n"
        "    jmp *%rcx\n"
        ".size copse_fiber_swap, . - copse_fiber_swap\n"
        ".p2align 4\n"
        ".hidden copse_fiber_entry\n"
        ".globl copse_fiber_entry\n"
        ".type copse_fiber_entry, @function\n"
        "copse_fiber_entry:\n"
        "    .cfi_startproc\n"
        "    .cfi_undefined rip\n" /* the outermost frame: debuggers stop here */
        "    movq %r12, %rdi\n"
        "    call *%r13\n"
        "    ud2\n"
        "    .cfi_endproc\n"
        ".size copse_fiber_entry, . - copse_fiber_entry\n");

/* Stores the stack pointer in *from and goes on where the one that stored `to` stopped. */
void copse_fiber_swap(void **from, void *to);
void copse_fiber_entry(void);

static inline void swap_to_own(copse_fiber *fiber)
{
    copse_fiber_swap(&fiber->host, fiber->own);
}

static inline void swap_to_host(copse_fiber *fiber)
{
    copse_fiber_swap(&fiber->own, fiber->host);
}

/* A stack as if copse_fiber_swap had been called on it from copse_fiber_entry. */
static COPSE_NO_TSAN void prepare(copse_fiber *fiber)
{
    uintptr_t *top = (uintptr_t *)((uintptr_t)fiber & ~(uintptr_t)15);
    *--top = (uintptr_t)copse_fiber_entry; /* which then finds the stack aligned, as calls need it */
    *--top = 0;                            /* rbp: ends the chain of frames */
    *--top = 0;                            /* rbx */
    *--top = (uintptr_t)fiber;             /* r12 */
    *--top = (uintptr_t)fiber_main;        /* r13 */
    *--top = 0;                            /* r14 */
    *--top = 0;                            /* r15 */
    fiber->own = top;
}

#endif

/* --- the switch with what sanitizers have to know ---------------------------------------------------------------------- */

#if COPSE_TSAN
/* Without this flag, every switch would order what the lanes do, and no race would be seen. */
static const unsigned no_order = 1 /* __tsan_switch_to_fiber_no_sync */;
#endif

static COPSE_NO_TSAN bool enter(copse_fiber *fiber)
{
#if COPSE_ASAN
    __sanitizer_start_switch_fiber(&fiber->host_fake_stack, fiber->mapping + GUARD_BYTES, STACK_BYTES);
#endif
#if COPSE_TSAN
    fiber->host_thread = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(fiber->own_thread, no_order);
#endif
    swap_to_own(fiber);
#if COPSE_ASAN
    __sanitizer_finish_switch_fiber(fiber->host_fake_stack, NULL, NULL);
#endif
    return fiber->ended;
}

/* `for_good`: this stack is not coming back to where it is now. */
static COPSE_NO_TSAN void leave(copse_fiber *fiber, bool for_good)
{
#if COPSE_ASAN
    __sanitizer_start_switch_fiber(for_good ? NULL : &fiber->own_fake_stack, fiber->host_stack,
                                   fiber->host_stack_bytes);
#else
    (void)for_good;
#endif
#if COPSE_TSAN
    __tsan_switch_to_fiber(fiber->host_thread, no_order);
#endif
    swap_to_host(fiber);
#if COPSE_ASAN
    __sanitizer_finish_switch_fiber(fiber->own_fake_stack, &fiber->host_stack, &fiber->host_stack_bytes);
#endif
}

static COPSE_NO_TSAN void fiber_main(copse_fiber *fiber)
{
#if COPSE_ASAN
    __sanitizer_finish_switch_fiber(NULL, &fiber->host_stack, &fiber->host_stack_bytes);
#endif
    while (!fiber->abandoned) {
        fiber->body(fiber->argument);
        fiber->ended = true;
        leave(fiber, false);
    }
    leave(fiber, true);
}

/* --- fibers ------------------------------------------------------------------------------------------------------------ */

static COPSE_NO_TSAN void make_ready(copse_fiber *fiber)
{
    fiber->ended = true;
    fiber->abandoned = false;
#if COPSE_TSAN
    fiber->own_thread = __tsan_create_fiber(0);
#endif
    prepare(fiber);
}

/* Where in their pages stacks begin: at different offsets, or all would compete for the same few lines of the cache. */
static COPSE_NO_TSAN size_t next_colour(void)
{
    static uint32_t created;
    return (size_t)(__atomic_fetch_add(&created, 5, __ATOMIC_RELAXED) % 64u) * 64u;
}

COPSE_NO_TSAN copse_fiber *copse_fiber_create(void)
{
    size_t bytes = GUARD_BYTES + STACK_BYTES;
    char *mapping = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapping == MAP_FAILED) return NULL;
    copse_fiber *fiber = (copse_fiber *)(mapping + bytes - (sizeof(copse_fiber) + 63) / 64 * 64 - next_colour());
    fiber->mapping = mapping;
    if (mprotect(mapping, GUARD_BYTES, PROT_NONE) != 0) {
        (void)munmap(mapping, bytes);
        return NULL;
    }
    make_ready(fiber);
    return fiber;
}

/* Sanitizers keep memory for a stack that was used; it is given back from the stack itself. */
static COPSE_NO_TSAN void retire(copse_fiber *fiber)
{
#if COPSE_ASAN
    fiber->abandoned = true;
    (void)enter(fiber);
    __asan_unpoison_memory_region(fiber->mapping + GUARD_BYTES,
                                  (size_t)((char *)fiber - (fiber->mapping + GUARD_BYTES)));
#endif
#if COPSE_TSAN
    __tsan_destroy_fiber(fiber->own_thread);
#endif
    (void)fiber;
}

COPSE_NO_TSAN void copse_fiber_free(copse_fiber *fiber)
{
    if (!fiber) return;
    retire(fiber);
    (void)munmap(fiber->mapping, GUARD_BYTES + STACK_BYTES);
}

COPSE_NO_TSAN bool copse_fiber_run(copse_fiber *fiber, void (*body)(void *), void *argument)
{
    fiber->body = body;
    fiber->argument = argument;
    fiber->ended = false;
    return enter(fiber);
}

COPSE_NO_TSAN bool copse_fiber_resume(copse_fiber *fiber)
{
    return enter(fiber);
}

COPSE_NO_TSAN void copse_fiber_suspend(copse_fiber *fiber)
{
    leave(fiber, false);
    if (fiber->abandoned) leave(fiber, true);
}

COPSE_NO_TSAN void copse_fiber_abandon(copse_fiber *fiber)
{
    retire(fiber);
    make_ready(fiber);
}

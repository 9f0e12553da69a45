/* Faults of kernels: the caller of the launch gets the sentence of the first one, and the launch ends. */
#include "simt/emulator_internal.h"

#include <stdarg.h>
#include <stdio.h>

static COPSE_NO_TSAN int say_where(char *to, size_t room, const emulated_launch *launch, const emulated_block *block,
                                   const emulated_lane *lane)
{
    const char *kernel = launch->kernel->name ? launch->kernel->name : "without a name";
    if (lane) {
        return snprintf(to, room, "kernel %s, block %u, warp %u, lane %u: ", kernel, (unsigned)block->number,
                        (unsigned)lane->warp->number, (unsigned)lane->number);
    }
    if (block) return snprintf(to, room, "kernel %s, block %u: ", kernel, (unsigned)block->number);
    return snprintf(to, room, "kernel %s: ", kernel);
}

COPSE_NO_TSAN void copse_emulator_fault(emulated_launch *launch, const emulated_block *block, const emulated_lane *lane,
                                        const char *format, ...)
{
    if (__atomic_exchange_n(&launch->faulted, 1, __ATOMIC_RELAXED) != 0) return;
    char *to = launch->options->error;
    size_t room = launch->options->error_bytes;
    if (!to || room == 0) return;
    int used = say_where(to, room, launch, block, lane);
    if (used < 0 || (size_t)used >= room) return;
    va_list list;
    va_start(list, format);
    (void)vsnprintf(to + used, room - (size_t)used, format, list);
    va_end(list);
}

COPSE_NO_TSAN void copse_emulator_stop(emulated_lane *lane)
{
    for (;;) copse_emulator_give_way(lane);
}

COPSE_NO_TSAN void copse_simt_bad_access(const void *p, unsigned bytes, const char *function)
{
    emulated_lane *lane = (struct emulated_lane *)copse_simt_me;
    emulated_block *block = lane->warp->block;
    if ((uintptr_t)p % bytes != 0) {
        copse_emulator_fault(block->launch, block, lane, "%s at address %p, which is not a multiple of %u", function, p,
                             bytes);
    } else {
        const bool shared = (uintptr_t)p - copse_simt_me->shared < COPSE_SIMT_SHARED_SPAN;
        copse_emulator_fault(block->launch, block, lane, "%s at address %p, which is %sshared memory", function, p,
                             shared ? "" : "not ");
    }
    copse_emulator_stop(lane);
}

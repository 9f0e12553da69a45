/*
 * Fibers: functions that stop in the middle and go on later, on a stack of their own. A lane of the emulator is one.
 *
 *   host                               fiber
 *   copse_fiber_run(f, body, x) -----> body(x)
 *   false                       <----- copse_fiber_suspend(f)
 *   copse_fiber_resume(f)       -----> goes on
 *   true                        <----- body returns; f may run something else
 *
 * A suspended fiber is resumed by the host thread that ran it.
 */
#pragma once

#include <stdbool.h>

typedef struct copse_fiber copse_fiber;

/* NULL: out of memory. */
copse_fiber *copse_fiber_create(void);
void copse_fiber_free(copse_fiber *fiber);

/* Both return whether the body has ended. */
bool copse_fiber_run(copse_fiber *fiber, void (*body)(void *), void *argument);
bool copse_fiber_resume(copse_fiber *fiber);

/* Called by the body, on its own fiber. */
void copse_fiber_suspend(copse_fiber *fiber);

/* Forgets the body of a suspended fiber, which never goes on; the fiber may run something else. */
void copse_fiber_abandon(copse_fiber *fiber);

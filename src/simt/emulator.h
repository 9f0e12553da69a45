/*
 * The emulator: runs kernels written against simt.h on the host. Blocks run on host threads, each thread of a block as a
 * fiber that gives way to the others at collectives and barriers. docs/SIMT.md says what it finds and what it cannot.
 */
#pragma once

#include "core/pool.h"
#include "simt/kernel.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct copse_emulator_launch_options {
    uint32_t threads; /* host threads; 0: one */
    copse_pool *pool; /* where they are; NULL: the calling one alone */
    /* 0: lanes take turns in a fixed order. Else the order of blocks, warps and lanes is random, and lanes also give way
     * around atomics, acquire, release and fences. The same seed on one host thread gives the same order again. */
    uint64_t seed;
    /* Seconds in which no thread of the launch ends, after which the emulator reports that it waits for something that never
     * comes; 0: 120. */
    uint32_t patience;
    char *error; /* where the sentence about a fault goes; may be NULL */
    size_t error_bytes;
} copse_emulator_launch_options;

/* Runs a kernel to its end. False: it did something that a kernel must not do, and the error says what. The emulator may be used
 * again then, but what the kernel wrote is unspecified. Also where there is no memory for the stacks of one block, before the kernel
 * has begun; not while a reservation holds, for kernels of the library. */
bool copse_emulator_launch(const copse_emulator_launch_options *options, const copse_kernel *kernel, uint64_t blocks,
                           const void *arguments);

/* Makes sure that launches find stacks: takes those of one block, for all that reserve. Where memory ends, launches wait for each
 * other and use these. False: there is no memory for them. */
bool copse_emulator_reserve(void);
void copse_emulator_release(void);

/* For tests, to be set while nothing runs: called on the host thread of a launch with a seed after each turn of a lane of this kernel.
 * Between launches of several host threads it can decide which of them goes on, and make that repeatable; NULL: the host's scheduler
 * decides. */
extern void (*copse_emulator_between_turns)(const copse_kernel *kernel);

/* Gives back the memory that is kept for the next launch, stacks above all; what is reserved stays. */
void copse_emulator_trim(void);

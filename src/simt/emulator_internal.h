/*
 * What the files of the emulator share.
 *
 *   launch    one call of copse_emulator_launch
 *   worker    a host thread that works on it, with up to WORKER_BLOCKS blocks at a time
 *   block     its warps and lanes, which are ready, the barrier, shared memory
 *   warp      32 lanes and the groups of them that wait for each other at a collective
 *   lane      one thread of the kernel, on a fiber once it has begun
 *
 * Only one lane of a worker runs at a time, so none of this needs locks; what several workers use is atomic.
 */
#pragma once

#include "simt/emulator.h"
#include "simt/fiber.h"
#include "simt/sanitizers.h"
#include "simt/simt.h"

#define WORKER_BLOCKS 4u
#define BLOCK_WARPS   (SIMT_MOST_THREADS / SIMT_WARP)
#define BLOCK_ARRAYS  48u /* shared ones */
#define WARP_EDGES    64u

typedef struct emulated_launch emulated_launch;
typedef struct emulated_worker emulated_worker;
typedef struct emulated_block emulated_block;
typedef struct emulated_warp emulated_warp;
typedef struct emulated_lane emulated_lane;

struct emulated_lane {
    copse_simt_self self; /* first: what the kernel's code sees is the lane */
    emulated_warp *warp;
    uint32_t number;
    copse_fiber *fiber; /* while it is on its way */
    copse_fiber *kept;  /* ThreadSanitizer: always this one, so that two lanes never look like one thread */
    uint64_t value;     /* what it brings to a collective ... */
    uint32_t source;    /* ... from which lane it takes; NO_SOURCE: what it gets is undefined */
    uint64_t result;
    uint64_t *edge;
};
#define NO_SOURCE SIMT_WARP

/* Lanes that have come to the same collective with the same mask. */
typedef struct emulated_group {
    copse_simt_collective collective;
    uint32_t mask;
    uint32_t arrived;
    uint64_t *edge;
} emulated_group;

struct emulated_warp {
    emulated_block *block;
    emulated_lane *lanes;
    uint32_t number;
    uint32_t present, ready, at_barrier, ended; /* sets of lanes */
    uint32_t groups;
    emulated_group group[SIMT_WARP];
    uint32_t edges_used;
    uint64_t edge[WARP_EDGES];
};

struct emulated_block {
    emulated_worker *worker;
    emulated_launch *launch;
    bool running;
    uint32_t number; /* in the grid */
    uint32_t threads, warps;
    uint32_t alive;       /* threads that have not ended */
    uint32_t ready_warps; /* those with a lane that is ready */
    uint32_t turns;       /* since a lane has ended */

    uint32_t barrier_arrived;
    unsigned barrier_line;
    uint32_t barriers;
    uint64_t barrier_edge[2];
    uint64_t begin_edge;

    uint64_t random;
    uint32_t last_warp;
    uint32_t stick;   /* after a lane, the same warp goes on unless these bits of a random number are 0 */
    uint32_t starved; /* warps that seldom get a turn */
    uint32_t waiting; /* warps that said that they wait, since the others last had a turn */
    uint32_t starved_lanes;

    char *shared;
    uint32_t arrays;
    size_t array_bytes, shared_used, shared_filled;
    struct {
        const copse_simt_array *array;
        size_t offset;
    } array[BLOCK_ARRAYS];

    emulated_warp warp[BLOCK_WARPS];
    emulated_lane lane[SIMT_MOST_THREADS];
};

struct emulated_worker {
    emulated_worker *next; /* among those kept for the next launch */
    emulated_launch *launch;
    uint64_t random;
    uint32_t wanted;        /* blocks at a time */
    uint64_t stalled_since; /* nanoseconds; 0: not */
    uint64_t stalled_blocks_done;
    bool reserved;       /* has the stacks that copse_emulator_reserve promises */
    copse_fiber **fiber; /* the idle ones */
    uint32_t fibers, fibers_made, fibers_room;
    emulated_block block[WORKER_BLOCKS];
};

struct emulated_launch {
    const copse_emulator_launch_options *options;
    const copse_kernel *kernel;
    void (*entry)(const void *arguments);
    const void *arguments;
    uint64_t blocks;
    uint64_t multiplier, offset; /* the order of the blocks */
    uint64_t next;               /* atomic: blocks taken */
    uint64_t blocks_done;        /* atomic */
    uint32_t faulted;            /* atomic */
    uint64_t begin_edge, end_edge;
};

/* --- emulator.c: launches ------------------------------------------------------------------------------------------------ */

/* How many there are at this moment, of all host threads. */
uint32_t copse_emulator_launches(void);

/* --- emulator_block.c: threads of a block taking turns --------------------------------------------------------------- */

/* Makes sure that a block has its stacks and shared memory, while `running` others of the worker have theirs. False: there is no
 * memory for them. */
bool copse_emulator_block_reserve(emulated_block *block, uint32_t threads, uint32_t running);
void copse_emulator_block_begin(emulated_block *block, uint32_t number);
/* Gives some lanes a turn. */
void copse_emulator_block_turn(emulated_block *block);
/* After the last turn: nothing is left of it. */
void copse_emulator_block_end(emulated_block *block);
/* Another lane's turn; returns when it is this one's again. */
void copse_emulator_give_way(emulated_lane *lane);
uint64_t copse_emulator_random(uint64_t *state);
uint64_t copse_emulator_nanoseconds(void);

/* --- simt/emulator_collectives.c: collectives and barriers ----------------------------------------------------------------------- */

/* Reports lanes that wait for a lane which has just ended, or is about to wait at the barrier. */
void copse_emulator_check_missed(emulated_lane *lane, const char *what);
/* No lane is ready and some have not ended. */
void copse_emulator_deadlock(emulated_block *block);

/* --- emulator_shared.c: shared memory -------------------------------------------------------------------------------- */

/* False: there is no memory for it. */
bool copse_emulator_shared_reserve(emulated_block *block);
void copse_emulator_shared_begin(emulated_block *block);
/* Reports writes outside of the arrays, makes the memory ready for the next block. */
void copse_emulator_shared_end(emulated_block *block);
void copse_emulator_shared_free(emulated_block *block);

/* --- emulator_fault.c: sentences ------------------------------------------------------------------------------------- */

/* All keep only the first fault of a launch. Without a lane: about the block, without one: about the kernel. */
void copse_emulator_fault(emulated_launch *launch, const emulated_block *block, const emulated_lane *lane,
                          const char *format, ...) __attribute__((format(printf, 4, 5)));
/* For faults that a lane makes itself: it does not go on. Everything about the launch ends soon after. */
void copse_emulator_stop(emulated_lane *lane);

/* --- simt/emulator_tsan.c: how ThreadSanitizer learns of barriers ---------------------------------------------------- */

/* What came before `leave` in one thread comes before what follows `pass` in another. `begin` is a leave that forgets
 * all earlier ones. */
#if COPSE_TSAN
void copse_emulator_edge_begin(uint64_t *edge);
void copse_emulator_edge_leave(uint64_t *edge);
void copse_emulator_edge_pass(uint64_t *edge);
#else
static inline void copse_emulator_edge_begin(uint64_t *edge)
{
    (void)edge;
}
static inline void copse_emulator_edge_leave(uint64_t *edge)
{
    (void)edge;
}
static inline void copse_emulator_edge_pass(uint64_t *edge)
{
    (void)edge;
}
#endif

/* A block: its threads take turns until all have ended, in a fixed order or in one that a seed gives. */
#define _GNU_SOURCE /* clock_gettime, sched_yield */
#include "simt/emulator_internal.h"

#include <sched.h>
#include <time.h>

_Thread_local copse_simt_self *copse_simt_me;
void (*copse_emulator_between_turns)(const copse_kernel *kernel);

/* Operations on memory that a lane may do before the others get a turn. A lane that waits for another in a loop has to
 * give way at some time; in a random order, the sooner the more orders are seen. */
#define FIXED_PATIENCE       256u
#define RANDOM_PATIENCE_BITS 6u /* 1 to 32, small numbers more often */
/* Turns of a warp before the next one's, in the fixed order. */
#define WARP_TURNS 16u
/* Lanes that get a turn before another block of the worker may: 1 to 64, a power of two. */
#define RANDOM_TURNS_BITS 7u
/* One turn in so many, a power of two, is followed by one for another host thread. */
#define HOST_YIELD 64u
/* Turns without an end of any lane, after which something may be wrong. */
#define MANY_TURNS 65536u

#define DEFAULT_PATIENCE_SECONDS 120u

COPSE_NO_TSAN uint64_t copse_emulator_random(uint64_t *state)
{
    uint64_t x = *state += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

COPSE_NO_TSAN uint64_t copse_emulator_nanoseconds(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static COPSE_NO_TSAN bool has_faulted(const emulated_block *block)
{
    return __atomic_load_n(&block->launch->faulted, __ATOMIC_RELAXED) != 0;
}

/* --- fibers for lanes -------------------------------------------------------------------------------------------------- */

COPSE_NO_TSAN bool copse_emulator_block_reserve(emulated_block *block, uint32_t threads, uint32_t running)
{
#if COPSE_TSAN
    (void)running;
    for (uint32_t i = 0; i < threads; i++)
        if (!block->lane[i].kept && !(block->lane[i].kept = copse_fiber_create())) return false;
#else
    emulated_worker *worker = block->worker;
    for (; worker->fibers_made < (running + 1) * threads; worker->fibers_made++) {
        copse_fiber *fiber = copse_fiber_create();
        if (!fiber) return false;
        worker->fiber[worker->fibers++] = fiber; /* there is room for one per lane */
    }
#endif
    return copse_emulator_shared_reserve(block);
}

/* The one that was used last: its stack is in the cache. There is one: the block has reserved it. */
static COPSE_NO_TSAN copse_fiber *take_fiber(emulated_lane *lane)
{
#if COPSE_TSAN
    return lane->kept;
#else
    emulated_worker *worker = lane->warp->block->worker;
    return worker->fiber[--worker->fibers];
#endif
}

static COPSE_NO_TSAN void put_fiber_back(emulated_lane *lane)
{
#if !COPSE_TSAN
    emulated_worker *worker = lane->warp->block->worker;
    worker->fiber[worker->fibers++] = lane->fiber;
#endif
    lane->fiber = NULL;
}

static COPSE_NO_TSAN void lane_body(void *argument)
{
    emulated_lane *lane = argument;
    emulated_launch *launch = lane->warp->block->launch;
    copse_emulator_edge_pass(&lane->warp->block->begin_edge);
    launch->entry(launch->arguments);
    copse_emulator_edge_leave(&launch->end_edge);
}

COPSE_NO_TSAN void copse_emulator_give_way(emulated_lane *lane)
{
    copse_fiber_suspend(lane->fiber);
}

COPSE_NO_TSAN void copse_simt_preempt(void)
{
    copse_emulator_give_way((emulated_lane *)copse_simt_me);
}

COPSE_NO_TSAN void copse_simt_wait(void)
{
    emulated_lane *lane = (emulated_lane *)copse_simt_me;
    lane->warp->block->waiting |= 1u << lane->warp->number;
    copse_emulator_give_way(lane);
}

/* --- turns ------------------------------------------------------------------------------------------------------------- */

static COPSE_NO_TSAN void lane_ended(emulated_lane *lane)
{
    emulated_warp *warp = lane->warp;
    emulated_block *block = warp->block;
    uint32_t bit = 1u << lane->number;
    put_fiber_back(lane);
    warp->ready &= ~bit;
    warp->ended |= bit;
    if (warp->ready == 0) block->ready_warps &= ~(1u << warp->number);
    block->alive--;
    block->turns = 0;
    block->worker->stalled_since = 0;
    if (warp->groups > 0) copse_emulator_check_missed(lane, "has ended");
    if (block->barrier_arrived > 0) {
        copse_emulator_fault(block->launch, block, lane, "ended while other threads wait at __syncthreads of line %u",
                             block->barrier_line);
    }
}

/* Many turns without the end of a lane. This block may wait for another one, so the worker lets more of them run at the same
 * time; or it never ends. */
static COPSE_NO_TSAN void look_at_stall(emulated_block *block)
{
    emulated_worker *worker = block->worker;
    uint64_t done = __atomic_load_n(&block->launch->blocks_done, __ATOMIC_RELAXED);
    uint64_t now = copse_emulator_nanoseconds();
    uint32_t patience = block->launch->options->patience;
    if (patience == 0) patience = DEFAULT_PATIENCE_SECONDS;
    block->turns = 0;
    if (worker->wanted < WORKER_BLOCKS) worker->wanted++;
    (void)sched_yield();
    if (worker->stalled_since == 0 || worker->stalled_blocks_done != done) {
        worker->stalled_since = now;
        worker->stalled_blocks_done = done;
    } else if (now - worker->stalled_since > patience * UINT64_C(1000000000)) {
        copse_emulator_fault(block->launch, block, NULL,
                             "no thread has ended for %u seconds: they wait for something that does not come",
                             (unsigned)patience);
    }
}

static COPSE_NO_TSAN uint32_t random_patience(emulated_block *block)
{
    uint64_t random = copse_emulator_random(&block->random);
    return 1 + (uint32_t)(random >> 32) % (1u << random % RANDOM_PATIENCE_BITS);
}

static COPSE_NO_TSAN void run_lane(emulated_block *block, emulated_lane *lane)
{
    bool ended;
    lane->self.patience = block->launch->options->seed == 0 ? FIXED_PATIENCE : random_patience(block);
    copse_simt_me = &lane->self;
    if (lane->fiber) {
        ended = copse_fiber_resume(lane->fiber);
    } else {
        lane->fiber = take_fiber(lane);
        ended = copse_fiber_run(lane->fiber, lane_body, lane);
    }
    copse_simt_me = NULL;
    if (ended) lane_ended(lane);
    if (++block->turns >= MANY_TURNS) look_at_stall(block);
}

/* Each lane of the warp that is ready, once. */
static COPSE_NO_TSAN void warp_turn(emulated_warp *warp)
{
    for (uint32_t left = warp->ready; left; left &= left - 1) {
        run_lane(warp->block, &warp->lanes[__builtin_ctz(left)]);
        if (has_faulted(warp->block)) return;
    }
}

/* Warp by warp. Each gets several turns, as its stacks are in the cache then; but not until its end, as it may wait for
 * another. */
static COPSE_NO_TSAN void fixed_turn(emulated_block *block)
{
    for (uint32_t i = 0; i < block->warps; i++) {
        for (uint32_t turn = 0; turn < WARP_TURNS && block->warp[i].ready != 0 && !has_faulted(block); turn++) {
            warp_turn(&block->warp[i]);
        }
    }
}

static COPSE_NO_TSAN uint32_t pick(uint32_t from, uint64_t random)
{
    uint32_t skip = (uint32_t)(random >> 32) % (uint32_t)__builtin_popcount(from);
    while (skip-- > 0) from &= from - 1;
    return (uint32_t)__builtin_ctz(from);
}

static COPSE_NO_TSAN emulated_lane *pick_lane(emulated_block *block)
{
    uint64_t random = copse_emulator_random(&block->random);
    uint32_t warps = block->ready_warps;
    bool starve = (random & 31u) != 0; /* not always: the others may wait for just those */
    warps &= ~block->waiting;
    if (starve && (warps & ~block->starved)) warps &= ~block->starved;
    if (!((random >> 8 & block->stick) && (warps >> block->last_warp & 1u))) block->last_warp = pick(warps, random);
    emulated_warp *warp = &block->warp[block->last_warp];
    uint32_t lanes = warp->ready;
    if (starve && (lanes & ~block->starved_lanes)) lanes &= ~block->starved_lanes;
    return &warp->lanes[pick(lanes, copse_emulator_random(&block->random))];
}

/* Other launches, of other host threads, may be at the same memory: concurrent readers. A lane gives way between any two words of a
 * leaf, and here its host thread does. Where this is the only launch it would only lose time. */
static COPSE_NO_TSAN void between_turns(emulated_block *block)
{
    if (copse_emulator_between_turns)
        copse_emulator_between_turns(block->launch->kernel);
    else if (copse_emulator_random(&block->random) % HOST_YIELD == 0 && copse_emulator_launches() > 1)
        (void)sched_yield();
}

static COPSE_NO_TSAN void random_turn(emulated_block *block)
{
    uint32_t turns = 1u << copse_emulator_random(&block->random) % RANDOM_TURNS_BITS;
    for (uint32_t i = 0; i < turns && block->ready_warps != 0; i++) {
        if (!(block->ready_warps &
              ~block->waiting)) { /* all of them wait, perhaps for another block: that comes first */
            block->waiting = 0;
            if (i > 0) return;
        }
        run_lane(block, pick_lane(block));
        if (has_faulted(block)) return;
        between_turns(block);
    }
}

COPSE_NO_TSAN void copse_emulator_block_turn(emulated_block *block)
{
    if (block->launch->options->seed == 0) {
        fixed_turn(block);
    } else {
        random_turn(block);
    }
    if (block->ready_warps == 0 && block->alive > 0 && !has_faulted(block)) copse_emulator_deadlock(block);
}

/* --- begin and end ----------------------------------------------------------------------------------------------------- */

/* How unevenly the threads of this block are to be treated: evenly, one warp for long, some warps or lanes seldom. */
static COPSE_NO_TSAN void choose_order(emulated_block *block)
{
    static const uint32_t sticks[] = {0, 0, 7, 63};
    block->random = block->launch->options->seed ^ (block->number + UINT64_C(1)) * UINT64_C(0xd1342543de82ef95);
    uint64_t random = copse_emulator_random(&block->random);
    block->last_warp = block->waiting = 0;
    block->stick = sticks[random & 3u];
    block->starved = random >> 2 & 1u ? (uint32_t)copse_emulator_random(&block->random) : 0;
    block->starved_lanes = random >> 3 & 1u ? (uint32_t)copse_emulator_random(&block->random) : 0;
}

static COPSE_NO_TSAN void lane_begin(emulated_block *block, uint32_t thread)
{
    emulated_lane *lane = &block->lane[thread];
    lane->self.thread.x = thread;
    lane->self.block.x = block->number;
    lane->self.block_threads.x = block->threads;
    lane->self.blocks.x = (uint32_t)block->launch->blocks;
    lane->self.shared = (uintptr_t)block->shared;
    lane->warp = &block->warp[thread / SIMT_WARP];
    lane->number = thread % SIMT_WARP;
    lane->fiber = NULL;
}

COPSE_NO_TSAN void copse_emulator_block_begin(emulated_block *block, uint32_t number)
{
    block->running = true;
    block->number = number;
    block->threads = block->alive = block->launch->kernel->threads;
    block->warps = (block->threads + SIMT_WARP - 1) / SIMT_WARP;
    block->ready_warps = SIMT_FULL_MASK >> (BLOCK_WARPS - block->warps);
    block->turns = 0;
    block->barrier_arrived = block->barriers = 0;
    copse_emulator_shared_begin(block);
    for (uint32_t i = 0; i < block->warps; i++) {
        emulated_warp *warp = &block->warp[i];
        uint32_t lanes = block->threads - i * SIMT_WARP;
        warp->block = block;
        warp->lanes = &block->lane[i * SIMT_WARP];
        warp->number = i;
        warp->present = warp->ready = lanes >= SIMT_WARP ? SIMT_FULL_MASK : SIMT_FULL_MASK >> (SIMT_WARP - lanes);
        warp->at_barrier = warp->ended = warp->groups = 0;
    }
    for (uint32_t i = 0; i < block->threads; i++) lane_begin(block, i);
    if (block->launch->options->seed != 0) choose_order(block);
    copse_emulator_edge_begin(&block->begin_edge);
}

COPSE_NO_TSAN void copse_emulator_block_end(emulated_block *block)
{
    for (uint32_t i = 0; block->alive > 0 && i < block->threads; i++) {
        emulated_lane *lane = &block->lane[i];
        if (!lane->fiber) continue;
        copse_fiber_abandon(lane->fiber);
        put_fiber_back(lane);
        block->alive--;
    }
    copse_emulator_shared_end(block);
    block->running = false;
}

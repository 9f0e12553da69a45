/* Launches: host threads take the blocks of a grid one after the other. */
#define _GNU_SOURCE /* mmap's flags */
#include "simt/emulator_internal.h"

#include <pthread.h>
#include <sys/mman.h>

#define MOST_BLOCKS  UINT64_C(0x7fffffff) /* as on a card */
#define MOST_THREADS 16u                  /* of the host: each has up to a thousand stacks, and mappings are limited */
#define RESERVED     576u                 /* stacks: the largest block of the library's kernels */

/* --- workers, kept from launch to launch for their stacks -------------------------------------------------------------- */

static pthread_mutex_t idle_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t idle_put = PTHREAD_COND_INITIALIZER;
static emulated_worker *idle_workers;
static uint32_t reservations; /* while there are some, one worker, idle or not, has the stacks reserved */
static bool has_reserved;

/* Memory that is only touched as far as it is used: a worker with a few threads per block takes little. */
static COPSE_NO_TSAN emulated_worker *create_worker(void)
{
    size_t room = (size_t)WORKER_BLOCKS * SIMT_MOST_THREADS;
    emulated_worker *worker = mmap(NULL, sizeof *worker + room * sizeof *worker->fiber, PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (worker == MAP_FAILED) return NULL;
    worker->fiber = (copse_fiber **)(worker + 1);
    worker->fibers_room = (uint32_t)room;
    for (uint32_t i = 0; i < WORKER_BLOCKS; i++) worker->block[i].worker = worker;
    return worker;
}

static COPSE_NO_TSAN void free_worker(emulated_worker *worker)
{
    for (uint32_t i = 0; i < worker->fibers; i++) copse_fiber_free(worker->fiber[i]);
    for (uint32_t i = 0; i < WORKER_BLOCKS; i++) {
        emulated_block *block = &worker->block[i];
        copse_emulator_shared_free(block);
        for (uint32_t j = 0; COPSE_TSAN && j < SIMT_MOST_THREADS; j++) copse_fiber_free(block->lane[j].kept);
    }
    (void)munmap(worker, sizeof *worker + (size_t)worker->fibers_room * sizeof(copse_fiber *));
}

static COPSE_NO_TSAN emulated_worker *take_worker(void)
{
    (void)pthread_mutex_lock(&idle_lock);
    emulated_worker *worker = idle_workers;
    if (worker) idle_workers = worker->next;
    (void)pthread_mutex_unlock(&idle_lock);
    return worker ? worker : create_worker();
}

/* The reserved one goes to the end, so that it is there for who finds no memory. */
static COPSE_NO_TSAN void put_worker_back(emulated_worker *worker)
{
    (void)pthread_mutex_lock(&idle_lock);
    emulated_worker **at = &idle_workers;
    while (worker->reserved && *at) at = &(*at)->next;
    worker->next = *at;
    *at = worker;
    if (worker->reserved) (void)pthread_cond_broadcast(&idle_put);
    (void)pthread_mutex_unlock(&idle_lock);
}

/* Waits until the reserved worker is idle; NULL where there is none. */
static COPSE_NO_TSAN emulated_worker *take_reserved(void)
{
    emulated_worker *worker = NULL;
    (void)pthread_mutex_lock(&idle_lock);
    while (has_reserved && !worker) {
        emulated_worker **at = &idle_workers;
        while (*at && !(*at)->reserved) at = &(*at)->next;
        worker = *at;
        if (worker)
            *at = worker->next;
        else
            (void)pthread_cond_wait(&idle_put, &idle_lock);
    }
    (void)pthread_mutex_unlock(&idle_lock);
    return worker;
}

/* A worker with all that one block of the kernel needs. NULL: there is no memory for one; who may wait gets the reserved one. */
static COPSE_NO_TSAN emulated_worker *take_equipped(uint32_t threads, bool may_wait)
{
    emulated_worker *worker = take_worker();
    if (worker && copse_emulator_block_reserve(&worker->block[0], threads, 0)) return worker;
    if (worker && !worker->reserved)
        free_worker(worker);
    else if (worker)
        put_worker_back(worker);
    return may_wait && threads <= RESERVED ? take_reserved() : NULL;
}

COPSE_NO_TSAN bool copse_emulator_reserve(void)
{
    (void)pthread_mutex_lock(&idle_lock);
    bool there = has_reserved;
    if (there) reservations++;
    (void)pthread_mutex_unlock(&idle_lock);
    if (there) return true;
    emulated_worker *worker = take_equipped(RESERVED, false);
    if (!worker) return false;
    (void)pthread_mutex_lock(&idle_lock);
    if (!has_reserved) worker->reserved = has_reserved = true; /* another thread may have been faster */
    reservations++;
    (void)pthread_mutex_unlock(&idle_lock);
    put_worker_back(worker);
    return true;
}

COPSE_NO_TSAN void copse_emulator_release(void)
{
    (void)pthread_mutex_lock(&idle_lock);
    reservations--;
    (void)pthread_mutex_unlock(&idle_lock);
}

COPSE_NO_TSAN void copse_emulator_trim(void)
{
    emulated_worker *kept = NULL, *next;
    (void)pthread_mutex_lock(&idle_lock);
    emulated_worker *worker = idle_workers;
    for (emulated_worker *w = worker; w; w = w->next)
        if (w->reserved && reservations == 0) w->reserved = has_reserved = false;
    idle_workers = NULL;
    (void)pthread_mutex_unlock(&idle_lock);
    for (; worker; worker = next) {
        next = worker->next;
        if (worker->reserved)
            kept = worker;
        else
            free_worker(worker);
    }
    if (kept) put_worker_back(kept);
}

/* --- the order of blocks ----------------------------------------------------------------------------------------------- */

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
    while (b != 0) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Block i is i * multiplier + offset modulo their number: each once, as the multiplier has no divisor in common. */
static COPSE_NO_TSAN void order_blocks(emulated_launch *launch)
{
    uint64_t random = launch->options->seed;
    launch->multiplier = 1;
    launch->offset = 0;
    if (launch->options->seed == 0 || launch->blocks < 2) return;
    do {
        launch->multiplier = copse_emulator_random(&random) % launch->blocks;
    } while (common_divisor(launch->multiplier, launch->blocks) != 1);
    launch->offset = copse_emulator_random(&random) % launch->blocks;
}

static COPSE_NO_TSAN bool take_block(emulated_launch *launch, uint32_t *out_number)
{
    uint64_t i = __atomic_fetch_add(&launch->next, 1, __ATOMIC_RELAXED);
    if (i >= launch->blocks) return false;
    *out_number = (uint32_t)((i * launch->multiplier + launch->offset) % launch->blocks);
    return true;
}

/* --- working on a launch ----------------------------------------------------------------------------------------------- */

/* Starts blocks up to the number wanted; false when there are none to start or to go on with. */
static COPSE_NO_TSAN bool fill_up(emulated_worker *worker)
{
    uint32_t running = 0;
    for (uint32_t i = 0; i < WORKER_BLOCKS; i++) running += worker->block[i].running;
    for (uint32_t i = 0; i < WORKER_BLOCKS && running < worker->wanted; i++) {
        emulated_block *block = &worker->block[i];
        uint32_t number;
        if (block->running) continue;
        if (!copse_emulator_block_reserve(block, worker->launch->kernel->threads, running)) break; /* fewer will do */
        if (!take_block(worker->launch, &number)) break;
        block->launch = worker->launch;
        copse_emulator_block_begin(block, number);
        running++;
    }
    return running > 0;
}

static COPSE_NO_TSAN void turn_of_each(emulated_worker *worker)
{
    uint32_t first = worker->launch->options->seed == 0 ? 0 : (uint32_t)copse_emulator_random(&worker->random);
    for (uint32_t i = 0; i < WORKER_BLOCKS; i++) {
        emulated_block *block = &worker->block[(first + i) % WORKER_BLOCKS];
        if (!block->running) continue;
        copse_emulator_block_turn(block);
        if (__atomic_load_n(&worker->launch->faulted, __ATOMIC_RELAXED)) return;
        if (block->alive > 0) continue;
        copse_emulator_block_end(block);
        __atomic_fetch_add(&worker->launch->blocks_done, 1, __ATOMIC_RELAXED);
    }
}

/* In a random order also between blocks, which then have to run side by side; large ones, which need many stacks, less. */
static COPSE_NO_TSAN uint32_t blocks_side_by_side(emulated_worker *worker)
{
    uint32_t most = SIMT_MOST_THREADS / worker->launch->kernel->threads;
    uint32_t wanted = 1 + (uint32_t)(copse_emulator_random(&worker->random) % 3);
    return wanted < most ? wanted : most;
}

static COPSE_NO_TSAN void work_on(emulated_launch *launch, uint32_t number)
{
    if (number > 0 && __atomic_load_n(&launch->next, __ATOMIC_RELAXED) >= launch->blocks) return;
    emulated_worker *worker = take_equipped(launch->kernel->threads, number == 0);
    if (!worker) { /* the first is enough */
        if (number == 0) copse_emulator_fault(launch, NULL, NULL, "there is no memory for the stacks of a block");
        return;
    }
    copse_emulator_edge_pass(&launch->begin_edge);
    worker->launch = launch;
    worker->random = launch->options->seed + number;
    worker->stalled_since = 0;
    worker->wanted = launch->options->seed == 0 ? 1 : blocks_side_by_side(worker);
    while (!__atomic_load_n(&launch->faulted, __ATOMIC_RELAXED) && fill_up(worker)) turn_of_each(worker);
    for (uint32_t i = 0; i < WORKER_BLOCKS; i++) {
        if (worker->block[i].running) copse_emulator_block_end(&worker->block[i]);
    }
    put_worker_back(worker);
}

static COPSE_NO_TSAN void work_on_part(void *launch, uint64_t number, uint64_t end)
{
    for (; number < end; number++) work_on(launch, (uint32_t)number);
}

static COPSE_NO_TSAN bool arguments_are_good(emulated_launch *launch)
{
    const copse_kernel *kernel = launch->kernel;
    if (kernel->threads == 0 || kernel->threads > SIMT_MOST_THREADS) {
        copse_emulator_fault(launch, NULL, NULL, "blocks of %u threads; they have 1 to %u", (unsigned)kernel->threads,
                             SIMT_MOST_THREADS);
    } else if (launch->blocks == 0 || launch->blocks > MOST_BLOCKS) {
        copse_emulator_fault(launch, NULL, NULL, "a grid of %llu blocks; it has 1 to %llu",
                             (unsigned long long)launch->blocks, (unsigned long long)MOST_BLOCKS);
    }
    return launch->faulted == 0;
}

static uint32_t launches; /* atomic */

COPSE_NO_TSAN uint32_t copse_emulator_launches(void)
{
    return __atomic_load_n(&launches, __ATOMIC_RELAXED);
}

COPSE_NO_TSAN bool copse_emulator_launch(const copse_emulator_launch_options *options, const copse_kernel *kernel,
                                         uint64_t blocks, const void *arguments)
{
    emulated_launch launch = {.options = options, .kernel = kernel, .arguments = arguments, .blocks = blocks};
    launch.entry = (void (*)(const void *))(uintptr_t)kernel->entry;
    if (options->error_bytes > 0) options->error[0] = '\0';
    if (!arguments_are_good(&launch)) return false;
    order_blocks(&launch);
    uint64_t threads = options->threads < MOST_THREADS ? options->threads : MOST_THREADS;
    if (threads > blocks) threads = blocks;
    if (threads == 0) threads = 1;
    copse_emulator_edge_begin(&launch.begin_edge);
    copse_emulator_edge_begin(&launch.end_edge);
    (void)__atomic_add_fetch(&launches, 1, __ATOMIC_RELAXED);
    copse_pool_run(options->pool, (uint32_t)threads, threads, 1, work_on_part, &launch);
    (void)__atomic_sub_fetch(&launches, 1, __ATOMIC_RELAXED);
    copse_emulator_edge_pass(&launch.end_edge);
    return launch.faulted == 0;
}

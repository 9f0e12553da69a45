/* The threads of a context: jobs in slots, chunks by a counter, sleep on a futex. */
#define _GNU_SOURCE
#include "core/pool.h"

#include <linux/futex.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Jobs at the same time, of several callers; who finds none free works alone. */
#define SLOTS 8u
/* Enough for the deepest call with its arrays on the stack. */
#define STACK_BYTES ((size_t)1 << 20)
/* How long a thread looks for what it waits for before it sleeps. To sleep and to be woken takes longer than that, and a longer
 * look would take the processor from others. */
#define LOOK_NANOSECONDS 4000u
/* The same while there is an alert: a chunk's way over the link and back. */
#define ALERT_NANOSECONDS 500000u
/* Threads that each thread of a job wakes: more of them would keep it from its own work, as each takes microseconds. */
#define WAKE_AT_ONCE 2u
/* Calls that go by before the pool tries again to make a thread that it was refused. */
#define CALLS_UNTIL_RETRY 256u

/* The state of a slot, in one word: whether workers may come in, whether its caller sleeps until they are out, the seats that
 * are left, and the workers inside. */
#define OPEN    (UINT32_C(1) << 31)
#define AWAITED (UINT32_C(1) << 30)
#define SEAT    (UINT32_C(1) << 15)
#define SEATS   (AWAITED - SEAT)
#define INSIDE  (SEAT - 1)

typedef struct job_slot {
    _Alignas(64) atomic_uint taken; /* by a caller */
    atomic_uint state;
    uint64_t n, chunk, chunks;
    copse_chunk_fn body;
    void *job;
    _Alignas(64) atomic_ullong next; /* number of the chunk that nobody has begun */
} job_slot;

struct copse_pool {
    _Alignas(64) atomic_uint calls; /* changes when there is a reason to wake up: workers sleep on it */
    atomic_uint sleepers;
    atomic_uint alerts;
    atomic_bool closing;
    uint32_t most; /* workers */
    atomic_uint generation;
    atomic_uint workers;
    atomic_uint growing; /* one caller makes threads; what follows is its */
    uint32_t calls_until_retry;
    pthread_t *thread;
    job_slot slots[SLOTS];
};

int (*copse_pool_thread_create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

/* --- fork --------------------------------------------------------------------------------------------------------- */

static atomic_uint generation;
static pthread_once_t registered = PTHREAD_ONCE_INIT;

static void count_fork(void)
{
    (void)atomic_fetch_add_explicit(&generation, 1, memory_order_relaxed);
}

static void register_count(void)
{
    (void)pthread_atfork(NULL, NULL, count_fork);
}

uint32_t copse_fork_generation(void)
{
    (void)pthread_once(&registered, register_count);
    return atomic_load_explicit(&generation, memory_order_relaxed);
}

/* --- waiting ------------------------------------------------------------------------------------------------------ */

static void futex_wait(atomic_uint *word, uint32_t value)
{
    (void)syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static void futex_wake(atomic_uint *word, uint32_t threads)
{
    (void)syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, threads, NULL, NULL, 0);
}

static uint64_t nanoseconds(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void pause_briefly(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb");
#endif
}

/* --- a job -------------------------------------------------------------------------------------------------------- */

static void run_chunk(copse_chunk_fn body, void *job, uint64_t n, uint64_t chunk, uint64_t number)
{
    uint64_t first = number * chunk;
    body(job, first, n - first < chunk ? n : first + chunk);
}

static void take_chunks(job_slot *slot)
{
    for (;;) {
        uint64_t number = atomic_fetch_add_explicit(&slot->next, 1, memory_order_relaxed);
        if (number >= slot->chunks) return;
        run_chunk(slot->body, slot->job, slot->n, slot->chunk, number);
    }
}

static void wake_workers(copse_pool *pool, uint32_t seats)
{
    if (seats && atomic_load(&pool->sleepers)) futex_wake(&pool->calls, seats < WAKE_AT_ONCE ? seats : WAKE_AT_ONCE);
}

static void slot_open(copse_pool *pool, job_slot *slot, uint32_t seats)
{
    atomic_store_explicit(&slot->next, 0, memory_order_relaxed);
    atomic_store_explicit(&slot->state, OPEN | seats * SEAT, memory_order_release);
    (void)atomic_fetch_add(&pool->calls, 1); /* before it looks for sleepers, who look at it after they are counted */
    wake_workers(pool, seats);
}

static void slot_close(job_slot *slot)
{
    uint32_t state = atomic_fetch_and_explicit(&slot->state, ~OPEN, memory_order_acq_rel) & ~OPEN;
    for (uint64_t end = 0; state & INSIDE; state = atomic_load_explicit(&slot->state, memory_order_acquire)) {
        uint64_t now = nanoseconds();
        if (end == 0) end = now + LOOK_NANOSECONDS;
        if (now < end) {
            pause_briefly();
        } else if (atomic_compare_exchange_strong_explicit(&slot->state, &state, state | AWAITED, memory_order_relaxed,
                                                           memory_order_relaxed)) {
            futex_wait(&slot->state, state | AWAITED);
        }
    }
    atomic_store_explicit(&slot->taken, 0, memory_order_release);
}

/* True: this worker is inside and may use what the slot holds. *out_seats: how many more may come. */
static bool seat_take(job_slot *slot, uint32_t *out_seats)
{
    uint32_t state = atomic_load_explicit(&slot->state, memory_order_relaxed);
    while (state & OPEN && state & SEATS)
        if (atomic_compare_exchange_weak_explicit(&slot->state, &state, state - SEAT + 1, memory_order_acquire,
                                                  memory_order_relaxed)) {
            *out_seats = (state & SEATS) / SEAT - 1;
            return true;
        }
    return false;
}

/* The caller may use the slot for another job at once: the word is woken, not looked at any more. */
static void seat_leave(job_slot *slot)
{
    uint32_t state = atomic_fetch_sub_explicit(&slot->state, 1, memory_order_release);
    if (state & AWAITED && (state & INSIDE) == 1) futex_wake(&slot->state, 1);
}

/* --- workers ------------------------------------------------------------------------------------------------------ */

static bool work(copse_pool *pool)
{
    bool worked = false;
    for (uint32_t i = 0; i < SLOTS; i++) {
        uint32_t seats;
        if (!seat_take(&pool->slots[i], &seats)) continue;
        wake_workers(pool, seats);
        take_chunks(&pool->slots[i]);
        seat_leave(&pool->slots[i]);
        worked = true;
    }
    return worked;
}

/* Until there is a call after the one that was seen last. */
static void rest(copse_pool *pool, uint32_t seen)
{
    uint64_t begin = nanoseconds(), look;
    do {
        if (atomic_load_explicit(&pool->calls, memory_order_relaxed) != seen) return;
        pause_briefly();
        look = atomic_load_explicit(&pool->alerts, memory_order_relaxed) ? ALERT_NANOSECONDS : LOOK_NANOSECONDS;
    } while (nanoseconds() - begin < look);
    (void)atomic_fetch_add(&pool->sleepers, 1);
    futex_wait(&pool->calls, seen);
    (void)atomic_fetch_sub(&pool->sleepers, 1);
}

static void *worker_main(void *argument)
{
    copse_pool *pool = argument;
    for (;;) {
        uint32_t seen = atomic_load_explicit(&pool->calls, memory_order_acquire);
        if (atomic_load_explicit(&pool->closing, memory_order_relaxed)) return NULL;
        if (!work(pool)) rest(pool, seen);
    }
}

/* Signals are for the threads of the program: it does not expect its handlers on ours. */
static bool worker_make(copse_pool *pool, const pthread_attr_t *attributes, pthread_t *out)
{
    sigset_t all, before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    bool made =
        (copse_pool_thread_create ? copse_pool_thread_create : pthread_create)(out, attributes, worker_main, pool) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (made) (void)pthread_setname_np(*out, "copse");
    return made;
}

/* Makes threads up to `wanted`, or as many as the system gives. */
static void grow(copse_pool *pool, uint32_t wanted)
{
    pthread_attr_t attributes;
    if (pool->calls_until_retry && --pool->calls_until_retry) return;
    if (pthread_attr_init(&attributes) != 0) return;
    (void)pthread_attr_setstacksize(&attributes, STACK_BYTES);
    uint32_t workers = atomic_load_explicit(&pool->workers, memory_order_relaxed);
    while (workers < wanted && worker_make(pool, &attributes, &pool->thread[workers])) workers++;
    if (workers < wanted) pool->calls_until_retry = CALLS_UNTIL_RETRY;
    atomic_store_explicit(&pool->workers, workers, memory_order_relaxed);
    (void)pthread_attr_destroy(&attributes);
}

/* --- the pool ----------------------------------------------------------------------------------------------------- */

size_t copse_pool_bytes(uint32_t threads)
{
    return sizeof(copse_pool) + threads * sizeof(pthread_t);
}

static void forget_workers(copse_pool *pool)
{
    atomic_init(&pool->workers, 0);
    atomic_init(&pool->growing, 0);
    atomic_init(&pool->calls, 0);
    atomic_init(&pool->sleepers, 0);
    atomic_init(&pool->alerts, 0);
    atomic_init(&pool->closing, false);
    for (uint32_t i = 0; i < SLOTS; i++) {
        atomic_init(&pool->slots[i].taken, 0);
        atomic_init(&pool->slots[i].state, 0);
    }
    pool->calls_until_retry = 0;
}

copse_pool *copse_pool_open(void *memory, uint32_t threads)
{
    copse_pool *pool = memory;
    memset(pool, 0, sizeof *pool);
    pool->most = threads ? threads - 1 : 0;
    pool->thread = (pthread_t *)(pool + 1);
    atomic_init(&pool->generation, copse_fork_generation());
    forget_workers(pool);
    return pool;
}

void copse_pool_close(copse_pool *pool)
{
    if (!pool || atomic_load(&pool->generation) != copse_fork_generation()) return; /* the parent has the threads */
    atomic_store(&pool->closing, true);
    (void)atomic_fetch_add(&pool->calls, 1);
    futex_wake(&pool->calls, INT32_MAX);
    uint32_t workers = atomic_load(&pool->workers);
    for (uint32_t i = 0; i < workers; i++) (void)pthread_join(pool->thread[i], NULL);
}

void copse_pool_alert_begin(copse_pool *pool)
{
    if (pool) (void)atomic_fetch_add_explicit(&pool->alerts, 1, memory_order_relaxed);
}

void copse_pool_alert_end(copse_pool *pool)
{
    if (pool) (void)atomic_fetch_sub_explicit(&pool->alerts, 1, memory_order_relaxed);
}

#define BEING_RENEWED UINT32_MAX

/* After a fork the threads of the parent are not there; what they had in hand is gone, too. False: another thread of the child
 * is just about to notice, and this one works alone. */
static bool renew(copse_pool *pool)
{
    uint32_t now = copse_fork_generation(), was = atomic_load_explicit(&pool->generation, memory_order_acquire);
    if (was == now) return true;
    if (was == BEING_RENEWED || !atomic_compare_exchange_strong(&pool->generation, &was, BEING_RENEWED)) return false;
    forget_workers(pool);
    atomic_store_explicit(&pool->generation, now, memory_order_release);
    return true;
}

/* A slot for a job with so many workers, NULL where it has to do without. */
static job_slot *slot_take(copse_pool *pool, uint32_t seats)
{
    if (!renew(pool)) return NULL;
    if (atomic_load_explicit(&pool->workers, memory_order_relaxed) < seats &&
        atomic_exchange_explicit(&pool->growing, 1, memory_order_acquire) == 0) {
        grow(pool, seats);
        atomic_store_explicit(&pool->growing, 0, memory_order_release);
    }
    if (atomic_load_explicit(&pool->workers, memory_order_relaxed) == 0) return NULL;
    for (uint32_t i = 0; i < SLOTS; i++)
        if (atomic_load_explicit(&pool->slots[i].taken, memory_order_relaxed) == 0 &&
            atomic_exchange_explicit(&pool->slots[i].taken, 1, memory_order_acquire) == 0)
            return &pool->slots[i];
    return NULL;
}

void copse_pool_run(copse_pool *pool, uint32_t threads, uint64_t n, uint64_t chunk, copse_chunk_fn body, void *job)
{
    uint64_t chunks = n / chunk + (n % chunk != 0);
    uint64_t seats = threads < chunks ? threads : chunks;
    seats = pool && seats > 1 ? seats - 1 : 0;
    if (seats && seats > pool->most) seats = pool->most;
    job_slot *slot = seats ? slot_take(pool, (uint32_t)seats) : NULL;
    if (!slot) {
        for (uint64_t number = 0; number < chunks; number++) run_chunk(body, job, n, chunk, number);
        return;
    }
    slot->n = n;
    slot->chunk = chunk;
    slot->chunks = chunks;
    slot->body = body;
    slot->job = job;
    slot_open(pool, slot, (uint32_t)seats);
    take_chunks(slot);
    slot_close(slot);
}

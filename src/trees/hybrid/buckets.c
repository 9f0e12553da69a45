/* Buckets on their way: keys to the card, nodes back, leaves on the CPU. */
#include "trees/hybrid/buckets.h"

#include "core/handle.h"
#include "cpu/driver.h"
#include "trees/hybrid/kernels.h"
#include "transfer/transfer.h"

#include <sched.h>
#include <string.h>
#include <time.h>

COPSE_PICK_KERNEL_ROW(copse_hybrid_kernels)

/* Queries whose keys one thread copies at a time, and whose leaves it reads. */
#define KEYS_AT_ONCE   8192u
#define LEAVES_AT_ONCE 2048u
/* A call of which the card did less than one part in so many, or in which a query took no less time with it, says that it does not help:
 * the next ones do without it. */
#define FRUITLESS 32u

/* --- a bucket in its slot -------------------------------------------------------------------------------------------------- */

static uint64_t key_bytes(const copse_hybrid_call *call)
{
    return copse_type_size(call->handle.key_type);
}

/* Where in a slot the keys of a side begin, what is below them, and where all that ends, for a bucket of n queries. */
static uint64_t keys_at(const copse_hybrid_call *call, uint64_t n, unsigned side)
{
    return side * n * key_bytes(call);
}

static uint64_t leaves_at(const copse_hybrid_call *call, uint64_t n, unsigned side)
{
    return (keys_at(call, n, call->sides) + 63) / 64 * 64 + side * n * sizeof(uint64_t);
}

static uint64_t nodes_at(const copse_hybrid_call *call, uint64_t n, unsigned side)
{
    const bool wide = call->mirror->records.bytes || call->mirror->cached_units; /* values of lookups lie there, too */
    return leaves_at(call, n, wide ? call->sides : 0) + side * n * sizeof(uint32_t);
}

static uint64_t found_at(const copse_hybrid_call *call, uint64_t n)
{
    return nodes_at(call, n, call->sides);
}

static uint64_t end_at(const copse_hybrid_call *call, uint64_t n)
{
    return found_at(call, n) + (call->cached ? n : 0);
}

static copse_hybrid_slot *slot_of(const copse_hybrid_call *call, const copse_bucket *bucket)
{
    return &call->mirror->slot[bucket - call->bucket];
}

static copse_status keys_send(const copse_hybrid_call *call, const copse_bucket *b)
{
    copse_device *device = call->mirror->device;
    const copse_hybrid_slot *slot = slot_of(call, b);
    const uint64_t n = b->last - b->first, width = key_bytes(call);
    if (!call->direct)
        return copse_device_copy(device, slot->stream, slot->device, slot->pinned, keys_at(call, n, call->sides));
    copse_status status = COPSE_OK;
    for (unsigned i = 0; status == COPSE_OK && i < call->sides; i++)
        status = copse_device_copy(device, slot->stream, slot->device + keys_at(call, n, i),
                                   (const char *)call->walked.side[i].keys + b->first * width, n * width);
    return status;
}

static copse_status find_cached(const copse_hybrid_call *call, const copse_bucket *b,
                                const copse_descend_arguments *descend, const copse_kernel *kernel)
{
    const copse_mirror *mirror = call->mirror;
    const copse_hybrid_slot *slot = slot_of(call, b);
    copse_cached_arguments arguments = {.descend = *descend,
                                        .units = mirror->cached,
                                        .cached = mirror->cached_units,
                                        .entries = copse_cpu_tree_of(&call->handle)->size(&call->handle),
                                        .values = slot->device + leaves_at(call, descend->n, 0),
                                        .found = (uint8_t *)slot->device + found_at(call, descend->n)};
    (void)copse_cpu_tree_of(&call->handle)->units(&call->handle, &arguments.all);
    return copse_device_launch(mirror->device, slot->stream, kernel,
                               (descend->n + kernel->threads - 1) / kernel->threads, &arguments);
}

static copse_status descend(const copse_hybrid_call *call, const copse_bucket *b, unsigned side)
{
    const copse_index *index = &call->handle;
    const copse_mirror *mirror = call->mirror;
    const copse_hybrid_slot *slot = slot_of(call, b);
    const uint64_t n = b->last - b->first;
    const unsigned pair = copse_width_pair(copse_type_size(index->key_type), copse_value_width(index->value_type));
    const copse_descend_arguments arguments = {.levels = mirror->levels,
                                               .key_type = index->key_type,
                                               .unique = !index->duplicates,
                                               .upper = call->walked.side[side].upper,
                                               .n = (uint32_t)n,
                                               .keys = slot->device + keys_at(call, n, side),
                                               .nodes = (uint32_t *)(slot->device + nodes_at(call, n, side)),
                                               .leaves = (uint64_t *)(slot->device + leaves_at(call, n, side)),
                                               .places = mirror->records.places,
                                               .records = mirror->records.memory,
                                               .record_bytes = mirror->records.bytes};
    const copse_hybrid_kernels *kernels = copse_hybrid_kernels_on(mirror->device, pair);
    if (call->cached) return find_cached(call, b, &arguments, &kernels->find_cached[arguments.levels.digest]);
    const copse_kernel *kernel =
        mirror->records.bytes ? &kernels->descend_pages : &kernels->descend[arguments.levels.digest];
    return copse_device_launch(mirror->device, slot->stream, kernel, (n + kernel->threads - 1) / kernel->threads,
                               &arguments);
}

/* Puts a bucket whose keys are there on the stream of its slot. */
static copse_status send(const copse_hybrid_call *call, const copse_bucket *b)
{
    copse_device *device = call->mirror->device;
    const copse_hybrid_slot *slot = slot_of(call, b);
    const uint64_t n = b->last - b->first, results = leaves_at(call, n, 0);
    copse_status status = keys_send(call, b);
    for (unsigned i = 0; status == COPSE_OK && i < call->sides; i++) status = descend(call, b, i);
    if (status == COPSE_OK)
        status = copse_device_copy(device, slot->stream, slot->pinned + results, slot->device + results,
                                   end_at(call, n) - results);
    return status == COPSE_OK ? device->backend->event_record(device, slot->through, slot->stream) : status;
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* --- the lock ---------------------------------------------------------------------------------------------------------------- */

/* Held for some nanoseconds, by one thread of the context for another: not worth a system call, unless that one has been stopped. */
static void relax(unsigned *tries)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
    if (++*tries % 64 == 0) sched_yield();
}

static void lock(copse_hybrid_call *call)
{
    unsigned tries = 0;
    while (atomic_flag_test_and_set_explicit(&call->lock, memory_order_acquire)) relax(&tries);
}

static void unlock(copse_hybrid_call *call)
{
    atomic_flag_clear_explicit(&call->lock, memory_order_release);
}

/* --- what a thread can do: under the lock -------------------------------------------------------------------------------------- */

typedef enum work_kind { WORK_NONE, WORK_WAIT, WORK_KEYS, WORK_LEAVES } work_kind;

typedef struct bucket_work {
    work_kind kind;
    copse_bucket *bucket; /* NULL: queries from the end of the batch */
    uint64_t first, last;
} bucket_work;

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static copse_bucket *bucket_of(copse_hybrid_call *call, uint64_t number)
{
    return &call->bucket[number % call->slots];
}

/* Leaves of the oldest bucket, where it is in one of two states. */
static bool take_leaves(copse_hybrid_call *call, copse_bucket_state state, copse_bucket_state other, bucket_work *work)
{
    copse_bucket *b = bucket_of(call, call->oldest);
    if (call->oldest == call->filling || b->number != call->oldest || (b->state != state && b->state != other))
        return false;
    *work = (bucket_work){WORK_LEAVES, b, b->taken, least(b->taken + call->chunk, b->last)};
    b->taken = work->last;
    if (b->taken == b->last) call->oldest++;
    return true;
}

static void bucket_begin(copse_hybrid_call *call, copse_bucket *b)
{
    b->state = COPSE_BUCKET_FILLING;
    b->number = call->filling;
    b->first = b->asked = b->taken = call->reach;
    b->last = call->reach = least(call->reach + call->size, call->back);
    b->keys = b->read = 0;
    b->due = 0;
    atomic_store_explicit(&b->ready, 0, memory_order_relaxed);
}

static bool take_keys(copse_hybrid_call *call, bucket_work *work)
{
    copse_bucket *b = bucket_of(call, call->filling);
    if (b->state == COPSE_BUCKET_FREE && call->reach < call->back && !call->failed) bucket_begin(call, b);
    if (b->state != COPSE_BUCKET_FILLING || b->number != call->filling) return false;
    *work = (bucket_work){WORK_KEYS, b, b->asked, call->direct ? b->last : least(b->asked + KEYS_AT_ONCE, b->last)};
    b->asked = work->last;
    if (b->asked == b->last) call->filling++;
    return true;
}

/* Queries that nobody has, from the end. */
static bool take_back(copse_hybrid_call *call, bucket_work *work)
{
    if (call->reach == call->back) return false;
    const uint64_t last = call->back, room = last - call->reach;
    call->back -= least(call->chunk, room);
    *work = (bucket_work){WORK_LEAVES, NULL, call->back, last};
    return true;
}

static bucket_work take(copse_hybrid_call *call)
{
    bucket_work work = {.kind = WORK_WAIT};
    lock(call);
    const bool alone = call->shared || call->failed;
    if (!take_leaves(call, COPSE_BUCKET_THROUGH, COPSE_BUCKET_LOST, &work) && !take_keys(call, &work) &&
        !(alone && (take_back(call, &work) || take_leaves(call, COPSE_BUCKET_SENT, COPSE_BUCKET_SENT, &work))) &&
        call->oldest == call->filling && call->reach == call->back)
        work.kind = WORK_NONE;
    unlock(call);
    return work;
}

/* --- doing it ---------------------------------------------------------------------------------------------------------------- */

static void note_failure(copse_hybrid_call *call, const copse_kept_error *before)
{
    lock(call);
    const bool first = !call->failed;
    call->failed = true;
    unlock(call);
    if (first)
        copse_mirror_failed(call->mirror, before);
    else
        copse_error_put_back(before);
}

/* Sends a bucket when the last of its keys have come. */
static void do_keys(copse_hybrid_call *call, const bucket_work *work)
{
    copse_bucket *b = work->bucket;
    const uint64_t n = b->last - b->first, width = key_bytes(call);
    const double begun = seconds();
    copse_kept_error before;
    for (unsigned i = 0; !call->direct && i < call->sides; i++)
        memcpy(slot_of(call, b)->pinned + keys_at(call, n, i) + (work->first - b->first) * width,
               (const char *)call->walked.side[i].keys + work->first * width, (work->last - work->first) * width);
    lock(call);
    b->keys += work->last - work->first;
    call->together_seconds += seconds() - begun;
    const bool complete = b->keys == n, failed = call->failed;
    unlock(call);
    if (!complete) return;
    copse_error_keep(&before);
    b->sent = begun;
    const bool sent = !failed && send(call, b) == COPSE_OK;
    if (!failed && !sent) note_failure(call, &before);
    lock(call);
    b->state = sent ? COPSE_BUCKET_SENT : COPSE_BUCKET_LOST;
    unlock(call);
}

/* What the card has answered, in place of what the CPU found in the first unit, where nodes of such queries lead. */
static void put_cached(const copse_hybrid_call *call, const copse_bucket *b, uint64_t first, uint64_t last)
{
    const char *pinned = slot_of(call, b)->pinned;
    const uint64_t n = b->last - b->first, width = copse_value_width(call->handle.value_type);
    const char *values = pinned + leaves_at(call, n, 0) + (first - b->first) * width;
    const uint8_t *found = (const uint8_t *)pinned + found_at(call, n) + (first - b->first);
    for (uint64_t i = 0; i < last - first; i++) {
        if (found[i] == COPSE_NOT_CACHED) continue;
        if (call->values && width == 8) memcpy(call->values + (first + i) * 8, values + i * 8, 8);
        if (call->values && width == 4) memcpy(call->values + (first + i) * 4, values + i * 4, 4);
        if (call->found) call->found[first + i] = found[i];
    }
}

static void do_leaves(copse_hybrid_call *call, const bucket_work *work)
{
    copse_bucket *b = work->bucket;
    const uint64_t n = work->last - work->first;
    const double begun = seconds();
    call->part(call->job, work->first, work->last);
    const bool together = b && atomic_load_explicit(&b->ready, memory_order_acquire) == b->number + 1;
    if (together && call->cached) put_cached(call, b, work->first, work->last);
    lock(call);
    *(together ? &call->together : &call->alone) += n;
    *(together ? &call->together_seconds : &call->alone_seconds) += seconds() - begun;
    if (b) b->read += n;
    if (b && b->read == b->last - b->first && b->state != COPSE_BUCKET_SENT) b->state = COPSE_BUCKET_FREE;
    unlock(call);
}

/* A card that is to seem slower has a bucket for as many times longer as it really took, one after the other. */
static copse_status slow_card_done(copse_hybrid_call *call, const copse_bucket *oldest, bool *out_done)
{
    copse_device *device = call->mirror->device;
    for (uint64_t number = oldest->number; number < oldest->number + call->slots; number++) {
        copse_bucket *b = bucket_of(call, number);
        bool done = false;
        lock(call);
        const bool there = b->state == COPSE_BUCKET_SENT && b->number == number;
        unlock(call);
        if (!there) break;
        if (b->due > 0) continue;
        copse_status status = device->backend->event_done(device, slot_of(call, b)->through, &done);
        if (status != COPSE_OK || !done) return status;
        const double now = seconds(), begun = b->sent > call->seen ? b->sent : call->seen;
        call->until = (b->sent > call->until ? b->sent : call->until) + (now - begun) * call->mirror->tuning.slower;
        call->seen = now;
        b->due = call->until;
    }
    *out_done = oldest->due > 0 && seconds() >= oldest->due;
    return COPSE_OK;
}

static copse_status is_done(copse_hybrid_call *call, const copse_bucket *b, bool *out_done)
{
    copse_device *device = call->mirror->device;
    *out_done = false;
    if (call->mirror->tuning.slower > 1) return slow_card_done(call, b, out_done);
    return device->backend->event_done(device, slot_of(call, b)->through, out_done);
}

/* Looks whether the card is through with the bucket that is to be read next; one thread at a time. */
static void look(copse_hybrid_call *call)
{
    copse_kept_error before;
    bool done = false;
    if (atomic_flag_test_and_set_explicit(&call->looking, memory_order_acquire)) return;
    lock(call);
    copse_bucket *b = bucket_of(call, call->oldest);
    const bool sent = b->number == call->oldest && b->state == COPSE_BUCKET_SENT;
    unlock(call);
    if (sent) {
        copse_error_keep(&before);
        const bool failed = is_done(call, b, &done) != COPSE_OK;
        if (failed) note_failure(call, &before);
        if (failed || done) {
            lock(call);
            b->state = failed ? COPSE_BUCKET_LOST : COPSE_BUCKET_THROUGH;
            if (!failed) atomic_store_explicit(&b->ready, b->number + 1, memory_order_release);
            if (b->read == b->last - b->first) b->state = COPSE_BUCKET_FREE;
            unlock(call);
        }
    }
    atomic_flag_clear_explicit(&call->looking, memory_order_release);
}

/* One thread, until there is nothing left that nobody does. */
static void work_on(void *argument, uint64_t seat, uint64_t end)
{
    copse_hybrid_call *call = argument;
    unsigned tries = 0;
    (void)seat;
    (void)end;
    for (;;) {
        look(call);
        const bucket_work work = take(call);
        if (work.kind == WORK_NONE) return;
        if (work.kind == WORK_KEYS) do_keys(call, &work);
        if (work.kind == WORK_LEAVES) do_leaves(call, &work);
        if (work.kind == WORK_WAIT) relax(&tries);
    }
}

static void buckets_run(copse_hybrid_call *call, uint32_t threads, uint64_t chunk, copse_chunk_fn part, void *job)
{
    call->chunk = chunk < LEAVES_AT_ONCE ? chunk : LEAVES_AT_ONCE;
    call->part = part;
    call->job = job;
    copse_parallel(call->handle.ctx, threads, threads, 1, work_on, call);
}

/* --- calls by position ----------------------------------------------------------------------------------------------------- */

static void run(copse_walked *walked, uint32_t threads, uint64_t chunk, copse_chunk_fn part, void *job)
{
    buckets_run((copse_hybrid_call *)walked, threads, chunk, part, job);
}

/* A thread that asks has taken these queries, so that the bucket does not go meanwhile. */
static copse_below below(const copse_walked *walked, unsigned side, uint64_t first)
{
    const copse_hybrid_call *call = (const copse_hybrid_call *)walked;
    const uint64_t number = first / call->size;
    const copse_bucket *b = &call->bucket[number % call->slots];
    const bool ready = atomic_load_explicit(&b->ready, memory_order_acquire) == number + 1;
    if (!ready || first >= b->last)
        return (copse_below){NULL, NULL}; /* the last bucket may end in front of what the CPU has */
    const char *pinned = slot_of(call, b)->pinned;
    const uint64_t n = b->last - b->first, at = first - b->first;
    return (copse_below){.nodes = (const uint32_t *)(const void *)(pinned + nodes_at(call, n, side)) + at,
                         .leaves = call->mirror->records.bytes
                                       ? (const uint64_t *)(const void *)(pinned + leaves_at(call, n, side)) + at
                                       : NULL};
}

/* --- calls that need all nodes --------------------------------------------------------------------------------------------- */

static void nodes_keep(void *argument, uint64_t first, uint64_t last)
{
    copse_hybrid_call *call = argument;
    for (unsigned i = 0; i < call->sides; i++) {
        const copse_below from = below(&call->walked, i, first);
        if (!from.nodes) return;
        memcpy(call->whole + i * call->n + first, from.nodes, (last - first) * sizeof(uint32_t));
        if (from.leaves)
            memcpy(call->whole_leaves + i * call->n + first, from.leaves, (last - first) * sizeof(uint64_t));
    }
}

static copse_below below_of_all(const copse_walked *walked, unsigned side, uint64_t first)
{
    const copse_hybrid_call *call = (const copse_hybrid_call *)walked;
    const uint64_t at = side * call->n + first;
    if (!call->whole || call->failed) return (copse_below){NULL, NULL};
    return (copse_below){call->whole + at, call->whole_leaves ? call->whole_leaves + at : NULL};
}

static size_t whole_bytes(const copse_hybrid_call *call)
{
    const size_t each = sizeof(uint32_t) + (call->mirror->records.bytes ? sizeof(uint64_t) : 0);
    return copse_memory_product(call->n, call->sides * each);
}

void copse_hybrid_use_leaves(copse_hybrid_call *call, void *values, uint8_t *found)
{
    call->cached = call->mirror->cached_units != 0;
    call->values = values;
    call->found = found;
}

void copse_hybrid_walk_all(copse_hybrid_call *call)
{
    char *memory = copse_memory_alloc(call->handle.ctx, whole_bytes(call));
    const bool leaves = call->mirror->records.bytes != 0;
    call->walked.run = NULL;
    if (memory) {
        call->whole_leaves = leaves ? (uint64_t *)(void *)memory : NULL;
        call->whole = (uint32_t *)(void *)(memory + (leaves ? call->n * call->sides * sizeof(uint64_t) : 0));
        call->shared = false; /* all of them have to come */
        buckets_run(call, copse_threads_for_lookups(call->handle.ctx, call->n * 2), LEAVES_AT_ONCE, nodes_keep, call);
    }
    call->walked.below = below_of_all;
}

/* --- begin and end ----------------------------------------------------------------------------------------------------------- */

static copse_status slots_make(const copse_hybrid_call *call)
{
    copse_status status = copse_device_check(call->mirror->device);
    if (status == COPSE_OK) status = copse_mirror_settle(call->mirror);
    for (unsigned i = 0; status == COPSE_OK && i < call->slots; i++)
        status = copse_mirror_slot(call->mirror, i, found_at(call, call->size) + call->size);
    return status;
}

/* What lies in memory that the card can read goes there without a copy by threads. */
static bool all_pinned(const copse_hybrid_call *call)
{
    bool pinned = true;
    for (unsigned i = 0; i < call->sides; i++)
        pinned = pinned &&
                 copse_transfer_is_pinned(call->mirror->device, call->walked.side[i].keys, call->n * key_bytes(call));
    return pinned;
}

/* A call with less than some buckets would leave the card nothing to be ahead with. */
static uint64_t bucket_size(const copse_hybrid_tuning *tuning, uint64_t n, unsigned slots)
{
    const uint64_t share = n / (2 * slots) + 1, some = share > tuning->smallest ? share : tuning->smallest;
    const uint64_t size = tuning->bucket < some || !tuning->smallest ? tuning->bucket : some;
    return size < n ? size : n;
}

/* Whether this call has the card, and the lock: its copy is what the tree is, or can be made so. */
static bool take_card(const copse_index *index, uint64_t n)
{
    copse_mirror *mirror = copse_mirror_of(index);
    if (n < mirror->tuning.least || !(mirror->current || mirror->behind)) return false;
    if (pthread_mutex_trylock(&mirror->lock) != 0) return false;
    if (mirror->behind) copse_mirror_refresh(index);
    if (mirror->current && mirror->rest == 0) return true;
    if (mirror->rest) mirror->rest--;
    pthread_mutex_unlock(&mirror->lock);
    return false;
}

bool copse_hybrid_begin(copse_hybrid_call *call, const copse_index *index, uint64_t n, const void *keys, bool upper,
                        const void *highs)
{
    copse_mirror *mirror = copse_mirror_of(index);
    if (!take_card(index, n)) return false;
    const copse_hybrid_tuning *tuning = &mirror->tuning;
    const unsigned slots = (unsigned)tuning->schedule - COPSE_SCHEDULE_SEQUENTIAL + 1;
    *call = (copse_hybrid_call){.walked = {.side = {{keys, upper}, {highs, true}}, .below = below, .run = run},
                                .mirror = mirror,
                                .sides = highs ? 2 : 1,
                                .n = n,
                                .back = n,
                                .size = bucket_size(tuning, n, slots),
                                .slots = slots,
                                .shared = tuning->schedule == COPSE_SCHEDULE_BALANCED,
                                .lock = ATOMIC_FLAG_INIT,
                                .looking = ATOMIC_FLAG_INIT};
    call->handle = copse_index_handle(index);
    call->handle.walked = &call->walked;
    copse_kept_error before;
    copse_error_keep(&before);
    if (slots_make(call) == COPSE_OK) {
        call->direct = all_pinned(call);
        return true;
    }
    copse_mirror_failed(mirror, &before);
    pthread_mutex_unlock(&mirror->lock);
    return false;
}

/* What the card still has is of no use any more. Where it reads the caller's arrays it has to be waited for, else the next call does. */
static void leave(copse_hybrid_call *call)
{
    for (unsigned i = 0; i < call->slots; i++)
        if (call->bucket[i].state == COPSE_BUCKET_SENT || call->failed) call->mirror->slot[i].busy = true;
    if (call->direct || call->failed) (void)copse_mirror_settle(call->mirror);
}

/* Whether the card did enough, and a query took a thread less time with it than without. */
static bool helps(const copse_hybrid_call *call)
{
    const double alone = call->alone_seconds * (double)call->together;
    const double together = call->together_seconds * (double)call->alone;
    return call->together >= call->n / FRUITLESS && (alone == 0 || together < alone);
}

copse_status copse_hybrid_end(copse_hybrid_call *call, copse_status status)
{
    copse_mirror *mirror = call->mirror;
    copse_kept_error kept;
    copse_error_keep(&kept);
    leave(call);
    copse_error_put_back(&kept);
    if (call->shared && !call->failed && !helps(call)) mirror->rest = mirror->tuning.rest;
    copse_memory_free(call->handle.ctx, call->whole_leaves ? (void *)call->whole_leaves : (void *)call->whole,
                      whole_bytes(call));
    pthread_mutex_unlock(&mirror->lock);
    return status;
}

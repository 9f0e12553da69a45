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

/* Queries whose keys one thread copies at a time. */
#define KEYS_AT_ONCE 8192u
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
                                               .record_of = mirror->records.record_of,
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
    while (atomic_exchange_explicit(&call->lock, true, memory_order_acquire))
        while (atomic_load_explicit(&call->lock, memory_order_relaxed)) relax(&tries);
}

static void unlock(copse_hybrid_call *call)
{
    atomic_store_explicit(&call->lock, false, memory_order_release);
}

/* --- what a thread can do: under the lock -------------------------------------------------------------------------------------- */

typedef enum work_kind { WORK_NONE, WORK_WAIT, WORK_KEYS, WORK_LEAVES } work_kind;

typedef struct bucket_work {
    work_kind kind;
    copse_bucket *bucket; /* NULL: queries that no bucket has */
    uint64_t first, last;
    bool known; /* the card has found what is below */
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
    *work = (bucket_work){WORK_LEAVES, b, b->taken, least(b->taken + call->chunk, b->last),
                          b->state == COPSE_BUCKET_THROUGH};
    b->taken = work->last;
    if (b->taken == b->last) call->oldest++;
    return true;
}

static void bucket_begin(copse_hybrid_call *call, copse_bucket *b)
{
    b->state = COPSE_BUCKET_FILLING;
    b->number = call->filling;
    b->first = b->asked = b->taken = call->reach;
    b->last = call->reach = least(call->reach + call->size, call->n);
    b->keys = b->read = 0;
    b->due = 0;
}

static bool take_keys(copse_hybrid_call *call, bucket_work *work)
{
    copse_bucket *b = bucket_of(call, call->filling);
    if (b->state == COPSE_BUCKET_FREE && call->reach < call->n && !call->failed) bucket_begin(call, b);
    if (b->state != COPSE_BUCKET_FILLING || b->number != call->filling) return false;
    *work =
        (bucket_work){WORK_KEYS, b, b->asked, call->direct ? b->last : least(b->asked + KEYS_AT_ONCE, b->last), false};
    b->asked = work->last;
    if (b->asked == b->last) call->filling++;
    return true;
}

/* Queries that nobody has. */
static bool take_ahead(copse_hybrid_call *call, bucket_work *work)
{
    if (call->reach == call->n) return false;
    *work = (bucket_work){WORK_LEAVES, NULL, call->reach, least(call->reach + call->chunk, call->n), false};
    call->reach = work->last;
    return true;
}

/* Without the card: what it has not come to. Where the order counts, what it has, or is about to get, comes first. */
static bool take_alone(copse_hybrid_call *call, bucket_work *work)
{
    if (!call->in_order && take_ahead(call, work)) return true;
    return take_leaves(call, COPSE_BUCKET_SENT, COPSE_BUCKET_FILLING, work) || take_ahead(call, work);
}

static bucket_work next_work(copse_hybrid_call *call)
{
    bucket_work work = {.kind = WORK_WAIT};
    lock(call);
    /* Keys come first: the card is to have all slots while the CPU reads. */
    if (!take_keys(call, &work) && !take_leaves(call, COPSE_BUCKET_THROUGH, COPSE_BUCKET_LOST, &work) &&
        !((call->shared || call->failed) && take_alone(call, &work)) && call->oldest == call->filling &&
        call->reach == call->n)
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
    b->state = sent ? COPSE_BUCKET_SENT : b->read == n ? COPSE_BUCKET_FREE : COPSE_BUCKET_LOST;
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

/* The bucket that the card is to be through with next; NULL: it has none. */
static copse_bucket *looked_for(copse_hybrid_call *call)
{
    lock(call);
    copse_bucket *b = bucket_of(call, call->looked);
    const bool there = call->looked < call->filling && b->number == call->looked;
    const bool sent = there && b->state == COPSE_BUCKET_SENT;
    if (there && (b->state == COPSE_BUCKET_LOST || b->state == COPSE_BUCKET_FREE)) call->looked++; /* it never went */
    unlock(call);
    return sent ? b : NULL;
}

/* Looks what the card is through with, one thread at a time: all that it has, so that nobody who comes to the next bucket has to ask. */
static void look(copse_hybrid_call *call)
{
    copse_kept_error before;
    copse_bucket *b;
    bool done = true;
    if (atomic_flag_test_and_set_explicit(&call->looking, memory_order_acquire)) return;
    while (done && (b = looked_for(call)) != NULL) {
        copse_error_keep(&before);
        const bool failed = is_done(call, b, &done) != COPSE_OK;
        if (failed) note_failure(call, &before);
        if (!failed && !done) break;
        lock(call);
        b->state = failed ? COPSE_BUCKET_LOST : COPSE_BUCKET_THROUGH;
        if (b->read == b->last - b->first) b->state = COPSE_BUCKET_FREE;
        call->looked++;
        unlock(call);
    }
    atomic_flag_clear_explicit(&call->looking, memory_order_release);
}

/* --- shares ------------------------------------------------------------------------------------------------------------------ */

/* The bucket of the calling thread's share; NULL: it walks from the root. */
static _Thread_local const copse_bucket *mine;

static uint64_t shares_open(copse_walked *walked, uint64_t chunk, bool in_order)
{
    copse_hybrid_call *call = (copse_hybrid_call *)walked;
    call->chunk = least(least(chunk, COPSE_HYBRID_SHARE), call->size);
    call->size -= call->size % call->chunk;
    call->in_order = in_order;
    return call->chunk;
}

static bool share_take(copse_walked *walked, copse_share *out)
{
    copse_hybrid_call *call = (copse_hybrid_call *)walked;
    unsigned tries = 0;
    for (;;) {
        look(call);
        const bucket_work work = next_work(call);
        if (work.kind == WORK_NONE) return false;
        if (work.kind == WORK_KEYS) do_keys(call, &work);
        if (work.kind == WORK_WAIT) relax(&tries);
        if (work.kind != WORK_LEAVES) continue;
        mine = work.known ? work.bucket : NULL;
        *out = (copse_share){work.first, work.last, work.bucket, seconds()};
        return true;
    }
}

static void share_give(copse_walked *walked, const copse_share *share)
{
    copse_hybrid_call *call = (copse_hybrid_call *)walked;
    copse_bucket *b = share->from;
    const uint64_t n = share->last - share->first;
    const double took = seconds() - share->begun;
    lock(call);
    *(mine ? &call->together : &call->alone) += n;
    *(mine ? &call->together_seconds : &call->alone_seconds) += took;
    if (b) b->read += n;
    if (b && b->read == b->last - b->first && (b->state == COPSE_BUCKET_THROUGH || b->state == COPSE_BUCKET_LOST))
        b->state = COPSE_BUCKET_FREE;
    unlock(call);
    mine = NULL;
}

static copse_below below(const copse_walked *walked, unsigned side, uint64_t first)
{
    const copse_hybrid_call *call = (const copse_hybrid_call *)walked;
    if (!mine || first < mine->first || first >= mine->last) return (copse_below){NULL, NULL};
    const char *pinned = slot_of(call, mine)->pinned;
    const uint64_t n = mine->last - mine->first, at = first - mine->first;
    return (copse_below){.nodes = (const uint32_t *)(const void *)(pinned + nodes_at(call, n, side)) + at,
                         .leaves = call->mirror->records.bytes
                                       ? (const uint64_t *)(const void *)(pinned + leaves_at(call, n, side)) + at
                                       : NULL};
}

bool copse_hybrid_answers(const copse_hybrid_call *call, uint64_t first, copse_below *out_below,
                          const char **out_values, const uint8_t **out_found)
{
    *out_below = below(&call->walked, 0, first);
    if (!mine) return false;
    const char *pinned = slot_of(call, mine)->pinned;
    const uint64_t n = mine->last - mine->first, at = first - mine->first;
    *out_values = pinned + leaves_at(call, n, 0) + at * copse_value_width(call->handle.value_type);
    *out_found = (const uint8_t *)pinned + found_at(call, n) + at;
    return true;
}

/* --- begin and end ----------------------------------------------------------------------------------------------------------- */

static copse_status slots_make(const copse_hybrid_call *call)
{
    copse_status status = copse_device_check(call->mirror->device);
    if (status == COPSE_OK) status = copse_mirror_wait(call->mirror);
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

/* What the device remembers of trees of this kind and about this size. */
static uint32_t *remembered(const copse_mirror *mirror)
{
    const uint64_t bytes = mirror->bytes + copse_records_bytes(&mirror->records);
    const unsigned kind = mirror->records.bytes != 0, size = 63u - (unsigned)__builtin_clzll(bytes | 1u);
    return &mirror->device->hybrid_rest[kind * 64u + size];
}

static uint32_t calls_to_rest(copse_mirror *mirror)
{
    if (!mirror->tried) mirror->rest = __atomic_load_n(remembered(mirror), __ATOMIC_RELAXED);
    mirror->tried = true;
    return mirror->rest;
}

/* Whether this call has the card, and the lock: its copy is what the tree is, or can be made so. */
static bool take_card(const copse_index *index, uint64_t n)
{
    copse_mirror *mirror = copse_mirror_of(index);
    if (n < mirror->tuning.least || !(mirror->current || mirror->behind)) return false;
    if (pthread_mutex_trylock(&mirror->lock) != 0) return false;
    if (mirror->behind) copse_mirror_refresh(index);
    if (mirror->current && calls_to_rest(mirror) == 0) return true;
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
    *call = (copse_hybrid_call){.walked = {.side = {{keys, upper}, {highs, true}},
                                           .below = below,
                                           .open = shares_open,
                                           .take = share_take,
                                           .give = share_give},
                                .mirror = mirror,
                                .sides = highs ? 2 : 1,
                                .n = n,
                                .size = bucket_size(tuning, n, slots),
                                .slots = slots,
                                .shared = tuning->schedule == COPSE_SCHEDULE_BALANCED,
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
    if (call->direct || call->failed) (void)copse_mirror_wait(call->mirror);
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
    if (call->shared && !call->failed) {
        if (!helps(call)) mirror->rest = mirror->tuning.rest;
        /* What a card that only seems slower has taught is of no use to others. */
        if (!mirror->tuning.slower) __atomic_store_n(remembered(mirror), mirror->rest, __ATOMIC_RELAXED);
    }
    mirror->last = (copse_hybrid_balance){call->together, call->alone, call->together_seconds, call->alone_seconds};
    pthread_mutex_unlock(&mirror->lock);
    return status;
}

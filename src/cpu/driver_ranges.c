/* The CPU driver: ranges that return entries or their number. */
#include "cpu/driver.h"

#include "core/threads.h"
#include "cpu/walked.h"

/* Ranges are sized and then copied this many at a time, so that their first and last leaves are still in the caches when
 * they are copied; while one is copied, the lines between are asked for some ranges ahead. */
#define RANGE_CHUNK 2048u
/* Where the way down is gone by somebody else, there is no pipeline to fill, and fewer lines stay in nearer caches. */
#define RANGE_WALKED 512u
#define RANGE_AHEAD  8u
#define RANGE_EARLY  16u

/* The first NaN among the bounds of a batch; lows come before highs. */
typedef struct range_nan {
    uint64_t low, high;
} range_nan;

static copse_status range_nan_status(const copse_index *index, const range_nan *nan, uint64_t n)
{
    if (nan->low < n) return copse_fail_nan(index->ctx, "lows", nan->low);
    if (nan->high < n) return copse_fail_nan(index->ctx, "highs", nan->high);
    return COPSE_OK;
}

/* Locations into `low`, numbers of entries into `count`, for ranges first .. first + n. */
static void range_chunk(const copse_index *index, const void *lows, const void *highs, uint64_t first, uint64_t n,
                        uint64_t *low, uint64_t *count, range_nan *nan)
{
    uint64_t high[RANGE_CHUNK], low_rank[RANGE_CHUNK];
    const copse_cpu_tree *tree = copse_cpu_tree_of(index);
    if (tree->count && copse_size(index)) {
        uint64_t bad = tree->count(index, lows, highs, first, n, low, count);
        uint64_t *which = bad < n && copse_cpu_find_nan(index, lows, first + bad, 1) == 0 ? &nan->low : &nan->high;
        if (bad < n) copse_note_least(which, first + bad);
        return;
    }
    uint64_t good = copse_cpu_locate(index, lows, first, n, false, low);
    if (good < n) copse_note_least(&nan->low, first + good);
    uint64_t good_high = copse_cpu_locate(index, highs, first, n, true, high);
    if (good_high < n) copse_note_least(&nan->high, first + good_high);
    if (good < n || good_high < n) {
        memset(count, 0, n * sizeof *count);
        return;
    }
    if (tree->between) {
        tree->between(index, low, high, n, count);
        return;
    }
    tree->rank(index, low, n, low_rank);
    tree->rank(index, high, n, count);
    for (uint64_t i = 0; i < n; i++) count[i] = count[i] > low_rank[i] ? count[i] - low_rank[i] : 0;
}

/* One copse_count call at work. */
typedef struct count_job {
    const copse_index *index;
    const void *lows, *highs;
    uint64_t *counts;
    range_nan nan;
} count_job;

static void count_walk_chunk(void *argument, uint64_t first, uint64_t last)
{
    count_job *job = argument;
    uint64_t n = last - first;
    uint64_t good =
        copse_cpu_tree_of(job->index)->count(job->index, job->lows, job->highs, first, n, NULL, job->counts + first);
    if (good < n) copse_note_least(&job->nan.low, first + good);
}

/* Trees that count a range in one walk take the batch as find does: whole on one thread, else in large chunks. */
static copse_status count_in_one_walk(const copse_index *index, const void *lows, const void *highs, uint64_t n,
                                      uint64_t *counts)
{
    uint32_t threads = copse_threads_for_lookups(index->ctx, n * 2);
    count_job job = {index, lows, highs, counts, {n, n}};
    copse_cpu_run(index, threads, n, threads == 1 ? n : copse_cpu_chunk(n, threads), count_walk_chunk, &job);
    return job.nan.low < n ? copse_cpu_nan_range(index, lows, job.nan.low) : COPSE_OK;
}

static void count_chunk(void *argument, uint64_t first, uint64_t last)
{
    count_job *job = argument;
    uint64_t low[RANGE_CHUNK];
    range_chunk(job->index, job->lows, job->highs, first, last - first, low, job->counts + first, &job->nan);
}

static copse_status count_by_locations(const copse_index *index, const void *lows, const void *highs, uint64_t n,
                                       uint64_t *counts)
{
    uint32_t threads = copse_threads_for_lookups(index->ctx, n * 2);
    const uint64_t chunk = copse_cpu_small_chunk(n, threads);
    count_job job = {index, lows, highs, counts, {n, n}};
    copse_cpu_run(index, threads, n, chunk < RANGE_CHUNK ? chunk : RANGE_CHUNK, count_chunk, &job);
    return range_nan_status(index, &job.nan, n);
}

copse_status copse_cpu_count(const copse_index *index, const copse_ranges *ranges, uint64_t *counts)
{
    return copse_cpu_tree_of(index)->count && copse_size(index)
               ? count_in_one_walk(index, ranges->lows, ranges->highs, ranges->n, counts)
               : count_by_locations(index, ranges->lows, ranges->highs, ranges->n, counts);
}

/* --- ranges ----------------------------------------------------------------------------------------------------------- */

/*
 * Threads take chunks of ranges one after the other. Each sizes its chunk, and copies it while its leaves are in the caches. In
 * between it has to know where the entries of the chunk begin, that is how many the chunks before have:
 *
 *   chunk       0        1        2        3
 *   totals     20       17        ?       22       each by the thread that has sized the chunk
 *   bases       0       20       37        ?       the sums in front of it, as far as they are known
 *
 * Until it knows, it keeps the chunk and sizes the next. With its hands full it counts the missing chunk itself: the thread that has it
 * may not be running. So nobody waits for anybody.
 */
#define RANGE_HELD    8u
#define RANGE_UNKNOWN UINT64_MAX

/* One copse_range call at work. */
typedef struct range_job {
    const copse_index *index;
    const void *lows, *highs;
    uint64_t n, limit;
    bool descending;
    uint64_t *offsets;
    void *keys, *values;
    uint64_t capacity;
    uint64_t chunk, chunks;   /* ranges of a chunk; chunks                        */
    uint64_t next;            /* the first that nobody has taken, atomic          */
    uint64_t *totals, *bases; /* atomic */
    range_nan nan;
} range_job;

/* A chunk that a thread has sized. */
typedef struct range_held {
    uint64_t chunk;
    uint64_t locations[RANGE_CHUNK];
} range_held;

/* Leaves the first entries of each range, or where it is read from its end the last ones. */
static void range_limit(const range_job *job, uint64_t *locations, uint64_t *counts, uint64_t n)
{
    const copse_cpu_tree *tree = copse_cpu_tree_of(job->index);
    for (uint64_t i = 0; i < n; i++) {
        if (counts[i] <= job->limit) continue;
        if (job->descending) {
            uint64_t rank;
            tree->rank(job->index, &locations[i], 1, &rank);
            locations[i] = tree->select(job->index, rank + counts[i] - job->limit);
        }
        counts[i] = job->limit;
    }
}

static uint64_t range_first(const range_job *job, uint64_t chunk)
{
    return chunk < job->chunks ? chunk * job->chunk : job->n;
}

static bool range_has_nan(const range_job *job)
{
    return __atomic_load_n(&job->nan.low, __ATOMIC_RELAXED) < job->n ||
           __atomic_load_n(&job->nan.high, __ATOMIC_RELAXED) < job->n;
}

/* Locations and sizes of the ranges of a chunk; returns the sum of the sizes. After a NaN nothing is copied any more. */
static uint64_t range_size(range_job *job, uint64_t chunk, uint64_t *locations, uint64_t *counts)
{
    uint64_t first = range_first(job, chunk), n = range_first(job, chunk + 1) - first, total = 0;
    range_chunk(job->index, job->lows, job->highs, first, n, locations, counts, &job->nan);
    if (range_has_nan(job)) return 0;
    if (job->limit) range_limit(job, locations, counts, n);
    for (uint64_t i = 0; i < n; i++) total += counts[i];
    return total;
}

/* Says how many entries a chunk has, and from there on what follows. Two threads that meet here store the same numbers, and one of them
 * sees what the other has stored: all accesses are in one order. */
static void range_publish(range_job *job, uint64_t chunk, uint64_t total)
{
    __atomic_store_n(&job->totals[chunk], total, __ATOMIC_SEQ_CST);
    for (; chunk < job->chunks; chunk++) {
        uint64_t base = __atomic_load_n(&job->bases[chunk], __ATOMIC_SEQ_CST);
        total = __atomic_load_n(&job->totals[chunk], __ATOMIC_SEQ_CST);
        if (base == RANGE_UNKNOWN || total == RANGE_UNKNOWN) return;
        __atomic_store_n(&job->bases[chunk + 1], base + total, __ATOMIC_SEQ_CST);
    }
}

static void range_copy_one(const range_job *job, uint64_t location, uint64_t count, uint64_t at)
{
    copse_cpu_tree_of(job->index)->copy(job->index, location, count, at, job->keys, job->values);
    if (!job->descending) return;
    copse_reverse(job->keys, at, count, copse_type_size(job->index->key_type));
    copse_reverse(job->values, at, count, copse_value_width(job->index->value_type));
}

/* Turns the sizes of a chunk, at offsets[i + 1], into offsets, and copies its entries. */
static void range_copy(const range_job *job, const range_held *held, uint64_t base, uint64_t total)
{
    const copse_cpu_tree *tree = copse_cpu_tree_of(job->index);
    uint64_t first = range_first(job, held->chunk), end = range_first(job, held->chunk + 1);
    const bool copying = (job->keys || job->values) && base + total <= job->capacity && !range_has_nan(job);
    for (uint64_t i = first; i < end; i++) {
        uint64_t count = job->offsets[i + 1], ahead = i + RANGE_AHEAD, early = i + RANGE_EARLY;
        if (copying && early < end && tree->fetch_early)
            tree->fetch_early(job->index, held->locations[early - first], held->locations[early - first]);
        if (copying && ahead < end && job->offsets[ahead + 1] && tree->fetch)
            tree->fetch(job->index, held->locations[ahead - first], job->offsets[ahead + 1]);
        if (copying && count) range_copy_one(job, held->locations[i - first], count, base);
        base += count;
        job->offsets[i + 1] = base;
    }
}

/* Counts the chunks in front of `chunk` that are not known yet, so that its base is known afterwards. */
static void range_count_before(range_job *job, uint64_t chunk)
{
    uint64_t locations[RANGE_CHUNK], counts[RANGE_CHUNK], missing = chunk;
    while (__atomic_load_n(&job->bases[missing], __ATOMIC_SEQ_CST) == RANGE_UNKNOWN) missing--;
    for (; missing < chunk; missing++) {
        uint64_t total = __atomic_load_n(&job->totals[missing], __ATOMIC_SEQ_CST);
        if (total == RANGE_UNKNOWN) total = range_size(job, missing, locations, counts);
        range_publish(job, missing,
                      total); /* also a known one: who stored it may not have come to the base behind it */
    }
}

/* Copies the held chunks, the oldest first, until one is not ready, and puts those that are done to the end. Returns how many are
 * left. A total that a NaN has made 0 comes with the NaN, which ends copying. */
static uint32_t range_copy_ready(const range_job *job, range_held **held, uint32_t n)
{
    uint32_t done = 0;
    for (; done < n; done++) {
        uint64_t base = __atomic_load_n(&job->bases[held[done]->chunk], __ATOMIC_SEQ_CST);
        if (base == RANGE_UNKNOWN) break;
        range_copy(job, held[done], base, __atomic_load_n(&job->totals[held[done]->chunk], __ATOMIC_SEQ_CST));
    }
    range_held *copied[RANGE_HELD];
    memcpy(copied, held, done * sizeof *held);
    memmove(held, held + done, (RANGE_HELD - done) * sizeof *held);
    memcpy(held + RANGE_HELD - done, copied, done * sizeof *held);
    return n - done;
}

/* Takes the next chunk and sizes it. False: none is left. */
static bool range_take(range_job *job, range_held *held)
{
    copse_walked *walked = job->index->walked;
    copse_share share;
    if (walked && !walked->take(walked, &share)) return false;
    held->chunk = walked ? share.first / job->chunk : __atomic_fetch_add(&job->next, 1, __ATOMIC_RELAXED);
    if (held->chunk >= job->chunks) return false;
    uint64_t total = range_size(job, held->chunk, held->locations, job->offsets + range_first(job, held->chunk) + 1);
    range_publish(job, held->chunk, total);
    if (walked) walked->give(walked, &share);
    return true;
}

/* Takes chunks until none is left. Every thread runs this once. */
static void range_thread(void *argument, uint64_t thread, uint64_t end)
{
    range_job *job = argument;
    range_held memory[RANGE_HELD], *held[RANGE_HELD];
    uint32_t n = 0;
    (void)thread;
    (void)end;
    for (uint32_t i = 0; i < RANGE_HELD; i++) held[i] = &memory[i];
    while (range_take(job, held[n])) {
        n = range_copy_ready(job, held, n + 1);
        if (n < RANGE_HELD) continue;
        range_count_before(job, held[0]->chunk);
        n = range_copy_ready(job, held, n);
    }
    while (n > 0) {
        range_count_before(job, held[0]->chunk);
        n = range_copy_ready(job, held, n);
    }
}

/* One thread needs no table: it knows all that is in front. */
static void range_alone(range_job *job)
{
    range_held held;
    for (held.chunk = 0; held.chunk < job->chunks; held.chunk++) {
        uint64_t first = range_first(job, held.chunk);
        uint64_t total = range_size(job, held.chunk, held.locations, job->offsets + first + 1);
        range_copy(job, &held, job->offsets[first], total);
    }
}

static copse_status range_together(range_job *job, uint32_t threads)
{
    size_t bytes = copse_memory_product(2 * job->chunks + 1, sizeof *job->totals);
    job->totals = copse_memory_alloc(job->index->ctx, bytes);
    if (!job->totals) return copse_fail_memory(job->index->ctx, bytes, "copse_range");
    job->bases = job->totals + job->chunks;
    memset(job->totals, 0xFF, bytes);
    job->bases[0] = 0;
    copse_parallel(job->index->ctx, threads, threads, 1, range_thread, job);
    copse_memory_free(job->index->ctx, job->totals, bytes);
    return COPSE_OK;
}

copse_status copse_cpu_range(const copse_index *index, const copse_ranges *ranges, const copse_rows *rows)
{
    const uint64_t n = ranges->n;
    const uint32_t threads = copse_threads_for_lookups(index->ctx, n * 2);
    copse_status status = COPSE_OK;
    range_job job = {.index = index,
                     .lows = ranges->lows,
                     .highs = ranges->highs,
                     .n = n,
                     .limit = ranges->limit,
                     .descending = ranges->flags & COPSE_RANGE_DESCENDING,
                     .offsets = rows->offsets,
                     .keys = rows->keys,
                     .values = rows->values,
                     .capacity = rows->capacity,
                     .chunk = RANGE_CHUNK,
                     .nan = {n, n}};
    if (index->walked) job.chunk = index->walked->open(index->walked, RANGE_WALKED, true);
    job.chunks = (n + job.chunk - 1) / job.chunk;
    job.offsets[0] = 0;
    if (threads == 1 && !index->walked)
        range_alone(&job);
    else
        status = range_together(&job, threads);
    if (status == COPSE_OK) status = range_nan_status(index, &job.nan, n);
    if (status != COPSE_OK) return status;
    if ((job.keys || job.values) && job.offsets[n] > job.capacity)
        return copse_fail_room(index->ctx, "out_rows", job.capacity, job.offsets[n]);
    return COPSE_OK;
}

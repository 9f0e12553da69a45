/* The CPU driver: ranges that return entries or their number. */
#include "cpu/driver.h"

#include "core/threads.h"

/* Ranges are sized and then copied this many at a time, so that their first and last leaves are still in the caches when
 * they are copied; while one is copied, the lines between are asked for some ranges ahead. */
#define RANGE_CHUNK 2048u
#define RANGE_AHEAD 8u

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

static void count_walk_part(void *argument, uint64_t first, uint64_t last)
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
    uint32_t threads = copse_threads_for(index->ctx, n * 2);
    count_job job = {index, lows, highs, counts, {n, n}};
    if (threads == 1)
        count_walk_part(&job, 0, n);
    else
        copse_parallel(index->ctx, threads, n, copse_cpu_chunk(n, threads), count_walk_part, &job);
    return job.nan.low < n ? copse_cpu_nan_range(index, lows, job.nan.low) : COPSE_OK;
}

static void count_part(void *argument, uint64_t first, uint64_t last)
{
    count_job *job = argument;
    uint64_t low[RANGE_CHUNK];
    range_chunk(job->index, job->lows, job->highs, first, last - first, low, job->counts + first, &job->nan);
}

static copse_status count_by_locations(const copse_index *index, const void *lows, const void *highs, uint64_t n,
                                       uint64_t *counts)
{
    uint32_t threads = copse_threads_for(index->ctx, n * 2);
    count_job job = {index, lows, highs, counts, {n, n}};
    copse_parallel(index->ctx, threads, n, RANGE_CHUNK, count_part, &job);
    return range_nan_status(index, &job.nan, n);
}

copse_status copse_cpu_count(const copse_index *index, const copse_ranges *ranges, uint64_t *counts)
{
    return copse_cpu_tree_of(index)->count && copse_size(index)
               ? count_in_one_walk(index, ranges->lows, ranges->highs, ranges->n, counts)
               : count_by_locations(index, ranges->lows, ranges->highs, ranges->n, counts);
}

/* One copse_range call at work. */
typedef struct range_job {
    const copse_index *index;
    const void *lows, *highs;
    uint64_t n, limit;
    bool descending;
    uint64_t *offsets;
    void *keys, *values;
    uint64_t capacity;
    uint32_t threads;
    uint64_t *locations; /* of the ranges of one stretch */
    uint64_t stretch;    /* ranges of one stretch        */
    uint64_t first;      /* range of this stretch        */
    range_nan nan;
} range_job;

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

/* Locations and sizes of ranges from .. to of this stretch; sizes go to offsets[i + 1], to be summed up. */
static void range_size_part(void *argument, uint64_t from, uint64_t to)
{
    range_job *job = argument;
    uint64_t n = to - from, at = job->first + from, *count = job->offsets + at + 1;
    range_chunk(job->index, job->lows, job->highs, at, n, job->locations + from, count, &job->nan);
    if (job->limit) range_limit(job, job->locations + from, count, n);
}

static void range_size_stretch(range_job *job, uint64_t first, uint64_t last)
{
    job->first = first;
    copse_parallel(job->index->ctx, job->threads, last - first, RANGE_CHUNK, range_size_part, job);
    for (uint64_t i = first; i < last; i++) job->offsets[i + 1] += job->offsets[i];
}

static void range_copy_one(const range_job *job, uint64_t location, uint64_t count, uint64_t at)
{
    copse_cpu_tree_of(job->index)->copy(job->index, location, count, at, job->keys, job->values);
    if (!job->descending) return;
    copse_reverse(job->keys, at, count, copse_type_size(job->index->key_type));
    copse_reverse(job->values, at, count, copse_type_size(job->index->value_type));
}

/* The leaves of a stretch are still in the caches from sizing it. */
static void range_copy_part(void *argument, uint64_t from, uint64_t to)
{
    const range_job *job = argument;
    const copse_cpu_tree *tree = copse_cpu_tree_of(job->index);
    uint64_t first = job->first, end = first + to;
    for (uint64_t i = first + from; i < end; i++) {
        uint64_t count = job->offsets[i + 1] - job->offsets[i], ahead = i + RANGE_AHEAD;
        uint64_t count_ahead = ahead < end ? job->offsets[ahead + 1] - job->offsets[ahead] : 0;
        if (count_ahead && tree->fetch) tree->fetch(job->index, job->locations[ahead - first], count_ahead);
        if (count) range_copy_one(job, job->locations[i - first], count, job->offsets[i]);
    }
}

static void range_copy_stretch(range_job *job, uint64_t first, uint64_t last)
{
    job->first = first;
    copse_parallel(job->index->ctx, job->threads, last - first, RANGE_CHUNK, range_copy_part, job);
}

static copse_status range_run(range_job *job)
{
    const bool copying = job->keys || job->values;
    job->offsets[0] = 0;
    for (uint64_t first = 0; first < job->n; first += job->stretch) {
        uint64_t last = job->n - first < job->stretch ? job->n : first + job->stretch;
        range_size_stretch(job, first, last);
        bool bad = job->nan.low < job->n || job->nan.high < job->n;
        if (copying && !bad && job->offsets[last] <= job->capacity) range_copy_stretch(job, first, last);
    }
    copse_status status = range_nan_status(job->index, &job->nan, job->n);
    if (status != COPSE_OK) return status;
    if (copying && job->offsets[job->n] > job->capacity)
        return copse_fail_room(job->index->ctx, "out_rows", job->capacity, job->offsets[job->n]);
    return COPSE_OK;
}

copse_status copse_cpu_range(const copse_index *index, const copse_ranges *ranges, const copse_rows *rows)
{
    const uint64_t n = ranges->n;
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
                     .nan = {n, n}};
    job.threads = copse_threads_for(index->ctx, n * 2);
    job.stretch = (uint64_t)RANGE_CHUNK * (job.threads > 1 ? job.threads * 2 : 1);
    if (job.stretch > n) job.stretch = n ? n : 1;
    size_t bytes = job.stretch * sizeof *job.locations;
    job.locations = copse_memory_alloc(index->ctx, bytes);
    if (!job.locations) return copse_fail_memory(index->ctx, bytes, "copse_range");
    copse_status status = range_run(&job);
    copse_memory_free(index->ctx, job.locations, bytes);
    return status;
}

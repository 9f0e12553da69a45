/* Making batches of the object's widths: a survey of the caller's array, then the radix sort where it is not in order. */
#include "core/batch.h"
#include "core/batch_pair.h"
#include "core/sort.h"
#include "core/threads.h"

#include <string.h>

/* What one pass over the caller's keys finds. */
typedef struct key_survey {
    uint64_t first_nan; /* n: none */
    uint64_t smallest;  /* encoded */
    uint64_t largest;
    bool ascending;  /* no key smaller than the one before */
    bool strictly;   /* and none equal to it               */
    bool descending; /* each key smaller than the one before */
} key_survey;

/* Keys are encoded this many at a time into a buffer on the stack. */
#define BATCH_BLOCK 256u
/* Buckets of the parallel pass: enough that a bucket of a large batch fits the second-level cache. */
#define BATCH_BUCKET_BITS 11u
#define BATCH_BUCKETS     (1u << BATCH_BUCKET_BITS)

/* Surveys keys[first .. last) and, for order across the border, the one before. */
static key_survey batch_survey_chunk(const copse_batch *batch, uint64_t first, uint64_t last)
{
    key_survey survey = {
        .first_nan = batch->n, .smallest = UINT64_MAX, .ascending = true, .strictly = true, .descending = true};
    KEY buffer[BATCH_BLOCK + 1];
    KEY before = 0;
    bool has_before = first > 0;
    if (has_before && ENCODE(batch->key_type, batch->keys, first - 1, 1, &before) == 0) has_before = false;
    KEY low = KEY_MAX, high = 0;
    for (uint64_t at = first; at < last; at += BATCH_BLOCK) {
        uint32_t n = (uint32_t)(last - at < BATCH_BLOCK ? last - at : BATCH_BLOCK);
        uint32_t good = ENCODE(batch->key_type, batch->keys, at, n, buffer + 1);
        if (good < n) {
            survey.first_nan = at + good;
            return survey;
        }
        buffer[0] = has_before ? before : buffer[1];
        unsigned falls = 0, equals = 0, rises = 0;
        for (uint32_t i = 1; i <= n; i++) {
            falls |= buffer[i] < buffer[i - 1];
            equals |= buffer[i] == buffer[i - 1] && (i > 1 || has_before);
            rises |= buffer[i] > buffer[i - 1];
            low = buffer[i] < low ? buffer[i] : low;
            high = buffer[i] > high ? buffer[i] : high;
        }
        if (falls) survey.ascending = false;
        if (falls || equals) survey.strictly = false;
        if (rises || equals) survey.descending = false;
        before = buffer[n];
        has_before = true;
    }
    survey.smallest = low;
    survey.largest = high;
    return survey;
}

/* What all chunks have found so far. */
typedef struct survey_job {
    const copse_batch *batch;
    uint64_t first_nan, smallest, inverse_largest; /* each may only fall */
    uint32_t falls, equals, stays;                 /* each may only become 1 */
} survey_job;

static void survey_chunk(void *argument, uint64_t first, uint64_t last)
{
    survey_job *job = argument;
    key_survey mine = batch_survey_chunk(job->batch, first, last);
    copse_note_least(&job->first_nan, mine.first_nan);
    copse_note_least(&job->smallest, mine.smallest);
    copse_note_least(&job->inverse_largest, ~mine.largest);
    if (!mine.ascending) __atomic_store_n(&job->falls, 1, __ATOMIC_RELAXED);
    if (!mine.strictly) __atomic_store_n(&job->equals, 1, __ATOMIC_RELAXED);
    if (!mine.descending) __atomic_store_n(&job->stays, 1, __ATOMIC_RELAXED);
}

static key_survey batch_survey(const copse_ctx *ctx, const copse_batch *batch)
{
    uint32_t threads = copse_threads_for(ctx, batch->n);
    survey_job job = {.batch = batch, .first_nan = batch->n, .smallest = UINT64_MAX, .inverse_largest = UINT64_MAX};
    copse_parallel(ctx, threads, batch->n, copse_even_chunk(batch->n, threads), survey_chunk, &job);
    return (key_survey){.first_nan = job.first_nan,
                        .smallest = job.smallest,
                        .largest = ~job.inverse_largest,
                        .ascending = !job.falls,
                        .strictly = !job.falls && !job.equals,
                        .descending = !job.stays};
}

/* One chunk of the first cut. `start` holds, per bucket, the position where this chunk writes its next pair. */
static void batch_scatter(const copse_batch *batch, uint64_t first, uint64_t last, KEY low, unsigned shift,
                          uint64_t *start, copse_pair *out)
{
    KEY keys[BATCH_BLOCK];
    for (uint64_t at = first; at < last; at += BATCH_BLOCK) {
        uint32_t n = (uint32_t)(last - at < BATCH_BLOCK ? last - at : BATCH_BLOCK);
        ENCODE(batch->key_type, batch->keys, at, n, keys);
        for (uint32_t i = 0; i < n; i++) {
            copse_pair *pair = &out[start[(KEY)(keys[i] - low) >> shift]++];
            pair->key = keys[i];
            pair->value = copse_caller_value(batch, at + i);
        }
    }
}

static void batch_histogram(const copse_batch *batch, uint64_t first, uint64_t last, KEY low, unsigned shift,
                            uint64_t *count)
{
    KEY keys[BATCH_BLOCK];
    for (uint64_t at = first; at < last; at += BATCH_BLOCK) {
        uint32_t n = (uint32_t)(last - at < BATCH_BLOCK ? last - at : BATCH_BLOCK);
        ENCODE(batch->key_type, batch->keys, at, n, keys);
        for (uint32_t i = 0; i < n; i++) count[(KEY)(keys[i] - low) >> shift]++;
    }
}

/* Turns the chunks' bucket counts into positions: bucket by bucket, within a bucket chunk by chunk, which keeps the
 * array order of equal keys. Fills bucket_start with the borders of the buckets. */
static void batch_positions(uint64_t (*counts)[BATCH_BUCKETS], uint32_t chunks, uint64_t *bucket_start)
{
    uint64_t position = 0;
    for (unsigned bucket = 0; bucket < BATCH_BUCKETS; bucket++) {
        bucket_start[bucket] = position;
        for (uint32_t t = 0; t < chunks; t++) {
            uint64_t count = counts[t][bucket];
            counts[t][bucket] = position;
            position += count;
        }
    }
    bucket_start[BATCH_BUCKETS] = position;
}

/* One cut by the highest bits of the keys and the sort of its buckets. It is made in `chunks` chunks, each with counts of its
 * own, by whichever thread takes it. */
typedef struct sort_job {
    const copse_batch *batch; /* what is cut, or ... */
    copse_pair *from;         /* ... this */
    copse_pair *to;           /* what the cut writes */
    copse_pair *sorted;       /* where the buckets of a batch end up */
    uint64_t n;
    uint32_t chunks;
    KEY low;
    unsigned shift;
    uint64_t crowded; /* buckets with more are done on their own */
    uint64_t (*counts)[BATCH_BUCKETS];
    uint64_t bucket_start[BATCH_BUCKETS + 1];
} sort_job;

/* Where chunk t begins; chunk `chunks` is the end. */
static uint64_t chunk_start(const sort_job *job, uint64_t t)
{
    return job->n * t / job->chunks;
}

static void cut_range(sort_job *job, KEY low, KEY high)
{
    unsigned span_bits = sort_bit_length((KEY)(high - low));
    job->low = low;
    job->shift = span_bits > BATCH_BUCKET_BITS ? span_bits - BATCH_BUCKET_BITS : 0;
    memset(job->counts, 0, job->chunks * sizeof *job->counts);
}

/* Buckets sorted by one thread each, a few at a time. */
#define BUCKETS_AT_ONCE 8u

/* --- a bucket with a large share of the batch, because the keys crowd together: it is cut once more by all threads ------- */

typedef struct extremes_job {
    const copse_pair *pairs;
    uint64_t smallest, inverse_largest;
} extremes_job;

static void extremes_chunk(void *argument, uint64_t first, uint64_t last)
{
    extremes_job *job = argument;
    KEY low = KEY_MAX, high = 0;
    for (uint64_t i = first; i < last; i++) {
        low = job->pairs[i].key < low ? job->pairs[i].key : low;
        high = job->pairs[i].key > high ? job->pairs[i].key : high;
    }
    copse_note_least(&job->smallest, low);
    copse_note_least(&job->inverse_largest, ~(uint64_t)high);
}

static void crowded_histogram(void *argument, uint64_t t, uint64_t end)
{
    const sort_job *job = argument;
    for (; t < end; t++)
        for (uint64_t i = chunk_start(job, t); i < chunk_start(job, t + 1); i++)
            job->counts[t][(KEY)(job->from[i].key - job->low) >> job->shift]++;
}

static void crowded_scatter(void *argument, uint64_t t, uint64_t end)
{
    const sort_job *job = argument;
    for (; t < end; t++)
        for (uint64_t i = chunk_start(job, t); i < chunk_start(job, t + 1); i++)
            job->to[job->counts[t][(KEY)(job->from[i].key - job->low) >> job->shift]++] = job->from[i];
}

static void crowded_buckets(void *argument, uint64_t bucket, uint64_t end)
{
    const sort_job *job = argument;
    for (; bucket < end; bucket++) {
        uint64_t at = job->bucket_start[bucket], count = job->bucket_start[bucket + 1] - at;
        if (count) sort_bucket(job->to + at, job->from + at, count, false);
    }
}

/* From `from` into `to`, where it ends up sorted. */
static void batch_sort_crowded(const copse_ctx *ctx, copse_pair *from, copse_pair *to, uint64_t n, uint32_t threads,
                               uint64_t (*counts)[BATCH_BUCKETS])
{
    sort_job job = {.from = from, .to = to, .n = n, .chunks = threads, .counts = counts};
    extremes_job extremes = {from, UINT64_MAX, UINT64_MAX};
    copse_parallel(ctx, threads, n, copse_even_chunk(n, threads), extremes_chunk, &extremes);
    cut_range(&job, (KEY)extremes.smallest, (KEY)~extremes.inverse_largest);
    copse_parallel(ctx, threads, job.chunks, 1, crowded_histogram, &job);
    batch_positions(counts, job.chunks, job.bucket_start);
    copse_parallel(ctx, threads, job.chunks, 1, crowded_scatter, &job);
    if (job.shift) copse_parallel(ctx, threads, BATCH_BUCKETS, BUCKETS_AT_ONCE, crowded_buckets, &job);
}

/* --- the whole batch -------------------------------------------------------------------------------------------------- */

static void histogram_chunks(void *argument, uint64_t t, uint64_t end)
{
    const sort_job *job = argument;
    for (; t < end; t++)
        batch_histogram(job->batch, chunk_start(job, t), chunk_start(job, t + 1), job->low, job->shift, job->counts[t]);
}

static void scatter_chunks(void *argument, uint64_t t, uint64_t end)
{
    const sort_job *job = argument;
    for (; t < end; t++)
        batch_scatter(job->batch, chunk_start(job, t), chunk_start(job, t + 1), job->low, job->shift, job->counts[t],
                      job->to);
}

/* A cut that looked at every bit leaves only equal keys together: those are in order. */
static void sort_buckets(void *argument, uint64_t bucket, uint64_t end)
{
    const sort_job *job = argument;
    for (; bucket < end; bucket++) {
        uint64_t at = job->bucket_start[bucket], count = job->bucket_start[bucket + 1] - at;
        if (count > job->crowded) continue;
        if (count && job->shift) sort_bucket(job->to + at, job->sorted + at, count, true);
        if (count && !job->shift) memcpy(job->sorted + at, job->to + at, count * sizeof *job->to);
    }
}

/* Sorts the caller's arrays into `pairs`; `other` is scratch of the same size, `counts` of threads x buckets. */
static copse_status batch_sort(const copse_ctx *ctx, const copse_batch *batch, const key_survey *survey,
                               uint32_t threads, uint64_t (*counts)[BATCH_BUCKETS], copse_pair *pairs,
                               copse_pair *other, const char *what)
{
    uint64_t n = batch->n;
    sort_job job = {.batch = batch, .to = other, .sorted = pairs, .n = n, .chunks = threads, .counts = counts};
    cut_range(&job, (KEY)survey->smallest, (KEY)survey->largest);
    copse_parallel(ctx, threads, job.chunks, 1, histogram_chunks, &job);
    batch_positions(counts, job.chunks, job.bucket_start);
    copse_parallel(ctx, threads, job.chunks, 1, scatter_chunks, &job);
    copse_status status = copse_progress(ctx, what, n / 3, n);
    if (status != COPSE_OK) return status;
    job.crowded = threads > 1 && job.shift ? n / (threads * 4) : n;
    for (unsigned bucket = 0; bucket < BATCH_BUCKETS; bucket++) {
        uint64_t at = job.bucket_start[bucket], count = job.bucket_start[bucket + 1] - at;
        if (count > job.crowded) batch_sort_crowded(ctx, other + at, pairs + at, count, threads, counts);
    }
    copse_parallel(ctx, threads, BATCH_BUCKETS, BUCKETS_AT_ONCE, sort_buckets, &job);
    return copse_progress(ctx, what, n / 3 * 2, n);
}

/* Encoding into pairs, in array order or from the back. */
typedef struct encode_job {
    const copse_batch *batch;
    copse_pair *pairs;
    bool backwards;
} encode_job;

static void encode_chunk(void *argument, uint64_t first, uint64_t last)
{
    const encode_job *job = argument;
    KEY keys[BATCH_BLOCK];
    for (uint64_t at = first; at < last; at += BATCH_BLOCK) {
        uint32_t n = (uint32_t)(last - at < BATCH_BLOCK ? last - at : BATCH_BLOCK);
        copse_pair *to = job->backwards ? job->pairs + job->batch->n - 1 - at : job->pairs + at;
        const int step = job->backwards ? -1 : 1;
        ENCODE(job->batch->key_type, job->batch->keys, at, n, keys);
        for (uint32_t i = 0; i < n; i++, to += step) {
            to->key = keys[i];
            to->value = copse_caller_value(job->batch, at + i);
        }
    }
}

/* Batches that are in order, or in the opposite one, or too small for buckets: encode, then one bucket. */
static void batch_sort_small(const copse_ctx *ctx, const copse_batch *batch, const key_survey *survey, uint32_t threads,
                             copse_pair *pairs, copse_pair *other)
{
    encode_job job = {batch, pairs, survey->descending && !survey->ascending};
    copse_parallel(ctx, threads, batch->n, copse_even_chunk(batch->n, threads), encode_chunk, &job);
    if (!survey->ascending && !survey->descending) sort_bucket(pairs, other, batch->n, false);
}

/* Of each run of equal keys keeps the first or the last. Returns how many are left. */
static uint64_t batch_resolve(copse_pair *pairs, uint64_t n, copse_equal_keys equal)
{
    uint64_t kept = 0;
    if (equal == COPSE_EQUAL_ALL || n == 0) return n;
    for (uint64_t i = 1; i < n; i++) {
        if (pairs[i].key != pairs[kept].key)
            pairs[++kept] = pairs[i];
        else if (equal == COPSE_EQUAL_LAST)
            pairs[kept] = pairs[i];
    }
    return kept + 1;
}

typedef struct equals_job {
    const copse_pair *pairs;
    uint32_t found;
} equals_job;

/* Whether pairs first + 1 .. last equal the one before. */
static void equals_chunk(void *argument, uint64_t first, uint64_t last)
{
    equals_job *job = argument;
    unsigned found = 0;
    for (uint64_t i = first; i < last; i++) found |= job->pairs[i + 1].key == job->pairs[i].key;
    if (found) __atomic_store_n(&job->found, 1, __ATOMIC_RELAXED);
}

static bool batch_has_equals(const copse_ctx *ctx, const copse_pair *pairs, uint64_t n)
{
    uint32_t threads = copse_threads_for(ctx, n);
    equals_job job = {pairs, 0};
    if (n > 1) copse_parallel(ctx, threads, n - 1, copse_even_chunk(n - 1, threads), equals_chunk, &job);
    return job.found != 0;
}

static copse_status batch_make_pairs(const copse_ctx *ctx, const key_survey *survey, const char *what,
                                     copse_batch *batch)
{
    uint64_t n = batch->n;
    uint32_t threads = copse_threads_for(ctx, n);
    const bool in_order = survey->ascending || survey->descending, small = n < BATCH_BUCKETS * 4;
    size_t pair_bytes = copse_memory_product(n, sizeof(copse_pair));
    size_t other_bytes = in_order ? 0 : pair_bytes;
    size_t count_bytes = small || in_order ? 0 : threads * sizeof(uint64_t[BATCH_BUCKETS]);
    copse_status status = COPSE_OK;
    copse_pair *pairs = copse_memory_alloc(ctx, pair_bytes);
    copse_pair *other = other_bytes ? copse_memory_alloc(ctx, other_bytes) : NULL;
    void *counts = count_bytes ? copse_memory_alloc(ctx, count_bytes) : NULL;
    if (!pairs || (other_bytes && !other) || (count_bytes && !counts))
        status =
            copse_fail_memory(ctx, pair_bytes == SIZE_MAX ? SIZE_MAX : pair_bytes + other_bytes, "sorting the batch");
    else if (!counts) /* small, or in order */
        batch_sort_small(ctx, batch, survey, threads, pairs, other);
    else
        status = batch_sort(ctx, batch, survey, threads, counts, pairs, other, what);
    copse_memory_free(ctx, counts, count_bytes);
    copse_memory_free(ctx, other, other_bytes);
    if (status != COPSE_OK) {
        copse_memory_free(ctx, pairs, pair_bytes);
        return status;
    }
    batch->pairs = batch->memory = pairs;
    batch->bytes = pair_bytes;
    return COPSE_OK;
}

/* A batch of one pair: nothing to survey, nothing to sort. */
static copse_status batch_make_one(const copse_ctx *ctx, copse_batch *batch)
{
    copse_pair *pair = (copse_pair *)batch->one;
    _Static_assert(sizeof *pair <= sizeof batch->one, "a pair of any widths fits");
    if (ENCODE(batch->key_type, batch->keys, 0, 1, &pair->key) == 0) return copse_fail_nan(ctx, "keys", 0);
    pair->value = copse_caller_value(batch, 0);
    batch->pairs = batch->memory = pair;
    return COPSE_OK;
}

copse_status NAME(copse_batch_make)(const copse_index *index, copse_equal_keys equal, bool pairs_wanted,
                                    const char *what, copse_batch *batch)
{
    const copse_ctx *ctx = index->ctx;
    /* Sizes that no array can have are refused before any of it is read. */
    if (copse_memory_product(batch->n, sizeof(copse_pair)) == SIZE_MAX)
        return copse_fail_argument(ctx, "n", "n is %llu: more entries than memory can address",
                                   (unsigned long long)batch->n);
    copse_status status = copse_progress(ctx, what, 0, batch->n);
    if (status != COPSE_OK) return status;
    if (batch->n == 1) return batch_make_one(ctx, batch);
    key_survey survey = batch_survey(ctx, batch);
    if (survey.first_nan < batch->n) return copse_fail_nan(ctx, "keys", (unsigned long long)survey.first_nan);
    if (!pairs_wanted && (survey.strictly || (survey.ascending && equal == COPSE_EQUAL_ALL))) return COPSE_OK;
    status = batch_make_pairs(ctx, &survey, what, batch);
    if (status != COPSE_OK) return status;
    copse_pair *pairs = batch->memory;
    if (!survey.strictly && !survey.descending && equal != COPSE_EQUAL_ALL && batch_has_equals(ctx, pairs, batch->n))
        batch->n = batch_resolve(pairs, batch->n, equal);
    return COPSE_OK;
}

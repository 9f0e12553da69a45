/* Making batches of the object's widths: a survey of the caller's array, then the radix sort where it is not in order. */
#include "core/batch.h"
#include "core/batch_pair.h"
#include "core/sort.h"

#include <omp.h>
#include <string.h>

/* What one pass over the caller's keys finds. */
typedef struct key_survey {
    uint64_t first_nan; /* n: none */
    uint64_t smallest;  /* encoded */
    uint64_t largest;
    bool ascending; /* no key smaller than the one before */
    bool strictly;  /* and none equal to it               */
} key_survey;

/* Keys are encoded this many at a time into a buffer on the stack. */
#define BATCH_BLOCK 256u
/* Buckets of the parallel pass: enough that a bucket of a large batch fits the second-level cache. */
#define BATCH_BUCKET_BITS 11u
#define BATCH_BUCKETS     (1u << BATCH_BUCKET_BITS)

/* Surveys keys[first .. last) and, for order across the border, the one before. */
static key_survey batch_survey_chunk(const copse_batch *batch, uint64_t first, uint64_t last)
{
    key_survey survey = {.first_nan = batch->n, .smallest = UINT64_MAX, .ascending = true, .strictly = true};
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
        unsigned falls = 0, equals = 0;
        for (uint32_t i = 1; i <= n; i++) {
            falls |= buffer[i] < buffer[i - 1];
            equals |= buffer[i] == buffer[i - 1] && (i > 1 || has_before);
            low = buffer[i] < low ? buffer[i] : low;
            high = buffer[i] > high ? buffer[i] : high;
        }
        if (falls) survey.ascending = false;
        if (falls || equals) survey.strictly = false;
        before = buffer[n];
        has_before = true;
    }
    survey.smallest = low;
    survey.largest = high;
    return survey;
}

static key_survey batch_survey(const copse_ctx *ctx, const copse_batch *batch)
{
    key_survey all = {.first_nan = batch->n, .smallest = UINT64_MAX, .ascending = true, .strictly = true};
    uint32_t threads = copse_threads_for(ctx, batch->n);
#pragma omp parallel num_threads(threads)
    {
        uint64_t chunk = (uint64_t)omp_get_thread_num(), chunks = (uint64_t)omp_get_num_threads();
        uint64_t first = batch->n / chunks * chunk + (chunk < batch->n % chunks ? chunk : batch->n % chunks);
        uint64_t last = first + batch->n / chunks + (chunk < batch->n % chunks);
        key_survey mine = batch_survey_chunk(batch, first, last);
#pragma omp critical(copse_survey)
        {
            if (mine.first_nan < all.first_nan) all.first_nan = mine.first_nan;
            if (mine.smallest < all.smallest) all.smallest = mine.smallest;
            if (mine.largest > all.largest) all.largest = mine.largest;
            all.ascending &= mine.ascending;
            all.strictly &= mine.strictly;
        }
    }
    return all;
}

/* One thread's share of the first cut. `start` holds, per bucket, the position where this thread writes its next pair. */
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

/* Turns the threads' bucket counts into positions: bucket by bucket, within a bucket thread by thread, which keeps the
 * array order of equal keys. Fills bucket_start with the borders of the buckets. */
static void batch_positions(uint64_t (*counts)[BATCH_BUCKETS], uint32_t threads, uint64_t *bucket_start)
{
    uint64_t position = 0;
    for (unsigned bucket = 0; bucket < BATCH_BUCKETS; bucket++) {
        bucket_start[bucket] = position;
        for (uint32_t t = 0; t < threads; t++) {
            uint64_t count = counts[t][bucket];
            counts[t][bucket] = position;
            position += count;
        }
    }
    bucket_start[BATCH_BUCKETS] = position;
}

/* A bucket that holds a large share of the batch, because the keys crowd together, is cut once more by all threads: from
 * `from` into `to`, where it ends up sorted. */
static void batch_sort_crowded(copse_pair *from, copse_pair *to, uint64_t n, uint32_t threads,
                               uint64_t (*counts)[BATCH_BUCKETS])
{
    uint64_t bucket_start[BATCH_BUCKETS + 1];
    KEY low = KEY_MAX, high = 0;
#pragma omp parallel for num_threads(threads) reduction(min : low) reduction(max : high)
    for (uint64_t i = 0; i < n; i++) {
        low = from[i].key < low ? from[i].key : low;
        high = from[i].key > high ? from[i].key : high;
    }
    unsigned span_bits = sort_bit_length((KEY)(high - low));
    unsigned shift = span_bits > BATCH_BUCKET_BITS ? span_bits - BATCH_BUCKET_BITS : 0;
    memset(counts, 0, threads * sizeof *counts);
#pragma omp parallel for num_threads(threads) schedule(static, 1)
    for (uint32_t t = 0; t < threads; t++)
        for (uint64_t i = n * t / threads; i < n * (t + 1) / threads; i++)
            counts[t][(KEY)(from[i].key - low) >> shift]++;
    batch_positions(counts, threads, bucket_start);
#pragma omp parallel for num_threads(threads) schedule(static, 1)
    for (uint32_t t = 0; t < threads; t++)
        for (uint64_t i = n * t / threads; i < n * (t + 1) / threads; i++)
            to[counts[t][(KEY)(from[i].key - low) >> shift]++] = from[i];
    if (shift == 0) return;
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
    for (unsigned bucket = 0; bucket < BATCH_BUCKETS; bucket++) {
        uint64_t at = bucket_start[bucket], count = bucket_start[bucket + 1] - at;
        if (count) sort_bucket(to + at, from + at, count, false);
    }
}

/* Sorts the caller's arrays into `pairs`; `other` is scratch of the same size, `counts` of threads x buckets. */
static copse_status batch_sort(const copse_ctx *ctx, const copse_batch *batch, const key_survey *survey,
                               uint32_t threads, uint64_t (*counts)[BATCH_BUCKETS], copse_pair *pairs,
                               copse_pair *other, const char *what)
{
    uint64_t n = batch->n, bucket_start[BATCH_BUCKETS + 1];
    KEY low = (KEY)survey->smallest;
    unsigned span_bits = sort_bit_length((KEY)(survey->largest - survey->smallest));
    unsigned shift = span_bits > BATCH_BUCKET_BITS ? span_bits - BATCH_BUCKET_BITS : 0;
    memset(counts, 0, threads * sizeof *counts);
#pragma omp parallel for num_threads(threads) schedule(static, 1)
    for (uint32_t t = 0; t < threads; t++)
        batch_histogram(batch, n * t / threads, n * (t + 1) / threads, low, shift, counts[t]);
    batch_positions(counts, threads, bucket_start);
#pragma omp parallel for num_threads(threads) schedule(static, 1)
    for (uint32_t t = 0; t < threads; t++)
        batch_scatter(batch, n * t / threads, n * (t + 1) / threads, low, shift, counts[t], other);
    copse_status status = copse_progress(ctx, what, n / 3, n);
    if (status != COPSE_OK) return status;
    const uint64_t crowded = threads > 1 && shift ? n / (threads * 4) : n;
    for (unsigned bucket = 0; bucket < BATCH_BUCKETS; bucket++) {
        uint64_t at = bucket_start[bucket], count = bucket_start[bucket + 1] - at;
        if (count > crowded) batch_sort_crowded(other + at, pairs + at, count, threads, counts);
    }
    /* A cut that looked at every bit leaves only equal keys together: those are in order. */
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
    for (unsigned bucket = 0; bucket < BATCH_BUCKETS; bucket++) {
        uint64_t at = bucket_start[bucket], count = bucket_start[bucket + 1] - at;
        if (count > crowded) continue;
        if (count && shift) sort_bucket(other + at, pairs + at, count, true);
        if (count && !shift) memcpy(pairs + at, other + at, count * sizeof *pairs);
    }
    return copse_progress(ctx, what, n / 3 * 2, n);
}

/* Batches too small for buckets: encode, then one bucket. */
static void batch_sort_small(const copse_batch *batch, bool sorted, copse_pair *pairs, copse_pair *other)
{
    KEY keys[BATCH_BLOCK];
    for (uint64_t at = 0; at < batch->n; at += BATCH_BLOCK) {
        uint32_t n = (uint32_t)(batch->n - at < BATCH_BLOCK ? batch->n - at : BATCH_BLOCK);
        ENCODE(batch->key_type, batch->keys, at, n, keys);
        for (uint32_t i = 0; i < n; i++) {
            pairs[at + i].key = keys[i];
            pairs[at + i].value = copse_caller_value(batch, at + i);
        }
    }
    if (!sorted) sort_bucket(pairs, other, batch->n, false);
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

static bool batch_has_equals(const copse_pair *pairs, uint64_t n, uint32_t threads)
{
    unsigned found = 0;
#pragma omp parallel for num_threads(threads) reduction(| : found)
    for (uint64_t i = 1; i < n; i++) found |= pairs[i].key == pairs[i - 1].key;
    return found != 0;
}

static copse_status batch_make_pairs(const copse_ctx *ctx, const key_survey *survey, const char *what,
                                     copse_batch *batch)
{
    uint64_t n = batch->n;
    uint32_t threads = copse_threads_for(ctx, n);
    bool small = n < BATCH_BUCKETS * 4;
    size_t pair_bytes = copse_memory_product(n, sizeof(copse_pair));
    size_t other_bytes = survey->ascending ? 0 : pair_bytes;
    size_t count_bytes = small || survey->ascending ? 0 : threads * sizeof(uint64_t[BATCH_BUCKETS]);
    copse_status status = COPSE_OK;
    copse_pair *pairs = copse_memory_alloc(ctx, pair_bytes);
    copse_pair *other = other_bytes ? copse_memory_alloc(ctx, other_bytes) : NULL;
    void *counts = count_bytes ? copse_memory_alloc(ctx, count_bytes) : NULL;
    if (!pairs || (other_bytes && !other) || (count_bytes && !counts))
        status =
            copse_fail_memory(ctx, pair_bytes == SIZE_MAX ? SIZE_MAX : pair_bytes + other_bytes, "sorting the batch");
    else if (!counts) /* small, or in order */
        batch_sort_small(batch, survey->ascending, pairs, other);
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

copse_status NAME(copse_batch_make)(const copse_index *index, copse_equal_keys equal, bool pairs_wanted,
                                    const char *what, copse_batch *batch)
{
    const copse_ctx *ctx = index->ctx;
    /* Sizes that no array can have are refused before any of it is read. */
    if (copse_memory_product(batch->n, sizeof(copse_pair)) == SIZE_MAX)
        return copse_fail(ctx, COPSE_ERR_ARGUMENT, "n is %llu: more entries than memory can address",
                          (unsigned long long)batch->n);
    copse_status status = copse_progress(ctx, what, 0, batch->n);
    if (status != COPSE_OK) return status;
    key_survey survey = batch_survey(ctx, batch);
    if (survey.first_nan < batch->n) return copse_fail_nan(ctx, "keys", (unsigned long long)survey.first_nan);
    if (!pairs_wanted && (survey.strictly || (survey.ascending && equal == COPSE_EQUAL_ALL))) return COPSE_OK;
    status = batch_make_pairs(ctx, &survey, what, batch);
    if (status != COPSE_OK) return status;
    copse_pair *pairs = batch->memory;
    if (!survey.strictly && equal != COPSE_EQUAL_ALL &&
        batch_has_equals(pairs, batch->n, copse_threads_for(ctx, batch->n)))
        batch->n = batch_resolve(pairs, batch->n, equal);
    return COPSE_OK;
}

/* The CPU driver: aggregates over ranges. */
#include "cpu/driver.h"

#include "core/threads.h"

#include <math.h>

/* While one range is added up, the ends of this many ranges later are asked for. */
#define FETCH_AHEAD 4u

/* One call at work. */
typedef struct aggregate_job {
    const copse_index *index;
    copse_aggregate_kind kind;
    const void *lows, *highs;
    uint64_t n;
    void *out;
    uint8_t *found;
    uint64_t nan_low, nan_high, overflow; /* the first that went wrong; n where nothing did */
} aggregate_job;

/* Stores an integer sum as copse_sum promises: exact, or the nearest limit and false. */
static bool sum_store(copse_type type, copse_wide sum, void *out, uint64_t at)
{
    bool is_signed = type == COPSE_I32 || type == COPSE_I64;
    copse_wide low = is_signed ? (copse_wide)INT64_MIN : 0;
    copse_wide high = is_signed ? (copse_wide)INT64_MAX : (copse_wide)UINT64_MAX;
    bool fits = sum >= low && sum <= high;
    if (!fits) sum = sum < low ? low : high;
    ((uint64_t *)out)[at] = (uint64_t)sum;
    return fits;
}

static bool result_store(const aggregate_job *job, uint64_t at, const copse_aggregate *all, uint64_t count)
{
    copse_type type = job->index->value_type;
    bool is_float = copse_type_is_float(type), any = all->smallest <= all->largest;
    switch (job->kind) {
    case COPSE_KIND_SUM:
        if (!is_float) return sum_store(type, all->sum, job->out, at);
        ((double *)job->out)[at] = all->float_sum;
        return true;
    case COPSE_KIND_SUM128:
        ((copse_int128 *)job->out)[at] = (copse_int128){(uint64_t)all->sum, (int64_t)(all->sum >> 64)};
        return true;
    case COPSE_KIND_AVG: {
        double sum = is_float ? all->float_sum : (double)all->sum;
        ((double *)job->out)[at] = count ? sum / (double)count : (double)NAN;
        return true;
    }
    default:
        if (job->found) job->found[at] = any;
        if (any)
            copse_aggregate_store(type, job->kind == COPSE_KIND_MIN ? all->smallest : all->largest, job->out, at);
        else
            memset((char *)job->out + at * copse_type_size(type), 0, copse_type_size(type));
        return true;
    }
}

/* Ranges first .. first + n through their locations. */
static void chunk_by_locations(void *argument, uint64_t first, uint64_t last)
{
    aggregate_job *job = argument;
    const uint64_t n = last - first;
    uint64_t low[COPSE_CPU_CHUNK], high[COPSE_CPU_CHUNK];
    const copse_index *index = job->index;
    const copse_cpu_tree *tree = copse_cpu_tree_of(index);
    uint64_t good = copse_cpu_locate(index, job->lows, first, n, false, low);
    if (good < n) copse_note_least(&job->nan_low, first + good);
    uint64_t good_high = copse_cpu_locate(index, job->highs, first, n, true, high);
    if (good_high < n) copse_note_least(&job->nan_high, first + good_high);
    if (good < n || good_high < n) return;
    for (uint64_t i = 0; i < n; i++) {
        copse_aggregate all = COPSE_AGGREGATE_EMPTY;
        uint64_t count = 0;
        if (tree->fetch_block && i + FETCH_AHEAD < n && low[i + FETCH_AHEAD] < high[i + FETCH_AHEAD]) {
            tree->fetch_block(index, low[i + FETCH_AHEAD]);
            tree->fetch_block(index, high[i + FETCH_AHEAD]);
        }
        if (low[i] < high[i]) {
            tree->aggregate(index, low[i], high[i], &all);
            uint64_t ranks[2] = {low[i], high[i]};
            if (job->kind == COPSE_KIND_AVG) tree->rank(index, ranks, 2, ranks);
            count = ranks[1] - ranks[0];
        }
        if (!result_store(job, first + i, &all, count)) copse_note_least(&job->overflow, first + i);
    }
}

static void sums_part(void *argument, uint64_t first, uint64_t last)
{
    aggregate_job *job = argument;
    const copse_index *index = job->index;
    const bool direct = job->kind == COPSE_KIND_SUM; /* the walk writes the result itself */
    const bool is_signed = index->value_type == COPSE_I32 || index->value_type == COPSE_I64;
    uint64_t sums[COPSE_CPU_CHUNK], count = last - first;
    uint64_t *to = direct ? (uint64_t *)job->out + first : sums;
    uint64_t good = copse_cpu_tree_of(index)->sum(index, job->lows, job->highs, first, count, to);
    if (good < count) copse_note_least(&job->nan_low, first + good);
    for (uint64_t i = 0; !direct && i < count; i++)
        ((copse_int128 *)job->out)[first + i] = (copse_int128){sums[i], is_signed && (int64_t)sums[i] < 0 ? -1 : 0};
}

/* Sums in one walk per range, whatever its width: the structure knows the sums in front of the bounds. */
static copse_status sums_in_one_walk(aggregate_job *job)
{
    const copse_index *index = job->index;
    const uint64_t n = job->n;
    uint32_t threads = copse_threads_for(index->ctx, n * 2);
    if (job->kind == COPSE_KIND_SUM && threads == 1)
        sums_part(job, 0, n);
    else
        copse_parallel(index->ctx, threads, n, COPSE_CPU_CHUNK, sums_part, job);
    return job->nan_low < n ? copse_cpu_nan_range(index, job->lows, job->nan_low) : COPSE_OK;
}

static copse_status aggregate_run(aggregate_job *job)
{
    const copse_index *index = job->index;
    const uint64_t n = job->n;
    const bool sums = job->kind == COPSE_KIND_SUM || job->kind == COPSE_KIND_SUM128;
    const copse_cpu_tree *tree = copse_cpu_tree_of(index);
    if (tree->size(index)) {
        if (tree->prepare) tree->prepare(index, sums);
        if (sums && tree->has_sum && tree->has_sum(index)) return sums_in_one_walk(job);
    }
    uint32_t threads = copse_threads_for(index->ctx, n * 2);
    copse_parallel(index->ctx, threads, n, COPSE_CPU_CHUNK, chunk_by_locations, job);
    if (job->nan_low < n) return copse_fail_nan(index->ctx, "lows", job->nan_low);
    if (job->nan_high < n) return copse_fail_nan(index->ctx, "highs", job->nan_high);
    if (job->overflow < n)
        return copse_fail(index->ctx, COPSE_ERR_OVERFLOW,
                          "the sum of range %llu does not fit 64 bits; copse_sum128 gives it in 128",
                          (unsigned long long)job->overflow);
    return COPSE_OK;
}

copse_status copse_cpu_aggregate(const copse_index *index, copse_aggregate_kind kind, const copse_ranges *ranges,
                                 void *out, uint8_t *found)
{
    const uint64_t n = ranges->n;
    aggregate_job job = {index, kind, ranges->lows, ranges->highs, n, out, found, n, n, n};
    return aggregate_run(&job);
}

/* Aggregates over ranges: sum, sum128, min, max, avg. */
#include "api/read.h"

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
} aggregate_job;

/* What went wrong in a part; positions are n where nothing did. */
typedef struct aggregate_trouble {
    uint64_t nan_low, nan_high, overflow;
} aggregate_trouble;

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

/* Ranges first .. first + n through their places. */
static void part_by_places(const aggregate_job *job, uint64_t first, uint64_t n, aggregate_trouble *trouble)
{
    uint64_t low[COPSE_READ_PART], high[COPSE_READ_PART];
    const copse_index *index = job->index;
    uint64_t good = copse_read_locate(index, job->lows, first, n, false, low);
    if (good < n && first + good < trouble->nan_low) trouble->nan_low = first + good;
    uint64_t good_high = copse_read_locate(index, job->highs, first, n, true, high);
    if (good_high < n && first + good_high < trouble->nan_high) trouble->nan_high = first + good_high;
    if (good < n || good_high < n) return;
    for (uint64_t i = 0; i < n; i++) {
        copse_aggregate all = COPSE_AGGREGATE_EMPTY;
        uint64_t count = 0;
        if (i + FETCH_AHEAD < n && low[i + FETCH_AHEAD] < high[i + FETCH_AHEAD]) {
            index->operations->fetch_block(index, low[i + FETCH_AHEAD]);
            index->operations->fetch_block(index, high[i + FETCH_AHEAD]);
        }
        if (low[i] < high[i]) {
            index->operations->aggregate(index, low[i], high[i], &all);
            uint64_t ranks[2] = {low[i], high[i]};
            if (job->kind == COPSE_KIND_AVG) index->operations->rank(index, ranks, 2, ranks);
            count = ranks[1] - ranks[0];
        }
        if (!result_store(job, first + i, &all, count) && first + i < trouble->overflow) trouble->overflow = first + i;
    }
}

/* Sums in one walk per range, whatever its width: the structure knows the sums in front of the bounds. */
static copse_status sums_in_one_walk(const aggregate_job *job)
{
    const copse_index *index = job->index;
    const uint64_t n = job->n;
    const bool narrow = job->kind == COPSE_KIND_SUM; /* the walk writes the result itself */
    const bool is_signed = index->value_type == COPSE_I32 || index->value_type == COPSE_I64;
    uint32_t threads = copse_threads_for(index->ctx, n * 2);
    uint64_t part = narrow && threads == 1 ? n : COPSE_READ_PART, first_nan = n;
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1) reduction(min : first_nan) if (threads > 1)
    for (uint64_t first = 0; first < n; first += part) {
        uint64_t sums[COPSE_READ_PART];
        uint64_t count = n - first < part ? n - first : part;
        uint64_t *to = narrow ? (uint64_t *)job->out + first : sums;
        uint64_t good = index->operations->sum(index, job->lows, job->highs, first, count, to);
        if (good < count && first + good < first_nan) first_nan = first + good;
        for (uint64_t i = 0; !narrow && i < count; i++)
            ((copse_int128 *)job->out)[first + i] = (copse_int128){sums[i], is_signed && (int64_t)sums[i] < 0 ? -1 : 0};
    }
    return first_nan < n ? copse_read_nan_range(index, job->lows, first_nan) : COPSE_OK;
}

static copse_status aggregate_run(const aggregate_job *job)
{
    const copse_index *index = job->index;
    const uint64_t n = job->n;
    const bool sums = job->kind == COPSE_KIND_SUM || job->kind == COPSE_KIND_SUM128;
    if (copse_size(index)) {
        index->operations->prepare(index, sums);
        if (sums && index->operations->has_sum && index->operations->has_sum(index)) return sums_in_one_walk(job);
    }
    uint32_t threads = copse_threads_for(index->ctx, n * 2);
    uint64_t nan_low = n, nan_high = n, overflow = n;
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)                                                     \
    reduction(min                                                                                                      \
              : nan_low, nan_high, overflow) if (threads > 1)
    for (uint64_t first = 0; first < n; first += COPSE_READ_PART) {
        uint64_t count = n - first < COPSE_READ_PART ? n - first : COPSE_READ_PART;
        aggregate_trouble trouble = {nan_low, nan_high, overflow};
        part_by_places(job, first, count, &trouble);
        nan_low = trouble.nan_low;
        nan_high = trouble.nan_high;
        overflow = trouble.overflow;
    }
    if (nan_low < n) return copse_read_nan(index, "lows", nan_low);
    if (nan_high < n) return copse_read_nan(index, "highs", nan_high);
    if (overflow < n)
        return copse_fail(index->ctx, COPSE_ERR_OVERFLOW,
                          "the sum of range %llu does not fit 64 bits; copse_sum128 gives it in 128",
                          (unsigned long long)overflow);
    return COPSE_OK;
}

static copse_status aggregate_call(const char *call, const char *out_name, const aggregate_job *job)
{
    copse_status status = copse_read_check(job->index, call, job->lows, "lows", job->n);
    if (status == COPSE_OK) status = copse_read_check(job->index, call, job->highs, "highs", job->n);
    if (status != COPSE_OK) return status;
    if (job->kind == COPSE_KIND_SUM128 && copse_type_is_float(job->index->value_type))
        return copse_fail(job->index->ctx, COPSE_ERR_TYPE,
                          "%s: the values are %s; use copse_sum, which returns doubles for them", call,
                          copse_type_name(job->index->value_type));
    if (job->n == 0) return COPSE_OK;
    if (!job->out)
        return copse_fail(job->index->ctx, COPSE_ERR_ARGUMENT, "%s: %s is NULL, but n is not 0", call, out_name);
    const copse_whole_operations *whole = job->index->operations->whole;
    if (whole) return whole->aggregate(job->index, job->kind, job->lows, job->highs, job->n, job->out, job->found);
    return aggregate_run(job);
}

copse_status copse_sum(const copse_index *index, const void *lows, const void *highs, uint64_t n, void *out_sums)
{
    aggregate_job job = {index, COPSE_KIND_SUM, lows, highs, n, out_sums, NULL};
    return aggregate_call("copse_sum", "out_sums", &job);
}

copse_status copse_sum128(const copse_index *index, const void *lows, const void *highs, uint64_t n,
                          copse_int128 *out_sums)
{
    aggregate_job job = {index, COPSE_KIND_SUM128, lows, highs, n, out_sums, NULL};
    return aggregate_call("copse_sum128", "out_sums", &job);
}

copse_status copse_min(const copse_index *index, const void *lows, const void *highs, uint64_t n, void *out_values,
                       uint8_t *out_found)
{
    aggregate_job job = {index, COPSE_KIND_MIN, lows, highs, n, out_values, out_found};
    return aggregate_call("copse_min", "out_values", &job);
}

copse_status copse_max(const copse_index *index, const void *lows, const void *highs, uint64_t n, void *out_values,
                       uint8_t *out_found)
{
    aggregate_job job = {index, COPSE_KIND_MAX, lows, highs, n, out_values, out_found};
    return aggregate_call("copse_max", "out_values", &job);
}

copse_status copse_avg(const copse_index *index, const void *lows, const void *highs, uint64_t n, double *out_means)
{
    aggregate_job job = {index, COPSE_KIND_AVG, lows, highs, n, out_means, NULL};
    return aggregate_call("copse_avg", "out_means", &job);
}

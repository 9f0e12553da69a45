/* The CPU driver: aggregates over ranges. */
#include "cpu/driver.h"

#include "core/threads.h"
#include "cpu/walked.h"

/* While one range is added up, the ends of this many ranges later are asked for. */
#define FETCH_AHEAD 4u
#define FETCH_EARLY 8u

/* Ranges whose bounds are located before they are added up: so few that the leaves are still in the second-level cache then. */
#define AGGREGATE_CHUNK (COPSE_CPU_CHUNK / 8)

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

/* Ranges first .. first + n through their locations. */
static void chunk_by_locations(void *argument, uint64_t first, uint64_t last)
{
    aggregate_job *job = argument;
    const uint64_t n = last - first;
    uint64_t low[AGGREGATE_CHUNK], high[AGGREGATE_CHUNK];
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
        if (tree->fetch_early && i + FETCH_EARLY < n)
            tree->fetch_early(index, low[i + FETCH_EARLY], high[i + FETCH_EARLY]);
        if (tree->fetch_range && i + FETCH_AHEAD < n && low[i + FETCH_AHEAD] < high[i + FETCH_AHEAD])
            tree->fetch_range(index, low[i + FETCH_AHEAD], high[i + FETCH_AHEAD], job->kind);
        if (low[i] < high[i]) {
            tree->aggregate(index, low[i], high[i], job->kind, &all);
            uint64_t ranks[2] = {low[i], high[i]};
            if (job->kind == COPSE_KIND_AVG) tree->rank(index, ranks, 2, ranks);
            count = ranks[1] - ranks[0];
        }
        if (!copse_aggregate_give(job->kind, index->value_type, &all, count, job->out, job->found, first + i))
            copse_note_least(&job->overflow, first + i);
    }
}

static void wide_sums_chunk(void *argument, uint64_t first, uint64_t last)
{
    aggregate_job *job = argument;
    const uint64_t n = last - first;
    copse_wide sums[COPSE_CPU_CHUNK];
    const copse_index *index = job->index;
    const uint64_t good = copse_cpu_tree_of(index)->sum_wide(index, job->lows, job->highs, first, n, sums);
    if (good < n) copse_note_least(&job->nan_low, first + good);
    for (uint64_t i = 0; i < good; i++) {
        copse_aggregate all = COPSE_AGGREGATE_EMPTY;
        all.sum = sums[i];
        if (!copse_aggregate_give(job->kind, index->value_type, &all, 0, job->out, NULL, first + i))
            copse_note_least(&job->overflow, first + i);
    }
}

static void sums_chunk(void *argument, uint64_t first, uint64_t last)
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

static void extremes_chunk(void *argument, uint64_t first, uint64_t last)
{
    aggregate_job *job = argument;
    const uint64_t n = last - first;
    const copse_index *index = job->index;
    uint64_t codes[COPSE_CPU_CHUNK];
    uint8_t found[COPSE_CPU_CHUNK];
    const bool largest = job->kind == COPSE_KIND_MAX;
    const uint64_t good =
        copse_cpu_tree_of(index)->extremes(index, job->lows, job->highs, first, n, largest, codes, found);
    if (good < n) copse_note_least(&job->nan_low, first + good);
    for (uint64_t i = 0; i < good; i++) {
        copse_aggregate all = COPSE_AGGREGATE_EMPTY;
        if (found[i]) all.smallest = all.largest = codes[i];
        (void)copse_aggregate_give(job->kind, index->value_type, &all, 0, job->out, job->found, first + i);
    }
}

/* One walk per range, whatever its width: the structure knows the sums in front of the bounds, or the extremes between them. */
static copse_status in_one_walk(aggregate_job *job, copse_chunk_fn body)
{
    const copse_index *index = job->index;
    const uint64_t n = job->n;
    uint32_t threads = copse_threads_for_lookups(index->ctx, n * 2);
    const bool whole = body == sums_chunk && job->kind == COPSE_KIND_SUM && threads == 1;
    copse_cpu_run(index, threads, n, whole ? n : copse_cpu_small_chunk(n, threads), body, job);
    if (job->nan_low < n) return copse_cpu_nan_range(index, job->lows, job->nan_low);
    return job->overflow < n ? copse_fail_overflow(index->ctx, job->overflow) : COPSE_OK;
}

static copse_status aggregate_run(aggregate_job *job)
{
    const copse_index *index = job->index;
    const uint64_t n = job->n;
    const bool sums = job->kind == COPSE_KIND_SUM || job->kind == COPSE_KIND_SUM128;
    const bool extreme = job->kind == COPSE_KIND_MIN || job->kind == COPSE_KIND_MAX;
    const copse_cpu_tree *tree = copse_cpu_tree_of(index);
    if (tree->size(index)) {
        if (tree->prepare) tree->prepare(index, sums);
        if (sums && tree->has_sum && tree->has_sum(index)) return in_one_walk(job, sums_chunk);
        if (sums && tree->has_sum_wide && tree->has_sum_wide(index)) return in_one_walk(job, wide_sums_chunk);
        if (extreme && tree->has_extremes && tree->has_extremes(index)) return in_one_walk(job, extremes_chunk);
    }
    uint32_t threads = copse_threads_for_lookups(index->ctx, n * 2);
    copse_cpu_run(index, threads, n, AGGREGATE_CHUNK, chunk_by_locations, job);
    if (job->nan_low < n) return copse_fail_nan(index->ctx, "lows", job->nan_low);
    if (job->nan_high < n) return copse_fail_nan(index->ctx, "highs", job->nan_high);
    return job->overflow < n ? copse_fail_overflow(index->ctx, job->overflow) : COPSE_OK;
}

copse_status copse_cpu_aggregate(const copse_index *index, copse_aggregate_kind kind, const copse_ranges *ranges,
                                 void *out, uint8_t *found)
{
    const uint64_t n = ranges->n;
    aggregate_job job = {index, kind, ranges->lows, ranges->highs, n, out, found, n, n, n};
    return aggregate_run(&job);
}

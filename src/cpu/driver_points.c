/* The CPU driver: lookups and neighbours. */
#include "cpu/driver.h"

#include "core/threads.h"
#include "cpu/walked.h"

uint64_t copse_cpu_find_nan(const copse_index *index, const void *keys, uint64_t first, uint64_t n)
{
    if (index->key_type == COPSE_F32) {
        for (uint64_t i = 0; i < n; i++)
            if (copse_is_nan32(((const uint32_t *)keys)[first + i])) return i;
    } else if (index->key_type == COPSE_F64) {
        for (uint64_t i = 0; i < n; i++)
            if (copse_is_nan64(((const uint64_t *)keys)[first + i])) return i;
    }
    return n;
}

copse_status copse_cpu_nan_range(const copse_index *index, const void *lows, uint64_t at)
{
    return copse_fail_nan(index->ctx, copse_cpu_find_nan(index, lows, at, 1) == 0 ? "lows" : "highs", at);
}

uint64_t copse_cpu_locate(const copse_index *index, const void *keys, uint64_t first, uint64_t n, bool upper,
                          uint64_t *locations)
{
    const copse_cpu_tree *tree = copse_cpu_tree_of(index);
    if (tree->size(index)) return tree->locate(index, keys, first, n, upper, locations);
    memset(locations, 0, n * sizeof *locations);
    return copse_cpu_find_nan(index, keys, first, n);
}

static uint64_t find_in_empty(const copse_index *index, const void *keys, uint64_t first, uint64_t n, void *values,
                              uint8_t *found)
{
    size_t width = copse_value_width(index->value_type);
    if (values) memset((char *)values + first * width, 0, n * width);
    if (found) memset(found + first, 0, n);
    return copse_cpu_find_nan(index, keys, first, n);
}

uint64_t copse_cpu_find_chunk(const copse_index *index, const void *keys, uint64_t first, uint64_t n, void *values,
                              uint8_t *found)
{
    const copse_cpu_tree *tree = copse_cpu_tree_of(index);
    if (tree->size(index) == 0) return find_in_empty(index, keys, first, n, values, found);
    return tree->find(index, keys, first, n, values, found);
}

typedef struct find_job {
    const copse_index *index;
    const void *keys;
    void *values;
    uint8_t *found;
    uint64_t first_nan;
} find_job;

static void find_chunk(void *argument, uint64_t first, uint64_t last)
{
    find_job *job = argument;
    uint64_t good = copse_cpu_find_chunk(job->index, job->keys, first, last - first, job->values, job->found);
    if (good < last - first) copse_note_least(&job->first_nan, first + good);
}

/* One thread takes the batch whole, so that its pipeline never runs dry; several share it in chunks. */
copse_status copse_cpu_find(const copse_index *index, const void *keys, uint64_t n, void *values, uint8_t *found)
{
    uint32_t threads = copse_threads_for_lookups(index->ctx, n);
    find_job job = {index, keys, values, found, n};
    copse_cpu_run(index, threads, n, threads == 1 ? n : copse_cpu_chunk(n, threads), find_chunk, &job);
    return job.first_nan < n ? copse_fail_nan(index->ctx, "keys", job.first_nan) : COPSE_OK;
}

typedef struct neighbours_job {
    const copse_index *index;
    const void *keys;
    copse_neighbour which;
    void *out_keys, *out_values;
    uint8_t *out_found;
    uint64_t *out_ranks;
    uint64_t first_nan;
} neighbours_job;

static void neighbours_chunk(void *argument, uint64_t first, uint64_t last)
{
    neighbours_job *job = argument;
    const copse_cpu_tree *tree = copse_cpu_tree_of(job->index);
    uint64_t locations[COPSE_CPU_CHUNK], count = last - first;
    uint64_t good = copse_cpu_locate(job->index, job->keys, first, count, copse_neighbour_upper(job->which), locations);
    if (good < count) {
        copse_note_least(&job->first_nan, first + good);
        return;
    }
    tree->gather(job->index, locations, first, count, copse_neighbour_back(job->which), job->out_keys, job->out_values,
                 job->out_found);
    if (job->out_ranks) tree->rank(job->index, locations, count, job->out_ranks + first);
}

copse_status copse_cpu_neighbours(const copse_index *index, const void *keys, uint64_t n, copse_neighbour which,
                                  void *out_keys, void *out_values, uint8_t *out_found, uint64_t *out_ranks)
{
    neighbours_job job = {index, keys, which, out_keys, out_values, out_found, out_ranks, n};
    const uint32_t threads = copse_threads_for_lookups(index->ctx, n);
    copse_cpu_run(index, threads, n, copse_cpu_small_chunk(n, threads), neighbours_chunk, &job);
    return job.first_nan < n ? copse_fail_nan(index->ctx, "keys", job.first_nan) : COPSE_OK;
}

/* The location behind the last entry, where ranks lead that no entry has, is one that gather understands. */
copse_status copse_cpu_select(const copse_index *index, const uint64_t *ranks, uint64_t n, void *keys, void *values,
                              uint8_t *found)
{
    const copse_cpu_tree *tree = copse_cpu_tree_of(index);
    const uint64_t size = tree->size(index);
    uint64_t locations[COPSE_CPU_CHUNK];
    for (uint64_t first = 0; first < n; first += COPSE_CPU_CHUNK) {
        const uint64_t count = n - first < COPSE_CPU_CHUNK ? n - first : COPSE_CPU_CHUNK;
        for (uint64_t i = 0; i < count; i++) {
            const uint64_t rank = ranks[first + i];
            locations[i] = size ? tree->select(index, rank < size ? rank : size) : 0;
        }
        tree->gather(index, locations, first, count, false, keys, values, found);
    }
    return COPSE_OK;
}

/* The CPU driver: entries in key order. */
#include "cpu/driver.h"

#include "core/threads.h"

/* Entries that a thread copies at once. */
#define SCAN_ENTRIES 65536u

copse_status copse_cpu_bound_rank(const copse_index *index, const void *key, bool upper, uint64_t *out)
{
    if (copse_cpu_locate(index, key, 0, 1, upper, out) < 1) return copse_fail_nan(index->ctx, "keys", 0);
    if (copse_size(index)) copse_cpu_tree_of(index)->rank(index, out, 1, out);
    return COPSE_OK;
}

typedef struct scan_job {
    const copse_index *index;
    uint64_t rank; /* of the first entry */
    void *keys, *values;
} scan_job;

static void scan_chunk(void *argument, uint64_t first, uint64_t last)
{
    const scan_job *job = argument;
    const copse_cpu_tree *tree = copse_cpu_tree_of(job->index);
    tree->copy(job->index, tree->select(job->index, job->rank + first), last - first, first, job->keys, job->values);
}

static void scan_copy(const copse_index *index, uint64_t rank, uint64_t n, void *keys, void *values)
{
    scan_job job = {index, rank, keys, values};
    copse_parallel(index->ctx, copse_threads_for(index->ctx, n), n, SCAN_ENTRIES, scan_chunk, &job);
}

void copse_reverse(void *array, uint64_t first, uint64_t n, size_t width)
{
    if (!array || n == 0) return;
    for (uint64_t low = first, high = first + n - 1; low < high; low++, high--) {
        if (width == 4) {
            uint32_t *elements = array, kept = elements[low];
            elements[low] = elements[high];
            elements[high] = kept;
        } else {
            uint64_t *elements = array, kept = elements[low];
            elements[low] = elements[high];
            elements[high] = kept;
        }
    }
}

/* How many entries there are from the gap at *rank on, up to the scan's last key. */
static copse_status entries_left(const copse_index *index, const copse_scan *scan, uint64_t *rank, uint64_t *out)
{
    uint64_t end = scan->backwards ? 0 : copse_size(index);
    copse_status status = COPSE_OK;
    if (scan->from) status = copse_cpu_bound_rank(index, scan->from, scan->backwards, rank);
    if (status == COPSE_OK && scan->to) status = copse_cpu_bound_rank(index, scan->to, !scan->backwards, &end);
    const uint64_t low = scan->backwards ? end : *rank, high = scan->backwards ? *rank : end;
    *out = high > low ? high - low : 0;
    return status;
}

copse_status copse_cpu_scan(const copse_index *index, copse_scan *scan)
{
    uint64_t left, *rank = &scan->position.rank;
    copse_status status = entries_left(index, scan, rank, &left);
    if (status != COPSE_OK) return status;
    scan->n = left < scan->most ? left : scan->most;
    if (scan->backwards) *rank -= scan->n;
    if (scan->n && (scan->keys || scan->values)) scan_copy(index, *rank, scan->n, scan->keys, scan->values);
    if (!scan->backwards) {
        *rank += scan->n;
    } else {
        copse_reverse(scan->keys, 0, scan->n, copse_type_size(index->key_type));
        copse_reverse(scan->values, 0, scan->n, copse_value_width(index->value_type));
    }
    return COPSE_OK;
}

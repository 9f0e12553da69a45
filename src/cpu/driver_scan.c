/* The CPU driver: entries in key order. */
#include "cpu/driver.h"

/* Entries that a thread copies at once. */
#define SCAN_ENTRIES 65536u

/* The rank of the bound of one key. */
static copse_status bound_rank(const copse_index *index, const void *key, bool upper, uint64_t *out)
{
    if (copse_cpu_locate(index, key, 0, 1, upper, out) < 1) return copse_fail_nan(index->ctx, "keys", 0);
    if (copse_size(index)) copse_cpu_tree_of(index)->rank(index, out, 1, out);
    return COPSE_OK;
}

static void scan_copy(const copse_index *index, uint64_t rank, uint64_t n, void *keys, void *values)
{
    const copse_cpu_tree *tree = copse_cpu_tree_of(index);
    if (n <= SCAN_ENTRIES) { /* without even asking OpenMP: visits come with 4096 at a time */
        tree->copy(index, tree->select(index, rank), n, 0, keys, values);
        return;
    }
    uint32_t threads = copse_threads_for(index->ctx, n);
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1) if (threads > 1)
    for (uint64_t at = 0; at < n; at += SCAN_ENTRIES) {
        uint64_t count = n - at < SCAN_ENTRIES ? n - at : SCAN_ENTRIES;
        tree->copy(index, tree->select(index, rank + at), count, at, keys, values);
    }
}

copse_status copse_cpu_scan(const copse_index *index, copse_scan *scan)
{
    uint64_t end = copse_size(index), *rank = &scan->position.rank;
    copse_status status = COPSE_OK;
    if (scan->from) status = bound_rank(index, scan->from, false, rank);
    if (status == COPSE_OK && scan->to) status = bound_rank(index, scan->to, true, &end);
    if (status != COPSE_OK) return status;
    uint64_t left = end > *rank ? end - *rank : 0;
    scan->n = left < scan->most ? left : scan->most;
    if (scan->n && (scan->keys || scan->values)) scan_copy(index, *rank, scan->n, scan->keys, scan->values);
    *rank += scan->n;
    return COPSE_OK;
}

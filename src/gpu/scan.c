/* Entries in key order from trees on a device: bounds as ranks, then entries by rank. */
#include "gpu/scan.h"

static copse_status bound_rank(const copse_index *index, const void *key, bool upper, uint64_t *out)
{
    return index->calls->neighbours(index, key, 1, upper ? COPSE_AFTER : COPSE_AT_OR_AFTER, NULL, NULL, NULL, out);
}

/* Entries in front of a gap, the last one first. */
static copse_status entries_back(const copse_index *index, uint64_t rank, uint64_t n, void *keys, void *values)
{
    const size_t bytes = copse_memory_product(n, sizeof(uint64_t));
    uint64_t *ranks = copse_memory_alloc(index->ctx, bytes);
    if (!ranks) return copse_fail_memory(index->ctx, bytes, "going backwards");
    for (uint64_t i = 0; i < n; i++) ranks[i] = rank - 1 - i;
    copse_status status = index->calls->select(index, ranks, n, keys, values, NULL);
    copse_memory_free(index->ctx, ranks, bytes);
    return status;
}

copse_status copse_gpu_scan(const copse_index *index, copse_scan *scan, copse_entries_fn entries)
{
    uint64_t end = scan->backwards ? 0 : copse_size(index), *rank = &scan->position.rank;
    copse_status status = COPSE_OK;
    scan->n = 0;
    if (scan->from) status = bound_rank(index, scan->from, scan->backwards, rank);
    if (status == COPSE_OK && scan->to) status = bound_rank(index, scan->to, !scan->backwards, &end);
    if (status != COPSE_OK) return status;
    const uint64_t low = scan->backwards ? end : *rank, high = scan->backwards ? *rank : end;
    const uint64_t left = high > low ? high - low : 0, n = left < scan->most ? left : scan->most;
    if (n && (scan->keys || scan->values))
        status = scan->backwards ? entries_back(index, *rank, n, scan->keys, scan->values)
                                 : entries(index, *rank, n, scan->keys, scan->values);
    if (status != COPSE_OK) return status;
    scan->n = n;
    *rank = scan->backwards ? *rank - n : *rank + n;
    return COPSE_OK;
}

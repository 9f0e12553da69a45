/* Entries in key order from trees on a device: bounds as ranks, then entries by rank. */
#include "gpu/scan.h"

copse_status copse_gpu_scan(const copse_index *index, copse_scan *scan, copse_entries_fn entries)
{
    uint64_t end = copse_size(index), *rank = &scan->position.rank;
    copse_status status = COPSE_OK;
    if (scan->from) status = index->calls->neighbours(index, scan->from, 1, COPSE_AT_OR_AFTER, NULL, NULL, NULL, rank);
    if (status == COPSE_OK && scan->to)
        status = index->calls->neighbours(index, scan->to, 1, COPSE_AFTER, NULL, NULL, NULL, &end);
    if (status != COPSE_OK) return status;
    uint64_t left = end > *rank ? end - *rank : 0, n = left < scan->most ? left : scan->most;
    scan->n = 0;
    if (n && (scan->keys || scan->values)) status = entries(index, *rank, n, scan->keys, scan->values);
    if (status != COPSE_OK) return status;
    scan->n = n;
    *rank += n;
    return COPSE_OK;
}

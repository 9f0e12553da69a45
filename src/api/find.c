/* Point reads: find, contains, lower_bound, successor, predecessor; and the checks of arguments that all reads share. */
#include "api/check.h"

copse_status copse_check_keys(const copse_index *index, const char *call, const void *keys, const char *keys_name,
                              uint64_t n)
{
    if (!index) return copse_fail(NULL, COPSE_ERR_ARGUMENT, "%s: index is NULL", call);
    if (n && !keys)
        return copse_fail(index->ctx, COPSE_ERR_ARGUMENT, "%s: %s is NULL, but n is not 0", call, keys_name);
    if (n > SIZE_MAX / 32)
        return copse_fail(index->ctx, COPSE_ERR_ARGUMENT, "%s: n is %llu: more than any array can hold", call,
                          (unsigned long long)n);
    return COPSE_OK;
}

copse_status copse_check_ranges(const copse_index *index, const char *call, const void *lows, const void *highs,
                                uint64_t n)
{
    copse_status status = copse_check_keys(index, call, lows, "lows", n);
    return status == COPSE_OK ? copse_check_keys(index, call, highs, "highs", n) : status;
}

copse_status copse_find(const copse_index *index, const void *keys, uint64_t n, void *out_values, uint8_t *out_found)
{
    copse_status status = copse_check_keys(index, "copse_find", keys, "keys", n);
    if (status != COPSE_OK || n == 0) return status;
    return index->calls->find(index, keys, n, out_values, out_found);
}

copse_status copse_contains(const copse_index *index, const void *keys, uint64_t n, uint8_t *out_found)
{
    copse_status status = copse_check_keys(index, "copse_contains", keys, "keys", n);
    if (status != COPSE_OK || n == 0) return status;
    if (!out_found)
        return copse_fail(index->ctx, COPSE_ERR_ARGUMENT, "copse_contains: out_found is NULL, but n is not 0");
    return index->calls->find(index, keys, n, NULL, out_found);
}

copse_status copse_lower_bound(const copse_index *index, const void *keys, uint64_t n, void *out_keys, void *out_values,
                               uint8_t *out_found, uint64_t *out_ranks)
{
    copse_status status = copse_check_keys(index, "copse_lower_bound", keys, "keys", n);
    if (status != COPSE_OK || n == 0) return status;
    return index->calls->neighbours(index, keys, n, COPSE_AT_OR_AFTER, out_keys, out_values, out_found, out_ranks);
}

copse_status copse_successor(const copse_index *index, const void *keys, uint64_t n, void *out_keys, void *out_values,
                             uint8_t *out_found)
{
    copse_status status = copse_check_keys(index, "copse_successor", keys, "keys", n);
    if (status != COPSE_OK || n == 0) return status;
    return index->calls->neighbours(index, keys, n, COPSE_AFTER, out_keys, out_values, out_found, NULL);
}

copse_status copse_predecessor(const copse_index *index, const void *keys, uint64_t n, void *out_keys, void *out_values,
                               uint8_t *out_found)
{
    copse_status status = copse_check_keys(index, "copse_predecessor", keys, "keys", n);
    if (status != COPSE_OK || n == 0) return status;
    return index->calls->neighbours(index, keys, n, COPSE_BEFORE, out_keys, out_values, out_found, NULL);
}

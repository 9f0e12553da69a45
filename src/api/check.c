/* Checks of arguments that several calls share. */
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

copse_status copse_check_change(const copse_index *index, const char *call)
{
    if (!index) {
        (void)copse_fail(NULL, COPSE_ERR_ARGUMENT, "%s: index is NULL", call);
        return COPSE_ERR_ARGUMENT; /* said here, so that an analyzer knows that it is never COPSE_OK */
    }
    if (!index->read_only) return COPSE_OK;
    return copse_fail(index->ctx, COPSE_ERR_UNSUPPORTED, "%s: index is %s, which only reads", call, index->read_only);
}

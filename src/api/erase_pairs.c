/* Erasing entries by key and value. */
#include "api/check.h"
#include "device/device.h"

copse_status copse_erase_pairs(copse_index *index, const void *keys, const void *values, uint64_t n,
                               uint64_t *out_erased)
{
    uint64_t erased = 0;
    if (out_erased) *out_erased = 0;
    copse_status status = copse_check_change(index, "copse_erase_pairs");
    if (status == COPSE_OK) status = copse_check_keys(index, "copse_erase_pairs", keys, "keys", n);
    if (status == COPSE_OK) status = copse_check_values(index, "copse_erase_pairs", values, "values");
    if (status != COPSE_OK || n == 0) return status;
    if (!values && index->value_type != COPSE_NONE) return copse_fail_null(index->ctx, "copse_erase_pairs", "values");
    copse_promise_begin(index);
    status = copse_promise_end(index->calls->erase_pairs(index, keys, values, n, &erased));
    if (status != COPSE_OK) return status;
    if (erased) copse_version_advance(index);
    if (out_erased) *out_erased = erased;
    return COPSE_OK;
}

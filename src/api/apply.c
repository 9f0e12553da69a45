/* Mixed batches. */
#include "api/check.h"
#include "api/placement.h"
#include "device/device.h"

copse_status copse_apply(copse_index *index, const uint8_t *operations, const void *keys, const void *values,
                         uint64_t n, void *out_values, uint8_t *out_found)
{
    copse_status status = copse_check_change(index, "copse_apply");
    if (status == COPSE_OK) status = copse_check_keys(index, "copse_apply", keys, "keys", n);
    if (status == COPSE_OK) status = copse_check_values(index, "copse_apply", values, "values");
    if (status == COPSE_OK) status = copse_check_values(index, "copse_apply", out_values, "out_values");
    if (status != COPSE_OK || n == 0) return status;
    if (!operations) return copse_fail_null(index->ctx, "copse_apply", "operations");
    if ((status = copse_grow(index, keys, n)) != COPSE_OK) return status;
    do {
        copse_promise_begin(index);
        status = copse_promise_end(index->calls->apply(index, operations, keys, values, n, out_values, out_found));
    } while (copse_retreat(index, keys, status));
    return status;
}

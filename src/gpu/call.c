/* The arrays of a call, and what its kernels found wrong: read at once where the call waits, else left to
 * copse_ctx_synchronize. */
#include "gpu/call.h"

#include <string.h>

static copse_status report_points(const copse_ctx *ctx, const char *call, const uint64_t *words)
{
    (void)call;
    return words[COPSE_REPORT_NAN] == UINT64_MAX ? COPSE_OK : copse_fail_nan(ctx, "keys", words[COPSE_REPORT_NAN]);
}

static copse_status report_ranges(const copse_ctx *ctx, const char *call, const uint64_t *words)
{
    (void)call;
    if (words[COPSE_REPORT_NAN] != UINT64_MAX) return copse_fail_nan(ctx, "lows", words[COPSE_REPORT_NAN]);
    if (words[COPSE_REPORT_NAN_HIGH] != UINT64_MAX) return copse_fail_nan(ctx, "highs", words[COPSE_REPORT_NAN_HIGH]);
    if (words[COPSE_REPORT_OVERFLOW] != UINT64_MAX)
        return copse_fail(ctx, COPSE_ERR_OVERFLOW,
                          "the sum of range %llu does not fit 64 bits; copse_sum128 gives it in 128",
                          (unsigned long long)words[COPSE_REPORT_OVERFLOW]);
    if (words[COPSE_REPORT_TOO_SMALL] != UINT64_MAX)
        return copse_fail_room(ctx, "out_rows", words[COPSE_REPORT_ROOM], words[COPSE_REPORT_TOO_SMALL]);
    return COPSE_OK;
}

copse_status copse_call_array(const copse_index *index, const void *array, const char *name, bool *out_on_device)
{
    copse_memory_kind kind = copse_device_kind(index->device, array);
    *out_on_device = kind == COPSE_MEMORY_DEVICE;
    if (kind == COPSE_MEMORY_FOREIGN)
        return copse_fail_argument(index->ctx, name, "%s is memory of another device", name);
    if (kind == COPSE_MEMORY_NOWHERE)
        return copse_fail_argument(index->ctx, name, "%s points to memory that cannot be read", name);
    return COPSE_OK;
}

copse_status copse_call_report_take(const copse_index *index, bool always, int *out_report, uint64_t **out_words)
{
    *out_report = -1;
    *out_words = NULL;
    if (!always && !copse_type_is_float(index->key_type)) return COPSE_OK;
    return copse_report_take(index->device, out_report, out_words);
}

copse_status copse_call_report_end(const copse_index *index, int report, copse_status status, bool waits, bool ranges)
{
    uint64_t words[COPSE_REPORT_WORDS];
    copse_report_check check = ranges ? report_ranges : report_points;
    if (report < 0) return status;
    if (status == COPSE_OK && !waits) {
        copse_report_defer(index->device, report, check, "");
        return COPSE_OK;
    }
    copse_status read = copse_report_read(index->device, report, words);
    if (status != COPSE_OK) return status;
    return read == COPSE_OK ? check(index->ctx, "", words) : read;
}

bool copse_call_waits(const copse_index *index, const void *const *arrays, unsigned n)
{
    if (!index->device->callers_stream) return true;
    for (unsigned i = 0; i < n; i++)
        if (arrays[i] && copse_device_kind(index->device, arrays[i]) != COPSE_MEMORY_DEVICE) return true;
    return false;
}

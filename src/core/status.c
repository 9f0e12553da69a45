/* Status codes and the sentence of the last error. */
#include "core/internal.h"

#include <stdarg.h>
#include <string.h>

/* One sentence per thread, so that readers of one index on several threads do not write over each other. */
static _Thread_local copse_kept_error last;

copse_status copse_fail(const copse_ctx *ctx, copse_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(last.sentence, sizeof last.sentence, format, arguments);
    va_end(arguments);
    last.ctx = ctx;
    return status;
}

void copse_error_keep(copse_kept_error *out)
{
    *out = last;
}

void copse_error_put_back(const copse_kept_error *kept)
{
    last = *kept;
}

void copse_error_forget(const copse_ctx *ctx)
{
    if (last.ctx == ctx) memset(&last, 0, sizeof last);
}

copse_status copse_fail_memory(const copse_ctx *ctx, uint64_t bytes, const char *what)
{
    if (bytes == SIZE_MAX)
        return copse_fail(ctx, COPSE_ERR_MEMORY, "out of memory: %s would need more bytes than can be counted", what);
    return copse_fail(ctx, COPSE_ERR_MEMORY, "out of memory: %s needs %llu bytes", what, (unsigned long long)bytes);
}

copse_status copse_fail_nan(const copse_ctx *ctx, const char *array, uint64_t at)
{
    return copse_fail(ctx, COPSE_ERR_NAN, "%s[%llu] is NaN, which has no place in an order", array,
                      (unsigned long long)at);
}

const char *copse_last_error(const copse_ctx *ctx)
{
    /* A call that was given no context or index could not say whose error it is. */
    return last.ctx == ctx || !last.ctx ? last.sentence : "";
}

const char *copse_status_name(copse_status status)
{
    static const char *const names[] = {"ok",       "argument",  "memory",      "nan",     "too small",
                                        "overflow", "type",      "unsupported", "io",      "format",
                                        "version",  "cancelled", "stale",       "corrupt", "device"};
    unsigned i = (unsigned)status;
    return i < sizeof names / sizeof *names ? names[i] : "unknown";
}

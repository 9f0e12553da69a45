/* Status codes and the sentence of the last error. */
#include "core/internal.h"
#include "core/structs.h"

#include <stdarg.h>
#include <string.h>

/* One sentence per thread, so that readers of one index on several threads do not write over each other. */
static _Thread_local copse_kept_error last = {.position = UINT64_MAX};

static copse_status fail(const copse_ctx *ctx, copse_status status, const char *format, va_list arguments)
{
    char sentence[sizeof last.sentence]; /* an argument may be the last sentence itself */
    vsnprintf(sentence, sizeof sentence, format, arguments);
    last = (copse_kept_error){.ctx = ctx, .status = status, .position = UINT64_MAX};
    memcpy(last.sentence, sentence, sizeof sentence);
    return status;
}

copse_status copse_fail(const copse_ctx *ctx, copse_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fail(ctx, status, format, arguments);
    va_end(arguments);
    return status;
}

copse_status copse_fail_argument(const copse_ctx *ctx, const char *argument, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fail(ctx, COPSE_ERR_ARGUMENT, format, arguments);
    va_end(arguments);
    snprintf(last.argument, sizeof last.argument, "%s", argument);
    return COPSE_ERR_ARGUMENT;
}

copse_status copse_fail_missing(const copse_ctx *ctx, const char *call, const char *argument)
{
    return copse_fail_argument(ctx, argument, "%s: %s is NULL", call, argument);
}

copse_status copse_fail_null(const copse_ctx *ctx, const char *call, const char *argument)
{
    return copse_fail_argument(ctx, argument, "%s: %s is NULL, but n is not 0", call, argument);
}

copse_status copse_error_at(copse_status status, const char *argument, uint64_t position, uint64_t needed)
{
    snprintf(last.argument, sizeof last.argument, "%s", argument);
    last.position = position;
    last.needed = needed;
    return status;
}

copse_status copse_fail_operation(const copse_ctx *ctx, uint64_t at, uint8_t operation)
{
    return copse_error_at(copse_fail(ctx, COPSE_ERR_ARGUMENT,
                                     "copse_apply: operations[%llu] is %u, which is none of COPSE_OP_*",
                                     (unsigned long long)at, operation),
                          "operations", at, 0);
}

copse_status copse_fail_no_value(const copse_ctx *ctx, uint64_t at)
{
    return copse_error_at(copse_fail(ctx, COPSE_ERR_ARGUMENT,
                                     "copse_apply: values is NULL, but operations[%llu] needs one",
                                     (unsigned long long)at),
                          "values", at, 0);
}

copse_status copse_last_error_info(const copse_ctx *ctx, copse_error_info *out_info)
{
    static const copse_wide_member wide[] = {COPSE_WIDE(copse_error_info, argument),
                                             COPSE_WIDE(copse_error_info, position),
                                             COPSE_WIDE(copse_error_info, needed),
                                             {0, 0}};
    if (!out_info) return copse_fail_argument(ctx, "out_info", "copse_last_error_info: out_info is NULL");
    copse_error_info info = {.position = UINT64_MAX};
    if (last.ctx == ctx || !last.ctx) {
        info.status = (int32_t)last.status;
        info.position = last.position;
        info.needed = last.needed;
        memcpy(info.argument, last.argument, sizeof info.argument);
    }
    return copse_struct_give(ctx, "copse_last_error_info", "out_info", out_info, &info, sizeof info, wide);
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
    if (last.ctx == ctx) last = (copse_kept_error){.position = UINT64_MAX};
}

copse_status copse_fail_memory(const copse_ctx *ctx, uint64_t bytes, const char *what)
{
    if (bytes == SIZE_MAX)
        return copse_fail(ctx, COPSE_ERR_MEMORY, "out of memory: %s would need more bytes than can be counted", what);
    return copse_fail(ctx, COPSE_ERR_MEMORY, "out of memory: %s needs %llu bytes", what, (unsigned long long)bytes);
}

copse_status copse_fail_room(const copse_ctx *ctx, const char *argument, uint64_t capacity, uint64_t needed)
{
    return copse_error_at(copse_fail(ctx, COPSE_ERR_TOO_SMALL, "capacity is %llu, but the ranges hold %llu entries",
                                     (unsigned long long)capacity, (unsigned long long)needed),
                          argument, UINT64_MAX, needed);
}

copse_status copse_fail_nan(const copse_ctx *ctx, const char *array, uint64_t at)
{
    return copse_error_at(copse_fail(ctx, COPSE_ERR_NAN, "%s[%llu] is NaN, which has no place in an order", array,
                                     (unsigned long long)at),
                          array, at, 0);
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

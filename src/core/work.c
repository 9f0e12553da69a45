/* What every long call asks of its context: how many threads to start, and whether the caller wants it to go on. */
#include "core/internal.h"

/* With fewer operations for each, one more thread costs more than it brings: to wake one takes some microseconds, in which it could
 * have made about 200 lookups. An update has several steps, between which its threads wait for each other. */
#define OPERATIONS_PER_THREAD 4096u
#define LOOKUPS_PER_THREAD    512u

copse_status copse_progress(const copse_ctx *ctx, const char *what, uint64_t done, uint64_t total)
{
    if (ctx->progress && ctx->progress(ctx->progress_user, what, done, total) != 0)
        return copse_fail(ctx, COPSE_ERR_CANCELLED, "cancelled by the progress callback while %s (%llu of %llu)", what,
                          (unsigned long long)done, (unsigned long long)total);
    return COPSE_OK;
}

static uint32_t threads_for(const copse_ctx *ctx, uint64_t useful)
{
    if (useful < 2) return 1;
    return useful < ctx->threads ? (uint32_t)useful : ctx->threads;
}

uint32_t copse_threads_for(const copse_ctx *ctx, uint64_t n)
{
    return threads_for(ctx, n / OPERATIONS_PER_THREAD);
}

uint32_t copse_threads_for_lookups(const copse_ctx *ctx, uint64_t n)
{
    return threads_for(ctx, n / LOOKUPS_PER_THREAD);
}

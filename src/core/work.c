/* What every long call asks of its context: how many threads to start, and whether the caller wants it to go on. */
#include "core/internal.h"

/* Below this many operations a second thread costs more than it brings (starting one takes some microseconds). */
#define OPERATIONS_PER_THREAD 4096u

copse_status copse_progress(const copse_ctx *ctx, const char *what, uint64_t done, uint64_t total)
{
    if (ctx->progress && ctx->progress(ctx->progress_user, what, done, total) != 0)
        return copse_fail(ctx, COPSE_ERR_CANCELLED, "cancelled by the progress callback while %s (%llu of %llu)", what,
                          (unsigned long long)done, (unsigned long long)total);
    return COPSE_OK;
}

uint32_t copse_threads_for(const copse_ctx *ctx, uint64_t n)
{
    uint64_t useful = n / OPERATIONS_PER_THREAD;
    if (useful < 2) return 1;
    return useful < ctx->threads ? (uint32_t)useful : ctx->threads;
}

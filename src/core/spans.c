/* Spans of numbers, in order and joined. */
#include "core/spans.h"
#include "core/batch.h"

/* What copse_batch_make gives for keys and values of 64 bits. */
typedef struct span {
    uint64_t low, high;
} span;

static uint64_t drop_empty(uint64_t *lows, uint64_t *highs, uint64_t n)
{
    uint64_t kept = 0;
    for (uint64_t i = 0; i < n; i++) {
        if (lows[i] > highs[i]) continue;
        lows[kept] = lows[i];
        highs[kept++] = highs[i];
    }
    return kept;
}

copse_status copse_spans_join(copse_ctx *ctx, uint64_t *lows, uint64_t *highs, uint64_t *n)
{
    /* The sort of batches takes spans for pairs of an index with such keys and values. */
    const copse_index like = {.ctx = ctx, .key_type = COPSE_U64, .value_type = COPSE_U64};
    copse_batch batch;
    *n = drop_empty(lows, highs, *n);
    if (*n < 2) return COPSE_OK;
    copse_status status = copse_batch_make(&like, lows, highs, *n, COPSE_EQUAL_ALL, true, "erasing", &batch);
    if (status != COPSE_OK) return status;
    const span *spans = batch.pairs;
    uint64_t last = 0;
    lows[0] = spans[0].low;
    highs[0] = spans[0].high;
    for (uint64_t i = 1; i < *n; i++) {
        if (highs[last] == UINT64_MAX || spans[i].low <= highs[last] + 1) {
            if (spans[i].high > highs[last]) highs[last] = spans[i].high;
        } else {
            lows[++last] = spans[i].low;
            highs[last] = spans[i].high;
        }
    }
    *n = last + 1;
    copse_batch_free(ctx, &batch);
    return COPSE_OK;
}

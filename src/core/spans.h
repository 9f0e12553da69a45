/* Spans of numbers: ranges of encoded keys, or of ranks. */
#pragma once

#include "core/internal.h"

/* Puts *n closed spans lows[i] .. highs[i] in order, leaves out those whose low is above their high, and joins those that overlap or
 * have nothing between them. What is left stands in front, and *n says how many. Errors: MEMORY, CANCELLED. */
copse_status copse_spans_join(copse_ctx *ctx, uint64_t *lows, uint64_t *highs, uint64_t *n);

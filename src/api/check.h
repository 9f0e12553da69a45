/* Checks of arguments that the calls of copse.h share. */
#pragma once

#include "trees/tree.h"

/* Checks what every call with an array of n keys is given: find.c. */
copse_status copse_check_keys(const copse_index *index, const char *call, const void *keys, const char *keys_name,
                              uint64_t n);
/* The same for ranges. */
copse_status copse_check_ranges(const copse_index *index, const char *call, const void *lows, const void *highs,
                                uint64_t n);
/* COPSE_OK, or a sentence that says why `index` cannot be changed by `call`: index.c. */
copse_status copse_check_change(const copse_index *index, const char *call);

/* A second index of the same kind with the same entries, in any context and at any placement: index.c. */
copse_status copse_index_copy(const copse_index *index, copse_ctx *ctx, copse_placement placement, copse_index **out);

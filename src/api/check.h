/* Checks of arguments that the calls of copse.h share. */
#pragma once

#include "trees/tree.h"

/* Checks what every call with an array of n keys is given: find.c. */
copse_status copse_check_keys(const copse_index *index, const char *call, const void *keys, const char *keys_name,
                              uint64_t n);
/* An index without values takes no array of them, and gives none. */
copse_status copse_check_values(const copse_index *index, const char *call, const void *values, const char *name);
/* The caller's options, or the defaults for NULL. */
copse_status copse_index_options_take(const copse_ctx *ctx, const char *call, const copse_index_options *options,
                                      copse_index_options *out);
/* COPSE_OK, or a sentence that says why `index` cannot be changed by `call`: index.c. */
copse_status copse_check_change(const copse_index *index, const char *call);

/* Lets an index go that copse_index_free has seen, or a cursor of it; the last one frees the memory. */
void copse_index_release(copse_index *index);

/* A second index of the same kind with the same entries, in any context and at any placement: index.c. */
copse_status copse_index_copy(const copse_index *index, copse_ctx *ctx, copse_placement placement, copse_index **out);

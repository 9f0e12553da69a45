/* Structs that callers fill in or have filled, whose first member says how large the caller's version of them is. */
#pragma once

#include "core/internal.h"

/*
 * Takes a caller's struct over into *known, which has the defaults, as far as both know its members:
 *
 *     caller's   | struct_size | a | b |                 an older caller: c keeps its default
 *     known      | struct_size | a | b | c |
 *     caller's   | struct_size | a | b | c | 0 0 0 |     a newer caller who asks for nothing new
 *
 * A newer caller who does ask for something gets an error, since it would be ignored. `what` is for the sentence: "options".
 */
copse_status copse_struct_take(const copse_ctx *ctx, const char *call, const char *what, const void *given, void *known,
                               uint32_t known_size);

/* The same for a struct that there is in one version only, so that a smaller one was never set. */
copse_status copse_struct_take_whole(const copse_ctx *ctx, const char *call, const char *what, const void *given,
                                     void *known, uint32_t known_size);

/* Fills a caller's output struct from *made, as far as it reaches; its struct_size stays. */
copse_status copse_struct_give(const copse_ctx *ctx, const char *call, const char *what, void *given, const void *made,
                               uint32_t made_size);

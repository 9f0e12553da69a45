/* Structs that callers fill in or have filled, whose first member says how large the caller's version of them is. */
#pragma once

#include "core/internal.h"

#include <stddef.h>

/* A member of more than 4 bytes: no size of the struct may end inside of it. Others are 4 bytes on multiples of 4. Lists end with {0, 0}. */
typedef struct copse_wide_member {
    uint16_t start, end;
} copse_wide_member;

#define COPSE_WIDE(type, member)                                                                                       \
    {                                                                                                                  \
        offsetof(type, member), offsetof(type, member) + sizeof((type *)0)->member                                     \
    }

/*
 * Takes a caller's struct over into *known, which has the defaults, as far as both know its members:
 *
 *     caller's   | struct_size | a | b |                 an older caller: c keeps its default
 *     known      | struct_size | a | b | c |
 *     caller's   | struct_size | a | b | c | 0 0 0 |     a newer caller who asks for nothing new
 *
 * A newer caller who does ask for something gets an error, since it would be ignored, and so does one whose struct ends inside of a
 * member. `what` is for the sentence: "options".
 */
copse_status copse_struct_take(const copse_ctx *ctx, const char *call, const char *what, const void *given, void *known,
                               uint32_t known_size, const copse_wide_member *wide);

/* The same for a struct that there is in one version only, so that a smaller one was never set. */
copse_status copse_struct_take_whole(const copse_ctx *ctx, const char *call, const char *what, const void *given,
                                     void *known, uint32_t known_size);

/* Two modules take index options. */
extern const copse_wide_member copse_index_options_wide[];

/* Fills a caller's output struct from *made, as far as it reaches; its struct_size stays. */
copse_status copse_struct_give(const copse_ctx *ctx, const char *call, const char *what, void *given, const void *made,
                               uint32_t made_size, const copse_wide_member *wide);

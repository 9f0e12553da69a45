/* As-of joins, between what their columns are (asof.c) and the walk along both sides (ticks.c). */
#pragma once

#include "query/join/join.h"

#include "core/batch_pair.h"

/* One side in the order of its keys. Where its rows come so, keys and groups are cells of columns; else keys are pairs of a key's code and
 * of the number of the group (upper half) and the row. */
typedef struct copse_ticks_side {
    const void *keys, *groups;
    uint64_t n;
} copse_ticks_side;

typedef struct copse_ticks {
    copse_ticks_side left, right;
    uint32_t key_width;   /* of a cell, or of a pair */
    uint32_t group_width; /* 0: there is one group */
    uint64_t sign;        /* what makes a cell of whole numbers its code */
    bool as_signed;       /* cells sort as int64_t do: signed numbers, and floats above zero */
    uint64_t base;        /* the cell of the smallest group */
    uint64_t groups;
    bool near; /* partners are no further than so: */
    uint64_t whole;
    double number;
    uint32_t float_width; /* 4 or 8 where keys are floats */
    uint64_t *
        rights; /* of each left row its partner or COPSE_NO_ROW; rows that are not among those of `left` stay as they are */
} copse_ticks;

copse_status copse_ticks_walk(const copse_ctx *ctx, const copse_ticks *ticks);

/*
 * Joins: pairs of row numbers of two tables.
 *
 *   left.on    7 3 9 3      probes, one batch       index of right.on   3 3 5 7
 *   rows       0 1 2 3      ------------------->    rows                1 4 0 2
 *   pairs      (0,2) (1,1) (1,4) (3,1) (3,4)
 *
 *   equal.c  inner, left, semi, anti by the index;   band.c  ranges of the index;   asof.c  both sides sorted, then walked together
 */
#pragma once

#include "query/run/run.h"

struct copse_pairs {
    copse_ctx *ctx;
    uint64_t n;
    bool has_right;
    copse_buffer left, right; /* uint64_t */
};

/* One join with its arguments resolved. */
typedef struct copse_joined {
    const copse_table *left, *right;
    copse_join_options options;
    uint32_t left_on, right_on;
    uint32_t left_by, right_by;      /* COPSE_NO_COLUMN: none */
    const copse_stored_index *index; /* on right_on; not for ASOF */
    copse_buffer left_rows;          /* those that live */
    copse_pairs *pairs;
} copse_joined;

copse_status copse_join_equal(copse_joined *join);
copse_status copse_join_band(copse_joined *join);
copse_status copse_join_asof(copse_joined *join);

/* Room for so many pairs in all. */
copse_status copse_pairs_reserve(copse_pairs *pairs, uint64_t n);
void copse_pairs_add(copse_pairs *pairs, uint64_t left, uint64_t right);
/* Pairs of each left row with rows that CSR arrays list. */
copse_status copse_join_list(copse_joined *join, const uint64_t *offsets, const uint32_t *rows);

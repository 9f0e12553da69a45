/*
 * Joins: pairs of row numbers of two tables.
 *
 *   left.on    7 3 9 3      probes, one batch       index of right.on   3 3 5 7
 *   rows       0 1 2 3      ------------------->    rows                1 4 0 2
 *   pairs      (0,2) (1,1) (1,4) (3,1) (3,4)
 *
 *   equal.c  inner, left, semi, anti by lookups, or by a walk along both sides where they are in order;   band.c  ranges of the index;
 *   asof.c  a walk along both sides in the order of their keys, with the last right row of each group
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
    copse_buffer left_rows;          /* those that live; none where all do */
    copse_pairs *pairs;
} copse_joined;

copse_status copse_join_equal(copse_joined *join);
/* The same without an index, where the rows of both sides come in the order of their keys. */
bool copse_join_can_walk(const copse_joined *join);
copse_status copse_join_walk(copse_joined *join);
copse_status copse_join_band(copse_joined *join);
copse_status copse_join_asof(copse_joined *join);

/* Room for so many pairs in all. */
copse_status copse_pairs_reserve(copse_pairs *pairs, uint64_t n);
void copse_pairs_add(copse_pairs *pairs, uint64_t left, uint64_t right);
/* Left row number i of those that live. */
static inline uint64_t copse_joined_left(const copse_joined *join, uint64_t i)
{
    return join->left_rows.data ? ((const uint32_t *)join->left_rows.data)[i] : i;
}
/* Pairs of n of these left rows with rows that CSR arrays list. */
copse_status copse_join_list(copse_joined *join, uint64_t first, uint64_t n, const uint64_t *offsets,
                             const uint32_t *rows);

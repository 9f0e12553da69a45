/*
 * Joins: pairs of row numbers of two tables.
 *
 *   left.on    7 3 9 3      probes, one batch       index of right.on   3 3 5 7
 *   rows       0 1 2 3      ------------------->    rows                1 4 0 2
 *   pairs      (0,2) (1,1) (1,4) (3,1) (3,4)
 *
 *   direct.c  inner, left, semi, anti where right keys lie close together: an array with a place for each key
 *   equal.c   the same by lookups in the index, or by a walk along both sides where they are in order
 *   band.c    ranges of the index
 *   asof.c    both sides in the order of their keys; ticks.c walks along them with the last right row of each group, on several threads
 *   expect.c  how many pairs there may be
 *   on a device: query/device/equal.c, spans.c, asof.c
 *
 * Who wants aggregates of the pairs and not the pairs gets no array of them: each block of pairs is added up while it is in the
 * cache (totals.c).
 */
#pragma once

#include "query/run/run.h"

struct copse_pairs {
    copse_ctx *ctx;
    uint64_t n;
    bool has_right;
    const char *how;          /* for people */
    copse_buffer left, right; /* uint64_t */
    bool left_is_number;      /* left row i is that of pair i: listed once somebody asked (fetched) */
    /* Pairs that a device made lie there, and here once somebody asked (fetched): query/device/pairs.c. */
    struct copse_device *device;
    uint64_t *device_left, *device_right;
    uint64_t device_left_bytes, device_right_bytes;
    bool fetched;
};

/* Left rows whose pairs are added up together. Sums of floats are those of such blocks, added in the order of the blocks, so that they do
 * not depend on the number of threads and the way of the join. */
#define COPSE_JOIN_BLOCK ((uint64_t)1 << 16)
/* Pairs that are looked at at once; their row numbers stay in the first level of the cache. */
#define COPSE_JOIN_STEP 1024u
/* Pairs that are kept before they are added up, where blocks do not come one by one. */
#define COPSE_JOIN_KEPT ((uint64_t)1 << 17)

typedef struct copse_join_total {
    copse_wide whole;
    double number;
    uint64_t count;
    uint32_t best; /* the row of an extreme, COPSE_ROW_NONE: none yet */
} copse_join_total;

typedef struct copse_join_aggregate_column {
    copse_aggregate what;
    bool right;
    bool all;                          /* no row of that side is missing in a pair */
    const copse_stored_column *column; /* NULL: pairs are counted */
} copse_join_aggregate_column;

/* What becomes of pairs that nobody wants to have. */
typedef struct copse_join_totals {
    const copse_join_aggregate_column *aggregates;
    uint32_t count;
    copse_join_total *sums;  /* of all blocks so far, one for each aggregate */
    copse_join_total *block; /* of the block that pairs came from last, */
    uint64_t block_number;   /* which is this one */
    copse_value *extremes;   /* that a device found: codes and no rows */
} copse_join_totals;

/* One join with its arguments resolved. */
typedef struct copse_joined {
    const copse_table *left, *right;
    copse_join_options options;
    uint32_t left_on, right_on;
    uint32_t left_by, right_by;      /* COPSE_NO_COLUMN: none */
    const copse_stored_index *index; /* on right_on; not for ASOF */
    copse_buffer left_rows;          /* those that live; none where all do */
    copse_pairs *pairs;
    copse_join_totals *totals; /* NULL: pairs are kept */
} copse_joined;

/* Checks the arguments of a join and makes *out of them, which copse_join_end frees. `call` is for sentences. */
copse_status copse_join_begin(const char *call, const copse_table *left, const copse_table *right,
                              const copse_join_options *options, copse_joined *out);
copse_status copse_join_run(copse_joined *join);
void copse_join_end(copse_joined *join);

/* *out_done: whether right keys lie close enough together. */
copse_status copse_join_direct(copse_joined *join, bool *out_done);
copse_status copse_join_equal(copse_joined *join);
/* The same without an index, where the rows of both sides come in the order of their keys. */
bool copse_join_can_walk(const copse_joined *join);
copse_status copse_join_walk(copse_joined *join);
copse_status copse_join_band(copse_joined *join);
copse_status copse_join_asof(copse_joined *join);

/* Whether rows come in the order of a column, those without a value left out. */
bool copse_column_ascends(const copse_table *table, uint32_t column);
/* Types whose cells, as unsigned numbers of their width, are as far apart as what they stand for. */
bool copse_column_is_whole(const copse_stored_column *column);
/* The smallest and largest code of the rows that live and have a value; false where there is none, or where they lie further
 * apart than `most`. */
bool copse_column_span(const copse_table *table, const copse_stored_column *column, uint64_t most, uint64_t *out_least,
                       uint64_t *out_most);

/* ---- totals.c ---- */

void copse_join_totals_clear(copse_join_total *totals, uint32_t count);
/* Adds n pairs to the totals of a block. */
void copse_join_totals_add(const copse_join_totals *totals, copse_join_total *block, const uint32_t *left,
                           const uint32_t *right, uint64_t n);
/* Adds the totals of a block to those of all. */
void copse_join_totals_merge(const copse_join_totals *totals, copse_join_total *sums, const copse_join_total *block);
/* Adds up the pairs that a join has kept so far, where it wants totals and has COPSE_JOIN_KEPT of them; `all`: however few. */
void copse_join_drain(copse_joined *join, bool all);

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

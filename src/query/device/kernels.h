/*
 * Kernels of queries: their arguments, and the table of them that each backend has. One thread looks at one row unless a comment
 * says otherwise. Rows are numbers of 32 bits in device memory; `rows` NULL stands for 0, 1, 2, ...
 */
#pragma once

#include "copse_query.h"

#include "device/device.h"
#include "query/run/float_sum.h"

#define COPSE_CARD_THREADS 128u
#define COPSE_CARD_WIDE    512u /* threads of a kernel that says so */
#define COPSE_CARD_GROUPS  2u   /* columns that a query groups by */

/* A column as kernels see it. */
typedef struct copse_card_column {
    const void *cells;
    const uint8_t *validity; /* bits; NULL: all rows have a value */
    uint32_t type;
    uint32_t width;
} copse_card_column;

/* ---- conditions ---- */

typedef struct copse_card_term {
    copse_card_column column;
    uint32_t kind;         /* copse_term_kind */
    uint32_t empty;        /* no cell fits    */
    uint64_t low, span;    /* RANGE: codes low .. low + span */
    uint64_t first, count; /* LIST, NOT: among the codes of all lists, ascending */
} copse_card_term;

/* flags[i]: row i lives and meets all terms of one of the conjunctions; of none where there are none. */
typedef struct copse_card_filter_arguments {
    const copse_card_term *terms;
    const uint32_t *ends; /* of each conjunction: one more than its last term */
    const uint64_t *codes;
    uint32_t conjunctions;
    const uint8_t *alive; /* bits; NULL: all rows live */
    uint64_t n;
    uint8_t *flags;
} copse_card_filter_arguments;

/* ---- orders and groups ---- */

typedef enum copse_card_key { COPSE_CARD_CODE, COPSE_CARD_VALID } copse_card_key;

/* keys[i]: the code of row i of the list, or whether it has a value, every bit of `flip` turned; values[i]: the row, or i. */
typedef struct copse_card_keys_arguments {
    copse_card_column column;
    const uint32_t *rows;
    uint64_t n;
    uint64_t flip;
    uint32_t what; /* copse_card_key */
    uint32_t positions;
    uint64_t *keys;
    uint32_t *values; /* NULL: not wanted; may be rows */
} copse_card_keys_arguments;

/* flags[i]: row i of the list differs from the one before it in one of the columns. */
typedef struct copse_card_heads_arguments {
    copse_card_column columns[COPSE_CARD_GROUPS];
    uint32_t count;
    const uint32_t *rows;
    uint64_t n;
    uint8_t *flags;
} copse_card_heads_arguments;

/* Where groups begin, as 64-bit numbers, with n behind the last. */
typedef struct copse_card_widen_arguments {
    const uint32_t *from;
    uint64_t count, n;
    uint64_t *to; /* count + 1 */
} copse_card_widen_arguments;

/* ---- aggregates ---- */

/* All that aggregates of a column need to know about some of its cells. */
typedef struct copse_card_partial {
    uint64_t low, high;      /* the sum of whole numbers, 128 bits */
    double total;            /* the sum of floats                  */
    uint64_t least, largest; /* codes */
    uint64_t count;          /* cells that have a value */
} copse_card_partial;

/* counts[g]: blocks of COPSE_SUM_BLOCK that items starts[g] .. starts[g + 1] make; counts[groups]: 0. A thread for each group. */
typedef struct copse_card_blocks_arguments {
    const uint64_t *starts;
    uint64_t groups;
    uint64_t *counts;
} copse_card_blocks_arguments;

/* One partial for each block, in the order of float_sum.h: of cells, or (in) of partials. A warp for each block. */
typedef struct copse_card_reduce_arguments {
    copse_card_column column;
    const uint32_t *rows;
    const copse_card_partial *in; /* NULL: of the cells of rows */
    const uint64_t *starts;       /* of groups, groups + 1     */
    const uint64_t *firsts;       /* their blocks, groups + 1   */
    uint64_t groups;
    uint64_t blocks;
    copse_card_partial *out;
} copse_card_reduce_arguments;

/* flags[i]: row i of the list has a value, whose code is codes[i]. */
typedef struct copse_card_valued_arguments {
    copse_card_column column;
    const uint32_t *rows;
    uint64_t n;
    uint8_t *flags;
    uint64_t *codes;
} copse_card_valued_arguments;

/* out[i]: the group of positions[i]; numbers[i]: i. */
typedef struct copse_card_owner_arguments {
    const uint64_t *starts;
    uint64_t groups;
    const uint32_t *positions;
    uint64_t n;
    uint64_t *out;
    uint32_t *numbers;
} copse_card_owner_arguments;

/* Different values of each group: codes in the order of groups and, in each, of codes. order[i]: where in `codes` the i-th is. */
typedef struct copse_card_distinct_arguments {
    const uint64_t *groups_of;
    const uint64_t *codes;
    const uint32_t *order;
    uint64_t n;
    uint64_t *counts;
} copse_card_distinct_arguments;

/* ---- cells that move ---- */

/* out[i]: the cell of row i of the list; out_validity: 32 of its bits at a time. UINT32_MAX is a row of NULLs. */
typedef struct copse_card_gather_arguments {
    copse_card_column column;
    const uint32_t *rows;
    uint64_t n;
    void *out;
    uint32_t *out_validity;
    uint32_t widen; /* 1: out is 32 bits wide where cells have 8 */
} copse_card_gather_arguments;

/* Cells and bits of changed rows, which are distinct. */
typedef struct copse_card_put_arguments {
    const uint32_t *rows;
    const void *from;
    const uint8_t *from_valid; /* a byte for each */
    uint64_t n;
    void *cells;
    uint32_t *validity;
    uint32_t width;
} copse_card_put_arguments;

/* flags[i]: row i lives and, where a column is given, has a value in it. */
typedef struct copse_card_used_arguments {
    copse_card_column columns[COPSE_CARD_GROUPS]; /* cells NULL: none */
    const uint8_t *alive;
    uint64_t n;
    uint8_t *flags;
} copse_card_used_arguments;

/* ---- joins ---- */

/* How far below and above a left key right ones may lie: whole numbers, or where keys are floats doubles. */
typedef struct copse_card_band {
    uint64_t below, above;
    double below_float, above_float;
} copse_card_band;

/* Row i of the left side: what it was looked up as, and whether it makes a pair. */
typedef struct copse_card_found_arguments {
    copse_card_column column;
    const uint8_t *alive;
    uint64_t n;
    uint32_t kind;
    uint8_t *found; /* in: its key is there; out: and it has one */
    uint8_t *flags;
} copse_card_found_arguments;

/* Pairs of left rows with one partner at most. left NULL: all of them. */
typedef struct copse_card_pair_arguments {
    const uint32_t *left;
    const uint32_t *partners; /* by left row */
    const uint8_t *found;     /* by left row; NULL: where partners is not UINT32_MAX */
    uint64_t n;
    uint64_t *out_left, *out_right; /* out_right NULL: not wanted */
} copse_card_pair_arguments;

/* Pairs of each left row: first those that have none whatever the index says, then (rows not NULL) those that were looked up. */
typedef struct copse_card_count_arguments {
    const uint32_t *rows; /* NULL: all rows of the table, none of which has a partner */
    const uint64_t *offsets;
    const uint8_t *alive;
    uint64_t n;
    uint32_t kind;
    uint64_t *counts; /* by left row */
} copse_card_count_arguments;

typedef struct copse_card_list_arguments {
    const uint32_t *rows; /* NULL: all rows of the table, for those without a partner */
    const uint64_t *offsets;
    const uint32_t *partners;
    const uint64_t *places; /* by left row, slots + 1 */
    uint64_t n;
    uint32_t kind;
    uint64_t *out_left, *out_right;
} copse_card_list_arguments;

/* *out becomes 1 where partners of a left row do not ascend. */
typedef struct copse_card_ascend_arguments {
    const uint64_t *left, *right;
    uint64_t n;
    uint32_t *out;
} copse_card_ascend_arguments;

/* As-of: right rows by group and, in each, by code. partners[i]: that of left row i, UINT32_MAX: none. */
typedef struct copse_card_asof_arguments {
    copse_card_column on, by; /* of the left side; by.cells NULL: one group */
    const uint8_t *alive;
    uint64_t n;
    const uint64_t *group_codes; /* of each group; NULL: one group */
    const uint32_t *group_starts;
    uint64_t groups;
    const uint64_t *codes;
    const uint32_t *rows;
    uint64_t right;
    uint32_t counts;    /* the code of a left row is the number of right codes that are no larger: keys are texts */
    uint32_t limited;   /* there is a tolerance */
    uint64_t tolerance; /* of whole numbers     */
    double distance;    /* of floats            */
    uint32_t *partners;
} copse_card_asof_arguments;

/* The right rows that are near enough to each left row are neighbours in the order of their codes. begins[i]: the first of left row i, UINT64_MAX:
 * none; counts[i]: the pairs that it makes. */
typedef struct copse_card_span_arguments {
    copse_card_column on; /* of the left side */
    const uint8_t *alive;
    uint64_t n;
    const uint64_t *codes; /* of the right side, ascending */
    uint64_t right;
    uint32_t kind;
    copse_card_band band;
    uint64_t *begins, *counts;
} copse_card_span_arguments;

/* Pairs of spans: those of left row i are places[i] .. places[i + 1], with rows[begins[i]] and the next. A thread for each pair. */
typedef struct copse_card_spread_arguments {
    const uint64_t *places, *begins;
    uint64_t left;
    const uint32_t *rows;
    uint64_t n;
    uint64_t *out_left, *out_right;
} copse_card_spread_arguments;

/* Pairs of a join as kernels see them: arrays, or (left NULL) spans. */
typedef struct copse_card_pair_list {
    const uint64_t *left, *right;
    const uint64_t *places, *begins; /* as copse_card_spread_arguments has them */
    const uint32_t *rows;
    uint64_t slots; /* left rows */
    uint64_t n;     /* pairs     */
} copse_card_pair_list;

/* A partial of a column for each block of pairs: of COPSE_SUM_BLOCK pairs, a warp for each, or where floats are summed of the pairs of
 * `left_rows` left rows, added one after the other, COPSE_CARD_WIDE threads for each. */
typedef struct copse_card_total_arguments {
    copse_card_column column;
    copse_card_pair_list pairs;
    uint32_t of_right; /* the column is one of the right side */
    uint64_t left_rows;
    uint64_t blocks;
    copse_card_partial *out;
} copse_card_total_arguments;

/* Rows of pairs as those of a list, COPSE_NO_ROW as UINT32_MAX. *out becomes 1 where one is not below `slots`. */
typedef struct copse_card_narrow_arguments {
    const uint64_t *from;
    uint64_t n, slots;
    uint32_t *to;
    uint32_t *out;
} copse_card_narrow_arguments;

/* to[i] = from[order[i]], of codes and of rows, where these are given. */
typedef struct copse_card_pick_arguments {
    const uint32_t *order;
    uint64_t n;
    const uint64_t *codes;
    uint64_t *to_codes;
    const uint32_t *rows;
    uint32_t *to_rows;
} copse_card_pick_arguments;

typedef struct copse_card_kernels {
    copse_kernel filter, keys, heads, widen, blocks, reduce, valued, owner, distinct, gather, put, used, found, pair,
        count, list, ascend, asof, span, spread, total, total_floats, narrow, pick;
} copse_card_kernels;

#ifdef __cplusplus
extern "C" {
#endif
extern const copse_card_kernels copse_card_kernels_emulated, copse_card_kernels_cuda;
#ifdef __cplusplus
}
#endif

/*
 * Running a plan: from terms to row numbers, from row numbers to their order and to aggregates.
 *
 *   rows.c       rows of each conjunction: those of the driving index, or all, through the filters; OR merges
 *   filter.c     one term over a list of rows
 *   sort.c       a list of rows in the order of columns
 *   group.c      a list of rows group by group, where there are few groups
 *   walk.c       rows in the order of an index, as many as are needed
 *   aggregate.c  one aggregate over a list of rows
 *   quick.c      aggregates that indexes answer
 */
#pragma once

#include "core/batch_pair.h"
#include "query/plan/plan.h"
#include "query/table/poll.h"

/* Row numbers; those in a list are distinct. */
typedef struct copse_row_list {
    copse_buffer memory;
    uint64_t n;
} copse_row_list;

static inline uint32_t *copse_row_list_rows(const copse_row_list *list)
{
    return list->memory.data;
}

/* Keeps those rows whose cells meet the term, in their order, and says how many. */
uint64_t copse_term_filter(const copse_table *table, const copse_term *term, uint32_t *rows, uint64_t n);
/* All terms but those of some bits. */
uint64_t copse_conjunction_filter(const copse_table *table, const copse_conjunction *conjunction, uint64_t skipped,
                                  uint32_t *rows, uint64_t n);

/* Ascending numbers. */
copse_status copse_row_list_sort(const copse_query *query, copse_row_list *list);
/* All rows that the query asks for, in ascending order; ordering and limits come later. */
copse_status copse_run_rows(copse_query *query, copse_row_list *out);
/* The same by the walk of the plan: at least those that the limit keeps, unless there are none left. */
copse_status copse_run_walk(copse_query *query, copse_row_list *out);

typedef struct copse_sort_key {
    uint32_t column;
    bool descending;
} copse_sort_key;

/* Stable. */
copse_status copse_sort_rows(const copse_table *table, const copse_sort_key *keys, uint32_t key_count, uint32_t *rows,
                             uint64_t n);

/* Pairs by their keys, which lie between low and high; `other` has room for as many. Long sorts are cut into many by the highest bits that differ, so
 * that the caller may say stop between them: false. */
bool copse_sort_codes(copse_polled *polled, copse_pair *pairs, copse_pair *other, uint64_t n, uint64_t low,
                      uint64_t high);

#define COPSE_FEW_GROUPS 1024u

/* Where each group of rows ends; none: nobody has counted them. */
typedef struct copse_group_ends {
    uint32_t count;
    uint64_t ends[COPSE_FEW_GROUPS];
} copse_group_ends;

/* Rows group by group, groups in the order of the columns (COPSE_MOST_GROUPS at most) and rows of one as they were: what copse_sort_rows does
 * with ascending keys, and faster where there are few groups. `ends` may be NULL. */
copse_status copse_group_rows(const copse_table *table, const copse_sort_key *keys, uint32_t key_count, uint32_t *rows,
                              uint64_t n, copse_group_ends *ends);

uint32_t copse_aggregate_type(const copse_table *table, copse_chosen_aggregate aggregate);
copse_status copse_aggregate_rows(const copse_query *query, copse_chosen_aggregate aggregate, const uint32_t *rows,
                                  uint64_t n, copse_value *out);
/* The sum of the cells of up to 2^31 rows; column of whole numbers. */
copse_wide copse_add_wholes(const copse_stored_column *column, const uint32_t *rows, uint64_t n);
copse_status copse_aggregate_quick(copse_query *query, copse_chosen_aggregate aggregate, copse_value *out);
/* For `explain`: the entries that indexes answered for. */
copse_status copse_quick_entries(copse_query *query, uint64_t *out);
/* The aggregate over each of many ranges of a column, as cells 0, 1, ... of the result column, by the index that copse_aggregate_index
 * says. `room` is for one count of each range, which sums share: filled where *counted is that index already. */
typedef struct copse_each {
    const copse_query *query;
    const copse_stored_index *counted; /* of which `counts` are */
    copse_buffer counts;
} copse_each;
copse_status copse_aggregate_each(copse_each *each, copse_chosen_aggregate aggregate, uint32_t column,
                                  const copse_ranges *ranges, copse_stored_column *out);
/* A whole sum as a value of the type of sums of the column. Errors: OVERFLOW, with all of its digits. */
copse_status copse_sum_value(const copse_ctx *ctx, const copse_stored_column *column, copse_wide sum, copse_value *out);

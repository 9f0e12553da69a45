/* Results: tables of rows and of groups, row numbers, and the text of `explain`. */
#pragma once

#include "query/run/run.h"

/* A table of these columns (NULL: all) of these rows (COPSE_ROW_NONE: NULLs). */
copse_status copse_output_rows(const copse_table *table, const uint32_t *columns, uint32_t column_count,
                               const uint32_t *rows, uint64_t n, copse_table **out);
/* A table with a row for each group of the rows, or one for all of them. */
copse_status copse_output_groups(copse_query *query, copse_row_list *rows, copse_table **out);
/* The same in steps: a table without rows, and one more row, of a group or of all rows. */
copse_status copse_output_begin(const copse_query *query, copse_table **out);
copse_status copse_output_add(copse_query *query, const uint32_t *rows, uint64_t n, copse_table *out);
/* The one row that a device has for a query without groups, as a table. */
copse_status copse_output_on_device(copse_query *query, copse_table **out);
/* The aggregates over the rows, without a table. */
copse_status copse_output_values(copse_query *query, const copse_row_list *rows, copse_value *values);
/* A column for an aggregate of a table, named "sum(x)", or with "right." as a prefix "sum(right.x)". */
copse_status copse_output_column(const copse_table *from, copse_chosen_aggregate aggregate, const char *prefix,
                                 copse_stored_column *out);
/* The part of n rows that limit and offset leave: *first and *count. */
void copse_output_cut(const copse_query *query, uint64_t n, uint64_t *first, uint64_t *count);
/* Orders of the query as columns of a table. */
copse_status copse_output_order(const copse_query *query, const copse_table *table, copse_sort_key *out);
/* What every call with many ranges asks of its arguments. */
copse_status copse_output_check_ranges(const copse_query *query, const char *call, const copse_ranges *ranges);
/* Writes query->explained, after a run that gave so many rows. */
copse_status copse_output_explain(copse_query *query, uint64_t rows);

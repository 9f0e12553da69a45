/* Rows of a table as a table, and as numbers. */
#include "query/output/output.h"

#include "query/device/placed.h"

copse_status copse_output_rows(const copse_table *table, const uint32_t *columns, uint32_t column_count,
                               const uint32_t *rows, uint64_t n, copse_table **out)
{
    copse_table *made = NULL;
    copse_status status = copse_table_begin(table->ctx, columns ? column_count : table->column_count, &made);
    if (status != COPSE_OK) return status;
    for (uint32_t i = 0; status == COPSE_OK && i < made->column_count; i++) {
        const copse_stored_column *from = &table->columns[columns ? columns[i] : i];
        status = copse_column_open(table->ctx, from->name, from->type, &made->columns[i]);
        if (status == COPSE_OK) status = copse_column_gather(table->ctx, &made->columns[i], 0, from, rows, n);
    }
    made->slots = made->live = n;
    if (status == COPSE_OK)
        *out = made;
    else
        copse_table_close(made);
    return status;
}

void copse_output_cut(const copse_query *query, uint64_t n, uint64_t *first, uint64_t *count)
{
    *first = query->offset < n ? query->offset : n;
    *count = n - *first < query->limit ? n - *first : query->limit;
}

copse_status copse_output_order(const copse_query *query, const copse_table *table, copse_sort_key *out)
{
    for (uint32_t i = 0; i < query->order_count; i++) {
        out[i].descending = query->orders[i].descending;
        copse_status status = copse_table_column(table, "copse_query_order_by", query->orders[i].name, &out[i].column);
        if (status != COPSE_OK) return status;
    }
    return COPSE_OK;
}

/* Rows in the order that the query wants, before the limit: the plan is made. */
static copse_status ordered_rows(copse_query *query, const copse_sort_key *keys, copse_row_list *out)
{
    copse_status status = query->way == COPSE_WAY_ORDER ? copse_run_walk(query, out) : copse_run_rows(query, out);
    if (status == COPSE_OK) status = copse_sort_rows(query->table, keys, query->order_count, out->memory.data, out->n);
    return status == COPSE_OK ? copse_table_sound(query->table) : status;
}

/* The numbers of the rows that the limit leaves, at *first of the list. */
static copse_status numbered_rows(copse_query *query, copse_row_list *out, uint64_t *first, uint64_t *count)
{
    copse_sort_key keys[COPSE_MOST_ORDERS];
    copse_status status = copse_output_order(query, query->table, keys);
    if (status == COPSE_OK) status = copse_query_plan(query);
    if (status != COPSE_OK) return status;
    if (query->on_device) {
        status = copse_card_run_row_numbers(query, out);
        *first = 0;
        *count = out->n;
        return status;
    }
    status = ordered_rows(query, keys, out);
    copse_output_cut(query, out->n, first, count);
    return status;
}

static copse_status run_rows(copse_query *query, copse_table **out)
{
    copse_sort_key keys[COPSE_MOST_ORDERS];
    copse_row_list rows = {0};
    uint64_t first = 0, count = 0;
    copse_status status = copse_output_order(query, query->table, keys);
    if (status == COPSE_OK) status = copse_query_plan(query);
    if (status != COPSE_OK) return status;
    if (query->on_device) return copse_card_run_rows(query, out);
    status = ordered_rows(query, keys, &rows);
    copse_output_cut(query, rows.n, &first, &count);
    if (status == COPSE_OK)
        status =
            copse_output_rows(query->table, query->selected_count ? query->selected.data : NULL, query->selected_count,
                              count > 0 ? copse_row_list_rows(&rows) + first : NULL, count, out);
    copse_buffer_free(query->ctx, &rows.memory);
    return status;
}

static copse_status check_run(const copse_query *query, const char *call)
{
    if (!query) return copse_fail_argument(NULL, "query", "%s: query is NULL", call);
    for (uint32_t i = 0; i < query->conjunction_count; i++)
        if (query->conjunction_count > 1 && copse_conjunctions(query)[i].count == 0)
            return copse_fail_argument(query->ctx, "query", "%s: there is no condition behind the OR", call);
    if (query->selected_count > 0 && (query->aggregate_count > 0 || query->group_count > 0))
        return copse_fail_argument(query->ctx, "query",
                                   "%s: a query with aggregates or groups has just these columns; select none", call);
    return COPSE_OK;
}

static copse_status run_groups(copse_query *query, copse_table **out)
{
    copse_row_list rows = {0};
    copse_status status = copse_query_plan(query);
    if (status == COPSE_OK && query->way == COPSE_WAY_ROWS && !query->on_device) status = copse_run_rows(query, &rows);
    if (status == COPSE_OK) status = copse_output_groups(query, &rows, out);
    copse_buffer_free(query->ctx, &rows.memory);
    return status;
}

copse_status copse_query_run(copse_query *query, copse_table **out_table)
{
    copse_status status = check_run(query, "copse_query_run");
    if (status != COPSE_OK) return status;
    if (!out_table) return copse_fail_argument(query->ctx, "out_table", "copse_query_run: out_table is NULL");
    *out_table = NULL;
    copse_table *made = NULL;
    status = query->aggregate_count > 0 || query->group_count > 0 ? run_groups(query, &made) : run_rows(query, &made);
    if (status == COPSE_OK) status = copse_table_sound(query->table);
    if (status == COPSE_OK)
        *out_table = made;
    else
        copse_table_free(made);
    return status;
}

static copse_status check_values(const copse_query *query, const copse_value *values, uint32_t count)
{
    const char *call = "copse_query_values";
    copse_status status = check_run(query, call);
    if (status != COPSE_OK) return status;
    if (query->aggregate_count == 0 || query->group_count > 0)
        return copse_fail_argument(query->ctx, "query", "%s: the query must have aggregates and no groups", call);
    if (!values) return copse_fail_null(query->ctx, call, "values");
    if (count != query->aggregate_count)
        return copse_fail_argument(query->ctx, "count", "%s: count is %u, but the query has %u aggregates", call, count,
                                   query->aggregate_count);
    return COPSE_OK;
}

static copse_status device_values(copse_query *query, copse_value *values)
{
    copse_table *made = NULL;
    copse_status status = copse_output_on_device(query, &made);
    if (status != COPSE_OK) return status;
    for (uint32_t i = 0; i < made->column_count; i++)
        values[i] = copse_cell_value(&made->columns[i], 0); /* never a text */
    copse_table_close(made);
    return status;
}

copse_status copse_query_values(copse_query *query, copse_value *values, uint32_t count)
{
    copse_row_list rows = {0};
    copse_status status = check_values(query, values, count);
    if (status != COPSE_OK) return status;
    status = copse_query_plan(query);
    if (status == COPSE_OK && query->on_device) return device_values(query, values);
    if (status == COPSE_OK && query->way == COPSE_WAY_ROWS) status = copse_run_rows(query, &rows);
    if (status == COPSE_OK) status = copse_output_values(query, &rows, values);
    copse_buffer_free(query->ctx, &rows.memory);
    return status == COPSE_OK ? copse_table_sound(query->table) : status;
}

copse_status copse_query_rows(copse_query *query, uint64_t *rows, uint64_t capacity, uint64_t *out_n)
{
    const char *call = "copse_query_rows";
    copse_row_list list = {0};
    uint64_t first = 0, count = 0;
    copse_status status = check_run(query, call);
    if (status != COPSE_OK) return status;
    if (!out_n) return copse_fail_argument(query->ctx, "out_n", "%s: out_n is NULL", call);
    if (!rows && capacity > 0) return copse_fail_null(query->ctx, call, "rows");
    if (query->aggregate_count > 0 || query->group_count > 0)
        return copse_fail_argument(query->ctx, "query", "%s: aggregates and groups have no row numbers", call);
    status = numbered_rows(query, &list, &first, &count);
    if (status == COPSE_OK) *out_n = count;
    if (status == COPSE_OK && count > capacity && rows)
        status =
            copse_error_at(copse_fail(query->ctx, COPSE_ERR_TOO_SMALL, "%s: capacity is %llu, but there are %llu rows",
                                      call, (unsigned long long)capacity, (unsigned long long)count),
                           "rows", UINT64_MAX, count);
    for (uint64_t i = 0; status == COPSE_OK && rows && i < count; i++) rows[i] = copse_row_list_rows(&list)[first + i];
    copse_buffer_free(query->ctx, &list.memory);
    return status;
}

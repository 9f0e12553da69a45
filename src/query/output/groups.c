/* Groups of rows and their aggregates as a table. */
#include "query/output/output.h"

static void aggregate_name(const copse_table *table, copse_chosen_aggregate aggregate, char *out, size_t size)
{
    static const char *const names[] = {"count(", "sum(", "min(", "max(", "avg(", "count(distinct "};
    if (aggregate.column == COPSE_NO_COLUMN)
        snprintf(out, size, "count");
    else
        snprintf(out, size, "%s%s)", names[aggregate.what], table->columns[aggregate.column].name);
}

static copse_status open_columns(const copse_query *query, copse_table *out)
{
    const copse_table *table = query->table;
    copse_status status = COPSE_OK;
    for (uint32_t i = 0; status == COPSE_OK && i < query->group_count; i++) {
        const copse_stored_column *from = &table->columns[query->groups[i]];
        status = copse_column_open(query->ctx, from->name, from->type, &out->columns[i]);
    }
    for (uint32_t i = 0; status == COPSE_OK && i < query->aggregate_count; i++) {
        copse_chosen_aggregate aggregate = copse_aggregates(query)[i];
        size_t size = 32 + (aggregate.column == COPSE_NO_COLUMN ? 0 : table->columns[aggregate.column].name_bytes);
        char *name = copse_memory_alloc(query->ctx, size);
        if (!name) return copse_no_memory(query->ctx, size, "the name of a column");
        aggregate_name(table, aggregate, name, size);
        status = copse_column_open(query->ctx, name, copse_aggregate_type(table, aggregate),
                                   &out->columns[query->group_count + i]);
        copse_memory_free(query->ctx, name, size);
    }
    return status;
}

copse_status copse_output_add(const copse_query *query, const uint32_t *rows, uint64_t n, copse_table *out)
{
    copse_status status = COPSE_OK;
    for (uint32_t i = 0; status == COPSE_OK && i < query->group_count; i++)
        status = copse_column_push(query->ctx, &out->columns[i], out->slots,
                                   copse_cell_value(&query->table->columns[query->groups[i]], rows[0]));
    for (uint32_t i = 0; status == COPSE_OK && i < query->aggregate_count; i++) {
        copse_value value = copse_value_null();
        copse_chosen_aggregate aggregate = copse_aggregates(query)[i];
        status = query->way == COPSE_WAY_INDEX ? copse_aggregate_quick(query, aggregate, &value)
                                               : copse_aggregate_rows(query, aggregate, rows, n, &value);
        if (status == COPSE_OK)
            status = copse_column_push(query->ctx, &out->columns[query->group_count + i], out->slots, value);
    }
    out->slots++;
    out->live++;
    return status;
}

static bool same_group(const copse_query *query, uint32_t a, uint32_t b)
{
    for (uint32_t i = 0; i < query->group_count; i++) {
        const copse_stored_column *column = &query->table->columns[query->groups[i]];
        if (copse_cell_compare(column, a, column, b) != 0) return false;
    }
    return true;
}

static copse_status add_groups(const copse_query *query, copse_row_list *list, copse_table *out)
{
    copse_sort_key keys[COPSE_MOST_GROUPS];
    uint32_t *rows = copse_row_list_rows(list);
    for (uint32_t i = 0; i < query->group_count; i++) keys[i] = (copse_sort_key){query->groups[i], false};
    copse_status status = copse_sort_rows(query->table, keys, query->group_count, rows, list->n);
    for (uint64_t first = 0, end = 0; status == COPSE_OK && first < list->n; first = end) {
        for (end = first + 1; end < list->n && same_group(query, rows[first], rows[end]);) end++;
        status = copse_output_add(query, rows + first, end - first, out);
    }
    return status;
}

/* Order and limit of the groups. */
static copse_status arrange(const copse_query *query, copse_table **table)
{
    copse_sort_key keys[COPSE_MOST_ORDERS];
    copse_buffer memory = {0};
    copse_table *arranged = NULL;
    uint64_t first = 0, count = 0;
    copse_status status = copse_output_order(query, *table, keys);
    copse_output_cut(query, (*table)->slots, &first, &count);
    if (status != COPSE_OK || (query->order_count == 0 && count == (*table)->slots)) return status;
    status = copse_buffer_reserve(query->ctx, &memory, (*table)->slots + 1, sizeof(uint32_t), "the order of groups");
    if (status != COPSE_OK) return status;
    uint32_t *rows = memory.data;
    copse_table_live_rows(*table, rows);
    status = copse_sort_rows(*table, keys, query->order_count, rows, (*table)->slots);
    if (status == COPSE_OK) status = copse_output_rows(*table, NULL, 0, rows + first, count, &arranged);
    copse_buffer_free(query->ctx, &memory);
    if (status != COPSE_OK) return status;
    copse_table_close(*table);
    *table = arranged;
    return COPSE_OK;
}

copse_status copse_output_begin(const copse_query *query, copse_table **out)
{
    copse_table *made = NULL;
    copse_status status = copse_table_begin(query->ctx, query->group_count + query->aggregate_count, &made);
    if (status != COPSE_OK) return status;
    status = open_columns(query, made);
    if (status == COPSE_OK)
        *out = made;
    else
        copse_table_close(made);
    return status;
}

copse_status copse_output_groups(copse_query *query, copse_row_list *rows, copse_table **out)
{
    copse_table *made = NULL;
    copse_status status = copse_output_begin(query, &made);
    if (status != COPSE_OK) return status;
    status = query->group_count > 0 ? add_groups(query, rows, made)
                                    : copse_output_add(query, copse_row_list_rows(rows), rows->n, made);
    if (status == COPSE_OK) status = arrange(query, &made);
    if (status == COPSE_OK)
        *out = made;
    else
        copse_table_close(made);
    return status;
}

/* Groups of rows and their aggregates as a table. */
#include "query/output/output.h"

#include "query/device/placed.h"

copse_status copse_output_column(const copse_table *from, copse_chosen_aggregate aggregate, const char *prefix,
                                 copse_stored_column *out)
{
    static const char *const names[] = {"count(", "sum(", "min(", "max(", "avg(", "count(distinct "};
    const bool rows = aggregate.column == COPSE_NO_COLUMN;
    size_t size = 40 + (rows ? 0 : from->columns[aggregate.column].name_bytes);
    char *name = copse_memory_alloc(from->ctx, size);
    if (!name) return copse_no_memory(from->ctx, size, "the name of a column");
    if (rows)
        snprintf(name, size, "count");
    else
        snprintf(name, size, "%s%s%s)", names[aggregate.what], prefix, from->columns[aggregate.column].name);
    copse_status status = copse_column_open(from->ctx, name, copse_aggregate_type(from, aggregate), out);
    copse_memory_free(from->ctx, name, size);
    return status;
}

static copse_status open_columns(const copse_query *query, copse_table *out)
{
    const copse_table *table = query->table;
    copse_status status = COPSE_OK;
    for (uint32_t i = 0; status == COPSE_OK && i < query->group_count; i++) {
        const copse_stored_column *from = &table->columns[query->groups[i]];
        status = copse_column_open(query->ctx, from->name, from->type, &out->columns[i]);
    }
    for (uint32_t i = 0; status == COPSE_OK && i < query->aggregate_count; i++)
        status = copse_output_column(table, copse_aggregates(query)[i], "", &out->columns[query->group_count + i]);
    return status;
}

/* By the plan of the query. */
static copse_status aggregate_any(copse_query *query, copse_chosen_aggregate aggregate, const uint32_t *rows,
                                  uint64_t n, copse_value *out)
{
    return query->way == COPSE_WAY_INDEX ? copse_aggregate_quick(query, aggregate, out)
                                         : copse_aggregate_rows(query, aggregate, rows, n, out);
}

copse_status copse_output_add(copse_query *query, const uint32_t *rows, uint64_t n, copse_table *out)
{
    copse_status status = COPSE_OK;
    for (uint32_t i = 0; status == COPSE_OK && i < query->group_count; i++)
        status = copse_column_push(query->ctx, &out->columns[i], out->slots,
                                   copse_cell_value(&query->table->columns[query->groups[i]], rows[0]));
    for (uint32_t i = 0; status == COPSE_OK && i < query->aggregate_count; i++) {
        copse_value value = copse_value_null();
        copse_chosen_aggregate aggregate = copse_aggregates(query)[i];
        status = aggregate_any(query, aggregate, rows, n, &value);
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

static copse_status add_groups(copse_query *query, copse_row_list *list, copse_table *out)
{
    copse_sort_key keys[COPSE_MOST_GROUPS];
    uint32_t *rows = copse_row_list_rows(list);
    for (uint32_t i = 0; i < query->group_count; i++) keys[i] = (copse_sort_key){query->groups[i], false};
    copse_group_ends ends;
    copse_status status = copse_group_rows(query->table, keys, query->group_count, rows, list->n, &ends);
    for (uint32_t i = 0; status == COPSE_OK && i < ends.count; i++) {
        const uint64_t first = i > 0 ? ends.ends[i - 1] : 0;
        status = copse_output_add(query, rows + first, ends.ends[i] - first, out);
    }
    if (ends.count > 0) return status;
    for (uint64_t first = 0, end = 1; status == COPSE_OK && end <= list->n; end++) {
        status = copse_poll(query->ctx, "adding up groups", end, list->n);
        if (status != COPSE_OK || (end < list->n && same_group(query, rows[first], rows[end]))) continue;
        status = copse_output_add(query, rows + first, end - first, out);
        first = end;
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
    status = query->on_device         ? copse_card_run_groups(query, made)
             : query->group_count > 0 ? add_groups(query, rows, made)
                                      : copse_output_add(query, copse_row_list_rows(rows), rows->n, made);
    if (status == COPSE_OK) status = arrange(query, &made);
    if (status == COPSE_OK)
        *out = made;
    else
        copse_table_close(made);
    return status;
}

copse_status copse_output_values(copse_query *query, const copse_row_list *rows, copse_value *values)
{
    copse_status status = COPSE_OK;
    for (uint32_t i = 0; status == COPSE_OK && i < query->aggregate_count; i++)
        status = aggregate_any(query, copse_aggregates(query)[i], copse_row_list_rows(rows), rows->n, &values[i]);
    return status;
}

copse_status copse_output_on_device(copse_query *query, copse_table **out)
{
    copse_table *made = NULL;
    copse_status status = copse_output_begin(query, &made);
    if (status == COPSE_OK) status = copse_card_run_groups(query, made);
    if (status == COPSE_OK)
        *out = made;
    else if (made)
        copse_table_close(made);
    return status;
}

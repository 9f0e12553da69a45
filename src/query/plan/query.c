/* The builder: what comes out, in which order, how much of it. Conditions are in where.c. */
#include "query/plan/plan.h"

copse_status copse_query_create(const copse_table *table, copse_query **out_query)
{
    const char *call = "copse_query_create";
    if (copse_table_check(table, call) != COPSE_OK) return COPSE_ERR_ARGUMENT;
    if (!out_query) return copse_fail_argument(table->ctx, "out_query", "%s: out_query is NULL", call);
    *out_query = NULL;
    copse_query *query = copse_memory_alloc(table->ctx, sizeof *query);
    if (!query) return copse_no_memory(table->ctx, sizeof *query, "a query");
    *query = (copse_query){.table = table, .ctx = table->ctx, .limit = UINT64_MAX};
    copse_ctx_hold(query->ctx);
    *out_query = query;
    return COPSE_OK;
}

void copse_query_free(copse_query *query)
{
    if (!query) return;
    copse_ctx *ctx = query->ctx;
    for (uint32_t i = 0; i < query->conjunction_count; i++) copse_buffer_free(ctx, &copse_conjunctions(query)[i].terms);
    copse_buffer_free(ctx, &query->conjunctions);
    copse_buffer_free(ctx, &query->selected);
    copse_buffer_free(ctx, &query->aggregates);
    copse_buffer_free(ctx, &query->explained);
    copse_term_ranges_free(ctx, &query->quick.ranges);
    copse_buffer_free(ctx, &query->quick.results);
    copse_buffer_free(ctx, &query->quick.found);
    for (copse_arena_block *block = query->arena; block;) {
        copse_arena_block *next = block->next;
        copse_memory_free(ctx, block, block->bytes);
        block = next;
    }
    copse_memory_free(ctx, query, sizeof *query);
    copse_ctx_release(ctx);
}

void *copse_query_memory(copse_query *query, size_t bytes)
{
    if (bytes > SIZE_MAX / 2) bytes = SIZE_MAX - sizeof(copse_arena_block);
    copse_arena_block *block = copse_memory_alloc(query->ctx, bytes + sizeof *block);
    if (!block) {
        copse_no_memory(query->ctx, bytes, "a condition");
        return NULL;
    }
    *block = (copse_arena_block){query->arena, bytes + sizeof *block};
    query->arena = block;
    return block + 1;
}

static copse_status check(const copse_query *query, const char *call)
{
    return query ? COPSE_OK : copse_fail_argument(NULL, "query", "%s: query is NULL", call);
}

copse_status copse_query_select(copse_query *query, const char *column)
{
    uint32_t at = 0;
    if (check(query, "copse_query_select") != COPSE_OK) return COPSE_ERR_ARGUMENT;
    copse_status status = copse_table_column(query->table, "copse_query_select", column, &at);
    for (uint32_t i = 0; status == COPSE_OK && i < query->selected_count; i++)
        if (((const uint32_t *)query->selected.data)[i] == at)
            return copse_fail_argument(query->ctx, "column", "copse_query_select: \"%.40s\" was given before", column);
    if (status == COPSE_OK)
        status = copse_buffer_reserve(query->ctx, &query->selected, query->selected_count + 1u, sizeof at,
                                      "the columns of a query");
    if (status == COPSE_OK) ((uint32_t *)query->selected.data)[query->selected_count++] = at;
    return status;
}

copse_status copse_aggregate_check(const copse_table *table, const char *call, uint32_t what, uint32_t column)
{
    if (what > COPSE_AGGREGATE_COUNT_DISTINCT)
        return copse_fail_argument(table->ctx, "what", "%s: there is no aggregate %d", call, (int)what);
    if (column == COPSE_NO_COLUMN)
        return what == COPSE_AGGREGATE_COUNT
                   ? COPSE_OK
                   : copse_fail_argument(table->ctx, "column", "%s: column is NULL, which only a count may have", call);
    const copse_stored_column *stored = &table->columns[column];
    if ((what == COPSE_AGGREGATE_SUM || what == COPSE_AGGREGATE_AVG) && !copse_column_is_number(stored))
        return copse_fail(table->ctx, COPSE_ERR_TYPE, "column \"%.40s\" (%s) has no sum and no mean", stored->name,
                          copse_column_type_name(stored->type));
    return COPSE_OK;
}

copse_status copse_query_aggregate(copse_query *query, copse_aggregate what, const char *column)
{
    copse_chosen_aggregate chosen = {what, COPSE_NO_COLUMN};
    if (check(query, "copse_query_aggregate") != COPSE_OK) return COPSE_ERR_ARGUMENT;
    copse_status status =
        column ? copse_table_column(query->table, "copse_query_aggregate", column, &chosen.column) : COPSE_OK;
    if (status == COPSE_OK)
        status = copse_aggregate_check(query->table, "copse_query_aggregate", (uint32_t)what, chosen.column);
    for (uint32_t i = 0; status == COPSE_OK && i < query->aggregate_count; i++) {
        copse_chosen_aggregate other = copse_aggregates(query)[i];
        if (other.what == what && other.column == chosen.column)
            return copse_fail_argument(query->ctx, "what", "copse_query_aggregate: the same was asked for before");
    }
    if (status == COPSE_OK)
        status = copse_buffer_reserve(query->ctx, &query->aggregates, query->aggregate_count + 1u, sizeof chosen,
                                      "the aggregates of a query");
    if (status == COPSE_OK) copse_aggregates(query)[query->aggregate_count++] = chosen;
    return status;
}

copse_status copse_query_group_by(copse_query *query, const char *column)
{
    uint32_t at = 0;
    if (check(query, "copse_query_group_by") != COPSE_OK) return COPSE_ERR_ARGUMENT;
    copse_status status = copse_table_column(query->table, "copse_query_group_by", column, &at);
    if (status != COPSE_OK) return status;
    if (query->group_count == COPSE_MOST_GROUPS)
        return copse_fail(query->ctx, COPSE_ERR_UNSUPPORTED, "copse_query_group_by: a query groups by up to %u columns",
                          COPSE_MOST_GROUPS);
    if (query->group_count == 1 && query->groups[0] == at)
        return copse_fail_argument(query->ctx, "column", "copse_query_group_by: \"%.40s\" was given before", column);
    query->groups[query->group_count++] = at;
    return COPSE_OK;
}

/* A name of the result is looked up when that is known: aggregates may come later. */
copse_status copse_query_order_by(copse_query *query, const char *column, int descending)
{
    if (check(query, "copse_query_order_by") != COPSE_OK) return COPSE_ERR_ARGUMENT;
    if (!column) return copse_fail_argument(query->ctx, "column", "copse_query_order_by: column is NULL");
    if (query->order_count == COPSE_MOST_ORDERS)
        return copse_fail(query->ctx, COPSE_ERR_UNSUPPORTED, "copse_query_order_by: a query orders by up to %u columns",
                          COPSE_MOST_ORDERS);
    size_t bytes = strlen(column) + 1;
    char *name = copse_query_memory(query, bytes);
    if (!name) return COPSE_ERR_MEMORY;
    memcpy(name, column, bytes);
    query->orders[query->order_count++] = (copse_order){name, descending != 0};
    return COPSE_OK;
}

copse_status copse_query_limit(copse_query *query, uint64_t limit, uint64_t offset)
{
    if (check(query, "copse_query_limit") != COPSE_OK) return COPSE_ERR_ARGUMENT;
    query->limit = limit;
    query->offset = offset;
    return COPSE_OK;
}

/* Aggregates over many ranges straight from the indexes into the caller's arrays: where the indexes are on a card and the arrays, too,
 * nothing comes to the host. */
#include "query/output/output.h"

#define CALL "copse_query_ranges_into"

static copse_status unanswered(const copse_query *query, uint32_t aggregate, const char *column)
{
    return copse_fail(
        query->ctx, COPSE_ERR_UNSUPPORTED,
        CALL ": no index of column \"%.40s\" answers aggregate %u; copse_table_index makes one, with sums of the "
             "column that is aggregated",
        column, aggregate);
}

static copse_status answer(const copse_stored_index *index, copse_aggregate what, const copse_ranges *ranges, void *out)
{
    switch (what) {
    case COPSE_AGGREGATE_COUNT:
        return copse_count(index->tree, ranges, out);
    case COPSE_AGGREGATE_SUM:
        return copse_sum(index->tree, ranges, out);
    case COPSE_AGGREGATE_AVG:
        return copse_avg(index->tree, ranges, out);
    case COPSE_AGGREGATE_MIN:
        return copse_min(index->tree, ranges, out, NULL);
    default:
        return copse_max(index->tree, ranges, out, NULL);
    }
}

/* The index that answers, or NULL; values of bools are wider in an index. */
static const copse_stored_index *answering(const copse_query *query, copse_chosen_aggregate aggregate, uint32_t column)
{
    const copse_stored_index *index = copse_aggregate_index(query, aggregate, column);
    bool extreme = aggregate.what == COPSE_AGGREGATE_MIN || aggregate.what == COPSE_AGGREGATE_MAX;
    if (!index || !extreme) return index;
    return index->sums != COPSE_NO_COLUMN && query->table->columns[index->sums].type != COPSE_BOOL ? index : NULL;
}

copse_status copse_query_ranges_into(copse_query *query, const char *column, const copse_ranges *ranges,
                                     void *const *results)
{
    uint32_t at = 0;
    if (!query) return copse_fail_argument(NULL, "query", CALL ": query is NULL");
    if (!results) return copse_fail_null(query->ctx, CALL, "results");
    copse_status status = copse_output_check_ranges(query, CALL, ranges);
    if (status == COPSE_OK) status = copse_table_column(query->table, CALL, column, &at);
    if (status != COPSE_OK) return status;
    if (query->conjunction_count > 0)
        return copse_fail(query->ctx, COPSE_ERR_UNSUPPORTED, CALL ": the query has conditions of its own");
    for (uint32_t i = 0; i < query->aggregate_count; i++) {
        if (!results[i] && ranges->n > 0) return copse_fail_null(query->ctx, CALL, "results");
        if (query->table->columns[at].type == COPSE_BOOL || !answering(query, copse_aggregates(query)[i], at))
            return unanswered(query, i, column);
    }
    for (uint32_t i = 0; status == COPSE_OK && ranges->n > 0 && i < query->aggregate_count; i++) {
        copse_chosen_aggregate aggregate = copse_aggregates(query)[i];
        status = answer(answering(query, aggregate, at), aggregate.what, ranges, results[i]);
    }
    return status == COPSE_OK ? copse_table_sound(query->table) : status;
}

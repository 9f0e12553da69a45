/* A query for each of many ranges. */
#include "query/output/output.h"

#include "query/device/placed.h"

static bool indexes_answer(const copse_query *query, uint32_t column)
{
    if (query->conjunction_count > 0 || query->table->columns[column].type == COPSE_BOOL) return false;
    for (uint32_t i = 0; i < query->aggregate_count; i++)
        if (!copse_aggregate_index(query, copse_aggregates(query)[i], column)) return false;
    return true;
}

static copse_status run_batch(const copse_query *query, uint32_t column, const copse_ranges *ranges, copse_table *out)
{
    copse_each each = {.query = query};
    copse_status status = COPSE_OK;
    for (uint32_t i = 0; status == COPSE_OK && i < query->aggregate_count; i++)
        status = copse_aggregate_each(&each, copse_aggregates(query)[i], column, ranges, &out->columns[i]);
    copse_buffer_free(query->ctx, &each.counts);
    out->slots = out->live = ranges->n;
    return status;
}

/* ---- one after the other ---- */

static copse_status make_ends(const copse_query *query, uint32_t column, const copse_ranges *ranges, copse_table **out)
{
    copse_column ends[2];
    uint32_t count = 0;
    const uint32_t type = query->table->columns[column].type;
    if (ranges->lows) ends[count++] = (copse_column){"low", type, 0, ranges->lows, NULL};
    if (ranges->highs) ends[count++] = (copse_column){"high", type, 0, ranges->highs, NULL};
    return count > 0 ? copse_table_create(query->ctx, ends, count, ranges->n, out) : COPSE_OK;
}

static copse_status add_end(copse_query *query, const char *column, const copse_table *ends, uint32_t at, uint64_t row,
                            copse_comparison comparison)
{
    copse_value value = copse_value_null();
    copse_status status = copse_table_get(ends, row, at, &value);
    return status == COPSE_OK ? copse_query_where(query, column, comparison, value) : status;
}

/* The conditions of a query, put aside while it has others. */
static copse_status copy_conditions(const copse_query *query, copse_query *copy)
{
    for (uint32_t i = 0; i < query->conjunction_count; i++) {
        const copse_conjunction *from = &copse_conjunctions(query)[i];
        copse_conjunction to = {.count = from->count};
        copse_status status = copse_buffer_reserve(query->ctx, &copy->conjunctions, i + 1u, sizeof to, "conditions");
        if (status == COPSE_OK)
            status = copse_buffer_reserve(query->ctx, &to.terms, from->count, sizeof(copse_term), "conditions");
        if (status != COPSE_OK) return status;
        memcpy(to.terms.data, from->terms.data, from->count * sizeof(copse_term));
        copse_conjunctions(copy)[copy->conjunction_count++] = to;
    }
    return COPSE_OK;
}

static copse_status add_range(copse_query *query, const char *column, const copse_ranges *ranges,
                              const copse_table *ends, uint64_t i)
{
    copse_status status = COPSE_OK;
    if (!ranges->lows && !ranges->highs) return copse_query_where(query, column, COPSE_IS_NOT_NULL, copse_value_null());
    if (ranges->lows)
        status = add_end(query, column, ends, 0, i,
                         ranges->flags & COPSE_RANGE_LOW_OPEN ? COPSE_GREATER : COPSE_GREATER_OR_EQUAL);
    if (status == COPSE_OK && ranges->highs)
        status = add_end(query, column, ends, ranges->lows ? 1 : 0, i,
                         ranges->flags & COPSE_RANGE_HIGH_OPEN ? COPSE_LESS : COPSE_LESS_OR_EQUAL);
    return status;
}

/* Conditions are added to the last group: each takes its turn there. */
static void swap_with_last(copse_query *query, uint32_t group)
{
    if (query->conjunction_count == 0) return;
    copse_conjunction *groups = copse_conjunctions(query), turn = groups[group];
    groups[group] = groups[query->conjunction_count - 1];
    groups[query->conjunction_count - 1] = turn;
}

/* The one row that the device has for a query becomes the next one of the result. */
static copse_status add_from_device(copse_query *query, copse_table *out)
{
    copse_table *made = NULL;
    copse_status status = copse_output_on_device(query, &made);
    if (status != COPSE_OK) return status;
    for (uint32_t i = 0; status == COPSE_OK && i < out->column_count; i++)
        status = copse_column_gather(query->ctx, &out->columns[i], out->slots, &made->columns[i], NULL, 1);
    out->slots++;
    out->live++;
    copse_table_close(made);
    return status;
}

/* A query of its own, with the conditions of the other one and those of the range: AND binds them to each group of an OR. */
static copse_status run_one(const copse_query *query, const char *column, const copse_ranges *ranges,
                            const copse_table *ends, uint64_t i, copse_table *out)
{
    copse_query *one = NULL;
    copse_row_list rows = {0};
    copse_status status = copse_query_create(query->table, &one);
    if (status == COPSE_OK) status = copy_conditions(query, one);
    const uint32_t groups = status == COPSE_OK ? one->conjunction_count : 0;
    for (uint32_t g = 0; status == COPSE_OK && g < (groups ? groups : 1); g++) {
        swap_with_last(one, g);
        status = add_range(one, column, ranges, ends, i);
        swap_with_last(one, g);
    }
    /* Aggregates by the plan of the query that has the conditions. */
    if (status == COPSE_OK)
        status = copse_buffer_reserve(query->ctx, &one->aggregates, query->aggregate_count,
                                      sizeof(copse_chosen_aggregate), "the aggregates of a query");
    if (status == COPSE_OK) {
        memcpy(one->aggregates.data, query->aggregates.data, query->aggregate_count * sizeof(copse_chosen_aggregate));
        one->aggregate_count = query->aggregate_count;
        status = copse_query_plan(one);
    }
    if (status == COPSE_OK && one->on_device) {
        status = add_from_device(one, out);
    } else if (status == COPSE_OK) {
        if (one->way == COPSE_WAY_ROWS) status = copse_run_rows(one, &rows);
        if (status == COPSE_OK) status = copse_output_add(one, copse_row_list_rows(&rows), rows.n, out);
    }
    copse_buffer_free(query->ctx, &rows.memory);
    copse_query_free(one);
    return status;
}

static copse_status run_each(const copse_query *query, const char *column, uint32_t at, const copse_ranges *ranges,
                             copse_table *out)
{
    copse_table *ends = NULL;
    copse_status status = make_ends(query, at, ranges, &ends);
    for (uint64_t i = 0; status == COPSE_OK && i < ranges->n; i++) {
        status = copse_progress(query->ctx, "answering ranges", i, ranges->n);
        if (status == COPSE_OK) status = run_one(query, column, ranges, ends, i, out);
    }
    copse_table_free(ends);
    return status;
}

/* ---- the call ---- */

copse_status copse_output_check_ranges(const copse_query *query, const char *call, const copse_ranges *ranges)
{
    if (!ranges) return copse_fail_null(query->ctx, call, "ranges");
    if (ranges->flags & ~(COPSE_RANGE_LOW_OPEN | COPSE_RANGE_HIGH_OPEN))
        return copse_fail_argument(query->ctx, "ranges", "%s: ranges->flags has other bits than those of open ends",
                                   call);
    if (query->aggregate_count == 0 || query->group_count > 0 || query->order_count > 0 || query->selected_count > 0 ||
        query->limit != UINT64_MAX || query->offset > 0)
        return copse_fail_argument(query->ctx, "query",
                                   "%s: the query must have aggregates, and no groups, columns, order or limit", call);
    if (ranges->n > COPSE_MOST_ROWS)
        return copse_fail_argument(query->ctx, "ranges", "%s: more ranges than a table has rows", call);
    for (uint32_t i = 0; i < query->conjunction_count; i++)
        if (copse_conjunctions(query)[i].count == 0)
            return copse_fail_argument(query->ctx, "query", "%s: there is no condition behind the OR", call);
    return COPSE_OK;
}

copse_status copse_query_ranges(copse_query *query, const char *column, const copse_ranges *ranges,
                                copse_table **out_table)
{
    const char *call = "copse_query_ranges";
    copse_table *made = NULL;
    uint32_t at = 0;
    if (!query) return copse_fail_argument(NULL, "query", "%s: query is NULL", call);
    if (!out_table) return copse_fail_null(query->ctx, call, "out_table");
    *out_table = NULL;
    copse_status status = copse_output_check_ranges(query, call, ranges);
    if (status == COPSE_OK) status = copse_table_column(query->table, call, column, &at);
    if (status == COPSE_OK) status = copse_output_begin(query, &made);
    if (status == COPSE_OK && ranges->n > 0)
        status =
            indexes_answer(query, at) ? run_batch(query, at, ranges, made) : run_each(query, column, at, ranges, made);
    if (status == COPSE_OK) status = copse_table_sound(query->table);
    if (status == COPSE_OK)
        *out_table = made;
    else
        copse_table_free(made);
    return status;
}

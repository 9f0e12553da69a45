/* The planner: the rules of plan.h. */
#include "query/plan/plan.h"

#include "query/device/placed.h"

/* A scan reads cells one after the other, an index makes it jump: it has to save this much. */
#define SCAN_IS_CHEAPER 4u
/* What is thought of conditions that no index can count: one row in so many meets them. */
#define UNCOUNTED_SHARE 10u

/* ---- rule 3: which index drives ---- */

static copse_status count_ranges(const copse_ctx *ctx, const copse_stored_index *index, const copse_ranges *ranges,
                                 uint64_t *out)
{
    uint64_t one = 0;
    copse_buffer counts = {0};
    *out = 0;
    if (ranges->n == 1) {
        copse_status status = copse_count(index->tree, ranges, &one);
        *out = one;
        return status;
    }
    copse_status status = copse_buffer_reserve(ctx, &counts, ranges->n, sizeof(uint64_t), "the counts of a condition");
    if (status == COPSE_OK) status = copse_count(index->tree, ranges, counts.data);
    for (uint64_t i = 0; status == COPSE_OK && i < ranges->n; i++) *out += ((const uint64_t *)counts.data)[i];
    copse_buffer_free(ctx, &counts);
    return status;
}

static copse_status count_term(const copse_query *query, const copse_term *term, const copse_stored_index *index,
                               uint64_t *out)
{
    copse_term_ranges ranges = {0};
    *out = 0;
    if (term->empty) return COPSE_OK;
    copse_status status = copse_term_ranges_make(query->table, term, &ranges);
    if (status == COPSE_OK) status = count_ranges(query->ctx, index, &ranges.ranges, out);
    copse_term_ranges_free(query->ctx, &ranges);
    return status;
}

static copse_status consider_terms(const copse_query *query, copse_conjunction *conjunction, uint64_t *best)
{
    for (uint32_t i = 0; i < conjunction->count && i < COPSE_MOST_DRIVING; i++) {
        const copse_term *term = &copse_terms(conjunction)[i];
        uint64_t count = 0;
        const copse_stored_index *index = copse_index_on(query->table, term->column, COPSE_NO_COLUMN);
        if (!copse_term_is_ranges(term) || !index) continue;
        copse_status status = count_term(query, term, index, &count);
        if (status != COPSE_OK) return status;
        if (count >= *best) continue;
        *best = count;
        conjunction->driver = index;
        conjunction->driving = UINT64_C(1) << i;
    }
    return COPSE_OK;
}

static copse_status consider_composites(const copse_query *query, copse_conjunction *conjunction, uint64_t *best)
{
    copse_status status = COPSE_OK;
    for (uint32_t i = 0; status == COPSE_OK && i < query->table->index_count; i++) {
        const copse_stored_index *index = &copse_indexes(query->table)[i];
        copse_term_ranges ranges = {0};
        uint64_t driving = 0, count = 0;
        if (!copse_index_is_composite(index) || index->stale) continue;
        status = copse_composite_ranges(query->table, conjunction, index, &ranges, &driving);
        if (status == COPSE_OK && driving) status = count_ranges(query->ctx, index, &ranges.ranges, &count);
        copse_term_ranges_free(query->ctx, &ranges);
        if (status != COPSE_OK || !driving || count >= *best) continue;
        *best = count;
        conjunction->driver = index;
        conjunction->driving = driving;
    }
    return status;
}

static copse_status plan_conjunction(const copse_query *query, copse_conjunction *conjunction)
{
    uint64_t live = query->table->live, best = UINT64_MAX;
    conjunction->driver = NULL;
    conjunction->driving = 0;
    conjunction->found = conjunction->looked_at = 0;
    copse_status status = consider_terms(query, conjunction, &best);
    if (status == COPSE_OK) status = consider_composites(query, conjunction, &best);
    if (status != COPSE_OK) return status;
    conjunction->counted = best != UINT64_MAX;
    conjunction->expected = best < live ? best : conjunction->count > 0 ? live / UNCOUNTED_SHARE : live;
    if (best >= live / SCAN_IS_CHEAPER && best > 0) conjunction->driver = NULL;
    if (!conjunction->driver) conjunction->driving = 0;
    return COPSE_OK;
}

copse_status copse_query_expected(copse_query *query, uint64_t *out)
{
    copse_status status = COPSE_OK;
    *out = query->conjunction_count > 0 ? 0 : query->table->live;
    for (uint32_t i = 0; status == COPSE_OK && i < query->conjunction_count; i++) {
        copse_conjunction *conjunction = &copse_conjunctions(query)[i];
        status = plan_conjunction(query, conjunction);
        *out += conjunction->expected;
        conjunction->driver = NULL;
        conjunction->driving = 0;
    }
    if (*out > query->table->live) *out = query->table->live;
    return status;
}

/* ---- rule 1: aggregates that indexes know ---- */

const copse_stored_index *copse_aggregate_index(const copse_query *query, copse_chosen_aggregate aggregate,
                                                uint32_t ranged)
{
    uint32_t column = aggregate.column, keys = ranged == COPSE_NO_COLUMN ? column : ranged;
    if (aggregate.what == COPSE_AGGREGATE_COUNT_DISTINCT || keys == COPSE_NO_COLUMN) return NULL;
    if (column == COPSE_NO_COLUMN) return copse_index_on(query->table, keys, COPSE_NO_COLUMN);
    bool sum = aggregate.what == COPSE_AGGREGATE_SUM || aggregate.what == COPSE_AGGREGATE_AVG;
    if (column == keys && !sum) return copse_index_on(query->table, keys, COPSE_NO_COLUMN);
    return copse_index_on(query->table, keys, column);
}

bool copse_index_same_entries(const copse_table *table, const copse_stored_index *a, const copse_stored_index *b)
{
    bool all_a = a->sums == COPSE_NO_COLUMN || table->columns[a->sums].nulls == 0;
    bool all_b = b->sums == COPSE_NO_COLUMN || table->columns[b->sums].nulls == 0;
    return a == b || (all_a && all_b);
}

static bool indexes_answer(const copse_query *query)
{
    uint32_t ranged = COPSE_NO_COLUMN;
    if (query->aggregate_count == 0 || query->group_count > 0 || query->conjunction_count > 1) return false;
    if (query->conjunction_count == 1) {
        const copse_conjunction *conjunction = &copse_conjunctions(query)[0];
        if (conjunction->count != 1 || !copse_term_is_ranges(&copse_terms(conjunction)[0])) return false;
        ranged = copse_terms(conjunction)[0].column;
    }
    for (uint32_t i = 0; i < query->aggregate_count; i++) {
        copse_chosen_aggregate aggregate = copse_aggregates(query)[i];
        bool all_rows = ranged == COPSE_NO_COLUMN && aggregate.column == COPSE_NO_COLUMN;
        if (!all_rows && !copse_aggregate_index(query, aggregate, ranged)) return false;
    }
    return true;
}

/* Which stay on the CPU, also of a table on a device. */
static bool indexes_have_text(const copse_query *query)
{
    const copse_stored_column *columns = query->table->columns;
    if (query->conjunction_count == 1)
        return copse_column_is_text(&columns[copse_terms(&copse_conjunctions(query)[0])[0].column]);
    for (uint32_t i = 0; i < query->aggregate_count; i++) {
        uint32_t column = copse_aggregates(query)[i].column;
        if (column != COPSE_NO_COLUMN && copse_column_is_text(&columns[column])) return true;
    }
    return false;
}

/* ---- rule 2: walking an index in order ---- */

static void consider_walk(copse_query *query)
{
    const copse_table *table = query->table;
    uint32_t column = 0;
    uint64_t live = table->live, expected = live, else_cost = live;
    if (query->aggregate_count > 0 || query->group_count > 0 || query->order_count == 0) return;
    if (query->limit == UINT64_MAX || query->conjunction_count > 1 || live == 0) return;
    if (copse_table_column(table, "copse_query_run", query->orders[0].name, &column) != COPSE_OK) return;
    const copse_stored_index *index = copse_index_on(table, column, COPSE_NO_COLUMN);
    if (!index) return;
    if (query->conjunction_count == 1) {
        const copse_conjunction *conjunction = &copse_conjunctions(query)[0];
        expected = conjunction->expected;
        if (conjunction->driver) else_cost = expected;
    }
    double needed = (double)query->limit + (double)query->offset;
    double walk = needed * (double)live / (double)(expected ? expected : 1);
    if (expected == 0 || walk * 2 >= (double)else_cost) return;
    query->way = COPSE_WAY_ORDER;
    query->walked = index;
    query->walk_expected = (uint64_t)walk;
    query->walk_looked_at = 0;
}

copse_status copse_query_plan(copse_query *query)
{
    query->way = indexes_answer(query) ? COPSE_WAY_INDEX : COPSE_WAY_ROWS;
    query->quick.made = false;
    query->quick.counted = NULL;
    query->on_device = false;
    query->why_host = query->way == COPSE_WAY_INDEX && indexes_have_text(query) ? "indexes of strings" : NULL;
    if (query->way == COPSE_WAY_ROWS && copse_card_runs(query)) return COPSE_OK; /* which looks at all rows */
    for (uint32_t i = 0; query->way == COPSE_WAY_ROWS && i < query->conjunction_count; i++) {
        copse_status status = plan_conjunction(query, &copse_conjunctions(query)[i]);
        if (status != COPSE_OK) return status;
    }
    if (query->way == COPSE_WAY_ROWS) consider_walk(query);
    return COPSE_OK;
}

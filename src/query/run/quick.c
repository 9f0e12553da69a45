/* Aggregates that indexes answer, however many rows there are. */
#include "query/run/run.h"

typedef struct quick {
    copse_query *query;
    copse_chosen_aggregate aggregate;
    const copse_stored_index *index;
    copse_ranges ranges;
    copse_quick *room;
} quick;

/* Aggregates of one query share the count. */
static copse_status entries(const quick *q, uint64_t *out)
{
    copse_quick *room = q->room;
    if (room->counted && copse_index_same_entries(q->query->table, room->counted, q->index)) {
        *out = room->count;
        return COPSE_OK;
    }
    copse_status status = copse_count(q->index->tree, &q->ranges, room->results.data);
    *out = 0;
    for (uint64_t i = 0; status == COPSE_OK && i < q->ranges.n; i++) *out += ((const uint64_t *)room->results.data)[i];
    room->counted = status == COPSE_OK ? q->index : NULL;
    room->count = *out;
    return status;
}

static copse_status sums(const quick *q, bool floats, copse_wide *out_whole, double *out_float)
{
    const double *totals = q->room->results.data;
    const copse_int128 *wide = q->room->results.data;
    copse_status status = floats ? copse_sum(q->index->tree, &q->ranges, q->room->results.data)
                                 : copse_sum128(q->index->tree, &q->ranges, q->room->results.data);
    for (uint64_t i = 0; status == COPSE_OK && i < q->ranges.n; i++) {
        if (floats)
            *out_float += totals[i];
        else
            *out_whole += (copse_wide)wide[i].high * ((copse_wide)1 << 64) + wide[i].low;
    }
    return status;
}

static copse_status quick_sum(const quick *q, copse_value *out)
{
    bool floats = copse_column_is_float(&q->query->table->columns[q->aggregate.column]);
    copse_wide whole = 0;
    double total = 0;
    uint64_t n = 0;
    *out = copse_value_null();
    copse_status status = entries(q, &n);
    if (status == COPSE_OK && n > 0) status = sums(q, floats, &whole, &total);
    if (status != COPSE_OK || n == 0) return status;
    if (q->aggregate.what == COPSE_AGGREGATE_AVG)
        *out = copse_value_f64((floats ? total : (double)whole) / (double)n);
    else if (floats)
        *out = copse_value_f64(total);
    else
        return copse_sum_value(q->query->ctx, &q->query->table->columns[q->aggregate.column], whole, out);
    return COPSE_OK;
}

/* The first or last entry of any of the ranges, whose row has its key. Ranges of a list ascend. */
static copse_status end_of_keys(const quick *q, bool largest, copse_value *out)
{
    uint32_t row = COPSE_ROW_NONE;
    copse_rows rows = COPSE_ROWS_INIT;
    copse_ranges ranges = q->ranges;
    rows.offsets = q->room->found.data;
    rows.values = q->room->results.data;
    rows.capacity = ranges.n;
    ranges.limit = 1;
    if (largest) ranges.flags |= COPSE_RANGE_DESCENDING;
    copse_status status = copse_range(q->index->tree, &ranges, &rows);
    if (status != COPSE_OK) return status;
    uint64_t n = rows.offsets[ranges.n];
    const copse_stored_column *column = &q->query->table->columns[q->aggregate.column];
    status = copse_rows_check(q->query->table, q->room->results.data, n);
    if (status != COPSE_OK) return status;
    if (n > 0) row = ((const uint32_t *)q->room->results.data)[largest ? n - 1 : 0];
    copse_cells_touch(column, &row, n > 0);
    *out = copse_cell_value(column, row);
    return COPSE_OK;
}

static copse_value value_at(const copse_stored_column *column, const void *values, uint64_t at)
{
    copse_stored_column as_column = *column; /* the results are cells of its type; bools are numbers there */
    if (column->width == 1) return copse_value_i64(((const uint32_t *)values)[at]);
    as_column.cells.data = (void *)(uintptr_t)values;
    as_column.nulls = 0;
    return copse_cell_value(&as_column, at);
}

static bool is_better(copse_value a, copse_value b, bool largest)
{
    if (b.type == 0) return true;
    if (a.type == COPSE_F64) return largest ? a.as.f64 > b.as.f64 : a.as.f64 < b.as.f64;
    if (a.type == COPSE_U64) return largest ? a.as.u64 > b.as.u64 : a.as.u64 < b.as.u64;
    return largest ? a.as.i64 > b.as.i64 : a.as.i64 < b.as.i64;
}

static copse_status quick_extreme(const quick *q, copse_value *out)
{
    const copse_stored_column *column = &q->query->table->columns[q->aggregate.column];
    bool largest = q->aggregate.what == COPSE_AGGREGATE_MAX;
    *out = copse_value_null();
    if (q->index->sums == COPSE_NO_COLUMN) return end_of_keys(q, largest, out);
    copse_status status = largest ? copse_max(q->index->tree, &q->ranges, q->room->results.data, q->room->found.data)
                                  : copse_min(q->index->tree, &q->ranges, q->room->results.data, q->room->found.data);
    for (uint64_t i = 0; status == COPSE_OK && i < q->ranges.n; i++) {
        if (!((const uint8_t *)q->room->found.data)[i]) continue;
        copse_value value = value_at(column, q->room->results.data, i);
        if (is_better(value, *out, largest)) *out = value;
    }
    return status;
}

static copse_status ask(const quick *q, copse_value *out)
{
    uint64_t n = 0;
    if (q->aggregate.what == COPSE_AGGREGATE_MIN || q->aggregate.what == COPSE_AGGREGATE_MAX)
        return quick_extreme(q, out);
    if (q->aggregate.what != COPSE_AGGREGATE_COUNT) return quick_sum(q, out);
    copse_status status = entries(q, &n);
    *out = copse_value_u64(n);
    return status;
}

static copse_value of_nothing(copse_chosen_aggregate aggregate)
{
    return aggregate.what == COPSE_AGGREGATE_COUNT ? copse_value_u64(0) : copse_value_null();
}

/* Where rows are counted and something is added up, one index does both, if it can: what a count has read is in the cache then. */
static const copse_stored_index *choose(const copse_query *query, copse_chosen_aggregate aggregate, uint32_t ranged)
{
    const copse_stored_index *index = copse_aggregate_index(query, aggregate, ranged);
    if (aggregate.what != COPSE_AGGREGATE_COUNT || aggregate.column != COPSE_NO_COLUMN) return index;
    for (uint32_t i = 0; i < query->aggregate_count; i++) {
        const copse_stored_index *other = copse_aggregate_index(query, copse_aggregates(query)[i], ranged);
        if (other && other->sums != COPSE_NO_COLUMN && copse_index_same_entries(query->table, index, other))
            return other;
    }
    return index;
}

/* The ranges, once for all aggregates of a run. */
static copse_status prepare(copse_query *query, const copse_term *term)
{
    const copse_ranges all = COPSE_BETWEEN(NULL, NULL, 1);
    copse_quick *room = &query->quick;
    copse_status status = COPSE_OK;
    if (room->made) return COPSE_OK;
    room->ranges.ranges = all;
    if (term) status = copse_term_ranges_make(query->table, term, &room->ranges);
    uint64_t n = room->ranges.ranges.n + 1;
    if (status == COPSE_OK)
        status = copse_buffer_reserve(query->ctx, &room->results, n, sizeof(copse_int128), "an aggregate");
    if (status == COPSE_OK)
        status = copse_buffer_reserve(query->ctx, &room->found, n, sizeof(uint64_t), "an aggregate");
    room->made = status == COPSE_OK;
    return status;
}

copse_status copse_aggregate_quick(copse_query *query, copse_chosen_aggregate aggregate, copse_value *out)
{
    const copse_term *term = query->conjunction_count > 0 ? &copse_terms(&copse_conjunctions(query)[0])[0] : NULL;
    if (!term && aggregate.column == COPSE_NO_COLUMN) {
        *out = copse_value_u64(query->table->live);
        return COPSE_OK;
    }
    *out = of_nothing(aggregate);
    if (term && term->empty) return COPSE_OK;
    copse_status status = prepare(query, term);
    if (status != COPSE_OK) return status;
    const quick q = {query, aggregate, choose(query, aggregate, term ? term->column : COPSE_NO_COLUMN),
                     query->quick.ranges.ranges, &query->quick};
    /* Without a condition each aggregate asks an index of its own. */
    if (!term) query->quick.counted = NULL;
    return ask(&q, out);
}

copse_status copse_quick_entries(copse_query *query, uint64_t *out)
{
    const copse_term *term = query->conjunction_count > 0 ? &copse_terms(&copse_conjunctions(query)[0])[0] : NULL;
    *out = term ? 0 : query->table->live;
    if (!term || term->empty) return COPSE_OK;
    copse_status status = prepare(query, term);
    const quick q = {query,
                     {COPSE_AGGREGATE_COUNT, term->column},
                     copse_index_on(query->table, term->column, COPSE_NO_COLUMN),
                     query->quick.ranges.ranges,
                     &query->quick};
    return status == COPSE_OK && q.index ? entries(&q, out) : status;
}

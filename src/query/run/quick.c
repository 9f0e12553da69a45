/* Aggregates that indexes answer, however many rows there are. */
#include "query/run/run.h"

typedef struct quick {
    const copse_query *query;
    copse_chosen_aggregate aggregate;
    const copse_stored_index *index;
    copse_ranges ranges;
    copse_buffer results; /* one for each range */
    copse_buffer found;
} quick;

static copse_status entries(quick *q, uint64_t *out)
{
    copse_status status = copse_count(q->index->tree, &q->ranges, q->results.data);
    *out = 0;
    for (uint64_t i = 0; status == COPSE_OK && i < q->ranges.n; i++) *out += ((const uint64_t *)q->results.data)[i];
    return status;
}

static copse_status sums(quick *q, bool floats, copse_wide *out_whole, double *out_float)
{
    const double *totals = q->results.data;
    const copse_int128 *wide = q->results.data;
    copse_status status = floats ? copse_sum(q->index->tree, &q->ranges, q->results.data)
                                 : copse_sum128(q->index->tree, &q->ranges, q->results.data);
    for (uint64_t i = 0; status == COPSE_OK && i < q->ranges.n; i++) {
        if (floats)
            *out_float += totals[i];
        else
            *out_whole += (copse_wide)wide[i].high * ((copse_wide)1 << 64) + wide[i].low;
    }
    return status;
}

static copse_status quick_sum(quick *q, copse_value *out)
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
        return copse_sum_value(q->query, q->aggregate.column, whole, out);
    return COPSE_OK;
}

/* The first or last entry of any of the ranges, whose row tells its key. Ranges of a list ascend. */
static copse_status end_of_keys(quick *q, bool largest, copse_value *out)
{
    uint32_t row = COPSE_ROW_NONE;
    copse_rows rows = COPSE_ROWS_INIT;
    copse_ranges ranges = q->ranges;
    rows.offsets = q->found.data;
    rows.values = q->results.data;
    rows.capacity = ranges.n;
    ranges.limit = 1;
    if (largest) ranges.flags |= COPSE_RANGE_DESCENDING;
    copse_status status = copse_range(q->index->tree, &ranges, &rows);
    if (status != COPSE_OK) return status;
    uint64_t n = rows.offsets[ranges.n];
    const copse_stored_column *column = &q->query->table->columns[q->aggregate.column];
    status = copse_rows_check(q->query->table, q->results.data, n);
    if (status != COPSE_OK) return status;
    if (n > 0) row = ((const uint32_t *)q->results.data)[largest ? n - 1 : 0];
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

static copse_status quick_extreme(quick *q, copse_value *out)
{
    const copse_stored_column *column = &q->query->table->columns[q->aggregate.column];
    bool largest = q->aggregate.what == COPSE_AGGREGATE_MAX;
    *out = copse_value_null();
    if (q->index->sums == COPSE_NO_COLUMN) return end_of_keys(q, largest, out);
    copse_status status = largest ? copse_max(q->index->tree, &q->ranges, q->results.data, q->found.data)
                                  : copse_min(q->index->tree, &q->ranges, q->results.data, q->found.data);
    for (uint64_t i = 0; status == COPSE_OK && i < q->ranges.n; i++) {
        if (!((const uint8_t *)q->found.data)[i]) continue;
        copse_value value = value_at(column, q->results.data, i);
        if (is_better(value, *out, largest)) *out = value;
    }
    return status;
}

static copse_status ask(quick *q, copse_value *out)
{
    uint64_t n = 0;
    copse_status status =
        copse_buffer_reserve(q->query->ctx, &q->results, q->ranges.n + 1, sizeof(copse_int128), "an aggregate");
    if (status == COPSE_OK)
        status = copse_buffer_reserve(q->query->ctx, &q->found, q->ranges.n + 1, sizeof(uint64_t), "an aggregate");
    if (status != COPSE_OK) return status;
    if (q->aggregate.what == COPSE_AGGREGATE_MIN || q->aggregate.what == COPSE_AGGREGATE_MAX)
        return quick_extreme(q, out);
    if (q->aggregate.what != COPSE_AGGREGATE_COUNT) return quick_sum(q, out);
    status = entries(q, &n);
    *out = copse_value_u64(n);
    return status;
}

static copse_value of_nothing(copse_chosen_aggregate aggregate)
{
    return aggregate.what == COPSE_AGGREGATE_COUNT ? copse_value_u64(0) : copse_value_null();
}

copse_status copse_aggregate_quick(const copse_query *query, copse_chosen_aggregate aggregate, copse_value *out)
{
    const copse_term *term = query->conjunction_count > 0 ? &copse_terms(&copse_conjunctions(query)[0])[0] : NULL;
    copse_ranges all = COPSE_BETWEEN(NULL, NULL, 1);
    copse_term_ranges ranges = {.ranges = all};
    copse_status status = COPSE_OK;
    if (!term && aggregate.column == COPSE_NO_COLUMN) {
        *out = copse_value_u64(query->table->live);
        return COPSE_OK;
    }
    *out = of_nothing(aggregate);
    if (term && term->empty) return COPSE_OK;
    if (term) status = copse_term_ranges_make(query->table, term, &ranges);
    quick q = {.query = query, .aggregate = aggregate};
    q.index = copse_aggregate_index(query, aggregate, term ? term->column : COPSE_NO_COLUMN);
    q.ranges = ranges.ranges;
    if (status == COPSE_OK) status = ask(&q, out);
    copse_buffer_free(query->ctx, &q.results);
    copse_buffer_free(query->ctx, &q.found);
    copse_term_ranges_free(query->ctx, &ranges);
    return status;
}

/* One aggregate over a list of rows. */
#include "query/run/float_sum.h"
#include "query/run/run.h"

uint32_t copse_aggregate_type(const copse_table *table, copse_chosen_aggregate aggregate)
{
    if (aggregate.what == COPSE_AGGREGATE_COUNT || aggregate.what == COPSE_AGGREGATE_COUNT_DISTINCT) return COPSE_U64;
    const copse_stored_column *column = &table->columns[aggregate.column];
    if (aggregate.what == COPSE_AGGREGATE_AVG) return COPSE_F64;
    if (aggregate.what != COPSE_AGGREGATE_SUM) return column->type;
    if (copse_column_is_float(column)) return COPSE_F64;
    return column->type == COPSE_U32 || column->type == COPSE_U64 ? COPSE_U64 : COPSE_I64;
}

/* ---- sums ---- */

static const char *digits_of(copse_wide number, char text[48])
{
    char *at = text + 47;
    bool negative = number < 0;
    *at = '\0';
    do {
        int digit = (int)(number % 10);
        *--at = (char)('0' + (digit < 0 ? -digit : digit));
        number /= 10;
    } while (number != 0);
    if (negative) *--at = '-';
    return at;
}

copse_status copse_sum_value(const copse_ctx *ctx, const copse_stored_column *column, copse_wide sum, copse_value *out)
{
    char text[48];
    bool is_unsigned = column->type == COPSE_U32 || column->type == COPSE_U64;
    if (is_unsigned ? sum > (copse_wide)UINT64_MAX : sum > INT64_MAX || sum < INT64_MIN)
        return copse_fail(ctx, COPSE_ERR_OVERFLOW, "the sum of column \"%.40s\" is %s, which does not fit %s",
                          column->name, digits_of(sum, text), is_unsigned ? "u64" : "i64");
    *out = is_unsigned ? copse_value_u64((uint64_t)sum) : copse_value_i64((int64_t)sum);
    return COPSE_OK;
}

static copse_status add_up(const copse_query *query, copse_chosen_aggregate aggregate, const uint32_t *rows, uint64_t n,
                           copse_value *out)
{
    const copse_stored_column *column = &query->table->columns[aggregate.column];
    bool floats = copse_column_is_float(column);
    copse_wide sum = 0;
    copse_float_sum parts = {0};
    uint64_t count = 0;
    for (uint64_t i = 0; i < n; i++) {
        copse_status status = copse_poll(query->ctx, "adding up", i, n);
        if (status != COPSE_OK) return status;
        const bool valid = copse_cell_valid(column, rows[i]);
        count += valid;
        if (floats)
            copse_float_sum_add(&parts, valid ? copse_cell_float(column, rows[i]) : 0);
        else if (valid)
            sum += copse_cell_whole(column, rows[i]);
    }
    const double total = floats ? copse_float_sum_end(&parts) : 0;
    *out = copse_value_null();
    if (count == 0) return COPSE_OK;
    if (aggregate.what == COPSE_AGGREGATE_AVG)
        *out = copse_value_f64((floats ? total : (double)sum) / (double)count);
    else if (floats)
        *out = copse_value_f64(total);
    else
        return copse_sum_value(query->ctx, column, sum, out);
    return COPSE_OK;
}

/* ---- the others ---- */

static uint64_t count_valid(const copse_stored_column *column, const uint32_t *rows, uint64_t n)
{
    uint64_t count = 0;
    if (column->nulls == 0) return n;
    for (uint64_t i = 0; i < n; i++) count += copse_bit(&column->validity, rows[i]);
    return count;
}

static copse_status find_extreme(const copse_query *query, copse_chosen_aggregate aggregate, const uint32_t *rows,
                                 uint64_t n, copse_value *out)
{
    const copse_stored_column *column = &query->table->columns[aggregate.column];
    const bool largest = aggregate.what == COPSE_AGGREGATE_MAX;
    uint32_t best = COPSE_ROW_NONE;
    for (uint64_t i = 0; i < n; i++) {
        copse_status status = copse_poll(query->ctx, "comparing cells", i, n);
        if (status != COPSE_OK) return status;
        if (!copse_cell_valid(column, rows[i])) continue;
        int order = best == COPSE_ROW_NONE ? 1 : copse_cell_compare(column, rows[i], column, best);
        if (best == COPSE_ROW_NONE || (largest ? order > 0 : order < 0)) best = rows[i];
    }
    *out = copse_cell_value(column, best);
    return COPSE_OK;
}

static copse_status count_distinct(const copse_query *query, uint32_t at, const uint32_t *rows, uint64_t n,
                                   copse_value *out)
{
    const copse_stored_column *column = &query->table->columns[at];
    const copse_sort_key key = {at, false};
    copse_buffer copy = {0};
    uint64_t count = 0;
    copse_status status = copse_buffer_reserve(query->ctx, &copy, n + 1, sizeof *rows, "counting distinct values");
    if (status != COPSE_OK) return status;
    uint32_t *sorted = copy.data;
    memcpy(sorted, rows, n * sizeof *rows);
    status = copse_sort_rows(query->table, &key, 1, sorted, n);
    for (uint64_t i = 0; status == COPSE_OK && i < n; i++) {
        status = copse_poll(query->ctx, "counting distinct values", i, n);
        count += copse_cell_valid(column, sorted[i]) &&
                 (i == 0 || copse_cell_compare(column, sorted[i - 1], column, sorted[i]) != 0);
    }
    copse_buffer_free(query->ctx, &copy);
    *out = copse_value_u64(count);
    return status;
}

copse_status copse_aggregate_rows(const copse_query *query, copse_chosen_aggregate aggregate, const uint32_t *rows,
                                  uint64_t n, copse_value *out)
{
    const copse_stored_column *columns = query->table->columns;
    if (aggregate.column != COPSE_NO_COLUMN) copse_cells_touch(&columns[aggregate.column], rows, n);
    switch (aggregate.what) {
    case COPSE_AGGREGATE_COUNT:
        *out =
            copse_value_u64(aggregate.column == COPSE_NO_COLUMN ? n : count_valid(&columns[aggregate.column], rows, n));
        return COPSE_OK;
    case COPSE_AGGREGATE_MIN:
    case COPSE_AGGREGATE_MAX:
        return find_extreme(query, aggregate, rows, n, out);
    case COPSE_AGGREGATE_COUNT_DISTINCT:
        return count_distinct(query, aggregate.column, rows, n, out);
    default:
        return add_up(query, aggregate, rows, n, out);
    }
}

/* Aggregates over the pairs of a join, as a table of one row. */
#include "query/join/join.h"
#include "query/output/output.h"

typedef struct joined {
    copse_joined join;
    copse_join_totals totals;
    copse_buffer aggregates; /* copse_join_aggregate_column */
    copse_buffer sums;       /* copse_join_total: of all blocks, then of one */
    copse_buffer columns;    /* uint32_t: those of the aggregates */
    copse_buffer extremes;   /* copse_value: those of a device */
} joined;

static const char *const call = "copse_join_aggregates";

static const copse_table *side_of(const joined *j, const copse_join_aggregate *aggregate)
{
    return aggregate->right ? j->join.right : j->join.left;
}

/* ---- arguments ---- */

static copse_status take_aggregate(joined *j, const copse_join_aggregate *given, uint32_t at)
{
    const copse_table *table = side_of(j, given);
    const uint32_t kind = j->join.options.kind;
    uint32_t column = COPSE_NO_COLUMN;
    if (given->right > 1) return copse_fail_argument(table->ctx, "aggregates", "%s: right is not 0 or 1", call);
    if (given->right && (kind == COPSE_JOIN_SEMI || kind == COPSE_JOIN_ANTI))
        return copse_fail_argument(table->ctx, "aggregates", "%s: semi and anti joins have no right side", call);
    if (given->what == COPSE_AGGREGATE_COUNT_DISTINCT)
        return copse_fail(table->ctx, COPSE_ERR_UNSUPPORTED,
                          "%s: different values are not counted while joining; copse_pairs_table makes a table for it",
                          call);
    copse_status status = given->column ? copse_table_column(table, call, given->column, &column) : COPSE_OK;
    if (status == COPSE_OK) status = copse_aggregate_check(table, call, given->what, column);
    if (status != COPSE_OK) return status;
    copse_join_aggregate_column *out = (copse_join_aggregate_column *)j->aggregates.data + at;
    for (uint32_t i = 0; i < at; i++) {
        const copse_join_aggregate_column *other = out - at + i;
        bool same_side = other->right == (given->right != 0) || column == COPSE_NO_COLUMN;
        if (other->what == (copse_aggregate)given->what && same_side &&
            ((const uint32_t *)j->columns.data)[i] == column)
            return copse_fail_argument(table->ctx, "aggregates", "%s: the same was asked for before", call);
    }
    *out = (copse_join_aggregate_column){(copse_aggregate)given->what, given->right != 0, false, NULL};
    out->all = !given->right || kind == COPSE_JOIN_INNER || kind == COPSE_JOIN_BAND;
    if (column != COPSE_NO_COLUMN) {
        out->column = &table->columns[column];
        copse_cells_touch(out->column, NULL, table->slots);
    }
    ((uint32_t *)j->columns.data)[at] = column;
    return COPSE_OK;
}

static copse_status take_all(joined *j, const copse_join_aggregate *given, uint32_t count)
{
    copse_ctx *ctx = j->join.left->ctx;
    if (count == 0 || !given) return copse_fail_argument(ctx, "aggregates", "%s: there are no aggregates", call);
    copse_status status =
        copse_buffer_reserve(ctx, &j->aggregates, count, sizeof(copse_join_aggregate_column), "a join");
    if (status == COPSE_OK) status = copse_buffer_reserve(ctx, &j->columns, count, sizeof(uint32_t), "a join");
    if (status == COPSE_OK)
        status = copse_buffer_reserve(ctx, &j->sums, 2 * (uint64_t)count, sizeof(copse_join_total), "a join");
    if (status == COPSE_OK) status = copse_buffer_reserve(ctx, &j->extremes, count, sizeof(copse_value), "a join");
    for (uint32_t i = 0; status == COPSE_OK && i < count; i++) status = take_aggregate(j, &given[i], i);
    if (status != COPSE_OK) return status;
    copse_join_total *sums = j->sums.data;
    copse_join_totals_clear(sums, 2 * count);
    j->totals = (copse_join_totals){j->aggregates.data, count, sums, sums + count, 0, j->extremes.data};
    for (uint32_t i = 0; i < count; i++) j->totals.extremes[i] = copse_value_null();
    j->join.totals = &j->totals;
    return COPSE_OK;
}

/* ---- the result ---- */

static copse_status value_of(const joined *j, uint32_t at, copse_value *out)
{
    const copse_join_aggregate_column *aggregate = &j->totals.aggregates[at];
    const copse_join_total *total = &j->totals.sums[at];
    *out = copse_value_null();
    if (aggregate->what == COPSE_AGGREGATE_COUNT) {
        *out = copse_value_u64(total->count);
    } else if (aggregate->what == COPSE_AGGREGATE_MIN || aggregate->what == COPSE_AGGREGATE_MAX) {
        *out =
            total->best == COPSE_ROW_NONE ? j->totals.extremes[at] : copse_cell_value(aggregate->column, total->best);
    } else if (total->count > 0) {
        const bool floats = copse_column_is_float(aggregate->column);
        if (aggregate->what == COPSE_AGGREGATE_SUM && !floats)
            return copse_sum_value(j->join.left->ctx, aggregate->column, total->whole, out);
        double sum = floats ? total->number : (double)total->whole;
        *out = copse_value_f64(aggregate->what == COPSE_AGGREGATE_AVG ? sum / (double)total->count : sum);
    }
    return COPSE_OK;
}

static bool left_has(const joined *j, const char *name)
{
    for (uint32_t i = 0; i < j->join.left->column_count; i++)
        if (strcmp(j->join.left->columns[i].name, name) == 0) return true;
    return false;
}

static copse_status make_table(const joined *j, const copse_join_aggregate *given, copse_table *out)
{
    copse_status status = COPSE_OK;
    for (uint32_t i = 0; status == COPSE_OK && i < j->totals.count; i++) {
        const copse_chosen_aggregate chosen = {(copse_aggregate)given[i].what, ((const uint32_t *)j->columns.data)[i]};
        const bool renamed = given[i].right && given[i].column && left_has(j, given[i].column);
        copse_value value;
        status = copse_output_column(side_of(j, &given[i]), chosen, renamed ? "right." : "", &out->columns[i]);
        if (status == COPSE_OK) status = value_of(j, i, &value);
        if (status == COPSE_OK) status = copse_column_push(out->ctx, &out->columns[i], 0, value);
    }
    out->slots = out->live = 1;
    return status;
}

copse_status copse_join_aggregates(const copse_table *left, const copse_table *right, const copse_join_options *options,
                                   const copse_join_aggregate *aggregates, uint32_t aggregate_count,
                                   copse_table **out_table)
{
    joined j = {.totals = {0}};
    copse_table *made = NULL;
    if (out_table) *out_table = NULL;
    copse_status status = copse_join_begin(call, left, right, options, &j.join);
    if (status == COPSE_OK && !out_table) status = copse_fail_null(left->ctx, call, "out_table");
    if (status == COPSE_OK) status = take_all(&j, aggregates, aggregate_count);
    if (status == COPSE_OK) status = copse_join_run(&j.join);
    if (status == COPSE_OK) status = copse_table_begin(left->ctx, aggregate_count, &made);
    if (status == COPSE_OK) status = make_table(&j, aggregates, made);
    if (status == COPSE_OK && out_table)
        *out_table = made;
    else if (made)
        copse_table_close(made);
    copse_join_end(&j.join);
    if (left) {
        copse_buffer_free(left->ctx, &j.aggregates);
        copse_buffer_free(left->ctx, &j.columns);
        copse_buffer_free(left->ctx, &j.sums);
        copse_buffer_free(left->ctx, &j.extremes);
    }
    return status;
}

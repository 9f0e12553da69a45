/* Aggregates over pairs, a block at a time. */
#include "query/join/join.h"

void copse_join_totals_clear(copse_join_total *totals, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) totals[i] = (copse_join_total){.best = COPSE_ROW_NONE};
}

/* ---- one column ---- */

static bool has_value(const copse_stored_column *column, uint32_t row)
{
    return row != COPSE_ROW_NONE && copse_cell_valid(column, row);
}

static uint64_t count_values(const copse_stored_column *column, const uint32_t *rows, uint64_t n)
{
    uint64_t count = 0;
    for (uint64_t i = 0; i < n; i++) count += has_value(column, rows[i]);
    return count;
}

static void add_up(const copse_stored_column *column, const uint32_t *rows, uint64_t n, bool all,
                   copse_join_total *total)
{
    const bool floats = copse_column_is_float(column);
    if (!floats && all && column->nulls == 0) {
        total->count += n;
        total->whole += copse_add_wholes(column, rows, n);
        return;
    }
    for (uint64_t i = 0; i < n; i++) {
        if (!has_value(column, rows[i])) continue;
        total->count++;
        if (floats)
            total->number +=
                copse_cell_float(column, rows[i]); /* one after the other: the order is part of the result */
        else
            total->whole += copse_cell_whole(column, rows[i]);
    }
}

static void note_extreme(const copse_join_aggregate_column *aggregate, uint32_t row, copse_join_total *total)
{
    const copse_stored_column *column = aggregate->column;
    if (!has_value(column, row)) return;
    if (total->best == COPSE_ROW_NONE) {
        total->best = row;
        return;
    }
    int order = copse_cell_compare(column, row, column, total->best);
    if (aggregate->what == COPSE_AGGREGATE_MAX ? order > 0 : order < 0) total->best = row;
}

void copse_join_totals_add(const copse_join_totals *totals, copse_join_total *block, const uint32_t *left,
                           const uint32_t *right, uint64_t n)
{
    for (uint32_t a = 0; a < totals->count; a++) {
        const copse_join_aggregate_column *aggregate = &totals->aggregates[a];
        const uint32_t *rows = aggregate->right ? right : left;
        switch (aggregate->what) {
        case COPSE_AGGREGATE_COUNT:
            block[a].count += aggregate->column ? count_values(aggregate->column, rows, n) : n;
            break;
        case COPSE_AGGREGATE_MIN:
        case COPSE_AGGREGATE_MAX:
            for (uint64_t i = 0; i < n; i++) note_extreme(aggregate, rows[i], &block[a]);
            break;
        default:
            add_up(aggregate->column, rows, n, aggregate->all, &block[a]);
        }
    }
}

void copse_join_totals_merge(const copse_join_totals *totals, copse_join_total *sums, const copse_join_total *block)
{
    for (uint32_t a = 0; a < totals->count; a++) {
        sums[a].whole += block[a].whole;
        sums[a].number += block[a].number;
        sums[a].count += block[a].count;
        if (block[a].best != COPSE_ROW_NONE) note_extreme(&totals->aggregates[a], block[a].best, &sums[a]);
    }
}

/* ---- pairs that a join kept ---- */

static void next_block(copse_join_totals *totals, uint64_t number)
{
    copse_join_totals_merge(totals, totals->sums, totals->block);
    copse_join_totals_clear(totals->block, totals->count);
    totals->block_number = number;
}

static uint64_t take_step(const copse_joined *join, uint64_t from, uint32_t *left, uint32_t *right)
{
    const uint64_t *lefts = join->pairs->left.data, *rights = join->pairs->right.data;
    uint64_t n = 0, block = lefts[from] / COPSE_JOIN_BLOCK;
    for (; n < COPSE_JOIN_STEP && from + n < join->pairs->n && lefts[from + n] / COPSE_JOIN_BLOCK == block; n++) {
        left[n] = (uint32_t)lefts[from + n];
        right[n] = !rights || rights[from + n] == COPSE_NO_ROW ? COPSE_ROW_NONE : (uint32_t)rights[from + n];
    }
    return n;
}

void copse_join_drain(copse_joined *join, bool all)
{
    copse_join_totals *totals = join->totals;
    uint32_t left[COPSE_JOIN_STEP], right[COPSE_JOIN_STEP];
    if (!totals || (!all && join->pairs->n < COPSE_JOIN_KEPT)) return;
    for (uint64_t from = 0, n = 0; from < join->pairs->n; from += n) {
        n = take_step(join, from, left, right);
        if (left[0] / COPSE_JOIN_BLOCK != totals->block_number) next_block(totals, left[0] / COPSE_JOIN_BLOCK);
        copse_join_totals_add(totals, totals->block, left, right, n);
    }
    join->pairs->n = 0;
    if (all) next_block(totals, 0);
}

/* Band joins: one range of the index for each left row. */
#include "query/device/placed.h"
#include "query/join/join.h"

#include <math.h>

typedef struct band {
    copse_wide below, above;
    double below_float, above_float;
} band;

/* ---- the ends ---- */

static copse_status take_distance(const copse_joined *join, const char *name, copse_value value, copse_wide *whole,
                                  double *number)
{
    const copse_stored_column *column = &join->left->columns[join->left_on];
    bool floats = copse_column_is_float(column);
    *whole = value.type == COPSE_U64 ? (copse_wide)value.as.u64 : value.as.i64;
    *number = value.type == COPSE_F64 ? value.as.f64 : (double)*whole;
    if (value.type == COPSE_F64 ? !floats : value.type != COPSE_I64 && value.type != COPSE_U64)
        return copse_fail(join->left->ctx, COPSE_ERR_TYPE, "copse_join: options->%s is no distance of keys of type %s",
                          name, copse_column_type_name(column->type));
    if (!(*number >= 0))
        return copse_fail_argument(join->left->ctx, "options", "copse_join: options->%s is negative", name);
    return COPSE_OK;
}

/* Infinity less infinity is taken as all the way. */
static double float_end(const copse_stored_column *column, uint64_t row, const band *b, bool low)
{
    double key = copse_cell_float(column, row), end = low ? key - b->below_float : key + b->above_float;
    if (isnan(end)) return low ? -(double)INFINITY : (double)INFINITY;
    return end;
}

/* The end of a range as a key; ends that the type cannot hold become its own. */
static void put_end(const copse_stored_column *column, uint64_t row, const band *b, bool low, void *out, uint64_t at)
{
    if (column->type == COPSE_F64) {
        ((double *)out)[at] = float_end(column, row, b, low);
        return;
    }
    if (column->type == COPSE_F32) {
        /* Inside the band as doubles have it. */
        double end = float_end(column, row, b, low);
        float nearest = (float)end;
        if (low && (double)nearest < end) nearest = nextafterf(nearest, INFINITY);
        if (!low && (double)nearest > end) nearest = nextafterf(nearest, -INFINITY);
        ((float *)out)[at] = nearest;
        return;
    }
    bool is_unsigned = column->type == COPSE_U32 || column->type == COPSE_U64;
    unsigned bits = column->width * 8u;
    copse_wide least = is_unsigned ? 0 : -((copse_wide)1 << (bits - 1));
    copse_wide most = is_unsigned ? ((copse_wide)1 << bits) - 1 : -least - 1;
    copse_wide key = copse_cell_whole(column, row), end = low ? key - b->below : key + b->above;
    end = end < least ? least : end > most ? most : end;
    if (column->width == 4)
        ((uint32_t *)out)[at] = (uint32_t)end;
    else
        ((uint64_t *)out)[at] = (uint64_t)end;
}

/* ---- rows ---- */

/* Left rows whose ranges are asked for at once. */
#define BATCH_ROWS ((uint64_t)1 << 17)

typedef struct ranged {
    copse_buffer lows, highs, found, offsets, rows, positions;
    uint64_t first, rows_here; /* left rows of the batch */
    uint64_t n;                /* those with a key */
} ranged;

static void ranged_free(const copse_ctx *ctx, ranged *r)
{
    copse_buffer_free(ctx, &r->lows);
    copse_buffer_free(ctx, &r->highs);
    copse_buffer_free(ctx, &r->found);
    copse_buffer_free(ctx, &r->offsets);
    copse_buffer_free(ctx, &r->rows);
    copse_buffer_free(ctx, &r->positions);
}

static copse_status make_ranges(const copse_joined *join, const band *b, ranged *r)
{
    const copse_ctx *ctx = join->left->ctx;
    const copse_stored_column *column = &join->left->columns[join->left_on];
    uint64_t n = r->rows_here;
    r->n = 0;
    copse_status status = copse_buffer_reserve(ctx, &r->lows, n + 1, column->width, "the ranges of a join");
    if (status == COPSE_OK) status = copse_buffer_reserve(ctx, &r->highs, n + 1, column->width, "the ranges of a join");
    if (status == COPSE_OK) status = copse_buffer_reserve(ctx, &r->found, n + 1, 8, "the ranges of a join");
    if (status == COPSE_OK) status = copse_buffer_reserve(ctx, &r->offsets, n + 1, 8, "the ranges of a join");
    if (status == COPSE_OK) status = copse_buffer_reserve(ctx, &r->positions, n + 1, 4, "the ranges of a join");
    for (uint64_t i = 0; status == COPSE_OK && i < n; i++) {
        uint64_t left = copse_joined_left(join, r->first + i);
        if (!copse_cell_valid(column, left)) continue;
        put_end(column, left, b, true, r->lows.data, r->n);
        put_end(column, left, b, false, r->highs.data, r->n);
        ((uint32_t *)r->positions.data)[r->n++] = (uint32_t)i;
    }
    return status;
}

static copse_status find_rows(const copse_joined *join, ranged *r)
{
    copse_ranges ranges = COPSE_BETWEEN(r->lows.data, r->highs.data, r->n);
    copse_rows rows = COPSE_ROWS_INIT;
    rows.offsets = r->found.data;
    rows.offsets[0] = 0;
    copse_status status = r->n > 0 ? copse_range(join->index->tree, &ranges, &rows) : COPSE_OK;
    uint64_t entries = rows.offsets[r->n];
    if (status == COPSE_OK)
        status = copse_buffer_reserve(join->left->ctx, &r->rows, entries + 1, 4, "the rows of a join");
    if (status != COPSE_OK || entries == 0) return status;
    rows.values = r->rows.data;
    rows.capacity = entries;
    status = copse_range(join->index->tree, &ranges, &rows);
    if (status == COPSE_OK) status = copse_rows_check(join->right, r->rows.data, entries);
    for (uint64_t i = 0; status == COPSE_OK && i < r->n; i++)
        copse_row_numbers_sort((uint32_t *)r->rows.data + rows.offsets[i], rows.offsets[i + 1] - rows.offsets[i]);
    return status;
}

/* Offsets for all left rows, those without a key, too. */
static void spread(ranged *r)
{
    const uint32_t *positions = r->positions.data;
    const uint64_t *found = r->found.data;
    uint64_t *offsets = r->offsets.data, k = 0;
    for (uint64_t i = 0; i <= r->rows_here; i++) {
        offsets[i] = found[k];
        if (k < r->n && positions[k] == i) k++;
    }
}

static copse_status join_batch(copse_joined *join, const band *b, ranged *r)
{
    copse_status status = make_ranges(join, b, r);
    if (status == COPSE_OK) status = find_rows(join, r);
    if (status != COPSE_OK) return status;
    spread(r);
    status = copse_join_list(join, r->first, r->rows_here, r->offsets.data, r->rows.data);
    if (status == COPSE_OK) copse_join_drain(join, false);
    return status;
}

static copse_status join_batches(copse_joined *join, const band *b)
{
    ranged r = {0};
    copse_status status = COPSE_OK;
    copse_cells_touch(&join->left->columns[join->left_on], join->left_rows.data, join->left->live);
    for (; status == COPSE_OK && r.first < join->left->live; r.first += BATCH_ROWS) {
        r.rows_here = join->left->live - r.first < BATCH_ROWS ? join->left->live - r.first : BATCH_ROWS;
        status = copse_progress(join->left->ctx, "joining", r.first, join->left->live);
        if (status == COPSE_OK) status = join_batch(join, b, &r);
    }
    ranged_free(join->left->ctx, &r);
    return status;
}

copse_status copse_join_band(copse_joined *join)
{
    const copse_stored_column *column = &join->left->columns[join->left_on];
    band b = {0};
    if (copse_column_is_text(column) || column->type == COPSE_BOOL)
        return copse_fail(join->left->ctx, COPSE_ERR_TYPE, "copse_join: keys of type %s have no band",
                          copse_column_type_name(column->type));
    copse_status status = take_distance(join, "below", join->options.below, &b.below, &b.below_float);
    if (status == COPSE_OK) status = take_distance(join, "above", join->options.above, &b.above, &b.above_float);
    if (status == COPSE_OK && copse_card_can_join(join))
        return copse_card_join_band(join, (uint64_t)b.below, (uint64_t)b.above, b.below_float, b.above_float);
    return status == COPSE_OK ? join_batches(join, &b) : status;
}

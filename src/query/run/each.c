/* Aggregates over many ranges, as one batch. */
#include "query/run/run.h"

typedef struct batch {
    copse_each *each;
    copse_chosen_aggregate aggregate;
    const copse_stored_index *index;
    const copse_ranges *ranges;
    copse_stored_column *out;
} batch;

static copse_status count(const batch *b)
{
    copse_each *each = b->each;
    if (each->counted && copse_index_same_entries(each->query->table, each->counted, b->index)) return COPSE_OK;
    copse_status status =
        copse_buffer_reserve(each->query->ctx, &each->counts, b->ranges->n, sizeof(uint64_t), "counts of ranges");
    if (status == COPSE_OK) status = copse_count(b->index->tree, b->ranges, each->counts.data);
    each->counted = status == COPSE_OK ? b->index : NULL;
    return status;
}

/* Aggregates of no rows are NULL. */
static void put_nulls(const batch *b)
{
    const uint64_t *counts = b->each->counts.data;
    memset(b->out->validity.data, 0xFF, b->ranges->n / 8 + 1);
    for (uint64_t i = 0; i < b->ranges->n; i++) {
        if (counts[i] > 0) continue;
        copse_bit_set(&b->out->validity, i, false);
        memset((char *)b->out->cells.data + i * b->out->width, 0, b->out->width);
        b->out->nulls++;
    }
}

static copse_status whole_sums(const batch *b, copse_int128 *sums)
{
    const copse_query *query = b->each->query;
    const uint64_t *counts = b->each->counts.data;
    bool mean = b->aggregate.what == COPSE_AGGREGATE_AVG;
    copse_status status = copse_sum128(b->index->tree, b->ranges, sums);
    for (uint64_t i = 0; status == COPSE_OK && i < b->ranges->n; i++) {
        copse_wide sum = (copse_wide)sums[i].high * ((copse_wide)1 << 64) + sums[i].low;
        copse_value value = copse_value_null();
        if (mean) {
            ((double *)b->out->cells.data)[i] = counts[i] ? (double)sum / (double)counts[i] : 0;
            continue;
        }
        status = copse_sum_value(query->ctx, &query->table->columns[b->aggregate.column], sum, &value);
        if (status != COPSE_OK)
            return copse_fail(query->ctx, status, "range %llu: %s", (unsigned long long)i,
                              copse_last_error(query->ctx));
        ((uint64_t *)b->out->cells.data)[i] = value.as.u64;
    }
    return status;
}

static copse_status sums(const batch *b)
{
    const copse_query *query = b->each->query;
    const uint64_t *counts = b->each->counts.data;
    double *totals = b->out->cells.data;
    copse_buffer wide = {0};
    copse_status status = COPSE_OK;
    if (copse_column_is_float(&query->table->columns[b->aggregate.column])) {
        status = copse_sum(b->index->tree, b->ranges, totals);
        for (uint64_t i = 0; b->aggregate.what == COPSE_AGGREGATE_AVG && i < b->ranges->n; i++)
            totals[i] = counts[i] ? totals[i] / (double)counts[i] : 0;
        return status;
    }
    status = copse_buffer_reserve(query->ctx, &wide, b->ranges->n, sizeof(copse_int128), "sums of ranges");
    if (status == COPSE_OK) status = whole_sums(b, wide.data);
    copse_buffer_free(query->ctx, &wide);
    return status;
}

/* Of the indexed column itself: the first or last row of each range has it. */
static copse_status ends_of_keys(const batch *b, const copse_ranges *ranges, uint64_t *offsets, uint32_t *rows)
{
    const copse_table *table = b->each->query->table;
    const copse_stored_column *column = &table->columns[b->aggregate.column];
    copse_rows found = COPSE_ROWS_INIT;
    found.offsets = offsets;
    found.values = rows;
    found.capacity = ranges->n;
    copse_status status = copse_range(b->index->tree, ranges, &found);
    if (status == COPSE_OK) status = copse_rows_check(table, rows, offsets[ranges->n]);
    if (status != COPSE_OK) return status;
    copse_cells_touch(column, rows, offsets[ranges->n]);
    for (uint64_t i = 0; status == COPSE_OK && i < ranges->n; i++)
        status = copse_column_push(b->each->query->ctx, b->out, i,
                                   offsets[i + 1] > offsets[i] ? copse_cell_value(column, rows[offsets[i]])
                                                               : copse_value_null());
    return status;
}

static copse_status extremes_of_keys(const batch *b)
{
    const copse_ctx *ctx = b->each->query->ctx;
    copse_ranges ranges = *b->ranges;
    copse_buffer offsets = {0}, rows = {0};
    ranges.limit = 1;
    if (b->aggregate.what == COPSE_AGGREGATE_MAX) ranges.flags |= COPSE_RANGE_DESCENDING;
    copse_status status = copse_buffer_reserve(ctx, &offsets, ranges.n + 1, sizeof(uint64_t), "the ends of ranges");
    if (status == COPSE_OK) status = copse_buffer_reserve(ctx, &rows, ranges.n, sizeof(uint32_t), "the ends of ranges");
    if (status == COPSE_OK) status = ends_of_keys(b, &ranges, offsets.data, rows.data);
    copse_buffer_free(ctx, &offsets);
    copse_buffer_free(ctx, &rows);
    return status;
}

/* Values of bools are numbers of 32 bits in an index. */
static copse_status extremes(const batch *b)
{
    const copse_ctx *ctx = b->each->query->ctx;
    copse_buffer found = {0}, words = {0};
    bool largest = b->aggregate.what == COPSE_AGGREGATE_MAX, bools = b->out->width == 1;
    copse_status status = copse_buffer_reserve(ctx, &found, b->ranges->n, 1, "extremes of ranges");
    if (status == COPSE_OK && bools) status = copse_buffer_reserve(ctx, &words, b->ranges->n, 4, "extremes of ranges");
    void *to = bools ? words.data : b->out->cells.data;
    if (status == COPSE_OK)
        status = largest ? copse_max(b->index->tree, b->ranges, to, found.data)
                         : copse_min(b->index->tree, b->ranges, to, found.data);
    for (uint64_t i = 0; bools && status == COPSE_OK && i < b->ranges->n; i++)
        ((uint8_t *)b->out->cells.data)[i] = (uint8_t)((const uint32_t *)words.data)[i];
    copse_buffer_free(ctx, &found);
    copse_buffer_free(ctx, &words);
    return status;
}

copse_status copse_aggregate_each(copse_each *each, copse_chosen_aggregate aggregate, uint32_t column,
                                  const copse_ranges *ranges, copse_stored_column *out)
{
    const batch b = {each, aggregate, copse_aggregate_index(each->query, aggregate, column), ranges, out};
    bool extreme = aggregate.what == COPSE_AGGREGATE_MIN || aggregate.what == COPSE_AGGREGATE_MAX;
    copse_status status = copse_column_reserve(each->query->ctx, out, ranges->n, 0);
    if (status != COPSE_OK) return status;
    if (extreme && b.index->sums == COPSE_NO_COLUMN) return extremes_of_keys(&b);
    status = count(&b);
    if (status != COPSE_OK) return status;
    if (aggregate.what == COPSE_AGGREGATE_COUNT) {
        memcpy(out->cells.data, each->counts.data, ranges->n * sizeof(uint64_t));
        memset(out->validity.data, 0xFF, ranges->n / 8 + 1);
        return COPSE_OK;
    }
    status = extreme ? extremes(&b) : sums(&b);
    if (status == COPSE_OK) put_nulls(&b);
    return status;
}

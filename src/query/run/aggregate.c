/* One aggregate over a list of rows. */
#include "query/run/float_sum.h"
#include "query/run/run.h"
#include "query/table/poll.h"

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

/* Rows of a part are added up by one thread, in blocks of COPSE_SUM_BLOCK. */
typedef struct sum_part {
    copse_wide whole;
    uint64_t count;
} sum_part;

typedef struct sum_job {
    copse_polled polled;
    const copse_stored_column *column;
    const uint32_t *rows;
    uint64_t chunk, part_count;
    sum_part *parts;
    double *blocks; /* the float sum of each block */
} sum_job;

/* What few rows need is on the stack. */
#define FEW_BLOCKS 16u

#define ADD_LANES(cell)                                                                                                \
    do {                                                                                                               \
        uint64_t i = 0;                                                                                                \
        for (; i + COPSE_SUM_LANES <= n; i += COPSE_SUM_LANES)                                                         \
            for (uint32_t l = 0; l < COPSE_SUM_LANES; l++) lanes[l] += cell(i + l);                                    \
        for (uint32_t l = 0; i < n; i++, l++) lanes[l] += cell(i);                                                     \
    } while (0)
#define F64_CELL(i)  (((const double *)cells)[rows[i]])
#define F32_CELL(i)  ((double)((const float *)cells)[rows[i]])
#define NULL_CELL(i) (copse_cell_valid(column, rows[i]) ? copse_cell_float(column, rows[i]) : 0)

static double add_floats(const copse_stored_column *column, const uint32_t *rows, uint64_t n)
{
    const void *cells = column->cells.data;
    double lanes[COPSE_SUM_LANES] = {0};
    if (column->nulls > 0)
        ADD_LANES(NULL_CELL);
    else if (column->type == COPSE_F64)
        ADD_LANES(F64_CELL);
    else
        ADD_LANES(F32_CELL);
    return copse_float_lanes_close(lanes);
}

/* Without a carry in each step: the halves of so few cells do not overflow. */
#define ADD_HALVES(type)                                                                                               \
    do {                                                                                                               \
        const type *cells = column->cells.data;                                                                        \
        type high = 0;                                                                                                 \
        uint64_t low = 0;                                                                                              \
        for (uint64_t i = 0; i < n; i++) {                                                                             \
            low += (uint32_t)cells[rows[i]];                                                                           \
            high += cells[rows[i]] >> 32;                                                                              \
        }                                                                                                              \
        return (copse_wide)high * ((copse_wide)1 << 32) + low;                                                         \
    } while (0)
#define ADD_WORDS(type)                                                                                                \
    do {                                                                                                               \
        const type *cells = column->cells.data;                                                                        \
        int64_t sum = 0;                                                                                               \
        for (uint64_t i = 0; i < n; i++) sum += cells[rows[i]];                                                        \
        return sum;                                                                                                    \
    } while (0)

/* Some cells are NULL. */
static copse_wide add_valid(const copse_stored_column *column, const uint32_t *rows, uint64_t n)
{
    copse_wide sum = 0;
    for (uint64_t i = 0; i < n; i++)
        if (copse_cell_valid(column, rows[i])) sum += copse_cell_whole(column, rows[i]);
    return sum;
}

copse_wide copse_add_wholes(const copse_stored_column *column, const uint32_t *rows, uint64_t n)
{
    if (column->nulls > 0) return add_valid(column, rows, n);
    switch (column->type) {
    case COPSE_I64:
        ADD_HALVES(int64_t);
    case COPSE_U64:
        ADD_HALVES(uint64_t);
    case COPSE_I32:
        ADD_WORDS(int32_t);
    case COPSE_U32:
        ADD_WORDS(uint32_t);
    default:
        ADD_WORDS(uint8_t);
    }
}

static uint64_t count_valid(const copse_stored_column *column, const uint32_t *rows, uint64_t n)
{
    uint64_t count = 0;
    if (column->nulls == 0) return n;
    for (uint64_t i = 0; i < n; i++) count += copse_bit(&column->validity, rows[i]);
    return count;
}

static void add_part(void *user, uint64_t first, uint64_t end)
{
    sum_job *job = user;
    sum_part part = {0};
    const bool floats = copse_column_is_float(job->column);
    for (uint64_t at = first; at < end; at += COPSE_SUM_BLOCK) {
        const uint64_t n = end - at < COPSE_SUM_BLOCK ? end - at : COPSE_SUM_BLOCK;
        if ((at - first + COPSE_SUM_BLOCK) % COPSE_POLL_ROWS == 0 && !copse_polled_goes_on(&job->polled, at)) return;
        if (floats)
            job->blocks[at / COPSE_SUM_BLOCK] = add_floats(job->column, job->rows + at, n);
        else
            part.whole += copse_add_wholes(job->column, job->rows + at, n);
        part.count += count_valid(job->column, job->rows + at, n);
    }
    job->parts[first / job->chunk] = part;
}

static copse_status add_parts(sum_job *job, const copse_ctx *ctx, uint64_t n, sum_part *out, double *out_total)
{
    copse_float_sum blocks = {0};
    copse_status status = COPSE_OK;
    *out = (sum_part){0};
    if (n > FEW_BLOCKS * COPSE_SUM_BLOCK)
        status = copse_parallel_polled(&job->polled, ctx, "adding up", n, job->chunk, add_part, job);
    else if (n > 0)
        add_part(job, 0, n);
    for (uint64_t i = 0; status == COPSE_OK && i < job->part_count; i++) {
        out->whole += job->parts[i].whole;
        out->count += job->parts[i].count;
    }
    for (uint64_t i = 0; status == COPSE_OK && copse_column_is_float(job->column) && i * COPSE_SUM_BLOCK < n; i++)
        copse_float_sum_add(&blocks, 1, job->blocks[i]);
    *out_total = copse_float_sum_end(&blocks);
    return status;
}

static copse_status sum_rows(const copse_query *query, const copse_stored_column *column, const uint32_t *rows,
                             uint64_t n, sum_part *out, double *out_total)
{
    const copse_ctx *ctx = query->ctx;
    double few_blocks[FEW_BLOCKS] = {0};
    sum_part one_part = {0};
    sum_job job = {
        .column = column, .rows = rows, .chunk = n + 1, .part_count = 1, .parts = &one_part, .blocks = few_blocks};
    copse_buffer blocks = {0}, parts = {0};
    if (n <= FEW_BLOCKS * COPSE_SUM_BLOCK) return add_parts(&job, ctx, n, out, out_total);
    const uint64_t chunk = copse_even_chunk(n, copse_threads_for(ctx, n));
    job.chunk = (chunk + COPSE_SUM_BLOCK - 1) / COPSE_SUM_BLOCK * COPSE_SUM_BLOCK;
    job.part_count = (n + job.chunk - 1) / job.chunk;
    copse_status status = copse_buffer_reserve(ctx, &blocks, n / COPSE_SUM_BLOCK + 1, sizeof(double), "adding up");
    if (status == COPSE_OK) status = copse_buffer_reserve(ctx, &parts, job.part_count, sizeof(sum_part), "adding up");
    job.blocks = blocks.data;
    job.parts = parts.data;
    if (status == COPSE_OK) memset(job.parts, 0, job.part_count * sizeof(sum_part));
    if (status == COPSE_OK) status = add_parts(&job, ctx, n, out, out_total);
    copse_buffer_free(ctx, &blocks);
    copse_buffer_free(ctx, &parts);
    return status;
}

static copse_status add_up(const copse_query *query, copse_chosen_aggregate aggregate, const uint32_t *rows, uint64_t n,
                           copse_value *out)
{
    const copse_stored_column *column = &query->table->columns[aggregate.column];
    const bool floats = copse_column_is_float(column);
    sum_part sum;
    double total = 0;
    copse_status status = sum_rows(query, column, rows, n, &sum, &total);
    *out = copse_value_null();
    if (status != COPSE_OK || sum.count == 0) return status;
    if (aggregate.what == COPSE_AGGREGATE_AVG)
        *out = copse_value_f64((floats ? total : (double)sum.whole) / (double)sum.count);
    else if (floats)
        *out = copse_value_f64(total);
    else
        return copse_sum_value(query->ctx, column, sum.whole, out);
    return COPSE_OK;
}

/* ---- the others ---- */

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

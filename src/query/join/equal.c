/* Joins of equal keys: lookups in batches, or, where the rows of both sides are in the order of their keys, a walk along both. */
#include "query/join/join.h"

#include "core/threads.h"

/* Left rows whose keys are looked up at once: what comes back stays in the cache until it has become pairs. */
#define BATCH_ROWS ((uint64_t)1 << 17)
/* A walk along both sides looks at all rows of the right one; lookups are worth it only where those are so many more. */
#define WALK_SHARE 16u

typedef struct found {
    copse_buffer values, flags, offsets, rows;
} found;

static void found_free(const copse_ctx *ctx, found *f)
{
    copse_buffer_free(ctx, &f->values);
    copse_buffer_free(ctx, &f->flags);
    copse_buffer_free(ctx, &f->offsets);
    copse_buffer_free(ctx, &f->rows);
}

/* ---- by lookups ---- */

/* Keys that lie in the column as the index takes them need not be copied. */
static bool is_plain(const copse_joined *join)
{
    const copse_stored_column *column = &join->left->columns[join->left_on];
    return !join->left_rows.data && column->nulls == 0 && column->width != 1 && !copse_column_is_text(column);
}

static copse_status find_one_each(copse_joined *join, found *f, uint64_t first, uint64_t n)
{
    const copse_stored_column *column = &join->left->columns[join->left_on];
    const copse_ctx *ctx = join->left->ctx;
    copse_status status = copse_pairs_reserve(join->pairs, join->pairs->n + n); /* one for each row at most */
    if (status == COPSE_OK) status = copse_buffer_reserve(ctx, &f->values, n, sizeof(uint32_t), "the rows of a join");
    if (status == COPSE_OK) status = copse_buffer_reserve(ctx, &f->flags, n, 1, "the rows of a join");
    if (status == COPSE_OK)
        status = copse_find(join->index->tree, (const char *)column->cells.data + first * column->width, n,
                            f->values.data, f->flags.data);
    if (status != COPSE_OK) return status;
    const uint8_t *is_there = f->flags.data;
    const uint32_t *rows = f->values.data;
    for (uint64_t i = 0; join->right->file && i < n; i++)
        if (is_there[i] && copse_rows_check(join->right, &rows[i], 1) != COPSE_OK) return COPSE_ERR_FORMAT;
    uint64_t *left = join->pairs->left.data, *right = join->pairs->right.data, at = join->pairs->n;
    const uint32_t kind = join->options.kind;
    const bool with = kind != COPSE_JOIN_ANTI, without = kind == COPSE_JOIN_LEFT || kind == COPSE_JOIN_ANTI;
    for (uint64_t i = 0; i < n; i++) {
        left[at] = first + i;
        if (right) right[at] = is_there[i] ? rows[i] : COPSE_NO_ROW;
        at += is_there[i] ? with : without;
    }
    join->pairs->n = at;
    return COPSE_OK;
}

static copse_status find_all(copse_joined *join, found *f, uint64_t first, uint64_t n)
{
    copse_buffer numbers = {0};
    copse_key_source keys = copse_key_source_of(&join->left->columns[join->left_on], NULL);
    copse_status status = COPSE_OK;
    if (join->left_rows.data) {
        keys.parts[0].rows = (const uint32_t *)join->left_rows.data + first;
    } else {
        status = copse_buffer_reserve(join->left->ctx, &numbers, n, sizeof(uint32_t), "the rows of a join");
        for (uint64_t i = 0; status == COPSE_OK && i < n; i++) ((uint32_t *)numbers.data)[i] = (uint32_t)(first + i);
        keys.parts[0].rows = numbers.data;
    }
    if (status == COPSE_OK) status = copse_index_find_rows(join->right, join->index, &keys, n, &f->offsets, &f->rows);
    if (status == COPSE_OK) status = copse_join_list(join, first, n, f->offsets.data, f->rows.data);
    copse_buffer_free(join->left->ctx, &numbers);
    return status;
}

copse_status copse_join_equal(copse_joined *join)
{
    const uint64_t rows = join->left->live;
    const bool one_each = join->index->unique && is_plain(join);
    found f = {0};
    copse_status status = COPSE_OK;
    if (one_each) {
        copse_cells_touch(&join->left->columns[join->left_on], NULL, join->left->slots);
        if (!join->totals) status = copse_pairs_reserve(join->pairs, rows);
    }
    for (uint64_t first = 0; status == COPSE_OK && first < rows; first += BATCH_ROWS) {
        uint64_t n = rows - first < BATCH_ROWS ? rows - first : BATCH_ROWS;
        status = copse_progress(join->left->ctx, "joining", first, rows);
        if (status != COPSE_OK) break;
        status = one_each ? find_one_each(join, &f, first, n) : find_all(join, &f, first, n);
        if (status == COPSE_OK) copse_join_drain(join, false);
    }
    found_free(join->left->ctx, &f);
    return status;
}

/* ---- by a walk ---- */

/* Blocks without a branch inside, which the compiler makes wide instructions of. */
#define DESCENDS(type)                                                                                                 \
    do {                                                                                                               \
        const type *cells = (const type *)column->cells.data + begin;                                                  \
        for (uint64_t i = 1; i < n; i++) descends |= cells[i - 1] > cells[i];                                          \
    } while (0)

/* All cells have a value. */
static bool descends_somewhere(const copse_stored_column *column, uint64_t begin, uint64_t n)
{
    int descends = 0;
    switch (column->type) {
    case COPSE_I64:
    case COPSE_TIMESTAMP:
        DESCENDS(int64_t);
        break;
    case COPSE_U64:
        DESCENDS(uint64_t);
        break;
    case COPSE_I32:
    case COPSE_DATE:
        DESCENDS(int32_t);
        break;
    case COPSE_U32:
        DESCENDS(uint32_t);
        break;
    case COPSE_F64:
        DESCENDS(double);
        break;
    default:
        for (uint64_t i = begin + 1; i < begin + n; i++) descends |= copse_cell_compare(column, i - 1, column, i) > 0;
    }
    return descends;
}

typedef struct order_job {
    const copse_stored_column *column;
    bool descends;
} order_job;

/* Items are rows and the next one. */
static void look_for_descent(void *user, uint64_t first, uint64_t end)
{
    order_job *job = user;
    bool descends = __atomic_load_n(&job->descends, __ATOMIC_RELAXED);
    for (uint64_t begin = first; begin < end && !descends; begin += COPSE_JOIN_STEP)
        descends = descends_somewhere(job->column, begin,
                                      end - begin < COPSE_JOIN_STEP ? end - begin + 1 : COPSE_JOIN_STEP + 1);
    if (descends) __atomic_store_n(&job->descends, true, __ATOMIC_RELAXED);
}

bool copse_column_ascends(const copse_table *table, uint32_t at)
{
    const copse_stored_column *column = &table->columns[at];
    const uint64_t slots = table->slots;
    uint64_t last = UINT64_MAX;
    copse_cells_touch(column, NULL, slots);
    if (!table->alive.data && column->nulls == 0) {
        order_job job = {column, false};
        const uint32_t threads = copse_threads_for(table->ctx, slots);
        if (slots > 1)
            copse_parallel(table->ctx, threads, slots - 1, copse_even_chunk(slots - 1, threads), look_for_descent,
                           &job);
        return !job.descends;
    }
    for (uint64_t i = 0; i < slots; i++) {
        if (!copse_row_lives(table, i) || !copse_cell_valid(column, i)) continue;
        if (last != UINT64_MAX && copse_cell_compare(column, last, column, i) > 0) return false;
        last = i;
    }
    return true;
}

bool copse_join_can_walk(const copse_joined *join)
{
    uint64_t left = join->left->live, right = join->right->live;
    if (join->options.kind > COPSE_JOIN_ANTI) return false;
    if (copse_index_on(join->right, join->right_on, COPSE_NO_COLUMN) && right / WALK_SHARE > left) return false;
    return copse_column_ascends(join->left, join->left_on) && copse_column_ascends(join->right, join->right_on);
}

static uint64_t next_row(const copse_table *table, const copse_stored_column *column, uint64_t row)
{
    while (row < table->slots && (!copse_row_lives(table, row) || !copse_cell_valid(column, row))) row++;
    return row;
}

copse_status copse_join_walk(copse_joined *join)
{
    const copse_table *left = join->left, *right = join->right;
    const copse_stored_column *a = &left->columns[join->left_on], *b = &right->columns[join->right_on];
    const uint32_t kind = join->options.kind;
    copse_status status = copse_pairs_reserve(join->pairs, join->totals ? 0 : left->live);
    uint64_t from = next_row(right, b, 0); /* the first right row that is not below the left one */
    for (uint64_t i = 0; status == COPSE_OK && i < left->slots; i++) {
        status = copse_poll(left->ctx, "joining", i, left->slots);
        if (status != COPSE_OK || !copse_row_lives(left, i)) continue;
        bool partner = false;
        if (copse_cell_valid(a, i)) {
            while (from < right->slots && copse_cell_compare(b, from, a, i) < 0) from = next_row(right, b, from + 1);
            for (uint64_t j = from; j < right->slots && copse_cell_compare(b, j, a, i) == 0;
                 j = next_row(right, b, j + 1)) {
                partner = true;
                if (kind == COPSE_JOIN_SEMI || kind == COPSE_JOIN_ANTI) break;
                status = copse_poll(left->ctx, "joining", join->pairs->n, 0);
                if (status == COPSE_OK) status = copse_pairs_reserve(join->pairs, join->pairs->n + 1);
                if (status != COPSE_OK) return status;
                copse_pairs_add(join->pairs, i, j);
            }
        }
        copse_join_drain(join, false);
        if (partner ? kind != COPSE_JOIN_SEMI : kind != COPSE_JOIN_LEFT && kind != COPSE_JOIN_ANTI) continue;
        status = copse_pairs_reserve(join->pairs, join->pairs->n + 1);
        if (status == COPSE_OK) copse_pairs_add(join->pairs, i, COPSE_NO_ROW);
    }
    return status;
}

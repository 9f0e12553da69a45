/* Rows in the order of an index, through a cursor, until there are as many as the limit wants. Rows with equal keys come all or not at
 * all, so that the sort that follows can put them into the order of their numbers. */
#include "query/run/run.h"

#define WALK_BLOCK 1024u
#define NULL_BLOCK 32768u /* rows whose bits share a block of a file, which is checked as one */

typedef struct walk {
    copse_query *query;
    const copse_stored_column *column;
    copse_row_list *out;
    uint64_t needed;
} walk;

static copse_status filter_block(walk *w, uint32_t *rows, uint64_t n)
{
    copse_query *query = w->query;
    query->walk_looked_at += n;
    copse_status status = copse_progress(query->ctx, "walking an index", query->walk_looked_at, 0);
    if (status != COPSE_OK) return status;
    if (query->conjunction_count == 1)
        n = copse_conjunction_filter(query->table, &copse_conjunctions(query)[0], 0, rows, n);
    status =
        copse_buffer_reserve(query->ctx, &w->out->memory, w->out->n + n + 1, sizeof(uint32_t), "the rows of a query");
    if (status != COPSE_OK) return status;
    memcpy(copse_row_list_rows(w->out) + w->out->n, rows, n * sizeof *rows);
    w->out->n += n;
    return COPSE_OK;
}

static uint64_t first_block(const walk *w)
{
    return w->needed < WALK_BLOCK / 16 ? w->needed + 16 : WALK_BLOCK;
}

/* The first row from `row` on without a key, or `end`. Bits of 64 rows at once. */
static uint64_t next_null(const copse_stored_column *column, uint64_t row, uint64_t end)
{
    uint64_t bits = UINT64_MAX;
    for (; row < end; row++) {
        if (row % 64 == 0 && row + 64 <= end) memcpy(&bits, (const char *)column->validity.data + row / 8, sizeof bits);
        if (row % 64 == 0 && row + 64 <= end && bits == UINT64_MAX)
            row += 63;
        else if (!copse_bit(&column->validity, row))
            return row;
    }
    return end;
}

/* Rows without a key are in no index: as many as are needed, or all where more columns decide among them. */
static copse_status add_nulls(walk *w)
{
    const copse_table *table = w->query->table;
    const bool all = w->query->order_count > 1;
    uint32_t rows[WALK_BLOCK];
    uint64_t block = first_block(w);
    copse_status status = COPSE_OK;
    for (uint64_t begin = 0; w->column->nulls > 0 && begin < table->slots; begin += NULL_BLOCK) {
        const uint64_t end = begin + NULL_BLOCK < table->slots ? begin + NULL_BLOCK : table->slots;
        const uint32_t first = (uint32_t)begin;
        uint64_t n = 0;
        copse_cells_touch(w->column, &first, 1);
        for (uint64_t row = begin; status == COPSE_OK && row < end && (row = next_null(w->column, row, end)) < end;
             row++) {
            if (copse_row_lives(table, row)) rows[n++] = (uint32_t)row;
            if (n < block) continue;
            status = filter_block(w, rows, n);
            if (!all && w->out->n >= w->needed) return status;
            n = 0;
            block = block * 2 < WALK_BLOCK ? block * 2 : WALK_BLOCK;
        }
        if (status == COPSE_OK) status = filter_block(w, rows, n);
        if (status != COPSE_OK || (!all && w->out->n >= w->needed)) return status;
    }
    return status;
}

static copse_status walk_keys(walk *w, copse_cursor *cursor)
{
    uint32_t rows[WALK_BLOCK], last = COPSE_ROW_NONE; /* the last one that was enough */
    uint64_t block = first_block(w);
    for (;;) {
        uint64_t n = 0, same = 0;
        copse_status status = copse_cursor_next(cursor, NULL, rows, block, &n);
        if (status != COPSE_OK || n == 0) return status;
        status = copse_rows_check(w->query->table, rows, n);
        if (status != COPSE_OK) return status;
        copse_cells_touch(w->column, rows, n);
        if (last != COPSE_ROW_NONE) {
            while (same < n && copse_cell_compare(w->column, last, w->column, rows[same]) == 0) same++;
            if (same == 0) return COPSE_OK;
        }
        uint64_t taken = last != COPSE_ROW_NONE ? same : n;
        uint32_t end = rows[n - 1];
        status = filter_block(w, rows, taken);
        if (status != COPSE_OK || taken < n) return status;
        if (last == COPSE_ROW_NONE && w->out->n >= w->needed) last = end;
        block = block * 2 < WALK_BLOCK ? block * 2 : WALK_BLOCK;
    }
}

copse_status copse_run_walk(copse_query *query, copse_row_list *out)
{
    const copse_stored_index *index = query->walked;
    copse_cursor *cursor = NULL;
    copse_ranges all = COPSE_BETWEEN(NULL, NULL, 1);
    uint64_t needed = query->limit + query->offset;
    walk w = {query, &query->table->columns[index->columns[0]], out, needed < query->limit ? UINT64_MAX : needed};
    if (query->orders[0].descending) all.flags |= COPSE_RANGE_DESCENDING;
    copse_status status = copse_cursor_open(index->tree, &all, &cursor);
    if (status == COPSE_OK && !query->orders[0].descending) status = add_nulls(&w);
    if (status == COPSE_OK && w.out->n < w.needed) status = walk_keys(&w, cursor);
    copse_cursor_free(cursor);
    if (status == COPSE_OK && query->orders[0].descending && w.out->n < w.needed) status = add_nulls(&w);
    if (status == COPSE_OK) status = copse_row_list_sort(query, out);
    if (query->conjunction_count == 1) copse_conjunctions(query)[0].found = out->n;
    return status;
}

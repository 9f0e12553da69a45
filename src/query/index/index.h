/*
 * Indexes of a table: copse indexes whose keys are the cells of a column, and whose values are row numbers, or the cells of a second
 * column (`sums`), so that sums over ranges of the first need not look at rows. NULL cells are in no index of one column.
 *
 *   index on "id"                          key  1001  1002  1003 ..
 *                                        value     0     1     2 ..   the row
 *   index on "id", sums of "amount"      value  9.50 12.00  3.25 ..   the cell
 *   index on "city" and "day"              key  1 Oslo 0 0 1 (day)  .. bytes that sort as the columns do (composite.c); rows with NULLs
 *                                               are in it, too
 *
 * A change of the table first changes all of its indexes, then the cells. Where an index fails, those that were changed before it
 * become stale: queries leave them aside, and the next change of the table makes them anew from the rows, which are as they were.
 */
#pragma once

#include "query/table/table.h"

#define COPSE_NO_COLUMN        UINT32_MAX
#define COPSE_MOST_KEY_COLUMNS 4u

struct copse_stored_index {
    uint32_t columns[COPSE_MOST_KEY_COLUMNS];
    uint32_t column_count;
    uint32_t sums; /* COPSE_NO_COLUMN: values are row numbers */
    uint32_t structure;
    bool unique;
    bool stale;
    copse_index *tree;
};

static inline copse_stored_index *copse_indexes(const copse_table *table)
{
    return table->indexes.data;
}

static inline bool copse_index_is_composite(const copse_stored_index *index)
{
    return index->column_count > 1;
}

/* The index on just this column that queries may use, or NULL. */
const copse_stored_index *copse_index_on(const copse_table *table, uint32_t column, uint32_t sums);
void copse_indexes_close(copse_table *table);
/* Makes all indexes anew for a placement, or leaves all as they were. Those of strings and of several columns stay on the CPU. */
copse_status copse_indexes_move(copse_table *table, copse_placement placement);

/* ---- keys.c: cells as keys of a copse index ---- */

typedef struct copse_key_batch {
    copse_type type; /* of the keys */
    uint64_t n;
    copse_buffer cells; /* or of strings the offsets */
    copse_buffer text;
    copse_buffer values;
    copse_bytes bytes;
    copse_buffer positions; /* which of the rows that were asked for each key is of */
} copse_key_batch;

/* Cells of a column, at these rows (NULL: 0, 1, ...). */
typedef struct copse_cells {
    const copse_stored_column *column;
    const uint32_t *rows;
} copse_cells;

/* The columns of a key; one without a column is all NULLs. */
typedef struct copse_key_source {
    copse_cells parts[COPSE_MOST_KEY_COLUMNS];
    uint32_t count;
} copse_key_source;

copse_type copse_key_type(const copse_stored_column *column);
/* The types of keys and values of an index of the table. */
copse_type copse_index_key_type(const copse_table *table, const copse_stored_index *index);
copse_type copse_index_value_type(const copse_table *table, const copse_stored_index *index);
/* The columns of an index in rows of its table. */
copse_key_source copse_index_source(const copse_table *table, const copse_stored_index *index, const uint32_t *rows);
copse_key_source copse_key_source_of(const copse_stored_column *column, const uint32_t *rows);
/* For sentences: the key of row i of a source, and the names of the columns of an index. */
#define COPSE_SHOWN_KEY 160
const char *copse_key_show(const copse_key_source *keys, uint64_t i, char shown[COPSE_SHOWN_KEY]);
const char *copse_index_show(const copse_table *table, const copse_stored_index *index, char shown[COPSE_SHOWN_KEY]);
/* Those of n cells that have a key, and a value where `sums` is given (else NULL: values are the numbers in `rows`, or the
 * positions where that is NULL, too). */
copse_status copse_key_batch_fill(const copse_ctx *ctx, copse_key_batch *batch, const copse_key_source *keys,
                                  const copse_cells *sums, const uint32_t *rows, uint64_t n);
void copse_key_batch_free(const copse_ctx *ctx, copse_key_batch *batch);
/* What a call of copse.h takes as keys. */
const void *copse_key_batch_keys(const copse_key_batch *batch);

/* ---- composite.c: several columns as bytes that sort as they do ---- */

/* Each writes behind `to` and returns the end. A NULL is a byte 0; a value a byte 1 and what follows: */
unsigned char *copse_composite_code(unsigned char *to, uint64_t code, uint32_t width);
unsigned char *copse_composite_text(unsigned char *to, copse_slice text);
unsigned char *copse_composite_cell(unsigned char *to, const copse_stored_column *column, uint64_t row);
/* The most bytes that a text, or a cell, becomes. */
size_t copse_composite_text_room(size_t length);
size_t copse_composite_room(const copse_stored_column *column, uint64_t row);

/* ---- change.c: keeping indexes in step ---- */

/* A column of a change: cells that it had, and cells that it gets; a table without the column has NULL there. */
typedef struct copse_index_change {
    const copse_table *table;
    const copse_table *incoming;   /* NULL: rows go */
    const uint32_t *incoming_of;   /* for each column of the table its number in incoming, COPSE_NO_COLUMN: it stays */
    const uint32_t *rows;          /* of the table; those that are new have no cells yet */
    const uint32_t *incoming_rows; /* NULL: 0, 1, ... */
    uint64_t n;
    bool rows_are_new;
} copse_index_change;

/* Makes stale indexes anew. */
copse_status copse_indexes_refresh(copse_table *table);
/* All indexes, or none but that some are stale. */
copse_status copse_indexes_apply(copse_table *table, const copse_index_change *change);
/* That the keys of new rows are not there and are no NULLs. */
copse_status copse_indexes_check_new(const copse_table *table, const copse_table *incoming,
                                     const uint32_t *incoming_of);
/* Ascending. An index gives rows in the order of insertion, which mostly is that of their numbers, but not once rows were updated. */
void copse_row_numbers_sort(uint32_t *rows, uint64_t n);
/* Rows of each key, in ascending order for each: CSR with n + 1 offsets. Keys that are NULL have none. */
copse_status copse_index_find_rows(const copse_table *table, const copse_stored_index *index,
                                   const copse_key_source *keys, uint64_t n, copse_buffer *offsets, copse_buffer *rows);

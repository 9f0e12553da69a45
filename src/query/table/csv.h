/* CSV on its way into a table: what the first rows show (csv_layout.c), then all rows (csv.c). */
#pragma once

#include "query/table/table.h"

#include "io/cells.h"
#include "io/csv.h"

#include <stdio.h>

#define COPSE_CSV_HEAD   ((size_t)1 << 20) /* bytes that are looked at first */
#define COPSE_CSV_SAMPLE 1000u

typedef struct copse_csv_column {
    char *name; /* in the reader's or our own memory */
    char own_name[48];
    uint32_t type;
    bool guessed;
    copse_type nearly;       /* of a column of strings that most cells could do without; 0: none */
    const char *date_format; /* of a column of strings all of whose cells it could read; NULL: none */
    copse_cell_form form;
} copse_csv_column;

typedef struct copse_csv_source {
    copse_ctx *ctx;
    const char *path;
    copse_table_csv_options options;
    FILE *file;
    copse_buffer head;
    size_t head_size, head_used;
    copse_nulls nulls;
    copse_csv_options csv;
    copse_csv *reader;
    copse_buffer columns; /* copse_csv_column */
    size_t column_count;
    uint64_t sampled;
    bool date_has_time;
} copse_csv_source;

/* Rows on their way from a reader into a table. */
typedef struct copse_csv_loading {
    copse_csv_source *source;
    copse_csv *csv;
    copse_table *table;
    copse_buffer text_used; /* uint64_t: of each column, before the current row */
    uint64_t rows;
    uint64_t skipped;
    bool is_piece; /* one of several threads does it: nobody hears about progress */
} copse_csv_loading;

/* A table without rows; the reader is the caller's. */
copse_status copse_csv_loading_open(copse_csv_source *source, copse_csv_loading *out);
void copse_csv_loading_close(copse_csv_loading *loading);
/* Takes rows until a record begins at `stop` of the reader's bytes or behind it. Errors: FORMAT, IO, MEMORY, CANCELLED, UNSUPPORTED. */
copse_status copse_csv_loading_rows(copse_csv_loading *loading, uint64_t stop);

/* csv_threads.c: all rows of a file on several threads, added to loading->table. *out_done false: the file is none for it, or something in
 * it is wrong, which whoever reads it from its beginning finds again and can name. */
copse_status copse_csv_read_threads(copse_csv_loading *loading, bool *out_done);

/* Bool as people write it: true, false, in any case. */
bool copse_csv_is_bool(const char *text, size_t length, uint8_t *out);
/* A NULL, given the type of its column. */
bool copse_csv_is_null(const copse_csv_source *source, uint32_t type, const copse_csv_cell *cell);
/* What most cells are not. */
static inline bool copse_csv_may_be_null(const copse_csv_source *source, const copse_csv_cell *cell)
{
    const unsigned char first = (unsigned char)*cell->text; /* of an empty cell the NUL behind it */
    return first == '\0' || first == ' ' || first == '\t' || source->nulls.first[first];
}
/* Delimiter, columns and types, from the head. */
copse_status copse_csv_find_layout(copse_csv_source *source);

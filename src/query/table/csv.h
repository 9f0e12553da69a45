/* CSV on its way into a table: what the first rows tell (csv_layout.c), then all rows (csv.c). */
#pragma once

#include "query/table/table.h"

#include "io/cells.h"
#include "io/csv.h"

#define COPSE_CSV_HEAD   ((size_t)1 << 20) /* bytes that are looked at first */
#define COPSE_CSV_SAMPLE 1000u

typedef struct copse_csv_column {
    char *name; /* in the reader's or our own memory */
    char own_name[48];
    uint32_t type;
    bool guessed;
    copse_type nearly; /* of a column of strings that most cells could do without; 0: none */
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

/* Bool as people write it: true, false, in any case. */
bool copse_csv_is_bool(const char *text, size_t length, uint8_t *out);
/* A NULL, given the type of its column. */
bool copse_csv_is_null(const copse_csv_source *source, uint32_t type, const copse_csv_cell *cell);
/* Delimiter, columns and types, from the head. */
copse_status copse_csv_find_layout(copse_csv_source *source);

/*
 * A reader for comma-separated values, one record at a time, from memory or any source of bytes.
 *
 * It takes RFC 4180 and the dialects that people really have: CRLF, LF and CR line ends (also mixed), quoted cells with
 * doubled quotes and line breaks, a byte order mark, blank lines (skipped), a last line without a line end, any
 * one-byte delimiter. It refuses, with a sentence that names line and column: a quote that is never closed, text after
 * a closing quote, a record with too few or too many cells, NUL bytes, UTF-16.
 *
 * Lines are physical lines of the input, counted from 1; a record is named by the line it starts on. Columns count from
 * 1 in sentences and in "#N", from 0 in arguments. All state is in the reader: different readers are independent.
 */
#pragma once

#include "copse.h"

#define COPSE_CSV_MAX_COLUMNS 65536u
#define COPSE_CSV_MAX_RECORD  ((size_t)64 << 20) /* a longer record is almost surely a missing quote */

typedef struct copse_csv copse_csv;

/* One cell without its quotes. text ends in a NUL byte that length does not count. */
typedef struct copse_csv_cell {
    char *text;
    size_t length;
    int quoted;
} copse_csv_cell;

typedef struct copse_csv_options {
    char delimiter;            /* 0: a comma                                              */
    int no_header;             /* 1: the first record is data, columns have no names      */
    copse_allocator allocator; /* all zero: malloc and free                               */
    size_t columns;            /* > 0: the input is the rest of one that has so many; no header */
} copse_csv_options;

/* Puts up to size bytes into buffer and returns how many; 0 at the end. On a read error sets *out_error to an errno. */
typedef size_t (*copse_csv_read_fn)(void *user, void *buffer, size_t size, int *out_error);

/* Each opens a reader and reads the header. options may be NULL. The bytes must outlive the reader. On failure *out_csv is NULL and message (may be NULL) holds a sentence.
 * Errors: ARGUMENT (an impossible delimiter), MEMORY, IO, FORMAT (no header, or a broken one). */
copse_status copse_csv_open(copse_csv_read_fn read, void *user, const copse_csv_options *options, copse_csv **out_csv,
                            char *message, size_t message_size);
copse_status copse_csv_open_memory(const void *bytes, size_t size, const copse_csv_options *options,
                                   copse_csv **out_csv, char *message, size_t message_size);
void copse_csv_close(copse_csv *csv);

/* The next record. *out_cells stays valid until the next call on this reader; the cells may be written to. *out_count
 * is 0 at the end, else the number of columns. A reader that failed once keeps failing, unless copse_csv_skip helps.
 * Errors: FORMAT, IO, MEMORY. */
copse_status copse_csv_next(copse_csv *csv, copse_csv_cell **out_cells, size_t *out_count);

/* After a failure of copse_csv_next: gets past a record that has too few or too many cells, a NUL byte, or text after a
 * closing quote, and returns 1; copse_csv_next then goes on behind it (behind the line, where quotes are in doubt).
 * Returns 0 where there is no going on: a read error, no memory, a quote that is never closed, an endless record. */
int copse_csv_skip(copse_csv *csv);

/* The sentence of the last failure, "" if there was none. */
const char *copse_csv_error(const copse_csv *csv);

/* The number of columns; without a header it is known once the first record was read, and 0 before. */
size_t copse_csv_columns(const copse_csv *csv);

/* The name of a column without surrounding blanks; "" where it has none. */
const char *copse_csv_column_name(const copse_csv *csv, size_t column);

/* Finds a column by its name or by "#N". Errors: ARGUMENT, with a sentence that lists the columns there are. */
copse_status copse_csv_find_column(copse_csv *csv, const char *name, size_t *out_column);

/* Says that a cell of the current record is bad: 'line 7, column 2 ("price"): "12,x" ' followed by problem. The text
 * of the cell is shortened. Returns COPSE_ERR_FORMAT; copse_csv_error has the sentence. The reader can go on. */
copse_status copse_csv_bad_cell(copse_csv *csv, size_t column, const char *problem);

/* The bytes of input used so far. */
uint64_t copse_csv_position(const copse_csv *csv);
/* Where the next record begins, behind the whole line end of the last one. Errors: those of copse_csv_next. */
copse_status copse_csv_next_position(copse_csv *csv, uint64_t *out_position);

/* What the files of the CSV reader share: csv.c (records), csv_columns.c (columns by name). */
#pragma once

#include "io/csv.h"

#include <stdio.h>

typedef struct memory_source {
    const char *bytes;
    size_t left;
} memory_source;

struct copse_csv {
    copse_csv_read_fn read;
    void *user;
    memory_source memory;
    copse_allocator allocator;
    char *buffer; /* capacity + 1 bytes: the last cell of the input needs room for its NUL */
    size_t capacity;
    size_t begin; /* the next record starts here */
    size_t end;
    int source_ended;
    int skip_line_feed; /* the last record ended in CR: a LF that follows belongs to it */
    copse_csv_cell *cells;
    size_t cell_capacity;
    size_t cell_count; /* also counts cells beyond the last column, which are not kept */
    size_t columns;
    char **names; /* NULL without a header */
    char *name_text;
    size_t name_bytes;
    uint64_t line; /* that byte `begin` is on */
    uint64_t record_line;
    uint64_t discarded; /* bytes that left the buffer */
    copse_status failed;
    size_t skip_to;           /* after a bad record: where copse_csv_skip goes on, 0 if it cannot */
    uint64_t skip_lines;      /* line breaks between `begin` and there */
    int skip_rest_of_line;    /* the line that skip_to is on goes, too */
    unsigned char stops[256]; /* 1 for bytes that end an unquoted cell, and for NUL */
    uint64_t delimiters;      /* eight of them */
    char delimiter;
    char message[640];
};

/* Text from the input, quoted and shortened, with nothing in it that could upset a terminal. */
void copse_csv_show_text(char *out, size_t out_size, const char *text, size_t length);
/* 'column 2 ("price")', or 'column 2' where it has no name. */
void copse_csv_show_column(const copse_csv *csv, size_t column, char *out, size_t out_size);

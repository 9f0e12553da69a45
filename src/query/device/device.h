/*
 * Tables on a device: an image of the columns there, and queries and joins that run on it.
 *
 *   host      cells, NULL bits, texts        the table: changes, files, texts, and what the device cannot do
 *                │ copse_table_place, and the cells of every change
 *   device    cells, NULL bits, live rows    the image (image.c), numbers for strings (strings.c)    indexes of fixed-width columns (index/)
 *                │ filter: a flag for each row; select                 rows.c
 *             row numbers ── sort by columns                           order.c
 *                │            ├─ groups: heads of equal keys; partials of each, in blocks of 1,024 rows    groups.c, reduce.c
 *                │            └─ gather                                output.c
 *   host      the result, a table            pairs of joins stay on the device until the host asks: equal.c, asof.c, spans.c, totals.c, pairs.c
 *
 * Everything below returns COPSE_OK or a status with a sentence, and gives back the memory that it took.
 */
#pragma once

#include "query/device/kernels.h"
#include "query/device/placed.h"
#include "query/join/join.h"
#include "query/output/output.h"

/* ---- image.c ---- */

typedef struct copse_image_column {
    void *cells;        /* of strings: their numbers, NULL while nobody has asked for them */
    uint32_t *validity; /* bits */
    uint64_t cell_bytes;
    /* Of strings: */
    bool
        numbered; /* cells and words are those of the rows; atomic, since threads may ask while another one makes them */
    copse_buffer words; /* copse_text, in host memory: each once, in their order */
    uint64_t word_count;
} copse_image_column;

struct copse_table_image {
    copse_device *device;
    copse_image_column *columns;
    uint32_t column_count;
    uint64_t capacity; /* rows that there is room for */
    uint64_t slots;    /* rows that are there         */
    uint32_t *alive;   /* bits; NULL: all rows live   */
    bool stale;        /* a change did not reach it: the next one makes it anew */
};

/* A column of a placed table for kernels; NULL bits only where there are NULLs. One of strings is one of u32 once they are numbered. */
copse_card_column copse_card_column_of(const copse_table *table, uint32_t column);
const uint8_t *copse_card_alive(const copse_table *table);
/* The device of a table whose image is as its rows are, or NULL. */
copse_device *copse_card_of(const copse_table *table);
const copse_card_kernels *copse_card_kernels_on(const copse_device *device);

/* ---- memory.c: arrays of one call ---- */

#define COPSE_CARD_ARRAYS 48u /* twice what any call takes */

/* Arrays that live as long as a call, in device memory. */
typedef struct copse_card_memory {
    copse_device *device;
    struct {
        void *memory;
        uint64_t bytes;
    } arrays[COPSE_CARD_ARRAYS];
    uint32_t count;
} copse_card_memory;

copse_status copse_card_take(copse_card_memory *memory, uint64_t n, size_t size, void *out);
/* Takes an array out of the list: it is the caller's now, with so many bytes. */
uint64_t copse_card_keep(copse_card_memory *memory, const void *array);
void copse_card_release(copse_card_memory *memory);
/* Launches a kernel with a thread for each of n. */
copse_status copse_card_launch(copse_device *device, const copse_kernel *kernel, uint64_t n, const void *arguments);

/* ---- strings.c ---- */

/* Numbers the strings of a column, if it is one of strings and they are not. */
copse_status copse_card_strings(const copse_table *table, uint32_t column);
/* The words of a numbered column, as cells 0, 1, ..; how many of them are smaller than a text, and whether it is one of them. */
copse_stored_column copse_card_words(const copse_table *table, uint32_t column);
uint64_t copse_card_rank(const copse_table *table, uint32_t column, copse_slice text, bool *out_exact);
/* The left column of a join. Strings of both are numbered, and those of the left side get the numbers that they have on the right, or (near) the
 * number of those there that are no larger. */
copse_status copse_card_left_column(const copse_table *left, uint32_t left_column, const copse_table *right,
                                    uint32_t right_column, bool near, copse_card_memory *memory,
                                    copse_card_column *out);

/* ---- rows.c ---- */

/* Row numbers on a device. */
typedef struct copse_card_rows {
    uint32_t *rows; /* NULL: 0 .. n - 1 */
    uint64_t n;
} copse_card_rows;

/* The rows that the query asks for, ascending. */
copse_status copse_card_select(copse_query *query, copse_card_memory *memory, copse_card_rows *out);
/* Positions whose flag is set; frees nothing. */
copse_status copse_card_flagged(copse_card_memory *memory, const uint8_t *flags, uint64_t n, copse_card_rows *out);
/* Rows that live and have a value in both columns (COPSE_NO_COLUMN: any). NULL rows where those are all. */
copse_status copse_card_used(const copse_table *table, uint32_t a, uint32_t b, copse_card_memory *memory,
                             copse_card_rows *out);

/* ---- order.c ---- */

/* Sorts pairs of 64-bit keys and 32-bit values, stably, by the bits in which keys differ; *keys and *values become the sorted ones. */
copse_status copse_card_sort(copse_card_memory *memory, uint64_t **keys, uint32_t **values, uint64_t n);
copse_status copse_card_sort_rows(const copse_table *table, const copse_sort_key *keys, uint32_t count,
                                  copse_card_memory *memory, copse_card_rows *rows);

/* Rows that live and have a value in both columns (b may be COPSE_NO_COLUMN) in the order of a, and its codes, ascending. */
copse_status copse_card_sort_column(const copse_table *table, uint32_t a, uint32_t b, copse_card_memory *memory,
                                    uint64_t **codes, copse_card_rows *out);

/* ---- reduce.c ---- */

/* One partial for each group of a list of rows, at *out, in device memory. starts: groups + 1. */
copse_status copse_card_reduce(const copse_table *table, uint32_t column, const copse_card_rows *rows,
                               const uint64_t *starts, uint64_t groups, copse_card_memory *memory,
                               copse_card_partial **out);
/* One partial of all of n, at *out, in device memory. */
copse_status copse_card_merge(const copse_card_partial *partials, uint64_t n, copse_card_memory *memory,
                              copse_card_partial **out);
/* Different values of each group. */
copse_status copse_card_distinct(const copse_table *table, uint32_t column, const copse_card_rows *rows,
                                 const uint64_t *starts, uint64_t groups, copse_card_memory *memory, uint64_t **out);

/* ---- totals.c: aggregates over pairs ---- */

/* Whether floats of the right side are summed, in the order of the pairs. */
bool copse_card_totals_need_order(const copse_joined *join);
/* Adds all pairs of a join to its totals. */
copse_status copse_card_totals(const copse_joined *join, const copse_card_pair_list *pairs);

/* ---- output.c, groups.c: results in host memory ---- */

/* The cell of a code, as a value; of strings that of a number. -0.0 and 0.0 have the same. */
copse_value copse_card_value(const copse_table *table, uint32_t number, uint64_t code);
/* Cells of rows as a column in host memory; strings come from there. */
copse_status copse_card_fetch(const copse_table *table, uint32_t column, const copse_card_rows *rows,
                              copse_card_memory *memory, copse_stored_column *out);

/* ---- pairs.c ---- */

/* Puts the partners of each left row in the order of their numbers. */
copse_status copse_card_pairs_order(copse_card_memory *memory, uint64_t **left, uint64_t **right, uint64_t n);
/* Gives pairs n arrays of the device, which the memory list had. */
void copse_card_pairs_take(copse_pairs *pairs, copse_card_memory *memory, uint64_t *left, uint64_t *right, uint64_t n);

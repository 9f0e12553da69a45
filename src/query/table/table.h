/*
 * Tables: columns in host memory, and which rows there are. On a device they have an image besides (query/device/).
 *
 *   column "name" (string)                          column "price" (f64)
 *   cells     | start, length | start, length | ..   cells     | 1.5 | 0 | 2.25 | ..
 *   validity  1 1 0 1 ..  a bit for each row         validity  1 0 1 ..
 *   text      | a p p l e p e a r ..                 (a cell that is NULL is 0)
 *
 * A text that is replaced stays in `text` until the table is compacted. Deleted rows keep their place; `alive` says which are.
 * Every fixed-width cell has a code, an unsigned number that sorts as the cells do (core/codec.h): predicates, sorting and groups
 * work on codes and know no types.
 */
#pragma once

#include "copse_query.h"

#include "core/bytes.h"
#include "core/codec.h"
#include "query/table/buffer.h"

#define COPSE_ROW_NONE   UINT32_MAX /* no row, in arrays of row numbers inside; a cell from there is NULL */
#define COPSE_MOST_ROWS  (UINT32_MAX - 1u)
#define COPSE_SHOWN_CELL 72 /* bytes of a cell in a sentence */

/* Where a text begins, and its length in the lowest COPSE_TEXT_LENGTH bits. */
typedef uint64_t copse_text;
#define COPSE_TEXT_LENGTH 17u /* up to COPSE_LONGEST_KEY bytes */

static inline copse_text copse_text_at(uint64_t start, uint64_t length)
{
    return start << COPSE_TEXT_LENGTH | length;
}

typedef struct copse_table_file copse_table_file; /* query/file/file.h */

typedef struct copse_stored_column {
    char *name;
    size_t name_bytes;
    uint32_t type;
    uint32_t width; /* of a cell */
    copse_buffer cells;
    copse_buffer validity;
    copse_buffer text;
    uint64_t text_used;
    uint64_t nulls; /* among all rows, deleted ones too */
    /* Where the buffers are a mapped file: that, and the first block of each. */
    copse_table_file *file;
    uint64_t cells_block, validity_block, text_block;
} copse_stored_column;

typedef struct copse_stored_index copse_stored_index; /* query/index/index.h */
typedef struct copse_table_image copse_table_image;   /* query/device/device.h */

struct copse_table {
    copse_ctx *ctx;
    copse_stored_column *columns;
    uint32_t column_count;
    uint64_t slots; /* rows, and those that were deleted */
    uint64_t live;
    copse_buffer alive;   /* a bit for each row; none where no row was deleted */
    copse_buffer indexes; /* copse_stored_index */
    uint32_t index_count;
    copse_table_file *file; /* NULL: all is in memory */
    copse_placement placement;
    copse_table_image *image; /* on a device; NULL: on the CPU */
};

/* ---- one cell ---- */

static inline bool copse_bit(const copse_buffer *bits, uint64_t at)
{
    return ((const uint8_t *)bits->data)[at / 8] >> (at % 8) & 1;
}

static inline void copse_bit_set(copse_buffer *bits, uint64_t at, bool value)
{
    uint8_t *byte = (uint8_t *)bits->data + at / 8, mask = (uint8_t)(1u << (at % 8));
    *byte = value ? *byte | mask : *byte & (uint8_t)~mask;
}

static inline bool copse_row_lives(const copse_table *table, uint64_t row)
{
    return !table->alive.data || copse_bit(&table->alive, row);
}

static inline bool copse_cell_valid(const copse_stored_column *column, uint64_t row)
{
    return column->nulls == 0 || copse_bit(&column->validity, row);
}

static inline copse_slice copse_cell_text(const copse_stored_column *column, uint64_t row)
{
    const copse_text text = ((const copse_text *)column->cells.data)[row];
    const uint64_t start = text >> COPSE_TEXT_LENGTH, length = text & ((1u << COPSE_TEXT_LENGTH) - 1);
    /* A file may say anything. */
    if (length == 0 || start >= column->text_used || length > column->text_used - start) return COPSE_SLICE_EMPTY;
    return (copse_slice){(const unsigned char *)column->text.data + start, length};
}

/* The code of a fixed-width cell. */
static inline uint64_t copse_cell_code(const copse_stored_column *column, uint64_t row)
{
    if (column->width == 8)
        return copse_encode_one_k64((copse_type)column->type, ((const uint64_t *)column->cells.data)[row]);
    if (column->width == 4)
        return copse_encode_one_k32((copse_type)column->type, ((const uint32_t *)column->cells.data)[row]);
    return ((const uint8_t *)column->cells.data)[row];
}

/* What the code stands for, at `out`, which has the width of the column. */
void copse_code_store(const copse_stored_column *column, uint64_t code, void *out);

static inline bool copse_column_is_text(const copse_stored_column *column)
{
    return column->type == COPSE_STRING;
}

static inline bool copse_column_is_float(const copse_stored_column *column)
{
    return column->type == COPSE_F32 || column->type == COPSE_F64;
}

/* Numbers that can be added: not dates, timestamps and strings. */
static inline bool copse_column_is_number(const copse_stored_column *column)
{
    return copse_type_is_value((copse_type)column->type) || column->type == COPSE_BOOL;
}

/* A whole number, with its sign: of integers, dates, timestamps and bools. */
__extension__ typedef __int128 copse_wide;
copse_wide copse_cell_whole(const copse_stored_column *column, uint64_t row);
double copse_cell_float(const copse_stored_column *column, uint64_t row);
copse_value copse_cell_value(const copse_stored_column *column, uint64_t row);
/* < 0, 0, > 0; cells of columns of the same type; NULL is the smallest. */
int copse_cell_compare(const copse_stored_column *a, uint64_t row_a, const copse_stored_column *b, uint64_t row_b);

/* Of a text and its prefix; not mixed yet. */
static inline uint64_t copse_text_hash(copse_slice text, uint64_t prefix)
{
    uint64_t hash = prefix ^ text.length;
    for (size_t i = 8; i < text.length; i++) hash = (hash ^ text.start[i]) * UINT64_C(0x100000001B3);
    return hash;
}

/* Different numbers have different hashes. */
static inline uint64_t copse_mix(uint64_t hash)
{
    hash *= UINT64_C(0x9E3779B97F4A7C15);
    return hash ^ hash >> 32;
}

/* ---- columns: column.c ---- */

const char *copse_column_type_name(uint32_t type);
uint32_t copse_column_width(uint32_t type); /* 0: no type of a column */

copse_status copse_column_open(const copse_ctx *ctx, const char *name, uint32_t type, copse_stored_column *out);
void copse_column_close(const copse_ctx *ctx, copse_stored_column *column);
/* Room for `slots` rows, and for so many bytes of text more than there are. */
copse_status copse_column_reserve(const copse_ctx *ctx, copse_stored_column *column, uint64_t slots, uint64_t text);
/* Sets one cell; there is room for it. `slot_is_new`: no cell was there before. */
void copse_column_put(copse_stored_column *column, uint64_t row, const copse_stored_column *from, uint64_t from_row,
                      bool slot_is_new);
/* Bytes of text in rows (NULL: 0 .. n - 1). */
uint64_t copse_column_text_bytes(const copse_stored_column *column, const uint32_t *rows, uint64_t n);
/* Cells at, at + 1, ... become those of the rows of another column (NULL: 0 .. n - 1). Reserves what that needs. */
copse_status copse_column_gather(const copse_ctx *ctx, copse_stored_column *column, uint64_t at,
                                 const copse_stored_column *from, const uint32_t *rows, uint64_t n);
/* A number or text as the next cell; for results, whose types are known to fit. */
copse_status copse_column_push(const copse_ctx *ctx, copse_stored_column *column, uint64_t row, copse_value value);

/* ---- tables: table.c ---- */

/* Without columns; they are set by the caller. */
copse_status copse_table_begin(copse_ctx *ctx, uint32_t column_count, copse_table **out);
void copse_table_close(copse_table *table);
copse_status copse_table_column(const copse_table *table, const char *call, const char *name, uint32_t *out);
/* COPSE_OK, or a sentence on a table that is NULL. */
copse_status copse_table_check(const copse_table *table, const char *call);
/* A cell for a sentence, shortened: names are shown with %.40s. */
const char *copse_cell_show(const copse_stored_column *column, uint64_t row, char shown[COPSE_SHOWN_CELL]);
/* Rows of a table that live, ascending; `out` has room for table->live. */
void copse_table_live_rows(const copse_table *table, uint32_t *out);

/* ---- tables in files: query/file/ ---- */

void copse_block_touch(copse_table_file *file, uint64_t block);
void copse_cells_touch_file(const copse_stored_column *column, const uint32_t *rows, uint64_t n);
copse_status copse_rows_check_file(const copse_table *table, const uint32_t *rows, uint64_t n);
copse_status copse_table_sound_file(const copse_table *table);
void copse_table_file_close(copse_table_file *file);
copse_status copse_table_verify_file(const copse_table *table);

/* Before cells of these rows (NULL: 0 .. n - 1) are looked at: those of a file are checked. Damage is noted, for copse_table_sound. */
static inline void copse_cells_touch(const copse_stored_column *column, const uint32_t *rows, uint64_t n)
{
    if (column->file) copse_cells_touch_file(column, rows, n);
}

/* Rows that an index gave: one of a file may list any number. */
static inline copse_status copse_rows_check(const copse_table *table, const uint32_t *rows, uint64_t n)
{
    return table->file ? copse_rows_check_file(table, rows, n) : COPSE_OK;
}

/* Whether no damage was met, so that answers hold. Once there was some, a table gives no more answers. */
static inline copse_status copse_table_sound(const copse_table *table)
{
    return table->file ? copse_table_sound_file(table) : COPSE_OK;
}

/* An open file is never changed. */
copse_status copse_table_changeable(const copse_table *table, const char *call);

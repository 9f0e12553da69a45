/*
 * Tables as files: sections of cells in blocks of 4,096 bytes with a checksum each, then the indexes as snapshots (snapshot/format.h).
 *
 *      0    +----------------------------------------+
 *           |  header, 128 bytes                     |  table_header, below; its checksum is the last field
 *    128    |  a table_column for each column        |
 *           |  a table_index for each index          |
 *           |  names, each with a NUL behind it      |
 *           +----------------------------------------+  at a multiple of 64
 *           |  checksums                             |  8 bytes for each block of the sections
 *           +----------------------------------------+  at a multiple of 4096, as all that follow
 *           |  cells of column 0                     |  rows * width
 *           |  validity of column 0                  |  rows / 8 + 1 bytes, where it has NULLs
 *           |  text of column 0                      |  of strings
 *           |  ...                                   |
 *           |  which rows there are                  |  rows / 8 + 1 bytes, where some were deleted
 *           |  index 0, ...                          |
 *           +----------------------------------------+
 *
 * Where everything lies follows from the header and the directory; the file repeats no offset that a reader could follow astray. Gaps
 * are zero, those at the end of a section a part of its last block. Checksums are XXH3 with 64 bits and seed 0.
 *
 * A file that is open is mapped. A block is checked when it is first touched; all of the file's numbers that are used as places (of rows, of
 * texts) are compared with their limits each time, so that a file that changes while it is open gives wrong answers at worst.
 */
#pragma once

#include "query/index/index.h"

#include "snapshot/format.h"

#include <stdatomic.h>

#define TABLE_MAGIC   "\211CPT\r\n\032\n"
#define TABLE_VERSION 2u
#define TABLE_BLOCK   4096u

typedef struct table_header {
    char magic[8];
    uint32_t version;
    uint32_t endianness;
    uint32_t header_size;
    uint32_t block_size;
    uint32_t column_count;
    uint32_t index_count;
    uint64_t slots;
    uint64_t live;
    uint64_t names_size;
    uint64_t file_size;
    uint64_t directory_checksum; /* of columns, indexes and names */
    uint64_t checksums_checksum;
    uint8_t zero[40];
    uint64_t checksum;
} table_header;

typedef struct table_column {
    uint32_t type;
    uint32_t name_size; /* with its NUL */
    uint64_t nulls;
    uint64_t text_size;
    uint64_t zero;
} table_column;

typedef struct table_index {
    uint32_t columns[COPSE_MOST_KEY_COLUMNS]; /* those behind the last are 0 */
    uint32_t column_count;
    uint32_t sums;
    uint32_t structure;
    uint32_t unique;
    uint64_t size;
    uint64_t zero;
} table_index;

_Static_assert(sizeof(table_header) == 128, "the header of a table has 128 bytes");
_Static_assert(sizeof(table_column) == 32, "a column has 32 bytes in the directory");
_Static_assert(sizeof(table_index) == 48, "an index has 48 bytes in the directory");

typedef struct table_section {
    uint64_t offset;
    uint64_t size; /* without the rest of its last block */
} table_section;

enum { TABLE_CELLS = 0, TABLE_VALIDITY = 1, TABLE_TEXT = 2, TABLE_SECTIONS = 3 };

/* Where everything lies. */
typedef struct table_layout {
    table_header header;
    const table_column *columns;
    const table_index *indexes;
    table_section directory; /* with the names */
    table_section checksums;
    uint64_t sections_at;
    uint64_t block_count;
    table_section alive;
    table_section indexes_at; /* the first; all of them */
} table_layout;

/* From header, columns and indexes. false: the sizes overflow, or a type is none. */
bool table_layout_find(table_layout *layout);
/* One of the sections of a column, and the place of an index. */
table_section table_layout_section(const table_layout *layout, uint32_t column, unsigned which);
table_section table_layout_index(const table_layout *layout, uint32_t index);
uint64_t table_header_checksum(const table_header *header);

typedef atomic_uchar table_state; /* of a block */

struct copse_table_file {
    copse_ctx *ctx;
    char *path;
    size_t path_size;
    const char *bytes; /* the mapping */
    uint64_t size;
    table_layout layout;
    const uint64_t *checksums;
    table_state *states;
    size_t states_size;
    atomic_uint_least64_t damaged; /* 1 + the first damaged block that was met; 0: none */
    atomic_bool misled;            /* an index lists a row that is not there */
};

/* open.c: maps a file and checks what comes before the sections. */
copse_status table_file_open(copse_ctx *ctx, const char *path, copse_table_file **out);
/* touch.c: checks all blocks, and the gaps. */
copse_status table_file_verify(const copse_table_file *file);

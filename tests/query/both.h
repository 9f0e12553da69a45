/* One table in copse and in SQLite, and what changes both alike. The number of a row in copse is `row` in SQLite. */
#ifndef TESTS_QUERY_BOTH_H
#define TESTS_QUERY_BOTH_H

#include "copse_query.h"

#include "random.h"
#include "test_allocator.h"

#include <sqlite3.h>
#include <stdbool.h>

#define BOTH_MOST_COLUMNS 8
#define BOTH_MOST_TEXT    24

/* A value and the bytes of its text. */
struct cell {
    copse_value value; /* type 0: NULL */
    char text[BOTH_MOST_TEXT];
};

/* The value with its text where the cell has it: cells are copied. */
static inline copse_value cell_value(const struct cell *cell)
{
    copse_value value = cell->value;
    if (value.type == COPSE_STRING) value.as.text = cell->text;
    return value;
}

struct both_column {
    char name[8];
    uint32_t type;
    uint64_t spread; /* different values, about */
    unsigned nulls;  /* of 100 */
    bool large;      /* numbers near the ends of the type */
    bool indexed;
};

struct both {
    struct random_source random;
    struct test_allocator allocator;
    copse_ctx *ctx;
    copse_table *table;
    sqlite3 *sqlite;
    struct both_column columns[BOTH_MOST_COLUMNS];
    uint32_t column_count; /* column 0 is "id", an i64, each once */
    int64_t next_id;
    bool unique;
    copse_placement placement; /* where the table goes, now and then */
    char why[4096];            /* what went wrong, "": nothing */
};

/* placement: CPU, or a device that the table is put on, taken from and put on again. */
bool both_open(struct both *both, uint64_t seed, copse_placement placement);
void both_close(struct both *both);
/* One append, update, delete, new index or compaction, at times with an allocator that fails. false: why says what was wrong. */
bool both_change(struct both *both);
/* Something that may be in the column, or close to what may be. Never NULL. */
struct cell both_value(struct both *both, uint32_t column);
/* Remembers the first problem. Returns false. */
bool both_differ(struct both *both, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Binds a value to a parameter. */
void both_bind(sqlite3_stmt *statement, int at, const struct cell *cell);
/* Lets the allocator fail soon, sometimes. */
void both_arm(struct both *both);
/* Whether a status is right: COPSE_OK, or MEMORY where the allocator did fail. The allocator is well again afterwards. */
bool both_went(struct both *both, copse_status status, const char *what);

/* query.c: one random query on both. */
bool both_query(struct both *both);
/* Aggregates over many ranges at once. */
bool both_ranges(struct both *both);

/* join.c: one random join of the table with itself on both. */
bool both_join(struct both *both);

#endif

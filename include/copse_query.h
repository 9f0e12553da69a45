/*
 * copse queries: tables of typed columns, indexes on them, queries by a small builder, joins.
 *
 *     copse_table *orders = NULL;
 *     copse_table_read_csv(ctx, "orders.csv", NULL, &orders, NULL);
 *     copse_table_index(orders, "id", &(copse_table_index_options){sizeof(copse_table_index_options), .unique = 1});
 *     copse_query *query = NULL;
 *     copse_query_create(orders, &query);
 *     copse_query_between(query, "id", copse_value_i64(1000), copse_value_i64(1999));
 *     copse_query_aggregate(query, COPSE_AGGREGATE_SUM, "amount");
 *     copse_table *answer = NULL;
 *     copse_query_run(query, &answer);
 *
 * What every call promises is what copse.h says: a status, a sentence in copse_last_error() of the context that names
 * column and row, and after a failure everything as before. docs/QUERY.md shows a query on its way.
 *
 * Rows have numbers, from 0 in the order in which they came. A row keeps its number until copse_table_compact; that of a
 * deleted row is not given again. A table holds up to 2^32 - 2 of them.
 *
 * NULL is no value: it is equal to nothing, no range holds it, aggregates pass over it; grouping puts all of them into
 * one group, and in ascending order they come first. NaN is refused in columns; leave the cell NULL.
 *
 * Calls that only read a table (const copse_table *) may run at the same time from several threads, each with a query of
 * its own. A call that changes a table must have it alone. Tables are in host memory, and on the CPU.
 */
#ifndef COPSE_QUERY_H
#define COPSE_QUERY_H

#include "copse.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------------------------------------------------------
 * Columns and values
 * ------------------------------------------------------------------------------------------------------------------ */

/* The type of a column is a copse_type that keys may have, or COPSE_BOOL: uint8_t, 0 or 1. Strings are COPSE_BYTES. */
#define COPSE_BOOL   64u
#define COPSE_STRING ((uint32_t)COPSE_BYTES)

/* An array of cells on its way into a table. The layout of this struct does not change. */
typedef struct copse_column {
    const char *name;
    uint32_t type;
    uint32_t reserved; /* 0 */
    /* One element for each row; of strings a const copse_bytes *. Cells that are NULL may hold anything of the type. */
    const void *data;
    /* Bit i % 8 of byte i / 8 is 1 where row i has a value, as Arrow has it; NULL: all rows have. */
    const uint8_t *validity;
} copse_column;

/* One cell, or what a cell is compared with. type is COPSE_I64 (also for i32, date, timestamp and bool), COPSE_U64 (also
 * u32), COPSE_F64 (also f32), COPSE_STRING, or 0: NULL. Dates are days, timestamps microseconds since 1970. The layout
 * does not change. */
typedef struct copse_value {
    uint32_t type;
    uint32_t size; /* bytes of the text */
    union {
        int64_t i64;
        uint64_t u64;
        double f64;
        const char *text;
    } as;
} copse_value;

static inline copse_value copse_value_null(void)
{
    copse_value value;
    value.type = value.size = 0;
    value.as.u64 = 0;
    return value;
}

static inline copse_value copse_value_i64(int64_t number)
{
    copse_value value = copse_value_null();
    value.type = COPSE_I64;
    value.as.i64 = number;
    return value;
}

static inline copse_value copse_value_u64(uint64_t number)
{
    copse_value value = copse_value_null();
    value.type = COPSE_U64;
    value.as.u64 = number;
    return value;
}

static inline copse_value copse_value_f64(double number)
{
    copse_value value = copse_value_null();
    value.type = COPSE_F64;
    value.as.f64 = number;
    return value;
}

static inline copse_value copse_value_text(const char *text, uint32_t size)
{
    copse_value value = copse_value_null();
    value.type = COPSE_STRING;
    value.size = size;
    value.as.text = text;
    return value;
}

/* ------------------------------------------------------------------------------------------------------------------
 * Tables
 * ------------------------------------------------------------------------------------------------------------------ */

typedef struct copse_table copse_table;

/* A table of `rows` rows from arrays, which are copied. Names are not empty, and differ.
 * Errors: ARGUMENT, TYPE (an unknown type), NAN. */
COPSE_API copse_status copse_table_create(copse_ctx *ctx, const copse_column *columns, uint32_t column_count,
                                          uint64_t rows, copse_table **out_table);
COPSE_API void copse_table_free(copse_table *table); /* NULL is fine */

/* Rows that are there; and one more than the highest number of a row. */
COPSE_API uint64_t copse_table_rows(const copse_table *table);
COPSE_API uint64_t copse_table_end(const copse_table *table);
/* 0 where the row was deleted, or never was. */
COPSE_API int copse_table_has_row(const copse_table *table, uint64_t row);
COPSE_API uint32_t copse_table_columns(const copse_table *table);
/* NULL and 0 for a column that is not there. */
COPSE_API const char *copse_table_column_name(const copse_table *table, uint32_t column);
COPSE_API uint32_t copse_table_column_type(const copse_table *table, uint32_t column);
/* Errors: ARGUMENT, with the closest name there is. */
COPSE_API copse_status copse_table_find_column(const copse_table *table, const char *name, uint32_t *out_column);

/* One cell. A text stays valid until the table changes, and does not end in a NUL. Errors: ARGUMENT (no such row). */
COPSE_API copse_status copse_table_get(const copse_table *table, uint64_t row, uint32_t column, copse_value *out_value);

/* Adds rows behind the last. Columns are found by name and have the type of the table's; a column that is not given gets
 * NULLs. Errors: ARGUMENT (no such column, a key that is there already: the row of the array is named; a NULL key),
 * TYPE, NAN. */
COPSE_API copse_status copse_table_append(copse_table *table, const copse_column *columns, uint32_t column_count,
                                          uint64_t rows);

/* Rows whose key column, which has an index, holds keys->data[i] get cell i of each of the columns; where a key comes twice
 * the later one wins. A key that no row has is no error: out_updated (may be NULL) says how many rows changed. The unique
 * column itself cannot be changed so. Errors: ARGUMENT, TYPE, NAN, UNSUPPORTED (no index). */
COPSE_API copse_status copse_table_update(copse_table *table, const copse_column *keys, uint64_t n,
                                          const copse_column *columns, uint32_t column_count, uint64_t *out_updated);

/* Deletes all rows with one of the keys. Errors: ARGUMENT, TYPE, NAN, UNSUPPORTED (no index). */
COPSE_API copse_status copse_table_delete(copse_table *table, const copse_column *keys, uint64_t n,
                                          uint64_t *out_deleted);

/* Gives the memory of deleted rows and of texts that were replaced back; rows are numbered anew. */
COPSE_API copse_status copse_table_compact(copse_table *table);

typedef struct copse_table_index_options {
    uint32_t struct_size;
    /* 1: the primary index: no two rows have the same key and none is NULL. A table has one at most. */
    uint32_t unique;
    uint32_t structure; /* copse_structure */
    uint32_t reserved;  /* 0 */
    /* A numeric column whose sums, means, minima and maxima over ranges of the indexed column are to cost no more than
     * a lookup, or NULL. Every call with another such column adds one. */
    const char *sums;
} copse_table_index_options;
#define COPSE_TABLE_INDEX_OPTIONS_INIT                                                                                 \
    {                                                                                                                  \
        sizeof(copse_table_index_options), 0, COPSE_STRUCTURE_AUTO, 0, NULL                                            \
    }

/* An index on a column, which appends, updates and deletes keep in step. options may be NULL. Calling it again for the
 * same column only adds `sums`. Errors: ARGUMENT (no such column; two rows with the same key: both are named; a second
 * unique index), TYPE (sums of a column that has none), UNSUPPORTED (a string of more than COPSE_LONGEST_KEY bytes). */
COPSE_API copse_status copse_table_index(copse_table *table, const char *column,
                                         const copse_table_index_options *options);

/* Compares every index with the rows. Errors: CORRUPT. */
COPSE_API copse_status copse_table_verify(const copse_table *table);

/* ------------------------------------------------------------------------------------------------------------------
 * Queries
 * ------------------------------------------------------------------------------------------------------------------ */

typedef struct copse_query copse_query;

/* A query on a table, which must outlive it. It starts as "all columns of all rows". A query may run many times, also after
 * the table changed; one query is for one thread at a time. */
COPSE_API copse_status copse_query_create(const copse_table *table, copse_query **out_query);
COPSE_API void copse_query_free(copse_query *query); /* NULL is fine */

typedef enum copse_comparison {
    COPSE_EQUAL = 0,
    COPSE_NOT_EQUAL = 1,
    COPSE_LESS = 2,
    COPSE_LESS_OR_EQUAL = 3,
    COPSE_GREATER = 4,
    COPSE_GREATER_OR_EQUAL = 5,
    COPSE_PREFIX = 6,     /* strings that begin with the value */
    COPSE_IS_NULL = 7,    /* the value is not looked at        */
    COPSE_IS_NOT_NULL = 8 /* the value is not looked at        */
} copse_comparison;

/* Conditions. Those of a query are joined by AND; copse_query_or ends one group of them and begins the next, of which a row
 * has to meet one.
 *
 * Values: whole numbers for columns of whole numbers, any number for floats; a number that the type of the column cannot hold
 * is compared all the same. A text is read as a cell of the column: "2024-03-31", "12.5", "true". A date alone, as the
 * end of timestamps (LESS_OR_EQUAL, GREATER, high), means the end of that day.
 * Errors: ARGUMENT (no such column; a date that does not exist), TYPE (a value that does not fit the column; PREFIX of a
 * column that is no string; NULL), NAN. */
COPSE_API copse_status copse_query_where(copse_query *query, const char *column, copse_comparison comparison,
                                         copse_value value);
COPSE_API copse_status copse_query_between(copse_query *query, const char *column, copse_value low, copse_value high);
COPSE_API copse_status copse_query_in(copse_query *query, const char *column, const copse_value *values, uint64_t n);
COPSE_API copse_status copse_query_or(copse_query *query);

/* Adds a column to what comes out. A query with aggregates has the columns that it groups by and the aggregates, and no
 * others. */
COPSE_API copse_status copse_query_select(copse_query *query, const char *column);

typedef enum copse_aggregate {
    COPSE_AGGREGATE_COUNT = 0, /* rows; with a column, rows where it is not NULL              */
    COPSE_AGGREGATE_SUM = 1,   /* i64 of bool i32 i64, u64 of u32 u64, f64 of f32 f64         */
    COPSE_AGGREGATE_MIN = 2,   /* of the column's type                                        */
    COPSE_AGGREGATE_MAX = 3,
    COPSE_AGGREGATE_AVG = 4,           /* f64                                                 */
    COPSE_AGGREGATE_COUNT_DISTINCT = 5 /* different values; NULL is none                      */
} copse_aggregate;

/* Adds an aggregate, and a column "count", "count(x)", "sum(x)", "min(x)", "max(x)", "avg(x)" or "count(distinct x)" to the
 * result. Of no rows counts are 0 and all else is NULL. Integer sums are exact; where one does not fit, the run returns
 * COPSE_ERR_OVERFLOW with the exact sum in its sentence. Floats are added in the order of the rows, or, where an index with
 * `sums` answers, as copse_sum adds them. Errors: ARGUMENT, TYPE (sum and avg of dates, timestamps, strings). */
COPSE_API copse_status copse_query_aggregate(copse_query *query, copse_aggregate what, const char *column);
/* Up to two; groups come in the order of these columns. */
COPSE_API copse_status copse_query_group_by(copse_query *query, const char *column);

/* Rows come in the order of their numbers, unless this says otherwise; the first call decides, the next among equals, up to
 * four, and the number of the row in the end. In a query with aggregates it names a column of the result. */
COPSE_API copse_status copse_query_order_by(copse_query *query, const char *column, int descending);
/* At most `limit` rows of the result (UINT64_MAX: all), after the first `offset`. */
COPSE_API copse_status copse_query_limit(copse_query *query, uint64_t limit, uint64_t offset);

/* The result as a new table, which belongs to the context of the first. Errors: OVERFLOW. */
COPSE_API copse_status copse_query_run(copse_query *query, copse_table **out_table);

/* The numbers of the rows, for a query without aggregates. out_n is how many there are; where that is more than capacity,
 * the call returns COPSE_ERR_TOO_SMALL, but not with capacity 0 and rows NULL. */
COPSE_API copse_status copse_query_rows(copse_query *query, uint64_t *rows, uint64_t capacity, uint64_t *out_n);

/* Runs the query and says how: which index drove each group of conditions and why, rows expected and rows found. The text
 * lives until the next call on the query. */
COPSE_API copse_status copse_query_explain(copse_query *query, const char **out_text);

#ifdef __cplusplus
}
#endif
#endif /* COPSE_QUERY_H */

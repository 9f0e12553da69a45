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
 * Long queries and joins ask the progress callback of the context now and then, on the thread of the call, whether to go on;
 * one that it ends gives COPSE_ERR_CANCELLED and no result.
 *
 * Calls that only read a table (const copse_table *) may run at the same time from several threads, each with a query of
 * its own. A call that changes a table must have it alone. Tables are on the CPU, unless copse_table_place puts them on a card, too.
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

/* A table of `rows` rows from arrays, which are copied; those of numbers, and validity, may lie in device memory. Names are not empty, and differ.
 * Errors: ARGUMENT, TYPE (an unknown type), NAN. */
COPSE_API copse_status copse_table_create(copse_ctx *ctx, const copse_column *columns, uint32_t column_count,
                                          uint64_t rows, copse_table **out_table);
COPSE_API void copse_table_free(copse_table *table); /* NULL is fine */

/* Puts up to size bytes into buffer and returns how many; 0 at the end. On an error it sets *out_error to an errno. */
typedef size_t (*copse_read_fn)(void *user, void *buffer, size_t size, int *out_error);

typedef struct copse_table_csv_options {
    uint32_t struct_size;
    uint32_t flags;     /* COPSE_CSV_* */
    uint32_t delimiter; /* a character; 0: guess among , ; | and tab */
    uint32_t decimal;   /* '.' or ','; 0: guess */
    /* "id=u32,day=date": i32 i64 u32 u64 f32 f64 bool date timestamp string. Types that are not given are guessed from
     * the first 1,000 rows. NULL: all are guessed. */
    const char *types;
    /* How dates and times are written, such as "%d.%m.%Y %H:%M", or "s", "ms", "us", "ns": numbers since 1970; NULL: as
     * YYYY-MM-DD and YYYY-MM-DDTHH:MM:SS. */
    const char *date_format;
    /* Cells that stand for NULL, besides empty ones, with commas between; NULL: NA, N/A, n/a, #N/A, <NA>, NULL, null,
     * None. A quoted cell of a string column is never NULL. */
    const char *nulls;
    /* Where the bytes come from, for instance through zlib; NULL: from the file. */
    copse_read_fn read;
    void *read_user;
    /* Hears what is odd about a file that is read all the same, such as a cell that makes a column of numbers one of strings: a
     * sentence, valid during the call. NULL: nobody does. */
    void (*remark)(void *user, const char *sentence);
    void *remark_user;
} copse_table_csv_options;
#define COPSE_TABLE_CSV_OPTIONS_INIT                                                                                   \
    {                                                                                                                  \
        sizeof(copse_table_csv_options), 0, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL                             \
    }
#define COPSE_CSV_NO_HEADER 1u /* the first line is data; columns are "#1", "#2", ... */
#define COPSE_CSV_SKIP_BAD  2u /* rows with a bad cell, or too few or too many, are left out and counted */

/* A table from CSV. path names the file in sentences, also where `read` gives the bytes. options may be NULL; out_skipped
 * (may be NULL) receives the number of rows that were left out. A column without a name is "#N", and one whose name an
 * earlier column has gets "#N" behind it. Long reads report progress.
 * Errors: IO, FORMAT (line and column are named), ARGUMENT (types), CANCELLED, UNSUPPORTED (gzip data without `read`). */
COPSE_API copse_status copse_table_read_csv(copse_ctx *ctx, const char *path, const copse_table_csv_options *options,
                                            copse_table **out_table, uint64_t *out_skipped);

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

/* The same by a key of several columns, which copse_table_index_columns has put an index on, in any order: row i of the arrays is a key, and one with a
 * NULL in it is that of no row. */
COPSE_API copse_status copse_table_update_by_columns(copse_table *table, const copse_column *keys, uint32_t key_count,
                                                     uint64_t n, const copse_column *columns, uint32_t column_count,
                                                     uint64_t *out_updated);
COPSE_API copse_status copse_table_delete_by_columns(copse_table *table, const copse_column *keys, uint32_t key_count,
                                                     uint64_t n, uint64_t *out_deleted);

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

/* The same on up to four columns: the first decides, the next among equals. Queries use it for conditions that are one value each
 * of its first columns and a range of the next. It has no sums. Rows with NULLs are in it, too, unless it is unique. */
COPSE_API copse_status copse_table_index_columns(copse_table *table, const char *const *columns, uint32_t column_count,
                                                 const copse_table_index_options *options);

/* Puts the columns of numbers, the NULLs of all columns, and the indexes on such columns on a device: COPSE_PLACEMENT_GPU, or
 * COPSE_PLACEMENT_EMULATED for tests; COPSE_PLACEMENT_CPU takes them away again. Conditions, orders, groups, aggregates and joins then run
 * there, with the same answers; strings, which stay in host memory, have numbers there that sort as they do, made when first needed. Host memory keeps
 * all columns: changes are made there, and their cells follow to the device. Where that has no memory for them, the change holds all the same, queries
 * run on the CPU, and the next change, or this call, brings the device in step. After a failure the table is where it was.
 * Errors: ARGUMENT (another placement), DEVICE (none that can be used), MEMORY, UNSUPPORTED (a context with COPSE_CTX_DEVICE_ARRAYS). */
COPSE_API copse_status copse_table_place(copse_table *table, copse_placement placement);
COPSE_API copse_placement copse_table_placement(const copse_table *table); /* AUTO for NULL */

/* What an index is of. Columns are numbers; sums is UINT32_MAX where its values are rows. */
typedef struct copse_table_index_info {
    uint32_t struct_size;
    uint32_t unique;
    uint32_t columns[4];
    uint32_t column_count;
    uint32_t sums;
    uint32_t structure; /* copse_structure, as it is now */
    uint32_t reserved;
    uint64_t entries;
} copse_table_index_info;
COPSE_API uint32_t copse_table_indexes(const copse_table *table);
/* Errors: ARGUMENT (no such index). */
COPSE_API copse_status copse_table_index_describe(const copse_table *table, uint32_t index,
                                                  copse_table_index_info *out_info);

/* Compares every index with the rows, and all of an open file with its checksums. Errors: CORRUPT, FORMAT (a damaged file). */
COPSE_API copse_status copse_table_verify(const copse_table *table);

/* Saves a table with its indexes as one file, or leaves the file as it was: docs/FORMAT.md. Rows keep their numbers.
 * Errors: IO, CANCELLED. */
COPSE_API copse_status copse_table_save(copse_table *table, const char *path);
/* The same for a table that is needed no more: it is freed, also where saving failed, and each column once it is written, so that the
 * file may take its memory. */
COPSE_API copse_status copse_table_save_and_free(copse_table *table, const char *path);

/* A saved table in memory, which may be changed. All of it is checked. Errors: IO, FORMAT (damage is named), VERSION. */
COPSE_API copse_status copse_table_load(copse_ctx *ctx, const char *path, copse_table **out_table);

/* A saved table that is read where it lies: it opens at once, whatever its size, and a query reads what it needs of it. Blocks are
 * checked when they are first read; once damage was met, all calls on the table return FORMAT and a sentence that names it.
 * The table cannot be changed (UNSUPPORTED), but indexed further, in memory. The file must not be cut or written to while it
 * is open; replace it by renaming, as copse_table_save does. Errors: IO, FORMAT, VERSION. */
COPSE_API copse_status copse_table_open(copse_ctx *ctx, const char *path, copse_table **out_table);

/* ------------------------------------------------------------------------------------------------------------------
 * Arrow
 * ------------------------------------------------------------------------------------------------------------------ */

/* The Arrow C Data Interface, as its specification has it: no header and no library of Arrow is needed. */
#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE

#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE           2
#define ARROW_FLAG_MAP_KEYS_SORTED    4

struct ArrowSchema {
    const char *format;
    const char *name;
    const char *metadata;
    int64_t flags;
    int64_t n_children;
    struct ArrowSchema **children;
    struct ArrowSchema *dictionary;
    void (*release)(struct ArrowSchema *);
    void *private_data;
};

struct ArrowArray {
    int64_t length;
    int64_t null_count;
    int64_t offset;
    int64_t n_buffers;
    int64_t n_children;
    const void **buffers;
    struct ArrowArray **children;
    struct ArrowArray *dictionary;
    void (*release)(struct ArrowArray *);
    void *private_data;
};
#endif

/* A copy of the rows that are there, as a struct array ("+s") with a child for each column: i, l, I, L, f, g, b, tdD, tsu:UTC,
 * and U (64-bit offsets) for strings. The caller releases both; they do not depend on the table. On failure neither was
 * touched. */
COPSE_API copse_status copse_table_to_arrow(const copse_table *table, struct ArrowSchema *out_schema,
                                            struct ArrowArray *out_array);

/* A table from such an array; also u, z and Z for strings, and tss, tsm and tsn for timestamps, with any time zone, which is
 * not kept: timestamps are UTC. On success both were released; on failure they are the caller's as before.
 * Errors: ARGUMENT, TYPE (a column that is none of these, or a time finer than a microsecond: it is named), NAN, OVERFLOW
 * (a timestamp out of range). */
COPSE_API copse_status copse_table_from_arrow(copse_ctx *ctx, struct ArrowSchema *schema, struct ArrowArray *array,
                                              copse_table **out_table);

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
 * Values: any number for columns of numbers; one that the type of the column cannot hold is compared all the same, as 1.5 lies between
 * 1 and 2. A text is read as a cell of the column: "2024-03-31", "12.5", "true". A date alone, as the
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
 * COPSE_ERR_OVERFLOW with the exact sum in its sentence. Floats are added in blocks of rows, in one order that docs/QUERY.md draws, on
 * the CPU and on a card; where an index with `sums` answers, as copse_sum adds them. Errors: ARGUMENT, TYPE (sum and avg of dates, timestamps, strings). */
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

/* Runs a query that has aggregates, no groups, order and limit once for each range of a column, and gives a row for each: what it gives
 * with the condition that the column is in ranges i as well. Ends are cells of the column's type, as in an array of a copse_column (of
 * strings const copse_bytes *); lows or highs may be NULL. Where the query has no condition of its own and indexes answer its
 * aggregates, all ranges go to them as one batch. Errors: ARGUMENT, NAN, OVERFLOW (the range is named). */
COPSE_API copse_status copse_query_ranges(copse_query *query, const char *column, const copse_ranges *ranges,
                                          copse_table **out_table);

/* The same into arrays of the caller's, one for each aggregate, in host or device memory, without a table: ends and results of a table on a
 * card may all stay there, and nothing is copied. The query has no condition, and indexes answer its aggregates: COUNT gives uint64_t, SUM what
 * copse_sum gives, AVG double, MIN and MAX of a column with sums that column's type. Of no rows they are 0; a count next to them shows it. Bools have
 * no minima and maxima here. Errors: ARGUMENT, NAN, UNSUPPORTED (no index answers; it is said which aggregate), OVERFLOW as in copse_sum. */
COPSE_API copse_status copse_query_ranges_into(copse_query *query, const char *column, const copse_ranges *ranges,
                                               void *const *results);
/* A query that is asked again and again with other ends: gives the range that the query has of a column (from copse_query_between, or where
 * with <, <=, >, >=, =) new ends, both included. Errors: ARGUMENT (no such range; a query with OR), UNSUPPORTED (a string
 * column), and those of copse_query_between; the range is as before then. */
COPSE_API copse_status copse_query_set_between(copse_query *query, const char *column, copse_value low,
                                               copse_value high);
/* Runs a query that has aggregates and no groups, and puts aggregate i into values[i]; `count` is how many there are. No table is made,
 * and where indexes answer, no memory is taken. A text stays valid until the table changes. Errors: ARGUMENT, OVERFLOW. */
COPSE_API copse_status copse_query_values(copse_query *query, copse_value *values, uint32_t count);

/* The numbers of the rows, for a query without aggregates. out_n is how many there are; where that is more than capacity,
 * the call returns COPSE_ERR_TOO_SMALL, but not with capacity 0 and rows NULL. */
COPSE_API copse_status copse_query_rows(copse_query *query, uint64_t *rows, uint64_t capacity, uint64_t *out_n);

/* Runs the query and says how: which index drove each group of conditions and why, rows expected and rows found. The text
 * lives until the next call on the query. */
COPSE_API copse_status copse_query_explain(copse_query *query, const char **out_text);

/* ------------------------------------------------------------------------------------------------------------------
 * Joins
 * ------------------------------------------------------------------------------------------------------------------ */

typedef enum copse_join_kind {
    COPSE_JOIN_INNER = 0, /* rows of both sides whose columns are equal                                        */
    COPSE_JOIN_LEFT = 1,  /* the same, and left rows without a partner                                         */
    COPSE_JOIN_SEMI = 2,  /* left rows that have a partner, once each                                          */
    COPSE_JOIN_ANTI = 3,  /* left rows that have none                                                          */
    COPSE_JOIN_ASOF = 4,  /* each left row with the right row of the same group whose key is the largest that is
                           * not larger than its own, and no further away than the tolerance; of equal keys the
                           * last row; a left row without one stays, without a partner                          */
    COPSE_JOIN_BAND = 5   /* rows whose right key is between left key - below and left key + above             */
} copse_join_kind;

typedef struct copse_join_options {
    uint32_t struct_size;
    uint32_t kind; /* copse_join_kind */
    /* The columns that are compared, of the same type. NULL is no partner of anything. */
    const char *left_on;
    const char *right_on;
    /* ASOF: the columns whose groups the search keeps to, or NULL for both. */
    const char *left_by;
    const char *right_by;
    /* ASOF: the largest distance of the keys, in units of the key (days of dates, microseconds of timestamps); NULL
     * (copse_value_null()): any. */
    copse_value tolerance;
    /* BAND: not negative. */
    copse_value below;
    copse_value above;
} copse_join_options;
#define COPSE_JOIN_OPTIONS_INIT                                                                                        \
    {                                                                                                                  \
        sizeof(copse_join_options), COPSE_JOIN_INNER, NULL, NULL, NULL, NULL, {0, 0, {0}}, {0, 0, {0}},                \
        {                                                                                                              \
            0, 0,                                                                                                      \
            {                                                                                                          \
                0                                                                                                      \
            }                                                                                                          \
        }                                                                                                              \
    }

#define COPSE_NO_ROW UINT64_MAX /* in the place of a row that has no partner */

/* Pairs of row numbers, by the number of the left row, then of the right one. */
typedef struct copse_pairs copse_pairs;

/* Joins two tables of one context. Where both are on one card (copse_table_place) it joins them. Equal keys
 * and bands are looked up in the index of right_on, all in one batch; without one an index is made for the call. Errors: ARGUMENT
 * (no such column; a band or tolerance that is negative), TYPE (columns of different types; a band of strings or bools). */
COPSE_API copse_status copse_join(const copse_table *left, const copse_table *right, const copse_join_options *options,
                                  copse_pairs **out_pairs);
/* How many pairs a join is thought to have, from 1,024 cells of each side and in a time that does not depend on their number: to be compared
 * with how many it had. Errors: those of copse_join. */
COPSE_API copse_status copse_join_expected(const copse_table *left, const copse_table *right,
                                           const copse_join_options *options, uint64_t *out_pairs);
COPSE_API uint64_t copse_pairs_count(const copse_pairs *pairs);
/* How they were found, for people, as copse_query_explain says it of queries: "the index of the right side". */
COPSE_API const char *copse_pairs_how(const copse_pairs *pairs);
COPSE_API const uint64_t *copse_pairs_left(const copse_pairs *pairs);
/* NULL after SEMI and ANTI, which have no right side. */
COPSE_API const uint64_t *copse_pairs_right(const copse_pairs *pairs);
/* Where a device made the pairs: the same arrays in its memory, while the pairs live; NULL: the CPU made them. The calls above copy
 * them to the host when one is first made, and return NULL where there is no memory for that; so does copse_pairs_left after an as-of join,
 * which lists the rows when first called. */
COPSE_API const uint64_t *copse_pairs_device_left(const copse_pairs *pairs);
COPSE_API const uint64_t *copse_pairs_device_right(const copse_pairs *pairs);
COPSE_API void copse_pairs_free(copse_pairs *pairs); /* NULL is fine */

/* The pairs as a table: all columns of the left rows, then those of the right ones; NULLs where there is no partner. A right
 * column whose name the left table has gets "right." before it. The tables are those of the join, unchanged since. */
COPSE_API copse_status copse_pairs_table(const copse_pairs *pairs, const copse_table *left, const copse_table *right,
                                         copse_table **out_table);

/* An aggregate over all pairs of a join. The layout does not change. */
typedef struct copse_join_aggregate {
    uint32_t what;      /* copse_aggregate, all but COUNT_DISTINCT */
    uint32_t right;     /* 0: a column of the left table, 1: of the right one */
    const char *column; /* NULL: COUNT of pairs */
} copse_join_aggregate;

/* Joins two tables and adds up as it goes: no pairs are made, whatever their number. The table has one row with a column for each
 * aggregate, named as in a query ("sum(x)"; "sum(right.x)" where the left table has an x, too). NULLs, types and overflow are as in
 * copse_query_aggregate. Floats are added in the order of the pairs within each 65,536 left rows, and those sums in their order: the
 * result does not depend on indexes and threads. Errors: those of copse_join; UNSUPPORTED (COUNT_DISTINCT: make a table of the
 * pairs); ARGUMENT (a right column with SEMI and ANTI); OVERFLOW, with the exact sum. */
COPSE_API copse_status copse_join_aggregates(const copse_table *left, const copse_table *right,
                                             const copse_join_options *options, const copse_join_aggregate *aggregates,
                                             uint32_t aggregate_count, copse_table **out_table);

#ifdef __cplusplus
}
#endif
#endif /* COPSE_QUERY_H */

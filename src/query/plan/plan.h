/*
 * From a query to a plan: conditions as terms over codes, and for each conjunction the index that drives it.
 *
 *   where a >= 5 and a < 9 and b = 'x' or c is null
 *
 *   conjunction 0   term a: codes [5, 8]      term b: text ["x", "x"]
 *   conjunction 1   term c: NULL
 *
 * Conditions on the same column become one range where they can. The rules of the planner, in their order:
 *   1. Aggregates of one range, or of all rows, that indexes can answer are answered by them: no row is looked at.
 *   2. Ordered by an indexed column with a limit: that index is walked until there are enough rows, where this is expected to look at
 *      fewer rows than the rules below.
 *   3. Of the terms whose column has an index the one that holds fewest entries (counted, not guessed) drives, if that is less
 *      than a quarter of the rows: the others filter what it finds. An index of several columns answers terms that are one value each
 *      of its first columns, and one more.
 *   4. Else all rows are looked at.
 */
#pragma once

#include "query/index/index.h"
#include "query/plan/term_kind.h"

/* The end of a range of texts. */
typedef struct copse_text_end {
    copse_slice text;
    bool given;
    bool open; /* the text itself is not in the range */
} copse_text_end;

typedef struct copse_term {
    copse_term_kind kind;
    uint32_t column;
    bool is_text;
    bool empty;         /* no cell fits */
    uint64_t low, high; /* codes, both included */
    copse_text_end low_text, high_text;
    uint64_t *codes; /* LIST, NOT: ascending, each once */
    copse_slice *texts;
    uint64_t count;
} copse_term;

typedef struct copse_conjunction {
    copse_buffer terms; /* copse_term */
    uint32_t count;
    /* The plan. */
    const copse_stored_index *driver; /* NULL: all rows */
    uint64_t driving;                 /* a bit for each term that it answers */
    bool counted;                     /* some index could say how many entries it holds */
    uint64_t expected;                /* entries that it holds, or a guess */
    uint64_t found;                   /* rows that met all terms */
    uint64_t looked_at;
} copse_conjunction;

#define COPSE_MOST_DRIVING 64u /* terms that an index may answer: the first so many */
#define COPSE_MOST_ORDERS  4u
#define COPSE_MOST_GROUPS  2u

typedef struct copse_order {
    char *name; /* in the arena */
    bool descending;
} copse_order;

typedef struct copse_chosen_aggregate {
    copse_aggregate what;
    uint32_t column; /* COPSE_NO_COLUMN: rows */
} copse_chosen_aggregate;

typedef struct copse_arena_block {
    struct copse_arena_block *next;
    size_t bytes;
} copse_arena_block;

/* The ranges of a term, as calls of copse.h take them; they live until the next call with the same memory. */
typedef struct copse_term_ranges {
    copse_buffer lows, highs; /* keys, or the text of keys */
    copse_buffer low_offsets, high_offsets;
    copse_bytes low_bytes, high_bytes;
    copse_ranges ranges;
} copse_term_ranges;

/* What indexes are asked for and answer in one run. It stays with the query, so that the next run allocates nothing. */
typedef struct copse_quick {
    bool made; /* `ranges` are those of this run */
    copse_term_ranges ranges;
    const copse_stored_index *counted; /* whose entries in the ranges are `count` */
    uint64_t count;
    copse_buffer results, found; /* one for each range */
} copse_quick;

typedef enum copse_way { COPSE_WAY_ROWS, COPSE_WAY_INDEX, COPSE_WAY_ORDER } copse_way;

struct copse_query {
    const copse_table *table;
    copse_ctx *ctx;
    copse_arena_block *arena; /* texts and lists of terms */
    copse_buffer conjunctions;
    uint32_t conjunction_count;
    copse_buffer selected; /* uint32_t */
    uint32_t selected_count;
    copse_buffer aggregates;
    uint32_t aggregate_count;
    uint32_t groups[COPSE_MOST_GROUPS];
    uint32_t group_count;
    copse_order orders[COPSE_MOST_ORDERS];
    uint32_t order_count;
    uint64_t limit, offset;
    copse_buffer explained;
    /* The plan. */
    copse_way way;
    const copse_stored_index *walked; /* ORDER */
    uint64_t walk_expected;
    uint64_t walk_looked_at;
    copse_quick quick; /* INDEX */
    /* Of a table on a device: whether that ran the query, else why not (a few words), and how many rows met the conditions. */
    bool on_device;
    const char *why_host;
    uint64_t device_found;
};

static inline copse_conjunction *copse_conjunctions(const copse_query *query)
{
    return query->conjunctions.data;
}

static inline copse_term *copse_terms(const copse_conjunction *conjunction)
{
    return conjunction->terms.data;
}

static inline copse_chosen_aggregate *copse_aggregates(const copse_query *query)
{
    return query->aggregates.data;
}

/* Memory that lives as long as the query. */
void *copse_query_memory(copse_query *query, size_t bytes);

/* Whether a column of the table (COPSE_NO_COLUMN: its rows) has this aggregate. Errors: ARGUMENT, TYPE. */
copse_status copse_aggregate_check(const copse_table *table, const char *call, uint32_t what, uint32_t column);

/* ---- value.c: what a value is in a column ---- */

/* Where a value lies among the codes of a column: `code` is that of the smallest cell that is not smaller; `exact`: that cell is
 * equal; `beyond`: all cells are smaller. */
typedef struct copse_position {
    uint64_t code;
    bool exact;
    bool beyond;
} copse_position;

/* ends: a date among timestamps means its last moment. Errors: TYPE, ARGUMENT, NAN. */
copse_status copse_value_position(const copse_query *query, const copse_stored_column *column, copse_value value,
                                  bool ends, copse_position *out);
uint64_t copse_largest_code(const copse_stored_column *column);
uint64_t copse_smallest_code(const copse_stored_column *column);

/* ---- term.c ---- */

/* Makes *term, which is a range, the part that `other`, a range of the same column, has in common with it. */
void copse_term_intersect(copse_term *term, const copse_term *other);

/* ---- plan.c ---- */

copse_status copse_query_plan(copse_query *query);
/* For `explain`: how many rows indexes say that a query finds which runs elsewhere. */
copse_status copse_query_expected(copse_query *query, uint64_t *out);
/* The index that answers an aggregate over ranges of its column (COPSE_NO_COLUMN: over all rows), or NULL. A count of rows over all
 * rows needs none. */
const copse_stored_index *copse_aggregate_index(const copse_query *query, copse_chosen_aggregate aggregate,
                                                uint32_t ranged);
/* Whether two indexes on the same column have an entry for the same rows. */
bool copse_index_same_entries(const copse_table *table, const copse_stored_index *a, const copse_stored_index *b);
copse_status copse_term_ranges_make(const copse_table *table, const copse_term *term, copse_term_ranges *out);
/* The same of the terms that an index of several columns answers; *out_driving: which these are, 0: none. */
copse_status copse_composite_ranges(const copse_table *table, const copse_conjunction *conjunction,
                                    const copse_stored_index *index, copse_term_ranges *out, uint64_t *out_driving);
/* What the driver of a conjunction is asked for. */
copse_status copse_driver_ranges(const copse_table *table, const copse_conjunction *conjunction,
                                 copse_term_ranges *out);
void copse_term_ranges_free(const copse_ctx *ctx, copse_term_ranges *ranges);
/* RANGE or LIST: what an index can answer. */
bool copse_term_is_ranges(const copse_term *term);

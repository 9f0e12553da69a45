/*
 * Passes over values: what a visit (copse_visit_values) is made of, and what a tree does of it.
 *
 *   REDUCE, HISTOGRAM, FILTER, MAP           one pass, by the tree where it has `visit` (trees/tree.h), else by the API over a scan
 *   LARGEST, SMALLEST                        some passes HISTOGRAM, until the wanted values are between two bounds; then one FILTER
 *
 * Values are compared as codes (core/codec.h), so that one order serves all types; NaN has none and is left out before.
 */
#pragma once

#include "core/aggregate.h"
#include "core/widths.h"

typedef enum copse_pass_kind {
    COPSE_PASS_MAP,
    COPSE_PASS_REDUCE,
    COPSE_PASS_HISTOGRAM,
    COPSE_PASS_FILTER
} copse_pass_kind;

/* What a reduction looks at. */
#define COPSE_LOOK_SUM      1u
#define COPSE_LOOK_EXTREMES 2u
#define COPSE_LOOK_SQUARES  4u

typedef struct copse_pass_sums {
    copse_aggregate all;
    double squares; /* of the differences to the mean */
    uint64_t count;
} copse_pass_sums;

#define COPSE_PASS_SUMS_EMPTY ((copse_pass_sums){COPSE_AGGREGATE_EMPTY, 0.0, 0})

/* Behind the bins of a histogram. */
enum { COPSE_BIN_BELOW, COPSE_BIN_ABOVE, COPSE_BIN_NAN, COPSE_BINS_OUTSIDE };

typedef struct copse_pass copse_pass;
struct copse_pass {
    copse_pass_kind kind;
    copse_type value_type;
    const copse_ranges *range; /* the caller's one range; NULL: all entries                                    */
    const void *low, *high;    /* ... of keys of fixed width: closed, in host memory, and none of them is NaN  */
    /* MAP */
    uint32_t map;  /* copse_visit_operation */
    uint64_t a, b; /* bits of its scalars   */
    /* REDUCE */
    uint32_t look; /* COPSE_LOOK_* */
    double mean;
    copse_pass_sums sums; /* starts empty */
    /* HISTOGRAM: bins + 1 codes, and bins + COPSE_BINS_OUTSIDE counts, which start at 0 */
    const uint64_t *edges;
    uint32_t bins;
    uint32_t even; /* not 0: edge i is edge 0 plus i * 2^(even - 1), but for the last one: a bin is found by a shift */
    uint64_t *counts;
    /* FILTER: codes; `most` entries at most */
    uint64_t least, greatest, most;
    /* MAP, FILTER: where entries go, `capacity` at most; with room for none they are only counted. On a device each of the arrays may
     * be device memory, as `*_there` says. Byte strings go to a copse_bytes. */
    void *keys, *values;
    bool keys_there, values_there;
    uint64_t capacity;
    /* Entries that were visited; FILTER: that fit. Where that is more than the capacity, nothing need have been written. */
    uint64_t n;
};

static inline bool copse_pass_writes(const copse_pass *pass)
{
    return pass->keys || pass->values;
}

void copse_pass_sums_merge(copse_pass_sums *to, const copse_pass_sums *from);
/* TOO_SMALL where the pass found more entries than it has room for. */
copse_status copse_pass_room(const copse_ctx *ctx, const copse_pass *pass);

/* What the host does with some entries in a row, for one pair of widths. */
typedef struct copse_pass_loops {
    /* to may be values */
    void (*map)(const copse_pass *pass, const void *values, uint64_t n, void *to);
    void (*reduce)(const copse_pass *pass, const void *values, uint64_t n, copse_pass_sums *to);
    /* Adds to counts; `shared`: other threads do, too. */
    void (*histogram)(const copse_pass *pass, const void *values, uint64_t n, uint64_t *counts, bool shared);
    /* How many of them fit; writes the first `most` of those, where an array is not NULL. */
    uint64_t (*filter)(const copse_pass *pass, const void *keys, const void *values, uint64_t n, uint64_t most,
                       void *to_keys, void *to_values);
} copse_pass_loops;

const copse_pass_loops *copse_pass_loops_of(const copse_index *index);

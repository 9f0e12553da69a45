/* What driver_pairs.c asks of the widths (driver_pairs_by_width.c). */
#pragma once

#include "core/internal.h"
#include "core/widths.h"

/* The pairs of one key, and its entries. */
typedef struct pairs_run {
    uint64_t first, n;          /* of the sorted batch                                          */
    uint64_t location, entries; /* its group in the tree                                        */
    uint64_t out, made;         /* its changes: where they begin in the arrays, how many        */
    uint64_t taken;             /* entries that go                                              */
} pairs_run;

typedef struct pairs_call {
    const copse_index *index;
    const void *sorted; /* pairs of key and position in `values` */
    uint64_t n;
    const void *values; /* the caller's; NULL: all are 0 */
    pairs_run *run;
    uint64_t runs;
    void *wanted;   /* [n] values of the batch; those of a run come to be sorted                        */
    uint64_t *left; /* [n] at the first of equal values of a run: so many of them are still to be found */
    void *group;    /* [room] values of the entries, each run at its `out`                              */
    void *changes;  /* [room] pairs, each run at its `out`                                              */
    uint8_t *does;  /* [room] copse_group_change of each                                                */
} pairs_call;

typedef struct pairs_width {
    /* Distinct keys of a sorted batch. */
    uint64_t (*count_runs)(const void *sorted, uint64_t n);
    /* Fills call->run, but for what the changes are. */
    void (*find_runs)(const pairs_call *call);
    /* Writes the changes of a run. */
    void (*match)(const pairs_call *call, pairs_run *run);
    size_t change_bytes;
} pairs_width;

COPSE_DECLARE_WIDTHS(const pairs_width, copse_pairs);

/*
 * Mixed batches on a device: the arguments of their kernels, and the table of them that each backend has per pair of
 * widths. gpu/mixed.c runs them; mixed_state.h says what tags and states are.
 */
#pragma once

#include "primitives/mixed_state.h"
#include "gpu/kernel_rows.h"
#include "gpu/shared_kernels.h"

/* What kernels find out about a batch. Positions, smallest and low start at UINT64_MAX, all else at 0. */
typedef struct copse_mixed_survey {
    uint64_t first_bad;                     /* operation that is none                  */
    uint64_t first_without;                 /* operation that needs a value, and there are none */
    uint64_t first_nan;                     /* key that is NaN                         */
    uint64_t smallest, largest;             /* keys, encoded                           */
    uint64_t changes;                       /* keys that end differently from how they began ... */
    uint64_t lowest_change, highest_change; /* ... and the ends of those             */
    uint32_t operations;                    /* bit c: operation c is among them        */
    uint32_t falls;                         /* 1: keys are out of order                */
} copse_mixed_survey;

/* A batch of n operations. What the caller gave is in the caller's order, all else in the order of the keys. */
typedef struct copse_mixed_arguments {
    uint64_t n;
    copse_type key_type;
    uint32_t wide; /* 1: tags and states have 64 bits, else 32 */
    /* the caller's, or copies of them in device memory */
    const uint8_t *operations;
    const void *raw_keys;
    const void *values; /* NULL: there are none        */
    void *out_values;   /* these may be NULL           */
    uint8_t *out_found;
    /* made on the way */
    void *keys; /* encoded */
    void *tags;
    const void *states;
    /* duplicates: the first value of its group, at the first operation on a key */
    void *firsts;
    /* batches with an ADD */
    copse_type value_type;
    void *own_tags; /* sorted operations again, at their sorted position; NULL: states have those of the caller */
    uint64_t *sums; /* what operations in front of each one add                                              */
    void *standing; /* value of the key before the batch; behind its last operation the one that it ends with */
    uint8_t
        *there; /* 1: the key was there before the batch; becomes 1 behind the last operation on a key that changes */
    uint32_t *rows; /* NULL, or gets each operation's own number ... */
    uint8_t *gone;  /* ... and 1 behind the last operation on a key that leaves */
    copse_mixed_survey *survey;
} copse_mixed_arguments;

/* The n changes of a batch, which are rows of arrays over all operations, brought together. */
typedef struct copse_mixed_gather_arguments {
    uint64_t n;
    const uint32_t *rows;
    const void *values;
    const uint8_t *gone;
    void *out_values;
    uint8_t *out_stays;
} copse_mixed_gather_arguments;

typedef struct copse_mixed_kernels {
    copse_kernel tag;        /* copse_mixed_arguments: looks at the batch, encodes the keys, makes tags */
    copse_kernel answer;     /* what each operation finds, and how each key ends                        */
    copse_kernel addends;    /* own_tags, and what each operation adds, into sums                   */
    copse_kernel answer_add; /* as answer, with sums                                                */
    copse_kernel fold;       /* as answer, without states: one thread for all operations of a key   */
    copse_kernel ends;       /* lowest and highest of the changes, whose keys are sorted; one block     */
    copse_kernel gather;     /* copse_mixed_gather_arguments */
} copse_mixed_kernels;

COPSE_KERNEL_ROWS(copse_mixed_kernels);

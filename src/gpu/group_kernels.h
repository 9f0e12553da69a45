/*
 * Keys that may repeat, on a device: the arguments of the kernels that change groups of equal keys, and the table of them that
 * each backend has per pair of widths. gpu/groups.c runs them.
 */
#pragma once

#include "gpu/kernel_rows.h"
#include "gpu/mixed_kernels.h"

/* What becomes of a group, at the first operation on its key. */
enum { COPSE_GROUP_STAYS = 0, COPSE_GROUP_GOES = 1, COPSE_GROUP_GETS_FIRST = 2 };

/* A sorted batch against all entries of a tree, which are sorted, too. All keys are encoded. */
typedef struct copse_group_arguments {
    uint64_t entries; /* of the tree */
    const void *entry_keys;
    void *entry_values;
    uint8_t *keep; /* 1: the entry stays */
    uint64_t n;    /* of the batch */
    const void *keys;
    const void *values;
    const uint8_t *does;  /* mark: COPSE_GROUP_STAYS ... of each key, at the first operation on it */
    const void *firsts;   /* mark: what the first entry of a group gets, at the same place        */
    const void *standing; /* compare: the value that the tree has for each key ...                */
    const uint8_t *there; /* ... where it has the key                                             */
    uint8_t *same;        /* compare: 1: it is the one of the batch                               */
    uint64_t *numbers;    /* candidates: the number of each entry                                 */
    uint8_t *chosen;      /* candidates: 1: its key is in the batch                               */
} copse_group_arguments;

/* out[i] = in[numbers[through[i]]]; numbers and through may be NULL: then i itself. */
typedef struct copse_group_gather_arguments {
    uint64_t n;
    const void *in;
    const uint64_t *numbers, *through;
    void *out;
} copse_group_gather_arguments;

/* Entries whose keys are in the batch, and the batch, both sorted by key, then by value, then as they were. */
typedef struct copse_group_take_arguments {
    uint64_t entries;
    const void *entry_keys, *entry_values;
    const uint64_t *numbers; /* of the entries in the tree */
    uint64_t n;
    const void *keys, *values;
    uint8_t *keep; /* becomes 0 for entries that go */
} copse_group_take_arguments;

typedef struct copse_group_rows_arguments {
    uint64_t n;
    uint32_t *rows; /* get their own numbers */
    uint8_t *gone;  /* all 1                 */
} copse_group_rows_arguments;

typedef struct copse_group_kernels {
    copse_kernel fold;       /* copse_mixed_arguments: answers, and what becomes of each group; see gpu/groups.h */
    copse_kernel mark;       /* copse_group_arguments: which entries stay, and new values of first ones          */
    copse_kernel compare;    /* copse_group_arguments: pairs that the tree has                                   */
    copse_kernel candidates; /* copse_group_arguments: entries whose keys are in the batch; keeps all            */
    copse_kernel gather_keys, gather_values, gather_numbers; /* copse_group_gather_arguments                  */
    copse_kernel take;                                       /* copse_group_take_arguments                       */
    copse_kernel rows;                                       /* copse_group_rows_arguments                       */
} copse_group_kernels;

COPSE_KERNEL_ROWS(copse_group_kernels);

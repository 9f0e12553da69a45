/*
 * Updates of a tree of byte strings. The batch is sorted, and what it does to each of its keys is worked out as a *run*:
 *
 *   entries of the tree    ...  | fig 1 | fig 2 |  ...          the values 1, 2 of fig are copied behind those of the runs before,
 *   operations of the batch     erase fig, insert fig 9         the operations change them as a list, in array order: 9,
 *   new tree               ...  | fig 9 |          ...          and the tree puts the run in the place of the entries
 *
 * So an operation is a change to a list of values, and a tree only has to say which values a key has, and to put lists in their place.
 */
#pragma once

#include "core/byte_batch.h"
#include "trees/tree.h"

/* One key of the batch. */
typedef struct copse_byte_run {
    uint64_t first, last; /* items of the batch with the key: first up to last                    */
    uint64_t place;       /* where the tree has the key, or would have it; only the tree reads it */
    const char *old;      /* the values that it has there, one behind the other, and how many     */
    uint64_t old_n;
    uint64_t at, n; /* values that it will have: the n from value `at` of the update on */
} copse_byte_run;

/* One update at work. */
typedef struct copse_byte_update {
    copse_index *index;
    const void *given; /* the caller's values, or NULL: positions */
    size_t width;      /* of a value                              */
    copse_byte_batch batch;
    copse_byte_run *runs;
    uint64_t n; /* runs */
    size_t run_bytes;
    char *values;
    size_t value_bytes;
} copse_byte_update;

/* What a tree has to do. */
typedef struct copse_byte_updater {
    /* Sets place, old and old_n of all runs, whose keys ascend. Errors: MEMORY. */
    copse_status (*locate)(copse_byte_update *update);
    /* Gives each key the values of its run. After a failure the tree is as before. */
    copse_status (*merge)(copse_byte_update *update);
} copse_byte_updater;

/* The value that position `at` of a batch comes with. */
void copse_byte_given_value(const copse_byte_update *update, uint64_t at, char *to);

static inline copse_slice copse_byte_run_key(const copse_byte_update *update, const copse_byte_run *run)
{
    return copse_byte_batch_key(&update->batch, run->first);
}

/* Value i of a run. */
static inline char *copse_byte_run_value(const copse_byte_update *update, const copse_byte_run *run, uint64_t i)
{
    return update->values + (run->at + i) * update->width;
}

/* Does the run end as it began? */
bool copse_byte_run_same(const copse_byte_update *update, const copse_byte_run *run);

/* The calls of trees/tree.h. */
copse_status copse_byte_insert(const copse_byte_updater *tree, copse_index *index, const void *keys, const void *values,
                               uint64_t n, uint32_t flags, uint64_t *out_inserted);
copse_status copse_byte_erase(const copse_byte_updater *tree, copse_index *index, const void *keys, uint64_t n,
                              uint64_t *out_erased);
copse_status copse_byte_erase_pairs(const copse_byte_updater *tree, copse_index *index, const void *keys,
                                    const void *values, uint64_t n, uint64_t *out_erased);
copse_status copse_byte_apply(const copse_byte_updater *tree, copse_index *index, const uint8_t *operations,
                              const void *keys, const void *values, uint64_t n, void *out_values, uint8_t *out_found);

/* Lists the keys of the ranges, by the tree's own calls, and erases them. */
copse_status copse_byte_erase_range(copse_index *index, const copse_ranges *ranges, uint64_t *out_erased);

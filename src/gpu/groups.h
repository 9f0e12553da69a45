/* Groups of equal keys on a device: mixed batches with duplicates, and pairs of key and value that are erased. */
#pragma once

#include "gpu/mixed.h"

/* What a sorted batch does to groups of equal keys, in device memory. */
typedef struct copse_group_changes {
    uint64_t n;
    const void *keys;     /* encoded                                                                                */
    const uint8_t *does;  /* at the first of equal keys: COPSE_GROUP_STAYS, _GOES or _GETS_FIRST (group_kernels.h)  */
    const void *firsts;   /* there: the value that the first entry of the group gets                                */
    const uint8_t *added; /* 1: a new entry comes behind what stays of its group, with ...                          */
    const void *values;   /* ... this value                                                                         */
} copse_group_changes;

/* Makes the tree anew with all changes, or leaves it as it was. */
copse_status copse_device_groups_change(copse_index *index, const copse_mixed_structure *structure,
                                        const copse_group_changes *changes);

/* copse_erase_pairs of any tree. */
copse_status copse_device_erase_pairs(copse_index *index, const copse_mixed_structure *structure, const void *keys,
                                      const void *values, uint64_t n, uint64_t *out_erased);

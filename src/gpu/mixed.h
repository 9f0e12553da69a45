/* Mixed batches on a device: what all structures share. */
#pragma once

#include "trees/tree.h"
#include "gpu/batch.h"
#include "gpu/mixed_kernels.h"

/* The arguments of copse_apply, checked for NULL. */
typedef struct copse_mixed_call {
    const uint8_t *operations;
    const void *keys, *values;
    uint64_t n;
    void *out_values;
    uint8_t *out_found;
    bool wide; /* tests: tags of 64 bits also where 32 would do */
} copse_mixed_call;

/* Keys that end differently from how they began, in device memory: encoded, sorted, each once. Change c has
 * values[rows[c]], and gone[rows[c]] is 1 where the key, which is there, leaves; with rows NULL change c has values[c],
 * and nothing leaves. */
typedef struct copse_mixed_changes {
    uint64_t n; /* not 0 */
    const void *keys;
    const uint32_t *rows;
    const void *values;
    const uint8_t *gone;
    uint64_t low, high; /* smallest and largest key */
} copse_mixed_changes;

/* What a structure does for a mixed batch. */
typedef struct copse_mixed_structure {
    /* Puts on the main stream: how each of n keys stands, which are sorted, encoded, in device memory, as the outputs. */
    copse_status (*look_up)(const copse_index *index, const void *keys, uint64_t n, void *values, uint8_t *found);
    /* Applies all changes or none; complete when it returns. */
    copse_status (*change)(copse_index *index, const copse_mixed_changes *changes);
    /* All entries, sorted, encoded, in arrays that `out` owns. The tree is not empty. */
    copse_status (*entries)(const copse_index *index, copse_device_pairs *out);
    /* Makes the tree anew of such pairs, or leaves it as it was. */
    copse_status (*replace)(copse_index *index, copse_device_pairs *pairs);
} copse_mixed_structure;

copse_status copse_device_mixed(copse_index *index, const copse_mixed_structure *structure,
                                const copse_mixed_call *call);

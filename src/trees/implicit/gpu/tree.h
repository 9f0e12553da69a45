/* The implicit tree on a device: what the host knows of it. Its layout is that of trees/implicit/layout.h, in device memory. */
#pragma once

#include "gpu/aggregates.h"
#include "trees/implicit/gpu/kernels.h"
#include "gpu/levels.h"
#include "gpu/mixed.h"
#include "gpu/batch.h"

#include <pthread.h>
#include <stdatomic.h>

typedef struct copse_implicit_device {
    copse_device_tree view; /* with the device addresses of units and levels */
    uint64_t unit_bytes;
    copse_levels_memory levels;

    /* Made by the first aggregate call, under the lock; the flags say what is there. */
    pthread_mutex_t lock;
    atomic_bool summary_ready, sums_tried;
    bool has_sums;
    copse_summary_memory summary;
    uint64_t *before; /* entries + 1 sums, modulo 2^64 */
    uint64_t before_bytes;
} copse_implicit_device;

/* What the files of the tree share. */
static inline copse_implicit_device *copse_implicit_device_of(const copse_index *index)
{
    return (copse_implicit_device *)index->tree;
}

static inline const copse_implicit_kernels *copse_implicit_device_kernels(const copse_index *index)
{
    return copse_implicit_kernels_on(index->device, copse_device_pair(index));
}

/* --- implicit/gpu/build.c ------------------------------------------------------------------------------------------- */

/* A tree out of sorted pairs. Where the index keeps no duplicates, of equal keys the last one stays. */
copse_status copse_implicit_device_make(const copse_index *index, const copse_device_pairs *pairs,
                                        copse_implicit_device **out);
/* Ends a change: replaces the old tree by the new one, or frees it where `status` or the wait for it failed. */
copse_status copse_implicit_device_replace(copse_index *index, copse_implicit_device *tree, copse_status status,
                                           const char *what);
/* The units as what levels are made over. */
copse_levels_source copse_implicit_device_source(const copse_index *index, const copse_implicit_device *tree,
                                                 const uint32_t *last);
void copse_implicit_device_free(const copse_index *index, copse_implicit_device *tree);
copse_status copse_implicit_device_create(copse_index *index);
copse_status copse_implicit_device_build(copse_index *index, const void *keys, const void *values, uint64_t n);

/* --- implicit/gpu/update.c ------------------------------------------------------------------------------------------- */

copse_status copse_implicit_device_insert(copse_index *index, const void *keys, const void *values, uint64_t n,
                                          uint32_t flags, uint64_t *out_inserted);
copse_status copse_implicit_device_erase(copse_index *index, const void *keys, uint64_t n, uint64_t *out_erased);
copse_status copse_implicit_device_apply(copse_index *index, const uint8_t *operations, const void *keys,
                                         const void *values, uint64_t n, void *out_values, uint8_t *out_found);
extern const copse_mixed_structure copse_implicit_device_mixed;
copse_status copse_implicit_device_erase_pairs(copse_index *index, const void *keys, const void *values, uint64_t n,
                                               uint64_t *out_erased);

/* --- implicit/gpu/find.c --------------------------------------------------------------------------------------------- */

copse_status copse_implicit_device_find(const copse_index *index, const void *keys, uint64_t n, void *values,
                                        uint8_t *found);
/* The same for encoded keys, with all arrays in device memory: only put on the main stream. */
copse_status copse_implicit_device_look_up(const copse_index *index, const void *keys, uint64_t n, void *values,
                                           uint8_t *found);
copse_status copse_implicit_device_neighbours(const copse_index *index, const void *keys, uint64_t n,
                                              copse_neighbour which, void *out_keys, void *out_values,
                                              uint8_t *out_found, uint64_t *out_ranks);
copse_status copse_implicit_device_select(const copse_index *index, const uint64_t *ranks, uint64_t n, void *keys,
                                          void *values, uint8_t *found);
copse_status copse_implicit_device_entries(const copse_index *index, uint64_t rank, uint64_t count, void *keys,
                                           void *values);

/* --- implicit/gpu/range.c -------------------------------------------------------------------------------------------- */

copse_status copse_implicit_device_count(const copse_index *index, const copse_ranges *ranges, uint64_t *counts);
copse_status copse_implicit_device_range(const copse_index *index, const copse_ranges *asked, const copse_rows *rows);

/* --- implicit/gpu/aggregate.c ---------------------------------------------------------------------------------------- */

copse_status copse_implicit_device_aggregate(const copse_index *index, copse_aggregate_kind kind,
                                             const copse_ranges *asked, void *out, uint8_t *found);
void copse_implicit_device_aggregate_free(const copse_index *index, copse_implicit_device *tree);
copse_status copse_implicit_device_verify_aggregates(const copse_index *index, copse_device_survey *survey);

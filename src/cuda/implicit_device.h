/* The implicit tree on a device: what the host knows of it. Its layout is that of cpu/implicit.h, in device memory. */
#ifndef COPSE_IMPLICIT_DEVICE_H
#define COPSE_IMPLICIT_DEVICE_H

#include "core/structure.h"
#include "cuda/implicit_kernels.h"
#include "cuda/primitives.h"

#include <pthread.h>
#include <stdatomic.h>

typedef struct copse_implicit_device {
    copse_device_tree view; /* with the device addresses of units and levels */
    uint64_t unit_bytes, level_bytes;
    uint64_t nodes[COPSE_LEVELS_MOST];
    void *levels; /* memory of all levels */

    /* Made by the first aggregate call, under the lock; the flags say what is there. */
    pthread_mutex_t lock;
    atomic_bool summary_ready, sums_tried;
    bool has_sums;
    copse_device_summary summary;
    void *summary_memory;
    uint64_t summary_bytes;
    uint64_t *before; /* entries + 1 sums, modulo 2^64 */
    uint64_t before_bytes;
} copse_implicit_device;

/* Sorted pairs in device memory on their way into a tree. */
typedef struct copse_device_pairs {
    uint64_t n;
    const void *keys;    /* raw bits of key_type                                */
    const void *values;  /* NULL: every value is its position                   */
    copse_type key_type; /* u32 or u64 where the keys are encoded already       */
    uint64_t low, high;  /* smallest and largest key, encoded                   */
    bool unique;         /* known to have no equal keys                         */
    void *memory[4];     /* what they own; NULL: nothing                        */
    uint64_t bytes[4];
} copse_device_pairs;

/* What the parts of the structure share. */
static inline copse_implicit_device *copse_implicit_device_of(const copse_index *index)
{
    return (copse_implicit_device *)index->tree;
}

static inline unsigned copse_implicit_device_pair(const copse_index *index)
{
    return copse_width_pair(copse_type_size(index->key_type), copse_type_size(index->value_type));
}

static inline const copse_implicit_kernels *copse_implicit_device_kernels(const copse_index *index)
{
    return index->device->backend->implicit[copse_implicit_device_pair(index)];
}

/* The type that encoded keys have. */
static inline copse_type copse_device_pairs_type(const copse_index *index)
{
    return copse_type_size(index->key_type) == 8 ? COPSE_U64 : COPSE_U32;
}

/* Blocks for a kernel whose threads go over `items` in strides: enough to fill the device, no more than there is work. */
uint64_t copse_implicit_device_blocks(const copse_device *device, uint64_t items);

/* --- implicit_device_build.c ------------------------------------------------------------------------------------------- */

/* A tree out of sorted pairs. Where the index keeps no duplicates, of equal keys the last one stays. */
copse_status copse_implicit_device_make(const copse_index *index, const copse_device_pairs *pairs,
                                        copse_implicit_device **out);
/* Ends a change: puts the new tree in the place of the old one, or frees it where `status` or the wait for it failed. */
copse_status copse_implicit_device_replace(copse_index *index, copse_implicit_device *tree, copse_status status,
                                           const char *what);
void copse_implicit_device_free(const copse_index *index, copse_implicit_device *tree);
copse_status copse_implicit_device_create(copse_index *index);
copse_status copse_implicit_device_build(copse_index *index, const void *keys, const void *values, uint64_t n);

/* --- implicit_device_pairs.c -------------------------------------------------------------------------------------------- */

/* Takes the caller's arrays to the device and sorts them. `what` is the word for progress.
 * plain: sorted input may stay as it is, and equal keys may be left to copse_implicit_device_make; else the result is
 * encoded, has values, and equal keys are resolved as `equal` says. */
copse_status copse_device_pairs_make(const copse_index *index, const void *keys, const void *values, uint64_t n,
                                     copse_equal_keys equal, bool plain, const char *what, copse_device_pairs *out);
/* Of equal keys keeps the first or the last; the input is encoded and has values. */
copse_status copse_device_pairs_unique(const copse_index *index, copse_device_pairs *pairs, copse_equal_keys equal);
/* Makes pairs encoded and gives them values. */
copse_status copse_device_pairs_encode(const copse_index *index, copse_device_pairs *pairs);
/* Two device arrays of n keys and n values that `pairs` owns. */
copse_status copse_device_pairs_room(const copse_index *index, copse_device_pairs *pairs, uint64_t n, void **out_keys,
                                     void **out_values);
void copse_device_pairs_free(const copse_index *index, copse_device_pairs *pairs);
/* A survey in device memory, as it has to be at the start. */
copse_status copse_device_survey_make(copse_device *device, copse_device_survey **out);
copse_status copse_device_survey_read(copse_device *device, copse_device_survey *survey, copse_device_survey *out);
void copse_device_survey_free(copse_device *device, copse_device_survey *survey);

/* --- implicit_device_update.c ------------------------------------------------------------------------------------------- */

copse_status copse_implicit_device_insert(copse_index *index, const void *keys, const void *values, uint64_t n,
                                          uint32_t flags, uint64_t *out_inserted);
copse_status copse_implicit_device_erase(copse_index *index, const void *keys, uint64_t n, uint64_t *out_erased);

/* --- implicit_device_read.c --------------------------------------------------------------------------------------------- */

copse_status copse_implicit_device_find(const copse_index *index, const void *keys, uint64_t n, void *values,
                                        uint8_t *found);
copse_status copse_implicit_device_neighbours(const copse_index *index, const void *keys, uint64_t n,
                                              copse_neighbour which, void *out_keys, void *out_values,
                                              uint8_t *out_found, uint64_t *out_ranks);
copse_status copse_implicit_device_entries(const copse_index *index, uint64_t rank, uint64_t count, void *keys,
                                           void *values);

/* --- implicit_device_range.c -------------------------------------------------------------------------------------------- */

copse_status copse_implicit_device_count(const copse_index *index, const void *lows, const void *highs, uint64_t n,
                                         uint64_t *counts);
copse_status copse_implicit_device_range(const copse_index *index, const void *lows, const void *highs, uint64_t n,
                                         uint64_t limit, uint64_t *offsets, void *keys, void *values,
                                         uint64_t capacity);
/* Puts kernel[digest] over n ranges on the stream, as many launches as it takes. */
copse_status copse_implicit_device_ranges(const copse_index *index, copse_stream *stream, const copse_kernel *kernels,
                                          const copse_range_arguments *arguments, uint64_t n);

/* --- implicit_device_aggregate.c ---------------------------------------------------------------------------------------- */

copse_status copse_implicit_device_aggregate(const copse_index *index, copse_aggregate_kind kind, const void *lows,
                                             const void *highs, uint64_t n, void *out, uint8_t *found);
void copse_implicit_device_aggregate_free(const copse_index *index, copse_implicit_device *tree);
copse_status copse_implicit_device_verify_aggregates(const copse_index *index, copse_device_survey *survey);

/* --- implicit_device_report.c: arrays of calls, and what kernels found wrong ------------------------------------------------------------------ */

/* Is one of the caller's arrays device memory? Errors: ARGUMENT (memory of another device, or of nobody). */
copse_status copse_call_array(const copse_index *index, const void *array, const char *name, bool *out_on_device);
/* A report for a call where its kernels can have something to report (always: also where keys are integers). */
copse_status copse_call_report_take(const copse_index *index, bool always, int *out_report, uint64_t **out_words);
/* Ends a call: `status` is what its work returned; `waits` says that the work is complete. */
copse_status copse_call_report_end(const copse_index *index, int report, copse_status status, bool waits, bool ranges);
/* Does a call with these arrays wait for its end? Only on a stream of the caller's with device memory alone it does not. */
bool copse_call_waits(const copse_index *index, const void *const *arrays, unsigned n);

#endif

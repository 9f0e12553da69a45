/* Batches on their way into a tree on a device: brought there, looked at, encoded, sorted, equal keys resolved. */
#ifndef COPSE_PAIRS_DEVICE_H
#define COPSE_PAIRS_DEVICE_H

#include "core/structure.h"
#include "cuda/primitives.h"
#include "cuda/shared_kernels.h"

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

/* The pair of widths of an index, and the kernels for it that structures share. */
static inline unsigned copse_device_pair(const copse_index *index)
{
    return copse_width_pair(copse_type_size(index->key_type), copse_type_size(index->value_type));
}

static inline const copse_shared_kernels *copse_device_shared(const copse_index *index)
{
    return index->device->backend->shared[copse_device_pair(index)];
}

/* The type that encoded keys have. */
static inline copse_type copse_device_pairs_type(const copse_index *index)
{
    return copse_type_size(index->key_type) == 8 ? COPSE_U64 : COPSE_U32;
}

/* Blocks for a kernel whose threads go over `items` in strides: enough to fill the device, no more than there is work. */
uint64_t copse_device_blocks(const copse_device *device, uint64_t items);

/* A sort, stable, of keys with what belongs to each. The input is keys[0] and values[0]; keys[1] and values[1] are as
 * large. Where `between` is set all four may be overwritten and `where` says in the end which have the result; else
 * the input stays and keys[1] and values[1] do. */
typedef struct copse_device_sorting {
    unsigned pair; /* of widths */
    void *keys[2]; /* encoded   */
    void *values[2];
    uint64_t n;         /* not 0                      */
    uint64_t low, high; /* no key is smaller, greater */
    bool between;
    unsigned where;
} copse_device_sorting;
copse_status copse_device_sort(copse_device *device, copse_device_sorting *sorting);

/* How much is to be done about a batch. */
typedef enum copse_pairs_care {
    COPSE_PAIRS_WHOLE, /* sorted, encoded, with values, equal keys resolved                                   */
    COPSE_PAIRS_PLAIN, /* the same, but sorted input may stay as it is, and equal keys may be left to the structure */
    COPSE_PAIRS_QUICK  /* as WHOLE; input that is sorted already may be sorted again                             */
} copse_pairs_care;

/* Takes the caller's arrays to the device and sorts them. `what` is the word for progress. */
copse_status copse_device_pairs_make(const copse_index *index, const void *keys, const void *values, uint64_t n,
                                     copse_equal_keys equal, copse_pairs_care care, const char *what,
                                     copse_device_pairs *out);
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

#endif

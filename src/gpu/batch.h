/* Batches on their way into a tree: this brings them to the device, surveys, encodes and sorts them, and resolves equal keys. */
#pragma once

#include "core/batch.h"
#include "trees/tree.h"
#include "gpu/sort.h"

/* How often speculation by the hints of a tree went wrong lately: a batch that was sorted by a wrong one has to be sorted again. */
typedef struct copse_predictor {
    unsigned rest;      /* batches that go without a hint from now on            */
    unsigned last_rest; /* as many as went without one after the last wrong one  */
    bool ascending;     /* the last batch looked as if it came sorted            */
} copse_predictor;

/* May the next batch be speculated on? */
static inline bool copse_predictor_ask(copse_predictor *predictor)
{
    if (predictor->rest == 0) return true;
    predictor->rest--;
    return false;
}

/* That was a wrong speculation; batches go without one, then two, four, ... */
void copse_predictor_lost(copse_predictor *predictor);

/* What a tree speculates about a batch: its keys lie where those of the tree do. */
typedef struct copse_pairs_hint {
    bool there;         /* false: it knows nothing                      */
    uint64_t low, high; /* of its keys, encoded                         */
    copse_predictor *predictor;
} copse_pairs_hint;

/* Sorted pairs in device memory on their way into a tree. */
typedef struct copse_device_pairs {
    uint64_t n;
    const void *keys;    /* raw bits of key_type                                */
    const void *values;  /* NULL: every value is its position                   */
    copse_type key_type; /* u32 or u64 where the keys are encoded already       */
    uint64_t low, high;  /* smallest and largest key, encoded; speculative: no key is smaller, greater */
    bool unique;         /* known to have no equal keys                         */
    void *memory[4];     /* what they own; NULL: nothing                        */
    uint64_t bytes[4];
    copse_pairs_speculation
        *speculation;  /* not NULL: they are sorted unless this says that they are not, once the device is there */
    bool in_order;     /* the speculation is about the bounds only */
    unsigned left_out; /* bits of the keys, from the lowest on, that they are not sorted by */
    copse_predictor *predictor; /* of the hint that the sort used; NULL: it used none          */
} copse_device_pairs;

/* The pair of widths of an index, and the kernels for it that structures share. */
static inline unsigned copse_device_pair(const copse_index *index)
{
    return copse_width_pair(copse_type_size(index->key_type), copse_value_width(index->value_type));
}

static inline const copse_shared_kernels *copse_device_shared(const copse_index *index)
{
    return copse_shared_kernels_on(index->device, copse_device_pair(index));
}

/* The type that encoded keys have. */
static inline copse_type copse_device_pairs_type(const copse_index *index)
{
    return copse_type_size(index->key_type) == 8 ? COPSE_U64 : COPSE_U32;
}

/* How much is to be done about a batch. */
typedef enum copse_pairs_care {
    COPSE_PAIRS_WHOLE, /* sorted, encoded, with values, equal keys resolved                                   */
    COPSE_PAIRS_PLAIN  /* the same, but sorted input may stay as it is, and equal keys may be left to the structure */
} copse_pairs_care;

/* Takes the caller's arrays to the device and sorts them. `what` is the word for progress. */
copse_status copse_device_pairs_make(const copse_index *index, const void *keys, const void *values, uint64_t n,
                                     copse_equal_keys equal, copse_pairs_care care, const char *what,
                                     copse_device_pairs *out);
/* The same for an update, in two steps. First the caller's arrays on the device, as they are. */
copse_status copse_device_pairs_bring(const copse_index *index, const void *keys, const void *values, uint64_t n,
                                      const char *what, copse_device_pairs *out);
/* Then sorted, encoded, with values, equal keys left as they are. Mostly the host does not wait for the device, and the pairs are
 * speculative then: the consumer may enqueue kernels behind it that check the speculation, reads it together with its other results, and
 * calls copse_device_pairs_check. Keys that are not numbers are reported there, too. The pairs are to be freed whatever comes of it. */
copse_status copse_device_pairs_sort(const copse_index *index, const copse_pairs_hint *hint, const char *what,
                                     copse_device_pairs *pairs);
/* Another second step: sorted by upper bits only, as if the keys lay where those of the tree do, which the consumer has to
 * check. The speculation knows about keys that are not numbers. */
copse_status copse_device_pairs_sort_coarse(const copse_index *index, const copse_pairs_hint *hint,
                                            copse_device_pairs *pairs);
/* Ends the speculation of pairs, of which the consumer read what it says. Sorts them again where that is needed: keys, values, low and
 * high change then. Kernels that are on the stream already may use the memory of the speculation, later ones must not. */
copse_status copse_device_pairs_check(const copse_index *index, copse_device_pairs *pairs,
                                      const copse_pairs_speculation *seen);
/* The same, but pairs that are not sorted stay so. */
copse_status copse_device_pairs_accept(const copse_index *index, copse_device_pairs *pairs,
                                       const copse_pairs_speculation *seen);
/* Waits and ends the speculation, where there is one. */
copse_status copse_device_pairs_confirm(const copse_index *index, copse_device_pairs *pairs);
/* Of equal keys keeps the first or the last; the input is encoded and has values. */
copse_status copse_device_pairs_unique(const copse_index *index, copse_device_pairs *pairs, copse_equal_keys equal);
/* Makes pairs encoded and gives them values. */
copse_status copse_device_pairs_encode(const copse_index *index, copse_device_pairs *pairs);
/* Two device arrays of n keys and n values that `pairs` owns. out_values NULL: keys only. */
copse_status copse_device_pairs_room(const copse_index *index, copse_device_pairs *pairs, uint64_t n, void **out_keys,
                                     void **out_values);
void copse_device_pairs_free(const copse_index *index, copse_device_pairs *pairs);
/* Steps over whole pairs, which are sorted, encoded and have values: groups.c. Bounds reads the first and the last key; select makes new
 * pairs of those whose flag is set; merge puts two in one run, those of the first in front of their equals. */
copse_status copse_device_pairs_bounds(const copse_index *index, copse_device_pairs *pairs);
copse_status copse_device_pairs_select(const copse_index *index, const copse_device_pairs *from, const uint8_t *keep,
                                       copse_device_pairs *out);
copse_status copse_device_pairs_merge(const copse_index *index, const copse_device_pairs *first,
                                      const copse_device_pairs *second, copse_device_pairs *out);
/* A survey in device memory, as it has to be at the start. */
copse_status copse_device_survey_make(copse_device *device, copse_device_survey **out);
copse_status copse_device_survey_read(copse_device *device, copse_device_survey *survey, copse_device_survey *out);
void copse_device_survey_free(copse_device *device, copse_device_survey *survey);

/* What point reads on a device share, whatever the structure: from the caller's arrays to its outputs. */
#ifndef COPSE_POINTS_DEVICE_H
#define COPSE_POINTS_DEVICE_H

#include "gpu/call.h"

/* Queries of one launch, in device memory; every output may be NULL. */
typedef struct copse_point_slice {
    const void *keys;
    uint64_t first; /* position of keys[0] in the caller's batch, for reports */
    uint32_t n;
    uint32_t per_warp; /* queries that one warp takes: 32, or 8 for small batches */
    uint64_t blocks;
    void *out_keys, *out_values;
    uint8_t *out_found;
    uint64_t *out_ranks;
    uint64_t *report;
} copse_point_slice;

typedef struct copse_point_call copse_point_call;
struct copse_point_call {
    const copse_index *index;
    /* Puts the kernel for a slice on the stream. */
    copse_status (*launch)(const copse_point_call *call, copse_stream *stream, const copse_point_slice *slice);
    const void *user;
    uint32_t which;      /* copse_neighbour               */
    copse_type key_type; /* that the keys are given as    */
    uint64_t *report;
};

/* A whole call; it has index, launch, user and which. */
copse_status copse_point_call_run(copse_point_call *call, const void *keys, uint64_t n, void *out_keys,
                                  void *out_values, uint8_t *out_found, uint64_t *out_ranks);

/* The same for encoded keys, with all arrays in device memory: only put on the main stream. */
copse_status copse_point_call_encoded(copse_point_call *call, const void *keys, uint64_t n, void *out_values,
                                      uint8_t *out_found);

#endif

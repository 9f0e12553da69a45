/* Point reads on a device, whatever the tree: from the caller's arrays to its outputs. */
#pragma once

#include "gpu/call.h"
#include "gpu/reads.h"
#include "transfer/transfer.h"

/* A point read as a tree hands it over: the kernel, and its arguments with the tree filled in. gpu/points.c fills in `queries`
 * for each launch, so that no function of the tree is called on the way. */
typedef struct copse_point_call {
    const copse_index *index;
    const copse_kernel *kernel;
    void *arguments;
    copse_point_queries *queries; /* inside the arguments; has `which` */
} copse_point_call;

/* The caller's arrays; every output may be NULL. */
typedef struct copse_point_arrays {
    const void *keys;
    uint64_t n;
    void *out_keys, *out_values;
    uint8_t *out_found;
    uint64_t *out_ranks;
} copse_point_arrays;

/* The arrays as copse_point_launch gets them on the device, in this order. */
enum { COPSE_POINT_KEYS, COPSE_POINT_OUT_KEYS, COPSE_POINT_OUT_VALUES, COPSE_POINT_OUT_FOUND, COPSE_POINT_OUT_RANKS };

/* A whole call. */
copse_status copse_point_call_run(copse_point_call *call, const copse_point_arrays *arrays);
/* ... where `work`, which gets `user`, puts more than the kernel of the call on the stream. */
copse_status copse_point_call_with(copse_point_call *call, const copse_point_arrays *arrays, copse_transfer_work work,
                                   void *user);
/* Puts the kernel over queries first .. first + n on the stream, as many launches as it takes: a copse_transfer_work. */
copse_status copse_point_launch(void *user, copse_stream *stream, uint64_t first, uint64_t n, void *const *memory);

/* For encoded keys, with all arrays in device memory: only puts the kernel on the main stream. */
copse_status copse_point_call_encoded(copse_point_call *call, const void *keys, uint64_t n, void *out_values,
                                      uint8_t *out_found);

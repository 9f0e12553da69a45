/* Aggregates on a device, whatever the tree: making a summary, and calls from the caller's arrays to its outputs. */
#pragma once

#include "trees/tree.h"
#include "gpu/ranges.h"
#include "gpu/shared_kernels.h"

/* A summary in device memory of its own. */
typedef struct copse_summary_memory {
    copse_device_summary summary;
    void *memory; /* NULL: not made */
    uint64_t bytes;
} copse_summary_memory;

/* Makes a summary over so many items, and waits for it: any stream may use it then. `kernel` fills in level 0; *to is what its
 * arguments have of the summary, and is filled in before. */
copse_status copse_device_summary_make(const copse_index *index, uint64_t items, const copse_kernel *kernel,
                                       const void *arguments, copse_device_summary *to, copse_summary_memory *out);
/* Its two halves, for a tree that keeps a summary up to date: memory, and filling it in by so many blocks of the kernel. */
copse_status copse_device_summary_alloc(const copse_index *index, uint64_t items, copse_summary_memory *out);
copse_status copse_device_summary_fill(const copse_index *index, const copse_kernel *kernel, uint64_t blocks,
                                       const void *arguments, const copse_device_summary *summary);
void copse_device_summary_free(copse_device *device, copse_summary_memory *summary);
/* Do 64 bits hold the sum of every range? Then differences of running sums modulo 2^64 are exact. */
copse_status copse_device_sums_fit(const copse_index *index, const copse_device_summary *summary, uint64_t entries,
                                   bool *out);

/* A call of copse_sum and its kin, as a tree hands it over: kernels, and their arguments with the tree filled in. Either one kernel
 * sums up ranges by running sums, or one finds their bounds and the other aggregates what lies between them. */
typedef struct copse_aggregate_call {
    const copse_index *index;
    copse_aggregate_kind kind;
    copse_range_kernel ranges;     /* sums up, or fills in locations and ends (or counts) */
    const copse_kernel *aggregate; /* NULL: `ranges` sums up */
    void *arguments;               /* of `aggregate` */
    copse_range_extents *extents;  /* inside these: filled in for each launch */
    bool by_counts;                /* `ranges` fills in counts, not ends */
    uint64_t *report;
} copse_aggregate_call;

static inline bool copse_kind_is_sum(copse_aggregate_kind kind)
{
    return kind == COPSE_KIND_SUM || kind == COPSE_KIND_SUM128 || kind == COPSE_KIND_AVG;
}

/* Bytes of a result, and the name of the array of them. */
size_t copse_aggregate_bytes(const copse_index *index, copse_aggregate_kind kind);
const char *copse_aggregate_name(copse_aggregate_kind kind);

/* A whole call; the arrays have lows, highs, n, out and found. */
copse_status copse_aggregate_call_run(copse_aggregate_call *call, const copse_range_arrays *arrays);
/* ... where `work`, which gets `user`, and lows, highs, out and found, puts kernels of its own on the stream. */
copse_status copse_aggregate_call_with(copse_aggregate_call *call, copse_transfer_work work, void *user,
                                       const copse_range_arrays *arrays);
/* Where the results of such work go. */
copse_result_arguments copse_aggregate_result(const copse_aggregate_call *call, uint64_t first, void *const *memory);

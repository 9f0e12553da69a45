/* What aggregates on a device share, whatever the structure: making a summary, and calls from the caller's arrays to its
 * outputs. */
#ifndef COPSE_AGGREGATES_DEVICE_H
#define COPSE_AGGREGATES_DEVICE_H

#include "trees/tree.h"
#include "gpu/call.h"
#include "gpu/shared_kernels.h"
#include "transfer/transfer.h"

/* A summary in device memory of its own. */
typedef struct copse_summary_memory {
    copse_device_summary summary;
    void *memory; /* NULL: not made */
    uint64_t bytes;
} copse_summary_memory;

/* Puts the making of level 0 on the main stream. */
typedef copse_status (*copse_summary_fill)(const copse_index *index, const void *user,
                                           const copse_device_summary *summary);

/* Makes a summary over so many items, and waits for it: any stream may use it then. */
copse_status copse_device_summary_make(const copse_index *index, uint64_t items, copse_summary_fill fill,
                                       const void *user, copse_summary_memory *out);
void copse_device_summary_free(copse_device *device, copse_summary_memory *summary);
/* Do 64 bits hold the sum of every range? Then differences of running sums modulo 2^64 are exact. */
copse_status copse_device_sums_fit(const copse_index *index, const copse_device_summary *summary, uint64_t entries,
                                   bool *out);

/* A call of copse_sum and its kin. */
typedef struct copse_aggregate_call {
    const copse_index *index;
    copse_aggregate_kind kind;
    const void *user;
    uint64_t *report;
} copse_aggregate_call;

static inline bool copse_kind_is_sum(copse_aggregate_kind kind)
{
    return kind == COPSE_KIND_SUM || kind == COPSE_KIND_SUM128 || kind == COPSE_KIND_AVG;
}

/* `work` gets the call, and lows, highs, out and found. reports: it may find sums that do not fit. */
copse_status copse_aggregate_call_run(copse_aggregate_call *call, copse_transfer_work work, bool reports,
                                      const void *lows, const void *highs, uint64_t n, void *out, uint8_t *found);

#endif

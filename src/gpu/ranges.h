/* Calls over ranges on a device, whatever the tree: copse_count, copse_range and entries by rank, from the caller's arrays to its
 * outputs. */
#pragma once

#include "gpu/call.h"
#include "gpu/reads.h"
#include "transfer/transfer.h"

/* Ranges of one launch: kernels count them with 32 bits. */
#define COPSE_RANGES_LAUNCH (UINT64_C(1) << 30)

/* A warp takes 8 ranges of small batches, so that all multiprocessors have some, else 32. */
uint32_t copse_ranges_per_warp(const copse_index *index, uint64_t n);

/* --- what a tree hands over: kernels, and their arguments with the tree filled in ------------------------------------------------- */

/* A kernel over ranges. */
typedef struct copse_range_kernel {
    const copse_kernel *kernel;
    void *arguments;
    copse_range_queries *queries; /* inside the arguments: filled in for each launch */
} copse_range_kernel;

/* A kernel that copies entries. */
typedef struct copse_entry_kernel {
    const copse_kernel *kernel;
    void *arguments;
    copse_entry_output *output; /* inside the arguments: filled in for each launch */
    bool single;                /* a thread takes one entry, else a warp a tile of COPSE_GATHER_TILE */
} copse_entry_kernel;

/* Puts the kernel over `all` on the stream, n ranges, as many launches as it takes. */
copse_status copse_ranges_launch(const copse_index *index, copse_stream *stream, const copse_range_kernel *kernel,
                                 const copse_range_queries *all, uint64_t n);

/* --- one result for each range ---------------------------------------------------------------------------------------------- */

/* The caller's arrays. */
typedef struct copse_range_arrays {
    const void *lows, *highs;
    uint64_t n;
    void *out;
    size_t element; /* bytes of a result */
    const char *name;
    uint8_t *found; /* may be NULL */
} copse_range_arrays;

/* Takes the arrays through the transfer pipeline: `work` gets `user`, and lows, highs, out and found. *report is there before it
 * runs, where keys may be NaN or `reports` says that the kernels have something else to report. */
copse_status copse_ranges_transfer(const copse_index *index, const copse_range_arrays *arrays, bool reports,
                                   copse_transfer_work work, void *user, uint64_t **report);

static inline copse_range_arrays copse_count_arrays(const copse_ranges *ranges, uint64_t *counts)
{
    return (copse_range_arrays){.lows = ranges->lows,
                                .highs = ranges->highs,
                                .n = ranges->n,
                                .out = counts,
                                .element = sizeof *counts,
                                .name = "out_counts"};
}

/* copse_count by a kernel that fills in queries.counts. */
copse_status copse_count_run(const copse_index *index, const copse_range_kernel *count, const copse_ranges *ranges,
                             uint64_t *counts);

/* --- entries of ranges ------------------------------------------------------------------------------------------------------ */

/* One of a call's arrays on the device: the caller's where it lies there, else memory of our own. */
typedef struct copse_device_side {
    void *memory;
    void *host; /* the caller's array in host memory; NULL: it is device memory, or not wanted */
    uint64_t bytes;
    bool own;
} copse_device_side;

/* A call of copse_range. The tree goes through its steps on the main stream:
 *
 *     begin                  the caller's arrays on the device
 *       (the tree)           entries of each range into offsets, where they are into locations
 *     offsets                running sums of those
 *     while (next)           a stretch of the output
 *       (the tree)           copies its entries
 *     end
 */
typedef struct copse_range_call {
    const copse_index *index;
    uint64_t n, limit, capacity;
    bool descending;
    copse_device_side lows, highs, offsets, keys, values;
    copse_device_side wholes;    /* descending: entries of each range before the limit */
    copse_device_side locations; /* no memory where only the offsets are wanted */
    uint64_t *report;
    int report_number;
    bool waits; /* the work is complete before `end` */
    /* Output positions first .. first + count go to these arrays. */
    struct {
        uint64_t first, count;
        void *keys, *values;
    } stretch;
    uint64_t total; /* positions that the stretches reach, while `more` is set */
    bool more;
} copse_range_call;

/* The caller's arrays; keys, values or both may be NULL. */
typedef struct copse_range_target {
    const void *lows, *highs;
    uint64_t *offsets;
    void *keys, *values;
} copse_range_target;

static inline copse_range_target copse_range_target_of(const copse_ranges *ranges, const copse_rows *rows)
{
    return (copse_range_target){ranges->lows, ranges->highs, rows->offsets, rows->keys, rows->values};
}

/* A call as it is before `begin`. */
static inline copse_range_call copse_range_call_of(const copse_index *index, const copse_ranges *ranges,
                                                   const copse_rows *rows)
{
    return (copse_range_call){.index = index,
                              .n = ranges->n,
                              .limit = ranges->limit,
                              .capacity = rows->capacity,
                              .descending = ranges->flags & COPSE_RANGE_DESCENDING};
}

/* Opens a call. `end` is due in any case. */
copse_status copse_range_begin(copse_range_call *call, const copse_range_target *target);
copse_status copse_range_offsets(copse_range_call *call);
/* Brings the last stretch to the host, where the arrays lie there. False: there is no other one, or *status says why not. */
bool copse_range_next(copse_range_call *call, copse_status *status);
copse_status copse_range_end(copse_range_call *call, copse_status status);

/* Do all of the entries go to device memory? */
bool copse_range_stays(const copse_range_call *call);
/* The steps between begin and end by two kernels. */
copse_status copse_range_run(copse_range_call *call, const copse_range_kernel *count, const copse_entry_kernel *gather);
/* Copies all entries in one launch, where they go to device memory and the offsets are there. */
copse_status copse_range_gather_all(copse_range_call *call, const copse_entry_kernel *gather);

/* --- entries by rank -------------------------------------------------------------------------------------------------------- */

/* Copies the entries with n ranks, by the kernel `select`. */
copse_status copse_select_run(const copse_index *index, const copse_entry_kernel *select, const uint64_t *ranks,
                              uint64_t n, void *keys, void *values, uint8_t *found);
/* Copies entries rank .. rank + count, which exist, in order. */
copse_status copse_entries_run(const copse_index *index, const copse_entry_kernel *copy, uint64_t rank, uint64_t count,
                               void *keys, void *values);

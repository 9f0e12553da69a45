/* What calls over ranges on a device share, whatever the structure: copse_range from the caller's arrays to its outputs. */
#ifndef COPSE_RANGES_DEVICE_H
#define COPSE_RANGES_DEVICE_H

#include "gpu/call.h"

/* Ranges of one launch: their numbers are 32 bits in kernels. */
#define COPSE_RANGES_LAUNCH (UINT64_C(1) << 30)

/* One of a call's arrays on the device: the caller's where it lies there, else memory of our own. */
typedef struct copse_device_side {
    void *memory;
    void *host; /* the caller's array in host memory; NULL: it is device memory, or not wanted */
    uint64_t bytes;
    bool own;
} copse_device_side;

/* The word of a report that takes the capacity of a range call, for the sentence. */
#define COPSE_REPORT_ROOM 4

typedef struct copse_range_call copse_range_call;
struct copse_range_call {
    const copse_index *index;
    uint64_t n, limit, capacity;
    copse_device_side lows, highs, offsets, places, keys, values;
    uint64_t *report;
    /* What the structure does, on the main stream. size: the entries of each range, limit at most, into offsets[0 .. n), and
     * where they are into places (8 bytes a range, whatever the structure likes; NULL where nobody wants entries).
     * gather: output positions first .. first + count of all ranges, to these arrays. */
    copse_status (*size)(const copse_range_call *call);
    copse_status (*gather)(const copse_range_call *call, uint64_t first, uint64_t count, void *keys, void *values);
    /* NULL, or offsets and entries at once, where all of them go to device memory. */
    copse_status (*whole)(const copse_range_call *call);
    const void *user;
};

/* Element `elements` of an array that may be NULL. */
static inline void *copse_ranges_advance(const void *array, uint64_t elements, size_t width)
{
    return array ? (char *)(uintptr_t)array + elements * width : NULL;
}

/* A warp takes 8 ranges of small batches, so that all multiprocessors have some, else 32. */
uint32_t copse_ranges_per_warp(const copse_index *index, uint64_t n);

/* A whole call; it has index, n, limit, capacity, size and gather. */
copse_status copse_range_call_run(copse_range_call *call, const void *lows, const void *highs, uint64_t *offsets,
                                  void *keys, void *values);
/* Its parts: the caller's arrays are opened, sized and filled, closed. The call has its report. */
copse_status copse_range_open(copse_range_call *call, const void *lows, const void *highs, uint64_t *offsets,
                              void *keys, void *values);
copse_status copse_range_run(copse_range_call *call);
void copse_range_close(copse_range_call *call);

#endif

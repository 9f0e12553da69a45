/* The ranges of a call, from what the caller asked for to what trees take. */
#pragma once

#include "api/check.h"
#include "gpu/scratch.h"

/* Ranges that trees can read, and the memory that they need. */
typedef struct copse_checked_ranges {
    copse_ranges ranges;
    void *memory; /* of closed ends in host memory */
    size_t bytes;
    copse_scratch scratch; /* ... in device memory */
} copse_checked_ranges;

/* Checks the ranges of a call and closes them where they have open or missing ends (core/closed_range.h); those of byte strings stay as
 * they are. copse_ranges_release is due
 * after success. `limit` says that the call has a use for one. */
copse_status copse_ranges_take(const copse_index *index, const char *call, const copse_ranges *asked, bool limit,
                               copse_checked_ranges *out);
/* Only the checks, for a call that has other uses for its ranges. */
copse_status copse_ranges_check(const copse_index *index, const char *call, const copse_ranges *asked, bool limit,
                                copse_ranges *out);
/* copse_range without the promise of COPSE_CTX_DEVICE_ARRAYS: range.c. */
copse_status copse_range_run_checked(const copse_index *index, const copse_ranges *ranges, const copse_rows *out_rows);
void copse_ranges_release(const copse_index *index, copse_checked_ranges *ranges);

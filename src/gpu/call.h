/* The arrays of a call on a device, and what its kernels found wrong. */
#pragma once

#include "device/device.h"

/* The word of a report where the host leaves the capacity of a range call, for the message. */
#define COPSE_REPORT_ROOM 4

/* Is one of the caller's arrays device memory? Errors: ARGUMENT (memory of another device, or memory that kernels cannot read). */
copse_status copse_call_array(const copse_index *index, const void *array, const char *name, bool *out_on_device);
/* Takes a report for a call whose kernels may have something to report: where keys may be NaN, or `always`. */
copse_status copse_call_report_take(const copse_index *index, bool always, int *out_report, uint64_t **out_words);
/* Ends a call: `status` is what its work returned; `waits` says that the work is complete. */
copse_status copse_call_report_end(const copse_index *index, int report, copse_status status, bool waits, bool ranges);
/* Does a call with these arrays wait for its end? Only on a stream of the caller's with device memory alone it does not. */
bool copse_call_waits(const copse_index *index, const void *const *arrays, unsigned n);

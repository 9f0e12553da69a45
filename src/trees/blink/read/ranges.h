/* What calls over ranges of the B-link and the B+ tree share. */
#pragma once

#include "trees/blink/tree.h"
#include "gpu/ranges.h"

/* --- blink/concurrent/range.c: while a writer may be at work ------------------------------------------------------------------- */

/* What all kernels over ranges get. */
copse_concurrent_arguments copse_concurrent_start(const copse_index *index, const copse_blink_epoch *epoch,
                                                  const void *lows, const void *highs, uint64_t first, uint64_t n,
                                                  uint64_t *report);
copse_status copse_concurrent_launch(const copse_index *index, copse_stream *stream, const copse_kernel *kernel,
                                     const copse_concurrent_arguments *arguments);
copse_status copse_concurrent_count(const copse_index *index, const copse_blink_epoch *epoch,
                                    const copse_ranges *ranges, uint64_t *counts);
/* copse_range through a view. Declines where the ranges change while they are copied, time and again, and where they are descending:
 * kernels that run during updates read leaves from left to right. */
int copse_concurrent_range(copse_range_call *call, const copse_range_target *target);

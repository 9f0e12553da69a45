/* Entries in key order from trees on a device, which have ranks. */
#pragma once

#include "trees/tree.h"

/* Entries of one scan: a copy from the device has to be worth its start. */
#define COPSE_GPU_SCAN_STEP (UINT64_C(1) << 20)

/* Copies entries rank .. rank + count, which exist, in order. */
typedef copse_status (*copse_entries_fn)(const copse_index *index, uint64_t rank, uint64_t count, void *keys,
                                         void *values);

/* The scan of a tree (copse_calls) by its ranks. */
copse_status copse_gpu_scan(const copse_index *index, copse_scan *scan, copse_entries_fn entries);

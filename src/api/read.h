/* What the reading calls share: cutting a batch into parts for the threads, and the error for a NaN among the keys. */
#ifndef COPSE_READ_H
#define COPSE_READ_H

#include "trees/tree.h"

/* A batch is read in parts of this many queries; two arrays of places for one part fit the stack and their leaves the
 * second-level cache. */
#define COPSE_READ_PART 4096u

/* Checks what every reading call is given. */
copse_status copse_read_check(const copse_index *index, const char *call, const void *keys, const char *keys_name,
                              uint64_t n);

/* The error for keys[at] being NaN. */
copse_status copse_read_nan(const copse_index *index, const char *keys_name, uint64_t at);

/* Position of the first NaN in keys[first .. first + n), relative to first; n where there is none. */
uint64_t copse_read_find_nan(const copse_index *index, const void *keys, uint64_t first, uint64_t n);

/* places[i] of the bounds of keys[first + i]; also right for an empty index, whose only place is 0. */
uint64_t copse_read_locate(const copse_index *index, const void *keys, uint64_t first, uint64_t n, bool upper,
                           uint64_t *places);

/* Entries rank .. rank + count, which exist, into arrays of that length; either may be NULL. */
copse_status copse_read_entries(const copse_index *index, uint64_t rank, uint64_t count, void *keys, void *values);

/* The error for range `at` having a NaN bound. */
copse_status copse_read_nan_range(const copse_index *index, const void *lows, uint64_t at);

#endif

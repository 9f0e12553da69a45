/* Ranges and rows of a call, written where the call is. */
#ifndef TESTS_SUPPORT_RANGES_H
#define TESTS_SUPPORT_RANGES_H

#include "copse.h"

#define BETWEEN(low_keys, high_keys, count) (&(copse_ranges)COPSE_BETWEEN(low_keys, high_keys, count))
#define AT_MOST(most, low_keys, high_keys, count)                                                                      \
    (&(copse_ranges){                                                                                                  \
        .struct_size = sizeof(copse_ranges), .lows = low_keys, .highs = high_keys, .n = count, .limit = most})
#define ROWS(row_offsets, out_keys, out_values, room)                                                                  \
    (&(copse_rows){.struct_size = sizeof(copse_rows),                                                                  \
                   .offsets = row_offsets,                                                                             \
                   .keys = out_keys,                                                                                   \
                   .values = out_values,                                                                               \
                   .capacity = room})

#endif

/* What sums over ranges walk instead of units: the same keys, with running sums in place of values. */
#pragma once

#include "cpu/unit.h"

typedef struct copse_sum_unit {
    KEY keys[UNIT_ENTRIES];
    uint64_t before[UNIT_ENTRIES]; /* the sum (modulo 2^64) of all values in front of each entry */
} copse_sum_unit;

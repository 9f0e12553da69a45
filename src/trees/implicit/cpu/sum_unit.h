/* What sums over ranges walk instead of units: the same keys, with running sums in place of values. */
#ifndef COPSE_TREES_IMPLICIT_CPU_SUM_UNIT_H
#define COPSE_TREES_IMPLICIT_CPU_SUM_UNIT_H

#include "cpu/unit.h"

typedef struct copse_sum_unit {
    KEY keys[UNIT_ENTRIES];
    uint64_t before[UNIT_ENTRIES]; /* the sum (modulo 2^64) of all values in front of each entry */
} copse_sum_unit;

#endif

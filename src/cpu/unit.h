/* Leaf units for the four pairs of widths, and the short names that templates use for them. */
#ifndef COPSE_UNIT_H
#define COPSE_UNIT_H

#include "core/widths.h"

#define COPSE_TEMPLATE "cpu/unit.inc.h"
#include "core/for_each_width.h"

#define UNIT         NAME(copse_unit)
#define UNIT_ENTRIES ((unsigned)NAME(COPSE_UNIT_ENTRIES))
#define SUM_UNIT     NAME(copse_sum_unit)

#endif

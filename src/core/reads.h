/* What a read may ask for, as hosts and kernels name it. */
#pragma once

#include "core/anywhere.h"

#include <stdbool.h>
#include <stdint.h>

/* Which neighbour of a key is wanted. */
typedef enum copse_neighbour {
    COPSE_AT_OR_AFTER,
    COPSE_AFTER,
    COPSE_BEFORE,
    COPSE_AT_OR_BEFORE,
    COPSE_LONGEST_PREFIX /* of byte strings only: the longest key that the key begins with */
} copse_neighbour;

/* A neighbour is found by a bound between two entries: does that lie behind entries with the key itself, or in front of them? */
COPSE_ANYWHERE bool copse_neighbour_upper(uint32_t which)
{
    return which == COPSE_AFTER || which == COPSE_AT_OR_BEFORE;
}

/* ... and is the neighbour the entry in front of the bound, or the one behind it? */
COPSE_ANYWHERE bool copse_neighbour_back(uint32_t which)
{
    return which == COPSE_BEFORE || which == COPSE_AT_OR_BEFORE;
}

/* Which aggregate of a range is wanted. */
typedef enum copse_aggregate_kind {
    COPSE_KIND_SUM,
    COPSE_KIND_SUM128,
    COPSE_KIND_MIN,
    COPSE_KIND_MAX,
    COPSE_KIND_AVG
} copse_aggregate_kind;

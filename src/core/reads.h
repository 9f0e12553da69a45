/* What a read may ask for, as hosts and kernels name it. */
#pragma once

/* Which neighbour of a key is wanted. */
typedef enum copse_neighbour { COPSE_AT_OR_AFTER, COPSE_AFTER, COPSE_BEFORE } copse_neighbour;

/* Which aggregate of a range is wanted. */
typedef enum copse_aggregate_kind {
    COPSE_KIND_SUM,
    COPSE_KIND_SUM128,
    COPSE_KIND_MIN,
    COPSE_KIND_MAX,
    COPSE_KIND_AVG
} copse_aggregate_kind;

/* The batch walks, compiled for AVX-512. */
#define NODE_SEARCH_AVX512
#include "cpu/walk_table.h"

const copse_walk_table NAME(copse_walk_avx512) = WALK_TABLE;

/* The batch walks, compiled for AVX2. */
#define NODE_SEARCH_AVX2
#include "cpu/walk_table.h"

const copse_walk_table NAME(copse_walk_avx2) = WALK_TABLE;

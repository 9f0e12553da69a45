/* The batch walks of the regular tree, compiled for AVX-512. */
#define NODE_SEARCH_AVX512
#include "trees/regular/cpu/walk.h"

const regular_walks NAME(copse_regular_walks_avx512) = REGULAR_WALKS;

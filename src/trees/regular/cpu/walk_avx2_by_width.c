/* The batch walks of the regular tree, compiled for AVX2. */
#define NODE_SEARCH_AVX2
#include "trees/regular/cpu/walk.h"

const regular_walks NAME(copse_regular_walks_avx2) = REGULAR_WALKS;

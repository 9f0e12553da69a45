/* The walk of the hybrid paged tree, compiled for AVX2. */
#define NODE_SEARCH_AVX2
#include "trees/paged/hybrid_walk.h"

COPSE_DECLARE_WALKS(copse_paged_walk, copse_paged_walk);
const copse_paged_walk NAME(copse_paged_walk_avx2) = {walk_rows};

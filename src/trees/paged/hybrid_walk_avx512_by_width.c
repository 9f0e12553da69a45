/* The walk of the hybrid paged tree, compiled for AVX-512. */
#define NODE_SEARCH_AVX512
#include "trees/paged/hybrid_walk.h"

COPSE_DECLARE_WALKS(copse_paged_walk, copse_paged_walk);
const copse_paged_walk NAME(copse_paged_walk_avx512) = {walk_rows};

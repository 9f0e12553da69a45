/* The walk of the hybrid paged tree, compiled in plain C. */
#include "trees/paged/hybrid_walk.h"

COPSE_DECLARE_WALKS(copse_paged_walk, copse_paged_walk);
const copse_paged_walk NAME(copse_paged_walk_scalar) = {walk_rows};

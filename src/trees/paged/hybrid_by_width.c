/* The walks of the hybrid paged tree for one pair of widths. */
#include "trees/paged/hybrid.h"

COPSE_DECLARE_WALKS(copse_paged_walk, copse_paged_walk);
static const copse_paged_walk *const walks[] = COPSE_WALKS(copse_paged_walk);

extern const copse_paged_walks NAME(copse_paged_walks);
const copse_paged_walks NAME(copse_paged_walks) = {walks};

/* The batch walks of the regular tree, compiled in plain C. */
#include "trees/regular/cpu/walk.h"

const regular_walks NAME(copse_regular_walks_scalar) = REGULAR_WALKS;

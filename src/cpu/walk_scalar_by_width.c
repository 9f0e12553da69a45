/* The batch walks, compiled in plain C. */
#include "cpu/walk_table.h"

const copse_walk_table NAME(copse_walk_scalar) = WALK_TABLE;

/* The batch walks, compiled for scalar. */
#include "cpu/node_search_scalar.h"

#define WALK      copse_walk_scalar
#define WALK_NAME "scalar"
#include "cpu/walk_tables.h"

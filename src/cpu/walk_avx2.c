/* The batch walks, compiled for avx2. */
#include "cpu/node_search_avx2.h"

#define WALK      copse_walk_avx2
#define WALK_NAME "avx2"
#include "cpu/walk_tables.h"

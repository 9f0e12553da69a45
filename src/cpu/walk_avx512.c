/* The batch walks, compiled for avx512. */
#include "cpu/node_search_avx512.h"

#define WALK      copse_walk_avx512
#define WALK_NAME "avx512"
#include "cpu/walk_tables.h"

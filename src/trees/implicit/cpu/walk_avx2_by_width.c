/* The batch walks of the implicit tree, compiled for AVX2. */
#define NODE_SEARCH_AVX2
#include "trees/implicit/cpu/walk.h"

const implicit_walks NAME(copse_implicit_walks_avx2) = IMPLICIT_WALKS;

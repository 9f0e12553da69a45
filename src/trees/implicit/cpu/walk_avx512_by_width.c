/* The batch walks of the implicit tree, compiled for AVX-512. */
#define NODE_SEARCH_AVX512
#include "trees/implicit/cpu/walk.h"

const implicit_walks NAME(copse_implicit_walks_avx512) = IMPLICIT_WALKS;

/* The batch walks of the implicit tree, compiled in plain C. */
#include "trees/implicit/cpu/walk.h"

const implicit_walks NAME(copse_implicit_walks_scalar) = IMPLICIT_WALKS;

/* The kernels of hybrid trees, compiled for cards. */
#include "trees/hybrid/kernels_table.h"

const copse_hybrid_kernels NAME(copse_hybrid_kernels_cuda) = HYBRID_KERNELS;

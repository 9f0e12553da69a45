/* The kernels of the paged tree, compiled for cards. */
#include "trees/paged/kernels_table.h"

const copse_paged_kernels NAME(copse_paged_kernels_cuda) = PAGED_KERNELS;

/* The kernels of the radix tree, compiled for cards. */
#include "trees/radix/gpu/kernels_table.h"

const copse_radix_kernels copse_radix_kernels_cuda = RADIX_KERNELS;

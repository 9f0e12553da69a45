/* The kernels of mixed batches, compiled for cards. */
#include "gpu/mixed_kernels_table.h"

const copse_mixed_kernels NAME(copse_mixed_kernels_cuda) = MIXED_KERNELS;

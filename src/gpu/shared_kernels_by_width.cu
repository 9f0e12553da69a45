/* The kernels that several trees use, compiled for cards. */
#include "gpu/shared_kernels_table.h"

const copse_shared_kernels NAME(copse_shared_kernels_cuda) = SHARED_KERNELS;

/* The kernels that several trees use, and those of mixed batches, compiled for cards: together, which takes less time. */
#include "gpu/mixed_kernels_table.h"
#include "gpu/shared_kernels_table.h"

const copse_shared_kernels NAME(copse_shared_kernels_cuda) = SHARED_KERNELS;
const copse_mixed_kernels NAME(copse_mixed_kernels_cuda) = MIXED_KERNELS;

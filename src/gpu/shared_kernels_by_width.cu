/* The kernels that several trees use, those of mixed batches and of groups of equal keys, compiled for cards: together, which takes less time. */
#include "gpu/group_kernels_table.h"
#include "gpu/mixed_kernels_table.h"
#include "gpu/shared_kernels_table.h"

const copse_shared_kernels NAME(copse_shared_kernels_cuda) = SHARED_KERNELS;
const copse_mixed_kernels NAME(copse_mixed_kernels_cuda) = MIXED_KERNELS;
const copse_group_kernels NAME(copse_group_kernels_cuda) = GROUP_KERNELS;

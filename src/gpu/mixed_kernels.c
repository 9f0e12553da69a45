/* The kernels of mixed batches: which of them a device runs. */
#include "gpu/mixed_kernels.h"

COPSE_PICK_KERNEL_ROW(copse_mixed_kernels)

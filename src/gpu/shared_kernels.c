/* The kernels that several trees use: which of them a device runs. */
#include "gpu/shared_kernels.h"

COPSE_PICK_KERNEL_ROW(copse_shared_kernels)

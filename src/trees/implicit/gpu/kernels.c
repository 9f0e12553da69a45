/* The kernels of the implicit tree: which of them a device runs. */
#include "trees/implicit/gpu/kernels.h"

COPSE_PICK_KERNEL_ROW(copse_implicit_kernels)

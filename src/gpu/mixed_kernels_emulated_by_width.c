/* The kernels of mixed batches, compiled for the emulator. */
#include "gpu/mixed_kernels_table.h"

const copse_mixed_kernels NAME(copse_mixed_kernels_emulated) = MIXED_KERNELS;

/* The kernels that several trees use, compiled for the emulator. */
#include "gpu/shared_kernels_table.h"

const copse_shared_kernels NAME(copse_shared_kernels_emulated) = SHARED_KERNELS;

/* The kernels of the radix tree, compiled for the emulator. */
#include "trees/radix/gpu/kernels_table.h"

const copse_radix_kernels copse_radix_kernels_emulated = RADIX_KERNELS;

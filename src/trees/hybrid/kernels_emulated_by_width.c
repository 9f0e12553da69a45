/* The kernels of hybrid trees, compiled for the emulator. */
#include "trees/hybrid/kernels_table.h"

const copse_hybrid_kernels NAME(copse_hybrid_kernels_emulated) = HYBRID_KERNELS;

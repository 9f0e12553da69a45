/* The kernels of the paged tree, compiled for the emulator. */
#include "trees/paged/kernels_table.h"

const copse_paged_kernels NAME(copse_paged_kernels_emulated) = PAGED_KERNELS;

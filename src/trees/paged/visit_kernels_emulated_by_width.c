/* The kernels of visits of the paged tree, compiled for the emulator. */
#include "gpu/kernel_entries.h"
#include "trees/paged/visit_kernels.h"

const copse_paged_visit_kernels NAME(copse_paged_visit_kernels_emulated) = PAGED_VISIT_KERNELS;

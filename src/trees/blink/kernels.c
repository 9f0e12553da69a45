/* The kernels of the B-link and the B+ tree: which of them a device runs. */
#include "trees/blink/kernels.h"

COPSE_PICK_KERNEL_ROW(copse_blink_kernels)

/* The kernels that read the B-link and the B+ tree in order: which of them a device runs. */
#include "trees/blink/read/ordered_kernels.h"

COPSE_PICK_KERNEL_ROW(copse_blink_ordered_kernels)

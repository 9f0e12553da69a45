/* The kernels of the B-link and the B+ tree, compiled for the emulator: together, which takes less time. */
#include "trees/blink/kernels_table.h"
#include "trees/blink/read/ordered_kernels_table.h"

const copse_blink_kernels NAME(copse_blink_kernels_emulated) = BLINK_KERNELS;
const copse_blink_ordered_kernels NAME(copse_blink_ordered_kernels_emulated) = BLINK_ORDERED_KERNELS;

/* The kernels that read the B-link and the B+ tree in order, compiled for the emulator. */
#include "trees/blink/read/ordered_kernels_table.h"

const copse_blink_ordered_kernels NAME(copse_blink_ordered_kernels_emulated) = BLINK_ORDERED_KERNELS;

/* The kernels of the B-link and the B+ tree, compiled for the emulator. */
#include "trees/blink/kernels_table.h"

const copse_blink_kernels NAME(copse_blink_kernels_emulated) = BLINK_KERNELS;

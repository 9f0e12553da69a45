/* The kernels that read the B-link and the B+ tree in order, compiled for the emulator. */
#include "trees/blink/read/ordered_kernels_table.h"

const copse_blink_order_kernels NAME(copse_blink_order_kernels_emulated) = BLINK_ORDER_KERNELS;

/* The kernels that read the B-link and the B+ tree in order, compiled for cards. */
#include "trees/blink/read/ordered_kernels_table.h"

const copse_blink_order_kernels NAME(copse_blink_order_kernels_cuda) = BLINK_ORDER_KERNELS;

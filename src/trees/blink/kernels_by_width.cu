/* The kernels of the B-link and the B+ tree, compiled for cards. */
#include "trees/blink/kernels_table.h"

const copse_blink_kernels NAME(copse_blink_kernels_cuda) = BLINK_KERNELS;

/* The kernels of queries, compiled for cards. */
#include "query/device/kernels_table.h"

const copse_card_kernels copse_card_kernels_cuda = CARD_KERNELS;

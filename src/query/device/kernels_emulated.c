/* The kernels of queries, compiled for the emulator. */
#include "query/device/kernels_table.h"

const copse_card_kernels copse_card_kernels_emulated = CARD_KERNELS;

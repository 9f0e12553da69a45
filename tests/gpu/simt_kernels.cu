/* The kernels of tests/simt for a card. */
#include "../simt/kernels.inc.h"

const copse_kernel simt_test_kernels_cuda[SIMT_TEST_KERNELS] = SIMT_TEST_TABLE;

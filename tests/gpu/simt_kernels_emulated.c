/* The kernels of tests/simt for the emulator. */
#include "../simt/kernels.inc.h"

const copse_kernel simt_test_kernels_emulated[SIMT_TEST_KERNELS] = SIMT_TEST_TABLE;

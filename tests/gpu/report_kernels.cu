#include "report_kernels.inc.h"

const copse_kernel report_kernel_cuda = SIMT_KERNEL_ENTRY(report_position, 128);

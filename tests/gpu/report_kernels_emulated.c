#include "report_kernels.inc.h"

const copse_kernel report_kernel_emulated = SIMT_KERNEL_ENTRY(report_position, 128);

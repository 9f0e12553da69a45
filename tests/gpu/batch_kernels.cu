#include "batch_kernels.inc.h"

const copse_kernel batch_kernel_cuda = SIMT_KERNEL_ENTRY(batch_answer, BATCH_THREADS);

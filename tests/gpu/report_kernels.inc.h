/* The text of the kernel, compiled by nvcc for a card and by the host compiler for the emulator. */
#include "report_kernels.h"

#include "simt/simt.h"

SIMT_KERNEL(report_position, report_arguments, 128, 1)
{
    uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < a.threads) (void)simt_atomic_min_u64(&a.report[COPSE_REPORT_NAN], a.position + i);
}

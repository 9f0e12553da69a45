/* A kernel that reports a position, as kernels do that meet a NaN. */
#ifndef TESTS_REPORT_KERNELS_H
#define TESTS_REPORT_KERNELS_H

#include "device/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Each of `threads` threads reports position + its number. */
typedef struct report_arguments {
    uint64_t *report;
    uint64_t position, threads;
} report_arguments;

/* Without CUDA the first is not there: its address is then NULL. */
extern const copse_kernel report_kernel_cuda __attribute__((weak));
extern const copse_kernel report_kernel_emulated;

#ifdef __cplusplus
}
#endif
#endif

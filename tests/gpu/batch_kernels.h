/* A kernel that does to a batch what a lookup does to its arrays, and next to no work: for tests and figures of the
 * transfer pipeline. */
#ifndef TESTS_BATCH_KERNELS_H
#define TESTS_BATCH_KERNELS_H

#include "device/device.h"

#ifdef __cplusplus
extern "C" {
#endif

#define BATCH_THREADS 256

/* values[i] = keys[i] * 3 + first + i, found[i] = whether keys[i] is odd. */
typedef struct batch_arguments {
    const uint64_t *keys;
    uint64_t *values;
    uint8_t *found;
    uint64_t first, n;
} batch_arguments;

/* Without CUDA the first is not there: its address is then NULL. */
extern const copse_kernel batch_kernel_cuda __attribute__((weak));
extern const copse_kernel batch_kernel_emulated;

#ifdef __cplusplus
}
#endif
#endif

/* Kernels of the tests on cards: one makes data where it is needed, one breaks the device. */
#ifndef TESTS_PLANTED_KERNELS_H
#define TESTS_PLANTED_KERNELS_H

#include "device/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Entry i of a large index, see test_large_gpu.c, into place (i * step) % n ... in other words: out of order. */
typedef struct fill_arguments {
    void *keys;
    uint32_t *values;
    uint64_t n;
    uint64_t step;      /* 1: in order */
    uint32_t key_bytes; /* 8: keys 3 i + 1; 4: keys i / 4 */
} fill_arguments;

/* address: written to by each thread, which is a fault where nothing is. 0: lanes wait for each other for ever, which
 * only the emulator finds out. */
typedef struct fault_arguments {
    uint64_t address;
} fault_arguments;

struct planted_kernels {
    copse_kernel fill;
    copse_kernel fault;
};

/* Without CUDA the first is not there: its address is then NULL. */
extern const struct planted_kernels planted_kernels_cuda __attribute__((weak));
extern const struct planted_kernels planted_kernels_emulated;

#ifdef __cplusplus
}
#endif
#endif

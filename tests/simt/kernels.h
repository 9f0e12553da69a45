/* Kernels that use every construct of simt.h, and what they must compute, worked out by plain loops. The same kernels and
 * the same loops serve the emulator (tests/unit/test_simt_kernels.c, planted.c) and a card (tests/gpu/test_simt.c). */
#ifndef TESTS_SIMT_KERNELS_H
#define TESTS_SIMT_KERNELS_H

#include "device/device.h"

#include <stdint.h>

#define SIMT_TEST_WORDS    16 /* of output for each thread */
#define SIMT_TEST_COUNTERS 16
#define SIMT_TEST_MOST     16384 /* threads of a launch */

struct simt_test_arguments {
    const uint64_t *in; /* one random number for each thread; 16-byte aligned */
    uint64_t *out;      /* SIMT_TEST_WORDS for each thread, all 0 before */
    uint64_t *counter;  /* SIMT_TEST_COUNTERS, all 0 before, but the last four all ones */
    uint64_t n;         /* threads of the launch */
};

enum simt_test_kernel {
    SIMT_TEST_PLACES,
    SIMT_TEST_BITS,
    SIMT_TEST_SHUFFLES,
    SIMT_TEST_VOTES,
    SIMT_TEST_GROUPS,
    SIMT_TEST_EARLY_END,
    SIMT_TEST_WARP_SCAN,
    SIMT_TEST_BLOCK_SCAN,
    SIMT_TEST_PARTIAL_WARP,
    SIMT_TEST_SHARED_LIMIT,
    SIMT_TEST_ATOMICS,
    SIMT_TEST_SPIN_LOCK,
    SIMT_TEST_LAST_BLOCK,
    SIMT_TEST_MESSAGE,
    SIMT_TEST_ACCESSES,
    SIMT_TEST_KERNELS
};

#ifdef __cplusplus
extern "C" {
#endif
/* Without CUDA the first is not there: its address is then NULL. */
extern const copse_kernel simt_test_kernels_cuda[SIMT_TEST_KERNELS] __attribute__((weak));
extern const copse_kernel simt_test_kernels_emulated[SIMT_TEST_KERNELS];
#ifdef __cplusplus
}
#endif

#endif

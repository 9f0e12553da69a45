/* The text of the kernel, compiled by nvcc for a card and by the host compiler for the emulator. */
#include "batch_kernels.h"

#include "simt/simt.h"

SIMT_KERNEL(batch_answer, batch_arguments, BATCH_THREADS, 1)
{
    uint64_t i = (uint64_t)blockIdx.x * BATCH_THREADS + threadIdx.x;
    if (i < a.n) {
        uint64_t key = a.keys[i];
        a.values[i] = key * 3 + a.first + i;
        a.found[i] = (uint8_t)(key & 1);
    }
}

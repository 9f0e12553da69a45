/* The text of the kernels, compiled by nvcc for a card and by the host compiler for the emulator. */
#include "planted_kernels.h"

#include "simt/simt.h"

#define FILL_THREADS 256

SIMT_KERNEL(planted_fill, fill_arguments, FILL_THREADS, 1)
{
    uint64_t stride = (uint64_t)gridDim.x * blockDim.x;
    for (uint64_t place = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; place < a.n; place += stride) {
        uint64_t i = a.step == 1 ? place : place * a.step % a.n;
        if (a.key_bytes == 8)
            ((uint64_t *)a.keys)[place] = 3 * i + 1;
        else
            ((uint32_t *)a.keys)[place] = (uint32_t)(i / 4);
        a.values[place] = (uint32_t)(i + 77 * (i >> 32));
    }
}

SIMT_KERNEL(planted_fault, fault_arguments, 32, 1)
{
    if (a.address)
        *(volatile uint32_t *)(uintptr_t)a.address = 1;
    else
        __syncwarp(simt_lane() < 16 ? 0xffff0000u : 0x0000ffffu);
}

#define PLANTED_KERNELS                                                                                                \
    {                                                                                                                  \
        SIMT_KERNEL_ENTRY(planted_fill, FILL_THREADS), SIMT_KERNEL_ENTRY(planted_fault, 32)                            \
    }

/* A kernel as a device launches it. */
#pragma once

#include <stdint.h>

/* SIMT_KERNEL_ENTRY of simt.h initializes one. */
typedef struct copse_kernel {
    const char *name;
    const void *entry; /* CUDA: the host's stub of the kernel; emulator: void (*)(const void *arguments) */
    uint32_t threads;  /* of a block */
} copse_kernel;

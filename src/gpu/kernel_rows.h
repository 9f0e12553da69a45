/*
 * Rows of kernels. A family of kernels (one struct that names them all, such as copse_mixed_kernels) is compiled once for each
 * pair of widths and each backend. Every such object exports one row, copse_mixed_kernels_cuda_k32v64 for example, and one
 * source of those that use the family, compiled once, picks the row that suits a device.
 */
#pragma once

#include "core/widths.h"
#include "device/device.h"

/* Declares the rows of a family, and what picks one:
 *     const FAMILY *FAMILY_on(const copse_device *device, unsigned pair);        pair: see copse_width_pair */
#define COPSE_KERNEL_ROWS(family)                                                                                      \
    COPSE_DECLARE_WIDTHS(const family, family##_emulated);                                                             \
    COPSE_DECLARE_WIDTHS(const family, family##_cuda);                                                                 \
    const family *family##_on(const copse_device *device, unsigned pair)

/* Defines FAMILY_on. A build without CUDA opens no cards and has no rows for them. */
#ifdef COPSE_HAVE_CUDA
#define COPSE_PICK_KERNEL_ROW(family)                                                                                  \
    const family *family##_on(const copse_device *device, unsigned pair)                                               \
    {                                                                                                                  \
        static const family *const emulated[COPSE_WIDTH_PAIRS] = COPSE_WIDTH_ROW(family##_emulated);                   \
        static const family *const cuda[COPSE_WIDTH_PAIRS] = COPSE_WIDTH_ROW(family##_cuda);                           \
        return device->backend->placement == COPSE_PLACEMENT_GPU ? cuda[pair] : emulated[pair];                        \
    }
#else
#define COPSE_PICK_KERNEL_ROW(family)                                                                                  \
    const family *family##_on(const copse_device *device, unsigned pair)                                               \
    {                                                                                                                  \
        static const family *const emulated[COPSE_WIDTH_PAIRS] = COPSE_WIDTH_ROW(family##_emulated);                   \
        (void)device;                                                                                                  \
        return emulated[pair];                                                                                         \
    }
#endif

/* CUDA errors as statuses. For .cu files only. */
#pragma once

#include "device/device.h"

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

/* COPSE_OK for cudaSuccess; else stores a sentence ("`what`: ...") and returns the status that fits. Errors after which
 * the device cannot go on become its fault. Implemented in device/cuda.cu. */
copse_status copse_cuda_status(copse_device *device, cudaError_t error, const char *what);

#ifdef __cplusplus
}
#endif

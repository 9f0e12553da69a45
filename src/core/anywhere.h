/* COPSE_ANYWHERE heads small functions that the host and kernels call alike: under nvcc they exist on both sides. */
#pragma once

#ifdef __CUDACC__
#define COPSE_ANYWHERE static __host__ __device__ __forceinline__
#else
#define COPSE_ANYWHERE static inline
#endif

/* COPSE_ANYWHERE heads small functions that the host and kernels call alike: under nvcc they exist on both sides. */
#ifndef COPSE_ANYWHERE_H
#define COPSE_ANYWHERE_H

#ifdef __CUDACC__
#define COPSE_ANYWHERE static __host__ __device__ __forceinline__
#else
#define COPSE_ANYWHERE static inline
#endif

#endif

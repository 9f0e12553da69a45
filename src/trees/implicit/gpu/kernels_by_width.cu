/* The kernels of the implicit tree, compiled for cards. */
#include "trees/implicit/gpu/kernels_table.h"

const copse_implicit_kernels NAME(copse_implicit_kernels_cuda) = IMPLICIT_KERNELS;

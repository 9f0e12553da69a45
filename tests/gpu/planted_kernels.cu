#include "planted_kernels.inc.h"

const struct planted_kernels planted_kernels_cuda = PLANTED_KERNELS;

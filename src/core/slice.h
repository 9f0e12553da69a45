/* A byte string somewhere in memory, for the host and for kernels. */
#pragma once

#include <stddef.h>

typedef struct copse_slice {
    const unsigned char *start;
    size_t length;
} copse_slice;

/* Device memory for the length of a call: several arrays in one block, so that the call allocates and frees once. */
#pragma once

#include "device/device.h"

/* The block. All zero: none. */
typedef struct copse_scratch {
    void *memory;
    uint64_t bytes;
} copse_scratch;

/* One of the arrays that it is to hold. */
typedef struct copse_scratch_array {
    void **where;   /* gets its address; unchanged where it has no bytes */
    uint64_t bytes; /* the next array begins with a line of its own      */
} copse_scratch_array;

/* Allocates a block for n arrays on the main stream and writes the address of each. `what` is for the message where
 * there is no memory; then *out has to be freed all the same. */
copse_status copse_scratch_take(copse_device *device, const char *what, const copse_scratch_array *arrays, unsigned n,
                                copse_scratch *out);
/* Frees the block, in the order of the main stream, and makes it none. */
void copse_scratch_free(copse_device *device, copse_scratch *scratch);

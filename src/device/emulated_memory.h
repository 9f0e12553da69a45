/*
 * Which memory belongs to emulated devices. It is ordinary memory of the process, so somebody has to remember what is
 * what; and under AddressSanitizer it is shut while no kernel, copy or primitive is at work, so that host code which
 * follows a device pointer is found here and not first on a card.
 */
#ifndef COPSE_EMULATED_MEMORY_H
#define COPSE_EMULATED_MEMORY_H

#include "device/device.h"

typedef enum copse_emulated_sort {
    COPSE_EMULATED_DEVICE, /* blocks of device memory                                                       */
    COPSE_EMULATED_ARRAY,  /* address space of a growable array; never shut: most of it is not there at all */
    COPSE_EMULATED_PINNED
} copse_emulated_sort;

/* Remembers a block; false where there is no memory to do so. */
bool copse_emulated_add(void *memory, uint64_t bytes, int number, copse_emulated_sort sort);
/* Forgets the block that begins there. */
void copse_emulated_remove(void *memory);
/* What a pointer is to device `number`. */
copse_memory_kind copse_emulated_kind(const void *memory, int number);

/* Whether this build shuts device memory. */
bool copse_emulated_shuts(void);

/* Around everything that may touch device memory. They nest, also across threads. */
void copse_emulated_begin(void);
void copse_emulated_end(void);

#endif

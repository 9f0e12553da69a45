/*
 * Which memory belongs to emulated devices. It is ordinary memory of the process, so this list says what is what. In builds with
 * AddressSanitizer device memory is shut (poisoned) while no kernel, copy or primitive is at work, so that the sanitizer finds
 * host code which follows a device pointer, before a card does.
 */
#pragma once

#include "device/device.h"

/* This build shuts device memory. */
#if defined(__SANITIZE_ADDRESS__)
#define COPSE_EMULATED_SHUTS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define COPSE_EMULATED_SHUTS 1
#endif
#endif

typedef enum copse_emulated_sort {
    COPSE_EMULATED_DEVICE, /* blocks of device memory                                                       */
    COPSE_EMULATED_PINNED
} copse_emulated_sort;

/* Remembers a block; false where there is no memory to do so. */
bool copse_emulated_add(void *memory, uint64_t bytes, int number, copse_emulated_sort sort);
/* Forgets the block that begins there. */
void copse_emulated_remove(void *memory);
/* What a pointer is to device `number`. */
copse_memory_kind copse_emulated_kind(const void *memory, int number);

/* Around everything that may touch device memory. They nest, also across threads. */
void copse_emulated_begin(void);
void copse_emulated_end(void);

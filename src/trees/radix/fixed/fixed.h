/*
 * Keys of fixed width in the radix tree. A number is the string of the bytes of its code (core/codec.h), the most significant first, so
 * that strings sort as numbers do:
 *
 *   i32 7   ->   code 80 00 00 07   ->   string 80 00 00 07
 *
 * The tree is that of byte strings. Finds make the bytes of a key when they begin with it; other calls turn arrays of keys into arrays of
 * strings, on the side where the caller's are, and strings that come back into keys.
 */
#pragma once

#include "gpu/scratch.h"
#include "trees/radix/cpu/tree.h"

/* Strings of the length of a call. */
typedef struct copse_radix_fixed_array {
    copse_bytes bytes;
    bool there; /* in device memory: */
    copse_scratch scratch;
    void *memory; /* else here */
    size_t memory_bytes;
} copse_radix_fixed_array;

/* The strings of n keys of a caller, of argument `name`. It has to be freed in any case. Errors: NAN, MEMORY. */
copse_status copse_radix_fixed_take(const copse_index *index, const char *name, const void *keys, uint64_t n,
                                    copse_radix_fixed_array *out);
/* Room for the strings of n keys, where `keys`, an array of the caller, is. */
copse_status copse_radix_fixed_room(const copse_index *index, const char *name, const void *keys, uint64_t n,
                                    copse_radix_fixed_array *out);
/* Writes the first n strings of a room as keys; 0 for an empty one. */
copse_status copse_radix_fixed_give(const copse_index *index, const copse_radix_fixed_array *from, uint64_t n,
                                    void *keys);
void copse_radix_fixed_free(const copse_index *index, copse_radix_fixed_array *array);

extern const copse_calls copse_radix_fixed_calls;

/* On a device: fixed/device.c. */
copse_status copse_radix_fixed_device_find(const copse_index *index, const void *keys, uint64_t n, void *values,
                                           uint8_t *found);
/* Strings of keys in device memory, and the way back. */
copse_status copse_radix_fixed_encode(const copse_index *index, const char *name, const void *keys, uint64_t n,
                                      const copse_bytes *to);
copse_status copse_radix_fixed_decode(const copse_index *index, const copse_bytes *from, uint64_t n, void *keys);

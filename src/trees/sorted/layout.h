/*
 * The sorted array: all keys in order in one array, their values in another.
 *
 *   keys     | k0 | k1 | k2 | ... | kn-1 |        encoded (core/codec.h), ascending; equal keys in insertion order
 *   values   | v0 | v1 | v2 | ... | vn-1 |        value i belongs to key i
 *
 * Both lie in one block of memory, the keys first. A lookup halves the array until one entry is left; an update merges the batch
 * and the array into a new block. The location of an entry (cpu/driver.h) is its rank.
 *
 * Byte strings lie one after the other, and the array in which a lookup halves is the one of their offsets:
 *
 *   offsets  | 0 | 0 | 1 | 6 | ... | size |       n + 1 of 64 bits; key i is data[offsets[i]] up to data[offsets[i + 1]]
 *   values   | v0 | v1 | v2 | ... | vn-1 |        padded to 8 bytes
 *   data     | a | a | p | p | l | e | ... |      here the keys are "", "a", "apple", ...; nothing between them
 *
 * again in one block, the offsets first.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef struct copse_sorted {
    uint64_t entries;
    void *keys;   /* KEY[entries]; also the address of the block, NULL where there is none */
    void *values; /* VALUE[entries]                                                        */
    size_t bytes; /* of the block                                                          */
} copse_sorted;

typedef struct copse_sorted_bytes {
    uint64_t entries;
    uint64_t *offsets; /* entries + 1; also the address of the block, NULL where there is no entry */
    void *values;
    unsigned char *data;
    size_t bytes; /* of the block */
    /* How to read the arrays where they lie in an open file (cpu/bytes.h); NULL: they lie in memory, and are sound. */
    const struct copse_sorted_bytes_file *file;
} copse_sorted_bytes;

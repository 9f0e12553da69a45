/*
 * The sorted array: all keys in order in one array, their values in another.
 *
 *   keys     | k0 | k1 | k2 | ... | kn-1 |        encoded (core/codec.h), ascending; equal keys in insertion order
 *   values   | v0 | v1 | v2 | ... | vn-1 |        value i belongs to key i
 *
 * Both lie in one block of memory, the keys first. A lookup halves the array until one entry is left; an update merges the batch
 * and the array into a new block. The location of an entry (cpu/driver.h) is its rank.
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

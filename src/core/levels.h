/*
 * Inner levels without pointers, which trees on the CPU and on devices share.
 *
 * A level is an array of 64-byte nodes, the root level first. A node holds separators; child j of node i is node
 * i * fanout + j of the next level, and below the last level the children are units or slots of leaves.
 *
 *   full    | s0 | s1 | ... | s7 |        u64 separators, fanout 9        (u32 keys: s0..s15, fanout 17)
 *   digest  |s0|s1|s2| ... |s15|          u32 digests of u64 separators, fanout 17
 *
 * Separator j is the largest key below child j, so the child to take for q is the number of separators < q. Where a
 * child is missing, and for the last child that a node has, the separator is the maximum: nothing is greater.
 *
 * A digest is (key - base) >> shift, cut to 32 bits: half the memory per separator and nearly twice the fanout. Keys
 * that differ may share a digest; the walk then lands at or before the right unit and steps right. A builder uses
 * digests only where such steps are rare.
 */
#pragma once

#include "core/anywhere.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define COPSE_LEVELS_MOST 24

typedef struct copse_levels {
    uint32_t height; /* number of levels; 0: there is just one child, or none */
    bool digest;
    uint32_t shift;
    uint64_t base;
    char *level[COPSE_LEVELS_MOST]; /* level[0] is the root */
    uint64_t nodes[COPSE_LEVELS_MOST];
    void *memory;
    size_t bytes;
} copse_levels;

COPSE_ANYWHERE uint32_t copse_digest(uint64_t key, uint64_t base, uint32_t shift)
{
    uint64_t d = key < base ? 0 : (key - base) >> shift;
    return d > UINT32_MAX ? UINT32_MAX : (uint32_t)d;
}

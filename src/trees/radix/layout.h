/*
 * The radix tree: an adaptive radix tree of byte strings, whose nodes and leaves lie in pools, one for each type, and know each other
 * by links. The CPU and devices read the same bytes.
 *
 *   link, 64 bits          | type 4 | extent 16        | index 44                 |      0: nothing there
 *                                     of a node: its depth        position in the pool of the type; of a long leaf in
 *                                     of a leaf: its length       units of 8 bytes
 *
 *   node                   all keys below share their first `depth` bytes, and differ in the byte behind them, key[depth]
 *     node2        32 bytes  | count 2 | 0 2 | bytes 4 | end 8 |                                links 2 * 8 |
 *     node4        48        | count 2 | 0 2 | bytes 4 | end 8 |                                links 4 * 8 |
 *     node16      160        | count 2 | 0 6           | end 8 | bytes 16                     | links 16 * 8 |
 *     node48      656        | count 2 | 0 6           | end 8 | slots 256: 0, or slot + 1    | links 48 * 8 |
 *     node256    2064        | count 2 | 0 6           | end 8 |                                links 256 * 8, by byte |
 *                            bytes ascend, and links[i] belongs to bytes[i]; `count` is the number of links. `end` is the leaf of the
 *                            key that has exactly `depth` bytes, and so is a prefix of all others below.
 *   leaf                   the whole key, filled up with zeros, and behind it the value, padded so that the next leaf begins at a
 *                          multiple of 8
 *     leaf8, 16, 32          keys of 0..8, 9..16, 17..32 bytes: | key 8, 16 or 32 | value |
 *     long leaf              all others:                        | value 0 or 8 | key ... |  a block of the heap
 *
 * The depth lies in the link, and not in the node, so that a lookup goes straight to the one place in a node that it needs: byte
 * key[depth] of a node256 is at a known address before anything of the node is read. Nodes hold no prefixes: a lookup skips the bytes
 * between two depths and compares the whole key with the leaf at its end (the blind descent of a Patricia tree). So a node never has to
 * be changed because the one above it comes or goes, whatever the length of what they share, and no node is larger than its links.
 *
 *   keys: car, card, care, dog
 *                  root -> node2, depth 0   'c' -> node2, depth 3   end -> leaf8 "car"
 *                                                                   'd' -> leaf8 "card"
 *                                                                   'e' -> leaf8 "care"
 *                                           'd' -> leaf8 "dog"
 *
 * A pool is a table of segments of 2^shift items; item i is number i mod 2^shift of segment i / 2^shift. Items never move to another index.
 * A tree that was just built has its leaves in key order in each pool. Free items are a list through their first 8 bytes: index + 1 of
 * the next, 0 at the end. The heap of long leaves is a pool of units of 8 bytes, from which blocks are cut that do not cross the end
 * of a segment, with a list of free blocks for each class of sizes.
 */
#pragma once

#include "core/anywhere.h"

#include <stddef.h>
#include <stdint.h>

typedef uint64_t copse_radix_link;

typedef enum copse_radix_type {
    COPSE_RADIX_NONE,
    COPSE_RADIX_NODE2,
    COPSE_RADIX_NODE4,
    COPSE_RADIX_NODE16,
    COPSE_RADIX_NODE48,
    COPSE_RADIX_NODE256,
    COPSE_RADIX_LEAF8,
    COPSE_RADIX_LEAF16,
    COPSE_RADIX_LEAF32,
    COPSE_RADIX_LEAF_LONG,
    COPSE_RADIX_TYPES
} copse_radix_type;

#define COPSE_RADIX_INDEX_BITS 44
#define COPSE_RADIX_TYPE_BITS  60

/* What all nodes begin with. */
typedef struct copse_radix_node {
    uint16_t count;
    uint16_t reserved;
    uint8_t bytes[4]; /* of node2 and node4; 0 in others */
    copse_radix_link end;
} copse_radix_node;

typedef struct copse_radix_node2 {
    copse_radix_node head;
    copse_radix_link links[2];
} copse_radix_node2;

typedef struct copse_radix_node4 {
    copse_radix_node head;
    copse_radix_link links[4];
} copse_radix_node4;

typedef struct copse_radix_node16 {
    copse_radix_node head;
    uint8_t bytes[16];
    copse_radix_link links[16];
} copse_radix_node16;

typedef struct copse_radix_node48 {
    copse_radix_node head;
    uint8_t slots[256];
    copse_radix_link links[48];
} copse_radix_node48;

typedef struct copse_radix_node256 {
    copse_radix_node head;
    copse_radix_link links[256];
} copse_radix_node256;

/* --- links ---------------------------------------------------------------------------------------------------------- */

COPSE_ANYWHERE copse_radix_link copse_radix_link_of(uint32_t type, uint32_t extent, uint64_t index)
{
    return (uint64_t)type << COPSE_RADIX_TYPE_BITS | (uint64_t)extent << COPSE_RADIX_INDEX_BITS | index;
}

COPSE_ANYWHERE uint32_t copse_radix_type_of(copse_radix_link link)
{
    return (uint32_t)(link >> COPSE_RADIX_TYPE_BITS);
}

COPSE_ANYWHERE uint64_t copse_radix_index_of(copse_radix_link link)
{
    return link & ((UINT64_C(1) << COPSE_RADIX_INDEX_BITS) - 1);
}

COPSE_ANYWHERE uint32_t copse_radix_depth_of(copse_radix_link link)
{
    return (uint32_t)(link >> COPSE_RADIX_INDEX_BITS) & 0xffffu;
}

COPSE_ANYWHERE uint32_t copse_radix_is_leaf(copse_radix_link link)
{
    return copse_radix_type_of(link) >= COPSE_RADIX_LEAF8;
}

/* Bytes of the key of a leaf. A long one has at least 33 and at most 65,536: its extent is one less, to fit. */
COPSE_ANYWHERE uint32_t copse_radix_length_of(copse_radix_link leaf)
{
    return copse_radix_depth_of(leaf) + (copse_radix_type_of(leaf) == COPSE_RADIX_LEAF_LONG);
}

COPSE_ANYWHERE uint32_t copse_radix_leaf_type(size_t length)
{
    if (length <= 8) return COPSE_RADIX_LEAF8;
    if (length <= 16) return COPSE_RADIX_LEAF16;
    return length <= 32 ? COPSE_RADIX_LEAF32 : COPSE_RADIX_LEAF_LONG;
}

COPSE_ANYWHERE copse_radix_link copse_radix_leaf_link(size_t length, uint64_t index)
{
    const uint32_t type = copse_radix_leaf_type(length);
    return copse_radix_link_of(type, (uint32_t)length - (type == COPSE_RADIX_LEAF_LONG), index);
}

/* A lookup that is to go on at a link: that of query number `position`. */
typedef struct copse_radix_rest {
    copse_radix_link link;
    uint64_t position;
} copse_radix_rest;

/* --- sizes ---------------------------------------------------------------------------------------------------------- */

/* Links that a node of a type has room for, besides `end`. */
COPSE_ANYWHERE uint32_t copse_radix_room(uint32_t type)
{
    switch (type) {
    case COPSE_RADIX_NODE2:
        return 2;
    case COPSE_RADIX_NODE4:
        return 4;
    case COPSE_RADIX_NODE16:
        return 16;
    case COPSE_RADIX_NODE48:
        return 48;
    default:
        return 256;
    }
}

/* Bytes of a key in a leaf of a type; 0 for a long one. */
COPSE_ANYWHERE uint32_t copse_radix_key_room(uint32_t type)
{
    return type == COPSE_RADIX_LEAF8 ? 8 : type == COPSE_RADIX_LEAF16 ? 16 : type == COPSE_RADIX_LEAF32 ? 32 : 0;
}

/* Bytes from one item of the pool of a type to the next; `width` is that of a value. */
COPSE_ANYWHERE uint32_t copse_radix_stride(uint32_t type, uint32_t width)
{
    switch (type) {
    case COPSE_RADIX_NODE2:
        return sizeof(copse_radix_node2);
    case COPSE_RADIX_NODE4:
        return sizeof(copse_radix_node4);
    case COPSE_RADIX_NODE16:
        return sizeof(copse_radix_node16);
    case COPSE_RADIX_NODE48:
        return sizeof(copse_radix_node48);
    case COPSE_RADIX_NODE256:
        return sizeof(copse_radix_node256);
    case COPSE_RADIX_LEAF_LONG:
        return 8;
    default:
        return copse_radix_key_room(type) + (width ? 8 : 0);
    }
}

/* Where the key and the value of a leaf are in it. */
COPSE_ANYWHERE uint32_t copse_radix_key_at(uint32_t type, uint32_t width)
{
    return type == COPSE_RADIX_LEAF_LONG && width ? 8 : 0;
}

COPSE_ANYWHERE uint32_t copse_radix_value_at(uint32_t type)
{
    return copse_radix_key_room(type); /* in front of a long key */
}

/* Units of the heap that a long leaf takes. */
COPSE_ANYWHERE uint32_t copse_radix_units(uint32_t length, uint32_t width)
{
    return (length + (width ? 8 : 0) + 7) / 8;
}

/* Blocks of the heap come in sizes, each with a list of free ones: one for each number of units up to COPSE_RADIX_EXACT_UNITS, then eight
 * from each power of two to the next. */
#define COPSE_RADIX_EXACT_UNITS 64u
#define COPSE_RADIX_CLASSES     (COPSE_RADIX_EXACT_UNITS + 8 * 9)

/* The class of a block of so many units, and the units that it really has. */
COPSE_ANYWHERE uint32_t copse_radix_class_of(uint32_t units, uint32_t *size)
{
    uint32_t octave = 6;
    *size = units;
    if (units <= COPSE_RADIX_EXACT_UNITS) return units - 1;
    while ((units - 1) >> (octave + 1)) octave++;
    const uint32_t eighths = ((units - 1) >> (octave - 3)) + 1; /* 9 .. 16 */
    *size = eighths << (octave - 3);
    return COPSE_RADIX_EXACT_UNITS + (octave - 6) * 8 + (eighths - 9);
}

/* The units of the blocks of a class. */
COPSE_ANYWHERE uint32_t copse_radix_class_units(uint32_t class_number)
{
    const uint32_t above = class_number - COPSE_RADIX_EXACT_UNITS;
    return class_number < COPSE_RADIX_EXACT_UNITS ? class_number + 1 : (9 + above % 8) << (3 + above / 8);
}

COPSE_ANYWHERE uint32_t copse_radix_heap_units(uint32_t units)
{
    uint32_t size;
    (void)copse_radix_class_of(units, &size);
    return size;
}

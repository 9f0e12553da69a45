/* What can be done with one node of the radix tree: look for a byte, go through its links in order, add and take away links. */
#pragma once

#include "trees/radix/layout.h"

#include <stdbool.h>
#include <string.h>

#if defined(__SSE2__) && !defined(__CUDACC__)
#include <emmintrin.h>
#endif

/* The longer functions: inlined wherever they are called, they would keep the card's compiler busy for long. */
#ifdef __CUDACC__
#define RADIX_FUNCTION static __host__ __device__ __noinline__
#else
#define RADIX_FUNCTION static inline
#endif

/* A link of a node is known by the byte that it belongs to, or as the end. In order, the end comes first. */
#define COPSE_RADIX_END          (-1)
#define COPSE_RADIX_BEFORE_FIRST (-2)
#define COPSE_RADIX_BEHIND_LAST  256

/* The bytes and the links of a node that has them in order: one of 2, 4 or 16. */
COPSE_ANYWHERE uint8_t *copse_radix_bytes(uint32_t type, void *node)
{
    return (uint8_t *)node +
           (type == COPSE_RADIX_NODE16 ? offsetof(copse_radix_node16, bytes) : offsetof(copse_radix_node, bytes));
}

COPSE_ANYWHERE copse_radix_link *copse_radix_links(uint32_t type, void *node)
{
    return type == COPSE_RADIX_NODE16 ? ((copse_radix_node16 *)node)->links : ((copse_radix_node4 *)node)->links;
}

/* The number of the first of `count` bits that is set; `count` where none is. */
COPSE_ANYWHERE uint32_t copse_radix_first_bit(uint32_t bits, uint32_t count)
{
    bits &= (1u << count) - 1;
#ifdef __CUDA_ARCH__
    return bits ? (uint32_t)__ffs((int)bits) - 1 : count;
#else
    return bits ? (uint32_t)__builtin_ctz(bits) : count;
#endif
}

/* Where a byte is among those of a node of 16; `count` where it is not there. */
COPSE_ANYWHERE uint32_t copse_radix_search16(const uint8_t *bytes, uint32_t count, uint32_t byte)
{
#if defined(__SSE2__) && !defined(__CUDACC__)
    const __m128i all = _mm_loadu_si128((const __m128i *)(const void *)bytes);
    return copse_radix_first_bit((uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(all, _mm_set1_epi8((char)(uint8_t)byte))),
                                 count);
#else
    uint32_t i = 0;
    while (i < count && bytes[i] != byte) i++;
    return i;
#endif
}

/* The link of a byte, to be read or replaced; NULL where the node has none. */
COPSE_ANYWHERE copse_radix_link *copse_radix_child(uint32_t type, void *node, uint32_t byte)
{
    const copse_radix_node *head = (const copse_radix_node *)node;
    uint32_t at;
    switch (type) {
    case COPSE_RADIX_NODE2:
    case COPSE_RADIX_NODE4: /* bytes behind the last one are looked at, and do not count */
        at =
            copse_radix_first_bit((uint32_t)(head->bytes[0] == byte) | (uint32_t)(head->bytes[1] == byte) << 1 |
                                      (uint32_t)(head->bytes[2] == byte) << 2 | (uint32_t)(head->bytes[3] == byte) << 3,
                                  head->count);
        return at < head->count ? &((copse_radix_node4 *)node)->links[at] : NULL;
    case COPSE_RADIX_NODE16:
        at = copse_radix_search16(((copse_radix_node16 *)node)->bytes, head->count, byte);
        return at < head->count ? &((copse_radix_node16 *)node)->links[at] : NULL;
    case COPSE_RADIX_NODE48:
        at = ((copse_radix_node48 *)node)->slots[byte];
        return at ? &((copse_radix_node48 *)node)->links[at - 1] : NULL;
    default:
        return ((copse_radix_node256 *)node)->links[byte] ? &((copse_radix_node256 *)node)->links[byte] : NULL;
    }
}

/* The link of a symbol, a byte or the end; 0 where there is none. */
COPSE_ANYWHERE copse_radix_link copse_radix_get(uint32_t type, const void *node, int symbol)
{
    if (symbol < 0) return ((const copse_radix_node *)node)->end;
    const copse_radix_link *link = copse_radix_child(type, (void *)(uintptr_t)node, (uint32_t)symbol);
    return link ? *link : 0;
}

/* Does a node of 48 or 256 have a link for the byte? */
COPSE_ANYWHERE bool copse_radix_has(uint32_t type, const void *node, int byte)
{
    return type == COPSE_RADIX_NODE48 ? ((const copse_radix_node48 *)node)->slots[byte] != 0
                                      : ((const copse_radix_node256 *)node)->links[byte] != 0;
}

/* The next symbol of a node behind this one; COPSE_RADIX_BEHIND_LAST where there is none. */
RADIX_FUNCTION int copse_radix_next(uint32_t type, const void *node, int symbol)
{
    const copse_radix_node *head = (const copse_radix_node *)node;
    if (symbol < COPSE_RADIX_END && head->end) return COPSE_RADIX_END;
    if (type <= COPSE_RADIX_NODE16) {
        const uint8_t *bytes = copse_radix_bytes(type, (void *)(uintptr_t)node);
        uint32_t i = 0;
        while (i < head->count && bytes[i] <= symbol) i++;
        return i < head->count ? bytes[i] : COPSE_RADIX_BEHIND_LAST;
    }
    int byte = symbol < 0 ? 0 : symbol + 1;
    while (byte < COPSE_RADIX_BEHIND_LAST && !copse_radix_has(type, node, byte)) byte++;
    return byte;
}

/* The one in front of it; COPSE_RADIX_BEFORE_FIRST where there is none. */
RADIX_FUNCTION int copse_radix_previous(uint32_t type, const void *node, int symbol)
{
    const copse_radix_node *head = (const copse_radix_node *)node;
    int byte = COPSE_RADIX_END;
    if (type <= COPSE_RADIX_NODE16) {
        const uint8_t *bytes = copse_radix_bytes(type, (void *)(uintptr_t)node);
        for (uint32_t i = head->count; i-- > 0 && byte < 0;)
            if (bytes[i] < symbol) byte = bytes[i];
    } else {
        for (byte = symbol - 1; byte >= 0 && !copse_radix_has(type, node, byte);) byte--;
    }
    if (byte >= 0) return byte;
    return symbol > COPSE_RADIX_END && head->end ? COPSE_RADIX_END : COPSE_RADIX_BEFORE_FIRST;
}

/* --- change --------------------------------------------------------------------------------------------------------- */

/* Adds the link of a byte that is not there, to a node that has room for it. */
RADIX_FUNCTION void copse_radix_put(uint32_t type, void *node, uint8_t byte, copse_radix_link link)
{
    copse_radix_node *head = (copse_radix_node *)node;
    if (type == COPSE_RADIX_NODE256) {
        ((copse_radix_node256 *)node)->links[byte] = link;
    } else if (type == COPSE_RADIX_NODE48) {
        copse_radix_node48 *n = (copse_radix_node48 *)node;
        uint32_t slot = n->links[head->count] ? 0 : head->count; /* the search is for nodes that have lost links */
        while (n->links[slot]) slot++;
        n->links[slot] = link;
        n->slots[byte] = (uint8_t)(slot + 1);
    } else {
        uint8_t *bytes = copse_radix_bytes(type, node);
        copse_radix_link *links = copse_radix_links(type, node);
        uint32_t at = head->count;
        for (; at > 0 && bytes[at - 1] > byte; at--) {
            bytes[at] = bytes[at - 1];
            links[at] = links[at - 1];
        }
        bytes[at] = (uint8_t)byte;
        links[at] = link;
    }
    head->count++;
}

/* Takes the link of a byte away, which is there. */
RADIX_FUNCTION void copse_radix_take(uint32_t type, void *node, uint32_t byte)
{
    copse_radix_node *head = (copse_radix_node *)node;
    head->count--;
    if (type == COPSE_RADIX_NODE256) {
        ((copse_radix_node256 *)node)->links[byte] = 0;
    } else if (type == COPSE_RADIX_NODE48) {
        copse_radix_node48 *n = (copse_radix_node48 *)node;
        n->links[n->slots[byte] - 1] = 0;
        n->slots[byte] = 0;
    } else {
        uint8_t *bytes = copse_radix_bytes(type, node);
        copse_radix_link *links = copse_radix_links(type, node);
        uint32_t at = 0;
        while (bytes[at] != byte) at++;
        for (; at < head->count; at++) {
            bytes[at] = bytes[at + 1];
            links[at] = links[at + 1];
        }
        bytes[at] = 0;
        links[at] = 0;
    }
}

/* Gives a node that has `at` links, all of them of smaller bytes and none ever taken away, the next one. The count is left to the caller: on a
 * card every access that waits for the one before makes the whole warp wait. */
COPSE_ANYWHERE void copse_radix_append(uint32_t type, void *node, uint32_t at, uint32_t byte, copse_radix_link link)
{
    if (type == COPSE_RADIX_NODE256) {
        ((copse_radix_node256 *)node)->links[byte] = link;
    } else if (type == COPSE_RADIX_NODE48) {
        ((copse_radix_node48 *)node)->slots[byte] = (uint8_t)(at + 1);
        ((copse_radix_node48 *)node)->links[at] = link;
    } else {
        copse_radix_bytes(type, node)[at] = (uint8_t)byte;
        copse_radix_links(type, node)[at] = link;
    }
}

/* Fills a node, which is all zero, with the links of one of another type. */
RADIX_FUNCTION void copse_radix_copy(uint32_t to_type, void *to, uint32_t type, const void *node)
{
    const uint32_t count = ((const copse_radix_node *)node)->count;
    void *from = (void *)(uintptr_t)node;
    uint32_t at = 0;
    if (type <= COPSE_RADIX_NODE16) {
        for (; at < count; at++)
            copse_radix_append(to_type, to, at, copse_radix_bytes(type, from)[at], copse_radix_links(type, from)[at]);
    } else {
        for (uint32_t byte = 0; byte < COPSE_RADIX_BEHIND_LAST; byte++)
            if (copse_radix_has(type, node, (int)byte))
                copse_radix_append(to_type, to, at++, byte, *copse_radix_child(type, from, byte));
    }
    ((copse_radix_node *)to)->end = ((const copse_radix_node *)node)->end;
    ((copse_radix_node *)to)->count = (uint16_t)count;
}

/* The smallest type with room for so many links. */
COPSE_ANYWHERE uint32_t copse_radix_type_for(uint32_t count)
{
    uint32_t type = COPSE_RADIX_NODE2;
    while (copse_radix_room(type) < count) type++;
    return type;
}

/* Is a node of the type so empty that it is to become the next smaller one? Well below the room of that one, so that it does not
 * grow again at once. */
COPSE_ANYWHERE bool copse_radix_sparse(uint32_t type, uint32_t count)
{
    switch (type) {
    case COPSE_RADIX_NODE4:
        return count <= 1;
    case COPSE_RADIX_NODE16:
        return count <= 3;
    case COPSE_RADIX_NODE48:
        return count <= 12;
    case COPSE_RADIX_NODE256:
        return count <= 40;
    default:
        return false;
    }
}

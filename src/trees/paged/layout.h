/*
 * The bytes of the paged tree, in device memory.
 *
 *   levels      pointer-free, over the rows of the directory (core/levels.h)
 *   directory   highs    | h0 | h1 | h2 | ...        row i: no key of its page is greater, none of the next row's is smaller
 *               pages    | p0 | p1 | p2 | ...               the address of its page
 *               counts   | c0 | c1 | c2 | ...               entries of its page; 0 only in an empty tree, which has one row
 *               before   |  0 | c0 | c0 + c1 | ...          made by the first reader that needs it after an update
 *
 *   page        | summary | top | separators | ends | keys: leaf 0 | leaf 1 | ...   | values: leaf 0 | leaf 1 | ...   |
 *                  64 B     lines of 64 B each        128 bytes each
 *
 *   summary     aggregate of the values, and whether it is stale
 *   top         the last separator of each line of separators
 *   separators  s[l] >= every key of leaf l, <= every key of leaf l + 1; the largest key where no entry follows, and behind that
 *   ends        e[l]: entries of leaves 0 .. l
 *   leaf        a line of keys, sorted, packed to the left, the free slots filled with the largest key; values at the same slots
 *
 * The rank of an entry in its page is e[leaf - 1] + slot. A *location* is (row << 16) + rank in the page; where the rank is as large as
 * the page's count, it is the place in front of the next row's first entry.
 */
#pragma once

#include <stdint.h>

#define COPSE_PAGED_LEAF_BYTES     128u
#define COPSE_PAGED_STALE_AT       48u /* a word of the summary: not 0 where the aggregate does not agree with the values */
#define COPSE_PAGED_TOP_AT         64u
#define COPSE_PAGED_LOCATION_SHIFT 16u

/* The order of a page is its number of slots, a power of two. COPSE_PAGED_SLOTS is the largest that is written through shared memory,
 * and that a tree takes by itself. */
#define COPSE_PAGED_SLOTS_SMALL 64u /* COPSE_PAGE_ORDER_LEAST */
#define COPSE_PAGED_SLOTS_MID   256u
#define COPSE_PAGED_SLOTS       1024u
#define COPSE_PAGED_SMALL_TREE  (1u << 16)
#define COPSE_PAGED_MID_TREE    (1u << 18)

/* The order that a tree of so many entries takes; asked: the caller's, or 0. So a tree that fills some pages has about a thousand of
 * them, and the multiprocessors of a card one each. */
static inline uint32_t copse_paged_slots_for(uint32_t asked, uint64_t entries)
{
    if (asked) return asked;
    return entries <= COPSE_PAGED_SMALL_TREE ? COPSE_PAGED_SLOTS_SMALL
           : entries <= COPSE_PAGED_MID_TREE ? COPSE_PAGED_SLOTS_MID
                                             : COPSE_PAGED_SLOTS;
}

/* The order that a tree has next, which has pages of `slots`: a larger one with twice the entries that it is for, a smaller one with a
 * quarter of them, so that none is changed to and fro. It is made anew then, of 2^19 entries at most. */
static inline uint32_t copse_paged_slots_next(uint32_t asked, uint32_t slots, uint64_t entries)
{
    const uint32_t larger = copse_paged_slots_for(asked, entries / 2),
                   smaller = copse_paged_slots_for(asked, entries * 4);
    return larger > slots ? larger : smaller < slots ? smaller : slots;
}

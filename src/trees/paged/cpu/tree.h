/*
 * The paged tree on the CPU: the same pages, in host memory, without gaps.
 *
 *   directory   highs   | h0 | h1 | h2 | ...      the largest key of each page, in order
 *               pages   | p0 | p1 | p2 | ...
 *               counts  | c0 | c1 | c2 | ...
 *               before  |  0 | c0 | c0 + c1 | ... | entries
 *
 *   page        keys  | k0 | k1 | ... |  -  |  -  |      encoded, in order, packed to the left
 *               values| v0 | v1 | ... |  -  |  -  |      at the same slots
 *
 * An update writes each page that it touches anew, as one page or several; those that were there go when nothing can fail any more. A
 * visit goes over the values of page after page, which lie next to each other. A location is (page << 16) + slot, and the
 * one behind the last entry is (number of pages) << 16.
 */
#pragma once

#include "core/internal.h"

#define COPSE_PAGED_CPU_SHIFT 16u

typedef struct copse_paged_cpu {
    uint64_t entries;
    uint32_t slots; /* of a page, a power of two */
    uint32_t page_count, room;
    void *highs;
    void **pages;
    uint32_t *counts;
    uint64_t *before; /* room + 1 */
} copse_paged_cpu;

/* The values of a page, behind its keys. */
static inline void *copse_paged_cpu_values(const copse_index *index, const copse_paged_cpu *tree, uint32_t page)
{
    return (char *)tree->pages[page] + (size_t)tree->slots * copse_type_size(index->key_type);
}

/* Visits of the paged tree: the arguments of their kernels, and the table of them that each backend has per pair of widths. */
#pragma once

#include "core/anywhere.h"
#include "core/pass.h"
#include "trees/paged/kernels.h"

/* What a block has added up: integers, moved up so that none is negative, in halves of 32 bits. Of all blocks together the sum of each half
 * may need more than 64 bits: *_carry counts how often it went round. */
typedef struct copse_visit_partial {
    uint64_t low, low_carry, high, high_carry, count;
    double real, squares;
    uint64_t smallest, largest;
} copse_visit_partial;

COPSE_ANYWHERE void copse_visit_partial_add(copse_visit_partial *to, const copse_visit_partial *from)
{
    to->low += from->low;
    to->low_carry += from->low_carry + (uint64_t)(to->low < from->low);
    to->high += from->high;
    to->high_carry += from->high_carry + (uint64_t)(to->high < from->high);
    to->count += from->count;
    to->real += from->real;
    to->squares += from->squares;
    to->smallest = from->smallest < to->smallest ? from->smallest : to->smallest;
    to->largest = from->largest > to->largest ? from->largest : to->largest;
}

/* Bins of a histogram up to which blocks count in shared memory. */
#define COPSE_VISIT_NEAR_BINS 1024u

typedef struct copse_paged_visit_arguments {
    copse_paged_tree tree;
    const uint64_t *ends; /* locations of both ends of the range; NULL: all entries */
    /* map */
    uint32_t map;
    uint64_t a, b;
    /* reduce */
    uint32_t look;
    double mean;
    copse_visit_partial *partials, *result;
    uint32_t partial_count;
    /* histogram: codes of the width of values */
    const void *edges;
    uint32_t bins, even;
    uint64_t *counts;
    /* filter */
    uint64_t least, greatest, most;
    uint64_t *row_fit; /* one for each row of the tree, and one more */
    uint32_t writes;
    /* map, filter */
    void *out_keys, *out_values;
} copse_paged_visit_arguments;

typedef struct copse_paged_visit_kernels {
    copse_kernel map, change, reduce, finish, histogram, filter; /* copse_paged_visit_arguments */
} copse_paged_visit_kernels;

COPSE_KERNEL_ROWS(copse_paged_visit_kernels);

/* The calls: visit.c. */
copse_status copse_paged_visit(const copse_index *index, copse_pass *pass);
copse_status copse_paged_visit_in_place(copse_index *index, copse_pass *pass);
copse_status copse_paged_pages(const copse_index *index, copse_page_table *out);

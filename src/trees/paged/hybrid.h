/*
 * The placement hybrid: the levels over the directory lie in host memory, and the CPU walks them for the keys of a read; kernels go on
 * from there, inside the pages. All else is as on a card, which has the levels, too: it sorts batches of updates and finds their pages.
 *
 *   host   keys --walk--> rows of the directory
 *   card   keys, rows --page--> answers
 */
#pragma once

#include "cpu/walk.h"
#include "gpu/scratch.h"
#include "trees/paged/tree.h"

typedef struct copse_paged_walk {
    /* Rows of queries input->first .. first + n, into rows[0 .. n). A NaN gets any: kernels report it. */
    void (*rows)(const copse_levels *levels, const copse_walk_input *input, uint32_t *rows);
} copse_paged_walk;

/* What index->by_width points to in hybrid placements: the walk for an instruction set. */
typedef struct copse_paged_walks {
    const copse_paged_walk *const *by_set;
} copse_paged_walks;

/* The rows that n keys lead to, in device memory that `scratch` owns; *rows stays NULL where kernels are to walk: elsewhere than in hybrid
 * placements, and for keys in device memory. upper: bounds of what comes behind the keys. */
copse_status copse_paged_rows(const copse_index *index, const void *keys, uint64_t n, bool upper,
                              copse_scratch *scratch, const uint32_t **rows);
/* The same for both ends of ranges, into the arguments. `scratch` is to be freed whatever comes of it. */
copse_status copse_paged_range_rows(const copse_index *index, const void *lows, const void *highs, uint64_t n,
                                    copse_paged_range_arguments *arguments, copse_scratch scratch[2]);
void copse_paged_range_rows_free(const copse_index *index, copse_scratch scratch[2]);
void copse_paged_host_levels_free(const copse_index *index, copse_paged *tree);

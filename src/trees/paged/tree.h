/* The paged tree on a device: what the host knows of it. */
#pragma once

#include "gpu/aggregates.h"
#include "gpu/batch.h"
#include "gpu/levels.h"
#include "gpu/mixed.h"
#include "trees/paged/kernels.h"

#include <pthread.h>
#include <stdatomic.h>

/* Memory of the pages, in slabs that stay until the tree is freed, and the pages of it that no row has. */
typedef struct copse_paged_slab {
    void *memory;
    uint64_t bytes;
} copse_paged_slab;

typedef struct copse_paged_pool {
    copse_paged_slab *slabs;
    uint32_t slab_count, slab_room;
    uint64_t page_bytes;
    uint64_t pages; /* in all */
    uint64_t *stack;
    uint64_t stack_room, top; /* of the stack: places, free pages */
} copse_paged_pool;

/* The directory and the levels over it, in one block. */
typedef struct copse_paged_directory {
    void *memory;
    uint64_t bytes;
    uint32_t rows, room; /* rows that are there, and for how many there is room */
    void *highs;
    uint64_t *pages;
    uint32_t *counts;
    copse_device_levels levels; /* over all for which there is room */
    uint64_t nodes[COPSE_LEVELS_MOST];
} copse_paged_directory;

typedef struct copse_paged {
    copse_paged_tree view;
    copse_paged_directory directory;
    copse_paged_pool pool;
    uint64_t low, high; /* no key is smaller, greater; of an empty tree nothing */
    copse_predictor predictor;

    /* The last page, where it is known: its leaves are full, up to its count. An append goes on there. */
    bool tail_known, appending; /* appending: the last insert was an append */
    uint32_t tail_count;
    uint64_t erased;          /* entries, since pages were joined          */
    uint64_t taken, taken_by; /* pages, by the last batch of so many keys */

    /* Made by the first reader that needs it, under the lock; the flags say what is there. */
    pthread_mutex_t lock;
    atomic_bool ranks_ready, summary_ready;
    uint64_t *before;
    uint64_t before_bytes;
    copse_summary_memory summary;

    /* hybrid: a copy of the levels in host memory, made the same way */
    atomic_bool host_levels_ready;
    copse_levels host_levels;
} copse_paged;

static inline copse_paged *copse_paged_of(const copse_index *index)
{
    return (copse_paged *)index->tree;
}

static inline const copse_paged_kernels *copse_paged_kernels_of(const copse_index *index)
{
    return copse_paged_kernels_on(index->device, copse_device_pair(index));
}

/* --- pages.c: making and freeing, memory of pages, the directory ------------------------------------------------------------------ */

/* An empty tree with pages of so many slots. */
copse_status copse_paged_make(const copse_index *index, uint32_t slots, copse_paged **out);
void copse_paged_free(const copse_index *index, copse_paged *tree);
/* Gets memory until so many pages are free. */
copse_status copse_paged_pool_reserve(const copse_index *index, copse_paged_pool *pool, uint64_t pages);
/* Memory for a directory of so many rows, and for more to come where `spare` says so. */
copse_status copse_paged_directory_make(const copse_index *index, uint64_t rows, bool spare,
                                        copse_paged_directory *out);
void copse_paged_directory_free(const copse_index *index, copse_paged_directory *directory);
/* Puts the levels over its rows on the stream. seen: the plan of the kernels in front, which the host has not read, and which says
 * how many rows there are. */
copse_status copse_paged_levels_fill(const copse_index *index, const copse_paged *tree,
                                     const copse_paged_directory *directory, const copse_paged_seen *seen);
/* Makes it the directory of the tree, whose old one it frees. */
void copse_paged_directory_put(const copse_index *index, copse_paged *tree, const copse_paged_directory *directory);

/* --- update.c --------------------------------------------------------------------------------------------------------------------- */

copse_status copse_paged_build(copse_index *index, const void *keys, const void *values, uint64_t n);
copse_status copse_paged_insert(copse_index *index, const void *keys, const void *values, uint64_t n, uint32_t flags,
                                uint64_t *out_inserted);
copse_status copse_paged_erase(copse_index *index, const void *keys, uint64_t n, uint64_t *out_erased);
copse_status copse_paged_erase_range(copse_index *index, const copse_ranges *ranges, uint64_t *out_erased);
copse_status copse_paged_erase_pairs(copse_index *index, const void *keys, const void *values, uint64_t n,
                                     uint64_t *out_erased);
copse_status copse_paged_apply(copse_index *index, const uint8_t *operations, const void *keys, const void *values,
                               uint64_t n, void *out_values, uint8_t *out_found);

/* --- join.c ----------------------------------------------------------------------------------------------------------------------- */

/* After so many entries were erased: joins pages that are nearly empty, where that is worth a pass. */
copse_status copse_paged_join(const copse_index *index, uint64_t erased);

/* --- read.c ----------------------------------------------------------------------------------------------------------------------- */

/* What `make` makes, unless the flag says that it is there. Readers may come at the same time. */
copse_status copse_paged_prepare(const copse_index *index, atomic_bool *ready,
                                 copse_status (*make)(const copse_index *index, copse_paged *tree));
/* The tree as readers see it that need ranks, or the summary as well. */
copse_status copse_paged_ranks(const copse_index *index, copse_paged_tree *out);
copse_status copse_paged_summary(const copse_index *index, copse_paged_tree *out);
/* After a change: what readers made is no longer right. */
void copse_paged_forget(const copse_index *index, copse_paged *tree);
copse_status copse_paged_find(const copse_index *index, const void *keys, uint64_t n, void *values, uint8_t *found);
copse_status copse_paged_look_up(const copse_index *index, const void *keys, uint64_t n, void *values, uint8_t *found);
copse_status copse_paged_neighbours(const copse_index *index, const void *keys, uint64_t n, copse_neighbour which,
                                    void *out_keys, void *out_values, uint8_t *out_found, uint64_t *out_ranks);
copse_status copse_paged_select(const copse_index *index, const uint64_t *ranks, uint64_t n, void *keys, void *values,
                                uint8_t *found);
copse_status copse_paged_entries(const copse_index *index, uint64_t rank, uint64_t count, void *keys, void *values);
/* All entries, encoded, in arrays that `out` owns. */
copse_status copse_paged_entries_out(const copse_index *index, copse_device_pairs *out);
copse_status copse_paged_count(const copse_index *index, const copse_ranges *ranges, uint64_t *counts);
copse_status copse_paged_range(const copse_index *index, const copse_ranges *asked, const copse_rows *rows);
copse_status copse_paged_aggregate(const copse_index *index, copse_aggregate_kind kind, const copse_ranges *asked,
                                   void *out, uint8_t *found);

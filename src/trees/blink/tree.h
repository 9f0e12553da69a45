/*
 * The B-link and the B+ tree on a device: what the host knows of them.
 *
 * Several handles (copse_index) may share one tree: the index itself, through which the caller changes it; views, which
 * follow it; and frozen handles, which do not. All of them share the current *epoch*: base leaves with their inner
 * levels, and a pool, in segments. A small update changes leaves of the epoch in place. A large one, or one while a
 * frozen handle holds the epoch, makes a new epoch, and the last reader of the old one frees it.
 */
#pragma once

#include "gpu/aggregates.h"
#include "gpu/batch.h"
#include "gpu/call.h"
#include "gpu/levels.h"
#include "gpu/mixed.h"
#include "trees/blink/kernels.h"
#include "trees/blink/layout.h"
#include "trees/blink/read/ordered_kernels.h"

#include <pthread.h>
#include <stdatomic.h>

/* What reads by rank and aggregates need. The first of them makes it, under the lock; the flags say what is there and up to
 * date. After an update in place the next read brings it up to date where base leaves were touched (read/ranks.c). */
typedef struct copse_blink_ranks {
    pthread_mutex_t lock;
    copse_device *device; /* whose memory it is */
    atomic_bool before_ready, summary_ready, sums_tried;
    atomic_bool complete; /* the kernels that made it are through */
    uint64_t anchors;     /* that running sums were made for, */
    uint64_t blocks;      /* and blocks of these */
    /* Bits of base leaves, a word for each block: those that updates touched, then those whose values have to be looked at again
     * for running sums and for the summary. NULL: nothing is made. */
    uint32_t *touched, *stale_sums, *stale_summary;
    copse_entries_before before;
    uint64_t *entry_totals; /* of each block, one more behind the last */
    copse_values_before sums;
    uint64_t *value_totals;
    uint64_t *largest; /* no value was farther from 0 */
    copse_event *seen; /* the host knows that one     */
    bool sums_fit;     /* 64 bits hold the sum of every range */
    bool sums_given_up;
    uint64_t before_bytes, sums_bytes;
    copse_summary_memory summary; /* over blocks of base leaves */
} copse_blink_ranks;

/* Directories that have become too small while there were views, at most: then the tree is better rebuilt. */
#define COPSE_RETIRED_MOST 24u

/* Memory of an overflow directory. */
typedef struct copse_directory_memory {
    void *memory;
    uint64_t bytes, entries; /* there is room for so many */
} copse_directory_memory;

typedef struct copse_blink_epoch {
    copse_blink_tree view;
    copse_levels_memory levels;
    uint64_t pool_taken;  /* leaves of the pool in use */
    uint64_t pool_used;   /* leaves up to the last of them; a multiple of the stripes */
    uint64_t pool_wanted; /* leaves that the last update with insertions asked for */
    copse_blink_counters *counters;
    bool counters_reset; /* they are 0, but for `taken` */
    uint64_t low, high;  /* no key in it is smaller or greater */
    bool slides;         /* entries were erased at its lower end by range: more will be */
    copse_blink_ranks ranks;
    uint64_t grown_by, grew; /* operations of the last update in place, and leaves that it added */
    uint32_t known;          /* of 256 keys that the last batch was to insert, so many were in the tree */
    bool speculation_known;  /* the rebuild that made it read the speculation about its batch: */
    copse_pairs_speculation speculation;
    copse_directory_memory directory[2];                /* by turns; update/crowded.c */
    copse_directory_memory retired[COPSE_RETIRED_MOST]; /* too small, but readers may use them yet */
    unsigned directory_used, retired_count;
    unsigned holders; /* calls under way and frozen handles, under the lock of the tree */
    unsigned frozen;  /* frozen handles */
    uint32_t cut;     /* leaves of the last segment with base leaves, where it ends behind them; 0: it does not */
    /* Blocks of the next epoch that are known to be at hand, under `writer` (rebuild/preallocate.c). */
    unsigned preallocated;
    unsigned segments_made, segments_most;
    /* The first so many addresses in `segments`, also of segments that were given back, are in the device's copy. */
    unsigned segments_published;
    uint64_t segments[]; /* segments_most addresses; the device's copy is `view.segments` */
} copse_blink_epoch;

/* Segments for base leaves. */
typedef struct copse_blink_room {
    unsigned segments;
    uint64_t segment_bytes;
} copse_blink_room;

typedef struct copse_blink_strategy copse_blink_strategy; /* blink/update/strategies.h */

/* How updates of one tree are steered. Tests and measurements change it between updates. */
typedef struct copse_blink_tuning {
    const copse_blink_strategy *forced; /* the strategy that is asked first, NULL: none (COPSE_BLINK_STRATEGY)     */
    uint64_t unsorted_most;             /* operations up to which "unsorted" may run; 0, here and below: as measured */
    uint64_t in_place_share;            /* an update in place has at most this share of the entries: 1/8, 1/64 ...   */
    uint64_t bucket_sort_least;         /* operations from which on "bucket-sort" may run                           */
    uint64_t preallocate_most; /* nanoseconds that an update may take memory of the next epoch ahead for; 0: none    */
    bool preallocate_always;   /* ... whatever the sizes of tree and batch are                                      */
} copse_blink_tuning;

/* The outcome of what may be tried: one of these, or the status of an error. Whoever declines leaves everything as it was. */
enum { COPSE_DONE = COPSE_OK, COPSE_DECLINED = -1 };

/* A tree, for all its handles. */
typedef struct copse_blink {
    uint64_t version;       /* of the index and all views of it */
    copse_index owner;      /* copy of the first handle: context, device and types that the memory belongs to */
    pthread_mutex_t writer; /* held by a call that changes the tree, and by reads that need it unchanged */
    /* Under `writer`: how often these speculations went wrong lately. */
    copse_predictor predictor;     /* keys of a batch lie between those of the tree        */
    copse_predictor bucket_sorted; /* ... and are distributed as those are                 */
    copse_predictor coarse;        /* a batch that is sorted by upper bits makes an epoch */
    copse_predictor appended;      /* ... comes in order and behind all entries            */
    copse_blink_tuning tuning;
    bool crowds;                      /* the last batch that could show it had crowds: the next one probably has, too */
    const copse_blink_strategy *last; /* the strategy that the last update ended with; tests ask */
    /* Under `writer`: hash tables of "unsorted", which its kernels leave empty for the next batch. NULL: not made. */
    uint32_t *tables;
    uint64_t table_slots; /* of all of them; 0: they have to be emptied first */
    uint64_t table_bytes;
    pthread_mutex_t lock; /* of what follows; taken inside the other one                                   */
    unsigned handles;
    atomic_uint views; /* grows under `writer`, shrinks at any time */
    copse_blink_epoch *current;
} copse_blink;

/* index->tree */
typedef struct copse_blink_handle {
    copse_blink *tree;
    copse_blink_epoch *frozen; /* of a frozen handle: its epoch */
    bool view;
} copse_blink_handle;

static inline copse_blink_handle *copse_blink_handle_of(const copse_index *index)
{
    return (copse_blink_handle *)index->tree;
}

static inline const copse_blink_kernels *copse_blink_kernels_of(const copse_index *index)
{
    return copse_blink_kernels_on(index->device, copse_device_pair(index));
}

static inline const copse_blink_ordered_kernels *copse_blink_ordered_kernels_of(const copse_index *index)
{
    return copse_blink_ordered_kernels_on(index->device, copse_device_pair(index));
}

/* Entries of one leaf, at most; entries that a rebuild puts into two neighbouring base leaves. */
static inline uint64_t copse_blink_slots(const copse_index *index)
{
    return copse_blink_kernels_of(index)->leaf.slots;
}

static inline uint64_t copse_blink_packed_two(const copse_index *index)
{
    return copse_blink_kernels_of(index)->leaf.packed_two;
}

/* --- blink/tree.c: handles ---------------------------------------------------------------------------------------- */

/* The epoch that a call reads, which stays until copse_blink_leave: read/find.c. */
copse_blink_epoch *copse_blink_enter(const copse_index *index);
void copse_blink_leave(const copse_index *index, copse_blink_epoch *epoch);
/* May a writer be at work on the epoch while this handle reads? */
static inline bool copse_blink_concurrent(const copse_index *index)
{
    return copse_blink_handle_of(index)->view;
}

/* The tree for kernels; through a view without what a writer may be changing at the moment. */
static inline copse_blink_tree copse_blink_tree_of(const copse_index *index, const copse_blink_epoch *epoch)
{
    const copse_blink_tree *view = &epoch->view;
    if (!copse_blink_concurrent(index)) return *view;
    return (copse_blink_tree){.base_leaves = view->base_leaves,
                              .branches = view->branches,
                              .unique = view->unique,
                              .key_type = view->key_type,
                              .value_type = view->value_type,
                              .segment_shift = view->segment_shift,
                              .pool_grows = 1,
                              .segments = view->segments,
                              .directories = view->directories,
                              .levels = view->levels};
}

/* --- blink/epoch.c ------------------------------------------------------------------------------------------------ */

/* Makes an epoch with room for so many entries as a rebuild packs them, and nothing in it. low and high: bounds of its
 * keys. before: segment_shift of the epoch that it is to replace, 0: none. */
copse_status copse_blink_epoch_make(const copse_index *index, uint32_t before, uint64_t entries, uint64_t low,
                                    uint64_t high, copse_blink_epoch **out);
/* ... with so many base leaves, at most UINT32_MAX / 2, where nobody knows yet how many entries there will be. */
copse_status copse_blink_epoch_make_base_leaves(const copse_index *index, uint32_t before, uint64_t base_leaves,
                                                uint64_t low, uint64_t high, copse_blink_epoch **out);
void copse_blink_epoch_free(const copse_index *index, copse_blink_epoch *epoch);
/* The segments of an epoch with so many base leaves that replaces this one. */
copse_blink_room copse_blink_room_after(const copse_blink_epoch *epoch, uint64_t base_leaves);
/* Leaves that the pool of an epoch could have at most. */
uint64_t copse_blink_pool_most(const copse_blink_epoch *epoch);
/* Segments behind those of the base leaves: how many there are, and how many have leaves in use. */
void copse_blink_pool_segments(const copse_blink_epoch *epoch, unsigned *out_made, unsigned *out_used);
/* Makes sure that kernels can take so many more leaves from the pool. */
copse_status copse_blink_pool_reserve(const copse_index *index, copse_blink_epoch *epoch, uint64_t leaves);
/* Gives back segments of the pool that have no leaf in use, but for room that the next update may want. The caller
 * holds `writer`; views may read meanwhile. */
void copse_blink_pool_trim(const copse_index *index, copse_blink_epoch *epoch);
/* The epoch was made with room for more entries than it turned out to have: gives back what is too much. It changes
 * `view`, which nobody else may know yet. */
void copse_blink_epoch_shrink(const copse_index *index, copse_blink_epoch *epoch, uint64_t entries);
/* Makes `epoch` the current one, or frees it where `status` or the wait for it failed. */
copse_status copse_blink_replace(copse_index *index, copse_blink_epoch *epoch, copse_status status);
/* Bytes that an epoch takes, without what aggregates use. */
uint64_t copse_blink_epoch_bytes(const copse_blink_epoch *epoch);

/* --- blink/rebuild/preallocate.c ---------------------------------------------------------------------------------- */

/* Makes sure, if it can, that memory for the epoch after this one is at hand. */
void copse_blink_preallocate_all(const copse_index *index, copse_blink_epoch *epoch);
/* The same, as far as it goes while the kernels of an update with n operations run, which have been launched; the next
 * update continues. The caller holds `writer`. */
void copse_blink_preallocate(const copse_index *index, copse_blink_epoch *epoch, uint64_t n);
/* The same for the epoch after `made`, while kernels rebuild `from` into `made`. */
void copse_blink_preallocate_rebuilding(const copse_index *index, const copse_blink_epoch *from,
                                        copse_blink_epoch *made);

/* --- blink/rebuild/rebuild.c -------------------------------------------------------------------------------------- */

/* Makes an epoch of sorted pairs, which are encoded and have values (n may be 0). */
copse_status copse_blink_fill(const copse_index *index, const copse_device_pairs *pairs, copse_blink_epoch **out);
/* By tiles that do not wait for each other; by tiles with decoupled look-back; base leaf by base leaf. */
typedef enum copse_rebuild_kind { COPSE_INDEPENDENT, COPSE_LOOKBACK, COPSE_LEAFWISE } copse_rebuild_kind;

/* An epoch with the entries of `from` after sorted operations, whose keys lie between low and high (NULL: none). Returns
 * an outcome: LEAFWISE never declines. *out_changed: entries that came plus those that went.
 * INDEPENDENT: the speculation of *out is known. input: NULL, or the keys as they came; then operations may be sorted by the upper bits
 * of their keys only (`coarse`), and may even be out of order where these are not between low and high. */
int copse_blink_rebuild(const copse_index *index, const copse_blink_epoch *from, copse_rebuild_kind kind,
                        const copse_blink_operations *operations, const void *input, uint64_t low, uint64_t high,
                        copse_blink_epoch **out, uint64_t *out_changed);

/* --- blink/update/crowded.c ---------------------------------------------------------------------------------------------- */

void copse_blink_directory_free(const copse_index *index, copse_blink_epoch *epoch);
uint64_t copse_blink_directory_bytes(const copse_blink_epoch *epoch);

/* --- blink/update: strategies.h has the rest ------------------------------------------------------------------------------ */

/* The strategy that COPSE_BLINK_STRATEGY names. Errors: ARGUMENT for an unknown name. */
copse_status copse_blink_strategy_asked(const copse_ctx *ctx, const copse_blink_strategy **out);
copse_status copse_blink_build(copse_index *index, const void *keys, const void *values, uint64_t n);
copse_status copse_blink_insert(copse_index *index, const void *keys, const void *values, uint64_t n, uint32_t flags,
                                uint64_t *out_inserted);
copse_status copse_blink_erase(copse_index *index, const void *keys, uint64_t n, uint64_t *out_erased);
copse_status copse_blink_erase_range(copse_index *index, const copse_ranges *ranges, uint64_t *out_erased);
copse_status copse_blink_apply(copse_index *index, const uint8_t *operations, const void *keys, const void *values,
                               uint64_t n, void *out_values, uint8_t *out_found);
extern const copse_mixed_structure copse_blink_mixed;
copse_status copse_blink_erase_pairs(copse_index *index, const void *keys, const void *values, uint64_t n,
                                     uint64_t *out_erased);
/* Runs sorted operations without equal keys, all or none; *out_changed: entries that came plus those that went. The caller holds
 * `writer`. Complete when it returns. */
copse_status copse_blink_run(copse_index *index, const copse_blink_operations *operations, uint64_t low, uint64_t high,
                             uint64_t *out_changed);

/* --- blink/read/find.c -------------------------------------------------------------------------------------------- */

copse_status copse_blink_find(const copse_index *index, const void *keys, uint64_t n, void *values, uint8_t *found);

/* --- blink/read/neighbours.c -------------------------------------------------------------------------------------- */

copse_status copse_blink_neighbours(const copse_index *index, const void *keys, uint64_t n, copse_neighbour which,
                                    void *out_keys, void *out_values, uint8_t *out_found, uint64_t *out_ranks);

/* --- blink/read/ranks.c, blink/read/range.c, blink/read/aggregate.c ----------------------------------------------- */

/* The kernel of lookups through views. */
const copse_kernel *copse_blink_find_concurrent(const copse_index *index);
/* Checks what reads by rank and aggregates use, where it is there. */
copse_status copse_blink_verify_ranks(const copse_index *index, copse_blink_epoch *epoch);
void copse_blink_ranks_init(copse_blink_ranks *ranks);
/* The leaves changed: what was made is not up to date any more. */
void copse_blink_ranks_stale(copse_blink_ranks *ranks);
/* Where an update notes which base leaves it touches; NULL: nobody needs to know. */
uint32_t *copse_blink_ranks_touched(copse_blink_epoch *epoch);
/* The memory goes in the order of the main stream. */
void copse_blink_ranks_free(const copse_index *index, copse_blink_ranks *ranks);
/* Brings ranks.before up to date; the summary; running sums, where 64 bits hold them (ranks.sums_fit). Before the latter two
 * the first is due. Several threads may read at once; nobody may change the tree meanwhile. */
copse_status copse_blink_ranks_ready(const copse_index *index, copse_blink_epoch *epoch);
copse_status copse_blink_summary_ready(const copse_index *index, copse_blink_epoch *epoch);
copse_status copse_blink_sums_ready(const copse_index *index, copse_blink_epoch *epoch);
/* Bytes of it all. */
uint64_t copse_blink_ranks_bytes(copse_blink_ranks *ranks);
copse_status copse_blink_entries(const copse_index *index, uint64_t rank, uint64_t count, void *keys, void *values);
/* All of them, for the writer: encoded, into device memory. */
copse_status copse_blink_entries_encoded(const copse_index *index, void *keys, void *values);
copse_status copse_blink_select(const copse_index *index, const uint64_t *ranks, uint64_t n, void *keys, void *values,
                                uint8_t *found);
copse_status copse_blink_count(const copse_index *index, const copse_ranges *ranges, uint64_t *counts);
copse_status copse_blink_range(const copse_index *index, const copse_ranges *ranges, const copse_rows *rows);
copse_status copse_blink_aggregate(const copse_index *index, copse_aggregate_kind kind, const copse_ranges *ranges,
                                   void *out, uint8_t *found);

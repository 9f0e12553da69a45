/*
 * How an update of the B-link or the B+ tree is carried out: strategies in a table, and the batch on its way through them.
 *
 * The host walks the table from its first row on. It skips a strategy that may not run; one that runs ends done, declined or with an
 * error. What a strategy found out about the batch stays in copse_blink_update, where the next one goes on from it.
 */
#pragma once

#include "trees/blink/tree.h"

/*
 * What the last attempt to change leaves in place came to. Unless it was APPLIED nothing has changed. MISPREDICTED: the keys are not in
 * the order that the strategy took for granted. TOO_MANY_EQUALS: so many keys are equal that these are taken out first.
 * CROWDED: anchors get so many operations that all threads have to work on them (update/crowded.h). TOO_MANY_SPLITS: a new epoch costs
 * less, or a base leaf cannot take so many operations.
 */
typedef enum copse_attempt { UNTRIED, APPLIED, MISPREDICTED, TOO_MANY_EQUALS, CROWDED, TOO_MANY_SPLITS } copse_attempt;

/* A batch on its way. The caller holds `writer` of the tree. */
typedef struct copse_blink_update {
    copse_index *index;
    copse_blink *tree;
    copse_blink_epoch *epoch;            /* the current one                                                  */
    const void *keys, *values;           /* the caller's arrays                                              */
    const char *what;                    /* the word for progress                                            */
    const copse_blink_operations *mixed; /* NULL, or instead of those: sorted operations without equal keys  */
    copse_action action;                 /* what happens to all of the keys; mixed: to those that stay       */
    bool erases;                         /* some entries may go                                              */
    bool forced;                         /* sizes and predictors do not count for the strategy that is asked */
    bool brought, sorted;                /* `pairs` are on the device; ... in order, perhaps in speculation  */
    copse_device_pairs pairs;            /* the batch as it stands; of a mixed one n, low and high           */
    copse_attempt attempt;
    bool crowds;      /* it has some */
    uint64_t changed; /* once it is done: entries that came plus those that went */
} copse_blink_update;

struct copse_blink_strategy {
    const char *name;
    bool (*may)(const copse_blink_update *u); /* NULL: always. A predictor counts the batches that ask it */
    int (*run)(copse_blink_update *u);        /* an outcome: trees/blink/tree.h */
};

/* update/unsorted.c, update/crowded.c, update/by_rebuild.c, update/bucket_sort.c, update/in_place.c */
extern const copse_blink_strategy copse_blink_unsorted, copse_blink_append, copse_blink_coarse_rebuild,
    copse_blink_bucket_sort, copse_blink_sorted_in_place, copse_blink_independent_rebuild, copse_blink_lookback_rebuild,
    copse_blink_leafwise_rebuild;

/* The strategy of that name, NULL: there is none. */
const copse_blink_strategy *copse_blink_strategy_named(const char *name);
/* Carries a batch out, all or none of it, and frees what `u` owns. Complete when it returns. */
copse_status copse_blink_update_run(copse_blink_update *u);

/* --- what several strategies need ----------------------------------------------------------------------------------------- */

/* Sees to it that the caller's arrays are on the device. */
copse_status copse_blink_update_bring(copse_blink_update *u);
/* ... that the batch is sorted, perhaps in speculation, and without equal keys where an attempt found too many. */
copse_status copse_blink_update_sort(copse_blink_update *u);
/* What kernels are to do with sorted pairs of the batch. */
copse_blink_operations copse_blink_update_operations(const copse_blink_update *u, const copse_device_pairs *pairs);
/* That keys of the batch lie where those of the tree do. */
copse_pairs_hint copse_blink_update_hint(const copse_blink_update *u, copse_predictor *predictor);

/* --- update/limits.c: in place or a new epoch ------------------------------------------------------------------------------ */

/* Does a frozen handle show the current epoch? Then no leaf of it may change. */
bool copse_blink_frozen(const copse_blink_update *u);
/* Is the batch small enough to change leaves in place? */
bool copse_blink_leaves_may(const copse_blink_update *u);
/* ... and are keys unique, or only inserted behind their equals? */
bool copse_blink_in_place_may(const copse_blink_update *u);
/* Leaves that it may add before the tree would be better rebuilt. */
uint64_t copse_blink_extra_most(const copse_blink_update *u);
/* Replaces the current epoch by a new one with the same entries. */
copse_status copse_blink_pack(const copse_blink_update *u);
/* Does it take a new epoch, or is one to be expected from what the last update did? */
bool copse_blink_rebuild_expected(const copse_blink_update *u);

/* --- update/in_place.c ------------------------------------------------------------------------------------------------------ */

/* Resets the counters of an epoch at the start of a call; reads them, which waits. */
copse_status copse_blink_counters_reset(const copse_index *index, copse_blink_epoch *epoch);
copse_status copse_blink_counters_read(const copse_index *index, copse_blink_epoch *epoch, copse_blink_counters *out);
/* A batch that the separators of the tree put in order. */
typedef struct copse_blink_bucket_sorting {
    copse_device_pairs made; /* the batch in order: encoded, with equal keys; without values where it erases */
    copse_bucket_sort_arguments arguments;
    void *memory;
    uint64_t bytes;
} copse_blink_bucket_sorting;

/* Memory of the kernels for crowds. */
typedef struct copse_blink_crowds {
    copse_crowd_arguments arguments;
    void *memory;
    uint64_t bytes;
} copse_blink_crowds;

/* --- update/crowded.c ------------------------------------------------------------------------------------------------------- */

/* Takes that memory. leaves: of each operation the first leaf of its anchor. */
copse_status copse_blink_crowds_take(const copse_blink_update *u, const copse_blink_operations *operations,
                                     const uint32_t *leaves, copse_blink_crowds *out);
void copse_blink_crowds_free(const copse_index *index, copse_blink_crowds *crowds);
/* Enqueues the kernels that make new leaves and the next directory; and those that link them to the old leaves. */
copse_status copse_blink_crowds_launch(const copse_blink_update *u, copse_blink_crowds *crowds);
copse_status copse_blink_crowds_link(const copse_blink_update *u, const copse_blink_crowds *crowds);
/* The directory has got so many entries. */
void copse_blink_directory_grown(copse_blink_epoch *epoch, uint32_t placed);
/* Puts leaves of anchors that have become long into the directory: so many were noted. */
copse_status copse_blink_directory_adopt(const copse_blink_update *u, uint32_t winding);

/* --- update/in_place.c, again ------------------------------------------------------------------------------------------------ */

/* Tries to carry out `pairs` in place; u->attempt says what came of it. sorting: NULL, or what puts them in order. */
copse_status copse_blink_in_place_attempt(copse_blink_update *u, copse_device_pairs *pairs,
                                          copse_blink_bucket_sorting *sorting);
/* Ends an update in place (update/limits.c): takes over what the kernels counted, and rebuilds the tree where that is due. */
copse_status copse_blink_in_place_finish(copse_blink_update *u, const copse_blink_counters *seen);

/* --- update/unsorted.c ------------------------------------------------------------------------------------------------------ */

/* Frees the hash tables that a tree keeps for small batches. */
void copse_blink_tables_free(copse_blink *tree);

/* --- update/bucket_sort.c --------------------------------------------------------------------------------------------------- */

/* Enqueues the kernels that distribute the batch over buckets. The counters of the epoch have been reset. */
copse_status copse_blink_partition_launch(copse_blink_update *u, copse_bucket_sort_arguments *arguments);
/* Enqueues the kernel that puts each bucket in order and writes the batch in order, `base_leaves`, and what it found out to the
 * counters of the epoch. One base leaf in one_of asks for leaves. */
copse_status copse_blink_bucket_sort_launch(copse_blink_update *u, copse_bucket_sort_arguments *arguments,
                                            uint32_t *base_leaves, uint32_t one_of);

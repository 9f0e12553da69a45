/* What the strategies that make a new epoch share: rebuild/rebuild.c and rebuild/independent.c. */
#pragma once

#include "gpu/scratch.h"
#include "trees/blink/tree.h"

/* Device memory that a rebuild needs for a while. */
enum {
    COPSE_REBUILD_OPERATIONS, /* what `locate` finds out about each of them */
    COPSE_REBUILD_ORDER,
    COPSE_REBUILD_BEFORE,
    COPSE_REBUILD_STARTS,
    COPSE_REBUILD_TOTALS,
    COPSE_REBUILD_LAST,
    COPSE_REBUILD_KINDS
};

/* A rebuild under way. */
typedef struct copse_rebuilder {
    const copse_index *index;
    copse_rebuild_arguments arguments;
    const copse_blink_epoch *old; /* NULL: there is none */
    copse_blink_epoch *made;
    copse_blink_counters *counters; /* of the old epoch */
    uint64_t pool_taken;            /* leaves of the old epoch that are no base leaves */
    uint32_t known;                 /* of 256 keys, so many are expected to be in the tree, see copse_blink_epoch */
    uint64_t low, high;             /* bounds of the keys of the new one */
    uint64_t changed;               /* entries that were inserted plus those that were erased */
    copse_scratch scratch[COPSE_REBUILD_KINDS];
} copse_rebuilder;

/* Entries that the operations insert, at most. */
static inline uint64_t copse_rebuild_inserts_most(const copse_rebuilder *p)
{
    return p->arguments.operations.values ? p->arguments.operations.n : 0;
}

/* Does this status say that an epoch with room for the worst case is more than there is memory for? Then the host makes
 * one of the exact size. */
static inline bool copse_rebuild_too_much(copse_status status)
{
    return status == COPSE_ERR_MEMORY || status == COPSE_ERR_UNSUPPORTED;
}

/* See copse_blink_rebuild. */
copse_rebuilder copse_rebuild_begin(const copse_index *index, const copse_blink_epoch *from,
                                    const copse_blink_operations *operations, uint64_t low, uint64_t high);
/* Takes memory for one array: p->scratch[which].memory. */
copse_status copse_rebuild_take(copse_rebuilder *p, unsigned which, uint64_t bytes);
/* Takes memory for the totals and so many words, and makes all of it 0 by one fill. */
copse_status copse_rebuild_take_totals(copse_rebuilder *p, uint64_t words);
void copse_rebuild_drop(copse_rebuilder *p, unsigned which);
/* Launches a kernel with p->arguments and a thread for each item. */
copse_status copse_rebuild_launch(const copse_rebuilder *p, const copse_kernel *kernel, uint64_t items);
/* Leaves that a tile may have, where each entry that is inserted needs room for two; 0: no tile fits. */
uint32_t copse_rebuild_tile_leaves(const copse_rebuilder *p);
/* Once p->made is there: puts it into the arguments, and takes the memory that goes with it. */
copse_status copse_rebuild_started(copse_rebuilder *p);
/* Takes over what the kernels counted. */
void copse_rebuild_take_over(copse_rebuilder *p, const copse_rebuild_totals *totals);
/* Builds the inner levels over leaves that are filled. */
copse_status copse_rebuild_levels(copse_rebuilder *p);
/* Frees the epoch that was begun, for another attempt. */
void copse_rebuild_begin_anew(copse_rebuilder *p);
/* Frees everything else; *out is the new epoch where nothing failed. */
copse_status copse_rebuild_finish(copse_rebuilder *p, copse_status status, copse_blink_epoch **out);

/* Tiles that do not wait for each other (blink/rebuild/independent.c). Declines where it is not for them, or some have too much, or too
 * little, or there is no memory. */
int copse_rebuild_independent(copse_rebuilder *p, const void *input, uint64_t low, uint64_t high);

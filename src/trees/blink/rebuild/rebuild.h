/* What the ways of rebuilding a B-link or a B+ tree share: blink/rebuild/rebuild.c, blink/rebuild/independent.c. */
#ifndef COPSE_BLINK_DEVICE_REBUILD_H
#define COPSE_BLINK_DEVICE_REBUILD_H

#include "trees/blink/tree.h"

/* Device memory that rebuilding needs for a while. */
enum {
    COPSE_REBUILD_BASE_LEAVES,
    COPSE_REBUILD_OFFSETS,
    COPSE_REBUILD_EFFECTS,
    COPSE_REBUILD_BEFORE,
    COPSE_REBUILD_STARTS,
    COPSE_REBUILD_TOTALS,
    COPSE_REBUILD_LAST,
    COPSE_REBUILD_KINDS
};

/* A rebuilding under way. */
typedef struct copse_rebuilder {
    const copse_index *index;
    copse_rebuild_arguments arguments;
    const copse_blink_epoch *old; /* NULL: there is none */
    copse_blink_epoch *made;
    copse_blink_counters *counters; /* of the old epoch */
    uint64_t pool_taken;            /* leaves of the old epoch that are no base_leaves */
    uint32_t known;                 /* what is to be expected of the batch, see copse_blink_epoch */
    uint64_t low, high;             /* bounds of the keys of the new one */
    uint64_t changed;               /* entries that came plus those that went */
    void *memory[COPSE_REBUILD_KINDS];
    uint64_t bytes[COPSE_REBUILD_KINDS];
} copse_rebuilder;

/* Entries that operations may bring. */
static inline uint64_t copse_rebuild_inserts_most(const copse_rebuilder *p)
{
    return p->arguments.operations.values ? p->arguments.operations.n : 0;
}

/* Is a epoch that has room for whatever may come more than there is memory for? Then it is to be made for what does come. */
static inline bool copse_rebuild_too_much(copse_status status)
{
    return status == COPSE_ERR_MEMORY || status == COPSE_ERR_UNSUPPORTED;
}

/* See copse_blink_rebuild. */
copse_rebuilder copse_rebuild_begin(const copse_index *index, const copse_blink_epoch *from,
                                    const copse_blink_operations *operations, uint64_t low, uint64_t high);
copse_status copse_rebuild_take(copse_rebuilder *p, unsigned which, uint64_t bytes);
void copse_rebuild_drop(copse_rebuilder *p, unsigned which);
/* Leaves that a tile may have, 0: none, where each entry that comes needs room for two. */
uint32_t copse_rebuild_tile_leaves(const copse_rebuilder *p);
/* There is a new epoch: what is to be made with it. */
copse_status copse_rebuild_started(copse_rebuilder *p);
/* Takes over what was counted. */
void copse_rebuild_take_over(copse_rebuilder *p, const copse_rebuild_totals *totals);
/* The levels over leaves that are filled. */
copse_status copse_rebuild_levels(copse_rebuilder *p);
/* Gives up the epoch that was begun. */
void copse_rebuild_begin_anew(copse_rebuilder *p);
/* The end of all: *out is the new epoch where all went well. */
copse_status copse_rebuild_finish(copse_rebuilder *p, copse_status status, copse_blink_epoch **out);

/* Tiles that do not wait for each other (blink/rebuild/independent.c). *out_done stays false where it is not for them, or some have too
 * much, or too little, or there is no memory. */
copse_status copse_rebuild_independent(copse_rebuilder *p, const void *input, uint64_t low, uint64_t high,
                                       bool *out_done);

#endif

/* What the ways of packing a B-link or a B+ tree share: blink/rebuild/rebuild.c, blink/rebuild/independent.c. */
#ifndef COPSE_BLINK_DEVICE_PACK_H
#define COPSE_BLINK_DEVICE_PACK_H

#include "trees/blink/tree.h"

/* Device memory that packing needs for a while. */
enum {
    COPSE_PACK_HOMES,
    COPSE_PACK_OFFSETS,
    COPSE_PACK_EFFECTS,
    COPSE_PACK_BEFORE,
    COPSE_PACK_STARTS,
    COPSE_PACK_TOTALS,
    COPSE_PACK_LAST,
    COPSE_PACK_KINDS
};

/* A packing under way. */
typedef struct copse_packer {
    const copse_index *index;
    copse_pack_arguments arguments;
    const copse_blink_version *old; /* NULL: there is none */
    copse_blink_version *made;
    copse_blink_counters *counters; /* of the old version */
    uint64_t pool_taken;            /* leaves of the old version that are no homes */
    uint32_t known;                 /* what is to be expected of the batch, see copse_blink_version */
    uint64_t low, high;             /* bounds of the keys of the new one */
    uint64_t changed;               /* entries that came plus those that went */
    void *memory[COPSE_PACK_KINDS];
    uint64_t bytes[COPSE_PACK_KINDS];
} copse_packer;

/* Entries that operations may bring. */
static inline uint64_t copse_pack_inserts_most(const copse_packer *p)
{
    return p->arguments.operations.values ? p->arguments.operations.n : 0;
}

/* Is a version that has room for whatever may come more than there is memory for? Then it is to be made for what does come. */
static inline bool copse_pack_too_much(copse_status status)
{
    return status == COPSE_ERR_MEMORY || status == COPSE_ERR_UNSUPPORTED;
}

/* See copse_blink_pack. */
copse_packer copse_pack_begin(const copse_index *index, const copse_blink_version *from,
                              const copse_blink_operations *operations, uint64_t low, uint64_t high);
copse_status copse_pack_take(copse_packer *p, unsigned which, uint64_t bytes);
void copse_pack_drop(copse_packer *p, unsigned which);
/* Leaves that a tile may have, 0: none, where each entry that comes needs room for two. */
uint32_t copse_pack_tile_leaves(const copse_packer *p);
/* There is a new version: what is to be made with it. */
copse_status copse_pack_started(copse_packer *p);
/* Takes over what was counted. */
void copse_pack_take_over(copse_packer *p, const copse_pack_totals *totals);
/* The levels over leaves that are filled. */
copse_status copse_pack_levels(copse_packer *p);
/* Gives up the version that was begun. */
void copse_pack_begin_anew(copse_packer *p);
/* The end of all: *out is the new version where all went well. */
copse_status copse_pack_finish(copse_packer *p, copse_status status, copse_blink_version **out);

/* Tiles that do not wait for each other (blink/rebuild/independent.c). *out_done: false where it is not for them, or some have too much,
 * or too little, or there is no memory. */
copse_status copse_pack_spread(copse_packer *p, bool *out_done);

#endif

/*
 * What a card has of a hybrid tree, and what a call needs to use it.
 *
 *   host memory     inner levels   [root][....][............]      the CPU's tree, whole
 *                   leaves         [u0][u1][u2][u3] ...
 *   card            inner levels   [root][....][............]      a copy
 *                   pages' nodes   [........][........] ...        of a tree with pages (records.h)
 *
 *   a bucket        keys --copy--> [keys] --descend--> [nodes] --copy--> nodes, then the CPU reads the leaves
 *                   slot.pinned    slot.device                   slot.pinned
 *
 * The index is right without it. Where the card fails, or has no memory for the levels, the CPU answers alone.
 */
#pragma once

#include "device/device.h"
#include "gpu/shared_kernels.h"
#include "trees/hybrid/records.h"

#include <stdatomic.h>

#define COPSE_HYBRID_SLOTS 4u
/* A bucket is counted with 32 bits, and has slots of pinned memory. */
#define COPSE_HYBRID_LARGEST (UINT32_C(1) << 26)

/* How an update reaches the card: the paper's two methods, and ours (docs/HYBRID.md). */
typedef enum copse_refresh {
    COPSE_REFRESH_AUTO,         /* a large update at once, a small one when a read wants the card; changed pages only */
    COPSE_REFRESH_SYNCHRONOUS,  /* every update at once, changed pages only */
    COPSE_REFRESH_ASYNCHRONOUS, /* every update at once, all pages          */
} copse_refresh;

/* To be set while no call is under way. */
typedef struct copse_hybrid_tuning {
    copse_schedule schedule;
    uint64_t bucket;   /* queries                                                  */
    uint64_t least;    /* queries of a call that is worth the card; fewer stay on the CPU */
    uint64_t levels;   /* bytes of inner nodes that are worth it: fewer lie in the CPU's caches  */
    uint64_t smallest; /* queries of a bucket of a call that has few of them; 0: `bucket` always       */
    uint64_t defer;    /* keys of an update; fewer leave the copy behind, until a read needs it        */
    uint64_t cache;    /* bytes for copies of leaves                                                    */
    uint32_t rest;     /* calls that do without a card that did not help in the one before             */
    uint32_t slower;   /* tests: the card seems so many times slower                                   */
    copse_refresh refresh;
} copse_hybrid_tuning;

/* One bucket under way. */
typedef struct copse_hybrid_slot {
    copse_stream *stream;
    copse_event *through;
    char *pinned, *device; /* keys, then what is below them          */
    uint64_t bytes;        /* of each                                */
    bool busy;             /* the card may still be at what a call has left there */
} copse_hybrid_slot;

/* How a call was shared: queries that were read from what the card has found, those that the CPU walked from the root, and the seconds
 * that threads spent on each. */
typedef struct copse_hybrid_balance {
    uint64_t together, alone;
    double together_seconds, alone_seconds;
} copse_hybrid_balance;

typedef struct copse_mirror {
    copse_device *device;
    copse_hybrid_tuning tuning, best; /* what calls use; for what is not asked for otherwise */
    /* The copy of the inner levels. `current`: it is what the tree has; `behind`: it is not, and can be made so. */
    atomic_bool current, behind;
    copse_device_levels levels;
    char *memory;
    uint64_t bytes;
    copse_page_records records;
    /* Of a tree that is one array of units: the first of them. */
    char *cached;
    uint64_t cached_units, cached_bytes;
    char why_not[256]; /* the last failure of the card; "" where there was none */

    pthread_mutex_t lock; /* one call at a time uses the slots; others do without the card */
    copse_hybrid_slot slot[COPSE_HYBRID_SLOTS];
    uint32_t rest;             /* calls to come that do without the card, since it did not help */
    bool tried;                /* so far as this index knows; before, the device knows of the last one of its kind */
    copse_hybrid_balance last; /* of the last call that used it */
} copse_mirror;

static inline copse_mirror *copse_mirror_of(const copse_index *index)
{
    return index->mirror;
}

/* How the calls that follow work through their batches; 0: the measured best, and a card as fast as it is. Nothing where the index is
 * not hybrid. */
void copse_hybrid_tune(copse_index *index, copse_schedule schedule, uint64_t bucket, uint32_t slower,
                       copse_refresh refresh);
/* Sets index->mirror, for an empty tree. Errors: DEVICE where there is none, MEMORY. */
copse_status copse_mirror_make(copse_index *index);
void copse_mirror_free(copse_index *index);
/* After an update of n keys: brings the copy up to date, or says that it is behind. */
void copse_mirror_changed(copse_index *index, uint64_t n);
/* Brings the copy up to date: copies the inner levels, and those pages that have changed. By an update or under the lock. A failure costs
 * speed, not answers: it is noted in why_not. */
void copse_mirror_refresh(const copse_index *index);
/* COPSE_OK, or CORRUPT where the copy is not what the tree has. */
copse_status copse_mirror_verify(const copse_index *index);
/* Notes the failure that was just reported, and puts the error back that was there before. */
void copse_mirror_failed(copse_mirror *mirror, const copse_kept_error *before);
/* Waits until the card is done with what calls have left in the slots. */
copse_status copse_mirror_wait(copse_mirror *mirror);
/* Gives slot i what a bucket of so many bytes needs. */
copse_status copse_mirror_slot(copse_mirror *mirror, unsigned i, uint64_t bytes);
